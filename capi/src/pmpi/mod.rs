//! The interposed calls. Each has the name, the arguments and the meaning that the MPI standard gives it.

mod data;
mod info;
mod open;
mod split;
mod sync;
mod view;

pub use data::*;
pub use info::*;
pub use open::*;
pub use split::*;
pub use sync::*;
pub use view::*;
