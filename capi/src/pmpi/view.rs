//! MPI_File_set_view and MPI_File_set_atomicity: what decides whether tatpio or the MPI library serves the data calls.

use crate::hints::{self, Given};
use crate::mpi::{self, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset};
use crate::table::{self, State};
use crate::{agree, datatype, guarded, report};
use std::ffi::{CStr, c_char, c_int};
use tatpio::comm::Communicator;
use tatpio::error::Error;
use tatpio::plan::View;
use tatpio::units::Rank;

/// MPI_File_set_view (MPI-4.1, section 14.3). Collective.
///
/// The MPI library sets the view first. Where tatpio cannot express one (another data representation than `native`, a
/// datatype that it does not know on any rank) the MPI library serves the file until the next view.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_set_view(
    fh: MPI_File,
    disp: MPI_Offset,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: *const c_char,
    info: MPI_Info,
) -> c_int {
    guarded("MPI_File_set_view", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::file_set_view(fh, disp, etype, filetype, datarep, info) };
        if let Some(file) = table::find(fh) {
            // SAFETY: a C string, or null, which the MPI library has refused.
            let datarep = (!datarep.is_null()).then(|| unsafe { CStr::from_ptr(datarep) });
            let done = code == mpi::SUCCESS;
            let view = if done { shadow(disp, etype, filetype, datarep) } else { Err(None) };
            adopt(&mut file.lock(), done, view, info);
        }
        code
    })
}

/// The engine's form of a view; why it has none, if that is worth saying.
fn shadow(
    disp: MPI_Offset,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: Option<&CStr>,
) -> Result<View, Option<String>> {
    // MPI libraries take both spellings. "internal" is whatever the MPI library makes of it.
    if !datarep.is_some_and(|name| name == c"native" || name == c"NATIVE") {
        return Err(None);
    }
    let reason = |error: Error| Some(error.to_string());
    let displacement = u64::try_from(disp).map_err(|_| None)?;
    let etype_bytes = mpi::bounds(etype).map_err(reason)?.size;
    let filetype = datatype::layout(filetype).map_err(reason)?;
    if etype_bytes == 0 {
        return Err(Some("the etype is empty".into()));
    }
    Ok(View { displacement, filetype, etype_bytes })
}

/// Puts a view and the hints that came with it in force, on all ranks or on none. `done` says whether the MPI library set
/// the view on this rank. Collective.
fn adopt(state: &mut State, done: bool, view: Result<View, Option<String>>, info: MPI_Info) {
    let given = Given::over(state.engine.hints(), info);
    hints::adopt(state, &given);
    let [done_anywhere, foreign] = agree::any(state.engine.comm(), [done, view.is_err()]);
    if !done_anywhere {
        return; // the program has the error, and the view before is still in force
    }
    state.foreign_view = foreign;
    match view {
        Ok(view) if !foreign => state.view = view,
        Ok(_) => explain(state, None),
        Err(reason) => explain(state, reason),
    }
}

/// Says on rank 0 why the MPI library serves a file from now on, if any rank has a reason worth saying. Collective.
fn explain(state: &State, reason: Option<String>) {
    let comm = state.engine.comm();
    let reasons = comm.gather(Rank(0), reason.unwrap_or_default().as_bytes());
    if let Some((rank, reason)) = reasons.iter().enumerate().find(|(_, reason)| !reason.is_empty()) {
        let reason = String::from_utf8_lossy(reason);
        report::warn(&format!("{}: tatpio is not used for the view of rank {rank}: {reason}", state.name));
    }
}

/// MPI_File_set_atomicity (MPI-4.1, section 14.6.1). Collective. While atomic mode is on, the MPI library serves the file:
/// it knows how to exclude its own independent calls.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_set_atomicity(fh: MPI_File, flag: c_int) -> c_int {
    guarded("MPI_File_set_atomicity", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::file_set_atomicity(fh, flag) };
        if let Some(file) = table::find(fh) {
            let mut state = file.lock();
            let done = code == mpi::SUCCESS;
            let [done_anywhere, on_or_unsure] = agree::any(state.engine.comm(), [done, !done || flag != 0]);
            if done_anywhere {
                state.atomic = on_or_unsure;
            }
        }
        code
    })
}

