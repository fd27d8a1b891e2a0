//! Datatypes of our own.

use super::contents::{envelope, is_null_datatype, too_large};
use super::{MPI_Datatype, SUCCESS, check, ffi};
use crate::plain::Part;
use pmpi_sys::consts;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_int;
use tatpio::error::Error;
use tatpio::units::Bytes;

/// A datatype of ours, freed when dropped; MPI keeps what files still need.
pub(crate) struct Datatype(MPI_Datatype);

impl Datatype {
    /// As many bytes as given, without gaps; committed.
    pub fn of_bytes(bytes: Bytes) -> Result<Datatype, Error> {
        let extent = i64::try_from(bytes).map_err(|_| too_large())?;
        Datatype::of_parts(&[Part { at: 0, bytes, stride: 0, count: 1 }], extent)
    }

    /// Parts made of bytes, and the distance of successive tiles; committed.
    pub fn of_parts(parts: &[Part], extent: i64) -> Result<Datatype, Error> {
        let mut rows: BTreeMap<(Bytes, u64, u64), Datatype> = BTreeMap::new();
        let mut list = Blocks::default();
        for part in parts.iter().filter(|part| part.bytes > 0) {
            match (c_int::try_from(part.bytes), part.count) {
                (Ok(bytes), 1) => list.push(bytes, part.at, consts::byte())?,
                _ => {
                    let row = match rows.entry((part.bytes, part.stride, part.count)) {
                        Entry::Occupied(row) => row.into_mut(),
                        Entry::Vacant(place) => place.insert(Datatype::row(part)?),
                    };
                    list.push(1, part.at, row.0)?;
                }
            }
        }
        let whole = list.build()?;
        let mut tile = Datatype(consts::datatype_null());
        let extent = ffi::MPI_Aint::try_from(extent).map_err(|_| too_large())?;
        // SAFETY: a live type; a place for one handle.
        unsafe {
            let code = ffi::PMPI_Type_create_resized(whole.0, 0, extent, &raw mut tile.0);
            check(code, "MPI_Type_create_resized")?;
            check(ffi::PMPI_Type_commit(&raw mut tile.0), "MPI_Type_commit")?;
        }
        Ok(tile)
    }

    /// The pieces of a part, from displacement 0 on.
    fn row(part: &Part) -> Result<Datatype, Error> {
        let Ok(bytes) = c_int::try_from(part.bytes) else { return Datatype::long_row(part) };
        Datatype::strided(part, bytes, consts::byte())
    }

    /// As `row`, for pieces longer than MPI's ints count.
    fn long_row(part: &Part) -> Result<Datatype, Error> {
        let mut list = Blocks::default();
        let mut done = 0;
        while done < part.bytes {
            let length = c_int::try_from(part.bytes - done).unwrap_or(c_int::MAX);
            list.push(length, done, consts::byte())?;
            done += Bytes::from(length.unsigned_abs());
        }
        let piece = list.build()?;
        Datatype::strided(part, 1, piece.0)
    }

    fn strided(part: &Part, length: c_int, element: MPI_Datatype) -> Result<Datatype, Error> {
        let count = c_int::try_from(part.count).map_err(|_| too_large())?;
        let stride = ffi::MPI_Aint::try_from(part.stride).map_err(|_| too_large())?;
        let mut row = Datatype(consts::datatype_null());
        // SAFETY: a live type; a place for one handle.
        let code = unsafe { ffi::PMPI_Type_create_hvector(count, length, stride, element, &raw mut row.0) };
        check(code, "MPI_Type_create_hvector")?;
        Ok(row)
    }

    /// A duplicate of a datatype; of a predefined one the same handle, which is never freed.
    pub fn copy_of(datatype: MPI_Datatype) -> Result<Datatype, Error> {
        if envelope(datatype)?.is_predefined() {
            return Ok(Datatype(datatype));
        }
        let mut copy = Datatype(consts::datatype_null());
        // SAFETY: a place for one handle.
        check(unsafe { ffi::PMPI_Type_dup(datatype, &raw mut copy.0) }, "MPI_Type_dup")?;
        Ok(copy)
    }

    pub fn raw(&self) -> MPI_Datatype {
        self.0
    }

    /// Gives the handle away, to be freed by the program.
    pub fn into_raw(mut self) -> MPI_Datatype {
        std::mem::replace(&mut self.0, consts::datatype_null())
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if !is_null_datatype(self.0) {
            free_if_derived(&mut self.0);
        }
    }
}

/// Blocks of types at displacements.
#[derive(Default)]
struct Blocks {
    lengths: Vec<c_int>,
    places: Vec<ffi::MPI_Aint>,
    types: Vec<MPI_Datatype>,
}

impl Blocks {
    fn push(&mut self, length: c_int, at: u64, element: MPI_Datatype) -> Result<(), Error> {
        self.lengths.push(length);
        self.places.push(ffi::MPI_Aint::try_from(at).map_err(|_| too_large())?);
        self.types.push(element);
        Ok(())
    }

    /// One datatype of all of them: the simplest constructor that can.
    fn build(&self) -> Result<Datatype, Error> {
        let count = c_int::try_from(self.lengths.len()).map_err(|_| too_large())?;
        let (lengths, places) = (self.lengths.as_ptr(), self.places.as_ptr());
        let byte = consts::byte();
        let mut whole = Datatype(consts::datatype_null());
        // SAFETY: the lists have `count` entries, of live types; a place for one handle.
        unsafe {
            let code = if self.types.iter().all(|&element| element == byte) {
                ffi::PMPI_Type_create_hindexed(count, lengths, places, byte, &raw mut whole.0)
            } else {
                let types = self.types.as_ptr();
                ffi::PMPI_Type_create_struct(count, lengths, places, types, &raw mut whole.0)
            };
            check(code, "MPI_Type_create_hindexed or MPI_Type_create_struct")?;
        }
        Ok(whole)
    }
}

/// Frees a handle that MPI gave us. Predefined types have no copies to free (MPI-4.1, section 5.1.13).
pub(crate) fn free_if_derived(datatype: &mut MPI_Datatype) {
    let derived = envelope(*datatype).is_ok_and(|envelope| !envelope.is_predefined());
    // SAFETY: nobody else has the handle (callers' contract).
    if derived && unsafe { ffi::PMPI_Type_free(datatype) } != SUCCESS {
        crate::report::warn("MPI_Type_free failed: memory is lost");
    }
}
