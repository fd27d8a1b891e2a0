//! Raw bindings of the C interface of the MPI library that was there at build time, under its profiling
//! names.
//!
//! Made for an interposer: only `PMPI_*` functions are here, and nothing links the MPI library, so that the
//! symbols stay open and a preloaded library binds to the program's own MPI. A program or test that must link
//! sets the feature
//! `link`, or passes `DEP_PMPI_LINK_ARGS` to the linker in its own build script. The latter is better in a
//! workspace: cargo gives a feature to every package that it builds in one go, the preloaded library among
//! them.
//!
//! A preloaded library also lands in processes without MPI: the shell around mpirun, Open MPI's daemons.
//! There the open symbols must stay unresolved without harm, so it has to be built with `-C
//! relro-level=partial` (rustc's default looks every function up at load time, and the process dies of the
//! first that is missing).
//!
//! The environment variable `MPICC` chooses the library at build time (default: the first of `mpicc.mpich`
//! and `mpicc` that is installed). Build scripts of dependents find in `DEP_PMPI_IMPLEMENTATION` `mpich` or
//! `openmpi`, and in
//! `DEP_PMPI_LARGE_COUNT` 1 when there are functions with large counts (`PMPI_*_c`), else 0.
//!
//! Types and numbers keep MPI's names. What MPI defines by casts and addresses is in [`consts`], as
//! functions.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, missing_docs)] // C's names; MPI documents them
#![allow(clippy::all, clippy::pedantic)] // generated code

pub mod consts;

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));

/// Whether the MPI library has the functions with large counts, `PMPI_*_c` (MPI-4.0).
pub const LARGE_COUNT: bool = cfg!(large_count);

/// The family of the MPI library: `mpich` or `openmpi`.
pub const IMPLEMENTATION: &str = env!("PMPI_IMPLEMENTATION");
