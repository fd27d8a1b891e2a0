//! Every call to the MPI library, through its profiling names: codes checked, lists and strings made Rust's.
//!
//! Handles are the program's or ours; that they are valid is the program's duty towards MPI, and passing a bad one on does
//! what the MPI library does with it.

use crate::constructor::{ArrayConstants, Combiner};
use pmpi_sys as ffi;
pub(crate) use pmpi_sys::{
    MPI_Comm, MPI_Count, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset, MPI_Status,
};
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use tatpio::error::{Error, ErrorClass};

/// MPI_SUCCESS.
pub(crate) const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Turns a return code into a result that says which call it was.
fn check(code: c_int, call: &str) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Invalid { class: ErrorClass::Other, what: format!("{call} failed: {}", error_text(code)) })
}

fn error_text(code: c_int) -> String {
    let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: PMPI_Error_string writes at most MPI_MAX_ERROR_STRING characters with the final zero; `text` has that room.
    let known = unsafe { ffi::PMPI_Error_string(code, text.as_mut_ptr(), &raw mut length) };
    if known == SUCCESS { text_of(&text) } else { format!("error code {code}") }
}

/// The text up to the first zero. Panics without one: every caller leaves room for it.
fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).expect("a final zero").to_string_lossy().into_owned()
}

/// Ends the job.
pub(crate) fn abort() -> ! {
    // SAFETY: MPI is initialized, or this call of the program could not have come here.
    unsafe { ffi::PMPI_Abort(comm_world(), 1) };
    std::process::abort()
}

/// The MPI error code of a class. MPI's predefined codes are their classes (MPI-4.1, section 9.4).
pub(crate) fn error_code(class: ErrorClass) -> c_int {
    let code = match class {
        ErrorClass::Io => ffi::MPI_ERR_IO,
        ErrorClass::NoSpace => ffi::MPI_ERR_NO_SPACE,
        ErrorClass::Quota => ffi::MPI_ERR_QUOTA,
        ErrorClass::ReadOnly => ffi::MPI_ERR_READ_ONLY,
        ErrorClass::Access => ffi::MPI_ERR_ACCESS,
        ErrorClass::NoSuchFile => ffi::MPI_ERR_NO_SUCH_FILE,
        ErrorClass::Type => ffi::MPI_ERR_TYPE,
        ErrorClass::Count => ffi::MPI_ERR_COUNT,
        ErrorClass::Arg => ffi::MPI_ERR_ARG,
        ErrorClass::NoMem => ffi::MPI_ERR_NO_MEM,
        ErrorClass::Other => ffi::MPI_ERR_OTHER,
        ErrorClass::UnsupportedOperation => ffi::MPI_ERR_UNSUPPORTED_OPERATION,
        ErrorClass::File => ffi::MPI_ERR_FILE,
    };
    code as c_int // MPI's error classes are below 100
}

/// Calls the file's error handler, which may not return.
pub(crate) fn call_error_handler(fh: MPI_File, code: c_int) {
    // SAFETY: the program's open file.
    let handled = unsafe { ffi::PMPI_File_call_errhandler(fh, code) };
    if handled != SUCCESS {
        crate::report::warn(&format!("MPI_File_call_errhandler failed: {}", error_text(handled)));
    }
}

// ---- communicators

/// Whether collective calls on it can be made and mean one group of ranks; `false` also for a null handle.
pub(crate) fn is_one_group(comm: MPI_Comm) -> bool {
    let mut inter = 1;
    // SAFETY: not the null handle; `inter` is a place for one int.
    comm != comm_null() && unsafe { ffi::PMPI_Comm_test_inter(comm, &raw mut inter) } == SUCCESS && inter == 0
}

/// This process's rank, and the number of ranks.
pub(crate) fn rank_and_size(comm: MPI_Comm) -> Result<(u32, u32), Error> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: places for one int each.
    unsafe {
        check(ffi::PMPI_Comm_rank(comm, &raw mut rank), "MPI_Comm_rank")?;
        check(ffi::PMPI_Comm_size(comm, &raw mut size), "MPI_Comm_size")?;
    }
    let number = |value: c_int| u32::try_from(value).expect("ranks are not negative");
    Ok((number(rank), number(size)))
}

/// The element-wise maximum over all ranks. Collective.
pub(crate) fn all_reduce_max(comm: MPI_Comm, values: &mut [u64]) -> Result<(), Error> {
    let count = c_int::try_from(values.len()).expect("a few words");
    // SAFETY: `values` is read and written in place, as many 64-bit words as announced.
    let code = unsafe {
        ffi::PMPI_Allreduce(ffi::in_place(), values.as_mut_ptr().cast(), count, ffi::uint64(), ffi::op_max(), comm)
    };
    check(code, "MPI_Allreduce")
}
