//! First in, first out: what file systems do by themselves, and the base line.

use super::dispatch::{Dispatcher, Next};
use super::job::JobId;
use super::request::Request;
use super::tree::Tree;
use super::{Discipline, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// Serves requests in the order of their arrival, whosever they are.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    queue: VecDeque<Request>,
    of_job: BTreeMap<JobId, usize>,
}

impl Fifo {
    /// An empty queue.
    pub fn new() -> Fifo {
        Fifo::default()
    }
}

impl Dispatcher for Fifo {
    fn name(&self) -> &'static str {
        Discipline::Fifo.name()
    }

    fn set_shares(&mut self, _: &Tree) {}

    fn push(&mut self, request: Request, _: Nanos) {
        *self.of_job.entry(request.job).or_default() += 1;
        self.queue.push_back(request);
    }

    fn next(&mut self, _: Nanos) -> Next {
        let Some(request) = self.queue.pop_front() else { return Next::Idle };
        if let Some(waiting) = self.of_job.get_mut(&request.job) {
            *waiting -= 1;
            if *waiting == 0 {
                self.of_job.remove(&request.job);
            }
        }
        Next::Serve(request)
    }

    fn pending(&self) -> usize {
        self.queue.len()
    }

    fn pending_of(&self, job: JobId) -> usize {
        self.of_job.get(&job).copied().unwrap_or(0)
    }
}
