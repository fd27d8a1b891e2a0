//! Units of which every node holds the same count as one thing: patterns are periodic, so that thousands of stripes are
//! often a few kinds of stripe, and a solver's work goes with the kinds.

use super::{Held, NodeMatrix};
use std::collections::BTreeMap;

/// The kinds of units of a matrix, numbered by their first unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// By unit.
    pub group_of: Vec<u32>,
    /// By group: its first unit.
    pub first: Vec<usize>,
    /// By group: how many units it has.
    pub counts: Vec<u32>,
}

impl Groups {
    /// Units are of one group when `key` says so.
    pub fn by_key<K: Ord>(units: usize, key: impl Fn(usize) -> K) -> Groups {
        let mut numbers: BTreeMap<K, u32> = BTreeMap::new();
        let mut groups =
            Groups { group_of: Vec::with_capacity(units), first: Vec::new(), counts: Vec::new() };
        for unit in 0..units {
            let new = u32::try_from(groups.first.len()).expect("units fit 32 bits");
            let group = *numbers.entry(key(unit)).or_insert(new);
            if group == new {
                groups.first.push(unit);
                groups.counts.push(0);
            }
            groups.counts[group as usize] += 1;
            groups.group_of.push(group);
        }
        groups
    }

    /// Units whose bytes lie alike.
    pub fn of_matrix(matrix: &NodeMatrix) -> Groups {
        Groups::by_key(matrix.domains(), |unit| -> &[Held] { matrix.held(unit) })
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Tells the units of each group which of its columns each gets: neighbours in the file get the same column as long
    /// as both groups' shares allow it, since a long run of units is a large write. Where a run must end, the next unit
    /// goes to the column with the largest share left of its group, the lowest of equals.
    pub fn spread(&self, shares: &Shares) -> Vec<usize> {
        let mut left = shares.clone();
        let mut columns: Vec<usize> = Vec::with_capacity(self.group_of.len());
        for &group in &self.group_of {
            let share = &mut left[group as usize];
            let before = columns.last();
            let place = before.and_then(|before| share.iter().position(|&(column, _)| column == *before));
            let place = place.unwrap_or_else(|| {
                let most = share.iter().map(|&(_, units)| units).max().expect("a share for every unit");
                share.iter().position(|&(_, units)| units == most).expect("the largest is one of them")
            });
            columns.push(share[place].0);
            share[place].1 -= 1;
            if share[place].1 == 0 {
                share.remove(place);
            }
        }
        columns
    }

    /// The shares of an assignment of units to columns.
    pub fn shares(&self, columns: &[usize]) -> Shares {
        let mut counted: Vec<BTreeMap<usize, u32>> = vec![BTreeMap::new(); self.len()];
        for (&group, &column) in self.group_of.iter().zip(columns) {
            *counted[group as usize].entry(column).or_default() += 1;
        }
        counted.into_iter().map(|share| share.into_iter().collect()).collect()
    }
}

/// By group: the columns that serve it, ascending, and how many of its units each.
pub(super) type Shares = Vec<Vec<(usize, u32)>>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups as letters, shares as `column x units`, the expected columns as digits.
    #[test]
    fn runs_are_as_long_as_shares_allow() {
        for (units, shares, expected) in [
            ("", vec![], ""),
            ("aaaa", vec![vec![(0, 2), (3, 2)]], "0033"),
            ("aaaaa", vec![vec![(0, 2), (3, 3)]], "33300"),
            ("abab", vec![vec![(1, 1), (2, 1)], vec![(1, 1), (2, 1)]], "1122"),
            ("aabb", vec![vec![(1, 1), (2, 1)], vec![(2, 2)]], "1222"),
        ] {
            let units: Vec<char> = units.chars().collect();
            let groups = Groups::by_key(units.len(), |unit| units[unit]);
            let found = groups.spread(&shares);
            let digits: String = found.iter().map(usize::to_string).collect();
            assert_eq!(digits, expected);
            assert_eq!(groups.shares(&found), shares);
            assert_eq!(groups.counts.iter().sum::<u32>() as usize, units.len());
        }
    }
}
