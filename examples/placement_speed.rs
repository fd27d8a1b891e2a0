//! `placement_speed [REPETITIONS] [WORD]`: how long placement takes, with no MPI and no file: least, median and largest of the
//! repetitions (5), of the cases whose name holds the word. A collective call that takes a second can spare 10 ms.
//!
//! Times are those of the clock: on a machine that does other things, the least says most.

use std::process::ExitCode;
use std::time::Instant;
use tatpio::placement::{
    Candidates, ConfigList, Flow, Held, NodeMatrix, Problem, Strategy, assign_nodes, bottleneck, lap,
    predict, stripes,
};
use tatpio::topology::{FilesOnly, NodeMap, Topology};
use tatpio::units::NodeId;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let repetitions = arguments.next().map_or(Ok(5), |text| text.parse());
    let Ok(repetitions @ 1..) = repetitions else {
        eprintln!("usage: placement_speed [REPETITIONS] [WORD], with a number from 1");
        return ExitCode::FAILURE;
    };
    let run = Run { repetitions, word: arguments.next().unwrap_or_default() };
    println!("{:60} {:>9} {:>9} {:>9}  result", "case", "least ms", "median ms", "most ms");
    assignment_problems(&run);
    domains(&run);
    many_stripes(&run);
    ExitCode::SUCCESS
}

struct Run {
    repetitions: usize,
    word: String,
}

impl Run {
    /// Prints the times of a case, and what it came to.
    fn measure(&self, name: &str, mut case: impl FnMut() -> String) {
        if !name.contains(&self.word) {
            return;
        }
        let mut result = String::new();
        let mut times: Vec<f64> = (0..self.repetitions)
            .map(|_| {
                let start = Instant::now();
                result = case();
                start.elapsed().as_secs_f64() * 1000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let (least, median, most) = (times[0], times[times.len() / 2], times[times.len() - 1]);
        println!("{name:60} {least:9.2} {median:9.2} {most:9.2}  {result}");
    }
}

/// The cost of a row in a column.
type Costs = &'static dyn Fn(u64, u64) -> u64;

/// Assignments of 1,024 rows to 16,384 columns, by costs of several structures.
fn assignment_problems(run: &Run) {
    const ROWS: usize = 1024;
    const COLUMNS: usize = 16384;
    let structures: [(&str, Costs); 5] = [
        ("random", &|row, column| mixed(row << 32 | column) >> 24),
        ("random, few values", &|row, column| mixed(row << 32 | column) % 100),
        ("all want the same", &|row, column| column * 10 + mixed(row << 32 | column) % 10),
        ("all want the same, far apart", &|row, column| (row + 1) * (column + 1)),
        ("on a line, one place", &|row, column| {
            (row * 3).abs_diff(column) * 100 + mixed(row << 32 | column) % 50
        }),
    ];
    for (name, cost) in structures {
        run.measure(&format!("lap {ROWS} x {COLUMNS}, {name}"), || {
            let column_of = lap::minimise(ROWS, &vec![1; COLUMNS], |row, costs| {
                for (column, entry) in costs.iter_mut().enumerate() {
                    *entry = u128::from(cost(row as u64, column as u64));
                }
            });
            let total: u128 = column_of
                .iter()
                .enumerate()
                .map(|(row, &column)| u128::from(cost(row as u64, column as u64)))
                .sum();
            format!("total {total}")
        });
    }
}

/// File domains on nodes.
fn domains(run: &Run) {
    for (spec, nodes, domains) in [
        ("tree:16,32,32", 16384, 1024),
        ("torus:32,32,16", 16384, 1024),
        ("tree:4,2", 8, 8),
        ("tree:8,8", 64, 64),
        ("tree:32,32", 1000, 1000),
        ("torus:10,10,10", 1000, 1000),
        ("fat-tree:16", 1000, 1000),
    ] {
        for pattern in [Pattern::Scattered, Pattern::Blocks] {
            let job = Job::new(spec, nodes, 1, domains, pattern);
            for strategy in [Strategy::HopBytes, Strategy::Bottleneck] {
                if strategy == Strategy::Bottleneck && nodes > 1000 {
                    continue;
                }
                let name = format!("{strategy} {domains} domains, {spec}, {pattern:?}");
                run.measure(&name, || job.outcome(strategy, domains));
            }
            if nodes <= 1000 {
                let name = format!("bound {domains} domains, {spec}, {pattern:?}");
                run.measure(&name, || proof(&bottleneck::solve(&job.problem())));
            }
        }
    }
}

/// Stripes on nodes.
fn many_stripes(run: &Run) {
    for (spec, nodes, units) in [("tree:4,2", 8, 2000), ("tree:8,8", 64, 8192), ("torus:4,4,4", 64, 8192)] {
        for pattern in [Pattern::Blocks, Pattern::Scattered] {
            let job = Job::new(spec, nodes, 1, units, pattern);
            for strategy in [Strategy::Stripes, Strategy::Automatic] {
                let name = format!("{strategy} {units} units, {nodes} nodes, {spec}, {pattern:?}");
                run.measure(&name, || job.outcome(strategy, units));
            }
            let name = format!("bound {units} units, {nodes} nodes, {spec}, {pattern:?}");
            run.measure(&name, || proof(&stripes::solve(&job.problem())));
        }
    }
}

/// How the bytes of units lie on nodes.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Each unit on a few random nodes.
    Scattered,
    /// A three-dimensional array in blocks on shuffled nodes.
    Blocks,
}

struct Job {
    matrix: NodeMatrix,
    topology: Topology,
    candidates: Candidates,
}

impl Job {
    fn new(spec: &str, nodes: u32, ranks: u32, units: usize, pattern: Pattern) -> Job {
        let map = NodeMap::emulated(nodes * ranks, ranks);
        let topology = Topology::resolve(&spec.parse().expect("a topology"), &map, &FilesOnly);
        let held = |unit: usize| pattern.held(unit, units, nodes as usize);
        Job {
            matrix: NodeMatrix::from_units(nodes as usize, (0..units).map(held)),
            topology: topology.expect("it has room for the nodes").topology,
            candidates: Candidates::new(&map, None, &ConfigList::default()),
        }
    }

    fn problem(&self) -> Problem<'_> {
        let Job { matrix, topology, candidates } = self;
        Problem { matrix, topology, candidates, flow: Flow::Gather, count_fixed: false }
    }

    fn outcome(&self, strategy: Strategy, units: usize) -> String {
        let problem = self.problem();
        let chosen = assign_nodes(strategy, &problem);
        assert_eq!(chosen.nodes.len(), units);
        if self.matrix.nodes() > 1000 {
            return String::new();
        }
        let predicted = predict(&problem, &chosen);
        let busiest = predicted.busiest.map_or(0.0, |(_, time)| time.as_seconds());
        format!(
            "{} aggregators, {:.4e} hop-bytes, busiest {busiest:.5} s, in all {:.5} s",
            chosen.seats.iter().sum::<u32>(),
            predicted.hop_bytes.as_f64(),
            predicted.time().as_seconds()
        )
    }
}

fn proof(solved: &bottleneck::Solved) -> String {
    let bottleneck::Solved { time, bound, exact, .. } = solved;
    let (time, bound) = (time.as_seconds(), bound.as_seconds());
    format!("busiest {time:.6} s, of any at least {bound:.6} s, exact: {exact}")
}

impl Pattern {
    fn held(self, unit: usize, units: usize, nodes: usize) -> Vec<Held> {
        const UNIT_BYTES: u64 = 1 << 20;
        let mut bytes = vec![0; nodes];
        match self {
            Pattern::Scattered => {
                for piece in 0..8 {
                    let node = mixed((unit * 8 + piece) as u64) as usize % nodes;
                    bytes[node] += UNIT_BYTES / 16 + mixed(!((unit * 8 + piece) as u64)) % (UNIT_BYTES / 8);
                }
            }
            Pattern::Blocks => {
                // A slab of nodes along x; in a plane, rows of blocks along y; along z every row crosses some.
                let side = (1..).find(|side| side * side * side >= nodes).expect("a side");
                let (x, y) = (unit * side / units, unit * side * 8 / units % side);
                for z in 0..side {
                    let block = ((x * side + y) * side + z) % nodes;
                    // A permutation of nodes that keeps no order.
                    bytes[(block * 7 + 3) % nodes] += UNIT_BYTES / side as u64;
                }
            }
        }
        let held = |(node, bytes)| Held { node: NodeId::from_index(node), bytes, inside: 0 };
        bytes.into_iter().enumerate().map(held).collect()
    }
}

/// Spreads the bits of a number (the finaliser of splitmix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
