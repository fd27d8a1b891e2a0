//! The split collective reads and writes: MPI_File_{write,read}[_at]_all_begin and _end (MPI-4.1, section
//! 14.4.5).
//!
//! All the work is done in `_begin`, as ROMIO does it; `_end` returns what it came to. An error is returned
//! by `_begin`, and then nothing was begun. A second `_begin`, and an `_end` of something not begun, get
//! MPI_ERR_IO, the class that ROMIO gives them; the calls are the program's error on every rank, so that none
//! waits.

use super::data::{Call, Direction, finish};
use crate::errors::Failure;
use crate::guarded;
use crate::mpi::{self, MPI_Count, MPI_Datatype, MPI_File, MPI_Offset, MPI_Status};
use crate::table::{self, Split};
use std::ffi::{c_int, c_void};
use tatpio::comm::Communicator;
use tatpio::error::ErrorClass;

impl Call {
    /// Begins a split collective, here or, by `real`, in the MPI library. `kind` is what the matching `_end`
    /// belongs to.
    fn begin(&self, kind: &'static str, fh: MPI_File, real: impl FnOnce() -> c_int) -> c_int {
        let Some(file) = table::find(fh) else { return real() };
        let mut state = file.lock();
        let (rank, name) = (state.engine.comm().rank().0, state.name.clone());
        if state.split != Split::None {
            drop(state);
            let text = "a split collective call is active on this file; MPI allows one at a time";
            return Failure::local(ErrorClass::Io, text).raise(self.name, fh, rank, &name);
        }
        if state.passes_through() {
            drop(state);
            let code = real();
            if code == mpi::SUCCESS {
                file.lock().split = Split::Passed;
            }
            return code;
        }
        match self.perform(&mut state, fh) {
            Ok(bytes) => {
                state.split = Split::Ours(kind, bytes);
                mpi::SUCCESS
            }
            Err(failure) => {
                drop(state);
                failure.raise(self.name, fh, rank, &name)
            }
        }
    }
}

/// Ends a split collective of a kind.
fn end(
    call: &'static str,
    kind: &'static str,
    fh: MPI_File,
    status: *mut MPI_Status,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(file) = table::find(fh) else { return real() };
    let mut state = file.lock();
    let (rank, name) = (state.engine.comm().rank().0, state.name.clone());
    let begun = std::mem::replace(&mut state.split, Split::None);
    drop(state);
    let outcome = match begun {
        Split::Passed => return real(),
        Split::Ours(begun, bytes) if begun == kind => Ok(bytes),
        Split::Ours(begun, _) => {
            let text = format!("the split collective call that is active on this file is {begun}_begin");
            Err(Failure::local(ErrorClass::Io, &text))
        }
        Split::None => Err(Failure::local(ErrorClass::Io, "no split collective call is active on this file")),
    };
    finish(call, fh, status, outcome, rank, &name)
}

/// Exports one `_begin`: its name, the MPI library's own, the kind, direction, buffer and count types, and
/// whether it takes an offset.
macro_rules! begin {
    ($name:ident, $real:ident, $kind:ident, $direction:ident, $buffer:ty, $count:ty $(, $offset:ident)?) => {
        #[doc = concat!(stringify!($name), " (MPI-4.1, section 14.4.5). Collective.")]
        ///
        /// # Safety
        ///
        /// The MPI standard's duties.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fh: MPI_File,
            $($offset: MPI_Offset,)?
            buf: $buffer,
            count: $count,
            datatype: MPI_Datatype,
        ) -> c_int {
            let call = Call {
                name: stringify!($name),
                direction: Direction::$direction,
                offset: [$($offset)?].first().copied(),
                buffer: buf as *mut c_void, // of a write, only read
                count: MPI_Count::from(count),
                datatype,
            };
            guarded(stringify!($name), || {
                call.begin(stringify!($kind), fh, || {
                    // SAFETY: the caller's arguments, as they came.
                    unsafe { mpi::ffi::$real(fh, $($offset,)? buf, count, datatype) }
                })
            })
        }
    };
}

/// Exports one `_end`: its name, the MPI library's own, the kind, and the buffer's type.
macro_rules! end {
    ($name:ident, $real:ident, $kind:ident, $buffer:ty) => {
        #[doc = concat!(stringify!($name), " (MPI-4.1, section 14.4.5). Collective.")]
        ///
        /// # Safety
        ///
        /// The MPI standard's duties.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(fh: MPI_File, buf: $buffer, status: *mut MPI_Status) -> c_int {
            guarded(stringify!($name), || {
                end(stringify!($name), stringify!($kind), fh, status, || {
                    // SAFETY: the caller's arguments, as they came.
                    unsafe { mpi::ffi::$real(fh, buf, status) }
                })
            })
        }
    };
}

begin!(MPI_File_write_all_begin, PMPI_File_write_all_begin, MPI_File_write_all, Write, *const c_void, c_int);
begin!(
    MPI_File_write_at_all_begin,
    PMPI_File_write_at_all_begin,
    MPI_File_write_at_all,
    Write,
    *const c_void,
    c_int,
    offset
);
begin!(MPI_File_read_all_begin, PMPI_File_read_all_begin, MPI_File_read_all, Read, *mut c_void, c_int);
begin!(
    MPI_File_read_at_all_begin,
    PMPI_File_read_at_all_begin,
    MPI_File_read_at_all,
    Read,
    *mut c_void,
    c_int,
    offset
);

end!(MPI_File_write_all_end, PMPI_File_write_all_end, MPI_File_write_all, *const c_void);
end!(MPI_File_write_at_all_end, PMPI_File_write_at_all_end, MPI_File_write_at_all, *const c_void);
end!(MPI_File_read_all_end, PMPI_File_read_all_end, MPI_File_read_all, *mut c_void);
end!(MPI_File_read_at_all_end, PMPI_File_read_at_all_end, MPI_File_read_at_all, *mut c_void);

#[cfg(large_count)]
mod large_count {
    use super::*;

    begin!(
        MPI_File_write_all_begin_c,
        PMPI_File_write_all_begin_c,
        MPI_File_write_all,
        Write,
        *const c_void,
        MPI_Count
    );
    begin!(
        MPI_File_write_at_all_begin_c,
        PMPI_File_write_at_all_begin_c,
        MPI_File_write_at_all,
        Write,
        *const c_void,
        MPI_Count,
        offset
    );
    begin!(
        MPI_File_read_all_begin_c,
        PMPI_File_read_all_begin_c,
        MPI_File_read_all,
        Read,
        *mut c_void,
        MPI_Count
    );
    begin!(
        MPI_File_read_at_all_begin_c,
        PMPI_File_read_at_all_begin_c,
        MPI_File_read_at_all,
        Read,
        *mut c_void,
        MPI_Count,
        offset
    );
}
#[cfg(large_count)]
pub use large_count::*;
