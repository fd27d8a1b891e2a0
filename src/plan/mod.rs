//! Pure stages: a flattened access, the file domains, and the windows of each round. Nothing here communicates, reads
//! a clock or touches a file.

mod access;
mod coverage;
mod distributed;
mod domains;
mod layout;
mod node;
mod rounds;

pub use access::{Access, View};
pub use coverage::Coverage;
pub use distributed::{Distribution, Order};
pub use domains::{Domains, Partition, Stripes};
pub use layout::{Layout, LayoutError};
pub use rounds::{Round, Window, WindowPlan, plan_rounds};

pub(crate) use node::Placed;
