//! Every call to the MPI library, through its profiling names: codes checked, lists and strings made Rust's.
//!
//! Handles are the program's or ours. That they are valid is the program's duty towards MPI; passing a bad
//! one on does what the MPI library does with it.

mod build;
mod contents;

pub(crate) use build::{Datatype, free_if_derived};
pub(crate) use contents::{Bounds, Kind, array_constants, bounds, is_null_datatype, take_apart};

use pmpi_sys::consts;
pub(crate) use pmpi_sys::{
    self as ffi, MPI_Comm, MPI_Count, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset, MPI_SUCCESS as SUCCESS,
    MPI_Status,
};
use std::ffi::{CStr, CString, c_char, c_int};
use tatpio::error::{Error, ErrorClass};
use tatpio::units::Bytes;

/// Turns a return code into a result that says which call it was.
fn check(code: c_int, call: &str) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Invalid { class: ErrorClass::Other, what: format!("{call} failed: {}", error_text(code)) })
}

/// Room for an array that MPI measures in ints.
const fn room(length: c_int) -> usize {
    length as usize // MPI_MAX_* are small and positive
}

fn error_text(code: c_int) -> String {
    let mut text = [0; room(ffi::MPI_MAX_ERROR_STRING) + 1];
    let mut length = 0;
    // SAFETY: writes at most MPI_MAX_ERROR_STRING characters with the final zero; `text` has that room.
    let known = unsafe { ffi::PMPI_Error_string(code, text.as_mut_ptr(), &raw mut length) };
    if known == SUCCESS { text_of(&text) } else { format!("error code {code}") }
}

/// The text up to the first zero, which every caller's spare last element guarantees.
fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).expect("a final zero").to_string_lossy().into_owned()
}

/// Ends the job.
pub(crate) fn abort() -> ! {
    // SAFETY: MPI is initialized, or this call of the program could not have come here.
    unsafe { ffi::PMPI_Abort(consts::comm_world(), 1) };
    std::process::abort()
}

/// The MPI error code of a class. The predefined classes are codes too (MPI-4.1, section 9.4).
pub(crate) fn error_code(class: ErrorClass) -> c_int {
    match class {
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
    }
}

/// Calls the file's error handler, which may not return.
pub(crate) fn call_error_handler(fh: MPI_File, code: c_int) {
    // SAFETY: the program's open file; the handler is the program's.
    let handled = unsafe { ffi::PMPI_File_call_errhandler(fh, code) };
    if handled != SUCCESS {
        crate::report::warn(&format!("MPI_File_call_errhandler failed: {}", error_text(handled)));
    }
}

// Communicators

/// Whether collective calls on it involve one group of ranks; `false` also for a null handle.
pub(crate) fn is_one_group(comm: MPI_Comm) -> bool {
    let mut inter = 1;
    // SAFETY: not the null handle; `inter` is a place for one int.
    comm != consts::comm_null()
        && unsafe { ffi::PMPI_Comm_test_inter(comm, &raw mut inter) } == SUCCESS
        && inter == 0
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

/// The maximum over all ranks, word by word. Collective.
pub(crate) fn all_reduce_max(comm: MPI_Comm, words: &mut [u64]) -> Result<(), Error> {
    // Signed, with the top bit flipped: MPI libraries of today take the maximum of unsigned words wrongly
    // (see `MpiComm::all_reduce`).
    const FLIP: u64 = 1 << 63;
    let count = c_int::try_from(words.len()).expect("a few words");
    let (int64, max) = (consts::int64_t(), consts::op_max());
    words.iter_mut().for_each(|word| *word ^= FLIP);
    // SAFETY: `words` is read and written in place, as many 64-bit words as announced.
    let code = unsafe {
        ffi::PMPI_Allreduce(consts::in_place(), words.as_mut_ptr().cast(), count, int64, max, comm)
    };
    words.iter_mut().for_each(|word| *word ^= FLIP);
    check(code, "MPI_Allreduce")
}

// Info objects

/// All keys with their values; none for MPI_INFO_NULL.
pub(crate) fn info_pairs(info: MPI_Info) -> Result<Vec<(String, String)>, Error> {
    if info == consts::info_null() {
        return Ok(Vec::new());
    }
    let mut count = 0;
    // SAFETY: a place for one int.
    check(unsafe { ffi::PMPI_Info_get_nkeys(info, &raw mut count) }, "MPI_Info_get_nkeys")?;
    let mut pairs = Vec::new();
    for index in 0..count {
        let mut key = [0; room(ffi::MPI_MAX_INFO_KEY) + 1];
        // SAFETY: writes at most MPI_MAX_INFO_KEY characters and the final zero.
        check(unsafe { ffi::PMPI_Info_get_nthkey(info, index, key.as_mut_ptr()) }, "MPI_Info_get_nthkey")?;
        let key = text_of(&key);
        if let Some(value) = info_get(info, &key)? {
            pairs.push((key, value));
        }
    }
    Ok(pairs)
}

/// The value of a key, if it is set.
pub(crate) fn info_get(info: MPI_Info, key: &str) -> Result<Option<String>, Error> {
    let mut value = [0; room(ffi::MPI_MAX_INFO_VAL) + 1];
    let mut found = 0;
    let key = c_string(key)?;
    // SAFETY: the key ends in zero; writes at most MPI_MAX_INFO_VAL characters and the final zero.
    let code = unsafe {
        ffi::PMPI_Info_get(info, key.as_ptr(), ffi::MPI_MAX_INFO_VAL, value.as_mut_ptr(), &raw mut found)
    };
    check(code, "MPI_Info_get")?;
    Ok((found != 0).then(|| text_of(&value)))
}

/// Sets a key. A value longer than the MPI library takes is left out.
pub(crate) fn info_set(info: MPI_Info, key: &str, value: &str) -> Result<(), Error> {
    if value.len() >= room(ffi::MPI_MAX_INFO_VAL) {
        return Ok(());
    }
    let (key, value) = (c_string(key)?, c_string(value)?);
    // SAFETY: both strings end in zero and outlive the call.
    check(unsafe { ffi::PMPI_Info_set(info, key.as_ptr(), value.as_ptr()) }, "MPI_Info_set")
}

fn c_string(text: &str) -> Result<CString, Error> {
    let what = || format!("{text:?} has a zero byte inside");
    CString::new(text).map_err(|_| Error::Invalid { class: ErrorClass::Other, what: what() })
}

// Files

pub(crate) fn is_sequential(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_SEQUENTIAL != 0
}

pub(crate) fn may_read(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_WRONLY == 0
}

pub(crate) fn may_write(amode: c_int) -> bool {
    amode & ffi::MPI_MODE_RDONLY == 0
}

/// The individual file pointer, in etypes.
pub(crate) fn position(fh: MPI_File) -> Result<MPI_Offset, Error> {
    let mut offset = 0;
    // SAFETY: the program's open file; a place for one offset.
    check(unsafe { ffi::PMPI_File_get_position(fh, &raw mut offset) }, "MPI_File_get_position")?;
    Ok(offset)
}

/// Moves the individual file pointer, in etypes.
pub(crate) fn seek(fh: MPI_File, offset: MPI_Offset) -> Result<(), Error> {
    // SAFETY: the program's open file.
    check(unsafe { ffi::PMPI_File_seek(fh, offset, ffi::MPI_SEEK_SET) }, "MPI_File_seek")
}

/// Makes a status say that so many bytes were moved, so that MPI_Get_count and MPI_Get_elements are true.
pub(crate) fn set_status(status: *mut MPI_Status, bytes: Bytes) -> Result<(), Error> {
    if status == consts::status_ignore() {
        return Ok(());
    }
    let count = MPI_Count::try_from(bytes).expect("a file ends before 2^63");
    // SAFETY: the program's status, as it is not MPI_STATUS_IGNORE.
    unsafe {
        check(ffi::PMPI_Status_set_elements_x(status, consts::byte(), count), "MPI_Status_set_elements_x")?;
        check(ffi::PMPI_Status_set_cancelled(status, 0), "MPI_Status_set_cancelled")
    }
}
