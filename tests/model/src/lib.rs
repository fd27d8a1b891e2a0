//! An independent, naive, obviously right model of MPI file semantics, and a random generator of cases for it.
//!
//! Differential tests run a case through the software under test and through the model, and compare every byte of the
//! file and of the buffers. The model is written from the text of the MPI standard (MPI-4.1, chapters 5 and 14) and
//! shares no code, and no idea, with the library: types are lists of their basic elements, views are lists of bytes,
//! and nothing is clever.
//!
//! # The parts
//!
//! - [`TypeSpec`]: a datatype by the constructor calls that make it; [`TypeMap`]: what it means.
//! - [`View`], [`Tiling`]: from bytes of the stream to bytes of the file.
//! - [`Case`]: one file, one view a rank, and a few collective operations; [`generate`] makes one from a seed.
//! - [`Model`]: what a case must do to the file and to the buffers.
//! - [`simplify`]: a smaller case that still fails; [`Case::replay_line`] and [`from_env`]: the same case again.
//!
//! # How a test uses it
//!
//! ```
//! use tatpio_model::{Limits, Model, generate};
//!
//! let case = generate(1234, &Limits::default());
//! let mut model = Model::new(&case);
//! let mut file = case.initial_file(); // the software under test writes and reads this one
//! while let Some(step) = model.step() {
//!     for expect in &step.ranks {
//!         // Let rank `expect.rank` do its part of `case.ops[step.op]`, at `expect.offset`, on this buffer, ...
//!         let mut buffer = case.buffer(step.op, expect.rank);
//! #       expect.perform(&case, &mut file, &mut buffer);
//!         // ... then compare what it left there, and the bytes its status reports.
//!         expect.check(&case, &buffer, expect.transferred).unwrap();
//!     }
//!     let read = |at: u64, bytes: &mut [u8]| bytes.copy_from_slice(&file[at as usize..][..bytes.len()]);
//!     model.check_file(file.len() as u64, read).unwrap();
//! }
//! ```
//!
//! Ranks of a real MPI program see each other's writes only after sync, barrier, sync: a harness does that between
//! operations (MPI-4.1, section 14.6.1).

mod arrays;
mod case;
mod display;
mod features;
mod generate;
mod limits;
mod model;
mod replay;
mod rng;
mod simplify;
mod sparse;
mod spec;
mod typemap;
mod valid;
mod view;

pub use case::{Access, Case, Family, Op, OpKind, POISON, RankCase, memory_bytes};
pub use generate::generate;
pub use limits::Limits;
pub use model::{Expect, Model, Step};
pub use replay::{REPLAY_VARIABLE, from_env, from_text};
pub use rng::Rng;
pub use simplify::simplify;
pub use spec::{Block, Dimension, Distribution, Field, Named, Order, TypeSpec};
pub use typemap::{Basic, Entry, TypeMap};
pub use view::{Tiling, View};
