//! What the tests of this room share.

use super::{Candidates, Flow, Held, NodeMatrix, Problem};
use crate::topology::{FilesOnly, NodeMap, Topology};
use crate::units::NodeId;

/// Numbers that a seed replays (SplitMix64).
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound` - 1.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Every way to give each of `rows` rows a column within its capacity: the stupid twin of every solver.
pub(super) fn every_assignment(rows: usize, capacity: &[u32]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..rows {
        let mut longer = Vec::new();
        for start in all {
            for (column, &capacity) in capacity.iter().enumerate() {
                if start.iter().filter(|&&used| used == column).count() < capacity as usize {
                    longer.push([&start[..], &[column]].concat());
                }
            }
        }
        all = longer;
    }
    all
}

/// Nodes, what they hold, and who may aggregate: all that a [`Problem`] refers to.
pub(super) struct Job {
    pub topology: Topology,
    pub candidates: Candidates,
    pub matrix: NodeMatrix,
    pub flow: Flow,
    pub count_fixed: bool,
}

/// The topology of so many nodes with one or more ranks each.
pub(super) fn network(spec: &str, map: &NodeMap) -> Topology {
    Topology::resolve(&spec.parse().unwrap(), map, &FilesOnly).unwrap().topology
}

impl Job {
    /// A random job with at most so many nodes, aggregators and units; units are few kinds, or all different.
    pub fn random(seed: u64, nodes_max: usize, units_max: usize) -> Job {
        let mut random = Random(seed);
        let nodes = 1 + random.below(nodes_max);
        let ranks = 1 + random.below(2) as u32;
        let map = NodeMap::emulated(nodes as u32 * ranks, ranks);
        let spec = [
            "flat",
            "tree:2,32/1gbit,10gbit",
            "tree:8,4/8gbit,1gbit",
            "torus:4,4,2",
            "fat-tree:6",
            "dragonfly:5,2,4",
        ][random.below(6)];
        let list = ["*:1", "*:2", "*:*", "node0:0,*:2"][random.below(4)];
        let limit = [None, None, Some(1 + random.below(4) as u32)][random.below(3)];
        let units = random.below(units_max + 1);
        let kinds = [2, units_max][random.below(2)];
        let scale = [3, 100, 1 << 50][random.below(3)];
        let kind = |kind: u64| {
            let mut random = Random(seed ^ kind << 32);
            let mut held = Vec::new();
            for node in (0..nodes).map(NodeId::from_index) {
                let (holds, bytes, inside) =
                    (random.below(2) == 0, random.next() % scale, random.next() % scale);
                if holds {
                    held.push(Held { node, bytes, inside });
                }
            }
            held
        };
        Job {
            topology: network(spec, &map),
            candidates: Candidates::new(&map, limit, &list.parse().unwrap()),
            matrix: NodeMatrix::from_units(nodes, (0..units).map(|_| kind(random.below(kinds) as u64))),
            flow: [Flow::Gather, Flow::Scatter][random.below(2)],
            count_fixed: limit.is_some(),
        }
    }

    /// The same with no more units than the list has entries, as file domains are.
    pub fn of_domains(mut self) -> Job {
        let units = self.matrix.domains().min(self.candidates.list.len());
        let held = (0..units).map(|unit| self.matrix.held(unit).to_vec());
        self.matrix = NodeMatrix::from_units(self.matrix.nodes(), held);
        self
    }

    pub fn problem(&self) -> Problem<'_> {
        let Job { topology, candidates, matrix, flow, count_fixed } = self;
        Problem { matrix, topology, candidates, flow: *flow, count_fixed: *count_fixed }
    }
}
