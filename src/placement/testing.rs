//! What the tests of this room share.

/// Numbers that a seed replays (SplitMix64).
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound` - 1.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Every way to give each of `rows` rows a column within its capacity: the stupid twin of every solver.
pub(super) fn every_assignment(rows: usize, capacity: &[u32]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..rows {
        let mut longer = Vec::new();
        for start in all {
            for (column, &capacity) in capacity.iter().enumerate() {
                if start.iter().filter(|&&used| used == column).count() < capacity as usize {
                    longer.push([&start[..], &[column]].concat());
                }
            }
        }
        all = longer;
    }
    all
}
