//! MPI_File_sync.

use crate::mpi::{self, MPI_File};
use crate::{agree, guarded, table};
use std::ffi::c_int;
use tatpio::backend::Backend;
use tatpio::comm::Communicator;
use tatpio::error::Error;
use tatpio::units::ByteRange;

/// MPI_File_sync (MPI-4.1, section 14.6.1). Collective. What was written through tatpio's descriptor and
/// through the MPI library's is forced to the storage device.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_sync(fh: MPI_File) -> c_int {
    guarded("MPI_File_sync", || {
        let failure = table::find(fh).and_then(|file| {
            let state = file.lock();
            let outcome = state.engine.backend().sync();
            let outcome = outcome.map_err(|source| Error::Write { range: ByteRange::EMPTY, source });
            let failure = agree::outcome(state.engine.comm(), outcome).err();
            failure.map(|failure| (failure, state.engine.comm().rank().0, state.name.clone()))
        });
        // SAFETY: the caller's argument, as it came.
        let code = unsafe { mpi::ffi::PMPI_File_sync(fh) };
        match failure {
            Some((failure, rank, name)) if code == mpi::SUCCESS => {
                failure.raise("MPI_File_sync", fh, rank, &name)
            }
            _ => code,
        }
    })
}
