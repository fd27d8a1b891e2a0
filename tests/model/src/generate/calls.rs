//! The operations of a case: who accesses how much where, and through which memory type.

use super::arrays::int;
use super::builder::{Builder, Place};
use super::etypes::memory_element;
use super::families::Views;
use crate::case::{Access, Op, OpKind};
use crate::limits::Limits;
use crate::rng::Rng;
use crate::spec::TypeSpec;
use crate::typemap::TypeMap;

/// Chooses accesses through given views.
pub(super) struct Calls<'a> {
    pub(super) limits: &'a Limits,
    pub(super) views: &'a Views,
    /// The operations.
    pub(super) kinds: &'a [OpKind],
    /// Bytes of data to aim at, a rank and operation.
    pub(super) share: u64,
}

/// Offset and length of one rank's access, in etypes.
type Extent = (u64, u64);

impl Calls<'_> {
    pub(super) fn ops(&self, rng: &mut Rng) -> Vec<Op> {
        let mut left = self.limits.bytes_max;
        let mut positions = vec![0; self.views.ranks.len()];
        let mut last_write: Option<Vec<Extent>> = None;
        let mut last: Option<Vec<Extent>> = None;
        let mut ops = Vec::new();
        for &kind in self.kinds {
            let mut extents = match (&last_write, &last) {
                (Some(same), _) if kind == OpKind::ReadAtAll && rng.chance(60) => same.clone(),
                // A loop writes the same bytes again, or as many further on.
                (_, Some(same)) if kind.is_at() && rng.chance(30) => {
                    let tiles = *rng.pick(&[0, 0, 1, 5]);
                    let moved = |(rank, &(offset, length))| {
                        let per_tile: u64 = self.views.tile_etypes[rank];
                        (offset + tiles * per_tile, length)
                    };
                    same.iter().enumerate().map(moved).collect()
                }
                _ => self.extents(rng),
            };
            for (rank, (offset, length)) in extents.iter_mut().enumerate() {
                let size = self.views.etype_sizes[rank];
                *length = (*length).min(left / size);
                left -= *length * size;
                if !kind.is_at() {
                    *offset = positions[rank];
                    positions[rank] += *length;
                }
            }
            let ranks = extents
                .iter()
                .enumerate()
                .map(|(rank, &extent)| self.access(rng, kind, rank, extent))
                .collect();
            if kind.is_write() {
                last_write = Some(extents.clone());
            }
            last = Some(extents);
            ops.push(Op { kind, ranks });
        }
        ops
    }

    /// What the ranks access in one operation.
    fn extents(&self, rng: &mut Rng) -> Vec<Extent> {
        let ranks = self.views.ranks.len();
        let aligned = self.views.aligned && rng.chance(65);
        let same = self.views.same && rng.chance(60);
        let tile = if rng.chance(50) { 0 } else { rng.below(4) };
        let idle_percent = *rng.weighted(&[(75, 0), (15, 30), (6, 80), (4, 100)]);
        let mut extents: Vec<Extent> = Vec::new();
        for rank in 0..ranks {
            let per_tile = self.views.tile_etypes[rank];
            let target = (self.share / self.views.etype_sizes[rank]).max(1);
            let extent = if per_tile == 0 {
                (0, 0)
            } else if rng.chance(idle_percent) {
                (rng.below(2 * per_tile + 3), 0)
            } else if same && rank > 0 {
                extents[0]
            } else if aligned {
                // The number of tiles differs from rank to rank only where that is no accident.
                (tile * per_tile, per_tile * (target / self.views.tile_mean).clamp(1, 4))
            } else {
                let offset = if rng.chance(40) { 0 } else { rng.below(2 * per_tile.min(4096) + 9) };
                (offset, rng.below(2 * target) + 1)
            };
            extents.push(extent);
        }
        extents
    }

    /// One rank's arguments for `length` etypes.
    fn access(&self, rng: &mut Rng, kind: OpKind, rank: usize, (offset, length): Extent) -> Access {
        let etype = &self.views.ranks[rank].etype;
        let place = Place::Memory { overlap: kind.is_write() && rng.chance(25) };
        let (element, per_etype) = memory_element(rng, self.limits, etype);
        let (memtype, count) = if length > 0 {
            self.memory_type(rng, place, &element, length * per_etype)
        } else if rng.chance(30) {
            (Builder::new(rng, self.limits, place, &element).empty(), rng.int(0, 3))
        } else {
            (Builder::new(rng, self.limits, place, &element).build(3, 2, 200), 0)
        };
        let map = TypeMap::of(&memtype);
        let (low, high) = span(&map, count);
        let alignment = map.alignment();
        let margin = rng.range(0, 3) * alignment;
        let base = margin + (-low).max(0);
        let end = base + high.max(0) + rng.range(0, 9);
        Access {
            offset,
            count,
            memtype,
            base: usize::try_from(base).expect("a buffer starts at or after 0"),
            buffer_len: usize::try_from(end).expect("a buffer ends after it starts"),
        }
    }

    /// A memory type and a count of it that hold `elements` elements.
    fn memory_type(&self, rng: &mut Rng, place: Place, element: &TypeSpec, elements: u64) -> (TypeSpec, i32) {
        // Large types cost time without finding more: the rest is in the count.
        let small: Vec<u64> = (1..=elements.min(256)).filter(|part| elements.is_multiple_of(*part)).collect();
        let part = if elements <= 256 && rng.chance(40) { elements } else { *rng.pick(&small) };
        let count = elements / part;
        let span_max = 2048 + 8 * element.extent() * int(part) as i64;
        let depth = rng.below(5) as u32;
        let spec = Builder::new(rng, self.limits, place, element).build(
            part,
            depth,
            span_max / count.min(64) as i64,
        );
        (spec, int(count))
    }
}

/// The lowest displacement and one past the highest of `count` elements of a type; (0, 0) without data.
fn span(map: &TypeMap, count: i32) -> (i64, i64) {
    if count == 0 || map.size() == 0 {
        return (0, 0);
    }
    let last = i64::from(count - 1) * map.extent();
    (map.true_lb() + last.min(0), map.true_ub() + last.max(0))
}
