//! The linear assignment problem, rectangular and with capacities, solved exactly.
//!
//! Given the cost of each row (a file domain) in each column (a node) and how many rows each column may take (its
//! aggregator slots), find the assignment of every row to a column with the smallest sum of costs.
//!
//! # Method
//!
//! Shortest augmenting paths (Jonker and Volgenant 1987; Crouse 2016 for rectangular input): rows enter one by one, and
//! each entry moves rows along the cheapest chain of displacements that ends in a column with room. Prices on rows and
//! columns, the dual solution, keep every reduced cost `cost - row price - column price` at zero or above, so that the
//! chain is found by Dijkstra's method, and they prove the result: the prices' sum equals the assignment's. A column with
//! room to spare always has the price 0, which is what makes rectangular input exact without padding.
//!
//! A column of capacity k is one column that k rows share, not k copies: copies would multiply the work and fill the
//! matrix with ties. Time is O(rows^2 x columns) at worst and near O(rows x columns) when few rows want the same
//! columns; memory is O(rows x columns) for the costs and O(rows + columns) beside them.
//!
//! # Ties
//!
//! The result is a function of costs and capacities alone, the same on every rank and platform: arithmetic is on
//! integers; rows enter in ascending order; among chains of equal cost, the search goes on with the column of the
//! smallest cost so far, prefers one with room, and of those takes the lowest; and a column's cost so far is credited
//! to the row that reached it first. A row that finds its cheapest columns free takes the lowest of them.
//!
//! # Why not the crate `lapjv`
//!
//! It takes square matrices of floats alone. Hop-bytes do not fit a float's 53 bits exactly, so ties would depend on
//! rounding; and padding 64 x 4096 to a square costs hundreds of times the work. It serves as a cross-check in the tests.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// An integer that costs are made of.
pub trait Cost:
    Copy + Ord + Debug + Add<Output = Self> + AddAssign + Sub<Output = Self> + SubAssign + Neg<Output = Self>
{
    /// Nothing.
    const ZERO: Self;
    /// More than any sum of costs.
    const MAX: Self;
}

impl Cost for i64 {
    const ZERO: i64 = 0;
    const MAX: i64 = i64::MAX;
}

impl Cost for i128 {
    const ZERO: i128 = 0;
    const MAX: i128 = i128::MAX;
}

/// An optimal assignment and the prices that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment<C> {
    /// The column of each row.
    pub column_of: Vec<usize>,
    /// The price of each row; `row_price[r] + column_price[c] <= cost[r][c]`, with equality where r is assigned to c.
    pub row_price: Vec<C>,
    /// The price of each column: at most zero, and zero where there is room to spare.
    pub column_price: Vec<C>,
}

/// Solves the problem for any costs that fit 128 bits: with 64-bit arithmetic when their spread allows it. Returns the
/// column of each row.
///
/// `costs` is row by row, one entry a column; `capacity` has one entry a column. Panics unless the capacities' sum
/// reaches the number of rows, and for costs so far apart (2^127 / (2 x rows + 4)) that sums could overflow.
pub fn minimise(costs: &[u128], capacity: &[u32]) -> Vec<usize> {
    let rows = costs.chunks(capacity.len().max(1));
    // Taking its smallest cost from every cost of a row changes the sum, not which assignment is best.
    let floors: Vec<u128> = rows.clone().map(|row| row.iter().copied().min().unwrap_or(0)).collect();
    let above = rows.zip(&floors).flat_map(|(row, floor)| row.iter().map(move |cost| cost - floor));
    let spread = above.clone().max().unwrap_or(0);
    let sums = spread.checked_mul(2 * floors.len() as u128 + 4).expect("costs leave room for their sums");
    if i64::try_from(sums).is_ok() {
        let costs: Vec<i64> = above.map(|cost| i64::try_from(cost).expect("checked against the spread")).collect();
        solve(&costs, capacity).column_of
    } else {
        let costs: Vec<i128> = above.map(|cost| i128::try_from(cost).expect("checked against the spread")).collect();
        assert!(i128::try_from(sums).is_ok(), "costs leave room for their sums");
        solve(&costs, capacity).column_of
    }
}

/// Solves the problem; see [`minimise`]. The caller sees to it that the largest difference of two costs, times twice the
/// number of rows plus four, fits `C`.
///
/// Panics unless `costs` is a whole number of rows and the capacities' sum reaches it.
pub fn solve<C: Cost>(costs: &[C], capacity: &[u32]) -> Assignment<C> {
    let rows = costs.len().checked_div(capacity.len()).unwrap_or(0);
    assert_eq!(rows * capacity.len(), costs.len(), "costs are whole rows");
    let room: u64 = capacity.iter().map(|&capacity| u64::from(capacity)).sum();
    assert!(rows as u64 <= room, "{rows} rows for {room} places");
    let mut solver = Solver::new(costs, rows, capacity);
    for row in 0..rows {
        solver.enter(row);
    }
    Assignment { column_of: solver.column_of, row_price: solver.row_price, column_price: solver.column_price }
}

/// No row, or no column yet.
const NONE: usize = usize::MAX;

struct Solver<'a, C> {
    costs: &'a [C],
    capacity: &'a [u32],
    column_of: Vec<usize>,
    row_price: Vec<C>,
    column_price: Vec<C>,
    /// The rows of each column, in the order they came.
    rows_of: Vec<Vec<usize>>,
    /// Of the search for one row: the cheapest chain known to each column, and the row it comes from.
    reach: Vec<C>,
    from: Vec<usize>,
    /// Columns whose cheapest chain is final, in the order they became so.
    settled: Vec<usize>,
    /// The columns that are not settled, ascending; those without any capacity never are in it.
    open: Vec<usize>,
}

impl<'a, C: Cost> Solver<'a, C> {
    fn new(costs: &'a [C], rows: usize, capacity: &'a [u32]) -> Self {
        let columns = capacity.len();
        Solver {
            costs,
            capacity,
            column_of: vec![NONE; rows],
            row_price: vec![C::ZERO; rows],
            column_price: vec![C::ZERO; columns],
            rows_of: vec![Vec::new(); columns],
            reach: vec![C::MAX; columns],
            from: vec![NONE; columns],
            settled: Vec::new(),
            open: Vec::new(),
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
        self.open.clear();
        self.open.extend((0..self.capacity.len()).filter(|&column| self.capacity[column] > 0));
        self.relax(row, C::ZERO);
        loop {
            let (position, column) = self.nearest();
            if self.has_room(column) {
                return column;
            }
            self.open.remove(position);
            self.settled.push(column);
            for index in 0..self.rows_of[column].len() {
                self.relax(self.rows_of[column][index], self.reach[column]);
            }
        }
    }

    fn has_room(&self, column: usize) -> bool {
        self.rows_of[column].len() < self.capacity[column] as usize
    }

    /// The open column with the cheapest chain, one with room before one without, the lowest of those; and where it is
    /// in the list.
    fn nearest(&self) -> (usize, usize) {
        let mut best = None;
        for (position, &column) in self.open.iter().enumerate() {
            let key = (self.reach[column], !self.has_room(column));
            if best.is_none_or(|(least, ..)| key < least) {
                best = Some((key, position, column));
            }
        }
        let (_, position, column) = best.expect("some column has room");
        (position, column)
    }

    /// Prolongs the chain that displaces `row`, whose cost so far is `so_far`, to every open column.
    fn relax(&mut self, row: usize, so_far: C) {
        let base = so_far - self.row_price[row];
        let costs = &self.costs[row * self.capacity.len()..][..self.capacity.len()];
        for &column in &self.open {
            let reach = base + costs[column] - self.column_price[column];
            if reach < self.reach[column] {
                self.reach[column] = reach;
                self.from[column] = row;
            }
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
        }
    }

    /// Moves each row along the chain that ends in `last`.
    fn augment(&mut self, row: usize, last: usize) {
        let mut column = last;
        loop {
            let mover = self.from[column];
            let left = std::mem::replace(&mut self.column_of[mover], column);
            self.rows_of[column].push(mover);
            if mover == row {
                return;
            }
            self.rows_of[left].retain(|&row| row != mover);
            column = left;
        }
    }
}
