//! What every double of the benchmark array is: a function of its global index, so that any misplaced,
//! missing or torn double is found when it is read.

use crate::partition::Block;

/// The double at a global index: in [1, 2), different for every index below 2^52, with no pattern a shift
/// could repeat.
///
/// Multiplication by an odd number permutes the 2^52 mantissas.
pub fn value(index: u64) -> f64 {
    const ODD: u64 = 0x9_E377_9B97_F4A7 | 1;
    const MANTISSA: u64 = (1 << 52) - 1;
    f64::from_bits(0x3FF0_0000_0000_0000 | (index.wrapping_mul(ODD) & MANTISSA))
}

/// Fills `buffer` with the values of `blocks`, one after another, as they lie in an array of edge `n` whose
/// first double has global index `base`.
///
/// Panics unless `buffer` has the blocks' volume.
pub fn fill(blocks: &[Block], n: u64, base: u64, buffer: &mut [f64]) {
    let mut rest = buffer;
    for (first, len) in blocks.iter().flat_map(|block| block.rows(n)) {
        let (row, after) = rest.split_at_mut(usize::try_from(len).expect("a row fits in memory"));
        row.iter_mut().zip(base + first..).for_each(|(double, index)| *double = value(index));
        rest = after;
    }
    assert!(rest.is_empty(), "the buffer is larger than the blocks");
}

/// Doubles that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrong {
    /// How many.
    pub count: u64,
    /// The global index of the first.
    pub index: u64,
    /// What it should be.
    pub expected: f64,
    /// What it is.
    pub found: f64,
}

impl Wrong {
    /// Both together; the first of `before` stays the first.
    pub fn sum(before: Option<Wrong>, after: Option<Wrong>) -> Option<Wrong> {
        match (before, after) {
            (Some(before), Some(after)) => Some(Wrong { count: before.count + after.count, ..before }),
            (before, after) => before.or(after),
        }
    }
}

/// Compares `buffer` bit by bit with what [`fill`] would put there.
///
/// Panics unless `buffer` has the blocks' volume.
pub fn verify(blocks: &[Block], n: u64, base: u64, buffer: &[f64]) -> Option<Wrong> {
    let mut rest = buffer;
    let mut wrong: Option<Wrong> = None;
    for (first, len) in blocks.iter().flat_map(|block| block.rows(n)) {
        let (row, after) = rest.split_at(usize::try_from(len).expect("a row fits in memory"));
        wrong = Wrong::sum(wrong, verify_run(base + first, row));
        rest = after;
    }
    assert!(rest.is_empty(), "the buffer is larger than the blocks");
    wrong
}

/// Compares `run` bit by bit with the values from global index `first` on.
pub fn verify_run(first: u64, run: &[f64]) -> Option<Wrong> {
    let mut wrong: Option<Wrong> = None;
    for (&found, index) in run.iter().zip(first..) {
        let expected = value(index);
        if found.to_bits() != expected.to_bits() {
            wrong.get_or_insert(Wrong { count: 0, index, expected, found }).count += 1;
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::btio;
    use std::collections::BTreeSet;

    #[test]
    fn values_differ_and_are_ordinary_doubles() {
        let distinct: BTreeSet<u64> = (0..100_000).map(|index| value(index).to_bits()).collect();
        assert_eq!(distinct.len(), 100_000);
        assert!((0..100_000).all(|index| (1.0..2.0).contains(&value(index))));
    }

    #[test]
    fn one_flipped_bit_is_found() {
        let (n, base) = (5, 250);
        let blocks = btio(n, 4, 3).unwrap();
        let volume: u64 = blocks.iter().map(Block::volume).sum();
        let mut buffer = vec![0.0; usize::try_from(volume).unwrap()];
        assert_eq!(verify(&blocks, n, base, &buffer).map(|wrong| wrong.count), Some(volume));
        fill(&blocks, n, base, &mut buffer);
        assert_eq!(verify(&blocks, n, base, &buffer), None);
        assert!(verify(&blocks, n, 0, &buffer).is_some(), "another step of the file has other values");
        for at in 0..buffer.len() {
            let good = buffer[at];
            buffer[at] = f64::from_bits(good.to_bits() ^ 1);
            let wrong = verify(&blocks, n, base, &buffer).expect("found");
            assert_eq!((wrong.count, wrong.found, wrong.expected), (1, buffer[at], good), "double {at}");
            buffer[at] = good;
        }
    }
}
