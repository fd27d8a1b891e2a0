//! Many units for few ranks inside a node: which ranks, and which units each.

use super::groups::Groups;
use super::{Inside, facility, transport};

/// The most sets of ranks that are all tried; with more, the greedy order decides.
const SETS_MAX: usize = 64;

/// The local rank of each unit: at most [`Inside::seats`] ranks, none with more than [`Inside::units_per_seat`] units, with
/// the fewest hop-bytes that the chosen ranks allow. Which ranks is exact as well where there are few ways to choose, and
/// else greedy. Among equals, neighbouring units stay together.
pub(super) fn ranks(inside: &Inside<'_>) -> Vec<usize> {
    let (allowed, seats) = (inside.allowed.len(), inside.seats as usize);
    let units = inside.units();
    let alike = |unit: usize| {
        let held: Vec<u64> = inside.rows.iter().map(|row| row[unit]).collect();
        (held, inside.arriving[unit])
    };
    let groups = Groups::by_key(units, alike);
    let row = |&unit: &usize| inside.allowed.iter().map(move |&rank| inside.cost(unit, rank).0);
    let costs: Vec<u128> = groups.first.iter().flat_map(row).collect();
    let served_by = |columns: &[usize]| {
        let mut capacity = vec![0; allowed];
        columns.iter().for_each(|&column| capacity[column] = inside.units_per_seat());
        let shares = transport::minimise(&groups.counts, &capacity, |group, row| {
            row.copy_from_slice(&costs[group * allowed..][..allowed]);
        });
        let of_group = |(group, share): (usize, &Vec<(usize, u32)>)| -> u128 {
            share.iter().map(|&(column, units)| u128::from(units) * costs[group * allowed + column]).sum()
        };
        (shares.iter().enumerate().map(of_group).sum::<u128>(), shares)
    };
    let all: Vec<usize> = (0..allowed).collect();
    let sets =
        sets(allowed, seats).unwrap_or_else(|| vec![facility::order(&costs, &groups.counts, &all, seats)]);
    let best = sets.iter().map(|columns| served_by(columns)).min_by_key(|&(cost, _)| cost);
    let (_, shares) = best.expect("there is a set");
    groups.spread(&shares).into_iter().map(|column| inside.allowed[column]).collect()
}

/// All ways to choose `seats` of `all`, in order; `None` when they are too many.
fn sets(all: usize, seats: usize) -> Option<Vec<Vec<usize>>> {
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for place in 0..seats {
        let longer = |set: &Vec<usize>| {
            let first = set.last().map_or(0, |last| last + 1);
            let set = set.clone();
            (first..all + place + 1 - seats).map(move |next| [&set[..], &[next]].concat())
        };
        sets = sets.iter().flat_map(longer).take(SETS_MAX + 1).collect();
        if sets.len() > SETS_MAX {
            return None;
        }
    }
    Some(sets)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, every_assignment};
    use super::*;
    use crate::units::{HopBytes, Hops};

    #[test]
    fn shared_ranks_are_the_best_of_all() {
        for seed in 0..3000 {
            let mut random = Random(seed);
            let ranks = 1 + random.below(4);
            let mut allowed: Vec<usize> = (0..ranks).filter(|_| random.below(3) > 0).collect();
            if allowed.is_empty() {
                allowed.push(random.below(ranks));
            }
            let seats = 1 + random.below(allowed.len());
            let units = random.below(6);
            let kinds: Vec<u64> = (0..ranks * 2).map(|_| random.next() % 5).collect();
            let kind_of: Vec<usize> = (0..units).map(|_| random.below(2)).collect();
            let rows: Vec<Vec<u64>> =
                (0..ranks).map(|rank| kind_of.iter().map(|kind| kinds[rank * 2 + kind]).collect()).collect();
            let arriving: Vec<u64> = (0..units).map(|_| random.next() % 3).collect();
            let distance = |a: usize, b: usize| Hops(4 * a.abs_diff(b) as u32);
            let to_network = |rank: usize| Hops(5 * rank as u32 % 16);
            let inside = Inside {
                rows: &rows,
                distance: &distance,
                arriving: &arriving,
                to_network: &to_network,
                allowed: &allowed,
                seats: seats as u32,
            };
            let cost = |chosen: &[usize]| -> HopBytes {
                chosen.iter().enumerate().map(|(unit, &rank)| inside.cost(unit, rank)).sum()
            };
            let each = inside.units_per_seat();
            let distinct = |chosen: &[usize]| {
                let mut used = chosen.to_vec();
                used.sort_unstable();
                used.dedup();
                used.len()
            };
            let found = super::ranks(&inside);
            assert!(distinct(&found) <= seats, "seed {seed}");
            for &rank in &allowed {
                assert!(found.iter().filter(|&&other| other == rank).count() <= each as usize, "seed {seed}");
            }
            let least = every_assignment(units, &vec![each; allowed.len()])
                .into_iter()
                .map(|columns| columns.into_iter().map(|column| allowed[column]).collect::<Vec<usize>>())
                .filter(|chosen| distinct(chosen) <= seats)
                .map(|chosen| cost(&chosen))
                .min()
                .unwrap();
            assert_eq!(cost(&found), least, "seed {seed}");
        }
    }

    #[test]
    fn sets_are_all_or_none() {
        assert_eq!(sets(3, 2), Some(vec![vec![0, 1], vec![0, 2], vec![1, 2]]));
        assert_eq!(sets(4, 4), Some(vec![vec![0, 1, 2, 3]]));
        assert_eq!(sets(8, 4), None);
        assert_eq!(sets(3, 0), Some(vec![vec![]]));
    }

    #[test]
    fn of_many_ranks_the_greedy_ones_keep_to_the_rules() {
        let mut random = Random(5);
        let rows: Vec<Vec<u64>> = (0..24).map(|_| (0..100).map(|_| random.next() % 9).collect()).collect();
        let allowed: Vec<usize> = (0..24).collect();
        let inside = Inside {
            rows: &rows,
            distance: &|a, b| Hops(a.abs_diff(b).min(16) as u32),
            arriving: &[0; 100],
            to_network: &|_| Hops::ONE,
            allowed: &allowed,
            seats: 7,
        };
        let found = ranks(&inside);
        let counts: Vec<usize> =
            allowed.iter().map(|&rank| found.iter().filter(|&&other| other == rank).count()).collect();
        assert!(counts.iter().all(|&count| count <= 15), "{counts:?}");
        assert!(counts.iter().filter(|&&count| count > 0).count() <= 7, "{counts:?}");
        assert_eq!(found, ranks(&inside));
    }
}
