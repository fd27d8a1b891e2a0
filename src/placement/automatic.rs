//! How many aggregators, on which nodes, and which stripes each: chosen directly, from what each node holds, the network and
//! a cost model ([`CostModel`]), without trial runs. (TATP leaves the choice to future work, section 6.)
//!
//! 1. Counts are the powers of two up to the number of slots, the number of nodes with slots, and all slots; or the one
//!    count that was asked for ([`Problem::count_fixed`]).
//! 2. For each count, stripes go to the nodes that a greedy choice by the links' time prefers, by an exact transportation
//!    problem in hop-bytes; and, for comparison, even runs of stripes (file domains) go to the nodes with the fewest
//!    hop-bytes. Scattered stripes spare the network, long runs spare the file system.
//! 3. The best few are improved for their busiest link. The least predicted time wins, and fewer aggregators among equals.

use super::bottleneck::{self, Effort};
use super::cost::{CostModel, Work};
use super::stripes::dealt;
use super::traffic::{Setting, State, Ways};
use super::{
    Assignment, Chosen, Held, Inside, NodeMatrix, Problem, facility, hop_bytes, predict_with, shared, stripes,
};
use crate::units::{NodeId, Picoseconds};
use std::collections::BTreeMap;

/// How many of the placements are improved: fewer when there are many groups of stripes and nodes.
const FINALISTS: usize = 3;

/// Groups of stripes times nodes from which on only the best placement is improved.
const MANY: usize = 1 << 13;

/// Everything chosen by the model.
pub(super) struct Automatic;

impl Assignment for Automatic {
    /// The nodes of [`choose`] under the default model.
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        choose(problem, &CostModel::default())
    }

    /// The node's units shared out to its ranks, with the fewest hop-bytes inside the node.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        shared::ranks(inside)
    }
}

/// The placement with the least predicted time of those that are considered; see the module. Deterministic, and bounded by
/// the numbers of different stripes, nodes and slots. With more than 2^22 pairs of nodes, or of different stripes and
/// nodes, only stripes on all seats and even runs under the fewest hop-bytes are compared.
pub fn choose(problem: &Problem<'_>, model: &CostModel) -> Chosen {
    if problem.matrix.domains() == 0 {
        return Chosen { nodes: Vec::new(), seats: vec![0; problem.matrix.nodes()] };
    }
    let ways = Ways::new(problem);
    let setting = ways
        .as_ref()
        .and_then(|ways| Setting::new(problem.matrix, problem.topology, ways, &problem.candidates.slots));
    match setting {
        Some(setting) => Chooser { problem, model, setting }.choose(),
        None => simple(problem, model),
    }
}

/// Of stripes on all seats and even runs, the one that is predicted to be faster.
fn simple(problem: &Problem<'_>, model: &CostModel) -> Chosen {
    let count = problem.candidates.list.len().min(problem.matrix.domains());
    let merged = merged(problem.matrix, count);
    let nodes = hop_bytes::fewest(&Problem { matrix: &merged, ..*problem }, &problem.candidates.slots);
    let runs = of_runs(&nodes, problem.matrix, count);
    let both = [runs, stripes::Stripes.nodes(problem)];
    let rated = both.into_iter().map(|chosen| (predict_with(model, problem, &chosen).time(), chosen));
    rated.min_by_key(|(time, chosen)| (*time, aggregators(chosen))).expect("there are two").1
}

/// What may be chosen, and how it came to be.
struct Placement {
    time: Picoseconds,
    chosen: Chosen,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// Stripes on some seats.
    Stripes(Vec<u32>),
    /// So many even runs.
    Runs(usize),
}

struct Chooser<'p, 's> {
    problem: &'p Problem<'p>,
    model: &'p CostModel,
    /// With all slots as columns.
    setting: Setting<'s>,
}

impl Chooser<'_, '_> {
    fn choose(&self) -> Chosen {
        let mut options: Vec<Placement> = Vec::new();
        let order = self.order();
        for count in self.counts() {
            options.push(self.stripes(dealt(&order, &self.problem.candidates.slots, count), None));
            if count <= self.problem.matrix.domains() {
                options.extend(self.runs(count, None));
            }
        }
        options.sort_by_key(|option| (option.time, aggregators(&option.chosen)));
        let many = self.setting.groups.len() * self.setting.columns.len() >= MANY;
        let finalists = if many { 1 } else { FINALISTS };
        let refined: Vec<Placement> =
            options.iter().take(finalists).filter_map(|option| self.refined(option)).collect();
        options.extend(refined);
        let best = options.into_iter().min_by_key(|option| (option.time, aggregators(&option.chosen)));
        best.expect("a count at least").chosen
    }

    /// The numbers of aggregators to try, ascending.
    fn counts(&self) -> Vec<usize> {
        let slots = &self.problem.candidates.slots;
        let all: usize = slots.iter().map(|&slots| slots as usize).sum();
        let most = all.min(self.problem.candidates.list.len()).max(1);
        if self.problem.count_fixed {
            return vec![most];
        }
        let mut counts: Vec<usize> = std::iter::successors(Some(1), |&count| Some(2 * count))
            .take_while(|&count| count < most)
            .collect();
        counts.extend([slots.iter().filter(|&&slots| slots > 0).count().min(most), most]);
        counts.sort_unstable();
        counts.dedup();
        // More aggregators than stripes have nothing to do.
        counts.retain(|&count| count == 1 || count < 2 * self.problem.matrix.domains());
        counts
    }

    /// The nodes in the order in which they save most time on links, then those that save nothing.
    fn order(&self) -> Vec<usize> {
        let setting = &self.setting;
        let costs = setting.link_times();
        let usable: Vec<usize> = (0..setting.columns.len()).collect();
        let order = facility::order(&costs, &setting.groups.counts, &usable, usable.len());
        order.into_iter().map(|column| setting.columns[column].index()).collect()
    }

    /// Stripes on some seats, refined with some effort or not.
    fn stripes(&self, seats: Vec<u32>, effort: Option<Effort>) -> Placement {
        let each = self.setting.groups.group_of.len().div_ceil(seats.iter().sum::<u32>().max(1) as usize);
        let each = u32::try_from(each).expect("units fit 32 bits");
        let capacity: Vec<u32> = seats.iter().map(|&seats| seats.saturating_mul(each)).collect();
        let setting = self.setting.narrowed(&capacity);
        let shares = match effort {
            Some(effort) => bottleneck::refine(&setting, &[], effort).0,
            None => setting.fewest_hop_bytes(),
        };
        let time = setting.ways.time(&State::new(&setting, &shares).loads);
        let chosen = Chosen::all_slots(setting.nodes(&shares), &seats);
        self.option(time, chosen, Kind::Stripes(seats))
    }

    /// Even runs of stripes, refined with some effort or not; `None` when they are too many. (Stripes may be of few groups
    /// where their runs are all different.)
    fn runs(&self, count: usize, effort: Option<Effort>) -> Option<Placement> {
        let matrix = merged(self.problem.matrix, count);
        let slots = &self.problem.candidates.slots;
        let setting = Setting::new(&matrix, self.problem.topology, self.setting.ways, slots)?;
        let shares = match effort {
            Some(effort) => bottleneck::refine(&setting, &[], effort).0,
            None => setting.fewest_hop_bytes(),
        };
        let time = setting.ways.time(&State::new(&setting, &shares).loads);
        let chosen = of_runs(&setting.nodes(&shares), self.problem.matrix, count);
        Some(self.option(time, chosen, Kind::Runs(count)))
    }

    fn refined(&self, option: &Placement) -> Option<Placement> {
        let entries = (self.setting.groups.len() * self.setting.columns.len()).max(1);
        let iterations = u32::try_from(((1 << 15) / entries).clamp(1, 8)).expect("small");
        let effort = Some(Effort { iterations, work: 1 << 18, branches: 1 << 9 });
        match &option.kind {
            Kind::Stripes(seats) => Some(self.stripes(seats.clone(), effort)),
            Kind::Runs(count) => self.runs(*count, effort),
        }
    }

    fn option(&self, link: Picoseconds, chosen: Chosen, kind: Kind) -> Placement {
        let parts = Work::of(self.problem.matrix, &chosen).parts(self.model);
        let time = Picoseconds(link.0 + parts.latency.0 + parts.io.0 + parts.copies.0);
        Placement { time, chosen, kind }
    }
}

fn aggregators(chosen: &Chosen) -> u32 {
    chosen.seats.iter().sum()
}

/// Where the run of each of `count` even parts of `units` begins, and where the last one ends.
fn cuts(units: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..=count).map(move |run| run * units / count)
}

/// The matrix of even runs of units.
fn merged(matrix: &NodeMatrix, count: usize) -> NodeMatrix {
    let cuts: Vec<usize> = cuts(matrix.domains(), count).collect();
    let run = |pair: &[usize]| {
        let mut sums: BTreeMap<NodeId, (u64, u64)> = BTreeMap::new();
        for held in (pair[0]..pair[1]).flat_map(|unit| matrix.held(unit)) {
            let sum = sums.entry(held.node).or_default();
            *sum = (sum.0.saturating_add(held.bytes), sum.1.saturating_add(held.inside));
        }
        sums.into_iter().map(|(node, (bytes, inside))| Held { node, bytes, inside }).collect()
    };
    NodeMatrix::from_units(matrix.nodes(), cuts.windows(2).map(run))
}

/// The units' nodes and seats from those of even runs, one seat a run.
fn of_runs(nodes: &[NodeId], matrix: &NodeMatrix, count: usize) -> Chosen {
    let Chosen { nodes: of_run, seats } = Chosen::one_each(nodes.to_vec(), matrix.nodes());
    let lengths: Vec<usize> = cuts(matrix.domains(), count).collect();
    let run = |(pair, &node): (&[usize], &NodeId)| vec![node; pair[1] - pair[0]];
    Chosen { nodes: lengths.windows(2).zip(&of_run).flat_map(run).collect(), seats }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Job;
    use super::super::{Strategy, assign_nodes, predict};
    use super::*;
    use crate::units::Rate;

    #[test]
    fn choices_keep_to_slots_and_are_the_same_twice() {
        for seed in 0..1500 {
            let job = Job::random(seed, 8, 40);
            let problem = job.problem();
            let chosen = assign_nodes(Strategy::Automatic, &problem);
            let count: u32 = aggregators(&chosen);
            assert!(count as usize <= job.candidates.list.len(), "seed {seed}: {count}");
            assert_eq!(chosen, assign_nodes(Strategy::Automatic, &problem), "seed {seed}: the same twice");
        }
    }

    #[test]
    fn the_time_that_decides_is_the_predicted_one_and_none_is_less() {
        for seed in 0..500 {
            let job = Job::random(seed, 8, 40);
            let problem = job.problem();
            let (Some(ways), model) = (Ways::new(&problem), CostModel::default()) else { continue };
            let Some(setting) = Setting::new(&job.matrix, &job.topology, &ways, &job.candidates.slots) else {
                continue;
            };
            if job.matrix.domains() == 0 {
                continue;
            }
            let chooser = Chooser { problem: &problem, model: &model, setting };
            let order = chooser.order();
            let best = predict(&problem, &chooser.choose()).time();
            for count in chooser.counts() {
                let all = [
                    Some(chooser.stripes(dealt(&order, &job.candidates.slots, count), None)),
                    (count <= job.matrix.domains()).then(|| chooser.runs(count, None).unwrap()),
                ];
                for placement in all.into_iter().flatten() {
                    assert_eq!(placement.time, predict(&problem, &placement.chosen).time(), "seed {seed}");
                    assert!(best <= placement.time, "seed {seed}");
                }
            }
        }
    }

    /// 2100 nodes have too many pairs for links to be looked at. Asked for 3 aggregators, stripes find 3 good nodes.
    #[test]
    fn what_is_too_large_to_improve_is_still_placed() {
        let large = dealt_out(2100, 2100, 1 << 20, true);
        let problem = large.problem();
        for strategy in [Strategy::Bottleneck, Strategy::Stripes, Strategy::Automatic] {
            let chosen = assign_nodes(strategy, &problem);
            assert_eq!(predict(&problem, &chosen).busiest, None, "{strategy}");
        }
        let mut few = dealt_out(2100, 4000, 1 << 20, true);
        let map = crate::topology::NodeMap::emulated(2100, 1);
        few.candidates = super::super::Candidates::new(&map, Some(3), &super::super::ConfigList::default());
        for strategy in [Strategy::Stripes, Strategy::Automatic] {
            let chosen = assign_nodes(strategy, &few.problem());
            assert_eq!(aggregators(&chosen), 3, "{strategy}");
        }
    }

    /// 80 kinds of stripe, but 3,240 kinds of pairs of them, on 1,400 nodes: more than are compared.
    #[test]
    fn runs_that_are_too_many_are_left_out() {
        let mut job = dealt_out(1400, 1, 1, true);
        let map = crate::topology::NodeMap::emulated(7000, 5);
        job.candidates = super::super::Candidates::new(&map, None, &"*:*".parse().unwrap());
        let pairs = (0..6400).flat_map(|pair| [pair / 80, pair % 80]);
        let held = |node: usize| vec![Held { node: NodeId::from_index(node), bytes: 1, inside: 0 }];
        job.matrix = NodeMatrix::from_units(1400, pairs.map(held));
        let (problem, model) = (job.problem(), CostModel::default());
        let ways = Ways::new(&problem).unwrap();
        let setting = Setting::new(&job.matrix, &job.topology, &ways, &job.candidates.slots).unwrap();
        assert_eq!(setting.groups.len(), 80);
        let chooser = Chooser { problem: &problem, model: &model, setting };
        assert!(chooser.runs(6400, None).is_none());
        assert!(chooser.runs(64, None).is_some());
    }

    /// Units of `bytes`, each whole on one of `nodes` nodes in turn.
    fn dealt_out(nodes: u32, units: usize, bytes: u64, count_fixed: bool) -> Job {
        let mut job = Job::random(0, 1, 1);
        let map = crate::topology::NodeMap::emulated(nodes, 1);
        job.topology = super::super::testing::network("flat", &map);
        job.candidates = super::super::Candidates::new(&map, None, &super::super::ConfigList::default());
        let held =
            |unit: usize| vec![Held { node: NodeId::from_index(unit % nodes as usize), bytes, inside: 0 }];
        job.matrix = NodeMatrix::from_units(nodes as usize, (0..units).map(held));
        job.count_fixed = count_fixed;
        job
    }

    #[test]
    fn the_model_decides_the_count() {
        // Large stripes, each whole on a node: every node writes its own.
        let large = dealt_out(8, 64, 64 << 20, false);
        let chosen = choose(&large.problem(), &CostModel::default());
        assert_eq!(chosen.seats, [1; 8]);
        assert!(chosen.nodes.iter().enumerate().all(|(unit, node)| node.index() == unit % 8));
        // A few bytes in all: one aggregator has least to set up.
        let small = dealt_out(8, 64, 1, false);
        assert_eq!(aggregators(&choose(&small.problem(), &CostModel::default())), 1);
        // Asked for, the count stays.
        let fixed = dealt_out(8, 64, 1, true);
        assert_eq!(aggregators(&choose(&fixed.problem(), &CostModel::default())), 8);
        // Where pieces are dear and links are fast, runs win over what is held.
        let model = CostModel { piece: Picoseconds(10_000_000_000), ..CostModel::default() };
        let chosen = choose(&dealt_out(8, 64, 1 << 20, false).problem(), &model);
        let runs = chosen.nodes.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
        assert_eq!(runs, aggregators(&chosen) as usize);
        // Where one client is as fast as the storage, a second gains nothing from it.
        let model = CostModel { client: Rate(1 << 40), node: Rate(1 << 40), storage: Rate(1 << 30), ..model };
        assert!(aggregators(&choose(&small.problem(), &model)) == 1);
    }
}
