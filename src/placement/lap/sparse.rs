//! The search of [`minimise`](super::minimise) over the columns that each row keeps.

use super::Cost;

/// The column of each row. `entries` has the same number for each row, cheapest first, the lowest column of equals.
pub(super) fn solve<C: Cost>(entries: &[(C, u32)], rows: usize, capacity: &[u32]) -> Vec<usize> {
    let mut solver = Solver::new(entries, rows, capacity);
    for row in 0..rows {
        let last = solver.search(row);
        solver.reprice(row, solver.columns[last].reach);
        solver.augment(row, last);
    }
    solver.column_of.into_iter().flatten().collect()
}

struct Solver<'a, C> {
    entries: &'a [(C, u32)],
    kept: usize,
    column_of: Vec<Option<usize>>,
    row_price: Vec<C>,
    columns: Vec<Column<C>>,
    /// The rows of each column, in the order they came, and for how many more there is room.
    rows_of: Vec<Vec<usize>>,
    free: Vec<u32>,
    /// Of the search for one row: the row that ends the cheapest chain known to each column.
    from: Vec<u32>,
    /// The columns reached, those whose reach may still fall first, and how many those are.
    reached: Vec<u32>,
    open: usize,
    /// The cheapest chain known to a column with room.
    nearest_free: C,
}

/// What [`Solver::relax`] looks at, side by side in memory: nearly all of the time goes there.
#[derive(Clone, Copy)]
struct Column<C> {
    price: C,
    /// Of the search for one row: the cost of the cheapest chain known.
    reach: C,
}

impl<'a, C: Cost> Solver<'a, C> {
    fn new(entries: &'a [(C, u32)], rows: usize, capacity: &[u32]) -> Self {
        let columns = capacity.len();
        Solver {
            entries,
            kept: entries.len().checked_div(rows).unwrap_or(0),
            column_of: vec![None; rows],
            row_price: vec![C::ZERO; rows],
            columns: vec![Column { price: C::ZERO, reach: C::MAX }; columns],
            rows_of: vec![Vec::new(); columns],
            free: capacity.to_vec(),
            from: vec![0; columns],
            reached: Vec::new(),
            open: 0,
            nearest_free: C::MAX,
        }
    }

    /// Finds the cheapest chain from `row` to a column with room; returns that column.
    fn search(&mut self, row: usize) -> usize {
        for column in self.reached.drain(..) {
            self.columns[column as usize].reach = C::MAX;
        }
        (self.open, self.nearest_free) = (0, C::MAX);
        self.relax(row, C::ZERO);
        loop {
            let column = self.settle();
            if self.free[column] > 0 {
                return column;
            }
            for index in 0..self.rows_of[column].len() {
                self.relax(self.rows_of[column][index], self.columns[column].reach);
            }
        }
    }

    /// Takes the open column that is cheapest to reach, one with room before a full one, the lowest of those.
    fn settle(&mut self) -> usize {
        let key =
            |column: u32| (self.columns[column as usize].reach, self.free[column as usize] == 0, column);
        let mut nearest = 0;
        let mut least = key(self.reached[0]);
        for place in 1..self.open {
            let column = self.reached[place];
            if self.columns[column as usize].reach <= least.0 && key(column) < least {
                (nearest, least) = (place, key(column));
            }
        }
        self.open -= 1;
        self.reached.swap(nearest, self.open);
        self.reached[self.open] as usize
    }

    /// Prolongs the chain that displaces `row`, whose cost so far is `so_far`, to every column that it can make nearer
    /// than the nearest one with room. A settled column is reached at `so_far` or less already, so that it stays as it is.
    fn relax(&mut self, row: usize, so_far: C) {
        let base = so_far - self.row_price[row];
        let number = u32::try_from(row).expect("rows fit 32 bits");
        let entries = &self.entries[row * self.kept..][..self.kept];
        for &(cost, number_of_column) in entries {
            let before = base + cost;
            if before > self.nearest_free {
                break;
            }
            let column = &mut self.columns[number_of_column as usize];
            let through_row = before - column.price;
            if through_row >= column.reach || through_row > self.nearest_free {
                continue;
            }
            if column.reach == C::MAX {
                self.reached.push(number_of_column);
                let last = self.reached.len() - 1;
                self.reached.swap(self.open, last);
                self.open += 1;
            }
            column.reach = through_row;
            self.from[number_of_column as usize] = number;
            if self.free[number_of_column as usize] > 0 {
                self.nearest_free = through_row;
            }
        }
    }

    /// Moves the prices so that the chain of cost `total` becomes free and no reduced cost falls below zero.
    fn reprice(&mut self, row: usize, total: C) {
        self.row_price[row] += total;
        // The last column settled is the end of the chain, at `total` itself.
        for &column in &self.reached[self.open..] {
            let change = total - self.columns[column as usize].reach;
            self.columns[column as usize].price -= change;
            for &row in &self.rows_of[column as usize] {
                self.row_price[row] += change;
            }
        }
    }

    /// Moves each row along the chain that ends in `last`, the first of which is `row`.
    fn augment(&mut self, row: usize, last: usize) {
        let mut column = last;
        self.free[last] -= 1;
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
    }
}
