//! Stride scheduling down the tree: the deterministic twin of statistical tokens.

use super::dispatch::{Dispatcher, Next};
use super::job::JobId;
use super::queues::Queues;
use super::request::Request;
use super::tree::Tree;
use super::{Discipline, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Serves, at each level of the tree, the entity that has had the least for its weight.
///
/// Every node has a tag, the service it has had divided by its weight, and among siblings with work the
/// smallest tag is next, ties in the order of the tree. A node that had no work starts again from the tag
/// that its siblings have reached: what it did not use is not saved up (stride scheduling, Waldspurger and
/// Weihl 1995; the restart is that of start-time fair queueing, Goyal, Vin and Cheng 1996).
///
/// Among siblings with work, what two have had for their weight never differs by more than one largest
/// request for each: a job's wait is bounded whatever the others ask. A pick is O(levels x log of the number
/// of siblings).
#[derive(Clone, Debug, Default)]
pub struct Stride {
    queues: Queues,
    /// By node: its tag, in cost times 2^56 by weight.
    tag: Vec<u128>,
    /// By inner node: the tag of the child that was served last.
    reached: Vec<u128>,
    /// By inner node: its children with work, by tag.
    ready: Vec<BTreeSet<(u128, usize)>>,
}

/// With a weight of 1, tags have room for 2^32 requests of 1 TB, or 2^49 of 8 MB.
const TAG_SHIFT: u32 = 56;

impl Stride {
    /// No jobs yet.
    pub fn new() -> Stride {
        let mut stride = Stride::default();
        stride.set_shares(&Tree::default());
        stride
    }

    /// A leaf has work that had none: it and the nodes above it that had none take their places.
    fn awake(&mut self, leaf: usize) {
        let mut node = leaf;
        while node != 0 {
            let parent = self.queues.tree.nodes[node].parent;
            let idle_before = self.ready[parent].is_empty();
            self.tag[node] = self.tag[node].max(self.reached[parent]);
            self.ready[parent].insert((self.tag[node], node));
            if !idle_before {
                break;
            }
            node = parent;
        }
    }

    /// How far each node is ahead of its siblings, in cost, by its path.
    fn leads(&self, tree: &Tree) -> BTreeMap<Vec<u64>, u128> {
        let lead = |node: usize| {
            let ahead = self.tag[node].saturating_sub(self.reached[tree.nodes[node].parent]);
            (ahead >> TAG_SHIFT).saturating_mul(tree.nodes[node].weight.into())
        };
        (1..self.tag.len()).map(|node| (tree.nodes[node].path.clone(), lead(node))).collect()
    }
}

impl Dispatcher for Stride {
    fn name(&self) -> &'static str {
        Discipline::Stride.name()
    }

    fn set_shares(&mut self, tree: &Tree) {
        let old = self.queues.move_to(tree);
        let leads = self.leads(&old);
        let tag = |node: &super::tree::Node| {
            let lead = leads.get(&node.path).copied().unwrap_or(0).min(u128::from(u64::MAX));
            (lead << TAG_SHIFT) / u128::from(node.weight)
        };
        self.tag = tree.nodes.iter().map(tag).collect();
        self.reached = vec![0; tree.nodes.len()];
        self.ready = vec![BTreeSet::new(); tree.nodes.len()];
        for leaf in 1..tree.nodes.len() {
            if self.queues.len(leaf) > 0 {
                self.awake(leaf);
            }
        }
    }

    fn push(&mut self, request: Request, _: Nanos) {
        let leaf = self.queues.push(request);
        if self.queues.len(leaf) == 1 {
            self.awake(leaf);
        }
    }

    fn next(&mut self, _: Nanos) -> Next {
        if self.queues.pending == 0 {
            return Next::Idle;
        }
        let mut node = 0;
        while self.queues.tree.nodes[node].job.is_none() {
            let &(tag, child) = self.ready[node].first().expect("a node with work has a child with work");
            self.reached[node] = tag;
            node = child;
        }
        let cost = u128::from(self.queues.head_cost(node));
        let request = self.queues.pop(node);
        let mut has_work = self.queues.len(node) > 0;
        while node != 0 {
            let (parent, weight) = (self.queues.tree.nodes[node].parent, self.queues.tree.nodes[node].weight);
            self.ready[parent].remove(&(self.tag[node], node));
            self.tag[node] += (cost << TAG_SHIFT) / u128::from(weight);
            if has_work {
                self.ready[parent].insert((self.tag[node], node));
            }
            has_work = !self.ready[parent].is_empty();
            node = parent;
        }
        Next::Serve(request)
    }

    fn pending(&self) -> usize {
        self.queues.pending
    }

    fn pending_of(&self, job: JobId) -> usize {
        self.queues.pending_of(job)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, random_jobs, random_policy, shares_by_definition};
    use super::super::{Cost, Job};
    use super::*;

    /// Jobs that always have requests of their own costs waiting; what each has had after many picks.
    #[test]
    fn backlogged_jobs_get_their_shares_within_a_request() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let policy = random_policy(&mut random);
            let jobs = random_jobs(&mut random, 7);
            if jobs.is_empty() {
                continue;
            }
            let mut stride = Stride::new();
            stride.set_shares(&Tree::new(&policy, &jobs));
            let cost_max = 100;
            let request = |job: &Job, random: &mut Random| Request {
                job: job.id,
                ticket: 0,
                cost: Cost(1 + random.next() % cost_max),
            };
            jobs.iter().for_each(|job| (0..3).for_each(|_| stride.push(request(job, &mut random), 0)));
            let mut had: BTreeMap<JobId, u64> = BTreeMap::new();
            for _ in 0..2000 {
                let Next::Serve(served) = stride.next(0) else { panic!("seed {seed}: nothing to serve") };
                *had.entry(served.job).or_default() += served.cost.0;
                let job = jobs.iter().find(|job| job.id == served.job).unwrap();
                stride.push(request(job, &mut random), 0);
            }
            let whole: u64 = had.values().sum();
            for (job, share) in shares_by_definition(&policy, &jobs) {
                let fair = share.as_f64() * whole as f64;
                let found = had.get(&job).copied().unwrap_or(0) as f64;
                // One largest request a level and sibling that may be ahead or behind.
                let bound = (cost_max * 4 * policy.levels().len() as u64) as f64;
                assert!((found - fair).abs() <= bound, "seed {seed} {policy} job {job}: {found} for {fair}");
            }
        }
    }

    #[test]
    fn a_small_job_is_served_within_its_round_however_many_large_ones_arrive() {
        let jobs: Vec<Job> = (0..50).map(|id| Job::new(id, 0, 0)).collect();
        let mut stride = Stride::new();
        stride.set_shares(&Tree::new(&"job-fair".parse().unwrap(), &jobs));
        let large = |id: u64| Request { job: JobId(id), ticket: 0, cost: Cost(1 << 30) };
        (1..50).for_each(|id| (0..100).for_each(|_| stride.push(large(id), 0)));
        (0..500).for_each(|_| assert!(matches!(stride.next(0), Next::Serve(_))));
        stride.push(Request { job: JobId(0), ticket: 7, cost: Cost(1) }, 0);
        let wait = (0..).find(|_| matches!(stride.next(0), Next::Serve(Request { ticket: 7, .. }))).unwrap();
        assert!(wait < 50, "{wait} picks");
    }

    #[test]
    fn what_an_idle_job_did_not_use_is_not_saved_up() {
        let jobs = [Job::new(1, 0, 0), Job::new(2, 0, 0)];
        let mut stride = Stride::new();
        stride.set_shares(&Tree::new(&"job-fair".parse().unwrap(), &jobs));
        let request = |id| Request { job: JobId(id), ticket: 0, cost: Cost(10) };
        (0..1000).for_each(|_| stride.push(request(2), 0));
        (0..500).for_each(|_| assert!(matches!(stride.next(0), Next::Serve(_))));
        (0..500).for_each(|_| stride.push(request(1), 0));
        let had = (0..100).filter(|_| stride.next(0) == Next::Serve(request(1))).count();
        assert!((49..=51).contains(&had), "{had} of 100");
    }

    #[test]
    fn new_shares_do_not_forget_who_is_ahead() {
        let policy = "size-fair".parse().unwrap();
        let jobs = [Job::new(1, 0, 0), Job::new(2, 0, 0)];
        let mut stride = Stride::new();
        stride.set_shares(&Tree::new(&policy, &jobs));
        let request = |id| Request { job: JobId(id), ticket: 0, cost: Cost(10) };
        (0..100).for_each(|_| [1, 2].into_iter().for_each(|id| stride.push(request(id), 0)));
        let mut had = [0; 3];
        for _ in 0..100 {
            let Next::Serve(served) = stride.next(0) else { panic!("nothing to serve") };
            had[served.job.0 as usize] += 1;
            stride.set_shares(&Tree::new(&policy, &jobs));
        }
        assert_eq!(had, [0, 50, 50]);
    }

    #[test]
    #[should_panic(expected = "job 1 has requests waiting and no share")]
    fn a_job_with_requests_stays() {
        let mut stride = Stride::new();
        stride.set_shares(&Tree::new(&"job".parse().unwrap(), &[Job::new(1, 0, 0)]));
        stride.push(Request { job: JobId(1), ticket: 0, cost: Cost(1) }, 0);
        stride.set_shares(&Tree::default());
    }
}
