//! Seeded choices that are the same in every version of the program.

use std::collections::BTreeMap;

/// splitmix64 (Steele et al., OOPSLA 2014).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `bound` - 1. Panics for 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A permutation of `0..count`, the same that `cube --scatter SEED` and `btio --scatter SEED` draw.
pub fn permutation(count: u64, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut items: Vec<u64> = (0..count).collect();
    for last in (1..items.len()).rev() {
        let other = random.below(last as u64 + 1);
        items.swap(last, usize::try_from(other).expect("below a length"));
    }
    items
}

/// `count` different numbers below `bound`, in the order in which they are drawn. Panics when there are not so many.
pub fn sample(count: u64, bound: u64, seed: u64) -> Vec<u64> {
    assert!(count <= bound, "{count} of {bound}");
    // The first steps of a shuffle of 0..bound, of which only the moved entries are kept.
    let mut random = Random(seed);
    let mut moved: BTreeMap<u64, u64> = BTreeMap::new();
    let draw = |first: u64| {
        let other = first + random.below(bound - first);
        let here = moved.get(&first).copied().unwrap_or(first);
        let drawn = moved.insert(other, here).unwrap_or(other);
        if other == first { here } else { drawn }
    };
    (0..count).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_and_replayed() {
        for (count, bound) in [(0, 0), (1, 1), (5, 5), (40, 8704), (100, 101)] {
            for seed in 0..20 {
                let drawn = sample(count, bound, seed);
                assert_eq!(drawn, sample(count, bound, seed));
                let mut sorted = drawn.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len() as u64, count, "seed {seed}: {drawn:?}");
                assert!(sorted.iter().all(|&number| number < bound));
            }
        }
        assert_ne!(permutation(64, 1), permutation(64, 2));
    }
}
