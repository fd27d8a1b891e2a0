//! How ranks speak to each other: the trait and its implementations. No policy lives here.

#[cfg(any(feature = "mpi", test))]
mod meeting;
mod shared;
mod sim;
mod single;

#[cfg(feature = "mpi")]
pub mod mpi;

pub use shared::{Offer, Segment, Ticket};
pub use sim::{SimComm, SimSetup, simulate};
pub use single::SingleComm;

use crate::units::Rank;

/// How [`Communicator::all_reduce`] combines the ranks' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Reduce {
    /// Wrapping addition.
    Sum,
    Min,
    Max,
}

/// A group of ranks that communicate. Every method but `rank` and `size` is collective over the group, except
/// [`Communicator::exchange`], which involves the ranks it names.
///
/// Nothing here returns an error: a communicator that cannot deliver ends the job, as MPI does, because a rank that
/// went on alone would hang the others.
pub trait Communicator: Sized {
    /// This process's number in the group.
    fn rank(&self) -> Rank;

    /// How many ranks the group has.
    fn size(&self) -> u32;

    /// Returns when every rank has called it.
    fn barrier(&self);

    /// Every rank's bytes (lengths may differ), by rank, on every rank.
    fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>>;

    /// Every rank's bytes (lengths may differ), by rank, on `root`; an empty list elsewhere.
    fn gather(&self, root: Rank, mine: &[u8]) -> Vec<Vec<u8>>;

    /// Replaces `bytes` on every rank by those of `root`.
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>);

    /// Combines the values element by element; every rank gets the result. All ranks pass the same length.
    fn all_reduce(&self, op: Reduce, values: &mut [u64]);

    /// Sends `values[r]` to each rank r; returns what each rank sent here. `values` has one entry a rank.
    fn all_to_all(&self, values: &[u64]) -> Vec<u64>;

    /// Sends and receives messages whose sizes both sides know. Messages between two ranks arrive in order; an empty
    /// message is not sent, on both sides. Returns when all of `receives` are filled and `sends` may be reused.
    fn exchange(&self, sends: &[(Rank, &[u8])], receives: &mut [(Rank, &mut [u8])]);

    /// The ranks that pass the same color form a new group, in the order of their old numbers.
    fn split(&self, color: u32) -> Self;

    /// Memory that all ranks of the group can reach: one segment a rank, of the size that rank asked for (0 is
    /// allowed), zeroed, by rank. `None` on every rank when any rank cannot have it: the caller then sends messages.
    fn share(&self, bytes: usize) -> Option<Vec<Segment>>;
}
