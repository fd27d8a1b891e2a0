//! The engine's errors as MPI's: a class, a line for people, and the file's error handler.

use crate::mpi::{self, MPI_File};
use crate::report;
use std::ffi::c_int;
use tatpio::error::{Error, ErrorClass};

/// A call that failed, the same class on every rank that took part.
#[derive(Debug)]
pub(crate) struct Failure {
    pub class: ErrorClass,
    /// What happened here; `None` where it happened on another rank.
    pub facts: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let class = error.class();
        let facts = (!matches!(error, Error::Remote { .. })).then(|| error.to_string());
        Failure { class, facts }
    }
}

impl Failure {
    /// Something that this rank finds wrong by itself.
    pub fn local(class: ErrorClass, facts: &str) -> Failure {
        Failure { class, facts: Some(facts.into()) }
    }

    /// Prints the facts, calls the file's error handler (by default it returns; MPI-4.1, section 14.7), and
    /// gives the code to return. No lock may be held: the program's handler may call MPI again, on this file
    /// too.
    pub fn raise(&self, call: &'static str, fh: MPI_File, rank: u32, name: &str) -> c_int {
        if let Some(facts) = &self.facts {
            report::error(rank, call, name, facts);
        }
        let code = mpi::error_code(self.class);
        mpi::call_error_handler(fh, code);
        code
    }
}
