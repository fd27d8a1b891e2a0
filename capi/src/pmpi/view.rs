//! MPI_File_set_view, MPI_File_get_view and MPI_File_set_atomicity: what decides whether tatpio or the MPI
//! library serves the data calls.

use crate::hints::{self, Given};
use crate::mpi::{self, Datatype, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset};
use crate::table::{self, State};
use crate::{agree, datatype, guarded, plain, report};
use std::ffi::{CStr, c_char, c_int};
use tatpio::comm::Communicator;
use tatpio::error::Error;
use tatpio::plan::View;
use tatpio::units::Rank;

/// MPI_File_set_view (MPI-4.1, section 14.3). Collective.
///
/// The MPI library sets the view too, in plain datatypes (see [`plain`]). Where tatpio cannot express a view
/// (another data representation than `native`, a datatype that it does not know on any rank) the MPI library
/// gets the program's own, and serves the file until the next view.
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
    let real = |etype, filetype| {
        // SAFETY: the caller's arguments, as they came, or types of ours in place of theirs.
        unsafe { mpi::ffi::PMPI_File_set_view(fh, disp, etype, filetype, datarep, info) }
    };
    guarded("MPI_File_set_view", || {
        let Some(file) = table::find(fh) else { return real(etype, filetype) };
        // SAFETY: a C string, or null, which the MPI library refuses.
        let name = (!datarep.is_null()).then(|| unsafe { CStr::from_ptr(datarep) });
        let shadow = Shadow::of(disp, etype, filetype, name);
        let code = match &shadow {
            Ok(Shadow { plain: Some((etype, filetype)), .. }) => real(etype.raw(), filetype.raw()),
            _ => real(etype, filetype),
        };
        adopt(&mut file.lock(), code == mpi::SUCCESS, shadow, info);
        code
    })
}

/// A view as tatpio keeps it.
struct Shadow {
    view: View,
    /// The program's own types, where the MPI library got others.
    program: Option<(Datatype, Datatype)>,
    /// Those others.
    plain: Option<(Datatype, Datatype)>,
}

impl Shadow {
    /// Errors: why the MPI library must serve the view, if that is worth saying. Local.
    fn of(
        disp: MPI_Offset,
        etype: MPI_Datatype,
        filetype: MPI_Datatype,
        datarep: Option<&CStr>,
    ) -> Result<Shadow, Option<String>> {
        // MPI libraries take both spellings. "internal" is whatever the MPI library makes of it.
        if !datarep.is_some_and(|name| name == c"native" || name == c"NATIVE") {
            return Err(None);
        }
        // What is no view at all gets the MPI library's error.
        let displacement = u64::try_from(disp).map_err(|_| None)?;
        if mpi::is_null_datatype(etype) || mpi::is_null_datatype(filetype) {
            return Err(None);
        }
        let reason = |error: Error| Some(error.to_string());
        let etype_bytes = mpi::bounds(etype).map_err(reason)?.size;
        let layout = datatype::layout(filetype).map_err(reason)?;
        if etype_bytes == 0 || layout.size() % etype_bytes != 0 {
            return Err(None);
        }
        let view = View { displacement, filetype: layout, etype_bytes };
        let plain = plain::types(&view).map_err(reason)?;
        let copy = |_: &_| Ok((Datatype::copy_of(etype)?, Datatype::copy_of(filetype)?));
        let program = plain.as_ref().map(copy).transpose().map_err(reason)?;
        Ok(Shadow { view, program, plain })
    }
}

/// MPI_File_get_view (MPI-4.1, section 14.3). Local. The program gets copies of the types that it passed.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_get_view(
    fh: MPI_File,
    disp: *mut MPI_Offset,
    etype: *mut MPI_Datatype,
    filetype: *mut MPI_Datatype,
    datarep: *mut c_char,
) -> c_int {
    guarded("MPI_File_get_view", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::ffi::PMPI_File_get_view(fh, disp, etype, filetype, datarep) };
        let Some(file) = table::find(fh).filter(|_| code == mpi::SUCCESS) else { return code };
        let state = file.lock();
        let Some((program_etype, program_filetype)) = &state.program_types else { return code };
        for (place, own) in [(etype, program_etype), (filetype, program_filetype)] {
            match Datatype::copy_of(own.raw()) {
                // SAFETY: the MPI library has just written a handle there, which nobody else has seen.
                Ok(copy) => unsafe {
                    mpi::free_if_derived(&mut *place);
                    *place = copy.into_raw();
                },
                Err(error) => report::warn(&format!("MPI_File_get_view: {error}")),
            }
        }
        code
    })
}

/// Puts a view and the hints that came with it in force, on all ranks or on none. `done` says whether the MPI
/// library set the view on this rank. Collective.
fn adopt(state: &mut State, done: bool, shadow: Result<Shadow, Option<String>>, info: MPI_Info) {
    let given = Given::over(state.engine.hints(), info);
    hints::adopt(state, &given);
    let [done_anywhere, foreign] = agree::any(state.engine.comm(), [done, !done || shadow.is_err()]);
    if !done_anywhere {
        return; // the program has the error, and the view before is still in force
    }
    state.foreign_view = foreign;
    let reason = match shadow {
        Ok(shadow) => {
            (state.view, state.program_types) = (shadow.view, shadow.program);
            None
        }
        Err(reason) => {
            state.program_types = None;
            reason
        }
    };
    if foreign {
        explain(state, reason);
    }
}

/// Says on rank 0 why the MPI library serves a file from now on, if any rank has a reason worth saying.
/// Collective.
fn explain(state: &State, reason: Option<String>) {
    let comm = state.engine.comm();
    let reasons = comm.gather(Rank(0), reason.unwrap_or_default().as_bytes());
    if let Some((rank, reason)) = reasons.iter().enumerate().find(|(_, reason)| !reason.is_empty()) {
        let reason = String::from_utf8_lossy(reason);
        report::warn(&format!("{}: tatpio is not used for the view of rank {rank}: {reason}", state.name));
    }
}

/// MPI_File_set_atomicity (MPI-4.1, section 14.6.1). Collective. While atomic mode is on, the MPI library
/// serves the file: it knows how to exclude its own independent calls.
///
/// # Safety
///
/// The MPI standard's duties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_File_set_atomicity(fh: MPI_File, flag: c_int) -> c_int {
    guarded("MPI_File_set_atomicity", || {
        // SAFETY: the caller's arguments, as they came.
        let code = unsafe { mpi::ffi::PMPI_File_set_atomicity(fh, flag) };
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
