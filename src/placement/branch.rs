//! Branch and bound: the least time of the most loaded link, and the fewest hop-bytes among those, for a handful of units.

use super::groups::Shares;
use super::traffic::{Setting, State};
use crate::units::Picoseconds;

/// With more units the search would hardly ever end.
pub(super) const UNITS_MAX: usize = 16;

/// Searches all assignments for one that is better than `best`, with no time below `bound`, and stops after `budget`
/// partial assignments. Returns whether all were searched: then `best` is the best of all.
pub(super) fn search(setting: &Setting<'_>, best: &mut State, bound: Picoseconds, budget: u32) -> bool {
    let mut units: Vec<usize> = setting.groups.group_of.iter().map(|&group| group as usize).collect();
    // Large units first: they decide most. Equal ones stand together.
    let bytes = |group: usize| -> u128 {
        let held = setting.matrix.held(setting.groups.first[group]);
        held.iter().map(|held| u128::from(held.bytes)).sum()
    };
    units.sort_by_key(|&group| (std::cmp::Reverse(bytes(group)), group));
    let least = |group: usize| {
        (0..setting.columns.len()).map(|column| setting.hop_bytes(group, column)).min().unwrap_or(0)
    };
    let mut rest: Vec<u128> = vec![0];
    for &group in units.iter().rev() {
        rest.push(rest[rest.len() - 1] + least(group));
    }
    rest.reverse();
    let time = setting.ways.time(&best.loads);
    let mut search = Search {
        setting,
        units,
        rest,
        bound,
        budget,
        state: State::new(setting, &vec![Vec::new(); setting.groups.len()]),
        columns: Vec::new(),
        time,
        hop_bytes: best.hop_bytes,
        as_long: setting.ways.limits(time),
        shorter: shorter(setting, time),
        best: None,
    };
    let done = search.descend(0);
    if let Some(shares) = search.best {
        *best = State::new(setting, &shares);
    }
    done
}

/// The most bytes on each link in less than a time.
fn shorter(setting: &Setting<'_>, time: Picoseconds) -> Vec<u128> {
    match time.0.checked_sub(1) {
        Some(less) => setting.ways.limits(Picoseconds(less)),
        None => vec![0; setting.ways.links()],
    }
}

struct Search<'s, 'a> {
    setting: &'s Setting<'a>,
    /// The group of each unit, in the order of the search.
    units: Vec<usize>,
    /// From each unit on, the hop-bytes that the rest costs at least.
    rest: Vec<u128>,
    bound: Picoseconds,
    budget: u32,
    state: State,
    /// Of the units before.
    columns: Vec<usize>,
    /// Of the best so far, and the most bytes on each link in as long a time and in a shorter one.
    time: Picoseconds,
    hop_bytes: u128,
    as_long: Vec<u128>,
    shorter: Vec<u128>,
    best: Option<Shares>,
}

impl Search<'_, '_> {
    /// Tries all columns for the next unit. False when the budget ended.
    fn descend(&mut self, depth: usize) -> bool {
        let Some(&group) = self.units.get(depth) else {
            self.note();
            return true;
        };
        // Units of one group are alike: they take columns in ascending order.
        let alike = depth > 0 && self.units[depth - 1] == group;
        let first = if alike { self.columns[depth - 1] } else { 0 };
        let mut order: Vec<usize> =
            (first..self.setting.columns.len()).filter(|&column| self.state.free[column] > 0).collect();
        order.sort_by_key(|&column| (self.setting.hop_bytes(group, column), column));
        for column in order {
            if self.budget == 0 {
                return false;
            }
            self.budget -= 1;
            self.put(group, column);
            self.columns.push(column);
            let done = !self.may_be_better(depth + 1) || self.descend(depth + 1);
            self.columns.pop();
            self.withdraw(group, column);
            if !done {
                return false;
            }
        }
        true
    }

    /// Whether what is placed so far leaves hope for less time, or as much with fewer hop-bytes.
    fn may_be_better(&self, placed: usize) -> bool {
        let within =
            |limits: &[u128]| self.state.loads.iter().zip(limits).all(|(bytes, limit)| bytes <= limit);
        let fewer = self.state.hop_bytes + self.rest[placed] < self.hop_bytes;
        match fewer {
            true => within(&self.as_long),
            false => self.bound < self.time && within(&self.shorter),
        }
    }

    /// A better assignment is complete.
    fn note(&mut self) {
        self.time = self.setting.ways.time(&self.state.loads);
        self.hop_bytes = self.state.hop_bytes;
        self.as_long = self.setting.ways.limits(self.time);
        self.shorter = shorter(self.setting, self.time);
        self.best = Some(self.shares());
    }

    /// Serves a unit of the group in a column.
    fn put(&mut self, group: usize, column: usize) {
        let state = &mut self.state;
        state.free[column] -= 1;
        state.hop_bytes += self.setting.hop_bytes(group, column);
        self.setting.loads_of(group, column, |link, bytes| state.loads[link] += u128::from(bytes));
    }

    fn withdraw(&mut self, group: usize, column: usize) {
        let state = &mut self.state;
        state.free[column] += 1;
        state.hop_bytes -= self.setting.hop_bytes(group, column);
        self.setting.loads_of(group, column, |link, bytes| state.loads[link] -= u128::from(bytes));
    }

    fn shares(&self) -> Shares {
        let mut shares = vec![std::collections::BTreeMap::new(); self.setting.groups.len()];
        for (&group, &column) in self.units.iter().zip(&self.columns) {
            *shares[group].entry(column).or_insert(0) += 1;
        }
        shares.into_iter().map(|share| share.into_iter().collect()).collect()
    }
}
