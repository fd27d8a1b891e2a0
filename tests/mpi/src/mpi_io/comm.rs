//! Communicators.

use super::check;
use pmpi_sys::{self as ffi, consts};
use std::ffi::c_int;

/// A communicator; one of our own is freed when dropped.
pub struct Comm {
    pub(super) raw: ffi::MPI_Comm,
    own: bool,
}

impl Comm {
    /// MPI_COMM_WORLD.
    pub fn world() -> Comm {
        Comm { raw: consts::comm_world(), own: false }
    }

    /// MPI_COMM_SELF.
    pub fn itself() -> Comm {
        Comm { raw: consts::comm_self(), own: false }
    }

    /// This process's number. Local.
    pub fn rank(&self) -> usize {
        let mut rank = 0;
        // SAFETY: a live communicator; a place for one int.
        check(unsafe { ffi::PMPI_Comm_rank(self.raw, &raw mut rank) }, "MPI_Comm_rank")
            .expect("a live communicator");
        usize::try_from(rank).expect("not negative")
    }

    /// How many processes there are. Local.
    pub fn size(&self) -> usize {
        let mut size = 0;
        // SAFETY: a live communicator; a place for one int.
        check(unsafe { ffi::PMPI_Comm_size(self.raw, &raw mut size) }, "MPI_Comm_size")
            .expect("a live communicator");
        usize::try_from(size).expect("not negative")
    }

    /// Whether any thread may call MPI at any time. Local.
    pub fn threads_may_call() -> bool {
        let mut level = 0;
        // SAFETY: a place for one int.
        check(unsafe { ffi::PMPI_Query_thread(&raw mut level) }, "MPI_Query_thread")
            .expect("MPI is initialized");
        level == ffi::MPI_THREAD_MULTIPLE
    }

    /// Waits for all.
    pub fn barrier(&self) {
        // SAFETY: a live communicator.
        check(unsafe { ffi::PMPI_Barrier(self.raw) }, "MPI_Barrier").expect("a live communicator");
    }

    /// The largest of the ranks' numbers.
    pub fn max(&self, mine: u64) -> u64 {
        let mut value = mine;
        // SAFETY: one 64-bit word, in place.
        let code = unsafe {
            let (kind, op) = (consts::uint64_t(), consts::op_max());
            ffi::PMPI_Allreduce(consts::in_place(), (&raw mut value).cast(), 1, kind, op, self.raw)
        };
        check(code, "MPI_Allreduce").expect("a live communicator");
        value
    }

    /// Every rank's number, by rank.
    pub fn all(&self, mine: u64) -> Vec<u64> {
        let mut values = vec![0; self.size()];
        // SAFETY: one 64-bit word from every rank, and room for all of them.
        let code = unsafe {
            let kind = consts::uint64_t();
            ffi::PMPI_Allgather(
                (&raw const mine).cast(),
                1,
                kind,
                values.as_mut_ptr().cast(),
                1,
                kind,
                self.raw,
            )
        };
        check(code, "MPI_Allgather").expect("a live communicator");
        values
    }

    /// Whether it is true on every rank.
    pub fn all_true(&self, mine: bool) -> bool {
        self.max(u64::from(!mine)) == 0
    }

    /// The ranks that pass the same color.
    pub fn split(&self, color: usize) -> Comm {
        let mut raw = consts::comm_null();
        let color = c_int::try_from(color).expect("a small number");
        // SAFETY: a live communicator; a place for one handle.
        check(unsafe { ffi::PMPI_Comm_split(self.raw, color, 0, &raw mut raw) }, "MPI_Comm_split")
            .expect("a live communicator");
        Comm { raw, own: true }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: our own communicator, freed once.
            check(unsafe { ffi::PMPI_Comm_free(&raw mut self.raw) }, "MPI_Comm_free").expect("freed once");
        }
    }
}

// SAFETY: MPI handles belong to the process; which threads may call is the thread level's business (see
// `Mpi::init`).
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}
