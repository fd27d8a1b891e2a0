use super::*;
use std::time::{Duration, Instant};

/// Runs and returns the failure's text.
fn failure(ranks: u32, program: impl Fn(SimComm) + Sync) -> String {
    let started = Instant::now();
    let text = simulate(&SimSetup::new(ranks), program).expect_err("the ranks disagree");
    assert!(started.elapsed() < Duration::from_secs(20), "it must fail at once: {text}");
    text
}

/// Every kind of collective against what it must give, on one group whose members have these colors.
fn check_collectives(comm: &impl Communicator) {
    let (me, size) = (comm.rank().0, comm.size());
    let bytes_of = |rank: u32| vec![rank as u8; (rank % 5) as usize];
    let everyone: Vec<Vec<u8>> = (0..size).map(bytes_of).collect();

    comm.barrier();
    assert_eq!(comm.all_gather(&bytes_of(me)), everyone);

    let root = Rank(size / 2);
    let gathered = comm.gather(root, &bytes_of(me));
    assert_eq!(gathered, if me == root.0 { everyone } else { Vec::new() });

    let mut bytes = bytes_of(me + 1);
    comm.broadcast(root, &mut bytes);
    assert_eq!(bytes, bytes_of(root.0 + 1));

    let values = |rank: u32| [u64::from(rank), u64::MAX - u64::from(rank), 7];
    for (op, expected) in [
        (Reduce::Sum, (0..size).map(values).reduce(|a, b| std::array::from_fn(|i| a[i].wrapping_add(b[i])))),
        (Reduce::Min, Some([0, u64::MAX - u64::from(size - 1), 7])),
        (Reduce::Max, Some([u64::from(size - 1), u64::MAX, 7])),
    ] {
        let mut mine = values(me);
        comm.all_reduce(op, &mut mine);
        assert_eq!(Some(mine), expected, "{op:?}");
    }

    let to = |from: u32, to: u32| u64::from(from) << 32 | u64::from(to);
    let sent: Vec<u64> = (0..size).map(|other| to(me, other)).collect();
    let expected: Vec<u64> = (0..size).map(|other| to(other, me)).collect();
    assert_eq!(comm.all_to_all(&sent), expected);

    let segments = comm.share(me as usize * 3).expect("heap memory");
    for (rank, segment) in segments.iter().enumerate() {
        assert_eq!(segment.len(), rank * 3);
    }
    let next = &segments[((me + 1) % size) as usize];
    next.copy_in(0, &vec![me as u8; next.len()]);
    comm.barrier();
    let before = (me + size - 1) % size;
    assert_eq!(segments[me as usize].slice(0..me as usize * 3), vec![before as u8; me as usize * 3]);
}

/// Two messages to every rank, oneself included, the first of them empty for some pairs.
fn check_exchange(comm: &impl Communicator) {
    let (me, size) = (comm.rank().0, comm.size());
    let message = |from: u32, to: u32, which: u32| {
        let len = (from * 7 + to * 3 + which) % 4 + which;
        vec![(from ^ to).wrapping_add(which) as u8; len as usize]
    };
    let pairs: Vec<(u32, u32)> = (0..size).flat_map(|other| [(other, 0), (other, 1)]).collect();
    let sent: Vec<Vec<u8>> = pairs.iter().map(|&(other, which)| message(me, other, which)).collect();
    let mut received: Vec<Vec<u8>> =
        pairs.iter().map(|&(other, which)| vec![0xEE; message(other, me, which).len()]).collect();
    let sends: Vec<(Rank, &[u8])> =
        pairs.iter().zip(&sent).map(|(&(other, _), bytes)| (Rank(other), &bytes[..])).collect();
    let mut receives: Vec<(Rank, &mut [u8])> =
        pairs.iter().zip(&mut received).map(|(&(other, _), bytes)| (Rank(other), &mut bytes[..])).collect();
    comm.exchange(&sends, &mut receives);
    for (&(other, which), bytes) in pairs.iter().zip(&received) {
        assert_eq!(*bytes, message(other, me, which), "message {which} from {other} to {me}");
    }
}

#[test]
fn every_call_gives_what_it_promises_on_any_number_of_ranks() {
    for ranks in [1, 2, 3, 4, 5, 7, 8, 16, 31, 64] {
        let values = simulate(&SimSetup::new(ranks), |comm| {
            for _ in 0..3 {
                check_collectives(&comm);
                check_exchange(&comm);
            }
            comm.rank().0
        });
        assert_eq!(values, Ok((0..ranks).collect()));
    }
}

#[test]
fn hundreds_of_ranks_run_in_one_process() {
    let sums = simulate(&SimSetup::new(500), |comm| {
        check_exchange(&comm);
        let mut sum = [1];
        comm.all_reduce(Reduce::Sum, &mut sum);
        sum[0]
    });
    assert_eq!(sums, Ok(vec![500; 500]));
}

#[test]
fn a_split_makes_groups_that_work_and_split_again() {
    let places = simulate(&SimSetup::new(24), |comm| {
        let half = comm.split(1 - comm.rank().0 / 12);
        let third = half.split(half.rank().0 % 3);
        for group in [&comm, &half, &third] {
            check_collectives(group);
            check_exchange(group);
        }
        (half.rank().0, half.size(), third.rank().0, third.size())
    });
    assert_eq!(places, Ok((0..24).map(|rank| (rank % 12, 12, rank % 12 / 3, 4)).collect()));
}

#[test]
fn groups_that_do_not_meet_need_not_keep_step() {
    let counts = simulate(&SimSetup::new(6), |comm| {
        let group = comm.split(comm.rank().0 % 2);
        let rounds = if comm.rank().0.is_multiple_of(2) { 50 } else { 1 };
        (0..rounds).for_each(|_| group.barrier());
        comm.all_gather(&[]).len()
    });
    assert_eq!(counts, Ok(vec![6; 6]));
}

#[test]
fn disagreements_name_the_collective_and_the_ranks() {
    type Program = fn(&SimComm);
    let cases: [(Program, &str); 5] = [
        (|comm| comm.barrier(), "rank 3 calls barrier"),
        (|comm| drop(comm.gather(Rank(1), b"")), "rank 3 calls gather to root 1"),
        (|comm| comm.all_reduce(Reduce::Min, &mut [0; 2]), "rank 3 calls all_reduce Min of 2 values"),
        (|comm| comm.all_reduce(Reduce::Sum, &mut [0; 3]), "rank 3 calls all_reduce Sum of 3 values"),
        (|comm| drop(comm.split(0)), "rank 3 calls split"),
    ];
    for (odd_one, expected) in cases {
        let text = failure(5, |comm| {
            comm.barrier();
            if comm.rank() == Rank(3) {
                // The last to come, so that the message is the same every time.
                comm.world.until_waiting(4);
                odd_one(&comm);
            } else {
                comm.all_reduce(Reduce::Sum, &mut [1, 2]);
            }
        });
        let expected = format!(
            "ranks disagree on collective 2 of world: ranks 0-2, 4 wait in all_reduce Sum of 2 values, {expected}"
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn a_subgroup_is_named_after_its_split() {
    let text = failure(4, |comm| {
        comm.barrier();
        let group = comm.split(7 + comm.rank().0 / 2);
        if comm.rank() == Rank(3) {
            comm.world.until_waiting(3);
            group.broadcast(Rank(1), &mut Vec::new());
        } else {
            group.broadcast(Rank(0), &mut Vec::new());
            comm.barrier();
        }
    });
    let expected = "ranks disagree on collective 1 of world/2.8: \
                    rank 2 waits in broadcast from root 0, rank 3 calls broadcast from root 1";
    assert_eq!(text, expected);
}

#[test]
fn a_deadlock_names_who_waits_where() {
    let text = failure(6, |comm| match comm.rank().0 {
        0 | 1 | 2 => comm.barrier(),
        3 => comm.exchange(&[], &mut [(Rank(4), &mut [0]), (Rank(5), &mut [0])]),
        4 => comm.exchange(&[(Rank(3), b"x")], &mut [(Rank(3), &mut [0])]),
        _ => comm.barrier(),
    });
    assert_eq!(
        text,
        "deadlock: ranks 0-2, 5 wait in barrier, collective 1 of world; rank 3 waits in an exchange of world for \
         rank 5; rank 4 waits in an exchange of world for rank 3"
    );
}

#[test]
fn a_rank_that_ends_too_early_is_named() {
    type Program = fn(&SimComm);
    let cases: [(Program, Program, &str); 5] = [
        (|_| (), |comm| comm.barrier(), "rank 1 ended, but rank 0 waits in barrier, collective 1 of world"),
        (
            |_| (),
            |comm| comm.exchange(&[], &mut [(Rank(1), &mut [0])]),
            "rank 1 ended, but rank 0 waits for a message from it in world",
        ),
        (
            |comm| comm.world.until_ended(0),
            |comm| comm.exchange(&[(Rank(1), b"abc")], &mut []),
            "rank 1 ended without receiving 3 bytes that rank 0 sent it in world",
        ),
        (
            |comm| {
                comm.world.until_ended(0);
                comm.exchange(&[(Rank(0), b"abc")], &mut []);
            },
            |_| (),
            "rank 1 sends 3 bytes to rank 0 in world, but rank 0 ended",
        ),
        (
            |comm| {
                comm.world.until_ended(0);
                comm.barrier();
            },
            |_| (),
            "rank 1 calls barrier, collective 1 of world, but rank 0 ended",
        ),
    ];
    for (one, zero, expected) in cases {
        let text = failure(2, |comm| if comm.rank() == Rank(0) { zero(&comm) } else { one(&comm) });
        // Which of the two is first is open where neither waits for the other.
        let late = [
            "rank 0 calls barrier, collective 1 of world, but rank 1 ended",
            "rank 0 waits for a message from rank 1 in world, but rank 1 ended",
        ];
        assert!(text == expected || late.contains(&text.as_str()), "{text}\nexpected {expected}");
    }
}

#[test]
fn both_sides_of_a_message_must_agree_on_its_size() {
    let text = failure(3, |comm| match comm.rank().0 {
        0 => {
            comm.exchange(&[(Rank(2), b"abc")], &mut []);
            comm.barrier();
        }
        2 => comm.exchange(&[], &mut [(Rank(0), &mut [0; 4])]),
        _ => comm.barrier(),
    });
    assert_eq!(text, "ranks disagree on a message in world: rank 0 sent 3 bytes, rank 2 expects 4");
}

#[test]
fn a_panic_ends_all_ranks() {
    let text = failure(9, |comm| {
        comm.barrier();
        assert!(comm.rank() != Rank(4), "I am {}", comm.rank());
        loop {
            comm.barrier();
        }
    });
    assert_eq!(text, "rank 4 panicked: I am 4");
}

#[test]
fn memory_that_one_rank_cannot_share_is_shared_by_none() {
    let setup = SimSetup { share_fails_on: Some(Rank(5)), ..SimSetup::new(6) };
    let shared = simulate(&setup, |comm| {
        let group = comm.split(comm.rank().0 / 3);
        (comm.share(8).is_some(), group.share(8).is_some())
    });
    assert_eq!(shared, Ok((0..6).map(|rank| (false, rank < 3)).collect()));
}

#[test]
fn no_ranks_have_no_values() {
    assert_eq!(simulate(&SimSetup::new(0), |_| ()), Ok(Vec::new()));
}
