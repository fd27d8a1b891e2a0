//! Sums of prefixes in logarithmic time (Fenwick 1994).

/// Values with their running sum.
#[derive(Clone, Debug, Default)]
pub(super) struct Fenwick {
    value: Vec<u128>,
    /// Entry i has the sum of the values up to i, from where its lowest set bit says (from 1).
    sum: Vec<u128>,
    total: u128,
}

impl Fenwick {
    pub fn new(len: usize) -> Fenwick {
        Fenwick { value: vec![0; len], sum: vec![0; len + 1], total: 0 }
    }

    pub fn total(&self) -> u128 {
        self.total
    }

    pub fn get(&self, index: usize) -> u128 {
        self.value[index]
    }

    pub fn set(&mut self, index: usize, value: u128) {
        let old = std::mem::replace(&mut self.value[index], value);
        if old == value {
            return;
        }
        self.total = self.total - old + value;
        let mut at = index + 1;
        while at < self.sum.len() {
            self.sum[at] = self.sum[at] + value - old;
            at += at & at.wrapping_neg();
        }
    }

    /// The index in whose interval `target` lies when the values are laid end to end from 0. `target` is
    /// below the total, so that no index of value 0 is found.
    pub fn find(&self, mut target: u128) -> usize {
        debug_assert!(target < self.total);
        let mut at = 0;
        let mut step = self.value.len().checked_ilog2().map_or(0, |log| 1 << log);
        while step > 0 {
            if at + step < self.sum.len() && self.sum[at + step] <= target {
                at += step;
                target -= self.sum[at];
            }
            step /= 2;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn finds_as_a_walk_does() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut fenwick = Fenwick::new(1 + random.index(40));
            let mut values = vec![0; fenwick.value.len()];
            for _ in 0..100 {
                let at = random.index(values.len());
                values[at] = random.below(4) * random.below(5);
                fenwick.set(at, values[at]);
                assert_eq!(
                    (fenwick.total(), fenwick.get(at)),
                    (values.iter().sum(), values[at]),
                    "seed {seed}"
                );
                for target in 0..fenwick.total() {
                    let mut left = target;
                    let walk = values.iter().position(|&value| {
                        let here = left < value;
                        left = left.saturating_sub(value);
                        here
                    });
                    assert_eq!(Some(fenwick.find(target)), walk, "seed {seed} target {target} {values:?}");
                }
            }
        }
    }
}
