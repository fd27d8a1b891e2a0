//! What the MPI library says of a datatype: its bounds, and the constructor call that made it.

use super::{MPI_Count, MPI_Datatype, check, ffi, free_if_derived};
use crate::constructor::{ArrayConstants, Combiner};
use pmpi_sys::consts;
use std::ffi::c_int;
use tatpio::error::{Error, ErrorClass};
use tatpio::units::Bytes;

pub(crate) fn is_null_datatype(datatype: MPI_Datatype) -> bool {
    datatype == consts::datatype_null()
}

/// What the MPI library says of a datatype, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub size: Bytes,
    pub lower: i64,
    pub extent: i64,
}

/// Size and bounds of a datatype.
pub(crate) fn bounds(datatype: MPI_Datatype) -> Result<Bounds, Error> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: places for one count each.
    unsafe {
        check(ffi::PMPI_Type_size_x(datatype, &raw mut size), "MPI_Type_size_x")?;
        check(
            ffi::PMPI_Type_get_extent_x(datatype, &raw mut lower, &raw mut extent),
            "MPI_Type_get_extent_x",
        )?;
    }
    Ok(Bounds { size: u64::try_from(size).map_err(|_| too_large())?, lower, extent })
}

pub(super) fn too_large() -> Error {
    Error::Invalid { class: ErrorClass::Type, what: "a datatype is too large for the MPI library".into() }
}

/// What a datatype is made of.
pub(crate) enum Kind {
    /// A predefined type, named or of Fortran's parametrised ones.
    Basic,
    /// A constructor call.
    Derived(Contents),
    /// A constructor that is newer than tatpio: the number of its combiner.
    Unknown(c_int),
}

/// The arguments of the call that made a datatype; see [`crate::constructor::Call`].
pub(crate) struct Contents {
    pub combiner: Combiner,
    pub arguments: Vec<i64>,
    pub large: bool,
    elements: Vec<MPI_Datatype>,
}

impl Contents {
    /// The element types.
    pub fn elements(&self) -> &[MPI_Datatype] {
        &self.elements
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        self.elements.iter_mut().for_each(free_if_derived);
    }
}

/// The array constructors' constants of this MPI library.
pub(crate) fn array_constants() -> ArrayConstants {
    ArrayConstants {
        order_c: ffi::MPI_ORDER_C.into(),
        order_fortran: ffi::MPI_ORDER_FORTRAN.into(),
        distribute_none: ffi::MPI_DISTRIBUTE_NONE.into(),
        distribute_block: ffi::MPI_DISTRIBUTE_BLOCK.into(),
        distribute_cyclic: ffi::MPI_DISTRIBUTE_CYCLIC.into(),
        default_argument: ffi::MPI_DISTRIBUTE_DFLT_DARG.into(),
    }
}

/// How long the lists are that MPI_Type_get_contents fills.
pub(super) struct Envelope {
    integers: usize,
    addresses: usize,
    counts: usize,
    datatypes: usize,
    combiner: c_int,
}

impl Envelope {
    pub fn is_predefined(&self) -> bool {
        matches!(
            self.combiner,
            ffi::MPI_COMBINER_NAMED
                | ffi::MPI_COMBINER_F90_REAL
                | ffi::MPI_COMBINER_F90_COMPLEX
                | ffi::MPI_COMBINER_F90_INTEGER
        )
    }
}

fn combiner(number: c_int) -> Option<Combiner> {
    // MPI-3 took the names of the forms that only old Fortran calls make out of C; the libraries kept their
    // numbers, each just below that of the C form.
    const HVECTOR_INTEGER: c_int = ffi::MPI_COMBINER_HVECTOR - 1;
    const HINDEXED_INTEGER: c_int = ffi::MPI_COMBINER_HINDEXED - 1;
    const STRUCT_INTEGER: c_int = ffi::MPI_COMBINER_STRUCT - 1;
    Some(match number {
        ffi::MPI_COMBINER_DUP => Combiner::Dup,
        ffi::MPI_COMBINER_CONTIGUOUS => Combiner::Contiguous,
        ffi::MPI_COMBINER_VECTOR => Combiner::Vector,
        ffi::MPI_COMBINER_HVECTOR | HVECTOR_INTEGER => Combiner::Hvector,
        ffi::MPI_COMBINER_INDEXED => Combiner::Indexed,
        ffi::MPI_COMBINER_HINDEXED | HINDEXED_INTEGER => Combiner::Hindexed,
        ffi::MPI_COMBINER_INDEXED_BLOCK => Combiner::IndexedBlock,
        ffi::MPI_COMBINER_HINDEXED_BLOCK => Combiner::HindexedBlock,
        ffi::MPI_COMBINER_STRUCT | STRUCT_INTEGER => Combiner::Struct,
        ffi::MPI_COMBINER_SUBARRAY => Combiner::Subarray,
        ffi::MPI_COMBINER_DARRAY => Combiner::Darray,
        ffi::MPI_COMBINER_RESIZED => Combiner::Resized,
        _ => return None,
    })
}

/// Takes a datatype apart by one level.
pub(crate) fn take_apart(datatype: MPI_Datatype) -> Result<Kind, Error> {
    let envelope = envelope(datatype)?;
    if envelope.is_predefined() {
        return Ok(Kind::Basic);
    }
    match combiner(envelope.combiner) {
        None => Ok(Kind::Unknown(envelope.combiner)),
        Some(combiner) => Ok(Kind::Derived(contents(datatype, combiner, &envelope)?)),
    }
}

fn length(number: impl TryInto<usize>) -> usize {
    number.try_into().ok().expect("a list that MPI keeps in memory is addressable")
}

#[cfg(large_count)]
pub(super) fn envelope(datatype: MPI_Datatype) -> Result<Envelope, Error> {
    let (mut integers, mut addresses, mut counts, mut datatypes, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: places for four counts and one int.
    let code = unsafe {
        let (counts, datatypes) = (&raw mut counts, &raw mut datatypes);
        ffi::PMPI_Type_get_envelope_c(
            datatype,
            &raw mut integers,
            &raw mut addresses,
            counts,
            datatypes,
            &raw mut combiner,
        )
    };
    check(code, "MPI_Type_get_envelope_c")?;
    let (integers, addresses) = (length(integers), length(addresses));
    Ok(Envelope { integers, addresses, counts: length(counts), datatypes: length(datatypes), combiner })
}

#[cfg(not(large_count))]
pub(super) fn envelope(datatype: MPI_Datatype) -> Result<Envelope, Error> {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    // SAFETY: places for four ints.
    let code = unsafe {
        let (addresses, datatypes) = (&raw mut addresses, &raw mut datatypes);
        ffi::PMPI_Type_get_envelope(datatype, &raw mut integers, addresses, datatypes, &raw mut combiner)
    };
    check(code, "MPI_Type_get_envelope")?;
    let (integers, addresses) = (length(integers), length(addresses));
    Ok(Envelope { integers, addresses, counts: 0, datatypes: length(datatypes), combiner })
}

fn contents(datatype: MPI_Datatype, combiner: Combiner, envelope: &Envelope) -> Result<Contents, Error> {
    let mut integers: Vec<c_int> = vec![0; envelope.integers];
    let mut addresses: Vec<ffi::MPI_Aint> = vec![0; envelope.addresses];
    let mut counts: Vec<MPI_Count> = vec![0; envelope.counts];
    let mut elements = vec![consts::datatype_null(); envelope.datatypes];
    fill(datatype, &mut integers, &mut addresses, &mut counts, &mut elements)?;
    let mut arguments: Vec<i64> = integers.into_iter().map(i64::from).collect();
    #[allow(clippy::unnecessary_cast)] // MPI_Aint is i64 in MPICH, isize in Open MPI, 64 bits in both
    arguments.extend(addresses.into_iter().map(|address| address as i64));
    arguments.extend(counts);
    Ok(Contents { combiner, arguments, large: envelope.counts > 0, elements })
}

/// Fills the lists, which are as long as the envelope says.
#[cfg(large_count)]
fn fill(
    datatype: MPI_Datatype,
    integers: &mut [c_int],
    addresses: &mut [ffi::MPI_Aint],
    counts: &mut [MPI_Count],
    elements: &mut [MPI_Datatype],
) -> Result<(), Error> {
    let count = |length: usize| MPI_Count::try_from(length).expect("a list in memory");
    // SAFETY: each list is as long as announced.
    let code = unsafe {
        ffi::PMPI_Type_get_contents_c(
            datatype,
            count(integers.len()),
            count(addresses.len()),
            count(counts.len()),
            count(elements.len()),
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            counts.as_mut_ptr(),
            elements.as_mut_ptr(),
        )
    };
    check(code, "MPI_Type_get_contents_c")
}

/// Fills the lists, which are as long as the envelope says.
#[cfg(not(large_count))]
fn fill(
    datatype: MPI_Datatype,
    integers: &mut [c_int],
    addresses: &mut [ffi::MPI_Aint],
    _counts: &mut [MPI_Count],
    elements: &mut [MPI_Datatype],
) -> Result<(), Error> {
    let count = |length: usize| c_int::try_from(length).expect("as many as the envelope said in an int");
    // SAFETY: each list is as long as announced.
    let code = unsafe {
        ffi::PMPI_Type_get_contents(
            datatype,
            count(integers.len()),
            count(addresses.len()),
            count(elements.len()),
            integers.as_mut_ptr(),
            addresses.as_mut_ptr(),
            elements.as_mut_ptr(),
        )
    };
    check(code, "MPI_Type_get_contents")
}
