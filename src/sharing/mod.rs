//! Whose request is served next, when jobs share a server (ThemisIO, sections 3 and 4). Pure: time is an
//! argument.
//!
//! ```text
//! policy      "group-user-size-fair" -> levels                          Policy
//! shares      levels x jobs -> transition matrices, their product       transitions, shares
//! tree        the same as integer weights, for the servers              Tree
//! table       which server sees which jobs, exchanged every lambda      JobTable, Snapshot
//! global      shares of all jobs -> weights on one server               local_tree
//! dispatch    queued requests x tree -> the next one                    Tokens, Stride, Fifo, Gift, Tbf
//! controller  one server: its table, its tree, its dispatcher           Controller
//! ```
//!
//! Shares are shares of *service*, and service has a cost ([`Tariff`]): an operation costs something even
//! when it moves no byte, and a large write costs more than a small one, so that neither the many small nor
//! the few large requests take what is not theirs.
//!
//! Opportunity fairness: a share counts among those who have work. An idle job's part goes to its own user
//! first, an idle user's to its own group, because weights are compared level by level among the entities
//! that have requests waiting, at every pick.

mod controller;
mod discipline;
mod dispatch;
mod fenwick;
mod fifo;
mod fraction;
mod gift;
mod global;
mod job;
mod policy;
mod queues;
mod random;
mod request;
mod shares;
mod stride;
mod table;
mod tbf;
#[cfg(test)]
pub(crate) mod testing;
mod tokens;
mod tree;

pub use controller::Controller;
pub use discipline::{Discipline, Setup};
pub use dispatch::{Dispatcher, Next};
pub use fifo::Fifo;
pub use fraction::Fraction;
pub use gift::Gift;
pub use global::{global_shares, local_tree};
pub use job::{GroupId, Job, JobId, UserId};
pub use policy::{Level, Policy};
pub use request::{Cost, Request, Tariff};
pub use shares::{Transition, shares, transitions};
pub use stride::Stride;
pub use table::{JobTable, ServerId, Snapshot};
pub use tbf::Tbf;
pub use tokens::Tokens;
pub use tree::Tree;

/// A point in time, or a length of time, in nanoseconds of whatever clock the caller has.
pub type Nanos = u64;

/// A second.
pub const SECOND: Nanos = 1_000_000_000;
