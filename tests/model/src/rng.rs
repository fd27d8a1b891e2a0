//! Random numbers whose values never change: a named generator, and our own way from its bits to numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// ChaCha8 on a 64-bit seed. A seed gives the same numbers on every machine and with every release of the generator's
/// crate: only its raw output is used.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Rng {
        let mut key = *b"tatpio-model case generator v01.";
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Rng(ChaCha8Rng::from_seed(key))
    }

    /// A number in `0..bound`. Panics on 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below 0 was asked for");
        // The high half of the product: biased by less than bound / 2^64, which no test can notice.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "an empty range was asked for");
        low + self.below(low.abs_diff(high) + 1) as i64
    }

    /// An `int` argument in `low..=high`.
    pub fn int(&mut self, low: i32, high: i32) -> i32 {
        self.range(i64::from(low), i64::from(high)) as i32
    }

    /// An index in `0..len`. Panics on 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of 100.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items. Panics when there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// One of the items, by weight.
    pub fn weighted<'a, T>(&mut self, items: &'a [(u64, T)]) -> &'a T {
        let mut rest = self.below(items.iter().map(|(weight, _)| weight).sum());
        for (weight, item) in items {
            if rest < *weight {
                return item;
            }
            rest -= weight;
        }
        unreachable!("the rest is below the sum of the weights")
    }

    /// Reorders the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// Two factors whose product is `number`, at random among all such pairs.
    pub(crate) fn factors(&mut self, number: u64) -> (u64, u64) {
        let divisors: Vec<u64> = (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect();
        let first = *self.pick(&divisors);
        (first, number / first)
    }

    /// `parts` numbers of at least 1 whose sum is `total`, fewer when `total` is smaller.
    pub(crate) fn composition(&mut self, total: u64, parts: u64) -> Vec<u64> {
        let parts = parts.min(total).max(1);
        let mut cuts: Vec<u64> = (1..total).collect();
        self.shuffle(&mut cuts);
        cuts.truncate(parts as usize - 1);
        cuts.sort_unstable();
        let mut sizes = Vec::new();
        let mut last = 0;
        for cut in cuts.into_iter().chain([total]) {
            sizes.push(cut - last);
            last = cut;
        }
        sizes
    }
}
