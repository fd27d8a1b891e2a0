//! Type maps of the standard's examples (MPI-4.1, chapter 5) and of others worked out by hand.

use tatpio_model::{Block, Dimension, Distribution, Field, Named, Order, TypeSpec, View};

fn named(named: Named) -> TypeSpec {
    TypeSpec::Named(named)
}

fn block(length: i32, displacement: i64) -> Block {
    Block { length, displacement }
}

fn field(length: i32, displacement: i64, inner: TypeSpec) -> Field {
    Field { length, displacement, inner }
}

fn boxed(spec: &TypeSpec) -> Box<TypeSpec> {
    Box::new(spec.clone())
}

/// The type of Example 5.1: a double at 0, a char at 8; extent 16.
fn double_char() -> TypeSpec {
    TypeSpec::Struct { fields: vec![field(1, 0, named(Named::Double)), field(1, 8, TypeSpec::BYTE)] }
}

/// Compares a type's map, as (displacement, length) pairs, and its lower bound and extent.
fn check(spec: &TypeSpec, map: &[(i64, u64)], lb: i64, extent: i64) {
    assert_eq!(spec.type_map(), map, "{spec}");
    assert_eq!((spec.lb(), spec.extent()), (lb, extent), "bounds of {spec}");
    assert_eq!(spec.size(), map.iter().map(|entry| entry.1).sum::<u64>(), "size of {spec}");
    let first = map.iter().map(|entry| entry.0).min().unwrap_or(0);
    let end = map.iter().map(|entry| entry.0 + entry.1 as i64).max().unwrap_or(0);
    assert_eq!((spec.true_lb(), spec.true_extent()), (first, end - first), "true bounds of {spec}");
}

/// Pairs of a double and a char at each of the displacements.
fn pairs(at: &[i64]) -> Vec<(i64, u64)> {
    at.iter().flat_map(|&at| [(at, 8), (at + 8, 1)]).collect()
}

#[test]
fn the_examples_of_the_standard() {
    let old = double_char();
    check(&old, &pairs(&[0]), 0, 16);
    // Example 5.2: contiguous.
    check(&TypeSpec::contiguous(3, old.clone()), &pairs(&[0, 16, 32]), 0, 48);
    // Example 5.3: vector(2, 3, 4).
    let vector = TypeSpec::Vector { count: 2, blocklength: 3, stride: 4, inner: boxed(&old) };
    check(&vector, &pairs(&[0, 16, 32, 64, 80, 96]), 0, 112);
    // Example 5.4: vector(3, 1, -2).
    let vector = TypeSpec::Vector { count: 3, blocklength: 1, stride: -2, inner: boxed(&old) };
    check(&vector, &pairs(&[0, -32, -64]), -64, 80);
    // Example 5.5: indexed, blocks of 3 and 1 at 4 and 0.
    let indexed = TypeSpec::Indexed { blocks: vec![block(3, 4), block(1, 0)], inner: boxed(&old) };
    check(&indexed, &pairs(&[64, 80, 96, 0]), 0, 112);
    // Example 5.6: struct of 2 floats, one such pair, and 3 chars, at 0, 16 and 26.
    let fields = vec![field(2, 0, named(Named::Int)), field(1, 16, old), field(3, 26, TypeSpec::BYTE)];
    let map = [(0, 4), (4, 4), (16, 8), (24, 1), (26, 1), (27, 1), (28, 1)];
    check(&TypeSpec::Struct { fields }, &map, 0, 32);
}

#[test]
fn explicit_bounds_hide_natural_ones() {
    // Section 5.1.7: type1 has bounds -3 and 6; two of them 9 apart have bounds -3 and 15.
    let type1 = TypeSpec::resized(-3, 9, named(Named::Int));
    check(&type1, &[(0, 4)], -3, 9);
    check(&TypeSpec::contiguous(2, type1.clone()), &[(0, 4), (9, 4)], -3, 18);
    let fields = vec![field(1, 0, type1.clone()), field(1, 9, type1.clone())];
    check(&TypeSpec::Struct { fields }, &[(0, 4), (9, 4)], -3, 18);
    // A part with explicit bounds decides, although the other reaches further on both sides.
    let fields =
        vec![field(1, -8, named(Named::Int)), field(1, 0, type1.clone()), field(1, 100, TypeSpec::BYTE)];
    check(&TypeSpec::Struct { fields }, &[(-8, 4), (0, 4), (100, 1)], -3, 9);
    // Setting bounds again forgets the ones before.
    check(&TypeSpec::resized(2, 3, type1), &[(0, 4)], 2, 3);
}

#[test]
fn pairs_have_a_gap_or_padding() {
    check(&named(Named::ShortInt), &[(0, 2), (4, 4)], 0, 8);
    check(&named(Named::DoubleInt), &[(0, 8), (8, 4)], 0, 16);
    check(&TypeSpec::contiguous(2, named(Named::DoubleInt)), &[(0, 8), (8, 4), (16, 8), (24, 4)], 0, 32);
}

#[test]
fn nothing_is_an_ordinary_type() {
    let int = named(Named::Int);
    let empty = [
        TypeSpec::contiguous(0, int.clone()),
        TypeSpec::Vector { count: 0, blocklength: 2, stride: 3, inner: boxed(&int) },
        TypeSpec::Vector { count: 2, blocklength: 0, stride: 3, inner: boxed(&int) },
        TypeSpec::Hindexed { blocks: vec![block(0, 40)], inner: boxed(&int) },
        TypeSpec::Struct { fields: Vec::new() },
    ];
    for spec in empty {
        check(&spec, &[], 0, 0);
    }
    check(&TypeSpec::resized(-4, 12, TypeSpec::contiguous(0, int.clone())), &[], -4, 12);
    // An empty block leaves no trace, wherever it is.
    let blocks = vec![block(0, -100), block(2, 12), block(0, 100), block(1, 3)];
    check(&TypeSpec::Hindexed { blocks, inner: boxed(&int) }, &[(12, 4), (16, 4), (3, 4)], 3, 20);
}

#[test]
fn displacements_count_elements_or_bytes() {
    let int = named(Named::Int);
    let elements = TypeSpec::IndexedBlock { blocklength: 2, displacements: vec![5, -1], inner: boxed(&int) };
    check(&elements, &[(20, 4), (24, 4), (-4, 4), (0, 4)], -4, 32);
    let bytes = TypeSpec::HindexedBlock { blocklength: 2, displacements: vec![5, -1], inner: boxed(&int) };
    check(&bytes, &[(5, 4), (9, 4), (-1, 4), (3, 4)], -1, 16);
    let hvector =
        TypeSpec::Hvector { count: 3, blocklength: 1, stride: -6, inner: boxed(&named(Named::Short)) };
    check(&hvector, &[(0, 2), (-6, 2), (-12, 2)], -12, 14);
    check(&TypeSpec::Dup(boxed(&hvector)), &[(0, 2), (-6, 2), (-12, 2)], -12, 14);
}

/// The elements that a subarray or darray of bytes has, and the size of the whole array.
fn check_elements(spec: &TypeSpec, elements: &[i64], whole: i64) {
    let map: Vec<(i64, u64)> = elements.iter().map(|&element| (element, 1)).collect();
    check(spec, &map, 0, whole);
}

#[test]
fn subarrays() {
    let spec = |sizes: &[i32], subsizes: &[i32], starts: &[i32], order| TypeSpec::Subarray {
        sizes: sizes.to_vec(),
        subsizes: subsizes.to_vec(),
        starts: starts.to_vec(),
        order,
        inner: Box::new(TypeSpec::BYTE),
    };
    check_elements(&spec(&[10], &[3], &[4], Order::C), &[4, 5, 6], 10);
    // Rows 1 and 2, columns 2 to 4, of 4 rows of 6.
    check_elements(&spec(&[4, 6], &[2, 3], &[1, 2], Order::C), &[8, 9, 10, 14, 15, 16], 24);
    // The same indices of an array stored by columns of 4.
    check_elements(&spec(&[4, 6], &[2, 3], &[1, 2], Order::Fortran), &[9, 10, 13, 14, 17, 18], 24);
    check_elements(&spec(&[2, 2, 3], &[2, 1, 2], &[0, 1, 1], Order::C), &[4, 5, 10, 11], 12);
    check_elements(&spec(&[2, 2, 3], &[2, 1, 2], &[0, 1, 1], Order::Fortran), &[6, 7, 10, 11], 12);
    // Elements with a gap keep their extent.
    let inner = Box::new(TypeSpec::resized(0, 4, named(Named::Short)));
    let spaced =
        TypeSpec::Subarray { sizes: vec![3], subsizes: vec![2], starts: vec![1], order: Order::C, inner };
    check(&spaced, &[(4, 2), (8, 2)], 0, 12);
}

#[test]
fn darrays() {
    let dimension = |global, distribution, arg, processes| Dimension { global, distribution, arg, processes };
    let darray = |rank, order, dimensions: &[Dimension]| {
        let size = dimensions.iter().map(|dimension| dimension.processes).product();
        let inner = Box::new(TypeSpec::BYTE);
        TypeSpec::Darray { size, rank, dimensions: dimensions.to_vec(), order, inner }
    };
    use Distribution::{Block, Cyclic, None as Undealt};
    // Blocks of ceil(10 / 4) = 3: the last process has one element.
    let even = [dimension(10, Block, None, 4)];
    for (rank, elements) in [(0, vec![0, 1, 2]), (2, vec![6, 7, 8]), (3, vec![9])] {
        check_elements(&darray(rank, Order::C, &even), &elements, 10);
    }
    // Blocks of 5 leave the last two processes nothing.
    check_elements(&darray(3, Order::C, &[dimension(10, Block, Some(5), 4)]), &[], 10);
    check_elements(&darray(1, Order::C, &[dimension(7, Cyclic, None, 3)]), &[1, 4], 7);
    check_elements(&darray(0, Order::C, &[dimension(11, Cyclic, Some(2), 3)]), &[0, 1, 6, 7], 11);
    check_elements(&darray(2, Order::C, &[dimension(11, Cyclic, Some(2), 3)]), &[4, 5, 10], 11);
    // Process 1 of a 2 by 2 grid is at (0, 1) in both orders of storage.
    let plane = [dimension(4, Block, None, 2), dimension(4, Cyclic, None, 2)];
    check_elements(&darray(1, Order::C, &plane), &[1, 3, 5, 7], 16);
    check_elements(&darray(1, Order::Fortran, &plane), &[4, 5, 12, 13], 16);
    let rows = [dimension(3, Block, None, 3), dimension(2, Undealt, None, 1)];
    check_elements(&darray(1, Order::C, &rows), &[2, 3], 6);
    check_elements(&darray(1, Order::Fortran, &rows), &[1, 4], 6);
}

#[test]
fn views_tile_the_file() {
    let int = named(Named::Int);
    // Two ints of every four, from byte 10 on.
    let filetype = TypeSpec::resized(0, 16, TypeSpec::contiguous(2, int.clone()));
    let view = View { disp: 10, etype: int.clone(), filetype };
    let runs = |starts: &[u64]| starts.iter().flat_map(|&at| at..at + 4).collect::<Vec<u64>>();
    assert_eq!(view.file_bytes(0, 12), runs(&[10, 14, 26]));
    assert_eq!(view.file_bytes(3, 12), runs(&[30, 42, 46]));
    // The lower bound does not move data: tiles start where the displacement and the extent say.
    let filetype = TypeSpec::resized(
        -8,
        12,
        TypeSpec::HindexedBlock { blocklength: 1, displacements: vec![4], inner: Box::new(int.clone()) },
    );
    let view = View { disp: 0, etype: int, filetype };
    assert_eq!(view.file_bytes(1, 8), runs(&[16, 28]));
}

#[test]
fn types_read_like_calls() {
    let inner = Box::new(TypeSpec::resized(0, 16, named(Named::Double)));
    let vector = TypeSpec::Vector { count: 3, blocklength: 2, stride: -4, inner };
    let fields = vec![field(1, 0, vector), field(2, -8, TypeSpec::BYTE)];
    let text = "struct([1@0 vector(3, 2, -4, resized(0, 16, Double)), 2@-8 Byte])";
    assert_eq!(TypeSpec::Struct { fields }.to_string(), text);
}
