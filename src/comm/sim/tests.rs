#[path = "../../../tests/mpi/src/conformance.rs"]
mod conformance;

use super::super::SingleComm;
use super::*;
use std::time::{Duration, Instant};

/// Runs and returns the failure's text.
fn failure(ranks: u32, program: impl Fn(SimComm) + Sync) -> String {
    let started = Instant::now();
    let text = simulate(&SimSetup::new(ranks), program).expect_err("the ranks disagree");
    assert!(started.elapsed() < Duration::from_secs(20), "it must fail at once: {text}");
    text
}

#[test]
fn a_group_of_one_does_what_every_communicator_does() {
    conformance::check(&SingleComm);
}

#[test]
fn every_call_gives_what_it_promises_on_any_number_of_ranks() {
    for ranks in [1, 2, 3, 4, 5, 7, 8, 16, 31, 64] {
        let values = simulate(&SimSetup::new(ranks), |comm| {
            conformance::check(&comm);
            comm.rank().0
        });
        assert_eq!(values, Ok((0..ranks).collect()));
    }
}

#[test]
fn hundreds_of_ranks_run_in_one_process() {
    let sums = simulate(&SimSetup::new(500), |comm| {
        let (me, size) = (comm.rank().0, comm.size());
        let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
        let mut received = [0; 4];
        comm.exchange(&[(next, &me.to_ne_bytes())], &mut [(before, &mut received)]);
        assert_eq!(u32::from_ne_bytes(received), before.0);
        let mut sum = [u64::from(me)];
        comm.all_reduce(Reduce::Sum, &mut sum);
        sum[0]
    });
    assert_eq!(sums, Ok(vec![500 * 499 / 2; 500]));
}

#[test]
fn a_split_makes_groups_that_work_and_split_again() {
    let places = simulate(&SimSetup::new(24), |comm| {
        let half = comm.split(1 - comm.rank().0 / 12);
        let third = half.split(half.rank().0 % 3);
        for group in [&comm, &half, &third] {
            conformance::check(group);
        }
        (half.rank().0, half.size(), third.rank().0, third.size())
    });
    assert_eq!(places, Ok((0..24).map(|rank| (rank % 12, 12, rank % 12 / 3, 4)).collect()));
}

#[test]
fn groups_that_do_not_meet_need_not_keep_step() {
    let counts = simulate(&SimSetup::new(6), |comm| {
        let group = comm.split(comm.rank().0 / 3);
        let rounds = if comm.rank().0 < 3 { 50 } else { 1 };
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
        0..=2 => comm.barrier(),
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
