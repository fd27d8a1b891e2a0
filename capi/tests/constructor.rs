//! What a constructor call's arguments mean, without an MPI library: the model's types, as
//! MPI_Type_get_contents would list them, come out as the bytes that the model says.

#[path = "../src/constructor.rs"]
mod constructor;

use constructor::{ArrayConstants, Call, Combiner};
use tatpio::plan::{Access, Layout, View};
use tatpio_model::{Distribution, Limits, Order, TypeMap, TypeSpec, generate};

/// Numbers of our own: no MPI library is asked.
const CONSTANTS: ArrayConstants = ArrayConstants {
    order_c: 56,
    order_fortran: 57,
    distribute_none: 121,
    distribute_block: 122,
    distribute_cyclic: 123,
    default_argument: -49_767,
};

/// Far enough from 0 for every negative displacement of the generator.
const ORIGIN: u64 = 1 << 40;

#[test]
fn layouts_are_those_of_the_model() {
    let mut types = 0;
    for seed in 0..1500 {
        let case = generate(seed, &Limits { ranks_max: 8, bytes_max: 1 << 12, ..Limits::default() });
        let views = case.ranks.iter().map(|rank| &rank.view.filetype);
        let memory = case.ops.iter().flat_map(|op| op.ranks.iter().map(|access| &access.memtype));
        for spec in views.chain(memory) {
            for large in [false, true] {
                check(spec, large)
                    .unwrap_or_else(|text| panic!("large {large}: {spec}: {text}; seed {seed}"));
            }
            types += 1;
        }
    }
    assert!(types > 5000, "only {types} types");
}

fn check(spec: &TypeSpec, large: bool) -> Result<(), String> {
    let layout = layout(spec, large);
    let map = TypeMap::of(spec);
    if (layout.size(), layout.lower_bound(), layout.extent()) != (map.size(), map.lb(), map.extent()) {
        let (size, lower, extent) = (layout.size(), layout.lower_bound(), layout.extent());
        let (right_lb, right_extent) = (map.lb(), map.extent());
        return Err(format!(
            "size {size}, lower bound {lower}, extent {extent}; not {}, {right_lb}, {right_extent}",
            map.size()
        ));
    }
    let view = View { displacement: ORIGIN, filetype: layout, etype_bytes: 1 };
    let access = Access::new(&view, 0, map.size()).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    access.visit(access.hull(), |at, stream, bytes| {
        found.extend((0..bytes).map(|byte| (stream + byte, at + byte)));
    });
    found.sort_unstable();
    let place = |at: &i64| ORIGIN.checked_add_signed(*at).expect("near the origin");
    let expected: Vec<(u64, u64)> = (0..).zip(map.bytes().iter().map(place)).collect();
    if found == expected { Ok(()) } else { Err(format!("bytes at {found:?}, not {expected:?}")) }
}

/// The layout of a type, level by level as the interposer takes it apart.
fn layout(spec: &TypeSpec, large: bool) -> Layout {
    let Some((combiner, arguments)) = contents(spec, large) else {
        return named(spec);
    };
    let elements: Vec<Layout> = spec.children().into_iter().map(|child| layout(child, large)).collect();
    let call = Call { combiner, arguments: &arguments, large, elements: &elements, constants: CONSTANTS };
    let bare = call.layout().expect("the generator's types are small");
    match combiner {
        // The MPI library says how a structure is padded; here, the model.
        Combiner::Struct => bare.resized(spec.lb(), spec.extent()).expect("small"),
        _ => bare,
    }
}

fn named(spec: &TypeSpec) -> Layout {
    let byte = Layout::bytes(1).expect("small");
    let blocks: Vec<(u64, i64)> = spec.type_map().into_iter().map(|(at, bytes)| (bytes, at)).collect();
    Layout::hindexed(&blocks, &byte).expect("small").resized(spec.lb(), spec.extent()).expect("small")
}

/// The combiner of a derived type and its lists, joined (MPI-4.1, section 5.1.13).
fn contents(spec: &TypeSpec, large: bool) -> Option<(Combiner, Vec<i64>)> {
    let wide = |value: &i32| i64::from(*value);
    let list = |values: &[i32]| values.iter().map(wide).collect::<Vec<i64>>();
    let blocks = |blocks: &[tatpio_model::Block]| {
        let lengths = blocks.iter().map(|block| i64::from(block.length));
        let places = blocks.iter().map(|block| block.displacement);
        [blocks.len() as i64].into_iter().chain(lengths).chain(places).collect::<Vec<i64>>()
    };
    Some(match spec {
        TypeSpec::Named(_) => return None,
        TypeSpec::Dup(_) => (Combiner::Dup, Vec::new()),
        TypeSpec::Contiguous { count, .. } => (Combiner::Contiguous, vec![wide(count)]),
        TypeSpec::Vector { count, blocklength, stride, .. } => {
            (Combiner::Vector, vec![wide(count), wide(blocklength), wide(stride)])
        }
        TypeSpec::Hvector { count, blocklength, stride, .. } => {
            (Combiner::Hvector, vec![wide(count), wide(blocklength), *stride])
        }
        TypeSpec::Indexed { blocks: all, .. } => (Combiner::Indexed, blocks(all)),
        TypeSpec::Hindexed { blocks: all, .. } => (Combiner::Hindexed, blocks(all)),
        TypeSpec::IndexedBlock { blocklength, displacements, .. } => {
            let head = vec![displacements.len() as i64, wide(blocklength)];
            (Combiner::IndexedBlock, [head, list(displacements)].concat())
        }
        TypeSpec::HindexedBlock { blocklength, displacements, .. } => {
            let head = vec![displacements.len() as i64, wide(blocklength)];
            (Combiner::HindexedBlock, [head, displacements.clone()].concat())
        }
        TypeSpec::Struct { fields } => {
            let lengths: Vec<i64> = fields.iter().map(|field| wide(&field.length)).collect();
            let places: Vec<i64> = fields.iter().map(|field| field.displacement).collect();
            (Combiner::Struct, [vec![fields.len() as i64], lengths, places].concat())
        }
        TypeSpec::Subarray { sizes, subsizes, starts, order, .. } => {
            let (head, order) = (vec![sizes.len() as i64], vec![order_number(*order)]);
            let lists = [list(sizes), list(subsizes), list(starts)].concat();
            let all = if large { [head, order, lists] } else { [head, lists, order] };
            (Combiner::Subarray, all.concat())
        }
        TypeSpec::Darray { size, rank, dimensions, order, .. } => {
            let head = vec![wide(size), wide(rank), dimensions.len() as i64];
            let sizes: Vec<i64> = dimensions.iter().map(|d| wide(&d.global)).collect();
            let kinds: Vec<i64> = dimensions.iter().map(|d| distribution_number(d.distribution)).collect();
            let default = CONSTANTS.default_argument;
            let values: Vec<i64> = dimensions.iter().map(|d| d.arg.map_or(default, i64::from)).collect();
            let grid: Vec<i64> = dimensions.iter().map(|d| wide(&d.processes)).collect();
            let order = vec![order_number(*order)];
            let all = if large {
                [head, kinds, values, grid, order, sizes]
            } else {
                [head, sizes, kinds, values, grid, order]
            };
            (Combiner::Darray, all.concat())
        }
        TypeSpec::Resized { lb, extent, .. } => (Combiner::Resized, vec![*lb, *extent]),
    })
}

fn order_number(order: Order) -> i64 {
    match order {
        Order::C => CONSTANTS.order_c,
        Order::Fortran => CONSTANTS.order_fortran,
    }
}

fn distribution_number(distribution: Distribution) -> i64 {
    match distribution {
        Distribution::None => CONSTANTS.distribute_none,
        Distribution::Block => CONSTANTS.distribute_block,
        Distribution::Cyclic => CONSTANTS.distribute_cyclic,
    }
}

/// Lists that no call can have are errors, not panics: they come from another library's memory.
#[test]
fn lists_that_do_not_fit_are_refused() {
    let byte = [Layout::bytes(1).expect("small")];
    let refused = |combiner, arguments: &[i64], elements: &[Layout]| {
        let call = Call { combiner, arguments, large: false, elements, constants: CONSTANTS };
        assert!(call.layout().is_err(), "{combiner:?} {arguments:?}");
    };
    refused(Combiner::Contiguous, &[], &byte);
    refused(Combiner::Contiguous, &[-1], &byte);
    refused(Combiner::Contiguous, &[2], &[]);
    refused(Combiner::Contiguous, &[i64::MAX], &[Layout::bytes(2).expect("small")]);
    refused(Combiner::Indexed, &[2, 1, 1, 0], &byte);
    refused(Combiner::IndexedBlock, &[i64::MAX, 1], &byte);
    refused(Combiner::Struct, &[2, 1, 1, 0, 8], &byte);
    refused(Combiner::Subarray, &[1, 4, 2, 1, 58], &byte);
    refused(Combiner::Darray, &[2, 2, 1, 8, 122, -49_767, 2, 56], &byte);
    refused(Combiner::Darray, &[2, 0, 1, 8, 124, -49_767, 2, 56], &byte);
}
