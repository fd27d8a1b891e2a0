//! Shapes of arrays of which a process has a given number of elements.

use crate::rng::Rng;
use crate::spec::{Dimension, Distribution};

/// `number` as a product of `parts` factors, at random.
pub(super) fn product(rng: &mut Rng, number: u64, parts: usize) -> Vec<u64> {
    let mut factors = vec![1; parts];
    let mut rest = number;
    for factor in &mut factors[..parts - 1] {
        (*factor, rest) = rng.factors(rest);
    }
    factors[parts - 1] = rest;
    rng.shuffle(&mut factors);
    factors
}

/// The lists `sizes`, `subsizes` and `starts` of a subarray of `elements` elements.
pub(super) fn subarray(rng: &mut Rng, elements: u64) -> [Vec<i32>; 3] {
    let parts = rng.index(3) + 1;
    let (mut sizes, mut subsizes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for part in product(rng, elements, parts) {
        let (before, after) = (rng.int(0, 2), rng.int(0, 2));
        let part = int(part);
        sizes.push(before + part + after);
        subsizes.push(part);
        starts.push(before);
    }
    [sizes, subsizes, starts]
}

/// Size of the grid, rank, and dimensions of a distributed array of which that rank has `elements` elements.
pub(super) fn darray(rng: &mut Rng, elements: u64) -> (i32, i32, Vec<Dimension>) {
    let parts = rng.index(3) + 1;
    let (mut size, mut rank, mut dimensions) = (1, 0, Vec::new());
    for part in product(rng, elements, parts) {
        let processes = rng.int(1, 3);
        let place = rng.int(0, processes - 1);
        dimensions.push(dimension(rng, int(part), processes, place));
        // The grid is numbered in C order.
        rank = rank * processes + place;
        size *= processes;
    }
    (size, rank, dimensions)
}

/// A dimension of which the process at `place` of `processes` has `part` elements.
fn dimension(rng: &mut Rng, part: i32, processes: i32, place: i32) -> Dimension {
    let after = processes - 1 - place;
    match rng.below(3) {
        0 if processes == 1 => {
            Dimension { global: part, distribution: Distribution::None, arg: None, processes }
        }
        0 | 1 => {
            let even = rng.chance(40);
            let global = if even { part * processes } else { part * (place + 1) + rng.int(0, part * after) };
            let arg = if even && rng.chance(50) { None } else { Some(part) };
            Dimension { global, distribution: Distribution::Block, arg, processes }
        }
        _ => {
            let arg = rng.int(1, part);
            let (full, rest) = (part / arg, part % arg);
            let global = match rest {
                // Up to the start of this process's next block, which it must not get.
                0 => ((full - 1) * processes + place + 1) * arg + rng.int(0, (processes - 1) * arg),
                _ => (full * processes + place) * arg + rest,
            };
            let arg = if arg == 1 && rng.chance(50) { None } else { Some(arg) };
            Dimension { global, distribution: Distribution::Cyclic, arg, processes }
        }
    }
}

/// A dimension of `global` elements dealt to `processes` in any legal way.
pub(super) fn dealt(rng: &mut Rng, global: i32, processes: i32) -> Dimension {
    let (distribution, arg) = match rng.below(6) {
        0 if processes == 1 => (Distribution::None, None),
        0 | 1 => (Distribution::Block, None),
        2 => {
            let least = (global + processes - 1) / processes;
            (Distribution::Block, Some(rng.int(least, least + 2)))
        }
        3 => (Distribution::Cyclic, None),
        _ => (Distribution::Cyclic, Some(rng.int(1, (global / processes).max(1) + 1))),
    };
    Dimension { global, distribution, arg, processes }
}

/// A count as the `int` that MPI takes. Panics past 31 bits.
pub(super) fn int(count: u64) -> i32 {
    i32::try_from(count).expect("counts of cases fit an int")
}
