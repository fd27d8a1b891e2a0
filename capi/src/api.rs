//! The functions of `include/tatpio.h`. cbindgen makes the header from this file: the comments are the
//! header's, in the form that C programmers read, and `cbindgen.toml` holds its introduction.

use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};
use tatpio::stats::CallStats;

/// The major version of this header.
pub const TATPIO_VERSION_MAJOR: c_int = 0;

/// The minor version of this header.
pub const TATPIO_VERSION_MINOR: c_int = 1;

/// The patch level of this header.
pub const TATPIO_VERSION_PATCH: c_int = 0;

/// An argument is wrong: a null pointer where memory is needed.
pub const TATPIO_ERR_ARG: c_int = -1;

/// No collective call went through tatpio in this process yet.
pub const TATPIO_ERR_NO_CALL: c_int = -2;

/// tatpio has a bug: a message on standard error says where.
pub const TATPIO_ERR_INTERN: c_int = -3;

/// The version of the library that runs, as "0.1.0"; TATPIO_VERSION_MAJOR, _MINOR and _PATCH are the
/// header's.
///
/// \return a constant string. It belongs to the library; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn tatpio_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("a version has no zero bytes"),
        };
    VERSION.as_ptr()
}

/// What a TATPIO_ERR_* code means, in English.
///
/// \param code what a function of this header returned
///
/// \return a constant string, also for a code that is unknown. It belongs to the library; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn tatpio_error_string(code: c_int) -> *const c_char {
    let text = match code {
        0.. => c"no error",
        TATPIO_ERR_ARG => c"an argument is wrong",
        TATPIO_ERR_NO_CALL => c"no collective call went through tatpio in this process yet",
        TATPIO_ERR_INTERN => c"tatpio has a bug",
        _ => c"not a code of this version of tatpio",
    };
    text.as_ptr()
}

/// The statistics of the last collective read or write that went through tatpio in this process, as one JSON
/// object: the one that the hint tatpio_stats=PATH appends to a file. Seconds are in it only when that hint
/// is set to something.
///
/// Local: no other process takes part. When threads do collective calls on several files at the same time,
/// the last call is the one that ended last.
///
/// \param json where the text goes, with a final zero: valid for writing size bytes, or NULL when size is 0
///
/// \param size bytes of room at json
///
/// \return the bytes that the text takes, with its final zero; when that is more than size, nothing was
/// written. Or TATPIO_ERR_ARG, TATPIO_ERR_NO_CALL.
#[allow(clippy::missing_safety_doc)] // said of json
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tatpio_last_call(json: *mut c_char, size: usize) -> c_int {
    if json.is_null() && size > 0 {
        return TATPIO_ERR_ARG;
    }
    let text = match catch_unwind(last_call) {
        Ok(Some(text)) => text,
        Ok(None) => return TATPIO_ERR_NO_CALL,
        Err(_) => return TATPIO_ERR_INTERN,
    };
    let Ok(needed) = c_int::try_from(text.len() + 1) else { return TATPIO_ERR_INTERN };
    if text.len() < size {
        // SAFETY: `json` has room for `size` bytes (the caller's contract), which is more than the text has;
        // the text is memory of its own.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), json.cast(), text.len());
            json.add(text.len()).write(0);
        }
    }
    needed
}

static LAST: Mutex<Option<CallStats>> = Mutex::new(None);

fn last_call() -> Option<String> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().map(|stats| serde_json::to_string(stats).expect("statistics are plain data"))
}

/// Keeps the statistics of a call for tatpio_last_call().
pub(crate) fn remember(stats: Option<&CallStats>) {
    if let Some(stats) = stats {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(stats.clone());
    }
}

/// Fails to compile when the header's version is not the crate's.
const _: () = {
    assert!(TATPIO_VERSION_MAJOR == decimal(env!("CARGO_PKG_VERSION_MAJOR")));
    assert!(TATPIO_VERSION_MINOR == decimal(env!("CARGO_PKG_VERSION_MINOR")));
    assert!(TATPIO_VERSION_PATCH == decimal(env!("CARGO_PKG_VERSION_PATCH")));
};

const fn decimal(text: &str) -> c_int {
    match c_int::from_str_radix(text, 10) {
        Ok(value) => value,
        Err(_) => panic!("a version is made of numbers"),
    }
}
