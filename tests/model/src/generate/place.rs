//! Where in the file the views start.

use crate::case::{Case, Family};
use crate::rng::Rng;

/// The largest displacement of a case.
const FAR: u64 = 1 << 33;

/// Moves the views of a case from their relative places to those they have in the file.
pub(super) fn place(rng: &mut Rng, case: &mut Case) {
    if matches!(case.family, Family::Independent | Family::Blocks) {
        apart(rng, case);
    }
    let base = *rng.weighted(&[(50, 0), (25, 100), (25, 5000)]);
    let base = rng.below(base + 1);
    case.ranks.iter_mut().for_each(|rank| rank.view.disp += base);
    // A case with a large hole in a view goes far enough.
    if case.limits.large && rng.chance(35) && super::hull(case).1 < 1 << 30 {
        match rng.below(10) {
            0..=4 => shift(rng, case),
            5..=7 => skip_tiles(rng, case),
            _ => spread(rng, case),
        }
    }
}

/// One rank's bytes after another's; where overlaps are allowed, sometimes anywhere.
fn apart(rng: &mut Rng, case: &mut Case) {
    let hulls: Vec<Option<(u64, u64)>> = (0..case.ranks.len()).map(|rank| hull_of(case, rank)).collect();
    let total: u64 = hulls.iter().flatten().map(|(first, end)| end - first).sum();
    let anywhere = case.limits.overlap && total < FAR / 4 && rng.chance(40);
    let mut order: Vec<usize> = (0..case.ranks.len()).collect();
    if rng.chance(50) {
        rng.shuffle(&mut order);
    }
    // The widest last: its end may be far away.
    order.sort_by_key(|&rank| hulls[rank].is_some_and(|(first, end)| end - first >= 1 << 30));
    let gap_max = *rng.weighted(&[(60, 1), (40, 300)]);
    let unit = case.ranks[0].view.etype.extent().unsigned_abs();
    let by_offset =
        case.family == Family::Blocks && case.ops.iter().all(|op| op.kind.is_at()) && rng.chance(50);
    let mut cursor = 0;
    for rank in order {
        let Some((first, end)) = hulls[rank] else { continue };
        let at = if anywhere { rng.below(total / 2 + 1) } else { cursor + rng.below(gap_max) };
        let mut moved = at.saturating_sub(first);
        if by_offset {
            moved = moved.next_multiple_of(unit);
            case.ops.iter_mut().for_each(|op| op.ranks[rank].offset += moved / unit);
        } else {
            case.ranks[rank].view.disp += moved;
        }
        cursor = cursor.max(moved + end);
    }
}

/// The first byte and one past the last that a rank touches.
fn hull_of(case: &Case, rank: usize) -> Option<(u64, u64)> {
    let touched: Vec<u64> = (0..case.ops.len()).flat_map(|op| case.file_bytes_of(op, rank)).collect();
    Some((*touched.iter().min()?, touched.iter().max()? + 1))
}

/// A distance around a place where 32 bits end, or any.
fn distance(rng: &mut Rng) -> u64 {
    let near = *rng.pick(&[1 << 31, 1 << 32, FAR]);
    if rng.chance(60) { near - rng.below(5000) } else { rng.below(FAR) }
}

/// All views start far away.
fn shift(rng: &mut Rng, case: &mut Case) {
    let distance = distance(rng);
    case.ranks.iter_mut().for_each(|rank| rank.view.disp += distance);
}

/// Some ranks' views start far away.
fn spread(rng: &mut Rng, case: &mut Case) {
    let distance = distance(rng);
    // What moves stays as it was among itself, and far from what does not move.
    for rank in &mut case.ranks {
        if rng.chance(30) {
            rank.view.disp += distance;
        }
    }
}

/// All explicit offsets are far away, by whole tiles.
fn skip_tiles(rng: &mut Rng, case: &mut Case) {
    let tile = |rank: &crate::case::RankCase| rank.view.filetype.extent().unsigned_abs();
    let extents: Vec<u64> =
        case.ranks.iter().filter(|rank| rank.view.filetype.size() > 0).map(tile).collect();
    let Some(&extent) = extents.first() else { return };
    if extents.iter().any(|&other| other != extent) {
        return shift(rng, case);
    }
    let tiles = distance(rng) / extent;
    for op in case.ops.iter_mut().filter(|op| op.kind.is_at()) {
        for (access, rank) in op.ranks.iter_mut().zip(&case.ranks) {
            access.offset += tiles * (rank.view.filetype.size() / rank.view.etype.size());
        }
    }
}
