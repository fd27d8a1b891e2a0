//! The side table: what tatpio knows of each file it serves, by the handle that the program holds.

use crate::mpi::{Datatype, MPI_File};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tatpio::backend::PosixFile;
use tatpio::collective::CollectiveFile;
use tatpio::comm::mpi::MpiComm;
use tatpio::hints::Switch;
use tatpio::plan::View;
use tatpio::units::Bytes;

/// The engine over a real MPI library and file system.
pub(crate) type Engine = CollectiveFile<MpiComm, PosixFile>;

/// An open file that tatpio serves.
pub(crate) struct State {
    /// As the program named it.
    pub name: String,
    pub engine: Engine,
    /// The program's view, when `foreign_view` is not set.
    pub view: View,
    /// The program's etype and filetype, where the MPI library got others for the same view.
    pub program_types: Option<(Datatype, Datatype)>,
    /// The view has a data representation or a datatype that only the MPI library can serve.
    pub foreign_view: bool,
    /// Atomic mode: the MPI library knows how to lock against its own calls.
    pub atomic: bool,
    /// What the mode that the file was opened with allows.
    pub may_read: bool,
    pub may_write: bool,
    pub split: Split,
}

impl State {
    /// Whether the MPI library serves the file at present. The same on every rank.
    pub fn passes_through(&self) -> bool {
        self.foreign_view || self.atomic || self.engine.hints().tatpio == Switch::Disable
    }
}

/// The split collective call that was begun and not yet ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    None,
    /// All its work was done when it was begun; the kind of call, and the bytes it moved on this rank.
    Ours(&'static str, Bytes),
    /// Passed through.
    Passed,
}

/// A file's state behind its lock. Collective calls on different files run at the same time, each under its
/// own lock.
pub(crate) struct Shared(Mutex<State>);

// SAFETY: the parts of `State` that are not Send of themselves are MPI handles and the addresses of shared
// memory windows. Both belong to the process, not to a thread; a program that calls from several threads has
// asked MPI for MPI_THREAD_MULTIPLE or orders the calls itself (MPI-4.1, section 11.6), and the lock lets one
// thread at a time use them.
unsafe impl Send for Shared {}
// SAFETY: as above; a shared reference gives access only through the lock.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held is ending the job already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static FILES: LazyLock<Mutex<HashMap<usize, Arc<Shared>>>> = LazyLock::new(Mutex::default);

fn files() -> MutexGuard<'static, HashMap<usize, Arc<Shared>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle is an address in MPICH's and in Open MPI's family of libraries.
fn key(fh: MPI_File) -> usize {
    fh.addr()
}

/// The file of a handle, if tatpio serves it.
pub(crate) fn find(fh: MPI_File) -> Option<Arc<Shared>> {
    files().get(&key(fh)).cloned()
}

/// Begins to serve a file.
pub(crate) fn insert(fh: MPI_File, state: State) {
    let before = files().insert(key(fh), Arc::new(Shared(Mutex::new(state))));
    // A file that was closed past us (from Fortran's mpi_f08): its handle was given out anew on this rank,
    // and perhaps not on others, so its communicator, which only all ranks together can free, stays.
    std::mem::forget(before);
}

/// Ends serving a file.
pub(crate) fn remove(fh: MPI_File) -> Option<Arc<Shared>> {
    files().remove(&key(fh))
}
