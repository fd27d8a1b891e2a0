//! The policy tree with integer weights: what a dispatcher descends.

use super::job::{Job, JobId};
use super::policy::Policy;
use std::collections::BTreeMap;
use std::ops::Range;

/// Jobs below the entities of a policy's levels, each with an integer weight among its siblings.
///
/// Weights are ratios: a node's part is its weight over the sum of its siblings'. All jobs are at the same
/// depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The root first, then level by level; the children of a node stand together.
    pub(super) nodes: Vec<Node>,
    leaf_of: BTreeMap<JobId, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The entities from the outermost level down to this: what is the same node in two trees.
    pub path: Vec<u64>,
    /// The node above; the root is its own.
    pub parent: usize,
    /// The nodes below; empty for a job.
    pub children: Range<usize>,
    /// Its weight among its siblings, never 0.
    pub weight: u64,
    /// The job, for a leaf.
    pub job: Option<JobId>,
}

/// Siblings' weights are divided until they sum to less than about this, so that dispatchers can compute in
/// 128 bits.
const SIBLINGS_WEIGHT_MAX: u64 = 1 << 32;

impl Tree {
    /// The tree of a policy over these jobs. Panics when two jobs have one number.
    pub fn new(policy: &Policy, jobs: &[Job]) -> Tree {
        let mut tree = Tree::grow(policy, jobs);
        tree.limit_weights();
        tree
    }

    /// The tree of a policy over these jobs where each job has a weight of its own, and an entity the sum of
    /// its jobs': what a server uses that knows how much of each job it should serve. A job without a weight,
    /// or with 0, has 1. Weights must be below 2^48. Panics when two jobs have one number.
    pub fn weighted(policy: &Policy, jobs: &[Job], weights: &BTreeMap<JobId, u64>) -> Tree {
        let mut tree = Tree::grow(policy, jobs);
        for node in (1..tree.nodes.len()).rev() {
            tree.nodes[node].weight = match tree.nodes[node].job {
                Some(job) => weights.get(&job).copied().unwrap_or(1).max(1),
                None => tree.nodes[node].children.clone().map(|child| tree.nodes[child].weight).sum(),
            };
        }
        tree.limit_weights();
        tree
    }

    fn grow(policy: &Policy, jobs: &[Job]) -> Tree {
        let root = Node { path: Vec::new(), parent: 0, children: 1..1, weight: 1, job: None };
        let mut nodes = vec![root];
        let mut leaf_of = BTreeMap::new();
        let depth = policy.down_to_jobs().count();
        // The jobs of each node of the last level that was grown.
        let mut above: Vec<(usize, Vec<&Job>)> = vec![(0, jobs.iter().collect())];
        for (at, level) in policy.down_to_jobs().enumerate() {
            let last = at + 1 == depth;
            let mut grown = Vec::new();
            for (parent, jobs) in above {
                let mut entities: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
                for job in jobs {
                    let entity = if last { job.id.0 } else { level.entity(job) };
                    entities.entry(entity).or_default().push(job);
                }
                nodes[parent].children = nodes.len()..nodes.len() + entities.len();
                for (entity, jobs) in entities {
                    let mut path = nodes[parent].path.clone();
                    path.push(entity);
                    let job = last.then_some(jobs[0].id);
                    let node = nodes.len();
                    nodes.push(Node {
                        path,
                        parent,
                        children: 0..0,
                        weight: level.weight(jobs[0]).into(),
                        job,
                    });
                    if let Some(job) = job {
                        assert!(
                            jobs.len() == 1 && leaf_of.insert(job, node).is_none(),
                            "two jobs of number {job}"
                        );
                    }
                    grown.push((node, jobs));
                }
            }
            above = grown;
        }
        Tree { nodes, leaf_of }
    }

    fn limit_weights(&mut self) {
        for parent in 0..self.nodes.len() {
            let children = self.nodes[parent].children.clone();
            let whole: u64 = children.clone().map(|child| self.nodes[child].weight).sum();
            let excess = whole.div_ceil(SIBLINGS_WEIGHT_MAX).next_power_of_two();
            children.for_each(|child| self.nodes[child].weight = (self.nodes[child].weight / excess).max(1));
        }
    }

    /// The jobs, in the order of their leaves.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.nodes.iter().filter_map(|node| node.job)
    }

    /// Whether the tree has this job.
    pub fn contains(&self, job: JobId) -> bool {
        self.leaf_of.contains_key(&job)
    }

    /// The parts of the jobs when all have work, for people: they sum to 1.
    pub fn parts(&self) -> BTreeMap<JobId, f64> {
        let mut part = vec![1.0; self.nodes.len()];
        for (parent, node) in self.nodes.iter().enumerate() {
            let whole: u64 = node.children.clone().map(|child| self.nodes[child].weight).sum();
            node.children.clone().for_each(|child| {
                part[child] = part[parent] * self.nodes[child].weight as f64 / whole as f64;
            });
        }
        self.leaf_of.iter().map(|(&job, &leaf)| (job, part[leaf])).collect()
    }

    pub(super) fn leaf(&self, job: JobId) -> Option<usize> {
        self.leaf_of.get(&job).copied()
    }

    /// The nodes of each level below the root.
    pub(super) fn levels(&self) -> Vec<Range<usize>> {
        let mut levels = Vec::new();
        let mut level = self.nodes[0].children.clone();
        while !level.is_empty() {
            let next = self.nodes[level.start].children.start..self.nodes[level.end - 1].children.end;
            levels.push(std::mem::replace(&mut level, next));
        }
        levels
    }
}

impl Default for Tree {
    /// A tree without jobs.
    fn default() -> Tree {
        let root = Node { path: Vec::new(), parent: 0, children: 1..1, weight: 1, job: None };
        Tree { nodes: vec![root], leaf_of: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_would_not_fit_are_scaled_alike() {
        let jobs: Vec<Job> = [u32::MAX, u32::MAX, 1]
            .iter()
            .zip(1..)
            .map(|(&nodes, id)| Job::new(id, 0, 0).with_nodes(nodes))
            .collect();
        let tree = Tree::new(&"size".parse().unwrap(), &jobs);
        let weights: Vec<u64> = tree.nodes.iter().map(|node| node.weight).collect();
        assert_eq!(weights, [1, (1 << 31) - 1, (1 << 31) - 1, 1]);
    }

    #[test]
    fn weights_of_jobs_add_up_to_those_of_their_users() {
        let jobs = [Job::new(1, 1, 0), Job::new(2, 1, 0), Job::new(3, 2, 0)];
        let weights = BTreeMap::from([(JobId(1), 10), (JobId(2), 30), (JobId(3), 60)]);
        let tree = Tree::weighted(&"user-job".parse().unwrap(), &jobs, &weights);
        assert_eq!(tree.nodes.iter().map(|node| node.weight).collect::<Vec<_>>(), [1, 40, 60, 10, 30, 60]);
        assert_eq!(tree.parts(), BTreeMap::from([(JobId(1), 0.1), (JobId(2), 0.3), (JobId(3), 0.6)]));
        assert_eq!(tree.jobs().collect::<Vec<_>>(), [1, 2, 3].map(JobId));
    }

    #[test]
    #[should_panic(expected = "two jobs of number 7")]
    fn a_number_is_one_job() {
        Tree::new(&"user".parse().unwrap(), &[Job::new(7, 1, 0), Job::new(7, 2, 0)]);
    }
}
