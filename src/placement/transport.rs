//! The transportation problem, solved exactly: groups of equal units, few columns with many places each.
//!
//! [`lap`](super::lap) enters its rows one by one and looks at all rows of a full column again and again, which is right
//! for columns that take a row or two each. Where columns are few and take hundreds of units it is better to look at
//! columns alone:
//!
//! 1. Every unit starts in its cheapest column, which may hold too many then.
//! 2. Units leave columns with too many along the cheapest chain of displacements that ends in a column with room, as
//!    many at once as the chain allows (successive shortest paths, Ahuja, Magnanti and Orlin 1993, section 9.7). From one
//!    column to another the cheapest unit to move is kept in a table, so that a chain is found by Dijkstra's method on
//!    columns, not on units.
//!
//! Prices on columns keep every reduced cost at zero or above, as in [`lap`](super::lap), and prove the result.
//!
//! Memory is O(groups x columns + columns^2). Chains are at most as many as units that were too many in step 1.
//!
//! # Ties
//!
//! The result is a function of costs, counts and capacities alone. A group starts in the lowest of its cheapest columns;
//! columns are emptied in ascending order; chains prefer a column with room, then the lowest; and of equally cheap groups
//! the lowest moves.

use super::groups::Shares;
use super::lap::Cost;

/// A cheapest assignment of groups of equal units to columns: the shares of each group.
///
/// `counts` has the units of each group, `capacity` the units that each column takes at most, which may be 0. `fill`
/// writes a group's costs, one a column, for one unit. Arithmetic is on 64 bits where the costs' spread allows it.
///
/// Panics unless the capacities' sum reaches that of the counts, and when costs of one group are so far apart (2^126
/// divided by four times the columns) that sums could overflow.
pub(super) fn minimise(counts: &[u32], capacity: &[u32], mut fill: impl FnMut(usize, &mut [u128])) -> Shares {
    let usable: Vec<usize> = (0..capacity.len()).filter(|&column| capacity[column] > 0).collect();
    let mut all = vec![0; capacity.len()];
    let mut costs = Vec::with_capacity(counts.len() * usable.len());
    for group in 0..counts.len() {
        fill(group, &mut all);
        let floor = usable.iter().map(|&column| all[column]).min().unwrap_or(0);
        costs.extend(usable.iter().map(|&column| all[column] - floor));
    }
    let capacity: Vec<u32> = usable.iter().map(|&column| capacity[column]).collect();
    let spread = costs.iter().copied().max().unwrap_or(0);
    let sums = spread.checked_add(1).and_then(|cost| cost.checked_mul(4 * capacity.len() as u128 + 8));
    let sums = sums.filter(|&sums| i128::try_from(sums).is_ok()).expect("costs leave room for their sums");
    let mut shares = match i64::try_from(sums) {
        Ok(_) => solve::<i64>(&converted(costs), counts, &capacity).shares,
        Err(_) => solve::<i128>(&converted(costs), counts, &capacity).shares,
    };
    for (column, _) in shares.iter_mut().flatten() {
        *column = usable[*column];
    }
    shares
}

fn converted<C: Cost>(costs: Vec<u128>) -> Vec<C> {
    costs.into_iter().map(|cost| C::try_from(cost).expect("checked against the spread")).collect()
}

/// What [`solve`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Solved<C> {
    pub shares: Shares,
    /// Of each column, as in [`lap::Assignment`](super::lap::Assignment): at most zero, and zero where there is room.
    pub column_price: Vec<C>,
}

/// Solves the problem on a dense matrix, group by group with one entry a column. Panics for a capacity of 0 and too little
/// room.
pub(super) fn solve<C: Cost>(costs: &[C], counts: &[u32], capacity: &[u32]) -> Solved<C> {
    let places: u64 = capacity.iter().map(|&capacity| u64::from(capacity)).sum();
    let units: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    assert_eq!(costs.len(), counts.len() * capacity.len(), "costs are whole rows");
    assert!(units <= places, "{units} units for {places} places");
    assert!(!capacity.contains(&0), "a column that takes nothing");
    let mut solver = Solver::new(costs, counts, capacity);
    for (column, &places) in capacity.iter().enumerate() {
        while solver.load[column] > u64::from(places) {
            solver.relieve(column);
        }
    }
    solver.solved(counts.len())
}

/// Nothing moves from a column to another.
const NONE: u32 = u32::MAX;

struct Solver<'a, C> {
    costs: &'a [C],
    capacity: &'a [u32],
    columns: usize,
    /// Units, group by group with one entry a column.
    units: Vec<u32>,
    /// The groups with units in each column, in no order.
    members: Vec<Vec<u32>>,
    load: Vec<u64>,
    price: Vec<C>,
    /// From column to column: what the cheapest group to move costs more there, and which it is.
    least: Vec<C>,
    mover: Vec<u32>,
    /// Of the search for one chain: its cost to each column, the column before, and which columns are final.
    reach: Vec<C>,
    from: Vec<u32>,
    settled: Vec<usize>,
    /// What puts a column last among equals: 0 for one with room, 1 for a full one, and all bits for a settled one.
    handicap: Vec<C>,
}

impl<'a, C: Cost> Solver<'a, C> {
    fn new(costs: &'a [C], counts: &[u32], capacity: &'a [u32]) -> Self {
        let columns = capacity.len();
        let mut solver = Solver {
            costs,
            capacity,
            columns,
            units: vec![0; costs.len()],
            members: vec![Vec::new(); columns],
            load: vec![0; columns],
            price: vec![C::ZERO; columns],
            least: vec![C::MAX; columns * columns],
            mover: vec![NONE; columns * columns],
            reach: vec![C::MAX; columns],
            from: vec![NONE; columns],
            settled: Vec::new(),
            handicap: vec![C::ZERO; columns],
        };
        for (group, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let row = &costs[group * columns..][..columns];
            let home =
                (0..columns).min_by_key(|&column| (row[column], column)).expect("some column has room");
            solver.add(group, home, count);
        }
        solver
    }

    /// Moves units out of a column with too many, along the cheapest chain.
    fn relieve(&mut self, full: usize) {
        let end = self.search(full);
        let total = self.reach[end];
        for column in std::mem::take(&mut self.settled) {
            self.price[column] -= total - self.reach[column];
            self.handicap[column] = C::ONE;
        }
        let mut chain = vec![end];
        while let Some(&column) = chain.last().filter(|&&column| column != full) {
            chain.push(self.from[column] as usize);
        }
        chain.reverse();
        let step = |pair: &[usize]| (self.mover[pair[0] * self.columns + pair[1]] as usize, pair[0], pair[1]);
        let steps: Vec<(usize, usize, usize)> = chain.windows(2).map(step).collect();
        let movable =
            steps.iter().map(|&(group, from, _)| u64::from(self.units[group * self.columns + from])).min();
        let room = u64::from(self.capacity[end]) - self.load[end];
        let excess = self.load[full] - u64::from(self.capacity[full]);
        let units = movable.unwrap_or(0).min(room).min(excess);
        let units = u32::try_from(units).expect("no more than a group has");
        for (group, from, to) in steps {
            self.remove(group, from, units);
            self.add(group, to, units);
        }
    }

    /// Finds the cheapest chain from a column to one with room; returns that column.
    fn search(&mut self, full: usize) -> usize {
        self.reach.fill(C::MAX);
        self.reach[full] = C::ZERO;
        let mut column = full;
        loop {
            self.handicap[column] = C::MAX;
            self.settled.push(column);
            self.relax(column);
            column = self.nearest();
            if self.handicap[column] == C::ZERO {
                return column;
            }
        }
    }

    /// The column that is cheapest to reach, one with room before a full one, the lowest of those. As in
    /// [`lap`](super::lap), one comparison decides.
    fn nearest(&self) -> usize {
        let (mut least, mut nearest) = (C::MAX, None);
        for (column, (&reach, &handicap)) in self.reach.iter().zip(&self.handicap).enumerate() {
            if reach == C::MAX {
                continue;
            }
            let key = (reach + reach) | handicap;
            if key < least {
                (least, nearest) = (key, Some(column));
            }
        }
        nearest.expect("some column has room")
    }

    /// Prolongs the chain to `column` by one step to every other. A settled column is reached at no more already.
    fn relax(&mut self, column: usize) {
        let row = column * self.columns..(column + 1) * self.columns;
        let base = self.reach[column] + self.price[column];
        let number = u32::try_from(column).expect("columns fit 32 bits");
        let arcs = self.least[row.clone()].iter().zip(&self.mover[row]).zip(&self.price);
        for (((&least, &mover), &price), (reach, from)) in arcs.zip(self.reach.iter_mut().zip(&mut self.from))
        {
            if mover == NONE {
                continue;
            }
            let through = base + least - price;
            if through < *reach {
                (*reach, *from) = (through, number);
            }
        }
    }

    fn add(&mut self, group: usize, column: usize, units: u32) {
        self.load[column] += u64::from(units);
        self.set_handicap(column);
        let entry = &mut self.units[group * self.columns + column];
        *entry += units;
        if *entry > units {
            return;
        }
        let number = u32::try_from(group).expect("groups fit 32 bits");
        self.members[column].push(number);
        for to in (0..self.columns).filter(|&to| to != column) {
            self.offer(number, column, to);
        }
    }

    fn set_handicap(&mut self, column: usize) {
        let full = self.load[column] >= u64::from(self.capacity[column]);
        self.handicap[column] = if full { C::ONE } else { C::ZERO };
    }

    /// Notes what a group that has units in a column costs more in another, when it is the cheapest.
    fn offer(&mut self, group: u32, column: usize, to: usize) {
        let row = &self.costs[group as usize * self.columns..][..self.columns];
        let more = row[to] - row[column];
        let index = column * self.columns + to;
        if (more, group) < (self.least[index], self.mover[index]) {
            (self.least[index], self.mover[index]) = (more, group);
        }
    }

    fn remove(&mut self, group: usize, column: usize, units: u32) {
        self.load[column] -= u64::from(units);
        self.set_handicap(column);
        let entry = &mut self.units[group * self.columns + column];
        *entry -= units;
        if *entry > 0 {
            return;
        }
        let number = u32::try_from(group).expect("groups fit 32 bits");
        let place = self.members[column].iter().position(|&member| member == number);
        self.members[column].swap_remove(place.expect("it had units there"));
        let lost = |&to: &usize| self.mover[column * self.columns + to] == number;
        let lost: Vec<usize> = (0..self.columns).filter(lost).collect();
        for &to in &lost {
            let index = column * self.columns + to;
            (self.least[index], self.mover[index]) = (C::MAX, NONE);
        }
        let members = std::mem::take(&mut self.members[column]);
        for &member in &members {
            lost.iter().for_each(|&to| self.offer(member, column, to));
        }
        self.members[column] = members;
    }

    fn solved(self, groups: usize) -> Solved<C> {
        let share = |group: usize| {
            let row = &self.units[group * self.columns..][..self.columns];
            row.iter().copied().enumerate().filter(|&(_, units)| units > 0).collect()
        };
        Solved { shares: (0..groups).map(share).collect(), column_price: self.price }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, every_assignment};
    use super::*;

    struct Problem {
        counts: Vec<u32>,
        capacity: Vec<u32>,
        costs: Vec<u128>,
    }

    fn problem(seed: u64, units_max: usize, columns_max: usize, capacity_max: usize) -> Problem {
        let mut random = Random(seed);
        let columns = 1 + random.below(columns_max);
        let capacity: Vec<u32> = (0..columns).map(|_| 1 + random.below(capacity_max) as u32).collect();
        let places = capacity.iter().sum::<u32>() as usize;
        let mut left = random.below(places.min(units_max) + 1);
        let mut counts = Vec::new();
        while left > 0 {
            let count = 1 + random.below(left.min(4));
            counts.push(count as u32);
            left -= count;
        }
        let kind = random.below(4);
        let costs = (0..counts.len() * columns).map(|index| match kind {
            0 => u128::from(random.next() % 3),
            1 => u128::from(random.next()),
            2 => (index % columns) as u128 * 10 + u128::from(random.next() % 10),
            _ => (1 << 100) + u128::from(random.next() % 5),
        });
        Problem { counts, capacity, costs: costs.collect() }
    }

    impl Problem {
        fn row(&self, group: usize) -> &[u128] {
            &self.costs[group * self.capacity.len()..][..self.capacity.len()]
        }

        fn total(&self, shares: &Shares) -> u128 {
            let mut free = self.capacity.clone();
            for (group, share) in shares.iter().enumerate() {
                assert_eq!(share.iter().map(|&(_, units)| units).sum::<u32>(), self.counts[group]);
                share.iter().for_each(|&(c, units)| free[c] = free[c].checked_sub(units).expect("room"));
            }
            let cost = |(group, share): (usize, &Vec<(usize, u32)>)| -> u128 {
                share.iter().map(|&(column, units)| u128::from(units) * self.row(group)[column]).sum()
            };
            shares.iter().enumerate().map(cost).sum()
        }

        fn certify(&self, seed: u64) {
            let costs: Vec<i128> = self.costs.iter().map(|&cost| cost as i128).collect();
            let found = solve(&costs, &self.counts, &self.capacity);
            let price = &found.column_price;
            let of_group = |group: usize| {
                let row = self.row(group).iter().zip(price);
                i128::from(self.counts[group])
                    * row.map(|(&cost, &price)| cost as i128 - price).min().unwrap()
            };
            assert!(price.iter().all(|&price| price <= 0), "seed {seed}");
            let rents = price.iter().zip(&self.capacity).map(|(&price, &k)| price * i128::from(k));
            let bound = (0..self.counts.len()).map(of_group).sum::<i128>() + rents.sum::<i128>();
            assert_eq!(self.total(&found.shares) as i128, bound, "seed {seed}");
            let again = minimise(&self.counts, &self.capacity, |g, row| row.copy_from_slice(self.row(g)));
            assert_eq!(self.total(&again), self.total(&found.shares), "seed {seed}");
        }
    }

    #[test]
    fn small_problems_equal_the_best_of_all_assignments() {
        for seed in 0..4000 {
            let problem = problem(seed, 6, 4, 3);
            let units: Vec<usize> = (problem.counts.iter().enumerate())
                .flat_map(|(group, &count)| vec![group; count as usize])
                .collect();
            let all = every_assignment(units.len(), &problem.capacity);
            let cost = |columns: &Vec<usize>| -> u128 {
                units.iter().zip(columns).map(|(&group, &column)| problem.row(group)[column]).sum()
            };
            let least = all.iter().map(cost).min().unwrap();
            let fill = |group: usize, costs: &mut [u128]| costs.copy_from_slice(problem.row(group));
            assert_eq!(
                problem.total(&minimise(&problem.counts, &problem.capacity, fill)),
                least,
                "seed {seed}"
            );
            problem.certify(seed);
        }
    }

    #[test]
    fn larger_problems_are_proved_by_their_prices() {
        for seed in 0..400 {
            problem(seed, 2000, 30, 60).certify(seed);
        }
    }

    #[test]
    fn columns_without_room_take_nothing() {
        let shares = minimise(&[3, 1], &[0, 3, 0, 2], |group, costs| {
            costs.copy_from_slice([&[0, 5, 0, 7], &[0, 1, 0, 9]][group]);
        });
        assert_eq!(shares, [vec![(1, 2), (3, 1)], vec![(1, 1)]]);
        assert_eq!(minimise(&[], &[], |_, _| ()), Shares::new());
    }

    #[test]
    #[should_panic(expected = "4 units for 3 places")]
    fn too_little_room_is_a_callers_error() {
        minimise(&[4], &[1, 2], |_, costs| costs.fill(0));
    }
}
