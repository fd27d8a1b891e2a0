//! Which process serves which bytes of the file (TATP, section 4). Pure: arguments in, an assignment out.
//!
//! What is assigned are units of the accessed range: file domains, at most one for each aggregator, or stripes, many
//! for each ([`Strategy::granularity`]). The choice has two steps, so that what is exchanged grows with the number of
//! nodes and not of ranks:
//!
//! 1. [`Assignment::nodes`], once for the job: a node for each unit, from the bytes that each node holds of each unit
//!    ([`NodeMatrix`]), and the hops and links between nodes ([`Topology`]).
//! 2. [`Assignment::ranks`], on each node: one of its ranks for each of its units, from what its own ranks hold.
//!
//! Assignments are one file each and answer both questions.

pub mod automatic;
pub mod bottleneck;
mod branch;
mod candidates;
mod cost;
mod facility;
mod groups;
mod hop_bytes;
pub mod lap;
mod loads;
mod locality;
mod matrix;
mod prices;
mod rank_order;
mod ranks;
mod search;
mod shared;
pub mod stripes;
#[cfg(test)]
mod testing;
mod traffic;
mod transport;
mod workload;

pub use candidates::{Candidates, ConfigList};
pub use cost::{CostModel, Prediction, predict, predict_with};
pub use loads::{Flow, link_loads};
pub use matrix::{Held, NodeMatrix, NodeRow};
pub use ranks::{inside, served};
pub use workload::{between, total, workload};

use crate::topology::Topology;
use crate::units::{Hops, NodeId};
use std::fmt;
use std::str::FromStr;

/// How the accessed range is assigned (hint `tatpio_assign`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// `rank_order`, as ROMIO does: domain d goes to the d-th aggregator of the list, whatever it holds.
    RankOrder,
    /// `locality`, as LATP does (Filgueira et al.): as many bytes as possible stay on the node that holds
    /// them.
    Locality,
    /// `hop_bytes`, as TATP does: the sum over all messages of bytes times distance is the smallest possible.
    #[default]
    HopBytes,
    /// `bottleneck`: the most loaded link takes the least time; hop-bytes among equals.
    Bottleneck,
    /// `stripes`: stripes instead of domains, by hop-bytes, and by the most loaded link where that decides.
    Stripes,
    /// `automatic`: the number of aggregators, their nodes and their stripes, by the least predicted time.
    Automatic,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 6] = [
        Strategy::RankOrder,
        Strategy::Locality,
        Strategy::HopBytes,
        Strategy::Bottleneck,
        Strategy::Stripes,
        Strategy::Automatic,
    ];

    /// Its name in hints and tables.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::RankOrder => "rank_order",
            Strategy::Locality => "locality",
            Strategy::HopBytes => "hop_bytes",
            Strategy::Bottleneck => "bottleneck",
            Strategy::Stripes => "stripes",
            Strategy::Automatic => "automatic",
        }
    }

    /// What it assigns.
    pub fn granularity(self) -> Granularity {
        match self {
            Strategy::Stripes | Strategy::Automatic => Granularity::Stripes,
            _ => Granularity::Domains,
        }
    }

    /// The assignment itself.
    pub fn assignment(self) -> &'static dyn Assignment {
        match self {
            Strategy::RankOrder => &rank_order::RankOrder,
            Strategy::Locality => &locality::Locality,
            Strategy::HopBytes => &hop_bytes::HopBytes,
            Strategy::Bottleneck => &bottleneck::Bottleneck,
            Strategy::Stripes => &stripes::Stripes,
            Strategy::Automatic => &automatic::Automatic,
        }
    }
}

/// The size of what is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// One contiguous file domain for each aggregator, as in ROMIO.
    Domains,
    /// Stripes, many for each aggregator.
    Stripes,
}

/// What a node for each unit is chosen from.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The bytes of each unit on each node.
    pub matrix: &'a NodeMatrix,
    /// Distances and links between the nodes.
    pub topology: &'a Topology,
    /// Who may aggregate.
    pub candidates: &'a Candidates,
    /// Whether data goes to the aggregators or comes from them.
    pub flow: Flow,
    /// Whether the number of aggregators was asked for (`cb_nodes`); else [`Strategy::Automatic`] chooses it.
    pub count_fixed: bool,
}

impl Problem<'_> {
    /// How many units one aggregator serves at most, when all aggregators take part: 1 for file domains, and for stripes
    /// so many that none has more than its part, rounded up.
    pub fn units_per_seat(&self) -> u32 {
        let seats = self.candidates.list.len().max(1);
        u32::try_from(self.matrix.domains().div_ceil(seats).max(1)).expect("units fit 32 bits")
    }

    /// How many units each node serves at most.
    pub fn capacity(&self) -> Vec<u32> {
        let each = self.units_per_seat();
        self.candidates.slots.iter().map(|&slots| slots.saturating_mul(each)).collect()
    }
}

/// A node for each unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// By unit.
    pub nodes: Vec<NodeId>,
    /// How many aggregators of each node share its units, by node.
    pub seats: Vec<u32>,
}

impl Chosen {
    /// Of units that have one aggregator each.
    pub fn one_each(nodes: Vec<NodeId>, node_count: usize) -> Chosen {
        let mut seats = vec![0; node_count];
        nodes.iter().for_each(|node| seats[node.index()] += 1);
        Chosen { nodes, seats }
    }
}

/// What a rank for each of a node's units is chosen from.
#[derive(Clone, Copy)]
pub struct Inside<'a> {
    /// The bytes of each local rank in each of the node's units, the units ascending.
    pub rows: &'a [Vec<u64>],
    /// That of two local ranks.
    pub distance: &'a dyn Fn(usize, usize) -> Hops,
    /// Bytes of each of the node's units that come from other nodes, and how far each local rank is from the network.
    pub arriving: &'a [u64],
    /// The distance of a local rank from the network card, at most a hop.
    pub to_network: &'a dyn Fn(usize) -> Hops,
    /// The local ranks that may aggregate, ascending; for [`Strategy::RankOrder`] those on the list, in its order.
    pub allowed: &'a [usize],
    /// How many of them aggregate.
    pub seats: u32,
}

impl Inside<'_> {
    /// The number of units.
    pub fn units(&self) -> usize {
        self.arriving.len()
    }

    /// How many units each seat serves at most.
    pub fn units_per_seat(&self) -> u32 {
        u32::try_from(self.units().div_ceil(self.seats.max(1) as usize)).expect("units fit 32 bits")
    }

    /// What a unit costs when a local rank serves it: the way of the other local ranks' bytes to it, and from the card.
    pub fn cost(&self, unit: usize, rank: usize) -> crate::units::HopBytes {
        served(self.rows, self.distance, unit, rank) + self.arriving[unit] * (self.to_network)(rank)
    }
}

/// One way to assign. All costs are integers and ties go to the lowest number, so that equal arguments give equal results
/// everywhere.
pub trait Assignment: Sync {
    /// A node for each unit of the matrix; see [`assign_nodes`].
    fn nodes(&self, problem: &Problem<'_>) -> Chosen;

    /// The local rank that serves each of this node's units; see [`assign_ranks`]. At most `seats` different ranks, none
    /// with more than [`Inside::units_per_seat`] units.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize>;
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;

    /// The strategy of a name. The error says what was expected.
    fn from_str(text: &str) -> Result<Strategy, String> {
        let found = Strategy::ALL.into_iter().find(|strategy| strategy.name() == text.trim());
        let names: Vec<&str> = Strategy::ALL.iter().map(|strategy| strategy.name()).collect();
        found.ok_or_else(|| format!("expected one of {}, found \"{text}\"", names.join(", ")))
    }
}

/// The node that serves each unit of the problem's matrix.
///
/// Ranks that pass equal arguments get equal results: all costs are integers, and [`lap`] says how ties are broken.
/// Panics when a strategy that assigns file domains gets more of them than the candidates' list has entries, when matrix,
/// topology and candidates differ in the number of nodes, and when an assignment broke its own rules.
pub fn assign_nodes(strategy: Strategy, problem: &Problem<'_>) -> Chosen {
    let (units, nodes) = (problem.matrix.domains(), problem.matrix.nodes());
    let candidates = problem.candidates;
    if strategy.granularity() == Granularity::Domains {
        assert!(units <= candidates.list.len(), "{units} domains for {} candidates", candidates.list.len());
    }
    assert_eq!((problem.topology.len(), candidates.slots.len()), (nodes, nodes), "one node count");
    let chosen = strategy.assignment().nodes(problem);
    assert_eq!((chosen.nodes.len(), chosen.seats.len()), (units, nodes), "a node for each unit");
    assert!(chosen.nodes.iter().all(|node| chosen.seats[node.index()] > 0), "a node that serves has a seat");
    assert!(
        chosen.seats.iter().zip(&candidates.slots).all(|(seats, slots)| seats <= slots),
        "seats are slots"
    );
    chosen
}

/// The local rank that serves each of this node's units.
///
/// Panics for more seats than allowed ranks, for units without a seat, and for rows of different lengths.
pub fn assign_ranks(strategy: Strategy, inside: &Inside<'_>) -> Vec<usize> {
    let units = inside.units();
    assert!(inside.rows.iter().all(|row| row.len() == units), "one entry a unit in every row");
    assert!(inside.seats as usize <= inside.allowed.len(), "{} seats, {:?}", inside.seats, inside.allowed);
    assert!(units == 0 || inside.seats > 0, "{units} units and no seat");
    strategy.assignment().ranks(inside)
}

#[cfg(test)]
mod tests {
    use super::testing::{Random, every_assignment};
    use super::*;
    use crate::topology::{FilesOnly, NodeMap};
    use crate::units::{HopBytes, Rank};

    #[test]
    fn strategies_parse_and_print_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        assert_eq!(Strategy::default().to_string(), "hop_bytes");
        assert_eq!(" locality ".parse(), Ok(Strategy::Locality));
        let error = "latp".parse::<Strategy>().unwrap_err();
        assert_eq!(
            error,
            "expected one of rank_order, locality, hop_bytes, bottleneck, stripes, automatic, found \"latp\""
        );
    }

    fn problem<'a>(
        matrix: &'a NodeMatrix,
        topology: &'a Topology,
        candidates: &'a Candidates,
    ) -> Problem<'a> {
        Problem { matrix, topology, candidates, flow: Flow::Gather, count_fixed: false }
    }

    /// One random job: up to 5 nodes of up to 3 ranks.
    struct Job {
        map: NodeMap,
        topology: Topology,
        candidates: Candidates,
        matrix: NodeMatrix,
    }

    impl Job {
        fn assign(&self, strategy: Strategy) -> Vec<NodeId> {
            let Job { topology, candidates, matrix, .. } = self;
            assign_nodes(strategy, &problem(matrix, topology, candidates)).nodes
        }
    }

    /// The strategies that assign file domains, one to each aggregator.
    fn of_domains() -> impl Iterator<Item = Strategy> {
        Strategy::ALL.into_iter().filter(|strategy| strategy.granularity() == Granularity::Domains)
    }

    /// The ranks that a strategy gives one domain each.
    fn ranks(
        strategy: Strategy,
        rows: &[Vec<u64>],
        distance: &dyn Fn(usize, usize) -> Hops,
        allowed: &[usize],
    ) -> Vec<usize> {
        let units = rows[0].len();
        let seats = u32::try_from(units).unwrap();
        let arriving = vec![0; units];
        assign_ranks(
            strategy,
            &Inside { rows, distance, arriving: &arriving, to_network: &|_| Hops::ONE, allowed, seats },
        )
    }

    fn job(seed: u64) -> Job {
        let mut random = Random(seed);
        let ranks_per_node = 1 + random.below(3) as u32;
        let nodes = 1 + random.below(5);
        let map = NodeMap::emulated(nodes as u32 * ranks_per_node, ranks_per_node);
        let spec = ["flat", "tree:2,3", "tree:5", "torus:3,2", "fat-tree:4@0,7,1,15,2"][random.below(5)];
        let topology = Topology::resolve(&spec.parse().unwrap(), &map, &FilesOnly).unwrap().topology;
        let list = ["*:1", "*:2", "*:*", "node1:2,*", "node0:0,*:2"][random.below(5)];
        let candidates = Candidates::new(&map, None, &list.parse().unwrap());
        let domains = random.below(candidates.list.len().min(4) + 1);
        let scale = [3, 100, u64::MAX >> 8][random.below(3)];
        let row = |random: &mut Random| NodeRow {
            bytes: (0..domains).map(|_| random.next() % scale * (random.next() % 2)).collect(),
            inside: (0..domains).map(|_| random.next() % scale).collect(),
        };
        let rows: Vec<NodeRow> = (0..nodes).map(|_| row(&mut random)).collect();
        let matrix = NodeMatrix::from_rows(domains, &rows);
        Job { map, topology, candidates, matrix }
    }

    #[test]
    fn assignments_respect_slots_and_are_the_best_of_all() {
        for seed in 0..3000 {
            let job = job(seed);
            let assign = |strategy| job.assign(strategy);
            let cost = |nodes: &[NodeId]| total(&job.matrix, &job.topology, nodes);
            let held = |nodes: &[NodeId]| -> u128 {
                nodes.iter().enumerate().map(|(d, &node)| u128::from(job.matrix.bytes(node, d))).sum()
            };
            for strategy in of_domains() {
                let mut free = job.candidates.slots.clone();
                let nodes = assign(strategy);
                assert_eq!(nodes.len(), job.matrix.domains(), "seed {seed} {strategy}");
                nodes.iter().for_each(|node| free[node.index()] = free[node.index()].checked_sub(1).unwrap());
            }
            let all: Vec<Vec<NodeId>> = every_assignment(job.matrix.domains(), &job.candidates.slots)
                .into_iter()
                .map(|columns| columns.into_iter().map(NodeId::from_index).collect())
                .collect();
            let least = all.iter().map(|nodes| cost(nodes)).min().unwrap();
            let most = all.iter().map(|nodes| held(nodes)).max().unwrap();
            assert_eq!(cost(&assign(Strategy::HopBytes)), least, "seed {seed}");
            assert_eq!(held(&assign(Strategy::Locality)), most, "seed {seed}");
        }
    }

    #[test]
    fn rank_order_is_the_list_down_to_the_ranks() {
        for seed in 0..500 {
            let job = job(seed);
            let nodes = job.assign(Strategy::RankOrder);
            for node in job.map.nodes() {
                let domains: Vec<usize> = (0..nodes.len()).filter(|&domain| nodes[domain] == node).collect();
                let rows = vec![vec![0; domains.len()]; job.map.ranks_of(node).len()];
                let allowed: Vec<usize> = job.candidates.allowed[node.index()]
                    .iter()
                    .map(|&rank| job.map.local_index(rank))
                    .collect();
                let ranks = ranks(Strategy::RankOrder, &rows, &|_, _| Hops::ONE, &allowed);
                for (domain, local) in domains.into_iter().zip(ranks) {
                    assert_eq!(job.map.ranks_of(node)[local], job.candidates.list[domain], "seed {seed}");
                }
            }
        }
        // Ranks dealt out in turn: the list goes by rank, not by node, when it is "*:*".
        let dealt = NodeMap::new((0..6).map(|rank| (format!("n{}", rank % 2), 0)).collect());
        let candidates = Candidates::new(&dealt, None, &"*:*".parse().unwrap());
        assert_eq!(candidates.list, (0..6).map(Rank).collect::<Vec<_>>());
    }

    #[test]
    fn ranks_are_distinct_and_the_best_of_all() {
        for seed in 0..3000 {
            let mut random = Random(seed);
            let ranks = 1 + random.below(5);
            let allowed: Vec<usize> = (0..ranks).filter(|_| random.below(3) > 0).collect();
            let domains = random.below(allowed.len().min(4) + 1);
            let rows: Vec<Vec<u64>> =
                (0..ranks).map(|_| (0..domains).map(|_| random.next() % 5).collect()).collect();
            let table: Vec<u32> = (0..ranks * ranks).map(|_| 1 + random.below(16) as u32).collect();
            let distance = |a: usize, b: usize| {
                if a == b { Hops::ZERO } else { Hops(table[a.min(b) * ranks + a.max(b)]) }
            };
            let cost = |chosen: &[usize]| -> HopBytes {
                chosen.iter().enumerate().map(|(domain, &rank)| served(&rows, &distance, domain, rank)).sum()
            };
            let held = |chosen: &[usize]| -> u64 {
                chosen.iter().enumerate().map(|(domain, &rank)| rows[rank][domain]).sum()
            };
            let all: Vec<Vec<usize>> = every_assignment(domains, &vec![1; allowed.len()])
                .into_iter()
                .map(|columns| columns.into_iter().map(|column| allowed[column]).collect())
                .collect();
            let assign = |strategy| super::tests::ranks(strategy, &rows, &distance, &allowed);
            for strategy in of_domains() {
                assert!(all.contains(&assign(strategy)), "seed {seed} {strategy}");
            }
            let least = all.iter().map(|chosen| cost(chosen)).min().unwrap();
            assert_eq!(cost(&assign(Strategy::HopBytes)), least, "seed {seed}");
            let most = all.iter().map(|chosen| held(chosen)).max().unwrap();
            assert_eq!(held(&assign(Strategy::Locality)), most, "seed {seed}");
            assert_eq!(assign(Strategy::RankOrder), allowed[..domains], "seed {seed}");
        }
    }

    /// Worked by hand. Nodes 0 and 1 share a switch (2 hops), node 2 is below another (4 hops); one domain a
    /// node.
    ///
    /// ```text
    ///     bytes held   domain 0  domain 1      hop-bytes when served by   node 0        node 1        node 2
    ///     node 0           0         3         domain 0                   5x2      = 10 0             5x4      = 20
    ///     node 1           5         3         domain 1                   3x2+4x4  = 22 3x2+4x4  = 22 3x4+3x4  = 24
    ///     node 2           0         4
    /// ```
    ///
    /// Rank order sends domain 0 to node 0 and domain 1 to node 1: 32. Locality sends domain 1 to node 2,
    /// which holds most of it: 24. The least is 22: node 2 holds more than either of its peers, but they are
    /// next to each other.
    #[test]
    fn the_strategies_differ_as_worked_by_hand() {
        let map = NodeMap::emulated(3, 1);
        let topology = Topology::resolve(&"tree:2,2".parse().unwrap(), &map, &FilesOnly).unwrap().topology;
        let candidates = Candidates::new(&map, None, &ConfigList::default());
        let row = |bytes: [u64; 2]| NodeRow { bytes: bytes.to_vec(), inside: vec![0; 2] };
        let matrix = NodeMatrix::from_rows(2, &[row([0, 3]), row([5, 3]), row([0, 4])]);

        let hop_bytes = |whole: u64| whole * Hops::ONE;
        let expected = [10, 0, 20, 22, 22, 24].map(hop_bytes);
        assert_eq!(workload(&matrix, &topology), expected);
        for (strategy, nodes, cost) in [
            (Strategy::RankOrder, [0, 1], 32),
            (Strategy::Locality, [1, 2], 24),
            (Strategy::HopBytes, [1, 0], 22),
        ] {
            let problem = Problem {
                matrix: &matrix,
                topology: &topology,
                candidates: &candidates,
                flow: Flow::Gather,
                count_fixed: false,
            };
            let found = assign_nodes(strategy, &problem).nodes;
            assert_eq!(found, nodes.map(NodeId), "{strategy}");
            assert_eq!(total(&matrix, &topology, &found), hop_bytes(cost), "{strategy}");
        }
    }
}
