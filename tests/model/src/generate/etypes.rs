//! Etypes: the units of views, of one extent in a case.

use super::arrays::int;
use super::builder::{Builder, Place};
use super::portable::settle;
use crate::limits::Limits;
use crate::rng::Rng;
use crate::spec::{Field, Named, TypeSpec};
use crate::typemap::{Basic, TypeMap};

/// The etypes of a case, one a rank, all of one extent.
pub(super) struct Etypes {
    /// The extent.
    pub(super) unit: i64,
    /// By rank.
    pub(super) ranks: Vec<TypeSpec>,
}

/// Mostly one predefined type for all ranks; sometimes derived ones, sometimes different ones. With `plain`, only types
/// without holes.
pub(super) fn choose(rng: &mut Rng, limits: &Limits, ranks: usize, plain: bool) -> Etypes {
    let mut classes = classes(limits);
    if plain {
        classes.iter_mut().for_each(|class| class.retain(|spec| spec.extent().unsigned_abs() == spec.size()));
        classes.retain(|class| !class.is_empty());
    }
    let all = match rng.below(20) {
        0 if !plain => vec![random(rng, limits)],
        1..=7 => vec![TypeSpec::BYTE],
        8 | 9 => vec![TypeSpec::Named(Named::Int)],
        10 | 11 => vec![TypeSpec::Named(Named::Double)],
        _ => rng.pick(&classes).clone(),
    };
    let one = rng.chance(60).then(|| rng.pick(&all).clone());
    let ranks = (0..ranks).map(|_| one.clone().unwrap_or_else(|| rng.pick(&all).clone())).collect::<Vec<_>>();
    Etypes { unit: ranks[0].extent(), ranks }
}

/// Types of equal extents.
fn classes(limits: &Limits) -> Vec<Vec<TypeSpec>> {
    use Named::{Byte, Double, DoubleInt, Int, Short, ShortInt};
    let named = TypeSpec::Named;
    let several = |count, of| TypeSpec::contiguous(count, named(of));
    let spaced = |extent, of| TypeSpec::resized(0, extent, named(of));
    let structure = |fields: &[(i64, Named)]| {
        let field = |&(displacement, of): &(i64, Named)| Field { length: 1, displacement, inner: named(of) };
        settle(TypeSpec::Struct { fields: fields.iter().map(field).collect() }, limits.padding)
    };
    let pair = TypeSpec::Vector { count: 2, blocklength: 1, stride: 2, inner: Box::new(named(Short)) };
    vec![
        vec![named(Byte), TypeSpec::Dup(Box::new(named(Byte)))],
        vec![named(Short), several(2, Byte), spaced(2, Byte)],
        vec![several(3, Byte)],
        vec![named(Int), several(2, Short), spaced(4, Short), several(4, Byte)],
        vec![several(3, Short), pair],
        vec![named(Double), named(ShortInt), several(2, Int), structure(&[(0, Int), (4, Short)])],
        vec![several(3, Int), structure(&[(0, Byte), (4, Int), (8, Short)])],
        vec![named(DoubleInt), several(2, Double), spaced(16, Double), structure(&[(0, Double), (8, Byte)])],
        vec![structure(&[(0, Int), (8, Double), (16, Short)]), several(3, Double)],
    ]
}

/// A small derived type with holes.
fn random(rng: &mut Rng, limits: &Limits) -> TypeSpec {
    let leaf = TypeSpec::Named(*rng.pick(&Named::ALL));
    let (elements, depth) = (rng.below(5) + 1, rng.below(3) as u32);
    let spec = Builder::new(rng, limits, Place::File, &leaf).build(elements, depth, 200);
    let map = TypeMap::of(&spec);
    if map.lb() == 0 && map.extent() >= map.true_ub() {
        return spec;
    }
    let alignment = map.alignment();
    TypeSpec::resized(0, (map.true_ub() + alignment - 1) / alignment * alignment, spec)
}

/// An element that memory types of data in these etypes can be made of, and how many make an etype: the etype itself,
/// its basic type when it has only one, or a struct of its basic elements at other places.
pub(super) fn memory_element(rng: &mut Rng, limits: &Limits, etype: &TypeSpec) -> (TypeSpec, u64) {
    let signature = TypeMap::of(etype).signature();
    let named = |basic| {
        TypeSpec::Named(match basic {
            Basic::Byte => Named::Byte,
            Basic::Short => Named::Short,
            Basic::Int => Named::Int,
            Basic::Double => Named::Double,
        })
    };
    match rng.below(10) {
        0..=2 if signature.iter().all(|&basic| basic == signature[0]) => {
            (named(signature[0]), signature.len() as u64)
        }
        3 | 4 if signature.len() <= 8 => {
            // Places eight bytes apart suit every basic type.
            let mut places: Vec<i64> = (0..signature.len() as i64).map(|place| place * 8).collect();
            rng.shuffle(&mut places);
            let field = |(&basic, displacement)| Field { length: int(1), displacement, inner: named(basic) };
            let fields = signature.iter().zip(places).map(field).collect();
            (settle(TypeSpec::Struct { fields }, limits.padding), 1)
        }
        _ => (etype.clone(), 1),
    }
}
