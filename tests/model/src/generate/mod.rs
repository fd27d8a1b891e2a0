//! Random cases, valid by construction.

mod arrays;
mod builder;
mod calls;
mod etypes;
mod families;
mod hints;
mod place;
mod portable;

use crate::case::{Case, Family, OpKind, RankCase};
use crate::limits::Limits;
use crate::model::initial_bytes;
use crate::rng::Rng;
use calls::Calls;

/// The case of a seed, within limits: always the same one for the same arguments and version.
pub fn generate(seed: u64, limits: &Limits) -> Case {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let ranks = rank_count(rng, limits);
    let kinds = op_kinds(rng);
    let budget = data_budget(rng, limits);
    // Views on which every library keeps its file pointer right.
    let plain = !limits.quirks && kinds.iter().any(|kind| !kind.is_at());
    let etypes = etypes::choose(rng, limits, ranks, plain);
    let family = family(rng, &kinds, plain);
    let share = budget / (ranks as u64 * kinds.len() as u64);
    let views = families::views(rng, limits, family, &etypes, share);
    let ops = Calls { limits, views: &views, kinds: &kinds, share }.ops(rng);
    let mut case = Case {
        seed,
        limits: *limits,
        family,
        ranks: views.ranks.into_iter().map(|view| RankCase { view }).collect(),
        hints: Vec::new(),
        initial_offset: 0,
        initial: Vec::new(),
        ops,
    };
    place::place(rng, &mut case);
    let hull = hull(&case);
    let reads_only = case.ops.iter().all(|op| !op.kind.is_write());
    (case.initial_offset, case.initial) = initial(rng, seed, hull, reads_only);
    case.hints = hints::choose(rng, ranks, hull);
    case
}

/// Few ranks as often as many.
fn rank_count(rng: &mut Rng, limits: &Limits) -> usize {
    let (min, max) = (u64::from(limits.ranks_min), u64::from(limits.ranks_max));
    let top = *rng.weighted(&[(30, max.min(4)), (30, max.min(9)), (30, max.min(24)), (10, max)]);
    (min + rng.below(top.max(min) - min + 1)) as usize
}

/// One to four operations, often a write and the same bytes read again.
fn op_kinds(rng: &mut Rng) -> Vec<OpKind> {
    let write = *rng.pick(&[OpKind::WriteAtAll, OpKind::WriteAtAll, OpKind::WriteAll]);
    let read = *rng.pick(&[OpKind::ReadAtAll, OpKind::ReadAtAll, OpKind::ReadAll]);
    match rng.below(10) {
        0 | 1 => vec![write],
        2 | 3 => vec![read],
        4 | 5 => vec![write, read],
        6 => vec![read, write, read],
        _ => (0..rng.range(1, 4)).map(|_| *rng.pick(&OpKind::ALL)).collect(),
    }
}

/// Bytes of data to aim at, all operations together: mostly small, because small cases have the corners.
fn data_budget(rng: &mut Rng, limits: &Limits) -> u64 {
    let top = *rng.weighted(&[(450, 1 << 9), (350, 1 << 12), (180, 1 << 15), (18, 1 << 17), (2, 1 << 20)]);
    (rng.below(top) + 1).min(limits.bytes_max)
}

fn family(rng: &mut Rng, kinds: &[OpKind], plain: bool) -> Family {
    let same = if plain || kinds.iter().any(|kind| kind.is_write()) { 0 } else { 30 };
    let independent = if plain { 0 } else { 26 };
    *rng.weighted(&[
        (independent, Family::Independent),
        (26, Family::Dealt),
        (18, Family::Array),
        (14, Family::Strided),
        (12, Family::Blocks),
        (same, Family::Same),
    ])
}

/// The first byte and one past the last byte that any operation touches.
fn hull(case: &Case) -> (u64, u64) {
    let touched: Vec<Vec<u64>> = (0..case.ops.len()).flat_map(|op| case.file_bytes(op)).collect();
    let first = touched.iter().flatten().min().copied().unwrap_or(0);
    let end = touched.iter().flatten().max().map_or(0, |last| last + 1);
    (first, end)
}

/// What the file holds at first: nothing, less than is touched (reads are short then), or more.
fn initial(rng: &mut Rng, seed: u64, (first, end): (u64, u64), reads_only: bool) -> (u64, Vec<u8>) {
    const MAX: u64 = 1 << 20;
    // A sparse file holds something only near the first byte touched.
    let start = if end > MAX { first.saturating_sub(rng.below(300)) } else { 0 };
    let touched = end.saturating_sub(start).min(MAX);
    let empty = if reads_only { 4 } else { 30 };
    let len = match rng.weighted(&[(empty, 0), (30, 1), (40, 2)]) {
        0 => 0,
        1 => rng.below(touched + 1),
        _ => touched + rng.below(200),
    };
    (start, initial_bytes(seed, len))
}
