//! MPI_File_set_info and MPI_File_get_info: hints after the file was opened.

use crate::hints::{self, Given};
use crate::mpi::{self, MPI_File, MPI_Info};
use crate::{guarded, report, table};
use std::ffi::c_int;

/// MPI_File_set_info (MPI-4.1, section 14.2.8). Collective.
///
/// `tatpio=disable` hands the file to the MPI library, `tatpio=enable` gives it back; for a file that was
/// opened without tatpio, `tatpio` has no effect here.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_set_info(fh: MPI_File, info: MPI_Info) -> c_int {
    guarded("MPI_File_set_info", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::ffi::PMPI_File_set_info(fh, info) };
        if let Some(file) = table::find(fh) {
            let mut state = file.lock();
            let given = Given::over(state.engine.hints(), info);
            hints::adopt(&mut state, &given);
        }
        code
    })
}

/// MPI_File_get_info (MPI-4.1, section 14.2.8): the MPI library's hints, and over them those that tatpio
/// uses.
///
/// For a file that tatpio does not serve, a hint `tatpio` that the MPI library repeats becomes `disable`: the
/// answer is what is in use.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) -> c_int {
    guarded("MPI_File_get_info", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::ffi::PMPI_File_get_info(fh, info_used) };
        if code != mpi::SUCCESS {
            return code;
        }
        // SAFETY: the MPI library wrote the handle when it succeeded.
        let info = unsafe { *info_used };
        let listed = match table::find(fh) {
            Some(file) => {
                let in_use = file.lock().engine.hints().in_use();
                in_use.iter().try_for_each(|(key, value)| mpi::info_set(info, key, value))
            }
            None => match mpi::info_get(info, "tatpio") {
                Ok(Some(_)) => mpi::info_set(info, "tatpio", "disable"),
                other => other.map(drop),
            },
        };
        if let Err(error) = listed {
            report::warn(&format!("MPI_File_get_info lists not all hints: {error}"));
        }
        code
    })
}
