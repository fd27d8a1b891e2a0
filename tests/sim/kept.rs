//! A checkpoint loop: what is worked out in the first call is kept for those that follow.

use std::sync::atomic::{AtomicU64, Ordering};
use tatpio::backend::{Backend, MemoryFile};
use tatpio::collective::{CollectiveFile, FileSetup, Request};
use tatpio::comm::{Communicator, Reduce, Segment, SimComm, SimSetup, simulate};
use tatpio::hints::Hints;
use tatpio::memory::Memory;
use tatpio::plan::{Access, Layout, View};
use tatpio::stats::Plan;
use tatpio::units::Rank;

/// A communicator that counts what this rank gathers: the first word of every placement is a gather.
struct Counting<'a> {
    inner: SimComm,
    gathers: &'a AtomicU64,
}

impl Communicator for Counting<'_> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn barrier(&self) {
        self.inner.barrier();
    }

    fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        self.inner.all_gather(mine)
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Vec<Vec<u8>> {
        self.gathers.fetch_add(1, Ordering::Relaxed);
        self.inner.gather(root, mine)
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) {
        self.inner.broadcast(root, bytes);
    }

    fn all_reduce(&self, how: Reduce, values: &mut [u64]) {
        self.inner.all_reduce(how, values);
    }

    fn all_to_all(&self, values: &[u64]) -> Vec<u64> {
        self.inner.all_to_all(values)
    }

    fn exchange(&self, sends: &[(Rank, &[u8])], receives: &mut [(Rank, &mut [u8])]) {
        self.inner.exchange(sends, receives);
    }

    fn split(&self, color: u32) -> Self {
        Counting { inner: self.inner.split(color), gathers: self.gathers }
    }

    fn share(&self, bytes: usize) -> Option<Vec<Segment>> {
        self.inner.share(bytes)
    }
}

const RANKS: u64 = 12;
const BLOCK: u64 = 64;
const BLOCKS: u64 = 40;

/// Rank r has every twelfth block from the r-th on.
fn request(rank: u64, checkpoint: u64, data: &mut [u8]) -> Request<'_> {
    let block = Layout::bytes(BLOCK).unwrap();
    let filetype = Layout::hvector(BLOCKS, 1, (BLOCK * RANKS) as i64, &block).unwrap();
    let displacement = checkpoint * BLOCK * BLOCKS * RANKS + rank * BLOCK;
    let view = View { displacement, filetype, etype_bytes: 1 };
    let access = Access::new(&view, 0, BLOCK * BLOCKS).unwrap();
    Request { access, memory: Memory::contiguous(data) }
}

/// For each of these calls, where its plan came from and how often the ranks gathered.
fn run(assign: &str, checkpoints: &[u64]) -> Vec<(Plan, u64)> {
    let shared = MemoryFile::new();
    let gathers = AtomicU64::new(0);
    let all = simulate(&SimSetup::new(12), |comm| {
        let rank = u64::from(comm.rank().0);
        let control = comm.split(0);
        let mut setup = FileSetup::new("checkpoint", comm.size());
        for (key, value) in [
            ("tatpio_assign", assign),
            ("tatpio_node_ranks", "2"),
            ("tatpio_topology", "tree:3,2"),
            ("romio_cb_write", "enable"),
            ("striping_unit", "128"),
        ] {
            setup.hints.set(key, value).unwrap();
        }
        let mut file =
            CollectiveFile::open(Counting { inner: comm, gathers: &gathers }, shared.handle(), setup);
        let mut found = Vec::new();
        for (step, &checkpoint) in (0..).zip(checkpoints) {
            control.barrier();
            let before = gathers.load(Ordering::Relaxed);
            control.barrier();
            let mut data: Vec<u8> = (0..BLOCK * BLOCKS).map(|i| (i + rank * 7 + step) as u8).collect();
            file.write_all(Ok(request(rank, checkpoint, &mut data))).unwrap();
            control.barrier();
            found.push((file.last_call().unwrap().plan.unwrap(), gathers.load(Ordering::Relaxed) - before));
            control.barrier();
            let mut back = vec![0; data.len()];
            file.read_all(Ok(request(rank, checkpoint, &mut back))).unwrap();
            assert_eq!(file.last_call().unwrap().plan, Some(Plan::Kept), "a read of what was just written");
            assert!(back == data, "rank {rank}, step {step}");
        }
        found
    });
    assert_eq!(shared.size().unwrap() % (BLOCK * BLOCKS * RANKS), 0);
    all.unwrap().swap_remove(0)
}

#[test]
fn the_second_call_of_a_checkpoint_loop_does_no_placement() {
    for assign in ["rank_order", "hop_bytes", "stripes", "automatic"] {
        // The same bytes again.
        let calls = run(assign, &[0, 0, 0]);
        assert_eq!(
            calls.iter().map(|call| call.0).collect::<Vec<_>>(),
            [Plan::New, Plan::Kept, Plan::Kept],
            "{assign}"
        );
        assert!(calls[0].1 > 0, "{assign}: the first call gathers the matrix");
        assert_eq!((calls[1].1, calls[2].1), (0, 0), "{assign}");
        // One checkpoint after another in the file.
        let calls = run(assign, &[0, 1, 2]);
        assert_eq!(
            calls.iter().map(|call| call.0).collect::<Vec<_>>(),
            [Plan::New, Plan::SameMatrix, Plan::SameMatrix],
            "{assign}"
        );
        assert_eq!((calls[1].1, calls[2].1), (0, 0), "{assign}");
    }
}

#[test]
fn other_hints_forget_the_plan() {
    let shared = MemoryFile::new();
    let plans = simulate(&SimSetup::new(12), |comm| {
        let rank = u64::from(comm.rank().0);
        let mut file = CollectiveFile::open(comm, shared.handle(), FileSetup::new("checkpoint", 12));
        let write = |file: &mut CollectiveFile<SimComm, _>| {
            let mut data = vec![1; (BLOCK * BLOCKS) as usize];
            file.write_all(Ok(request(rank, 0, &mut data))).unwrap();
            file.last_call().unwrap().plan.unwrap()
        };
        let first = [write(&mut file), write(&mut file)];
        file.set_hints(Hints::default());
        [first[0], first[1], write(&mut file)]
    });
    assert_eq!(plans.unwrap()[0], [Plan::New, Plan::Kept, Plan::New]);
}
