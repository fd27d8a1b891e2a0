//! What collective calls take and give back.

use super::{Datatype, check};
use pmpi_sys::{self as ffi, consts};
use std::ffi::c_void;

/// Which form of a collective call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The plain one.
    Plain,
    /// The one with a large count, where the MPI library has it; else the plain one.
    Large,
    /// `_begin` and `_end`.
    Split,
    /// `_begin` with a large count, where the MPI library has it, and `_end`.
    LargeSplit,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 4] = [Form::Plain, Form::Large, Form::Split, Form::LargeSplit];

    pub(super) fn is_large(self) -> bool {
        cfg!(large_count) && matches!(self, Form::Large | Form::LargeSplit)
    }

    pub(super) fn is_split(self) -> bool {
        matches!(self, Form::Split | Form::LargeSplit)
    }
}

/// What a read or write says it did.
pub struct Status(pub(super) ffi::MPI_Status);

impl Status {
    pub(super) fn new() -> Status {
        // SAFETY: a status is integers, for which zeros are valid.
        Status(unsafe { std::mem::zeroed() })
    }

    /// Bytes transferred. Local.
    pub fn bytes(&self) -> u64 {
        let mut count = 0;
        // SAFETY: a status that a call filled in; a place for one count.
        let code = unsafe { ffi::PMPI_Get_elements_x(&raw const self.0, consts::byte(), &raw mut count) };
        check(code, "MPI_Get_elements_x").expect("a status of a call that succeeded");
        u64::try_from(count).expect("a number of bytes")
    }

    /// Whole elements transferred (MPI_Get_count); `None` when the last one is not whole. Local.
    pub fn count(&self, datatype: &Datatype) -> Option<u64> {
        let mut count = 0;
        // SAFETY: a status that a call filled in; a live type; a place for one int.
        let code = unsafe { ffi::PMPI_Get_count(&raw const self.0, datatype.raw, &raw mut count) };
        check(code, "MPI_Get_count").expect("a status of a call that succeeded");
        u64::try_from(count).ok().filter(|_| count != ffi::MPI_UNDEFINED)
    }
}

/// The data of a call: `count` elements of a datatype at byte `base` of an allocation.
pub struct Data<'a> {
    /// The allocation.
    pub buffer: &'a mut [u8],
    /// Where in it the buffer address is.
    pub base: usize,
    /// Elements.
    pub count: i64,
    /// Their type: stays inside the allocation.
    pub datatype: &'a Datatype,
}

impl<'a> Data<'a> {
    /// All of a buffer as bytes.
    pub fn bytes(buffer: &'a mut [u8], byte: &'a Datatype) -> Data<'a> {
        let count = i64::try_from(buffer.len()).expect("a buffer in memory");
        Data { buffer, base: 0, count, datatype: byte }
    }
}

impl Data<'_> {
    /// The buffer address.
    pub(super) fn place(&self) -> *mut c_void {
        self.buffer.as_ptr().wrapping_add(self.base).cast_mut().cast()
    }
}
