//! The interface of all dispatchers.

use super::Nanos;
use super::request::Request;
use super::tree::Tree;

/// What a server does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Serve this request, which has left the queue.
    Serve(Request),
    /// Requests wait, but none may be served before this time: ask again then. Always later than now.
    Wait(Nanos),
    /// No request waits.
    Idle,
}

/// Keeps the requests that wait at a server and says which is served next. Times that are passed never
/// decrease.
pub trait Dispatcher: Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// From now on these jobs share by these weights. Dispatchers that know no shares ignore it.
    ///
    /// Panics when a job is left out that has requests waiting.
    fn set_shares(&mut self, tree: &Tree);

    /// A request arrives. Panics for a job that the shares last set do not have.
    fn push(&mut self, request: Request, now: Nanos);

    /// The server is free: what does it do?
    fn next(&mut self, now: Nanos) -> Next;

    /// How many requests wait.
    fn pending(&self) -> usize;

    /// How many requests of this job wait.
    fn pending_of(&self, job: super::JobId) -> usize;
}
