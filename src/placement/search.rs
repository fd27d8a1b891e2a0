//! Local search: units move to a node with room, or two nodes swap units, as long as the most loaded link gets less to
//! carry; and then as long as hop-bytes fall and no link takes longer than the most loaded one.
//!
//! Deterministic and bounded: candidates are tried in a fixed order, and what is looked at is counted.

use super::traffic::{Change, Crossing, Setting, State, Step};
use crate::units::Picoseconds;
use std::cmp::Reverse;

/// How many groups that load the busiest link are looked at in one round, and how many partners for a swap.
const MOVERS_MAX: usize = 64;
const PARTNERS_MAX: usize = 512;

/// How many candidates of one round have their links looked at.
const CANDIDATES_MAX: usize = 1024;

/// A move, or the two moves of a swap.
#[derive(Clone, Copy)]
struct Exchange {
    there: Step,
    /// The group that comes back.
    back: Option<Step>,
}

impl Exchange {
    fn steps(&self) -> ([Step; 2], usize) {
        (self.back.map_or([self.there; 2], |back| [self.there, back]), 1 + usize::from(self.back.is_some()))
    }

    /// How many units of each step can move.
    fn most(&self, state: &State) -> u32 {
        let there = state.units(self.there.group, self.there.from);
        match self.back {
            Some(back) => there.min(state.units(back.group, back.from)),
            None => there.min(state.free[self.there.to]),
        }
    }
}

/// Improves a state: the time of its most loaded link first, hop-bytes second. `bound` is a time that cannot be undercut,
/// `work` limits what is looked at. Returns the time.
pub(super) fn improve(
    setting: &Setting<'_>,
    state: &mut State,
    bound: Picoseconds,
    work: u64,
) -> Picoseconds {
    let times = (0..state.loads.len()).map(|link| setting.ways.rate(link).time(state.loads[link])).collect();
    let mut search = Search { setting, state, change: Change::new(setting.ways.links()), times, left: work };
    // Hop-bytes get a half in any case.
    search.left = work / 2;
    while search.busiest().1 > bound && search.relieve() {}
    search.left = work / 2;
    let time = search.busiest().1;
    let limits = setting.ways.limits(time);
    while search.save_hops(&limits) {}
    // Fewer hop-bytes may have relieved the busiest link as well.
    search.busiest().1
}

struct Search<'s, 'a> {
    setting: &'s Setting<'a>,
    state: &'s mut State,
    change: Change,
    /// By link.
    times: Vec<Picoseconds>,
    /// What may still be looked at.
    left: u64,
}

impl Search<'_, '_> {
    /// The most loaded link, the lowest of equals, and its time.
    fn busiest(&self) -> (usize, Picoseconds) {
        let times = self.times.iter().enumerate();
        let most = times.map(|(link, &time)| (time, link)).max_by_key(|&(time, link)| (time, Reverse(link)));
        most.map_or((0, Picoseconds(0)), |(time, link)| (link, time))
    }

    /// Notes what was looked at. False when it was too much.
    fn spend(&mut self, amount: usize) -> bool {
        let (left, enough) = self.left.overflowing_sub(amount as u64);
        self.left = if enough { 0 } else { left };
        !enough
    }

    /// Takes load off the busiest link, as long as it is the busiest, so that no other becomes as busy. False when no
    /// candidate does.
    fn relieve(&mut self) -> bool {
        let (link, time) = self.busiest();
        let Some(less) = time.0.checked_sub(1) else { return false };
        let limits = self.setting.ways.limits(Picoseconds(less));
        let mut relieved = false;
        for exchange in self.relieving(link) {
            let (steps, count) = exchange.steps();
            let most = exchange.most(self.state);
            let room = self.change.room(self.setting, self.state, &steps[..count], &limits, most);
            if !self.spend(self.change.links().count() + 8) {
                return false;
            }
            if room == 0 || self.change.on(link) >= 0 {
                continue;
            }
            let units = self.balance(link, room);
            self.take(&steps[..count], units);
            relieved = true;
            if self.busiest().0 != link || !self.spend(self.state.loads.len()) {
                break;
            }
        }
        relieved
    }

    /// Takes the steps whose change was last looked at.
    fn take(&mut self, steps: &[Step], units: u32) {
        self.state.take(self.setting, steps, units);
        for link in self.change.links() {
            self.times[link] = self.setting.ways.rate(link).time(self.state.loads[link]);
        }
    }

    /// Of at most `room` units, as many as leave the busiest link and the busiest of those that get more about alike.
    fn balance(&self, busiest: usize, room: u32) -> u32 {
        let (state, change) = (&self.state, &self.change);
        let after = |link: usize, units: u32| {
            let bytes = state.loads[link].saturating_add_signed(change.on(link) * i128::from(units));
            self.setting.ways.rate(link).time(bytes)
        };
        let growing: Vec<usize> = change.links().filter(|&link| change.on(link) > 0).collect();
        let worst = |units: u32| {
            let others = growing.iter().map(|&link| after(link, units)).max().unwrap_or_default();
            others.max(after(busiest, units))
        };
        let sizes = std::iter::successors(Some(room), |&units| Some(units / 2).filter(|&units| units > 0));
        sizes.min_by_key(|&units| (worst(units), units)).unwrap_or(1)
    }

    /// The moves and swaps that take bytes off a link, those that take most first, then those with the fewest hop-bytes.
    fn relieving(&mut self, link: usize) -> Vec<Exchange> {
        let (setting, state) = (self.setting, &*self.state);
        let (groups, columns) = (setting.groups.len(), setting.columns.len());
        let crossing = setting.ways.crossing(link);
        let mut entries: Vec<(i128, usize, usize)> = Vec::new();
        for group in 0..groups {
            for column in (0..columns).filter(|&column| state.units(group, column) > 0) {
                entries.push((crossing.bytes(setting, group, column), group, column));
            }
        }
        entries.sort_unstable_by_key(|&(bytes, group, column)| (Reverse(bytes), group, column));
        let movers = entries.iter().take_while(|&&(bytes, ..)| bytes > 0).take(MOVERS_MAX);
        let partners = partners(&entries, columns);
        let groups_looked_at = movers.clone().chain(&partners).map(|&(_, group, _)| group);
        let on = OnLink::new(setting, &crossing, groups_looked_at);
        let mut found = Vec::new();
        for &(bytes, group, from) in movers {
            for to in (0..columns).filter(|&to| to != from && state.free[to] > 0) {
                let gain = bytes - on.bytes(group, to);
                if gain > 0 {
                    let there = Step { group, from, to };
                    found.push((gain, Exchange { there, back: None }));
                }
            }
            for &(back_bytes, other, to) in
                partners.iter().filter(|&&(_, other, to)| to != from && other != group)
            {
                let after = on.bytes(group, to) + on.bytes(other, from);
                if bytes + back_bytes > after {
                    let back = Step { group: other, from: to, to: from };
                    let there = Step { group, from, to };
                    found.push((bytes + back_bytes - after, Exchange { there, back: Some(back) }));
                }
            }
        }
        let pairs = MOVERS_MAX.min(entries.len()) * (columns + partners.len());
        self.spend(setting.ways.ways() + 8 * entries.len() + groups * columns + 2 * pairs);
        let more = |exchange: &Exchange| -> i128 {
            let back = exchange.back.map_or(0, |back| hops_more(setting, back));
            hops_more(setting, exchange.there) + back
        };
        let ordered = found.into_iter().enumerate();
        first(
            ordered
                .map(|(number, (gain, exchange))| ((Reverse(gain), more(&exchange), number), exchange))
                .collect(),
        )
    }

    /// Takes the moves and swaps that save hop-bytes and keep every link within its limit, those that save most first.
    /// False when there is none.
    fn save_hops(&mut self, limits: &[u128]) -> bool {
        let mut saved = false;
        for exchange in self.saving() {
            let (steps, count) = exchange.steps();
            let most = exchange.most(self.state);
            if most == 0 {
                continue;
            }
            let room = self.change.room(self.setting, self.state, &steps[..count], limits, most);
            if !self.spend(self.change.links().count() + 8) {
                return false;
            }
            if room > 0 {
                self.take(&steps[..count], room);
                saved = true;
            }
        }
        saved
    }

    /// The moves and swaps that save hop-bytes, those that save most first.
    fn saving(&mut self) -> Vec<Exchange> {
        let (setting, state) = (self.setting, &*self.state);
        let columns = setting.columns.len();
        // Of each pair of columns, the group that is cheapest to move from one to the other.
        let mut cheapest: Vec<(i128, usize)> = vec![(i128::MAX, 0); columns * columns];
        for group in 0..setting.groups.len() {
            for from in (0..columns).filter(|&from| state.units(group, from) > 0) {
                let row = cheapest[from * columns..][..columns].iter_mut().enumerate();
                for (to, least) in row.filter(|&(to, _)| to != from) {
                    *least = (*least).min((hops_more(setting, Step { group, from, to }), group));
                }
            }
        }
        let mut found = Vec::new();
        for from in 0..columns {
            for to in (0..columns).filter(|&to| to != from) {
                let (more, group) = cheapest[from * columns + to];
                let there = Step { group, from, to };
                if more < 0 && state.free[to] > 0 {
                    found.push(((more, found.len()), Exchange { there, back: None }));
                }
                let (back, other) = cheapest[to * columns + from];
                if from < to && more < i128::MAX && back < i128::MAX && more + back < 0 {
                    let back_step = Step { group: other, from: to, to: from };
                    found.push(((more + back, found.len()), Exchange { there, back: Some(back_step) }));
                }
            }
        }
        let entries = setting.groups.len() * columns;
        if !self.spend(entries + columns * columns) {
            return Vec::new();
        }
        first(found)
    }
}

/// What groups put on a link, looked up in advance where columns are few.
struct OnLink<'s, 'a> {
    setting: &'s Setting<'a>,
    crossing: &'s Crossing<'s>,
    /// By group: one entry a column, or none.
    rows: Vec<Vec<i128>>,
}

impl<'s, 'a> OnLink<'s, 'a> {
    fn new(
        setting: &'s Setting<'a>,
        crossing: &'s Crossing<'s>,
        groups: impl Iterator<Item = usize>,
    ) -> OnLink<'s, 'a> {
        const COLUMNS_MAX: usize = 64;
        let columns = setting.columns.len();
        let mut rows = vec![Vec::new(); setting.groups.len()];
        for group in groups.filter(|_| columns <= COLUMNS_MAX) {
            if rows[group].is_empty() {
                rows[group] = (0..columns).map(|column| crossing.bytes(setting, group, column)).collect();
            }
        }
        OnLink { setting, crossing, rows }
    }

    fn bytes(&self, group: usize, column: usize) -> i128 {
        match self.rows[group].get(column) {
            Some(&bytes) => bytes,
            None => self.crossing.bytes(self.setting, group, column),
        }
    }
}

/// What a step costs in hop-bytes, for one unit.
fn hops_more(setting: &Setting<'_>, step: Step) -> i128 {
    let of = |column| {
        i128::try_from(setting.hop_bytes(step.group, column)).expect("hop-bytes of a unit fit 127 bits")
    };
    of(step.to) - of(step.from)
}

/// So many of each column's entries that they are not too many in all: those at the end of the list.
fn partners(entries: &[(i128, usize, usize)], columns: usize) -> Vec<(i128, usize, usize)> {
    let each = PARTNERS_MAX.div_ceil(columns.max(1));
    let mut taken = vec![0; columns];
    let mut take = |column: usize| {
        taken[column] += 1;
        taken[column] <= each
    };
    entries.iter().rev().copied().filter(|&(_, _, column)| take(column)).take(PARTNERS_MAX).collect()
}

/// The first exchanges by their keys.
fn first<K: Ord>(mut found: Vec<(K, Exchange)>) -> Vec<Exchange> {
    if found.len() > CANDIDATES_MAX {
        found.select_nth_unstable_by(CANDIDATES_MAX, |a, b| a.0.cmp(&b.0));
        found.truncate(CANDIDATES_MAX);
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, exchange)| exchange).collect()
}
