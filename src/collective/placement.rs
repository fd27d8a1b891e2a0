//! Which rank serves which domain: the node's sums go to rank 0, which solves the assignment over nodes; each node's
//! leader then seats its domains on its ranks.

use super::CollectiveFile;
use super::outcome::Outcome;
use super::rounds::Placed;
use crate::backend::Backend;
use crate::comm::Communicator;
use crate::hints::StatsSink;
use crate::placement::{self, NodeMatrix, NodeRow, Strategy};
use crate::plan::Access;
use crate::stats::Phase;
use crate::topology::between;
use crate::units::{ByteRange, Bytes, DomainId, HopBytes, Hops, NodeId, Rank};
use serde::{Deserialize, Serialize};

/// What rank 0 decides for one strategy: a node a domain, and what crosses the network then.
#[derive(Serialize, Deserialize)]
struct Decision {
    nodes: Vec<NodeId>,
    between_nodes: HopBytes,
}

/// What a node's leader adds to a decision: the ranks of its domains, and what moves inside the node.
#[derive(Serialize, Deserialize)]
struct Seating {
    ranks: Vec<(DomainId, Rank)>,
    inside: HopBytes,
}

/// An assignment in full.
#[derive(Serialize, Deserialize)]
struct Assigned {
    aggregators: Vec<Rank>,
    cost: HopBytes,
}

impl<C: Communicator, B: Backend> CollectiveFile<C, B> {
    /// Cuts the range into domains and seats them. Collective.
    pub(super) fn place(&mut self, access: &Access, range: ByteRange, outcome: &mut Outcome) -> Placed {
        let domains = self.domains(range);
        let row: Vec<Bytes> = domains.ids().map(|domain| domains.bytes_of(access, domain)).collect();
        outcome.watch.charge(Phase::Offsets);
        let strategies = self.strategies();
        let assigned = self.assign(&row, &strategies);
        for (strategy, assigned) in strategies.iter().zip(&assigned) {
            outcome.stats.set_hop_bytes(*strategy, assigned.cost);
        }
        outcome.watch.charge(Phase::Placement);
        let placed = self.take_seats(access, domains, &assigned[0].aggregators);
        outcome.stats.domains = domains.len();
        outcome.stats.aggregators.clone_from(&assigned[0].aggregators);
        outcome.watch.charge(Phase::Offsets);
        placed
    }

    /// The strategy in force, and for the statistics the others after it.
    fn strategies(&self) -> Vec<Strategy> {
        let chosen = self.hints.assign;
        let mut strategies = vec![chosen];
        if self.hints.stats != StatsSink::Off {
            strategies.extend(Strategy::ALL.into_iter().filter(|&other| other != chosen));
        }
        strategies
    }

    /// The assignment under each strategy. Collective.
    fn assign(&self, row: &[Bytes], strategies: &[Strategy]) -> Vec<Assigned> {
        let rows = self.node.gather(Rank(0), &encode(row));
        let mut result = Vec::new();
        if self.node.rank() == Rank(0) {
            let rows: Vec<Vec<Bytes>> = rows.iter().map(|bytes| decode(bytes)).collect();
            let decisions = self.decide(&rows, row.len(), strategies);
            let seatings: Vec<Seating> = (strategies.iter().zip(&decisions))
                .map(|(s, decision)| self.seat(*s, &rows, decision))
                .collect();
            result = to_bytes(&self.assemble(&decisions, &seatings));
        }
        self.node.broadcast(Rank(0), &mut result);
        from_bytes(&result)
    }

    /// Nodes for all domains under each strategy: rank 0 solves, the leaders listen. Collective over the leaders.
    fn decide(&self, rows: &[Vec<Bytes>], domains: usize, strategies: &[Strategy]) -> Vec<Decision> {
        let node = self.nodes.node_of(self.comm.rank());
        let inside = placement::inside(rows, &|a, b| between(&self.places, a, b), &self.allowed(node));
        let bytes = (0..domains).map(|domain| rows.iter().map(|row| row[domain]).sum()).collect();
        let gathered = self.leaders.gather(Rank(0), &encode(&NodeRow { bytes, inside }.encode()));
        let mut decisions = Vec::new();
        if let Some(topology) = &self.topology {
            let row =
                |bytes: &Vec<u8>| NodeRow::decode(domains, &decode(bytes)).expect("a leader sent its row");
            let matrix = NodeMatrix::from_rows(domains, &gathered.iter().map(row).collect::<Vec<_>>());
            let decided: Vec<Decision> = (strategies.iter())
                .map(|&strategy| {
                    let nodes = placement::assign_nodes(strategy, &matrix, topology, &self.candidates);
                    let between_nodes = placement::between(&matrix, topology, &nodes);
                    Decision { nodes, between_nodes }
                })
                .collect();
            decisions = to_bytes(&decided);
        }
        self.leaders.broadcast(Rank(0), &mut decisions);
        from_bytes(&decisions)
    }

    /// Ranks for this node's domains. Local.
    fn seat(&self, strategy: Strategy, rows: &[Vec<Bytes>], decision: &Decision) -> Seating {
        let node = self.nodes.node_of(self.comm.rank());
        let here: Vec<DomainId> = (decision.nodes.iter().enumerate())
            .filter(|&(_, &serving)| serving == node)
            .map(|(index, _)| DomainId::from_index(index))
            .collect();
        let own: Vec<Vec<Bytes>> =
            rows.iter().map(|row| here.iter().map(|domain| row[domain.index()]).collect()).collect();
        let distance = |a: usize, b: usize| -> Hops { between(&self.places, a, b) };
        let allowed = match strategy {
            Strategy::RankOrder => self.listed(node),
            _ => self.allowed(node),
        };
        let chosen = placement::assign_ranks(strategy, &own, &distance, &allowed);
        let inside =
            chosen.iter().enumerate().map(|(d, &rank)| placement::served(&own, &distance, d, rank)).sum();
        let rank = |local: usize| self.nodes.ranks_of(node)[local];
        let ranks = here.into_iter().zip(chosen.into_iter().map(rank)).collect();
        Seating { ranks, inside }
    }

    /// Every leader's seats put together. Collective over the leaders.
    fn assemble(&self, decisions: &[Decision], seatings: &[Seating]) -> Vec<Assigned> {
        let everybody: Vec<Vec<Seating>> =
            self.leaders.all_gather(&to_bytes(&seatings)).iter().map(|bytes| from_bytes(bytes)).collect();
        (decisions.iter().enumerate())
            .map(|(index, decision)| {
                let mut aggregators = vec![Rank(0); decision.nodes.len()];
                let mut cost = decision.between_nodes;
                for seatings in &everybody {
                    cost += seatings[index].inside;
                    for &(domain, rank) in &seatings[index].ranks {
                        aggregators[domain.index()] = rank;
                    }
                }
                Assigned { aggregators, cost }
            })
            .collect()
    }

    /// The ranks of a node that may aggregate, by their number on the node.
    fn allowed(&self, node: NodeId) -> Vec<usize> {
        self.candidates.allowed[node.index()].iter().map(|&rank| self.nodes.local_index(rank)).collect()
    }

    /// The ranks of a node that are on ROMIO's aggregator list, in its order.
    fn listed(&self, node: NodeId) -> Vec<usize> {
        (self.candidates.list.iter())
            .filter(|&&rank| self.nodes.node_of(rank) == node)
            .map(|&rank| self.nodes.local_index(rank))
            .collect()
    }
}

fn encode(row: &[Bytes]) -> Vec<u8> {
    row.iter().flat_map(|bytes| bytes.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> Vec<Bytes> {
    bytes.chunks_exact(8).map(|raw| Bytes::from_le_bytes(raw.try_into().expect("chunks of eight"))).collect()
}

fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("serialising to memory cannot fail")
}

/// Panics on bytes that [`to_bytes`] of the same library did not make.
fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("all ranks run the same tatpio")
}
