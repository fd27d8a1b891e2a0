//! Which rank serves which bytes: the node's sums go to rank 0, which solves the assignment over nodes; each node's
//! leader then seats its units on its ranks. What was found is kept: the same pattern again asks for nothing.

use super::CollectiveFile;
use super::outcome::Outcome;
use super::rounds::Placed;
use super::survey::Survey;
use super::wire::{from_bytes, to_bytes};
use crate::backend::Backend;
use crate::comm::{Communicator, Reduce};
use crate::hints::StatsSink;
use crate::placement::{self, Flow, Granularity, Inside, NodeMatrix, NodeRow, Problem, Strategy};
use crate::plan::{Access, Domains, Stripes};
use crate::stats::{Phase, Plan};
use crate::topology::{Network, Place, Resolved};
use crate::units::{ByteRange, Bytes, DomainId, HopBytes, NodeId, Picoseconds, Rank};
use serde::{Deserialize, Serialize};

/// Stripes are as small as this number of them allows: what a matrix of them costs to gather and to solve is bounded.
const STRIPES_MAX: u32 = 8192;

/// What is assigned: file domains, or stripes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Units {
    Domains(Domains),
    Stripes(Stripes, ByteRange),
}

impl Units {
    fn len(&self) -> usize {
        match self {
            Units::Domains(domains) => DomainId(domains.len()).index(),
            Units::Stripes(stripes, _) => stripes.len(),
        }
    }

    /// A rank's row of the communication matrix.
    fn bytes_of(&self, access: &Access) -> Vec<Bytes> {
        match self {
            Units::Domains(domains) => domains.ids().map(|domain| domains.bytes_of(access, domain)).collect(),
            Units::Stripes(stripes, _) => stripes.bytes_of(access),
        }
    }
}

/// How the accessed range came to its aggregators.
pub(super) struct Solution {
    units: Units,
    /// What this rank holds of each unit.
    row: Vec<Bytes>,
    /// Under the strategy in force, then those that the statistics compare it with.
    assigned: Vec<(Strategy, Assigned)>,
    /// On rank 0, under the strategy in force.
    decision: Option<Decision>,
}

/// What a file keeps of its last two-phase call.
pub(super) struct Kept {
    access: Access,
    range: ByteRange,
    placed: Placed,
}

impl Kept {
    pub fn access(&self) -> &Access {
        &self.access
    }
}

/// What rank 0 decides for one strategy: a node a unit, and what crosses the network then.
#[derive(Clone, Serialize, Deserialize)]
struct Decision {
    nodes: Vec<NodeId>,
    /// By node.
    seats: Vec<u32>,
    between_nodes: HopBytes,
    busiest: Option<(String, Picoseconds)>,
}

/// Rank 0's word to the leaders.
#[derive(Serialize, Deserialize)]
struct Verdict {
    /// By strategy.
    decisions: Vec<Decision>,
    /// The bytes of each unit on all nodes; empty when no leader wants to know.
    totals: Vec<Bytes>,
}

/// What a leader tells rank 0.
#[derive(Serialize, Deserialize)]
struct Report {
    /// As [`NodeRow::encode`] has it.
    row: Vec<u64>,
    /// Whether some ranks of the node are nearer to the network than others, so that what arrives matters.
    wants_totals: bool,
}

/// What a node's leader adds to a decision: the ranks of its units, and what moves inside the node.
#[derive(Serialize, Deserialize)]
struct Seating {
    /// The aggregators of the node.
    ranks: Vec<Rank>,
    /// For each of the node's units, which of them serves it; empty when there is one.
    seat_of: Vec<u32>,
    inside: HopBytes,
}

/// An assignment in full.
#[derive(Clone, Serialize, Deserialize)]
struct Assigned {
    /// By domain.
    aggregators: Vec<Rank>,
    /// The domain of each stripe; empty when the units are domains.
    owner: Vec<u32>,
    cost: HopBytes,
    busiest: Option<(String, Picoseconds)>,
}

impl<C: Communicator, B: Backend> CollectiveFile<C, B> {
    /// Cuts the range into domains and seats them. Collective.
    pub(super) fn place(
        &mut self,
        access: &Access,
        range: ByteRange,
        survey: &Survey,
        flow: Flow,
        outcome: &mut Outcome,
    ) -> Placed {
        let (before, buffers) = match self.kept.take() {
            Some(kept) if survey.repeated && kept.range == range => {
                kept.placed.solution.note(&kept.placed.domains, Plan::Kept, outcome);
                return kept.placed;
            }
            Some(kept) => (Some(kept.placed.solution), Some(kept.placed.buffers)),
            None => (None, None),
        };
        let units = self.units(range, survey.period);
        let row = units.bytes_of(access);
        outcome.watch.charge(Phase::Offsets);
        let (solution, plan) = self.solve(access, units, row, flow, before);
        outcome.watch.charge(Phase::Placement);
        let chosen = &solution.assigned[0].1;
        let aggregators = chosen.aggregators.clone();
        let domains = match &solution.units {
            Units::Domains(domains) => domains.clone(),
            Units::Stripes(stripes, range) => {
                let count = u32::try_from(aggregators.len()).expect("aggregators are ranks");
                Domains::dealt(*range, stripes.unit(), &chosen.owner, count)
            }
        };
        solution.note(&domains, plan, outcome);
        let placed = self.take_seats(access, domains, &aggregators, solution, buffers);
        outcome.watch.charge(Phase::Offsets);
        placed
    }

    /// Keeps what was placed for the next call. What a read finds was written through the same aggregators, whose nodes
    /// may still hold it, so it is the same for both directions.
    pub(super) fn keep(&mut self, access: Access, range: ByteRange, placed: Placed) {
        self.kept = Some(Kept { access, range, placed });
    }

    /// The strategy in force. Stripes have nothing to gain on one node.
    fn strategy(&self) -> Strategy {
        match self.hints.assign.granularity() {
            Granularity::Stripes if self.nodes.len() == 1 => Strategy::HopBytes,
            _ => self.hints.assign,
        }
    }

    fn units(&self, range: ByteRange, period: Option<Bytes>) -> Units {
        self.units_of(self.strategy().granularity(), range, period)
    }

    fn units_of(&self, granularity: Granularity, range: ByteRange, period: Option<Bytes>) -> Units {
        match granularity {
            Granularity::Domains => Units::Domains(self.domains(range)),
            Granularity::Stripes => {
                Units::Stripes(Stripes::new(range, self.unit_bytes(), STRIPES_MAX, period), range)
            }
        }
    }

    /// The assignment of the units. Collective.
    fn solve(
        &self,
        access: &Access,
        units: Units,
        row: Vec<Bytes>,
        flow: Flow,
        before: Option<Solution>,
    ) -> (Solution, Plan) {
        let before = before.filter(|before| before.units.len() == units.len());
        if let Some(before) = &before {
            // A checkpoint that is written further on, say: other bytes of the file, but the same matrix.
            let mut same = [u64::from(before.row == row)];
            self.comm.all_reduce(Reduce::Min, &mut same);
            if same == [1] {
                let assigned = before.assigned.clone();
                let decision = before.decision.clone();
                return (Solution { units, row, assigned, decision }, Plan::SameMatrix);
            }
        }
        let strategy = self.strategy();
        let last = before.filter(|before| before.units == units).and_then(|before| before.decision);
        let (mut assigned, decision) = self.assign(&row, &[strategy], flow, last.as_ref());
        let mut all: Vec<(Strategy, Assigned)> = vec![(strategy, assigned.remove(0))];
        if self.hints.stats != StatsSink::Off {
            all.extend(self.compare(access, &units, &row, flow));
        }
        (Solution { units, row, assigned: all, decision }, Plan::New)
    }

    /// What the other assignments of domains would cost. Collective.
    fn compare(
        &self,
        access: &Access,
        units: &Units,
        row: &[Bytes],
        flow: Flow,
    ) -> Vec<(Strategy, Assigned)> {
        let others: Vec<Strategy> = (Strategy::ALL.into_iter())
            .filter(|other| *other != self.strategy() && other.granularity() == Granularity::Domains)
            .collect();
        let assigned = match units {
            Units::Domains(_) => self.assign(row, &others, flow, None).0,
            Units::Stripes(_, range) => {
                let row = self.units_of(Granularity::Domains, *range, None).bytes_of(access);
                self.assign(&row, &others, flow, None).0
            }
        };
        others.into_iter().zip(assigned).collect()
    }

    /// The assignment under each strategy, and on rank 0 the first one's decision. Collective.
    fn assign(
        &self,
        row: &[Bytes],
        strategies: &[Strategy],
        flow: Flow,
        last: Option<&Decision>,
    ) -> (Vec<Assigned>, Option<Decision>) {
        let rows = self.node.gather(Rank(0), &to_bytes(&row));
        let (mut result, mut first) = (Vec::new(), None);
        if self.node.rank() == Rank(0) {
            let rows: Vec<Vec<Bytes>> = rows.iter().map(|bytes| from_bytes(bytes)).collect();
            let verdict = self.decide(&rows, row.len(), strategies, flow, last);
            let seatings: Vec<Seating> = (strategies.iter().zip(&verdict.decisions))
                .map(|(strategy, decision)| self.seat(*strategy, &rows, decision, &verdict.totals))
                .collect();
            result = to_bytes(&self.assemble(strategies, &verdict.decisions, &seatings));
            first = verdict.decisions.into_iter().next().filter(|_| self.comm.rank() == Rank(0));
        }
        self.node.broadcast(Rank(0), &mut result);
        (from_bytes(&result), first)
    }

    /// Nodes for all units under each strategy: rank 0 solves, the leaders listen. Collective over the leaders.
    fn decide(
        &self,
        rows: &[Vec<Bytes>],
        units: usize,
        strategies: &[Strategy],
        flow: Flow,
        last: Option<&Decision>,
    ) -> Verdict {
        let node = self.nodes.node_of(self.comm.rank());
        let inside = placement::inside(rows, &|a, b| self.places.between(a, b), &self.allowed(node));
        let bytes = (0..units).map(|unit| rows.iter().map(|row| row[unit]).sum()).collect();
        let report = Report {
            row: NodeRow { bytes, inside }.encode(),
            wants_totals: self.places.network != Place::UNKNOWN,
        };
        let gathered = self.leaders.gather(Rank(0), &to_bytes(&report));
        let mut verdict = Vec::new();
        if let Some(Resolved { topology, .. }) = self.topology.as_deref() {
            let reports: Vec<Report> = gathered.iter().map(|bytes| from_bytes(bytes)).collect();
            let row = |report: &Report| NodeRow::decode(units, &report.row).expect("a leader sent its row");
            let matrix = NodeMatrix::from_rows(units, &reports.iter().map(row).collect::<Vec<_>>());
            let candidates = &self.candidates;
            let count_fixed = self.hints.cb_nodes.is_some();
            let problem = Problem { matrix: &matrix, topology, candidates, flow, count_fixed };
            let decisions = strategies.iter().map(|&strategy| decide_one(strategy, &problem, last)).collect();
            let totals = match reports.iter().any(|report| report.wants_totals) {
                true => {
                    (0..units).map(|unit| matrix.held(unit).iter().map(|held| held.bytes).sum()).collect()
                }
                false => Vec::new(),
            };
            verdict = to_bytes(&Verdict { decisions, totals });
        }
        self.leaders.broadcast(Rank(0), &mut verdict);
        from_bytes(&verdict)
    }

    /// Ranks for this node's units. Local.
    fn seat(
        &self,
        strategy: Strategy,
        rows: &[Vec<Bytes>],
        decision: &Decision,
        totals: &[Bytes],
    ) -> Seating {
        let node = self.nodes.node_of(self.comm.rank());
        let here: Vec<usize> =
            (0..decision.nodes.len()).filter(|&unit| decision.nodes[unit] == node).collect();
        let own: Vec<Vec<Bytes>> =
            rows.iter().map(|row| here.iter().map(|&unit| row[unit]).collect()).collect();
        let held = |index: usize| own.iter().map(|row| row[index]).sum::<Bytes>();
        let arriving: Vec<Bytes> = (here.iter().enumerate())
            .map(|(index, &unit)| totals.get(unit).map_or(0, |total| total - held(index)))
            .collect();
        let distance = |a: usize, b: usize| self.places.between(a, b);
        let to_network = |local: usize| self.places.to_network(local);
        let allowed = match strategy {
            Strategy::RankOrder => self.listed(node),
            _ => self.allowed(node),
        };
        let inside = Inside {
            rows: &own,
            distance: &distance,
            arriving: &arriving,
            to_network: &to_network,
            allowed: &allowed,
            seats: decision.seats[node.index()],
        };
        let chosen = placement::assign_ranks(strategy, &inside);
        let cost =
            chosen.iter().enumerate().map(|(unit, &rank)| placement::served(&own, &distance, unit, rank));
        let mut locals: Vec<usize> = Vec::new();
        let mut seat_of = Vec::with_capacity(chosen.len());
        let inside = cost.sum();
        for local in chosen {
            let seat = locals.iter().position(|&known| known == local).unwrap_or_else(|| {
                locals.push(local);
                locals.len() - 1
            });
            seat_of.push(u32::try_from(seat).expect("aggregators are ranks"));
        }
        if locals.len() <= 1 {
            seat_of.clear();
        }
        let ranks = locals.into_iter().map(|local| self.nodes.ranks_of(node)[local]).collect();
        Seating { ranks, seat_of, inside }
    }

    /// Every leader's seats put together. Collective over the leaders.
    fn assemble(
        &self,
        strategies: &[Strategy],
        decisions: &[Decision],
        seatings: &[Seating],
    ) -> Vec<Assigned> {
        let everybody: Vec<Vec<Seating>> =
            self.leaders.all_gather(&to_bytes(&seatings)).iter().map(|bytes| from_bytes(bytes)).collect();
        let one = |index: usize| {
            let seatings: Vec<&Seating> = everybody.iter().map(|seatings| &seatings[index]).collect();
            assemble_one(strategies[index].granularity(), &decisions[index], &seatings)
        };
        (0..decisions.len()).map(one).collect()
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

impl Solution {
    /// Puts it into the statistics.
    fn note(&self, domains: &Domains, plan: Plan, outcome: &mut Outcome) {
        let stats = &mut outcome.stats;
        stats.plan = Some(plan);
        stats.domains = domains.len();
        stats.aggregators.clone_from(&self.assigned[0].1.aggregators);
        for (strategy, assigned) in &self.assigned {
            stats.set_costs(*strategy, assigned.cost, assigned.busiest.as_ref());
        }
    }
}

/// A strategy's nodes; or those of last time, while new ones would save less than an eighth. Moving a range to another
/// node costs lock revocations and what that node has in its cache.
fn decide_one(strategy: Strategy, problem: &Problem<'_>, last: Option<&Decision>) -> Decision {
    let Problem { matrix, topology, flow, .. } = *problem;
    let judge = |nodes: Vec<NodeId>, seats: Vec<u32>| {
        let between_nodes = placement::between(matrix, topology, &nodes);
        let network = topology.network();
        let busiest = network.busiest(&placement::link_loads(matrix, network, &nodes, flow));
        let busiest = busiest.map(|(link, time)| (link_name(network, link), time));
        Decision { nodes, seats, between_nodes, busiest }
    };
    let chosen = placement::assign_nodes(strategy, problem);
    let new = judge(chosen.nodes, chosen.seats);
    let time = |decision: &Decision| decision.busiest.as_ref().map_or(0, |(_, time)| time.0);
    let nearly = |old: u128, new: u128| old <= new.saturating_add(new / 8);
    (last.map(|last| judge(last.nodes.clone(), last.seats.clone())))
        .filter(|last| nearly(last.between_nodes.0, new.between_nodes.0) && nearly(time(last), time(&new)))
        .unwrap_or(new)
}

fn link_name(network: &Network, link: usize) -> String {
    let (from, to) = network.ends(link);
    format!("{} -> {}", network.name(from), network.name(to))
}

/// Puts one strategy's seats together: domains are the units themselves, or the stripes of one aggregator.
fn assemble_one(granularity: Granularity, decision: &Decision, seatings: &[&Seating]) -> Assigned {
    let mut cost = decision.between_nodes;
    let mut first = Vec::with_capacity(seatings.len());
    let mut ranks = Vec::new();
    for seating in seatings {
        cost += seating.inside;
        first.push(ranks.len());
        ranks.extend(&seating.ranks);
    }
    // For each unit its seat: the next of those that its node's leader gave its units.
    let mut given = vec![0; seatings.len()];
    let seat = |node: &NodeId| {
        let (seating, given) = (seatings[node.index()], &mut given[node.index()]);
        let seat = seating.seat_of.get(*given).copied().unwrap_or(0);
        *given += 1;
        first[node.index()] + DomainId(seat).index()
    };
    let seats: Vec<usize> = decision.nodes.iter().map(seat).collect();
    let busiest = decision.busiest.clone();
    match granularity {
        Granularity::Domains => {
            let aggregators = seats.into_iter().map(|seat| ranks[seat]).collect();
            Assigned { aggregators, owner: Vec::new(), cost, busiest }
        }
        Granularity::Stripes => {
            let owner = seats.into_iter().map(|seat| DomainId::from_index(seat).0).collect();
            Assigned { aggregators: ranks, owner, cost, busiest }
        }
    }
}
