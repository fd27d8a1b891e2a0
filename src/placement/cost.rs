//! How long a collective call takes under a placement, by a model of a few numbers: enough to choose between placements
//! without trial runs, not to foretell a time on a clock.

use super::{Chosen, NodeMatrix, Problem, link_loads, total};
use crate::units::{Bytes, HopBytes, NodeId, Picoseconds, Rate};
use std::collections::BTreeMap;

/// What the model knows of the machine. Shuffle, I/O and copies follow each other:
///
/// ```text
/// shuffle   time of the busiest directed link + message x messages at the busiest node + round x rounds
/// io        the longest of: an aggregator's bytes at `client` + piece x its contiguous runs,
///           a node's bytes at `node`, all bytes at `storage`
/// copies    the most that one node holds and serves, at `memory`
/// ```
///
/// The defaults are those of a middling cluster: only their ratios decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostModel {
    /// What a message costs the node that sends it and the one that receives it. 5 µs.
    pub message: Picoseconds,
    /// What every round costs, for its meetings. 50 µs.
    pub round: Picoseconds,
    /// The bytes that an aggregator serves in one round (`cb_buffer_size`). 2 MiB.
    pub round_bytes: Bytes,
    /// What one aggregator gets from the file system. 16 Gbit/s.
    pub client: Rate,
    /// What one node's aggregators get from the file system together. 100 Gbit/s.
    pub node: Rate,
    /// What all aggregators get from the file system together. 400 Gbit/s.
    pub storage: Rate,
    /// What a contiguous run of units costs the aggregator beyond its bytes: a system call, a lock. 20 µs.
    pub piece: Picoseconds,
    /// What a node copies in memory. 80 Gbit/s.
    pub memory: Rate,
}

impl Default for CostModel {
    fn default() -> CostModel {
        CostModel {
            message: Picoseconds(5_000_000),
            round: Picoseconds(50_000_000),
            round_bytes: 2 << 20,
            client: Rate(16_000_000_000),
            node: Rate(100_000_000_000),
            storage: Rate(400_000_000_000),
            piece: Picoseconds(20_000_000),
            memory: Rate(80_000_000_000),
        }
    }
}

/// What a placement comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// All hop-bytes, those inside nodes as with the best rank for each unit.
    pub hop_bytes: HopBytes,
    /// The bytes on each directed link of the network.
    pub loads: Vec<u128>,
    /// The most loaded directed link, and its time; `None` when nothing crosses the network.
    pub busiest: Option<(usize, Picoseconds)>,
    /// The time of the exchange: the busiest link's, and that of messages and rounds.
    pub shuffle: Picoseconds,
    /// The time of the file system.
    pub io: Picoseconds,
    /// The time of the copies inside the busiest node.
    pub copies: Picoseconds,
}

impl Prediction {
    /// Shuffle, I/O and copies together.
    pub fn time(&self) -> Picoseconds {
        Picoseconds(self.shuffle.0 + self.io.0 + self.copies.0)
    }
}

/// What a placement comes to with the default [`CostModel`]. Panics unless `chosen` has a node for each unit, and a seat on
/// each node that serves.
pub fn predict(problem: &Problem<'_>, chosen: &Chosen) -> Prediction {
    predict_with(&CostModel::default(), problem, chosen)
}

/// What a placement comes to; see [`predict`].
pub fn predict_with(model: &CostModel, problem: &Problem<'_>, chosen: &Chosen) -> Prediction {
    let Problem { matrix, topology, flow, .. } = *problem;
    let loads = link_loads(matrix, topology.network(), &chosen.nodes, flow);
    let busiest = topology.network().busiest(&loads);
    let link = busiest.map_or(Picoseconds(0), |(_, time)| time);
    let Parts { latency, io, copies } = Work::of(matrix, chosen).parts(model);
    Prediction {
        hop_bytes: total(matrix, topology, &chosen.nodes),
        loads,
        busiest,
        shuffle: Picoseconds(link.0 + latency.0),
        io,
        copies,
    }
}

/// What the model adds to the time of the busiest link.
pub(super) struct Parts {
    pub latency: Picoseconds,
    pub io: Picoseconds,
    pub copies: Picoseconds,
}

/// What nodes have to do, whatever the links between them.
pub(super) struct Work {
    nodes: Vec<NodeWork>,
    /// Pairs of a node that serves and another that has a share of its units, and in how many units.
    meetings: BTreeMap<(NodeId, NodeId), u64>,
}

#[derive(Clone, Default)]
struct NodeWork {
    seats: u64,
    /// The bytes that its ranks hold, and those of the units that it serves.
    held: u128,
    served: u128,
    /// Contiguous runs of the units that it serves.
    runs: u64,
}

impl Work {
    /// The work of the nodes under a placement.
    pub fn of(matrix: &NodeMatrix, chosen: &Chosen) -> Work {
        let mut nodes: Vec<NodeWork> = vec![NodeWork::default(); matrix.nodes()];
        for (work, &seats) in nodes.iter_mut().zip(&chosen.seats) {
            work.seats = u64::from(seats);
        }
        let mut meetings: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
        for (unit, &node) in chosen.nodes.iter().enumerate() {
            for held in matrix.held(unit) {
                nodes[held.node.index()].held += u128::from(held.bytes);
                nodes[node.index()].served += u128::from(held.bytes);
                if held.node != node && held.bytes > 0 {
                    *meetings.entry((node, held.node)).or_default() += 1;
                }
            }
            if unit == 0 || chosen.nodes[unit - 1] != node {
                nodes[node.index()].runs += 1;
            }
        }
        Work { nodes, meetings }
    }

    /// Its times.
    pub fn parts(&self, model: &CostModel) -> Parts {
        let serving = || self.nodes.iter().filter(|node| node.served > 0);
        let each = |node: &NodeWork| node.served.div_ceil(u128::from(node.seats.max(1)));
        let rounds = |node: &NodeWork| each(node).div_ceil(u128::from(model.round_bytes.max(1)));
        let most_rounds = serving().map(rounds).max().unwrap_or(0);
        let most_messages = self.messages(rounds);
        let client = |node: &NodeWork| {
            let runs = u128::from(node.runs.div_ceil(node.seats.max(1)));
            model.client.time(each(node)).0 + model.piece.0 * runs
        };
        let total: u128 = self.nodes.iter().map(|node| node.served).sum();
        let io = serving().map(|node| client(node).max(model.node.time(node.served).0)).max().unwrap_or(0);
        let copies = self.nodes.iter().map(|node| node.held + node.served).max().unwrap_or(0);
        Parts {
            latency: Picoseconds(most_messages * model.message.0 + most_rounds * model.round.0),
            io: Picoseconds(io.max(model.storage.time(total).0)),
            copies: model.memory.time(copies),
        }
    }

    /// The messages of the node that has most. A node that holds something of a unit exchanges a message in every round
    /// with every aggregator of the node that serves it, but not more than there are pieces to exchange.
    fn messages(&self, rounds: impl Fn(&NodeWork) -> u128) -> u128 {
        let mut messages = vec![0; self.nodes.len()];
        for (&(serving, peer), &units) in &self.meetings {
            let node = &self.nodes[serving.index()];
            let rounds = rounds(node);
            let exchanged = (rounds * u128::from(node.seats.max(1))).min(u128::from(units) + rounds);
            messages[serving.index()] += exchanged;
            messages[peer.index()] += exchanged;
        }
        messages.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Job;
    use super::super::{Candidates, ConfigList, Held};
    use super::*;
    use crate::topology::NodeMap;

    /// Worked by hand: 2 nodes with a rank each on one switch of 8 bits (a byte) a second; node 0 serves units 0 and 2,
    /// node 1 unit 1, and half of every unit's 100 bytes is on each.
    #[test]
    fn a_prediction_worked_by_hand() {
        let map = NodeMap::emulated(2, 1);
        let mut job = Job::random(0, 1, 1);
        job.topology = super::super::testing::network("tree:2/8bit", &map);
        job.candidates = Candidates::new(&map, None, &ConfigList::default());
        let held = |node| Held { node: NodeId(node), bytes: 50, inside: 16 };
        job.matrix = NodeMatrix::from_units(2, (0..3).map(|_| vec![held(0), held(1)]));
        job.flow = super::super::Flow::Gather;
        let second = Picoseconds::PER_SECOND;
        let model = CostModel {
            message: Picoseconds(3),
            round: Picoseconds(70),
            round_bytes: 100,
            client: Rate(80),
            node: Rate(160),
            storage: Rate(120),
            piece: Picoseconds(1000),
            memory: Rate(800),
        };
        let chosen = Chosen { nodes: [0, 1, 0].map(NodeId).to_vec(), seats: vec![1, 1] };
        let found = predict_with(&model, &job.problem(), &chosen);
        // 3 x 50 bytes over 2 hops, and 3 x 16 sixteenths inside.
        assert_eq!(found.hop_bytes, HopBytes(3 * 50 * 32 + 48));
        assert_eq!(found.busiest.map(|(_, time)| time), Some(Picoseconds(100 * second)));
        assert_eq!(found.loads.iter().sum::<u128>(), 2 * 150);
        // Node 0 serves two units in 2 rounds, with a message in each; and sends one for unit 1: as many as node 1.
        assert_eq!(found.shuffle, Picoseconds(100 * second + 3 * 3 + 2 * 70));
        // 200 bytes and two runs at 10 bytes a second; all 300 bytes at 15 take 20 seconds, as long without the runs.
        assert_eq!(found.io, Picoseconds(20 * second + 2000));
        // Node 0 holds 150 and serves 200 bytes, at 100 a second.
        assert_eq!(found.copies, Picoseconds(35 * second / 10));
        assert_eq!(found.time(), Picoseconds(found.shuffle.0 + found.io.0 + found.copies.0));
    }

    #[test]
    fn nothing_takes_no_time() {
        let mut job = Job::random(0, 1, 1);
        let nodes = job.candidates.slots.len();
        job.matrix = NodeMatrix::from_units(nodes, []);
        let chosen = Chosen { nodes: Vec::new(), seats: vec![0; nodes] };
        let found = predict(&job.problem(), &chosen);
        assert_eq!((found.time(), found.busiest, found.hop_bytes), (Picoseconds(0), None, HopBytes(0)));
    }
}
