//! What the self-checking MPI programs share: the MPI-IO calls of a C program, as Rust.

pub mod edges;
mod interposed;
pub mod mpi_io;
pub mod scratch;
pub mod types;
