//! Which elements of an array a subarray or a process of a distributed array has: asked of every element in turn.

use crate::spec::{Dimension, Distribution, Order};

/// The linear positions, in elements and in storage order, of the elements whose indices `has` accepts.
fn elements(sizes: &[i32], order: Order, has: impl Fn(&[i64]) -> bool) -> Vec<i64> {
    let total: i64 = sizes.iter().map(|&size| i64::from(size)).product();
    (0..total).filter(|&linear| has(&indices(linear, sizes, order))).collect()
}

/// The index in each dimension of the element at a linear position.
fn indices(mut linear: i64, sizes: &[i32], order: Order) -> Vec<i64> {
    let mut index = vec![0; sizes.len()];
    let mut take = |dimension: usize| {
        index[dimension] = linear % i64::from(sizes[dimension]);
        linear /= i64::from(sizes[dimension]);
    };
    match order {
        Order::C => (0..sizes.len()).rev().for_each(&mut take),
        Order::Fortran => (0..sizes.len()).for_each(&mut take),
    }
    index
}

/// The elements of `MPI_Type_create_subarray` (MPI-4.1, section 5.1.3).
pub(crate) fn subarray(sizes: &[i32], subsizes: &[i32], starts: &[i32], order: Order) -> Vec<i64> {
    elements(sizes, order, |index| {
        (0..sizes.len()).all(|d| {
            let start = i64::from(starts[d]);
            (start..start + i64::from(subsizes[d])).contains(&index[d])
        })
    })
}

/// The elements of `MPI_Type_create_darray` (MPI-4.1, section 5.1.4).
pub(crate) fn darray(rank: i32, dimensions: &[Dimension], order: Order) -> Vec<i64> {
    let sizes: Vec<i32> = dimensions.iter().map(|dimension| dimension.global).collect();
    let processes: Vec<i32> = dimensions.iter().map(|dimension| dimension.processes).collect();
    // The standard numbers the grid in C order, for both storage orders of the array.
    let place = indices(i64::from(rank), &processes, Order::C);
    elements(&sizes, order, |index| {
        dimensions.iter().enumerate().all(|(d, dimension)| owner(dimension, index[d]) == place[d])
    })
}

/// The place along a dimension of the process that has an index.
fn owner(dimension: &Dimension, index: i64) -> i64 {
    let processes = i64::from(dimension.processes);
    match dimension.distribution {
        Distribution::None => 0,
        Distribution::Block => {
            let even = (i64::from(dimension.global) + processes - 1) / processes;
            index / dimension.arg.map_or(even, i64::from)
        }
        Distribution::Cyclic => index / dimension.arg.map_or(1, i64::from) % processes,
    }
}
