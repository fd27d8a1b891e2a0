//! Which process serves which file domain (TATP, section 4). Pure: arguments in, an assignment out.
//!
//! The choice has two steps, so that what is exchanged grows with the number of nodes and not of ranks:
//!
//! 1. [`assign_nodes`], alike on every rank: a node for each domain, at most [`Candidates::slots`] domains a
//!    node, from the bytes that each node holds of each domain ([`NodeMatrix`]) and the hops between nodes
//!    ([`Topology`]).
//! 2. [`assign_ranks`], on each node: one of its ranks for each of its domains, from what its own ranks hold.
//!
//! Three strategies answer both, one file each: [`Strategy::RankOrder`], [`Strategy::Locality`] and
//! [`Strategy::HopBytes`].

mod candidates;
mod hop_bytes;
pub mod lap;
mod locality;
mod matrix;
mod rank_order;
mod ranks;
#[cfg(test)]
mod testing;
mod workload;

pub use candidates::{Candidates, ConfigList};
pub use matrix::{NodeMatrix, NodeRow};
pub use ranks::{inside, served};
pub use workload::{between, total, workload};

use crate::topology::Topology;
use crate::units::{Hops, NodeId};
use std::fmt;
use std::str::FromStr;

/// How file domains are assigned (hint `tatpio_assign`).
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
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 3] = [Strategy::RankOrder, Strategy::Locality, Strategy::HopBytes];

    fn name(self) -> &'static str {
        match self {
            Strategy::RankOrder => "rank_order",
            Strategy::Locality => "locality",
            Strategy::HopBytes => "hop_bytes",
        }
    }
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
        found.ok_or_else(|| format!("expected rank_order, locality or hop_bytes, found \"{text}\""))
    }
}

/// The node that serves each domain of `matrix`.
///
/// Ranks that pass equal arguments get equal results: all costs are integers, and [`lap`] says how ties are
/// broken. Panics when the matrix has more domains than the candidates' list has entries, or when matrix,
/// topology and candidates differ in the number of nodes.
pub fn assign_nodes(
    strategy: Strategy,
    matrix: &NodeMatrix,
    topology: &Topology,
    candidates: &Candidates,
) -> Vec<NodeId> {
    let (domains, nodes) = (matrix.domains(), matrix.nodes());
    assert!(domains <= candidates.list.len(), "{domains} domains for {} candidates", candidates.list.len());
    assert_eq!((topology.len(), candidates.slots.len()), (nodes, nodes), "one node count");
    match strategy {
        Strategy::RankOrder => rank_order::nodes(domains, candidates),
        Strategy::Locality => locality::nodes(matrix, candidates),
        Strategy::HopBytes => hop_bytes::nodes(matrix, topology, candidates),
    }
}

/// The local rank that serves each of this node's domains; no rank serves two.
///
/// `rows` has the bytes of each local rank in each of the node's domains, the domains ascending; `distance`
/// is that of two local ranks; `allowed` are the local ranks that may aggregate, ascending. Panics for more
/// domains than allowed ranks, and for rows of different lengths.
pub fn assign_ranks(
    strategy: Strategy,
    rows: &[Vec<u64>],
    distance: &dyn Fn(usize, usize) -> Hops,
    allowed: &[usize],
) -> Vec<usize> {
    let domains = rows.first().map_or(0, Vec::len);
    assert!(rows.iter().all(|row| row.len() == domains), "one entry a domain in every row");
    assert!(domains <= allowed.len(), "{domains} domains for {} ranks", allowed.len());
    match strategy {
        Strategy::RankOrder => rank_order::ranks(domains, allowed),
        Strategy::Locality => locality::ranks(rows, allowed),
        Strategy::HopBytes => hop_bytes::ranks(rows, distance, allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Random, every_assignment};
    use super::*;
    use crate::topology::NodeMap;
    use crate::units::{HopBytes, Rank};

    #[test]
    fn strategies_parse_and_print_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        assert_eq!(Strategy::default().to_string(), "hop_bytes");
        assert_eq!(" locality ".parse(), Ok(Strategy::Locality));
        let error = "latp".parse::<Strategy>().unwrap_err();
        assert_eq!(error, "expected rank_order, locality or hop_bytes, found \"latp\"");
    }

    /// One random job: up to 5 nodes of up to 3 ranks.
    struct Job {
        map: NodeMap,
        topology: Topology,
        candidates: Candidates,
        matrix: NodeMatrix,
    }

    fn job(seed: u64) -> Job {
        let mut random = Random(seed);
        let ranks_per_node = 1 + random.below(3) as u32;
        let nodes = 1 + random.below(5);
        let map = NodeMap::emulated(nodes as u32 * ranks_per_node, ranks_per_node);
        let spec = ["flat", "tree:2,3", "tree:5", "torus:3,2", "fat-tree:4@0,7,1,15,2"][random.below(5)];
        let never = |_: &str| unreachable!("no file");
        let (topology, _) = Topology::resolve(&spec.parse().unwrap(), &map, never).unwrap();
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
            let assign = |strategy| assign_nodes(strategy, &job.matrix, &job.topology, &job.candidates);
            let cost = |nodes: &[NodeId]| total(&job.matrix, &job.topology, nodes);
            let held = |nodes: &[NodeId]| -> u128 {
                nodes.iter().enumerate().map(|(d, &node)| u128::from(job.matrix.bytes(node, d))).sum()
            };
            for strategy in Strategy::ALL {
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
            let nodes = assign_nodes(Strategy::RankOrder, &job.matrix, &job.topology, &job.candidates);
            for node in job.map.nodes() {
                let domains: Vec<usize> = (0..nodes.len()).filter(|&domain| nodes[domain] == node).collect();
                let rows = vec![vec![0; domains.len()]; job.map.ranks_of(node).len()];
                let allowed: Vec<usize> = job.candidates.allowed[node.index()]
                    .iter()
                    .map(|&rank| job.map.local_index(rank))
                    .collect();
                let ranks = assign_ranks(Strategy::RankOrder, &rows, &|_, _| Hops::ONE, &allowed);
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
            let assign = |strategy| assign_ranks(strategy, &rows, &distance, &allowed);
            for strategy in Strategy::ALL {
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
        let (topology, _) =
            Topology::resolve(&"tree:2,2".parse().unwrap(), &map, |_: &str| unreachable!()).unwrap();
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
            let found = assign_nodes(strategy, &matrix, &topology, &candidates);
            assert_eq!(found, nodes.map(NodeId), "{strategy}");
            assert_eq!(total(&matrix, &topology, &found), hop_bytes(cost), "{strategy}");
        }
    }
}
