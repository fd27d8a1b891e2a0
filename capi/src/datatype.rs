//! An MPI datatype as a layout: taken apart by MPI_Type_get_envelope and MPI_Type_get_contents, level by
//! level.
//!
//! Nothing is kept between calls: a handle that was freed may be given to another type.

use crate::constructor::{Call, Combiner};
use crate::mpi::{self, Bounds, Kind, MPI_Datatype};
use tatpio::error::{Error, ErrorClass};
use tatpio::plan::{Layout, LayoutError};

/// Deeper nesting than any program has; the recursion must end somewhere before the stack does.
const DEPTH_MAX: u32 = 256;

/// The layout of a datatype. Local.
///
/// Errors: a null type, sizes that leave 63 bits, constructors that tatpio does not know.
pub(crate) fn layout(datatype: MPI_Datatype) -> Result<Layout, Error> {
    if mpi::is_null_datatype(datatype) {
        return Err(unusable("the datatype is MPI_DATATYPE_NULL".into()));
    }
    at_depth(datatype, 0)
}

fn at_depth(datatype: MPI_Datatype, depth: u32) -> Result<Layout, Error> {
    if depth > DEPTH_MAX {
        return Err(unusable(format!("the datatype is nested more than {DEPTH_MAX} deep")));
    }
    let bounds = mpi::bounds(datatype)?;
    let (bare, padded) = match mpi::take_apart(datatype)? {
        Kind::Basic => (basic(&bounds)?, true),
        Kind::Derived(contents) => {
            let elements = contents.elements().iter().map(|&element| at_depth(element, depth + 1));
            let elements = elements.collect::<Result<Vec<Layout>, Error>>()?;
            let call = Call {
                combiner: contents.combiner,
                arguments: &contents.arguments,
                large: contents.large,
                elements: &elements,
                constants: mpi::array_constants(),
            };
            (call.layout()?, contents.combiner == Combiner::Struct)
        }
        Kind::Unknown(combiner) => {
            return Err(unusable(format!(
                "a datatype was made by a constructor (combiner {combiner}) that tatpio does not know"
            )));
        }
    };
    if bare.size() != bounds.size {
        let text = format!(
            "the MPI library counts {} bytes in a datatype where tatpio counts {}",
            bounds.size,
            bare.size()
        );
        return Err(unusable(text));
    }
    // The alignment padding of a structure is the MPI library's to choose. Other bounds follow from the
    // standard, and libraries miscount some: Open MPI 4.1.4 those of a vector whose stride is negative.
    if padded { bare.resized(bounds.lower, bounds.extent).map_err(too_large) } else { Ok(bare) }
}

/// A predefined type: without gaps, or one of the pairs of a value and an int (MPI-4.1, section 6.9.4), which
/// lie in memory as the C structure does.
fn basic(bounds: &Bounds) -> Result<Layout, Error> {
    let solid = Layout::bytes(bounds.size).map_err(too_large)?;
    if bounds.size == bounds.extent.unsigned_abs() || bounds.size == 0 {
        return Ok(solid);
    }
    const INT: u64 = size_of::<std::ffi::c_int>() as u64;
    let first =
        bounds.size.checked_sub(INT).ok_or_else(|| unusable("a predefined datatype has gaps".into()))?;
    let second = first.next_multiple_of(INT);
    let second = i64::try_from(second).map_err(|_| too_large(LayoutError))?;
    let byte = Layout::bytes(1).map_err(too_large)?;
    Layout::hindexed(&[(first, 0), (INT, second)], &byte).map_err(too_large)
}

fn unusable(what: String) -> Error {
    Error::Invalid { class: ErrorClass::Type, what }
}

fn too_large(error: LayoutError) -> Error {
    unusable(error.to_string())
}
