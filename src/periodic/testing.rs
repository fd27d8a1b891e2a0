//! What the tests of this room share.

use super::{Application, Bandwidth, Micros, Platform, Workload, parse_applications, parse_platform};

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

/// Up to six applications, alike or not, that contend a little, much or not at all; all quantities odd on purpose.
pub(super) fn workload_of_seed(random: &mut Random) -> Workload {
    let scale = [1, 97, 1_000_003][random.below(3)];
    let jobs = 1 + random.below(6);
    let alike = random.below(3) == 0;
    let mut applications: Vec<Application> = Vec::new();
    for number in 0..jobs {
        let drawn = Application {
            name: number.to_string(),
            processors: 1 + random.below(50) as u64,
            compute: Micros(1 + random.next() % (50 * scale)),
            volume: 1 + random.next() % (20 * scale),
        };
        let model = applications.first().filter(|_| alike).cloned();
        applications.push(model.unwrap_or(drawn));
    }
    let platform = Platform {
        processors: 300,
        per_processor: Bandwidth(1 + random.next() % 100),
        total: Bandwidth(1 + random.next() % 4000),
    };
    Workload::new(platform, applications).unwrap()
}

/// A set of the paper's Table 2 on its platform, scaled as in section 4.2.
pub(super) fn set(number: usize) -> Workload {
    const TEXTS: [&str; 10] = [
        include_str!("../../tests/golden/persched/set1"),
        include_str!("../../tests/golden/persched/set2"),
        include_str!("../../tests/golden/persched/set3"),
        include_str!("../../tests/golden/persched/set4"),
        include_str!("../../tests/golden/persched/set5"),
        include_str!("../../tests/golden/persched/set6"),
        include_str!("../../tests/golden/persched/set7"),
        include_str!("../../tests/golden/persched/set8"),
        include_str!("../../tests/golden/persched/set9"),
        include_str!("../../tests/golden/persched/set10"),
    ];
    let applications = parse_applications(&format!("set{number}"), TEXTS[number - 1]).unwrap();
    let scaled = applications.iter().map(|application| application.scaled(64).unwrap()).collect();
    Workload::new(parse_platform("jupiter", "640 0.01 3").unwrap(), scaled).unwrap()
}
