//! libtatpio: the PMPI layer between an MPI program and its MPI library, and the functions of
//! `include/tatpio.h`.
//!
//! Nothing is decided here but what goes through tatpio and what does not. A call is checked, converted,
//! handed to the engine (crate `tatpio`), and its outcome converted back:
//!
//! ```text
//! pmpi/        the interposed calls, MPI_File_*
//!   open       open, close: whether tatpio serves a file, agreed by all ranks
//!   view       set_view, get_view, set_atomicity
//!   data       {write,read}[_at]_all
//!   split      their _begin and _end
//!   info       set_info, get_info
//!   sync       sync
//! table        the shadow state of each open file, by its handle
//! datatype     an MPI datatype as a layout, by taking it apart; constructor: one level of that
//! plain        a view in the plainest datatypes, for the MPI library
//! hints        hints from an info object and TATPIO_HINTS, and the ranks' agreement on them
//! agree        small agreements between the ranks of a file
//! errors       error classes of the engine as those of MPI
//! report       what is printed
//! api          the functions of tatpio.h
//! mpi          every call to the MPI library: checked codes
//! ```
//!
//! The program's handles stay the MPI library's own, so every call that is not interposed works as before. A
//! handle that the table does not hold (a file that tatpio does not serve, or one opened past it) passes
//! straight through. All calls into the library are `PMPI_*`; those symbols are left undefined, for the
//! program's MPI library to resolve.
//!
//! # What passes through
//!
//! Calls that are not interposed: nonblocking, shared and ordered collectives, independent reads and writes,
//! positions and sizes. tatpio keeps nothing about the file between calls but hints and the view, so
//! `MPI_File_set_size` and `MPI_File_preallocate` need no interposing either.
//!
//! # What stays with the MPI library
//!
//! The individual file pointer, so that all calls share it. ROMIO of MPICH 4.0.2 loses it in a view whose
//! tiles interleave (a filetype whose extent is smaller than its span): calls with offsets are right there,
//! those at the pointer are not. A view of more than 65,536 irregular parts reaches the MPI library as the
//! program built it, with whatever that library makes of it.

#![allow(non_snake_case)] // the names are MPI's

mod agree;
mod api;
mod constructor;
mod datatype;
mod errors;
mod hints;
mod mpi;
mod plain;
mod pmpi;
mod report;
mod table;

pub use api::*;
pub use pmpi::*;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a C function: a panic inside it ends the job.
///
/// A panic must not unwind into C. Nor may the call return an error: a rank that panicked in the middle of a
/// collective has left its place in it, and the others would wait for ever.
pub(crate) fn guarded(call: &'static str, body: impl FnOnce() -> c_int) -> c_int {
    report::install_log();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        eprintln!(
            "tatpio: {call} met a bug in tatpio (see the panic above); \
             the job is ended, because its ranks wait for each other"
        );
        mpi::abort()
    })
}
