//! The engine in the simulated communicator, against the model of MPI file semantics.

mod differential;
mod faults;
mod kept;
mod pattern;
mod scale;
mod types;
