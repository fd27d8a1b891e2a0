//! The collective reads and writes: MPI_File_{write,read}[_at]_all and their large-count forms.

use crate::errors::Failure;
use crate::mpi::{self, MPI_Count, MPI_Datatype, MPI_File, MPI_Offset, MPI_Status};
use crate::table::{self, State};
use crate::{api, datatype, guarded};
use std::ffi::{c_int, c_void};
use tatpio::collective::Request;
use tatpio::comm::Communicator;
use tatpio::error::{Error, ErrorClass};
use tatpio::memory::Memory;
use tatpio::plan::Access;
use tatpio::units::{Bytes, Rank};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Write,
    Read,
}

/// The arguments of a collective read or write, whichever call they came by.
pub(super) struct Call {
    pub name: &'static str,
    pub direction: Direction,
    /// In etypes; `None` for the individual file pointer.
    pub offset: Option<MPI_Offset>,
    /// Only written through when the direction is `Read`.
    pub buffer: *mut c_void,
    pub count: MPI_Count,
    pub datatype: MPI_Datatype,
}

/// A call's request, and where it leaves the individual file pointer (in etypes).
struct Prepared<'a> {
    request: Request<'a>,
    next: MPI_Offset,
}

impl Call {
    /// The error of a call that the file's mode forbids, in the classes that ROMIO gives it. The mode is the
    /// same on every rank, so all return together. (The MPI library is not asked: Open MPI 4.1.4 says that it
    /// wrote to a read-only file.)
    fn forbidden(&self, state: &State) -> Option<Failure> {
        let (class, text) = match self.direction {
            Direction::Write if !state.may_write => {
                (ErrorClass::ReadOnly, "the file was opened with MPI_MODE_RDONLY")
            }
            Direction::Read if !state.may_read => {
                (ErrorClass::Access, "the file was opened with MPI_MODE_WRONLY")
            }
            _ => return None,
        };
        let facts = (state.engine.comm().rank() == Rank(0)).then(|| text.into());
        Some(Failure { class, facts })
    }

    /// Does the call; returns the bytes this rank moved. Collective.
    ///
    /// A rank whose arguments are wrong takes part with its error, and every rank returns one of the same
    /// class. The individual file pointer moves by what was asked for, also at the end of the file (MPI-4.1,
    /// section 14.4.3); after an error it stays where it was.
    pub fn perform(&self, state: &mut State, fh: MPI_File) -> Result<Bytes, Failure> {
        if let Some(failure) = self.forbidden(state) {
            return Err(failure);
        }
        let (next, request) = match self.prepare(state, fh) {
            Ok(Prepared { request, next }) => (Some(next), Ok(request)),
            Err(error) => (None, Err(error)),
        };
        let local = request.as_ref().err().map(Error::to_string);
        let outcome = match self.direction {
            Direction::Write => state.engine.write_all(request),
            Direction::Read => state.engine.read_all(request),
        };
        api::remember(state.engine.last_call());
        let bytes = outcome.map_err(|error| {
            let failure = Failure::from(error);
            Failure { facts: local.or(failure.facts), ..failure }
        })?;
        if let (None, Some(next)) = (self.offset, next) {
            mpi::seek(fh, next)?;
        }
        Ok(bytes)
    }

    /// Checks and converts the arguments. Local.
    fn prepare(&self, state: &State, fh: MPI_File) -> Result<Prepared<'static>, Error> {
        let invalid = |class, what: &str| Error::Invalid { class, what: what.into() };
        let count = u64::try_from(self.count)
            .map_err(|_| invalid(ErrorClass::Count, &format!("the count is {}, below 0", self.count)))?;
        let layout = datatype::layout(self.datatype)?;
        let at = match self.offset {
            Some(offset) => offset,
            None => mpi::position(fh)?,
        };
        let first = u64::try_from(at)
            .map_err(|_| invalid(ErrorClass::Arg, &format!("the offset is {at}, below 0")))?;
        // SAFETY: the program's duty (MPI-4.1, section 14.4): the buffer holds `count` elements of the
        // datatype, readable, and writable for a read; nothing else touches it before this call returns.
        let memory = unsafe { Memory::new(self.buffer.cast(), &layout, count)? };
        let (bytes, etype) = (memory.bytes(), state.view.etype_bytes);
        if bytes % etype != 0 {
            let text = format!("{bytes} bytes are not a whole number of etypes of {etype} bytes");
            return Err(invalid(ErrorClass::Io, &text)); // the class that ROMIO gives it
        }
        let far = || invalid(ErrorClass::Arg, "the request reaches past the largest file offset, 2^63 - 1");
        let from = first.checked_mul(etype).ok_or_else(far)?;
        let next = first.checked_add(bytes / etype).and_then(|next| MPI_Offset::try_from(next).ok());
        let access = Access::new(&state.view, from, bytes)?;
        Ok(Prepared { request: Request { access, memory }, next: next.ok_or_else(far)? })
    }

    /// The whole of a blocking call, or `None` where the MPI library is to handle it.
    fn blocking(&self, fh: MPI_File, status: *mut MPI_Status) -> Option<c_int> {
        let file = table::find(fh)?;
        let mut state = file.lock();
        if state.passes_through() {
            return None;
        }
        let outcome = self.perform(&mut state, fh);
        let (rank, name) = (state.engine.comm().rank().0, state.name.clone());
        drop(state);
        Some(finish(self.name, fh, status, outcome, rank, &name))
    }
}

/// The code of a call that is over, and its status. No lock is held: an error handler may call MPI.
pub(super) fn finish(
    call: &'static str,
    fh: MPI_File,
    status: *mut MPI_Status,
    outcome: Result<Bytes, Failure>,
    rank: u32,
    file: &str,
) -> c_int {
    let outcome = outcome.and_then(|bytes| Ok(mpi::set_status(status, bytes)?));
    match outcome {
        Ok(()) => mpi::SUCCESS,
        Err(failure) => failure.raise(call, fh, rank, file),
    }
}

/// Exports one blocking call: its name, the MPI library's own, direction, buffer and count types, and whether
/// it takes an offset.
macro_rules! blocking {
    ($name:ident, $real:ident, $direction:ident, $buffer:ty, $count:ty $(, $offset:ident)?) => {
        #[doc = concat!(stringify!($name), " (MPI-4.1, section 14.4). Collective.")]
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
            status: *mut MPI_Status,
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
                call.blocking(fh, status).unwrap_or_else(|| {
                    // SAFETY: the caller's arguments, as they came.
                    unsafe { mpi::ffi::$real(fh, $($offset,)? buf, count, datatype, status) }
                })
            })
        }
    };
}

blocking!(MPI_File_write_all, PMPI_File_write_all, Write, *const c_void, c_int);
blocking!(MPI_File_write_at_all, PMPI_File_write_at_all, Write, *const c_void, c_int, offset);
blocking!(MPI_File_read_all, PMPI_File_read_all, Read, *mut c_void, c_int);
blocking!(MPI_File_read_at_all, PMPI_File_read_at_all, Read, *mut c_void, c_int, offset);

#[cfg(large_count)]
mod large_count {
    use super::*;

    blocking!(MPI_File_write_all_c, PMPI_File_write_all_c, Write, *const c_void, MPI_Count);
    blocking!(MPI_File_write_at_all_c, PMPI_File_write_at_all_c, Write, *const c_void, MPI_Count, offset);
    blocking!(MPI_File_read_all_c, PMPI_File_read_all_c, Read, *mut c_void, MPI_Count);
    blocking!(MPI_File_read_at_all_c, PMPI_File_read_at_all_c, Read, *mut c_void, MPI_Count, offset);
}
#[cfg(large_count)]
pub use large_count::*;
