//! Hundreds of ranks on a pretended cluster: the file is right, and the assignments rank as they must.

use tatpio::backend::MemoryFile;
use tatpio::collective::{CollectiveFile, FileSetup, Request};
use tatpio::comm::{Communicator, SimSetup, simulate};
use tatpio::error::Error;
use tatpio::hints::Hints;
use tatpio::memory::Memory;
use tatpio::plan::{Access, Layout, Order, View};
use tatpio::stats::CallStats;
use tatpio::units::ByteRange;

/// Elements along each edge of the array, and processes along each edge of their grid.
const EDGE: u64 = 48;
const GRID: u64 = 6;

/// The cube benchmark's request of one of 216 ranks, over a cluster of 27 nodes in 3 racks.
fn cube(place: u64) -> View {
    let part = EDGE / GRID;
    let starts = [place / GRID / GRID * part, place / GRID % GRID * part, place % GRID * part];
    let element = Layout::bytes(8).unwrap();
    let filetype = Layout::subarray(&[EDGE; 3], &[part; 3], &starts, Order::C, &element).unwrap();
    View { displacement: 0, filetype, etype_bytes: 8 }
}

/// Writes and reads the cube; ranks sit in the grid in order or scattered. Returns the statistics of the write.
fn run(assign: &str, domains: &str, scattered: bool) -> CallStats {
    let ranks = GRID * GRID * GRID;
    let shared = MemoryFile::new();
    // 125 and 216 have no common factor: every place is taken once.
    let place = |rank: u64| if scattered { rank * 125 % ranks } else { rank };
    let bytes = EDGE * EDGE * EDGE * 8 / ranks;
    let all = simulate(&SimSetup::new(u32::try_from(ranks).unwrap()), |comm| {
        let rank = u64::from(comm.rank().0);
        let mut setup = FileSetup::new("cube", comm.size());
        setup.hints = hints(assign, domains);
        let mut file = CollectiveFile::open(comm, shared.handle(), setup);
        let mut data = vec![0; usize::try_from(bytes).unwrap()];
        (0..).zip(&mut data).for_each(|(i, byte)| *byte = value(place(rank), i));
        assert_eq!(file.write_all(request(place(rank), &mut data)).unwrap(), bytes);
        let stats = file.last_call().unwrap().clone();
        let mut back = vec![0; data.len()];
        assert_eq!(file.read_all(request(place(rank), &mut back)).unwrap(), bytes);
        assert!(back == data, "rank {rank} reads what it wrote");
        stats
    });
    let contents = shared.contents(ByteRange::new(0, EDGE * EDGE * EDGE * 8));
    for place in 0..ranks {
        let access = Access::new(&cube(place), 0, bytes).unwrap();
        access.visit(access.hull(), |offset, stream, len| {
            for i in 0..len {
                assert_eq!(contents[usize::try_from(offset + i).unwrap()], value(place, stream + i));
            }
        });
    }
    all.unwrap().swap_remove(0)
}

fn request(place: u64, buffer: &mut [u8]) -> Result<Request<'_>, Error> {
    let access = Access::new(&cube(place), 0, buffer.len() as u64)?;
    Ok(Request { access, memory: Memory::contiguous(buffer) })
}

fn value(place: u64, stream: u64) -> u8 {
    (place * 31 + stream * 7 + stream / 256).to_le_bytes()[0]
}

fn hints(assign: &str, domains: &str) -> Hints {
    let mut hints = Hints::default();
    let all = [
        ("tatpio_assign", assign),
        ("tatpio_domains", domains),
        ("striping_unit", "4096"),
        ("tatpio_node_ranks", "8"),
        ("tatpio_topology", "tree:3,9"),
        ("cb_buffer_size", "10000"),
        ("tatpio_stats", "/dev/null"),
    ];
    all.iter().for_each(|(key, value)| hints.set(key, value).unwrap());
    hints
}

#[test]
fn cube_on_216_ranks() {
    for domains in ["even", "cyclic"] {
        for scattered in [false, true] {
            let stats = run("hop_bytes", domains, scattered);
            assert_eq!((stats.nodes, stats.domains, stats.ranks), (27, 27, 216));
            let mut aggregators = stats.aggregators.clone();
            aggregators.sort();
            aggregators.dedup();
            assert_eq!(aggregators.len(), 27, "no rank serves two domains");
            let cost = |name: &str| stats.hop_bytes[name];
            // Between nodes the LAP is optimal; only who serves inside a node can differ, by less than a hop a byte.
            assert!(cost("hop_bytes") <= cost("locality") && cost("hop_bytes") <= cost("rank_order"));
            if scattered && domains == "even" {
                assert!(cost("hop_bytes") < 0.99 * cost("rank_order"), "{:?}", stats.hop_bytes);
            }
            assert_eq!(stats.holes, 0);
        }
    }
    for assign in ["rank_order", "locality"] {
        let stats = run(assign, "even", true);
        assert_eq!(stats.domains, 27);
    }
}
