//! The least time of the most loaded directed link, and the fewest hop-bytes among equals: what hop-bytes stand for, taken
//! at its word. Fewer hop-bytes can make one link busier, and a call waits for the busiest.
//!
//! Finding the least is hard (it holds the partition problem), so that [`solve`] says how close it came:
//!
//! 1. It starts from the exact optimum in hop-bytes, from rank order and from locality: it is never worse than any.
//! 2. Prices on links give further assignments, and a time that none can undercut ([`Solved::bound`]).
//! 3. Local search improves the best of them.
//! 4. A handful of units is searched exhaustively, and then the result is exact in both goals.
//!
//! All work is counted and limited, never timed, so that every rank gets the same.

use super::groups::Shares;
use super::traffic::{Setting, State, Ways};
use super::{
    Assignment, Chosen, Inside, Problem, branch, hop_bytes, link_loads, locality, prices, search, total,
};
use crate::units::{HopBytes, NodeId, Picoseconds};

/// The least time of the busiest link.
pub(super) struct Bottleneck;

impl Assignment for Bottleneck {
    /// The nodes of [`solve`].
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        let solved = solve(problem);
        match problem.units_per_seat() {
            1 => Chosen::one_each(solved.nodes, problem.matrix.nodes()),
            _ => Chosen::all_slots(solved.nodes, &problem.candidates.slots),
        }
    }

    /// Inside a node there is no link to relieve: the ranks with the fewest hop-bytes.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        hop_bytes::HopBytes.ranks(inside)
    }
}

/// What [`solve`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    /// By unit.
    pub nodes: Vec<NodeId>,
    /// The time of the most loaded directed link.
    pub time: Picoseconds,
    /// No assignment of these units takes less. Zero where the problem was too large to say.
    pub bound: Picoseconds,
    /// Whether nothing is better: no other assignment takes less time, or as much with fewer hop-bytes.
    pub exact: bool,
}

/// How much work to spend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Times that prices are raised.
    pub iterations: u32,
    /// What local search may look at, from each start: units of it on a link, roughly.
    pub work: u64,
    /// Partial assignments of the exhaustive search.
    pub branches: u32,
}

impl Effort {
    /// Less for larger problems.
    pub fn of(setting: &Setting<'_>) -> Effort {
        let entries = (setting.groups.len() * setting.columns.len()).max(1);
        let iterations = u32::try_from(((1 << 18) / entries).clamp(2, 32)).expect("small");
        Effort { iterations, work: 1 << 22, branches: 1 << 16 }
    }
}

/// The nodes for a problem's units, each with at most [`Problem::capacity`] of them, whose most loaded directed link takes
/// the least time, as [`link_loads`] counts it; among those the ones with the fewest hop-bytes, as [`total`] counts them.
///
/// Never worse than the exact optimum in hop-bytes. Exact for up to 16 units, unless they have too many nodes to go to
/// ([`Solved::exact`] says so); else the time is at least [`Solved::bound`]. With more than 2^22 pairs of nodes, or of
/// units and nodes, it only takes the best of the assignments that it starts from.
///
/// Panics when the capacities do not reach the number of units.
pub fn solve(problem: &Problem<'_>) -> Solved {
    let capacity = problem.capacity();
    let ways = Ways::new(problem);
    let setting =
        ways.as_ref().and_then(|ways| Setting::new(problem.matrix, problem.topology, ways, &capacity));
    match setting {
        Some(setting) => {
            let starts: Vec<Shares> = (starts(problem).iter()).map(|nodes| shares(&setting, nodes)).collect();
            refine(&setting, &starts, Effort::of(&setting)).1
        }
        None => best_start(problem),
    }
}

/// The assignments to begin with, besides the fewest hop-bytes: those of the list's order and of locality.
fn starts(problem: &Problem<'_>) -> Vec<Vec<NodeId>> {
    let each = problem.units_per_seat() as usize;
    let in_order = (0..problem.matrix.domains()).map(|unit| problem.candidates.list_nodes[unit / each]);
    let mut starts = vec![in_order.collect()];
    if each == 1 {
        starts.push(locality::Locality.nodes(problem).nodes);
    }
    starts
}

/// The shares of nodes by unit.
pub(super) fn shares(setting: &Setting<'_>, nodes: &[NodeId]) -> Shares {
    let column = |node: &NodeId| setting.columns.binary_search(node).expect("a node that serves has room");
    setting.groups.shares(&nodes.iter().map(column).collect::<Vec<usize>>())
}

/// The better of the starts, where the problem is too large for more.
fn best_start(problem: &Problem<'_>) -> Solved {
    let network = problem.topology.network();
    let mut nodes = vec![hop_bytes::fewest(problem, &problem.capacity())];
    nodes.extend(starts(problem));
    let rated = nodes.into_iter().map(|nodes| {
        let loads = link_loads(problem.matrix, network, &nodes, problem.flow);
        let time = network.busiest(&loads).map_or(Picoseconds(0), |(_, time)| time);
        (time, total(problem.matrix, problem.topology, &nodes), nodes)
    });
    let best = rated.min_by_key(|(time, hop_bytes, _): &(Picoseconds, HopBytes, _)| (*time, *hop_bytes));
    let (time, _, nodes) = best.expect("there are starts");
    Solved { nodes, time, bound: Picoseconds(0), exact: false }
}

/// The best assignment that is found from the fewest hop-bytes and from `starts` with some effort: its shares, and what
/// they come to.
pub(super) fn refine(setting: &Setting<'_>, starts: &[Shares], effort: Effort) -> (Shares, Solved) {
    let rated = |state: State| (setting.ways.time(&state.loads), state);
    let mut states = vec![rated(State::new(setting, &setting.fewest_hop_bytes()))];
    states.extend(starts.iter().map(|shares| rated(State::new(setting, shares))));
    let known = states.iter().map(|&(time, _)| time).min().unwrap_or_default();
    let priced = prices::search(setting, effort.iterations, &states[0].1, known);
    let bound = priced.bound;
    states.extend(priced.best);
    // The fewest hop-bytes are always improved, and the best of the others.
    let others = (1..states.len()).min_by_key(|&index| (states[index].0, states[index].1.hop_bytes, index));
    for index in [Some(0), others].into_iter().flatten() {
        let (time, state) = &mut states[index];
        *time = search::improve(setting, state, bound, effort.work);
    }
    let best = states.into_iter().min_by_key(|(time, state)| (*time, state.hop_bytes));
    let (_, mut best) = best.expect("the fewest hop-bytes are there");
    let few = setting.groups.group_of.len() <= branch::UNITS_MAX;
    let exact = few && branch::search(setting, &mut best, bound, effort.branches);
    let (shares, time) = (best.shares(), setting.ways.time(&best.loads));
    let bound = if exact { time } else { bound };
    let solved = Solved { nodes: setting.nodes(&shares), time, bound, exact };
    (shares, solved)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Job, every_assignment};
    use super::super::{Strategy, assign_nodes};
    use super::*;

    fn rated(problem: &Problem<'_>, nodes: &[NodeId]) -> (Picoseconds, HopBytes) {
        let network = problem.topology.network();
        let loads = link_loads(problem.matrix, network, nodes, problem.flow);
        let time = network.busiest(&loads).map_or(Picoseconds(0), |(_, time)| time);
        (time, total(problem.matrix, problem.topology, nodes))
    }

    #[test]
    fn small_problems_equal_the_best_of_all_assignments() {
        for seed in 0..4000 {
            let job = Job::random(seed, 5, 5);
            let job = if seed % 2 == 0 { job.of_domains() } else { job };
            let problem = job.problem();
            let found = solve(&problem);
            let all = every_assignment(job.matrix.domains(), &problem.capacity());
            let nodes = |columns: Vec<usize>| columns.into_iter().map(NodeId::from_index).collect::<Vec<_>>();
            let best = all.into_iter().map(|columns| rated(&problem, &nodes(columns))).min().unwrap();
            assert_eq!(rated(&problem, &found.nodes), best, "seed {seed}");
            assert!(
                found.exact && found.bound == found.time && found.time == best.0,
                "seed {seed} {found:?}"
            );
        }
    }

    /// The steps before the exhaustive search, on what that search can prove.
    #[test]
    fn without_exhaustive_search_bounds_hold_and_times_are_near() {
        let (mut same, mut all) = (0, 0);
        for seed in 0..1500 {
            let job = Job::random(seed, 5, 5);
            let problem = job.problem();
            let ways = Ways::new(&problem).unwrap();
            let setting = Setting::new(&job.matrix, &job.topology, &ways, &problem.capacity()).unwrap();
            let effort = Effort { iterations: 8, work: 1 << 16, branches: 0 };
            let (_, found) = refine(&setting, &[], effort);
            let best = solve(&problem).time;
            assert!(found.bound <= best && best <= found.time, "seed {seed} {found:?} {best:?}");
            assert_eq!(rated(&problem, &found.nodes).0, found.time, "seed {seed}");
            all += 1;
            same += usize::from(found.time == best);
        }
        assert!(same * 100 > all * 95, "{same} of {all}");
    }

    #[test]
    fn larger_problems_stand_between_their_bound_and_the_fewest_hop_bytes() {
        for seed in 0..150 {
            let job = Job::random(seed, 30, 60).of_domains();
            let problem = job.problem();
            let found = solve(&problem);
            let (time, hop_bytes) = rated(&problem, &found.nodes);
            assert_eq!(time, found.time, "seed {seed}");
            assert!(found.bound <= time, "seed {seed}");
            for strategy in [Strategy::HopBytes, Strategy::RankOrder, Strategy::Locality] {
                let other = rated(&problem, &assign_nodes(strategy, &problem).nodes);
                assert!((time, hop_bytes) <= other, "seed {seed} {strategy}");
                assert!(found.bound <= other.0, "seed {seed} {strategy}");
            }
            let chosen = assign_nodes(Strategy::Bottleneck, &problem);
            assert_eq!(chosen.nodes, found.nodes, "seed {seed}: the same twice");
        }
    }

    #[test]
    fn loads_are_kept_up_to_date() {
        for seed in 0..400 {
            let job = Job::random(seed, 12, 40);
            let problem = job.problem();
            let ways = Ways::new(&problem).unwrap();
            let setting = Setting::new(&job.matrix, &job.topology, &ways, &problem.capacity()).unwrap();
            let mut state = State::new(&setting, &setting.fewest_hop_bytes());
            let before = (ways.time(&state.loads), state.hop_bytes);
            let time = search::improve(&setting, &mut state, Picoseconds(0), 1 << 16);
            let afresh = State::new(&setting, &state.shares());
            assert_eq!((&state.loads, state.hop_bytes), (&afresh.loads, afresh.hop_bytes), "seed {seed}");
            assert_eq!(state.free, afresh.free, "seed {seed}");
            let nodes = setting.nodes(&state.shares());
            assert_eq!(rated(&problem, &nodes), (time, HopBytes(state.hop_bytes)), "seed {seed}");
            assert!((time, state.hop_bytes) <= before, "seed {seed}");
        }
    }

    #[test]
    fn limits_are_the_most_bytes_in_a_time() {
        let job = Job::random(3, 5, 5);
        let ways = Ways::new(&job.problem()).unwrap();
        for time in [0, 1, 7999, 8000, 123_456_789, u128::MAX].map(Picoseconds) {
            for (link, &limit) in ways.limits(time).iter().enumerate() {
                assert!(limit == u128::MAX || ways.rate(link).time(limit) <= time);
                assert!(limit == u128::MAX || ways.rate(link).time(limit + 1) > time);
            }
        }
    }
}
