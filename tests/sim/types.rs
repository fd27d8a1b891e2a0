//! From the model's datatypes to the library's.

use tatpio::plan::{self, Layout};
use tatpio_model::{Dimension, Distribution, Named, Order, TypeSpec};

/// The same datatype, by the constructors of the same names.
pub fn layout(spec: &TypeSpec) -> Layout {
    let size = |value: i32| u64::try_from(value).expect("counts are not negative");
    let sizes = |values: &[i32]| values.iter().map(|&value| size(value)).collect::<Vec<_>>();
    let built = match spec {
        TypeSpec::Named(named) => return basic(*named),
        TypeSpec::Dup(inner) => return layout(inner),
        TypeSpec::Contiguous { count, inner } => Layout::contiguous(size(*count), &layout(inner)),
        TypeSpec::Vector { count, blocklength, stride, inner } => {
            let inner = layout(inner);
            Layout::hvector(size(*count), size(*blocklength), i64::from(*stride) * inner.extent(), &inner)
        }
        TypeSpec::Hvector { count, blocklength, stride, inner } => {
            Layout::hvector(size(*count), size(*blocklength), *stride, &layout(inner))
        }
        TypeSpec::Indexed { blocks, inner } => {
            let inner = layout(inner);
            let blocks: Vec<_> =
                blocks.iter().map(|b| (size(b.length), b.displacement * inner.extent())).collect();
            Layout::hindexed(&blocks, &inner)
        }
        TypeSpec::Hindexed { blocks, inner } => {
            let blocks: Vec<_> = blocks.iter().map(|b| (size(b.length), b.displacement)).collect();
            Layout::hindexed(&blocks, &layout(inner))
        }
        TypeSpec::IndexedBlock { blocklength, displacements, inner } => {
            let inner = layout(inner);
            let at = displacements.iter().map(|&d| (size(*blocklength), i64::from(d) * inner.extent()));
            Layout::hindexed(&at.collect::<Vec<_>>(), &inner)
        }
        TypeSpec::HindexedBlock { blocklength, displacements, inner } => {
            let at: Vec<_> = displacements.iter().map(|&d| (size(*blocklength), d)).collect();
            Layout::hindexed(&at, &layout(inner))
        }
        TypeSpec::Struct { fields } => {
            let fields: Vec<_> =
                fields.iter().map(|f| (size(f.length), f.displacement, layout(&f.inner))).collect();
            // The padding is the MPI library's business: here the model plays that part.
            Layout::structure(&fields).and_then(|layout| layout.resized(spec.lb(), spec.extent()))
        }
        TypeSpec::Subarray { sizes: all, subsizes, starts, order, inner } => Layout::subarray(
            &sizes(all),
            &sizes(subsizes),
            &sizes(starts),
            self::order(*order),
            &layout(inner),
        ),
        TypeSpec::Darray { rank, dimensions, order, inner, .. } => {
            let of =
                |f: fn(&Dimension) -> i32| -> Vec<u64> { dimensions.iter().map(|d| size(f(d))).collect() };
            let dealt: Vec<_> = dimensions.iter().map(distribution).collect();
            let grid = of(|d| d.processes);
            Layout::darray(size(*rank), &of(|d| d.global), &dealt, &grid, self::order(*order), &layout(inner))
        }
        TypeSpec::Resized { lb, extent, inner } => layout(inner).resized(*lb, *extent),
    };
    built.expect("the model's types fit 63 bits")
}

fn basic(named: Named) -> Layout {
    let gap = |first: u64, at: i64, extent: i64| {
        let field = |bytes| Layout::bytes(bytes).unwrap();
        Layout::structure(&[(1, 0, field(first)), (1, at, field(4))]).unwrap().resized(0, extent).unwrap()
    };
    match named {
        Named::Byte => Layout::bytes(1).unwrap(),
        Named::Short => Layout::bytes(2).unwrap(),
        Named::Int => Layout::bytes(4).unwrap(),
        Named::Double => Layout::bytes(8).unwrap(),
        Named::ShortInt => gap(2, 4, 8),
        Named::DoubleInt => gap(8, 8, 16),
    }
}

fn order(order: Order) -> plan::Order {
    match order {
        Order::C => plan::Order::C,
        Order::Fortran => plan::Order::Fortran,
    }
}

fn distribution(dimension: &Dimension) -> plan::Distribution {
    let block = dimension.arg.map(|arg| u64::try_from(arg).expect("block sizes are not negative"));
    match dimension.distribution {
        Distribution::None => plan::Distribution::None,
        Distribution::Block => plan::Distribution::Block(block),
        Distribution::Cyclic => plan::Distribution::Cyclic(block),
    }
}

/// Bounds and bytes agree with the naive type map, for the types of some thousand cases.
#[test]
fn layouts_match_the_naive_type_maps() {
    let limits = tatpio_model::Limits { ranks_max: 4, bytes_max: 1 << 12, ..Default::default() };
    for seed in 0..2000 {
        let case = tatpio_model::generate(seed, &limits);
        let views = case.ranks.iter().flat_map(|rank| [&rank.view.etype, &rank.view.filetype]);
        let memories = case.ops.iter().flat_map(|op| op.ranks.iter().map(|rank| &rank.memtype));
        for spec in views.chain(memories) {
            let found = layout(spec);
            assert_eq!(found.size(), spec.size(), "size of {spec}; {}", case.replay_line());
            assert_eq!(found.lower_bound(), spec.lb(), "lb of {spec}; {}", case.replay_line());
            assert_eq!(found.extent(), spec.extent(), "extent of {spec}; {}", case.replay_line());
        }
    }
}
