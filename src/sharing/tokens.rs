//! Statistical tokens (ThemisIO, section 3): a random number says whose request is next.

use super::dispatch::{Dispatcher, Next};
use super::fenwick::Fenwick;
use super::job::JobId;
use super::queues::Queues;
use super::random::Random;
use super::request::Request;
use super::tree::Tree;
use super::{Discipline, Nanos};

/// Draws a random number at each level of the tree and serves the oldest request of the job where it arrives.
///
/// Only jobs with requests waiting take part, at every level: that is opportunity fairness, and since an
/// entity's weight does not change when one of its jobs falls idle, it is what multiplying the transition
/// matrices of the jobs with work would give, without multiplying them anew at every pick.
///
/// # Cost
///
/// The paper draws requests, which is fair in requests. Here a job is drawn in proportion to its share
/// *divided by what its next request costs*: the expected cost that a pick gives to each job is then in
/// proportion to the shares, and with requests of one cost it is the paper's draw. What has been drawn before
/// has no influence, so that nothing is owed or saved.
///
/// For an inner node the cost that matters is the expected one of what is drawn below it, the harmonic mean
/// of its children's by weight; a node thus weighs `weight x (sum of children's weight / cost) / (sum of
/// children's weight)`.
///
/// # Speed
///
/// A pick descends one [Fenwick tree](https://doi.org/10.1002/spe.4380240306) a level, and updates them on
/// the way up: O(levels x log of the number of siblings).
///
/// # Waiting
///
/// A job that is drawn with probability p waits more than k picks with probability (1 - p)^k: no bound is
/// certain, but past 50/p it is below 2e-22. [`Stride`](super::Stride) has one.
#[derive(Clone, Debug)]
pub struct Tokens {
    random: Random,
    queues: Queues,
    /// For each inner node: the tokens of its children that have work.
    tokens: Vec<Fenwick>,
    /// For each inner node: the sum of the weights of its children that have work.
    weight_with_work: Vec<u64>,
}

/// Tokens are weights times 2^48 by cost. Siblings' weights sum to less than 2^33 (for less than 2^32 of
/// them), their tokens to less than 2^81, and an inner node's product, before the division, to less than
/// 2^114.
const TOKENS_SHIFT: u32 = 48;

impl Tokens {
    /// No jobs yet; equal seeds and calls give equal picks.
    pub fn new(seed: u64) -> Tokens {
        let mut tokens = Tokens {
            random: Random::new(seed),
            queues: Queues::default(),
            tokens: Vec::new(),
            weight_with_work: Vec::new(),
        };
        tokens.set_shares(&Tree::default());
        tokens
    }

    /// Brings the tokens of a leaf and of all nodes above it up to date.
    fn update(&mut self, leaf: usize) {
        let nodes = &self.queues.tree.nodes;
        let cost = self.queues.head_cost(leaf);
        let mut tokens = match cost {
            0 => 0,
            cost => ((u128::from(nodes[leaf].weight) << TOKENS_SHIFT) / u128::from(cost)).max(1),
        };
        let mut node = leaf;
        while node != 0 {
            let parent = nodes[node].parent;
            let below = &mut self.tokens[parent];
            let at = node - nodes[parent].children.start;
            match (below.get(at) > 0, tokens > 0) {
                (false, true) => self.weight_with_work[parent] += nodes[node].weight,
                (true, false) => self.weight_with_work[parent] -= nodes[node].weight,
                _ => (),
            }
            below.set(at, tokens);
            tokens = match u128::from(self.weight_with_work[parent]) {
                0 => 0,
                whole => (u128::from(nodes[parent].weight) * below.total() / whole).max(1),
            };
            node = parent;
        }
    }

    fn draw(&mut self) -> usize {
        let mut node = 0;
        while self.queues.tree.nodes[node].job.is_none() {
            let tokens = &self.tokens[node];
            let found = tokens.find(self.random.below(tokens.total()));
            node = self.queues.tree.nodes[node].children.start + found;
        }
        node
    }
}

impl Dispatcher for Tokens {
    fn name(&self) -> &'static str {
        Discipline::Tokens.name()
    }

    fn set_shares(&mut self, tree: &Tree) {
        self.queues.move_to(tree);
        self.tokens = tree.nodes.iter().map(|node| Fenwick::new(node.children.len())).collect();
        self.weight_with_work = vec![0; tree.nodes.len()];
        for leaf in (0..tree.nodes.len()).filter(|&node| tree.nodes[node].job.is_some()) {
            if self.queues.len(leaf) > 0 {
                self.update(leaf);
            }
        }
    }

    fn push(&mut self, request: Request, _: Nanos) {
        let leaf = self.queues.push(request);
        if self.queues.len(leaf) == 1 {
            self.update(leaf);
        }
    }

    fn next(&mut self, _: Nanos) -> Next {
        if self.queues.pending == 0 {
            return Next::Idle;
        }
        let leaf = self.draw();
        let before = self.queues.head_cost(leaf);
        let request = self.queues.pop(leaf);
        if self.queues.head_cost(leaf) != before {
            self.update(leaf);
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
    use super::super::testing::{random_jobs, random_policy, shares_by_definition};
    use super::super::{Cost, Fraction, Job};
    use super::*;
    use std::collections::BTreeMap;

    /// The probability of each job at the next pick, as the exact factors of the levels.
    fn chances(dispatcher: &Tokens) -> BTreeMap<JobId, Vec<Fraction>> {
        let nodes = &dispatcher.queues.tree.nodes;
        let mut chance = vec![Vec::new(); nodes.len()];
        for (node, below) in dispatcher.tokens.iter().enumerate().filter(|(_, below)| below.total() > 0) {
            for (at, child) in nodes[node].children.clone().enumerate() {
                let factor = Fraction::new(below.get(at), below.total());
                chance[child] = [&chance[node][..], &[factor]].concat();
            }
        }
        let with_work = (0..nodes.len()).filter(|&node| dispatcher.queues.len(node) > 0);
        with_work.map(|leaf| (nodes[leaf].job.unwrap(), chance[leaf].clone())).collect()
    }

    #[test]
    fn with_requests_of_one_cost_chances_are_the_shares_of_the_jobs_with_work() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let policy = random_policy(&mut random);
            let jobs = random_jobs(&mut random, 9);
            let mut dispatcher = Tokens::new(seed);
            dispatcher.set_shares(&Tree::new(&policy, &jobs));
            let mut waiting: Vec<usize> = vec![0; jobs.len()];
            for _ in 0..30 {
                if random.index(5) < 3 && !jobs.is_empty() {
                    let at = random.index(jobs.len());
                    waiting[at] += 1;
                    // A power of two divides the tokens without a rest, so that even the comparison is exact.
                    dispatcher.push(Request { job: jobs[at].id, ticket: 0, cost: Cost(1 << 12) }, 0);
                } else if let Next::Serve(request) = dispatcher.next(0) {
                    waiting[jobs.iter().position(|job| job.id == request.job).unwrap()] -= 1;
                }
                let with_work: Vec<Job> = jobs
                    .iter()
                    .zip(&waiting)
                    .filter(|&(_, &waiting)| waiting > 0)
                    .map(|(job, _)| job.clone())
                    .collect();
                assert_eq!(dispatcher.pending(), waiting.iter().sum::<usize>(), "seed {seed}");
                let found: BTreeMap<JobId, Fraction> = chances(&dispatcher)
                    .into_iter()
                    .map(|(job, factors)| (job, factors.into_iter().fold(Fraction::ONE, |a, b| a * b)))
                    .collect();
                assert_eq!(found, shares_by_definition(&policy, &with_work), "seed {seed} {policy}");
            }
        }
    }

    #[test]
    fn the_expected_cost_of_a_pick_is_in_proportion_to_the_shares() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let policy = random_policy(&mut random);
            let jobs = random_jobs(&mut random, 9);
            let mut dispatcher = Tokens::new(seed);
            dispatcher.set_shares(&Tree::new(&policy, &jobs));
            let mut cost_of = BTreeMap::new();
            for job in &jobs {
                let cost = 1 + random.next() % [3, 1000, 1 << 24][random.index(3)];
                cost_of.insert(job.id, cost);
                dispatcher.push(Request { job: job.id, ticket: 0, cost: Cost(cost) }, 0);
            }
            let expected: BTreeMap<JobId, f64> = chances(&dispatcher)
                .into_iter()
                .map(|(job, factors)| (job, factors.into_iter().map(Fraction::as_f64).product::<f64>()))
                .map(|(job, chance)| (job, chance * cost_of[&job] as f64))
                .collect();
            let whole: f64 = expected.values().sum();
            for (job, share) in shares_by_definition(&policy, &jobs) {
                let error = expected[&job] / whole / share.as_f64() - 1.0;
                assert!(error.abs() < 1e-5, "seed {seed} {policy} job {job}: {error}");
            }
        }
    }

    #[test]
    fn chances_are_kept_up_to_date() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let policy = random_policy(&mut random);
            let jobs = random_jobs(&mut random, 9);
            let tree = Tree::new(&policy, &jobs);
            let mut dispatcher = Tokens::new(seed);
            dispatcher.set_shares(&tree);
            for _ in 0..60 {
                if random.index(5) < 3 && !jobs.is_empty() {
                    let (job, cost) = (jobs[random.index(jobs.len())].id, Cost(random.next() % 1000));
                    dispatcher.push(Request { job, ticket: 0, cost }, 0);
                } else {
                    dispatcher.next(0);
                }
                let mut anew = dispatcher.clone();
                anew.set_shares(&tree);
                assert_eq!(chances(&dispatcher), chances(&anew), "seed {seed} {policy}");
            }
        }
    }

    /// With a job of small requests among jobs of large ones, all of one share: the longest that any job
    /// waits.
    #[test]
    fn waits_stay_below_fifty_by_the_chance() {
        let jobs: Vec<Job> = (0..50).map(|id| Job::new(id, 0, 0)).collect();
        let mut dispatcher = Tokens::new(7);
        dispatcher.set_shares(&Tree::new(&"job".parse().unwrap(), &jobs));
        let request =
            |id: u64| Request { job: JobId(id), ticket: 0, cost: Cost(if id == 0 { 1 } else { 8 }) };
        (0..50).for_each(|id| dispatcher.push(request(id), 0));
        let smallest_chance =
            chances(&dispatcher).values().map(|chance| chance[0].as_f64()).fold(1.0, f64::min);
        let (mut last, mut longest) = ([0; 50], 0);
        for pick in 0..500_000 {
            let Next::Serve(served) = dispatcher.next(0) else { panic!("every job has a request") };
            dispatcher.push(request(served.job.0), 0);
            longest = longest.max(pick - std::mem::replace(&mut last[served.job.0 as usize], pick));
        }
        assert!(last.iter().all(|&pick| pick > 0));
        assert!(f64::from(longest) < 50.0 / smallest_chance, "{longest} picks, chance {smallest_chance}");
    }

    #[test]
    fn a_seed_replays_and_another_differs() {
        let run = |seed| -> Vec<JobId> {
            let jobs: Vec<Job> = (0..10).map(|id| Job::new(id, 0, 0)).collect();
            let mut dispatcher = Tokens::new(seed);
            dispatcher.set_shares(&Tree::new(&"job".parse().unwrap(), &jobs));
            for job in jobs.iter().flat_map(|job| [job.id; 20]) {
                dispatcher.push(Request { job, ticket: 0, cost: Cost(1) }, 0);
            }
            std::iter::from_fn(|| match dispatcher.next(0) {
                Next::Serve(request) => Some(request.job),
                _ => None,
            })
            .collect()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert_eq!(run(1).len(), 200);
    }
}
