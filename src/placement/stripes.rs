//! Stripes, many for each aggregator: they need not be neighbours in the file, so that each can go where its bytes are.
//!
//! No aggregator has more than its part of them, rounded up. The assignment with the fewest hop-bytes is then a
//! transportation problem, solved exactly. But its busiest link may be busier than another's, and a call waits for that
//! link: it is the start of [`bottleneck`](super::bottleneck), which gives up hop-bytes only for time.
//!
//! What holds: no assignment of the stripes to these seats has fewer hop-bytes than the start, the result's busiest link
//! takes at most as long as the start's, and no assignment's takes less than [`Solved::bound`].

use super::bottleneck::{self, Effort, Solved};
use super::groups::Groups;
use super::traffic::{ENTRIES_MAX, Setting, Ways, cheapest};
use super::workload::costs_of_domain;
use super::{Assignment, Chosen, Inside, Problem, facility, link_loads, shared};
use crate::units::{NodeId, Picoseconds};

/// Stripes where their bytes are.
pub(super) struct Stripes;

impl Assignment for Stripes {
    /// The nodes of [`solve`], with all of their seats.
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        Chosen::all_slots(solve(problem).nodes, &seats(problem))
    }

    /// The node's units shared out to its ranks, with the fewest hop-bytes inside the node.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        shared::ranks(inside)
    }
}

/// The nodes for a problem's stripes: the least time of the busiest link that is found from the fewest hop-bytes.
///
/// With more than 2^22 pairs of nodes, or of different stripes and nodes, it is the fewest hop-bytes.
pub fn solve(problem: &Problem<'_>) -> Solved {
    let each = problem.units_per_seat();
    let capacity: Vec<u32> = seats(problem).iter().map(|&seats| seats.saturating_mul(each)).collect();
    let ways = Ways::new(problem);
    let setting =
        ways.as_ref().and_then(|ways| Setting::new(problem.matrix, problem.topology, ways, &capacity));
    if let Some(setting) = setting {
        return bottleneck::refine(&setting, &[], Effort::of(&setting)).1;
    }
    let groups = Groups::of_matrix(problem.matrix);
    let shares = cheapest(&groups.counts, &capacity, |group, costs| {
        let row = costs_of_domain(problem.matrix, problem.topology, groups.first[group]);
        costs.iter_mut().zip(row).for_each(|(cost, hop_bytes)| *cost = hop_bytes.0);
    });
    let nodes: Vec<NodeId> = groups.spread(&shares).into_iter().map(NodeId::from_index).collect();
    let network = problem.topology.network();
    let loads = link_loads(problem.matrix, network, &nodes, problem.flow);
    let time = network.busiest(&loads).map_or(Picoseconds(0), |(_, time)| time);
    Solved { nodes, time, bound: Picoseconds(0), exact: false }
}

/// How many aggregators each node may have: its slots, unless the list was cut short (`cb_nodes`). Then as many seats as
/// the list has entries, on the nodes that a greedy choice by hop-bytes prefers, each node's first seat before any
/// second; or where the list has them, when stripes and nodes are too many to compare.
fn seats(problem: &Problem<'_>) -> Vec<u32> {
    let (slots, wanted) = (&problem.candidates.slots, problem.candidates.list.len());
    if slots.iter().map(|&slots| slots as usize).sum::<usize>() <= wanted {
        return slots.clone();
    }
    let usable: Vec<usize> = (0..slots.len()).filter(|&node| slots[node] > 0).collect();
    let groups = Groups::of_matrix(problem.matrix);
    if groups.len() * slots.len() > ENTRIES_MAX {
        let mut seats = vec![0; slots.len()];
        problem.candidates.list_nodes.iter().for_each(|node| seats[node.index()] += 1);
        return seats;
    }
    let row = |&unit: &usize| costs_of_domain(problem.matrix, problem.topology, unit);
    let costs: Vec<u128> = groups.first.iter().flat_map(row).map(|cost| cost.0).collect();
    let order = facility::order(&costs, &groups.counts, &usable, usable.len().min(wanted));
    dealt(&order, slots, wanted)
}

/// So many seats dealt to nodes in some order, in turn, as long as they have slots.
pub(super) fn dealt(order: &[usize], slots: &[u32], wanted: usize) -> Vec<u32> {
    let mut seats = vec![0; slots.len()];
    let mut left = wanted;
    let mut dealing = true;
    while left > 0 && std::mem::take(&mut dealing) {
        for &node in order.iter().filter(|&&node| slots[node] > 0) {
            if left > 0 && seats[node] < slots[node] {
                seats[node] += 1;
                left -= 1;
                dealing = true;
            }
        }
    }
    seats
}

impl Chosen {
    /// Of nodes that serve with all their seats.
    pub(super) fn all_slots(nodes: Vec<NodeId>, slots: &[u32]) -> Chosen {
        let mut seats = vec![0; slots.len()];
        nodes.iter().for_each(|node| seats[node.index()] = slots[node.index()]);
        Chosen { nodes, seats }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Job, Random, every_assignment, network};
    use super::super::{
        Candidates, ConfigList, Flow, Held, NodeMatrix, Strategy, assign_nodes, between, hop_bytes, predict,
        total,
    };
    use super::*;
    use crate::topology::{NodeMap, Topology};
    use crate::units::HopBytes;

    fn rated(problem: &Problem<'_>, nodes: &[NodeId]) -> (Picoseconds, HopBytes) {
        let network = problem.topology.network();
        let loads = link_loads(problem.matrix, network, nodes, problem.flow);
        let time = network.busiest(&loads).map_or(Picoseconds(0), |(_, time)| time);
        (time, total(problem.matrix, problem.topology, nodes))
    }

    #[test]
    fn few_stripes_equal_the_best_of_all_assignments() {
        for seed in 0..3000 {
            let job = Job::random(seed, 4, 6);
            let problem = job.problem();
            let chosen = assign_nodes(Strategy::Stripes, &problem);
            let seats: u32 = chosen.seats.iter().sum();
            assert!(seats as usize <= job.candidates.list.len(), "seed {seed}");
            let each = problem.units_per_seat();
            for (node, &seats) in chosen.seats.iter().enumerate() {
                let served = chosen.nodes.iter().filter(|other| other.index() == node).count();
                assert!(served <= (seats * each) as usize, "seed {seed}");
            }
            // Which nodes have seats is greedy; what goes to them is exact.
            let capacity: Vec<u32> = super::seats(&problem).iter().map(|seats| seats * each).collect();
            let nodes = |columns: Vec<usize>| columns.into_iter().map(NodeId::from_index).collect::<Vec<_>>();
            let all = every_assignment(job.matrix.domains(), &capacity);
            let best = all.into_iter().map(|columns| rated(&problem, &nodes(columns))).min().unwrap();
            assert_eq!(rated(&problem, &chosen.nodes), best, "seed {seed}");
        }
    }

    #[test]
    fn many_stripes_stand_between_their_bound_and_the_fewest_hop_bytes() {
        for seed in 0..200 {
            let job = Job::random(seed, 16, 300);
            let problem = job.problem();
            let each = problem.units_per_seat();
            let capacity: Vec<u32> = super::seats(&problem).iter().map(|seats| seats * each).collect();
            let fewest = hop_bytes::fewest(&problem, &capacity);
            let found = solve(&problem);
            assert!(rated(&problem, &found.nodes) <= rated(&problem, &fewest), "seed {seed}");
            assert!(found.bound <= found.time, "seed {seed}");
            assert_eq!(found, solve(&problem), "seed {seed}: the same twice");
            let mut free = capacity;
            found
                .nodes
                .iter()
                .for_each(|node| free[node.index()] = free[node.index()].checked_sub(1).unwrap());
        }
    }

    /// A cube of doubles on 8 ranks in 2 x 2 x 2 blocks, z fastest, in row-major order: stripes are an eighth of a plane,
    /// of `planes` planes. `node_of` has the node of each rank.
    struct Cube {
        topology: Topology,
        candidates: Candidates,
        stripes: NodeMatrix,
        domains: NodeMatrix,
    }

    impl Cube {
        fn new(nodes: usize, node_of: &[usize; 8]) -> Cube {
            const PLANES: usize = 64;
            let map = NodeMap::emulated(8, 8 / nodes as u32);
            let held = |stripe: usize| {
                let (x, y) = (stripe / (4 * PLANES), stripe % 8 / 4);
                let mut bytes = vec![0; nodes];
                (0..2).for_each(|z| bytes[node_of[4 * x + 2 * y + z]] += 1 << 20);
                bytes
            };
            let matrix = |units: usize, each: usize| {
                let unit = |unit: usize| {
                    let stripes = (unit * each..(unit + 1) * each).map(held);
                    let sums = stripes.fold(vec![0; nodes], |sums: Vec<u64>, bytes| {
                        sums.iter().zip(bytes).map(|(sum, bytes)| sum + bytes).collect()
                    });
                    let held = |(node, bytes)| Held { node: NodeId::from_index(node), bytes, inside: 0 };
                    sums.into_iter().enumerate().map(held).collect()
                };
                NodeMatrix::from_units(nodes, (0..units).map(unit))
            };
            Cube {
                topology: network("tree:4,2/200mbit,1gbit", &map),
                candidates: Candidates::new(&map, None, &"*:*".parse::<ConfigList>().unwrap()),
                stripes: matrix(8 * PLANES, 1),
                domains: matrix(8, PLANES),
            }
        }

        /// The hop-bytes between nodes and the time of the busiest link under a strategy.
        fn outcome(&self, strategy: Strategy) -> (f64, f64) {
            let matrix = match strategy.granularity() {
                super::super::Granularity::Domains => &self.domains,
                super::super::Granularity::Stripes => &self.stripes,
            };
            let Cube { topology, candidates, .. } = self;
            let problem = Problem { matrix, topology, candidates, flow: Flow::Gather, count_fixed: false };
            let chosen = assign_nodes(strategy, &problem);
            let busiest = predict(&problem, &chosen).busiest.map_or(0.0, |(_, time)| time.as_seconds());
            (between(matrix, topology, &chosen.nodes).as_f64(), busiest)
        }
    }

    #[test]
    fn on_a_scattered_cube_stripes_halve_what_crosses_the_network() {
        let mut sums = [(0.0, 0.0); 5];
        const PLACEMENTS: u64 = 200;
        let compared = [
            Strategy::RankOrder,
            Strategy::HopBytes,
            Strategy::Bottleneck,
            Strategy::Stripes,
            Strategy::Automatic,
        ];
        for seed in 0..PLACEMENTS {
            let mut random = Random(seed);
            let mut node_of = [0, 1, 2, 3, 4, 5, 6, 7];
            (1..8).for_each(|last| node_of.swap(last, random.below(last + 1)));
            let cube = Cube::new(8, &node_of);
            let found = compared.map(|strategy| cube.outcome(strategy));
            assert!(
                found[1].0 <= found[0].0 && found[2].1 <= found[1].1 && found[3].1 <= found[2].1,
                "seed {seed}"
            );
            for (sum, found) in sums.iter_mut().zip(found) {
                *sum = (sum.0 + found.0, sum.1 + found.1);
            }
        }
        for (strategy, sum) in compared.iter().zip(&sums) {
            println!(
                "{strategy}: {:.3} of hop-bytes, {:.3} of the busiest link",
                sum.0 / sums[0].0,
                sum.1 / sums[0].1
            );
        }
        let part = |index: usize| (sums[index].0 / sums[0].0, sums[index].1 / sums[0].1);
        // With 26/7 hops between two nodes on average: rank order's node holds a quarter of its domain or nothing, the best
        // node a quarter, and a stripe's a half: 6/7 and 4/7 of 7/8.
        assert!((0.84..0.88).contains(&part(1).0) && (0.75..0.9).contains(&part(1).1), "{:?}", part(1));
        assert!((0.55..0.60).contains(&part(3).0) && (0.5..0.6).contains(&part(3).1), "{:?}", part(3));
    }

    /// Halves exchanged: rank order's nodes hold nothing of their domains, 4 hops away. The best node of a domain holds a
    /// quarter, has one at 2 hops and two at 4; a stripe's other half is on the same switch.
    #[test]
    fn on_a_cube_with_its_halves_exchanged_the_counts_are_exact() {
        let cube = Cube::new(8, &[4, 5, 6, 7, 0, 1, 2, 3]);
        let [order, domains, stripes] = [Strategy::RankOrder, Strategy::HopBytes, Strategy::Stripes]
            .map(|strategy| cube.outcome(strategy).0);
        assert_eq!((domains / order, stripes / order), (0.625, 0.25));
    }

    #[test]
    fn on_a_cube_in_order_stripes_leave_nothing_on_the_network() {
        let cube = Cube::new(4, &[0, 0, 1, 1, 2, 2, 3, 3]);
        assert!(cube.outcome(Strategy::RankOrder).0 > 0.0);
        assert!(cube.outcome(Strategy::HopBytes).0 > 0.0);
        assert_eq!(cube.outcome(Strategy::Stripes), (0.0, 0.0));
    }

    #[test]
    fn seats_are_dealt_in_turn() {
        for (order, slots, wanted, expected) in [
            (vec![2, 0, 1], vec![2, 2, 2], 4, vec![1, 1, 2]),
            (vec![2, 0, 1], vec![2, 2, 2], 9, vec![2, 2, 2]),
            (vec![1], vec![1, 3], 2, vec![0, 2]),
            (vec![0, 1], vec![0, 1], 1, vec![0, 1]),
        ] {
            assert_eq!(dealt(&order, &slots, wanted), expected);
        }
    }
}
