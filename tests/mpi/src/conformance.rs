// What every communicator must do. The parent module brings `Communicator`, `Rank` and `Reduce`: the
// simulated communicator's unit tests include this file, and so does the program that runs under mpirun.

use super::{Communicator, Rank, Reduce};

/// Every call on one group. Panics at the first wrong answer.
pub fn check(comm: &impl Communicator) {
    for length_max in [5, 60, 3000] {
        check_gathers(comm, length_max);
    }
    check_numbers(comm);
    check_exchange(comm);
    check_share(comm);
}

/// Bytes that tell their rank, of every length below the limit, none among them.
fn bytes_of(rank: u32, length_max: u32) -> Vec<u8> {
    let length = rank * 7919 % length_max;
    (0..length).map(|at| (rank * 31 + at) as u8).collect()
}

fn check_gathers(comm: &impl Communicator, length_max: u32) {
    let (me, size) = (comm.rank().0, comm.size());
    let mine = bytes_of(me, length_max);
    let everyone: Vec<Vec<u8>> = (0..size).map(|rank| bytes_of(rank, length_max)).collect();
    comm.barrier();
    assert_eq!(comm.all_gather(&mine), everyone, "all_gather below {length_max} bytes");
    assert_eq!(comm.all_gather(&[]), vec![Vec::<u8>::new(); everyone.len()], "all_gather of nothing");
    for root in [0, size / 2, size - 1] {
        let expected = if me == root { everyone.clone() } else { Vec::new() };
        assert_eq!(comm.gather(Rank(root), &mine), expected, "gather to {root} below {length_max} bytes");
        let mut bytes = bytes_of(me + 1, length_max);
        comm.broadcast(Rank(root), &mut bytes);
        assert_eq!(bytes, bytes_of(root + 1, length_max), "broadcast from {root} below {length_max} bytes");
    }
}

fn check_numbers(comm: &impl Communicator) {
    let (me, size) = (u64::from(comm.rank().0), u64::from(comm.size()));
    for count in [0, 1, 3, 1000] {
        let values = |rank: u64| (0..count).map(move |at| rank.wrapping_mul(at).wrapping_sub(7 * rank));
        for (op, combine) in [
            (Reduce::Sum, u64::wrapping_add as fn(u64, u64) -> u64),
            (Reduce::Min, u64::min),
            (Reduce::Max, u64::max),
        ] {
            let expected: Vec<u64> = (0..size).fold(Vec::new(), |sum, rank| match rank {
                0 => values(0).collect(),
                _ => sum.into_iter().zip(values(rank)).map(|(a, b)| combine(a, b)).collect(),
            });
            let mut mine: Vec<u64> = values(me).collect();
            comm.all_reduce(op, &mut mine);
            assert_eq!(mine, expected, "all_reduce {op:?} of {count} values");
        }
    }
    let sent: Vec<u64> = (0..size).map(|to| me << 32 | to).collect();
    let expected: Vec<u64> = (0..size).map(|from| from << 32 | me).collect();
    assert_eq!(comm.all_to_all(&sent), expected, "all_to_all");
}

/// Three messages to every rank, oneself included, some of them empty.
fn check_exchange(comm: &impl Communicator) {
    let (me, size) = (comm.rank().0, comm.size());
    let message = |from: u32, to: u32, which: u32| {
        let length = (from * 7 + to * 3 + which) % 4 * [1, 100, 2500][which as usize];
        vec![(from * 64 + to * 8 + which) as u8; length as usize]
    };
    let pairs: Vec<(u32, u32)> =
        (0..size).flat_map(|other| (0..3).map(move |which| (other, which))).collect();
    let sent: Vec<Vec<u8>> = pairs.iter().map(|&(to, which)| message(me, to, which)).collect();
    let blank = |&(from, which): &(u32, u32)| vec![0xEE; message(from, me, which).len()];
    let mut received: Vec<Vec<u8>> = pairs.iter().map(blank).collect();
    let sends: Vec<(Rank, &[u8])> =
        pairs.iter().zip(&sent).map(|(&(to, _), bytes)| (Rank(to), &bytes[..])).collect();
    let mut receives: Vec<(Rank, &mut [u8])> =
        pairs.iter().zip(&mut received).map(|(&(from, _), bytes)| (Rank(from), &mut bytes[..])).collect();
    comm.exchange(&sends, &mut receives);
    for (&(from, which), bytes) in pairs.iter().zip(&received) {
        assert_eq!(*bytes, message(from, me, which), "message {which} from {from} to {me}");
    }
}

/// Every rank writes its neighbour's segment, and finds in its own what the other neighbour wrote.
fn check_share(comm: &impl Communicator) {
    let (me, size) = (comm.rank().0, comm.size());
    let length = |rank: u32| rank as usize % 4 * 5000;
    let segments = comm.share(length(me)).expect("ranks of one node can share memory");
    let lengths: Vec<usize> = segments.iter().map(|segment| segment.len()).collect();
    assert_eq!(lengths, (0..size).map(length).collect::<Vec<_>>());
    let mark = |rank: u32| (rank % 255) as u8 + 1;
    let next = &segments[((me + 1) % size) as usize];
    let mut start = vec![0xEE; next.len()];
    next.copy_out(0, &mut start);
    assert_eq!(start, vec![0; next.len()], "a new segment is zeroed");
    comm.barrier();
    next.copy_in(0, &vec![mark(me); next.len()]);
    comm.barrier();
    let mut mine = vec![0; length(me)];
    segments[me as usize].copy_out(0, &mut mine);
    let before = (me + size - 1) % size;
    assert_eq!(mine, vec![mark(before); length(me)], "what rank {before} wrote");
}
