//! Types whose bounds every MPI library works out alike.
//!
//! The standard derives bounds from the whole type map: one explicit bound anywhere inside hides all natural ones, and
//! padding for alignment is added once, at the end. Libraries derive them step by step from the bounds of the parts,
//! and some add padding at every step. Where the two ways differ, an explicit bound says what the standard means.

use crate::spec::TypeSpec;
use crate::typemap::TypeMap;

/// The same type, with its bounds made explicit where libraries may see them differently. The parts of `spec` must be
/// settled already. With `padding`, a struct that only lacks its padding is left to the library.
pub(super) fn settle(spec: TypeSpec, padding: bool) -> TypeSpec {
    let map = TypeMap::of(&spec);
    let (lb, ub) = stepwise(&spec).unwrap_or((0, 0));
    if (lb, ub) == (map.lb(), map.ub()) {
        return spec;
    }
    let alignment = map.alignment();
    let padded = lb + (ub - lb + alignment - 1).div_euclid(alignment) * alignment;
    if padding && matches!(spec, TypeSpec::Struct { .. }) && (lb, padded) == (map.lb(), map.ub()) {
        return spec;
    }
    TypeSpec::resized(map.lb(), map.extent(), spec)
}

/// Lower and upper bound from those of the parts, without padding; `None` for a type without parts.
fn stepwise(spec: &TypeSpec) -> Option<(i64, i64)> {
    match spec {
        TypeSpec::Struct { fields } => {
            let blocks = fields.iter().filter_map(|field| {
                let map = TypeMap::of(&field.inner);
                union(&map, [(field.length, field.displacement)])
            });
            blocks.reduce(join)
        }
        TypeSpec::Contiguous { count, inner } => union(&TypeMap::of(inner), [(*count, 0)]),
        TypeSpec::Vector { count, blocklength, stride, inner } => {
            let map = TypeMap::of(inner);
            let step = i64::from(*stride) * map.extent();
            union(&map, (0..i64::from(*count)).map(|i| (*blocklength, i * step)))
        }
        TypeSpec::Hvector { count, blocklength, stride, inner } => {
            union(&TypeMap::of(inner), (0..i64::from(*count)).map(|i| (*blocklength, i * stride)))
        }
        TypeSpec::Indexed { blocks, inner } => {
            let map = TypeMap::of(inner);
            let extent = map.extent();
            union(&map, blocks.iter().map(|block| (block.length, block.displacement * extent)))
        }
        TypeSpec::Hindexed { blocks, inner } => {
            union(&TypeMap::of(inner), blocks.iter().map(|block| (block.length, block.displacement)))
        }
        TypeSpec::IndexedBlock { blocklength, displacements, inner } => {
            let map = TypeMap::of(inner);
            let extent = map.extent();
            union(&map, displacements.iter().map(|&d| (*blocklength, i64::from(d) * extent)))
        }
        TypeSpec::HindexedBlock { blocklength, displacements, inner } => {
            union(&TypeMap::of(inner), displacements.iter().map(|&d| (*blocklength, d)))
        }
        TypeSpec::Named(_)
        | TypeSpec::Dup(_)
        | TypeSpec::Subarray { .. }
        | TypeSpec::Darray { .. }
        | TypeSpec::Resized { .. } => {
            let map = TypeMap::of(spec);
            Some((map.lb(), map.ub()))
        }
    }
}

/// The bounds of blocks of a type.
fn union(map: &TypeMap, blocks: impl IntoIterator<Item = (i32, i64)>) -> Option<(i64, i64)> {
    let (lb, ub) = (map.lb(), map.ub());
    let blocks = blocks.into_iter().filter(|(length, _)| *length > 0).map(|(length, displacement)| {
        let last = displacement + i64::from(length - 1) * (ub - lb);
        (displacement.min(last) + lb, displacement.max(last) + ub)
    });
    blocks.reduce(join)
}

fn join(one: (i64, i64), other: (i64, i64)) -> (i64, i64) {
    (one.0.min(other.0), one.1.max(other.1))
}
