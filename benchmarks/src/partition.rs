//! Which blocks of an N x N x N array each rank holds: cube and block-tridiagonal (TATP paper, section 5.2,
//! figure 8).
//!
//! Coordinates are `[z, y, x]`, slowest first: the file stores the array in row-major order. All counts are
//! in doubles.

use std::fmt;
use std::ops::Range;

/// A box of the array; any of its counts may be 0 when there are more ranks than elements along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first element along each axis.
    pub start: [u64; 3],
    /// The number of elements along each axis.
    pub count: [u64; 3],
}

impl Block {
    fn from_ranges(ranges: [Range<u64>; 3]) -> Block {
        let start = [ranges[0].start, ranges[1].start, ranges[2].start];
        Block { start, count: ranges.map(|range| range.end - range.start) }
    }

    /// The number of doubles in the block.
    pub fn volume(&self) -> u64 {
        self.count.iter().product()
    }

    /// The rows of the block within an array of edge `n`, in file order: the global index of the first double
    /// of each, and the number of doubles.
    pub fn rows(&self, n: u64) -> impl Iterator<Item = (u64, u64)> {
        let Block { start, count } = *self;
        let in_plane =
            move |z| (start[1]..start[1] + count[1]).map(move |y| ((z * n + y) * n + start[2], count[2]));
        (start[0]..start[0] + count[0]).flat_map(in_plane)
    }
}

/// The elements `0..n` dealt to `parts` neighbours as evenly as possible: the first `n % parts` get one more.
///
/// Panics unless `part < parts`.
pub fn share(n: u64, parts: u64, part: u64) -> Range<u64> {
    assert!(part < parts, "part {part} of {parts}");
    let (least, more) = (n / parts, n % parts);
    let start = part * least + part.min(more);
    start..start + least + u64::from(part < more)
}

/// The block of `rank` when the array is cut `dims[0]` x `dims[1]` x `dims[2]` times, ranks in row-major
/// order.
///
/// Panics unless `rank` is below the product of `dims`.
pub fn cube(n: u64, dims: [u64; 3], rank: u64) -> Block {
    let at = [rank / (dims[1] * dims[2]), rank / dims[2] % dims[1], rank % dims[2]];
    Block::from_ranges([0, 1, 2].map(|axis| share(n, dims[axis], at[axis])))
}

/// A rank count that has no block-tridiagonal partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSquare {
    /// The rank count.
    pub ranks: u64,
}

impl fmt::Display for NotSquare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.ranks.isqrt();
        let (below, above) = (root * root, (root + 1) * (root + 1));
        write!(f, "the block-tridiagonal partition needs a square number of ranks, not {}: ", self.ranks)?;
        if below > 0 { write!(f, "run it on {below} or {above}") } else { write!(f, "run it on {above}") }
    }
}

/// The cells of `rank` in the block-tridiagonal partition, one in each of the sqrt(ranks) slices along z, in
/// file order.
///
/// The array is cut into q x q x q cells, q = sqrt(ranks). In slice 0 rank r holds row r / q, column r % q;
/// from one slice to the next it moves one row up and one column right, around the edges.
///
/// Errors: `ranks` is not a square. Panics unless `rank < ranks`.
pub fn btio(n: u64, ranks: u64, rank: u64) -> Result<Vec<Block>, NotSquare> {
    assert!(rank < ranks, "rank {rank} of {ranks}");
    let q = ranks.isqrt();
    if q * q != ranks {
        return Err(NotSquare { ranks });
    }
    let cell = |slice| {
        let row = (rank / q + q - slice) % q;
        let column = (rank % q + slice) % q;
        Block::from_ranges([share(n, q, slice), share(n, q, row), share(n, q, column)])
    };
    Ok((0..q).map(cell).collect())
}

/// Which part of the array each rank takes when ranks are scattered: a permutation of `0..ranks` drawn from
/// `seed`.
///
/// Neighbours in the array are then no longer neighbours in rank order, as in a job whose nodes the scheduler
/// picked from all over the machine. The generator (splitmix64, Steele et al. 2014) is written out here, so
/// that a seed means the same permutation in every version of the program.
pub fn scatter(ranks: u64, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut parts: Vec<u64> = (0..ranks).collect();
    for last in (1..parts.len()).rev() {
        let below = u64::try_from(last + 1).expect("rank count fits 64 bits");
        let other = usize::try_from(next() % below).expect("below a vector's length");
        parts.swap(last, other);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often each double of the array is held; a partition holds each exactly once.
    fn check_covers(n: u64, what: &str, parts: impl Iterator<Item = Vec<Block>>) {
        let mut holders = vec![0_u32; usize::try_from(n * n * n).unwrap()];
        for block in parts.flatten() {
            let mut doubles = 0;
            for (first, len) in block.rows(n) {
                (first..first + len).for_each(|index| holders[usize::try_from(index).unwrap()] += 1);
                doubles += len;
            }
            assert_eq!(doubles, block.volume(), "{what}: {block:?}");
        }
        assert!(holders.iter().all(|&count| count == 1), "{what}: not every double is held exactly once");
    }

    #[test]
    fn every_double_has_one_holder() {
        for n in [1, 2, 3, 5, 8, 12] {
            for dims in [[1, 1, 1], [2, 1, 1], [2, 2, 1], [2, 2, 2], [3, 2, 1], [5, 1, 1], [13, 1, 1]] {
                let ranks: u64 = dims.iter().product();
                check_covers(
                    n,
                    &format!("cube {n} {dims:?}"),
                    (0..ranks).map(|rank| vec![cube(n, dims, rank)]),
                );
            }
            for ranks in [1, 4, 9, 16, 25] {
                check_covers(
                    n,
                    &format!("btio {n} {ranks}"),
                    (0..ranks).map(|rank| btio(n, ranks, rank).unwrap()),
                );
            }
        }
    }

    #[test]
    fn btio_is_figure_8b() {
        // The paper's example: of nine processes, process 6 holds row 2, column 0 of slice 0; row 1, column 1
        // of slice 1.
        let cells = btio(9, 9, 6).unwrap();
        let starts: Vec<[u64; 3]> = cells.iter().map(|cell| cell.start).collect();
        assert_eq!(starts, [[0, 6, 0], [3, 3, 3], [6, 0, 6]]);
    }

    #[test]
    fn not_square_names_the_next_squares() {
        assert_eq!(
            btio(8, 8, 0).unwrap_err().to_string(),
            "the block-tridiagonal partition needs a square number of ranks, not 8: run it on 4 or 9"
        );
    }

    #[test]
    fn shares_are_even() {
        assert_eq!([0, 1, 2].map(|part| share(10, 3, part)), [0..4, 4..7, 7..10]);
        assert_eq!([0, 1, 2].map(|part| share(2, 3, part)), [0..1, 1..2, 2..2]);
    }

    #[test]
    fn scatter_is_a_stable_permutation() {
        for ranks in [0, 1, 2, 9, 64] {
            let mut parts = scatter(ranks, 7);
            assert_eq!(parts, scatter(ranks, 7));
            parts.sort_unstable();
            assert!(parts.into_iter().eq(0..ranks));
        }
        assert_ne!(scatter(64, 1), scatter(64, 2));
    }
}
