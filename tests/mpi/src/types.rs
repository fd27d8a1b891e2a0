//! The model's datatypes, built by the constructor calls that they stand for.

use crate::mpi_io::{Datatype, Result};
use pmpi_sys::{self as ffi, MPI_Aint, MPI_Datatype, consts};
use std::ffi::c_int;
use tatpio_model::{Dimension, Distribution, Named, Order, TypeSpec};

/// Builds a datatype, not committed. With `large`, by the constructors with large counts where the MPI
/// library has them.
///
/// Around a struct goes an MPI_Type_create_resized to the model's bounds: its padding is the MPI library's
/// choice (MPI-4.1, section 5.1.6).
pub fn build(spec: &TypeSpec, large: bool) -> Result<Datatype> {
    let inner: Vec<Datatype> =
        spec.children().into_iter().map(|child| build(child, large)).collect::<Result<_>>()?;
    let built = match spec {
        TypeSpec::Named(named) => return Ok(Datatype { raw: handle(*named), derived: false }),
        _ if large && cfg!(large_count) => large_count(spec, &inner)?,
        _ => small_count(spec, &inner)?,
    };
    match spec {
        TypeSpec::Struct { .. } => resized(spec.lb(), spec.extent(), &built),
        _ => Ok(built),
    }
}

fn handle(named: Named) -> MPI_Datatype {
    match named {
        Named::Byte => consts::byte(),
        Named::Short => consts::short(),
        Named::Int => consts::int(),
        Named::Double => consts::double(),
        Named::ShortInt => consts::short_int(),
        Named::DoubleInt => consts::double_int(),
    }
}

fn resized(lb: i64, extent: i64, inner: &Datatype) -> Result<Datatype> {
    let (old, lb, extent) = (inner.raw, address(lb), address(extent));
    // SAFETY: a live type; the constructor writes the new one.
    unsafe {
        Datatype::new("MPI_Type_create_resized", |new| ffi::PMPI_Type_create_resized(old, lb, extent, new))
    }
}

fn order(order: Order) -> c_int {
    match order {
        Order::C => ffi::MPI_ORDER_C,
        Order::Fortran => ffi::MPI_ORDER_FORTRAN,
    }
}

fn distribution(dimension: &Dimension) -> c_int {
    match dimension.distribution {
        Distribution::None => ffi::MPI_DISTRIBUTE_NONE,
        Distribution::Block => ffi::MPI_DISTRIBUTE_BLOCK,
        Distribution::Cyclic => ffi::MPI_DISTRIBUTE_CYCLIC,
    }
}

/// What the grid of a distributed array looks like, one entry a dimension.
struct Grid {
    kinds: Vec<c_int>,
    values: Vec<c_int>,
    processes: Vec<c_int>,
}

impl Grid {
    fn of(dimensions: &[Dimension]) -> Grid {
        Grid {
            kinds: dimensions.iter().map(distribution).collect(),
            values: dimensions.iter().map(|d| d.arg.unwrap_or(ffi::MPI_DISTRIBUTE_DFLT_DARG)).collect(),
            processes: dimensions.iter().map(|d| d.processes).collect(),
        }
    }
}

/// A displacement in bytes: MPI_Aint is a type of its own in each library, of 64 bits in all.
#[allow(clippy::unnecessary_cast)] // in MPICH it is i64
fn address(displacement: i64) -> MPI_Aint {
    displacement as MPI_Aint
}

/// The length of a list as MPI's int.
fn count<T>(list: &[T]) -> c_int {
    c_int::try_from(list.len()).expect("a short list")
}

/// By the constructors that every MPI library has. Panics on a named type.
fn small_count(spec: &TypeSpec, inner: &[Datatype]) -> Result<Datatype> {
    let types: Vec<MPI_Datatype> = inner.iter().map(|element| element.raw).collect();
    let old = types.first().copied().unwrap_or(consts::datatype_null());
    let call = spec.constructor();
    // SAFETY: in every call the lists have the announced lengths and live until it returns, the types are
    // live, and the constructor writes the new one.
    unsafe {
        match spec {
            TypeSpec::Named(_) => unreachable!("not constructed"),
            TypeSpec::Dup(_) => Datatype::new(call, |new| ffi::PMPI_Type_dup(old, new)),
            TypeSpec::Contiguous { count, .. } => {
                Datatype::new(call, |new| ffi::PMPI_Type_contiguous(*count, old, new))
            }
            TypeSpec::Vector { count, blocklength, stride, .. } => {
                Datatype::new(call, |new| ffi::PMPI_Type_vector(*count, *blocklength, *stride, old, new))
            }
            TypeSpec::Hvector { count, blocklength, stride, .. } => Datatype::new(call, |new| {
                ffi::PMPI_Type_create_hvector(*count, *blocklength, address(*stride), old, new)
            }),
            TypeSpec::Indexed { blocks, .. } => {
                let lengths: Vec<c_int> = blocks.iter().map(|block| block.length).collect();
                let fit = |block: &tatpio_model::Block| {
                    c_int::try_from(block.displacement).expect("fits (TypeSpec)")
                };
                let places: Vec<c_int> = blocks.iter().map(fit).collect();
                let (number, lengths, places) = (count(blocks), lengths.as_ptr(), places.as_ptr());
                Datatype::new(call, |new| ffi::PMPI_Type_indexed(number, lengths, places, old, new))
            }
            TypeSpec::Hindexed { blocks, .. } => {
                let lengths: Vec<c_int> = blocks.iter().map(|block| block.length).collect();
                let places: Vec<MPI_Aint> = blocks.iter().map(|block| address(block.displacement)).collect();
                let (number, lengths, places) = (count(blocks), lengths.as_ptr(), places.as_ptr());
                Datatype::new(call, |new| ffi::PMPI_Type_create_hindexed(number, lengths, places, old, new))
            }
            TypeSpec::IndexedBlock { blocklength, displacements, .. } => {
                let (number, places) = (count(displacements), displacements.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_indexed_block(number, *blocklength, places, old, new)
                })
            }
            TypeSpec::HindexedBlock { blocklength, displacements, .. } => {
                let places: Vec<MPI_Aint> = displacements.iter().map(|&place| address(place)).collect();
                let (number, places) = (count(displacements), places.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_hindexed_block(number, *blocklength, places, old, new)
                })
            }
            TypeSpec::Struct { fields } => {
                let lengths: Vec<c_int> = fields.iter().map(|field| field.length).collect();
                let places: Vec<MPI_Aint> = fields.iter().map(|field| address(field.displacement)).collect();
                let (number, lengths, places) = (count(fields), lengths.as_ptr(), places.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_struct(number, lengths, places, types.as_ptr(), new)
                })
            }
            TypeSpec::Subarray { sizes, subsizes, starts, order: stored, .. } => {
                let (number, stored) = (count(sizes), order(*stored));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_subarray(number, sizes, subsizes, starts, stored, old, new)
                })
            }
            TypeSpec::Darray { size, rank, dimensions, order: stored, .. } => {
                let sizes: Vec<c_int> = dimensions.iter().map(|dimension| dimension.global).collect();
                let grid = Grid::of(dimensions);
                let (number, sizes, stored) = (count(dimensions), sizes.as_ptr(), order(*stored));
                let (kinds, values, processes) =
                    (grid.kinds.as_ptr(), grid.values.as_ptr(), grid.processes.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_darray(
                        *size, *rank, number, sizes, kinds, values, processes, stored, old, new,
                    )
                })
            }
            TypeSpec::Resized { lb, extent, .. } => resized(*lb, *extent, &inner[0]),
        }
    }
}

#[cfg(not(large_count))]
fn large_count(spec: &TypeSpec, inner: &[Datatype]) -> Result<Datatype> {
    small_count(spec, inner)
}

/// By the constructors with large counts (MPI-4.0). Panics on a named type.
#[cfg(large_count)]
fn large_count(spec: &TypeSpec, inner: &[Datatype]) -> Result<Datatype> {
    use pmpi_sys::MPI_Count;
    fn counts<T: Copy + Into<MPI_Count>>(list: &[T]) -> Vec<MPI_Count> {
        list.iter().map(|&value| value.into()).collect()
    }
    let wide = |value: c_int| MPI_Count::from(value);
    let types: Vec<MPI_Datatype> = inner.iter().map(|element| element.raw).collect();
    let old = types.first().copied().unwrap_or(consts::datatype_null());
    let call = spec.constructor();
    // SAFETY: as in `small_count`.
    unsafe {
        match spec {
            TypeSpec::Named(_) => unreachable!("not constructed"),
            TypeSpec::Dup(_) => small_count(spec, inner),
            TypeSpec::Contiguous { count, .. } => {
                Datatype::new(call, |new| ffi::PMPI_Type_contiguous_c(wide(*count), old, new))
            }
            TypeSpec::Vector { count, blocklength, stride, .. } => Datatype::new(call, |new| {
                ffi::PMPI_Type_vector_c(wide(*count), wide(*blocklength), wide(*stride), old, new)
            }),
            TypeSpec::Hvector { count, blocklength, stride, .. } => Datatype::new(call, |new| {
                ffi::PMPI_Type_create_hvector_c(wide(*count), wide(*blocklength), *stride, old, new)
            }),
            TypeSpec::Indexed { blocks, .. } | TypeSpec::Hindexed { blocks, .. } => {
                let lengths: Vec<MPI_Count> = blocks.iter().map(|block| wide(block.length)).collect();
                let places: Vec<MPI_Count> = blocks.iter().map(|block| block.displacement).collect();
                let (number, lengths, places) = (wide(count(blocks)), lengths.as_ptr(), places.as_ptr());
                let create = match spec {
                    TypeSpec::Indexed { .. } => ffi::PMPI_Type_indexed_c,
                    _ => ffi::PMPI_Type_create_hindexed_c,
                };
                Datatype::new(call, |new| create(number, lengths, places, old, new))
            }
            TypeSpec::IndexedBlock { blocklength, displacements, .. } => {
                let places = counts(displacements);
                let (number, places) = (wide(count(displacements)), places.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_indexed_block_c(number, wide(*blocklength), places, old, new)
                })
            }
            TypeSpec::HindexedBlock { blocklength, displacements, .. } => {
                let (number, places) = (wide(count(displacements)), displacements.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_hindexed_block_c(number, wide(*blocklength), places, old, new)
                })
            }
            TypeSpec::Struct { fields } => {
                let lengths: Vec<MPI_Count> = fields.iter().map(|field| wide(field.length)).collect();
                let places: Vec<MPI_Count> = fields.iter().map(|field| field.displacement).collect();
                let (number, lengths, places) = (wide(count(fields)), lengths.as_ptr(), places.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_struct_c(number, lengths, places, types.as_ptr(), new)
                })
            }
            TypeSpec::Subarray { sizes, subsizes, starts, order: stored, .. } => {
                let (number, stored) = (count(sizes), order(*stored));
                let (sizes, subsizes, starts) = (counts(sizes), counts(subsizes), counts(starts));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_subarray_c(number, sizes, subsizes, starts, stored, old, new)
                })
            }
            TypeSpec::Darray { size, rank, dimensions, order: stored, .. } => {
                let sizes: Vec<MPI_Count> =
                    dimensions.iter().map(|dimension| wide(dimension.global)).collect();
                let grid = Grid::of(dimensions);
                let (number, sizes, stored) = (count(dimensions), sizes.as_ptr(), order(*stored));
                let (kinds, values, processes) =
                    (grid.kinds.as_ptr(), grid.values.as_ptr(), grid.processes.as_ptr());
                Datatype::new(call, |new| {
                    ffi::PMPI_Type_create_darray_c(
                        *size, *rank, number, sizes, kinds, values, processes, stored, old, new,
                    )
                })
            }
            TypeSpec::Resized { lb, extent, .. } => {
                Datatype::new(call, |new| ffi::PMPI_Type_create_resized_c(old, *lb, *extent, new))
            }
        }
    }
}
