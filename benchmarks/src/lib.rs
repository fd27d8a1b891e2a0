//! What the benchmark programs share.
//!
//! `cube` and `btio` are ordinary MPI programs: they make standard MPI-IO calls only and know nothing of
//! tatpio, so that one binary measures whatever MPI-IO implementation it runs under. `compare` starts them
//! under several and compares.
//!
//! ```text
//! options    the command line of cube and btio
//! partition  PURE: which blocks of the array a rank holds
//! values     PURE: what every double of the array is, so that every double read can be checked
//! mpi_io     the MPI-IO calls (all `unsafe` of this crate), with their return codes checked
//! probe      what a command counts during the passes, such as the bytes of every link
//! bench      MAIN PATH of cube and btio: warm up, write and read repeatedly, verify
//! report     what a run found, as text and as JSON
//! compare    MAIN PATH of compare: cases x peers -> runs -> tables
//! ```

pub mod bench;
pub mod compare;
pub mod mpi_io;
pub mod options;
pub mod partition;
pub mod probe;
pub mod report;
pub mod values;
