//! Datatypes.

use super::{Result, check};
use pmpi_sys::{self as ffi, consts};
use std::ffi::c_int;

/// A datatype; a derived one is freed when dropped.
pub struct Datatype {
    pub(crate) raw: ffi::MPI_Datatype,
    pub(crate) derived: bool,
}

impl Datatype {
    /// MPI_BYTE.
    pub fn byte() -> Datatype {
        Datatype { raw: consts::byte(), derived: false }
    }

    /// MPI_INT.
    pub fn int() -> Datatype {
        Datatype { raw: consts::int(), derived: false }
    }

    /// MPI_DOUBLE_INT.
    pub fn double_int() -> Datatype {
        Datatype { raw: consts::double_int(), derived: false }
    }

    /// The types of a value and an int that C has, and how long the value is.
    pub fn pairs() -> [(Datatype, usize); 6] {
        let pair = |raw, value| (Datatype { raw, derived: false }, value);
        [
            pair(consts::float_int(), size_of::<f32>()),
            pair(consts::double_int(), size_of::<f64>()),
            pair(consts::long_int(), size_of::<std::ffi::c_long>()),
            pair(consts::short_int(), size_of::<std::ffi::c_short>()),
            pair(consts::two_int(), size_of::<c_int>()),
            pair(consts::long_double_int(), 16),
        ]
    }

    /// MPI_Type_create_f90_real, for as much as a double has.
    pub fn f90_real() -> Result<Datatype> {
        let mut raw = consts::datatype_null();
        // SAFETY: a place for one handle, of a predefined type, which is not freed.
        check(unsafe { ffi::PMPI_Type_create_f90_real(15, 307, &raw mut raw) }, "MPI_Type_create_f90_real")?;
        Ok(Datatype { raw, derived: false })
    }

    /// Blocks of bytes as (length, displacement), tiling at an extent; committed.
    pub fn blocks(blocks: &[(usize, usize)], extent: usize) -> Result<Datatype> {
        let int = |number: usize| c_int::try_from(number).expect("a small number");
        let lengths: Vec<c_int> = blocks.iter().map(|block| int(block.0)).collect();
        let places: Vec<ffi::MPI_Aint> = blocks.iter().map(|block| int(block.1) as ffi::MPI_Aint).collect();
        // SAFETY: the lists have the announced lengths; the constructors write new types.
        let tile = unsafe {
            let list = Datatype::new("MPI_Type_create_hindexed", |new| {
                let (count, lengths, places) = (int(blocks.len()), lengths.as_ptr(), places.as_ptr());
                ffi::PMPI_Type_create_hindexed(count, lengths, places, consts::byte(), new)
            })?;
            Datatype::new("MPI_Type_create_resized", |new| {
                ffi::PMPI_Type_create_resized(list.raw, 0, int(extent) as ffi::MPI_Aint, new)
            })?
        };
        tile.commit()
    }

    /// MPI_Type_vector, committed.
    pub fn strided(count: c_int, block: c_int, stride: c_int, element: &Datatype) -> Result<Datatype> {
        let old = element.raw;
        // SAFETY: a live type; the constructor writes the new one.
        let vector = unsafe {
            Datatype::new("MPI_Type_vector", |new| ffi::PMPI_Type_vector(count, block, stride, old, new))?
        };
        vector.commit()
    }

    /// MPI_DATATYPE_NULL.
    pub fn null() -> Datatype {
        Datatype { raw: consts::datatype_null(), derived: false }
    }

    /// The type that `create`, a call to the constructor of this name, writes into the place it is given.
    ///
    /// # Safety
    ///
    /// `create` writes a new derived datatype whenever it returns MPI_SUCCESS.
    pub(crate) unsafe fn new(
        call: &'static str,
        create: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int,
    ) -> Result<Datatype> {
        let mut raw = consts::datatype_null();
        check(create(&raw mut raw), call)?;
        Ok(Datatype { raw, derived: true })
    }

    /// Makes it usable in I/O. Local.
    pub fn commit(mut self) -> Result<Datatype> {
        // SAFETY: a live handle, which committing does not change.
        check(unsafe { ffi::PMPI_Type_commit(&raw mut self.raw) }, "MPI_Type_commit")?;
        Ok(self)
    }

    /// Size, lower bound and extent, in bytes. Local.
    pub fn measures(&self) -> Result<(u64, i64, i64)> {
        let (mut size, mut lower, mut extent) = (0, 0, 0);
        // SAFETY: a live handle; places for one count each.
        unsafe {
            check(ffi::PMPI_Type_size_x(self.raw, &raw mut size), "MPI_Type_size_x")?;
            check(
                ffi::PMPI_Type_get_extent_x(self.raw, &raw mut lower, &raw mut extent),
                "MPI_Type_get_extent_x",
            )?;
        }
        Ok((u64::try_from(size).expect("not negative"), lower, extent))
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if self.derived {
            // SAFETY: our own handle, freed once; MPI keeps what files and other types still need.
            check(unsafe { ffi::PMPI_Type_free(&raw mut self.raw) }, "MPI_Type_free").expect("freed once");
        }
    }
}
