//! A queue a job, by the leaves of the tree: what statistical tokens and stride scheduling share.

use super::job::JobId;
use super::request::Request;
use super::tree::Tree;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    pub tree: Tree,
    /// By node; inner nodes have none.
    queue: Vec<VecDeque<Request>>,
    pub pending: usize,
}

impl Queues {
    /// Moves the queues to another tree and returns the old one.
    pub fn move_to(&mut self, tree: &Tree) -> Tree {
        let old = std::mem::replace(&mut self.tree, tree.clone());
        let mut queues = std::mem::take(&mut self.queue);
        self.queue.resize(tree.nodes.len(), VecDeque::new());
        for (node, queue) in queues.iter_mut().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            let job = old.nodes[node].job.expect("only leaves have queues");
            let leaf =
                tree.leaf(job).unwrap_or_else(|| panic!("job {job} has requests waiting and no share"));
            self.queue[leaf] = std::mem::take(queue);
        }
        old
    }

    /// Appends a request and returns its leaf.
    pub fn push(&mut self, request: Request) -> usize {
        let leaf = self.tree.leaf(request.job);
        let leaf = leaf.unwrap_or_else(|| panic!("job {} has a request and no share", request.job));
        self.queue[leaf].push_back(request);
        self.pending += 1;
        leaf
    }

    /// Takes the oldest request of a leaf.
    pub fn pop(&mut self, leaf: usize) -> Request {
        self.pending -= 1;
        self.queue[leaf].pop_front().expect("a leaf is only chosen when it has requests")
    }

    pub fn len(&self, leaf: usize) -> usize {
        self.queue[leaf].len()
    }

    /// What the oldest request of a leaf costs, at least 1; 0 when there is none.
    pub fn head_cost(&self, leaf: usize) -> u64 {
        self.queue[leaf].front().map_or(0, |request| request.cost.0.max(1))
    }

    pub fn pending_of(&self, job: JobId) -> usize {
        self.tree.leaf(job).map_or(0, |leaf| self.len(leaf))
    }
}
