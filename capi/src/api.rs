//! The functions of `include/tatpio.h`, which cbindgen generates from this file: its comments are the header's.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};
use tatpio::stats::CallStats;

/// The version of the header, to compare with tatpio_version() at run time.
pub const TATPIO_VERSION_MAJOR: c_int = 0;
/// See TATPIO_VERSION_MAJOR.
pub const TATPIO_VERSION_MINOR: c_int = 1;
/// See TATPIO_VERSION_MAJOR.
pub const TATPIO_VERSION_PATCH: c_int = 0;

/// The version of the library that is linked or preloaded.
///
/// @param major, minor, patch  where its parts go; each may be NULL
/// @return 0
///
/// Local. May be called at any time, also before MPI_Init and after MPI_Finalize.
///
/// # Safety
///
/// Each pointer is null or valid for writing an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tatpio_version(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) -> c_int {
    let parts = [(major, TATPIO_VERSION_MAJOR), (minor, TATPIO_VERSION_MINOR), (patch, TATPIO_VERSION_PATCH)];
    for (place, value) in parts {
        // SAFETY: null or valid for writing (contract above).
        if let Some(place) = unsafe { place.as_mut() } {
            *place = value;
        }
    }
    0
}
