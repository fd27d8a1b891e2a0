//! Checks the communicator over MPI on the ranks of one node: `mpirun -n 4 comm_check [--large]`.
//!
//! `--large` adds messages past 2 GiB; it needs 10 GiB of memory on two ranks.

#[path = "../conformance.rs"]
mod conformance;

use std::ptr::null_mut;
use tatpio::comm::mpi::{MpiComm, host_name};
use tatpio::comm::{Communicator, Reduce};
use tatpio::units::Rank;

fn main() {
    let large = std::env::args().any(|argument| argument == "--large");
    // A rank that fails must end the others, which wait for it.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        // SAFETY: MPI is initialized before anything that can panic.
        unsafe { pmpi_sys::PMPI_Abort(pmpi_sys::consts::comm_world(), 1) };
    }));
    // SAFETY: the first MPI call; C programs may pass no arguments (MPI-4.1, section 11.2.1).
    assert_eq!(unsafe { pmpi_sys::PMPI_Init(null_mut(), null_mut()) }, pmpi_sys::MPI_SUCCESS);
    // SAFETY: MPI is initialized; MPI_COMM_WORLD is valid.
    let world = unsafe { MpiComm::dup(pmpi_sys::consts::comm_world()) };
    check_groups(&world);
    if large {
        check_large(&world);
    }
    if world.rank() == Rank(0) {
        println!("comm_check: {} ranks of {} on {}: ok", world.size(), pmpi_sys::IMPLEMENTATION, host_name());
    }
    drop(world);
    // SAFETY: every communicator of ours is freed; no call follows.
    assert_eq!(unsafe { pmpi_sys::PMPI_Finalize() }, pmpi_sys::MPI_SUCCESS);
}

/// The suite on all ranks, on both halves, on a node's ranks, and with messages cut at awkward places.
fn check_groups(world: &MpiComm) {
    conformance::check(world);
    let half = world.split(u32::from(world.rank().0 >= world.size() / 2));
    conformance::check(&half);
    let node = world.node_group();
    assert_eq!(node.size(), world.size(), "this program runs on one node");
    for cut_at in [97, 1000] {
        // SAFETY: MPI is initialized, and the communicator is a live one of ours.
        let cut = unsafe { MpiComm::dup(node.raw()) }.with_messages_cut_at(cut_at);
        conformance::check(&cut);
        conformance::check(&cut.split(cut.rank().0 % 2));
    }
}

/// One message of more bytes than an int counts around a ring, by every call that moves bytes.
fn check_large(world: &MpiComm) {
    const BYTES: usize = 2_300_000_000;
    let (me, size) = (world.rank().0, world.size());
    let pattern = |rank: u32| move |at: usize| (at / 4096) as u8 ^ rank as u8;
    let fill = |rank: u32| -> Vec<u8> { (0..BYTES).map(pattern(rank)).collect() };
    let same = |bytes: &[u8], rank: u32| {
        bytes.len() == BYTES && bytes.iter().copied().eq((0..BYTES).map(pattern(rank)))
    };

    let mine = fill(me);
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    let mut received = vec![0; BYTES];
    world.exchange(&[(Rank(next), &mine)], &mut [(Rank(before), &mut received)]);
    assert!(same(&received, before), "exchange");

    world.broadcast(Rank(0), &mut received);
    assert!(same(&received, size - 1), "broadcast of what rank 0 received");
    drop(received);

    let last = size - 1;
    let part = if me == last { &mine[..] } else { b"short" };
    let lists = world.all_gather(part);
    assert!(same(&lists[last as usize], last), "all_gather");
    assert!(lists[..last as usize].iter().all(|list| list == b"short"), "all_gather");
    drop(lists);
    let lists = world.gather(Rank(0), part);
    assert!(me != 0 || same(&lists[last as usize], last), "gather");

    let mut all = [1];
    world.all_reduce(Reduce::Sum, &mut all);
    assert_eq!(all, [u64::from(size)]);
}
