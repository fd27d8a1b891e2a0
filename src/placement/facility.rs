//! Which of many places to open, when each unit then goes to the cheapest open one: the greedy order, whose first k places
//! save, of what k can save beyond the first, at least the part 1 - 1/e (Cornuejols, Fisher and Nemhauser, Management
//! Science 23, 1977).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The first `wanted` columns in greedy order, of those that are `usable`: the cheapest alone, then again and again the
/// one that saves most, the lowest of equals. `costs` has one entry a column, group by group, for one unit.
pub(super) fn order(costs: &[u128], counts: &[u32], usable: &[usize], wanted: usize) -> Vec<usize> {
    let columns = costs.len().checked_div(counts.len()).unwrap_or(0);
    if columns == 0 {
        return usable.iter().copied().take(wanted).collect();
    }
    let cost = |group: usize, column: usize| costs[group * columns + column];
    let sum = |each: &dyn Fn(usize) -> u128| -> u128 {
        (0..counts.len())
            .fold(0, |sum, group| sum.saturating_add(each(group).saturating_mul(counts[group].into())))
    };
    let alone = |&column: &usize| (sum(&|group| cost(group, column)), column);
    let Some((_, first)) = usable.iter().map(alone).min() else { return Vec::new() };
    let mut paid: Vec<u128> = (0..counts.len()).map(|group| cost(group, first)).collect();
    let saved = |paid: &[u128], column: usize| sum(&|group| paid[group].saturating_sub(cost(group, column)));
    let mut opened = vec![first];
    // What a column saves only shrinks as others open: an old value is looked at again only when it leads.
    let others = usable.iter().copied().filter(|&column| column != first);
    let mut queue: BinaryHeap<(u128, Reverse<usize>, usize)> =
        others.map(|column| (saved(&paid, column), Reverse(column), 1)).collect();
    while opened.len() < wanted {
        let Some((_, Reverse(column), known_at)) = queue.pop() else { break };
        if known_at < opened.len() {
            queue.push((saved(&paid, column), Reverse(column), opened.len()));
            continue;
        }
        for (group, paid) in paid.iter_mut().enumerate() {
            *paid = (*paid).min(cost(group, column));
        }
        opened.push(column);
    }
    opened.truncate(wanted);
    opened
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    /// The same without a queue.
    fn slow(costs: &[u128], counts: &[u32], columns: usize, wanted: usize) -> Vec<usize> {
        let mut opened: Vec<usize> = Vec::new();
        while opened.len() < wanted {
            let total = |column: usize| -> u128 {
                let open =
                    |group: usize| opened.iter().chain([&column]).map(move |&c| costs[group * columns + c]);
                (0..counts.len()).map(|group| u128::from(counts[group]) * open(group).min().unwrap()).sum()
            };
            let closed = (0..columns).filter(|column| !opened.contains(column));
            opened.push(closed.min_by_key(|&column| (total(column), column)).unwrap());
        }
        opened
    }

    #[test]
    fn the_queue_opens_what_a_full_search_opens() {
        for seed in 0..2000 {
            let mut random = Random(seed);
            let (groups, columns) = (1 + random.below(6), 1 + random.below(7));
            let scale = [3, 1000][random.below(2)];
            let costs: Vec<u128> = (0..groups * columns).map(|_| u128::from(random.next() % scale)).collect();
            let counts: Vec<u32> = (0..groups).map(|_| 1 + random.below(4) as u32).collect();
            let usable: Vec<usize> = (0..columns).collect();
            for wanted in 1..=columns {
                let found = order(&costs, &counts, &usable, wanted);
                assert_eq!(found, slow(&costs, &counts, columns, wanted), "seed {seed} wanted {wanted}");
            }
        }
    }
}
