//! A smaller case that still fails.

use crate::case::{Access, Case};
use crate::spec::TypeSpec;
use crate::typemap::TypeMap;

/// The most candidates tried.
const TRIES_MAX: usize = 3000;

/// Makes a failing case smaller, one step after the other, as long as `fails` says that it still fails: operations,
/// ranks, hints, then each rank's data, memory type and view. Every candidate is a valid program. Stops when no step
/// helps, or after some thousand tries; returns the case itself when nothing helps.
///
/// The result is not the case of its seed: print it, and its [`Case::to_json`], rather than its replay line.
pub fn simplify(case: &Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut tries = 0;
    loop {
        let before = best.clone();
        for pass in PASSES {
            // A pass is taken up again after a success, at the step that succeeded: the list of steps is shorter now.
            let mut step = 0;
            while let Some(candidate) = pass(&best, step) {
                if tries >= TRIES_MAX {
                    return best;
                }
                let smaller = candidate != best && candidate.check_valid().is_ok();
                tries += usize::from(smaller);
                if smaller && fails(&candidate) {
                    best = candidate;
                } else {
                    step += 1;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// The candidates of a pass, by number; `None` past the last.
type Pass = fn(&Case, usize) -> Option<Case>;

/// The passes, the most rewarding first.
const PASSES: [Pass; 8] =
    [drop_ops, drop_ranks, drop_hints, drop_initial, idle_ranks, halve, plain_memory, plain_views];

fn drop_ops(case: &Case, step: usize) -> Option<Case> {
    let mut case = case.clone();
    if step >= case.ops.len() || case.ops.len() == 1 {
        return None;
    }
    case.ops.remove(step);
    Some(case)
}

fn drop_ranks(case: &Case, step: usize) -> Option<Case> {
    let mut case = case.clone();
    if step >= case.ranks.len() || case.ranks.len() == 1 {
        return None;
    }
    // From the last one on: the numbers of the others stay.
    let rank = case.ranks.len() - 1 - step;
    case.ranks.remove(rank);
    for op in &mut case.ops {
        op.ranks.remove(rank);
    }
    Some(case)
}

fn drop_hints(case: &Case, step: usize) -> Option<Case> {
    let mut case = case.clone();
    (step < case.hints.len()).then(|| {
        case.hints.remove(step);
        case
    })
}

fn drop_initial(case: &Case, step: usize) -> Option<Case> {
    let len = if step == 0 { 0 } else { case.initial.len() / 2 };
    (step < 2 && !case.initial.is_empty()).then(|| {
        let mut case = case.clone();
        case.initial.truncate(len);
        case
    })
}

/// The case with one access changed, if there is one of that number.
fn with_access(case: &Case, step: usize, change: impl FnOnce(&mut Access)) -> Option<Case> {
    let mut case = case.clone();
    let access = case.ops.iter_mut().flat_map(|op| &mut op.ranks).nth(step)?;
    change(access);
    Some(case)
}

fn idle_ranks(case: &Case, step: usize) -> Option<Case> {
    with_access(case, step, |access| {
        *access = Access { offset: 0, count: 0, memtype: TypeSpec::BYTE, base: 0, buffer_len: 0 };
    })
}

/// Half the count; then offset 0.
fn halve(case: &Case, step: usize) -> Option<Case> {
    with_access(case, step / 2, |access| {
        if step.is_multiple_of(2) && access.count > 1 {
            access.count = (access.count + 1) / 2;
        } else {
            access.offset = 0;
        }
    })
}

/// The same etypes from a contiguous buffer; then half of them.
fn plain_memory(case: &Case, step: usize) -> Option<Case> {
    let ranks = case.ranks.len();
    let etype = &case.ranks[step / 2 % ranks].view.etype;
    with_access(case, step / 2, |access| {
        let size = etype.size();
        let count = access.bytes() / size;
        let count = if step.is_multiple_of(2) { count } else { count.div_ceil(2) };
        let map = TypeMap::of(etype);
        let len = count * map.extent().unsigned_abs();
        access.memtype = etype.clone();
        access.count = i32::try_from(count).expect("fewer than before");
        access.base = 0;
        access.buffer_len = usize::try_from(len).expect("a buffer fits memory");
    })
}

/// A view that starts at 0; one that is plain etypes.
fn plain_views(case: &Case, step: usize) -> Option<Case> {
    let mut case = case.clone();
    let view = &mut case.ranks.get_mut(step / 2)?.view;
    if step.is_multiple_of(2) {
        view.disp = 0;
    } else {
        view.filetype = view.etype.clone();
    }
    Some(case)
}
