//! What the tests of this room share.

pub(crate) use super::random::Random;

use super::fraction::Fraction;
use super::job::{Job, JobId};
use super::policy::{Level, Policy};
use std::collections::BTreeMap;

impl Random {
    /// From 0 to `bound` - 1, as an index.
    pub(crate) fn index(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Any policy: distinct levels in any order, `job` last if at all.
pub(super) fn random_policy(random: &mut Random) -> Policy {
    let mut left = vec![Level::Group, Level::User, Level::Size, Level::Priority];
    let mut levels = Vec::new();
    for _ in 0..random.index(5) {
        levels.push(left.swap_remove(random.index(left.len())));
    }
    if levels.is_empty() || random.index(3) == 0 {
        levels.push(Level::Job);
    }
    Policy::new(levels).unwrap()
}

/// Up to `jobs_max` jobs of a few users and groups; a user may be in several groups.
pub(super) fn random_jobs(random: &mut Random, jobs_max: usize) -> Vec<Job> {
    let job = |id: usize, random: &mut Random| {
        Job::new(id as u64 * 7 % 31, random.index(4) as u32, random.index(3) as u32)
            .with_nodes(1 + random.index(6) as u32)
            .with_priority(1 + random.index(3) as u32)
    };
    (0..random.index(jobs_max + 1)).map(|id| job(id, random)).collect()
}

/// Shares as the policy's text has it: for each job, level by level, its entity's weight over the weights of
/// all distinct entities among the jobs that agree with it on every level before. The stupid twin of the
/// matrices.
pub(super) fn shares_by_definition(policy: &Policy, jobs: &[Job]) -> BTreeMap<JobId, Fraction> {
    let share = |job: &Job| {
        let mut share = Fraction::ONE;
        let mut peers: Vec<&Job> = jobs.iter().collect();
        for (at, &level) in policy.levels().iter().enumerate() {
            let last = at + 1 == policy.levels().len();
            let key = |job: &Job| match level {
                Level::Group => (u64::from(job.group.0), 0),
                Level::User => (u64::from(job.user.0), 0),
                Level::Size => (u64::from(job.nodes.get()), if last { job.id.0 } else { 0 }),
                Level::Priority => (u64::from(job.priority.get()), if last { job.id.0 } else { 0 }),
                Level::Job => (job.id.0, 0),
            };
            let weight = |key: (u64, u64)| match level {
                Level::Size | Level::Priority => u128::from(key.0),
                _ => 1,
            };
            let mut entities: Vec<(u64, u64)> = peers.iter().map(|peer| key(peer)).collect();
            entities.sort_unstable();
            entities.dedup();
            share = share * Fraction::new(weight(key(job)), entities.into_iter().map(weight).sum());
            peers.retain(|peer| key(peer) == key(job));
        }
        share * Fraction::new(1, peers.len() as u128)
    };
    jobs.iter().map(|job| (job.id, share(job))).collect()
}
