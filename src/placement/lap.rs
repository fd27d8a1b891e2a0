//! The linear assignment problem, rectangular and with capacities, solved exactly.
//!
//! Given the cost of each row (a file domain) in each column (a node) and how many rows each column may take
//! (its aggregator slots), find the assignment of every row to a column with the smallest sum of costs.
//!
//! # Method
//!
//! Shortest augmenting paths (Jonker and Volgenant 1987; Crouse 2016 for rectangular input): rows enter one
//! by one, and each entry moves rows along the cheapest chain of displacements that ends in a column with
//! room. Prices on rows and columns, the dual solution, keep every reduced cost `cost - row price - column
//! price` at zero or above, so that the chain is found by Dijkstra's method, and they prove the result: the
//! prices' sum equals the assignment's. A column with room to spare always has the price 0, which is what
//! makes rectangular input exact without padding.
//!
//! A column of capacity k is one column that k rows share, not k copies: copies would multiply the work and
//! fill the matrix with ties.
//!
//! [`minimise`] first drops what cannot matter: of r rows, the others take at most r - 1 places, so that no
//! row needs more than its r cheapest columns. It keeps these sorted, and a search looks at a row's columns only as
//! far as they can beat the nearest column with room: prices are at most zero, so that a column is never nearer than
//! its cost says. Time is O(rows x columns) and O(rows^2 log rows) for that, and O(rows^3) at worst, when all rows
//! want the same columns; memory is O(rows x columns kept).
//!
//! [`solve`] is the same on a dense matrix, returns the prices, and is the twin that the tests compare.
//!
//! # Ties
//!
//! The result is a function of costs and capacities alone, the same on every rank and platform: arithmetic is
//! on integers. Rows enter in ascending order. The search for a chain goes on with the column that is
//! cheapest to reach; of equally cheap ones it prefers one with room, then the lowest; and the row that
//! reached a column first is the one that moves there. In particular a row that finds several of its cheapest
//! columns free takes the lowest of them.
//!
//! # Why not the crate `lapjv`
//!
//! It takes square matrices of floats alone. Hop-bytes can exceed the 53 bits that a float holds exactly, and
//! then ties would depend on rounding; and padding 64 x 4096 to a square makes it a hundred times slower than
//! [`minimise`] (290 against 3 ms of one core). On a square of 1024 it takes half the time of [`solve`] (23
//! against 45 ms). It serves as a cross-check in the tests.

mod sparse;

use std::fmt::Debug;
use std::ops::{Add, AddAssign, BitOr, Sub, SubAssign};

/// A signed integer that costs are made of.
pub trait Cost:
    Copy
    + Ord
    + Debug
    + TryFrom<u128, Error: Debug>
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + BitOr<Output = Self>
{
    /// Nothing.
    const ZERO: Self;
    /// The smallest cost above nothing.
    const ONE: Self;
    /// The largest value, with all bits set but the sign.
    const MAX: Self;
}

impl Cost for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;
    const MAX: i64 = i64::MAX;
}

impl Cost for i128 {
    const ZERO: i128 = 0;
    const ONE: i128 = 1;
    const MAX: i128 = i128::MAX;
}

/// An optimal assignment and the prices that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment<C> {
    /// The column of each row.
    pub column_of: Vec<usize>,
    /// The price of each row; `row_price[r] + column_price[c] <= cost[r][c]`, with equality where r is
    /// assigned to c.
    pub row_price: Vec<C>,
    /// The price of each column: at most zero, and zero where there is room to spare.
    pub column_price: Vec<C>,
}

/// The column of each of `rows` rows in an assignment of the smallest total cost.
///
/// `capacity` has one entry a column, which may be 0. `fill` writes a row's costs, one a column; it is called
/// once a row, in order, so that the whole matrix never needs to exist. Arithmetic is on 64 bits where the
/// costs' spread allows it, else on 128.
///
/// Panics unless the capacities' sum reaches the number of rows, and when costs of one row are so far apart
/// (2^126 divided by twice the rows) that sums could overflow.
pub fn minimise(rows: usize, capacity: &[u32], mut fill: impl FnMut(usize, &mut [u128])) -> Vec<usize> {
    let places: u64 = capacity.iter().map(|&capacity| u64::from(capacity)).sum();
    assert!(rows as u64 <= places, "{rows} rows for {places} places");
    let usable: Vec<u32> = (0..capacity.len())
        .filter(|&column| capacity[column] > 0)
        .map(|column| u32::try_from(column).expect("columns fit 32 bits"))
        .collect();
    let mut all = vec![0; capacity.len()];
    let mut kept = Kept::new(rows);
    for row in 0..rows {
        fill(row, &mut all);
        kept.push(&all, &usable);
    }
    let sums = kept.spread.checked_add(1).and_then(|cost| cost.checked_mul(4 * rows as u128 + 8));
    let sums = sums.filter(|&sums| i128::try_from(sums).is_ok()).expect("costs leave room for their sums");
    match (i64::try_from(sums), kept.entries) {
        (Ok(_), Entries::Narrow(entries)) => sparse::solve::<i64>(&entries, rows, capacity),
        (Ok(_), Entries::Wide(entries)) => sparse::solve::<i64>(&converted(entries), rows, capacity),
        (Err(_), entries) => sparse::solve::<i128>(&converted(entries.wide()), rows, capacity),
    }
}

fn converted<C: Cost>(entries: Vec<(u128, u32)>) -> Vec<(C, u32)> {
    let cost = |cost: u128| C::try_from(cost).expect("checked against the spread");
    entries.into_iter().map(|(entry, column)| (cost(entry), column)).collect()
}

/// The costs of each row in the columns that it may need: as many of its cheapest usable ones as there are rows, the lowest
/// of equals, cheapest first. The smallest cost is taken from all, which leaves the same assignments best.
struct Kept {
    rows: usize,
    entries: Entries,
    /// The largest cost.
    spread: u128,
    narrow: Vec<(i64, u32)>,
    wide: Vec<(u128, u32)>,
}

/// Row by row, as many for each. In half the memory and time as long as costs allow it, which is nearly always.
enum Entries {
    Narrow(Vec<(i64, u32)>),
    Wide(Vec<(u128, u32)>),
}

impl Entries {
    fn wide(self) -> Vec<(u128, u32)> {
        match self {
            Entries::Wide(entries) => entries,
            Entries::Narrow(entries) => entries
                .into_iter()
                .map(|(cost, column)| (u128::try_from(cost).expect("not negative"), column))
                .collect(),
        }
    }
}

impl Kept {
    fn new(rows: usize) -> Kept {
        let entries = Entries::Narrow(Vec::new());
        Kept { rows, entries, spread: 0, narrow: Vec::new(), wide: Vec::new() }
    }

    fn push(&mut self, all: &[u128], usable: &[u32]) {
        let of = |column: u32| all[column as usize];
        let floor = usable.iter().map(|&column| of(column)).min().unwrap_or(0);
        let most = usable.iter().map(|&column| of(column)).max().unwrap_or(0) - floor;
        if i64::try_from(most).is_err() && matches!(self.entries, Entries::Narrow(_)) {
            let narrow = std::mem::replace(&mut self.entries, Entries::Narrow(Vec::new()));
            self.entries = Entries::Wide(narrow.wide());
        }
        match &mut self.entries {
            Entries::Narrow(entries) => {
                let narrow = |column| i64::try_from(of(column) - floor).expect("no more than the most");
                self.narrow.clear();
                self.narrow.extend(usable.iter().map(|&column| (narrow(column), column)));
                keep_cheapest(&mut self.narrow, self.rows);
                let last = self.narrow.last().map_or(0, |&(cost, _)| cost);
                self.spread = self.spread.max(u128::try_from(last).expect("not negative"));
                entries.extend(&self.narrow);
            }
            Entries::Wide(entries) => {
                self.wide.clear();
                self.wide.extend(usable.iter().map(|&column| (of(column) - floor, column)));
                keep_cheapest(&mut self.wide, self.rows);
                self.spread = self.spread.max(self.wide.last().map_or(0, |&(cost, _)| cost));
                entries.extend(&self.wide);
            }
        }
    }
}

fn keep_cheapest<T: Ord>(entries: &mut Vec<T>, count: usize) {
    if count < entries.len() {
        entries.select_nth_unstable(count - 1);
        entries.truncate(count);
    }
    entries.sort_unstable();
}

/// Solves the problem on a dense matrix, row by row with one entry a column; see [`minimise`].
///
/// Costs are not negative, and the largest, times four times the number of rows plus eight, fits `C`: the
/// caller sees to both. Panics unless `costs` is a whole number of rows, and for a capacity of 0 or
/// capacities whose sum does not reach the number of rows.
pub fn solve<C: Cost>(costs: &[C], capacity: &[u32]) -> Assignment<C> {
    debug_assert!(costs.iter().all(|&cost| cost >= C::ZERO), "a negative cost");
    let rows = costs.len().checked_div(capacity.len()).unwrap_or(0);
    assert_eq!(rows * capacity.len(), costs.len(), "costs are whole rows");
    let room: u64 = capacity.iter().map(|&capacity| u64::from(capacity)).sum();
    assert!(rows as u64 <= room, "{rows} rows for {room} places");
    // No price keeps the reduced costs of such a column at zero or above, on which the search relies.
    assert!(!capacity.contains(&0), "a column that takes no row");
    let mut solver = Solver::new(costs, rows, capacity);
    for row in 0..rows {
        solver.enter(row);
    }
    Assignment {
        column_of: solver.column_of.into_iter().flatten().collect(),
        row_price: solver.row_price,
        column_price: solver.column_price,
    }
}

struct Solver<'a, C> {
    costs: &'a [C],
    capacity: &'a [u32],
    column_of: Vec<Option<usize>>,
    row_price: Vec<C>,
    column_price: Vec<C>,
    /// The rows of each column, in the order they came.
    rows_of: Vec<Vec<usize>>,
    /// Of the search for one row: the cost of the cheapest chain known to each column, and the row that ends
    /// it.
    reach: Vec<C>,
    from: Vec<u32>,
    /// Columns whose reach is final, in the order they became so.
    settled: Vec<usize>,
    /// What puts a column last among equals: 0 for one with room, 1 for a full one, and all bits for a
    /// settled one, which is not to be found again.
    handicap: Vec<C>,
}

impl<'a, C: Cost> Solver<'a, C> {
    fn new(costs: &'a [C], rows: usize, capacity: &'a [u32]) -> Self {
        let columns = capacity.len();
        Solver {
            costs,
            capacity,
            column_of: vec![None; rows],
            row_price: vec![C::ZERO; rows],
            column_price: vec![C::ZERO; columns],
            rows_of: vec![Vec::new(); columns],
            reach: vec![C::MAX; columns],
            from: vec![0; columns],
            settled: Vec::new(),
            handicap: vec![C::ZERO; columns],
        }
    }

    /// Assigns one more row, at the least cost over all assignments of the rows so far.
    fn enter(&mut self, row: usize) {
        let last = self.search(row);
        self.reprice(row, self.reach[last]);
        self.augment(row, last);
    }

    /// Finds the cheapest chain from `row` to a column with room; returns that column.
    fn search(&mut self, row: usize) -> usize {
        self.reach.fill(C::MAX);
        self.settled.clear();
        self.relax(row, C::ZERO);
        loop {
            let column = self.nearest();
            if self.handicap[column] == C::ZERO {
                return column;
            }
            self.handicap[column] = C::MAX;
            self.settled.push(column);
            for index in 0..self.rows_of[column].len() {
                self.relax(self.rows_of[column][index], self.reach[column]);
            }
        }
    }

    /// The column that is cheapest to reach, one with room before a full one, the lowest of those.
    ///
    /// One comparison decides, since this loop and the next take nearly all of the time: the handicap is the
    /// lowest bit of a key, or makes it the largest of all.
    fn nearest(&self) -> usize {
        let (mut least, mut nearest) = (C::MAX, None);
        for (column, (&reach, &handicap)) in self.reach.iter().zip(&self.handicap).enumerate() {
            let key = (reach + reach) | handicap;
            if key < least {
                (least, nearest) = (key, Some(column));
            }
        }
        nearest.expect("some column has room")
    }

    /// Prolongs the chain that displaces `row`, whose cost so far is `so_far`, to every column. A settled
    /// column is reached at `so_far` or less already, so that it stays as it is.
    fn relax(&mut self, row: usize, so_far: C) {
        let base = so_far - self.row_price[row];
        let number = u32::try_from(row).expect("rows fit 32 bits");
        let costs = &self.costs[row * self.capacity.len()..][..self.capacity.len()];
        let known = self.reach.iter_mut().zip(&mut self.from);
        for ((&cost, &price), (reach, from)) in costs.iter().zip(&self.column_price).zip(known) {
            let through_row = base + cost - price;
            let nearer = through_row < *reach;
            // Without branches: which of the two is less is as good as random here.
            *reach = if nearer { through_row } else { *reach };
            *from = if nearer { number } else { *from };
        }
    }

    /// Moves the prices so that the chain of cost `total` becomes free and no reduced cost falls below zero.
    fn reprice(&mut self, row: usize, total: C) {
        self.row_price[row] += total;
        for &column in &self.settled {
            let change = total - self.reach[column];
            self.column_price[column] -= change;
            for &row in &self.rows_of[column] {
                self.row_price[row] += change;
            }
            self.handicap[column] = C::ONE;
        }
    }

    /// Moves each row along the chain that ends in `last`, the first of which is `row`.
    fn augment(&mut self, row: usize, last: usize) {
        let mut column = last;
        loop {
            let mover = self.from[column] as usize;
            let left = self.column_of[mover].replace(column);
            self.rows_of[column].push(mover);
            let Some(left) = left else {
                debug_assert_eq!(mover, row, "only the entering row had no column");
                break;
            };
            self.rows_of[left].retain(|&row| row != mover);
            column = left;
        }
        if self.rows_of[last].len() == self.capacity[last] as usize {
            self.handicap[last] = C::ONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, every_assignment};
    use super::*;

    /// A problem drawn from a seed: sizes, capacities and a kind of costs that stresses something.
    struct Problem {
        rows: usize,
        capacity: Vec<u32>,
        costs: Vec<u128>,
    }

    fn problem(seed: u64, rows_max: usize, columns_max: usize) -> Problem {
        let mut random = Random(seed);
        let columns = 1 + random.below(columns_max);
        let capacity_max = [1, 1, 3][random.below(3)];
        let mut capacity: Vec<u32> = (0..columns).map(|_| 1 + random.below(capacity_max) as u32).collect();
        for capacity in &mut capacity {
            if random.below(8) == 0 {
                *capacity = 0;
            }
        }
        let places: usize = capacity.iter().map(|&capacity| capacity as usize).sum();
        let rows = random.below(places.min(rows_max) + 1);
        let kind = random.below(6);
        let costs = (0..rows * columns)
            .map(|index| {
                let (row, column) = ((index / columns) as u128, (index % columns) as u128);
                match kind {
                    0 => 0,
                    1 => u128::from(random.next() % 3),
                    2 => u128::from(random.next()),
                    // All rows want the same columns.
                    3 => column * 10 + u128::from(random.next() % 10),
                    4 => (row + 1) * (column + 1),
                    // Past 64 bits, apart by little.
                    _ => (1 << 100) + u128::from(random.next() % 5),
                }
            })
            .collect();
        Problem { rows, capacity, costs }
    }

    impl Problem {
        fn row(&self, row: usize) -> &[u128] {
            &self.costs[row * self.capacity.len()..][..self.capacity.len()]
        }

        fn minimise(&self) -> Vec<usize> {
            minimise(self.rows, &self.capacity, |row, costs| costs.copy_from_slice(self.row(row)))
        }

        /// The total, when every column keeps its capacity.
        fn total(&self, column_of: &[usize]) -> u128 {
            assert_eq!(column_of.len(), self.rows);
            let mut free = self.capacity.clone();
            column_of.iter().for_each(|&column| free[column] = free[column].checked_sub(1).expect("room"));
            column_of.iter().enumerate().map(|(row, &column)| self.row(row)[column]).sum()
        }

        /// The same problem without the columns that take no row.
        fn usable(&self) -> Problem {
            let used = |index: &usize| self.capacity[index % self.capacity.len()] > 0;
            let kept = (0..self.costs.len()).filter(used).map(|index| self.costs[index]);
            let capacity = self.capacity.iter().copied().filter(|&capacity| capacity > 0).collect();
            Problem { rows: self.rows, capacity, costs: kept.collect() }
        }

        fn solve(&self) -> Assignment<i128> {
            let costs: Vec<i128> = self.costs.iter().map(|&cost| cost as i128).collect();
            solve(&costs, &self.capacity)
        }

        /// The prices prove that no assignment costs less than their sum.
        fn certify(&self, found: &Assignment<i128>, seed: u64) {
            let mut load = vec![0; self.capacity.len()];
            found.column_of.iter().for_each(|&column| load[column] += 1);
            for (column, &price) in found.column_price.iter().enumerate() {
                assert!(price <= 0, "seed {seed} column {column}");
                assert!(price == 0 || load[column] == self.capacity[column], "seed {seed} column {column}");
            }
            for (row, &row_price) in found.row_price.iter().enumerate() {
                for (column, &cost) in self.row(row).iter().enumerate() {
                    let reduced = cost as i128 - row_price - found.column_price[column];
                    assert!(reduced >= 0, "seed {seed} row {row} column {column}");
                    assert!(reduced == 0 || found.column_of[row] != column, "seed {seed} row {row}");
                }
            }
            let rents =
                found.column_price.iter().zip(&self.capacity).map(|(&price, &k)| price * i128::from(k));
            let bound: i128 = found.row_price.iter().sum::<i128>() + rents.sum::<i128>();
            assert_eq!(self.total(&found.column_of) as i128, bound, "seed {seed}");
        }
    }

    #[test]
    fn small_problems_equal_the_best_of_all_assignments() {
        for seed in 0..6000 {
            let problem = problem(seed, 4, 6);
            let all = every_assignment(problem.rows, &problem.capacity);
            let least = all.iter().map(|column_of| problem.total(column_of)).min().unwrap();
            assert_eq!(problem.total(&problem.minimise()), least, "seed {seed}");
            let usable = problem.usable();
            let found = usable.solve();
            usable.certify(&found, seed);
            assert_eq!(usable.total(&found.column_of), least, "seed {seed}");
        }
    }

    #[test]
    fn larger_problems_are_proved_by_their_prices() {
        for seed in 0..300 {
            let problem = problem(seed, 40, 120);
            let usable = problem.usable();
            let found = usable.solve();
            usable.certify(&found, seed);
            let total = usable.total(&found.column_of);
            assert_eq!(problem.total(&problem.minimise()), total, "seed {seed}");
            // Without columns that take no row, the same search: the same ties, too, when nothing is dropped.
            if usable.capacity.len() <= usable.rows {
                assert_eq!(usable.minimise(), found.column_of, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_large_problem_is_proved_by_its_prices() {
        let mut random = Random(1);
        let (rows, columns) = (200, 2000);
        let costs = (0..rows * columns).map(|_| u128::from(random.next() >> 20)).collect();
        let problem = Problem { rows, capacity: vec![1; columns], costs };
        let found = problem.solve();
        problem.certify(&found, 1);
        assert_eq!(problem.total(&problem.minimise()), problem.total(&found.column_of));
    }

    #[test]
    fn square_problems_cost_what_another_solver_finds() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let size = 1 + random.below(30);
            let bound = [2, 50, 1 << 40][random.below(3)];
            let costs: Vec<u128> = (0..size * size).map(|_| u128::from(random.next() % bound)).collect();
            // Integers below 2^53 are exact in a float, and so are sums of thirty of them.
            let floats = costs.iter().map(|&cost| cost as f64).collect();
            let matrix = ndarray::Array2::from_shape_vec((size, size), floats).unwrap();
            let (column_of, _) = lapjv::lapjv(&matrix).unwrap();
            let problem = Problem { rows: size, capacity: vec![1; size], costs };
            assert_eq!(problem.total(&problem.minimise()), problem.total(&column_of), "seed {seed}");
        }
    }

    /// Rows as digits, capacities as digits, the expected column of each row.
    #[test]
    fn ties_go_to_the_lowest() {
        for (rows, capacity, expected) in [
            ("", "111", ""),
            ("777", "111", "0"),
            ("777 777 777", "111", "012"),
            ("7 7 7", "3", "000"),
            ("00 00 00", "22", "001"),
            ("777 777", "011", "12"),
            // The second row wants what the first took; the first has an equal choice.
            ("113 155", "111", "10"),
            // Both ways around cost the same: the row that came first stays.
            ("12 12", "11", "01"),
            ("31 31", "11", "10"),
        ] {
            let digits = |text: &str| text.bytes().map(|digit| u128::from(digit - b'0')).collect::<Vec<_>>();
            let capacity: Vec<u32> = digits(capacity).into_iter().map(|digit| digit as u32).collect();
            let costs: Vec<u128> = rows.split_whitespace().flat_map(digits).collect();
            let problem = Problem { rows: costs.len() / capacity.len(), capacity, costs };
            let found: String = problem.minimise().iter().map(usize::to_string).collect();
            assert_eq!(found, expected, "{rows}");
        }
    }

    #[test]
    fn equal_rows_are_spread_over_their_cheapest_columns() {
        // More columns than rows, all equal: dropping columns keeps the lowest.
        let problem = Problem { rows: 3, capacity: vec![1; 50], costs: vec![9; 150] };
        assert_eq!(problem.minimise(), [0, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "2 rows for 1 places")]
    fn too_little_room_is_a_callers_error() {
        minimise(2, &[1, 0], |_, costs| costs.fill(0));
    }

    #[test]
    #[should_panic(expected = "costs leave room for their sums")]
    fn costs_too_far_apart_are_refused() {
        minimise(2, &[1, 1], |_, costs| costs.copy_from_slice(&[0, u128::MAX]));
    }
}
