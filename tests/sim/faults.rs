//! A read or write that fails on any rank, in any round: every rank returns an error of one class, nobody hangs, and the
//! next collective call on the file works.

use crate::pattern::Dealt;
use tatpio::backend::{Backend, Fault, FaultOn, Faulty, MemoryFile};
use tatpio::collective::{CollectiveFile, FileSetup};
use tatpio::comm::{Communicator, SimSetup, simulate};
use tatpio::error::{Error, ErrorClass};
use tatpio::hints::Hints;
use tatpio::units::{ByteRange, Rank};

/// A situation: its hints, and how far apart blocks are.
struct Situation {
    name: &'static str,
    hints: &'static [(&'static str, &'static str)],
    pattern: Dealt,
    shared_memory: bool,
}

const fn dealt(gap: u64) -> Dealt {
    Dealt { ranks: 4, block: 10, count: 30, gap }
}

const SITUATIONS: [Situation; 7] = [
    Situation {
        name: "one node, no holes",
        hints: &[("cb_buffer_size", "100"), ("cb_config_list", "*:2")],
        pattern: dealt(0),
        shared_memory: true,
    },
    Situation {
        name: "one node, holes",
        hints: &[("cb_buffer_size", "100"), ("cb_config_list", "*:2")],
        pattern: dealt(3),
        shared_memory: true,
    },
    Situation {
        name: "two nodes, holes",
        hints: &[("cb_buffer_size", "100"), ("tatpio_node_ranks", "2")],
        pattern: dealt(3),
        shared_memory: true,
    },
    Situation {
        name: "no shared memory",
        hints: &[("cb_buffer_size", "100"), ("cb_config_list", "*:2")],
        pattern: dealt(3),
        shared_memory: false,
    },
    Situation {
        name: "holes not sieved",
        hints: &[("cb_buffer_size", "100"), ("romio_ds_write", "disable"), ("romio_ds_read", "disable")],
        pattern: dealt(3),
        shared_memory: true,
    },
    Situation {
        name: "each by itself",
        hints: &[
            ("romio_cb_write", "disable"),
            ("romio_cb_read", "disable"),
            ("ind_wr_buffer_size", "100"),
            ("ind_rd_buffer_size", "100"),
        ],
        pattern: dealt(3),
        shared_memory: true,
    },
    Situation {
        name: "stripes",
        hints: &[
            ("tatpio_domains", "cyclic"),
            ("striping_unit", "40"),
            ("cb_buffer_size", "100"),
            ("tatpio_node_ranks", "1"),
        ],
        pattern: dealt(0),
        shared_memory: true,
    },
];

/// What one rank saw: its first call's outcome, and how many calls of each kind its back end had.
struct Seen {
    first: Result<u64, Error>,
    calls: Vec<(FaultOn, u64)>,
}

/// Writes (or reads) once with a fault planned on one rank, then writes and reads again without.
fn run(situation: &Situation, writes: bool, fault: Option<(Rank, Fault)>) -> Vec<Seen> {
    let pattern = situation.pattern;
    let shared = MemoryFile::with_bytes(&vec![7; usize::try_from(pattern.end() + 50).unwrap()]);
    let mut setup = SimSetup::new(u32::try_from(pattern.ranks).unwrap());
    setup.share_fails_on = (!situation.shared_memory).then_some(Rank(1));
    let rank_program = |comm: tatpio::comm::SimComm| {
        let rank = comm.rank();
        let plan: Vec<Fault> = fault.iter().filter(|(on, _)| *on == rank).map(|&(_, fault)| fault).collect();
        let mut file_setup = FileSetup::new("faulty", comm.size());
        file_setup.hints = hints(situation);
        let mut file = CollectiveFile::open(comm, Faulty::new(shared.handle(), plan), file_setup);
        let mine = u8::try_from(rank.0).unwrap() + 100;
        let mut buffer = vec![mine; usize::try_from(pattern.bytes()).unwrap()];
        let request = Ok(pattern.request(u64::from(rank.0), &mut buffer));
        let first = if writes { file.write_all(request) } else { file.read_all(request) };
        let calls = FaultOn::ALL.into_iter().map(|on| (on, file.backend().calls(on))).collect();

        let mut buffer = vec![mine; usize::try_from(pattern.bytes()).unwrap()];
        file.write_all(Ok(pattern.request(u64::from(rank.0), &mut buffer))).expect("the next write works");
        let mut back = vec![0; buffer.len()];
        let read = file.read_all(Ok(pattern.request(u64::from(rank.0), &mut back)));
        assert_eq!(read.expect("the next read works"), pattern.bytes());
        assert_eq!(back, buffer);
        Seen { first, calls }
    };
    let seen =
        simulate(&setup, rank_program).unwrap_or_else(|text| panic!("{}: {fault:?}: {text}", situation.name));
    // Bytes that nobody wrote are what they were, whatever failed.
    let contents = shared.contents(ByteRange::new(0, shared.size().unwrap()));
    for (offset, &byte) in (0..).zip(&contents) {
        let expected = pattern.owner(offset).map_or(7, |rank| u8::try_from(rank).unwrap() + 100);
        assert_eq!(byte, expected, "{}: {fault:?}: byte {offset}", situation.name);
    }
    seen
}

fn hints(situation: &Situation) -> Hints {
    let mut hints = Hints::default();
    situation.hints.iter().for_each(|(key, value)| hints.set(key, value).unwrap());
    hints
}

#[test]
fn every_failing_call_is_everybodys_error() {
    let mut injected = 0;
    for situation in &SITUATIONS {
        for writes in [true, false] {
            let calm = run(situation, writes, None);
            for (rank, seen) in calm.iter().enumerate() {
                assert_eq!(seen.first.as_ref().ok(), Some(&situation.pattern.bytes()), "{}", situation.name);
                for &(on, calls) in seen.calls.iter().filter(|&&(on, _)| on != FaultOn::Lock) {
                    for after in 0..calls {
                        let fault = Fault::once(on, after, libc::ENOSPC);
                        check_agreed(situation, writes, Rank::from_index(rank), fault);
                        injected += 1;
                    }
                }
            }
        }
    }
    assert!(injected > 300, "{injected} faults were injected");
}

fn check_agreed(situation: &Situation, writes: bool, on: Rank, fault: Fault) {
    for (rank, seen) in run(situation, writes, Some((on, fault))).iter().enumerate() {
        let class = seen.first.as_ref().map_err(Error::class);
        assert_eq!(
            class,
            Err(ErrorClass::NoSpace),
            "{}: writes {writes}, {fault:?} on rank {on}, as rank {rank} saw it",
            situation.name
        );
    }
}

/// A file system without locks costs speed, not correctness: holes are written around.
#[test]
fn a_collective_write_needs_no_locks() {
    for (situation, rank) in SITUATIONS.iter().flat_map(|situation| (0..4).map(move |rank| (situation, rank)))
    {
        let fault = Fault { on: FaultOn::Lock, after: 0, errno: libc::ENOLCK, sticky: true };
        for seen in run(situation, true, Some((Rank(rank), fault))) {
            assert_eq!(seen.first.expect("no lock, no error"), situation.pattern.bytes());
        }
    }
}

/// Ranks that write by themselves, told so although their pieces interleave, do not undo each other's writes: a
/// read-modify-write across another rank's piece did, one time in some thousands.
#[test]
fn ranks_by_themselves_do_not_write_across_each_other() {
    let situation = Situation {
        name: "each by itself, sieving",
        hints: &[("romio_cb_write", "disable"), ("romio_ds_write", "enable"), ("ind_wr_buffer_size", "300")],
        pattern: Dealt { ranks: 4, block: 10, count: 30, gap: 0 },
        shared_memory: true,
    };
    for seen in run(&situation, true, None) {
        let locks = seen.calls.iter().find(|(on, _)| *on == FaultOn::Lock).map(|&(_, calls)| calls);
        assert_eq!(locks, Some(0), "no read-modify-write, so no lock");
    }
}

/// A rank whose arguments are wrong keeps its place: nobody hangs, nothing is written, all ranks get its class.
#[test]
fn a_local_error_is_everybodys() {
    let pattern = dealt(0);
    let shared = MemoryFile::new();
    let seen = simulate(&SimSetup::new(4), |comm| {
        let rank = comm.rank();
        let setup = FileSetup::new("arguments", comm.size());
        let mut file = CollectiveFile::open(comm, shared.handle(), setup);
        let mut buffer = vec![1; usize::try_from(pattern.bytes()).unwrap()];
        let request = if rank == Rank(2) {
            Err(Error::Invalid { class: ErrorClass::Count, what: "a negative count".into() })
        } else {
            Ok(pattern.request(u64::from(rank.0), &mut buffer))
        };
        file.write_all(request).map_err(|error| error.class())
    });
    assert_eq!(seen.unwrap(), vec![Err(ErrorClass::Count); 4]);
    assert_eq!(shared.size().unwrap(), 0);
}
