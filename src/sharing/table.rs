//! Which jobs have work on which servers, as each server tells the others (ThemisIO, section 3.1).

use super::job::{Job, JobId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A server, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerId(pub u32);

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What one server said of its jobs, and how new it is. Snapshots are ordered by age, the newer one being
/// greater.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Snapshot {
    /// Which life of the server: greater after a restart.
    incarnation: u64,
    version: u64,
    jobs: BTreeMap<JobId, Job>,
}

impl Snapshot {
    /// The jobs with work on the server.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }
}

/// The newest snapshot of every server one has heard of.
///
/// Only a server changes its own snapshot, and [`JobTable::merge`] keeps the greater of two: it does not
/// matter in which order, how often, or through whom tables are passed on. A job on several servers is one
/// job in [`JobTable::jobs`], however many report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTable {
    servers: BTreeMap<ServerId, Snapshot>,
}

impl JobTable {
    /// The table of a server that starts: nobody but itself, without jobs. `incarnation` must be greater than
    /// in its former lives, or the others would believe those.
    pub fn new(server: ServerId, incarnation: u64) -> JobTable {
        let snapshot = Snapshot { incarnation, ..Snapshot::default() };
        JobTable { servers: BTreeMap::from([(server, snapshot)]) }
    }

    /// Sets a job of `server`, which must be the caller's own. Returns whether that changed anything.
    pub fn enter(&mut self, server: ServerId, job: &Job) -> bool {
        let snapshot = self.servers.entry(server).or_default();
        let changed = snapshot.jobs.get(&job.id) != Some(job);
        if changed {
            snapshot.jobs.insert(job.id, job.clone());
            snapshot.version += 1;
        }
        changed
    }

    /// Removes a job from `server`, which must be the caller's own. Returns whether that changed anything.
    pub fn leave(&mut self, server: ServerId, job: JobId) -> bool {
        let Some(snapshot) = self.servers.get_mut(&server) else { return false };
        let changed = snapshot.jobs.remove(&job).is_some();
        snapshot.version += u64::from(changed);
        changed
    }

    /// Takes over what `other` knows better. Returns whether that changed anything. Commutative, associative
    /// and idempotent.
    pub fn merge(&mut self, other: &JobTable) -> bool {
        let mut changed = false;
        for (&server, theirs) in &other.servers {
            match self.servers.get_mut(&server) {
                Some(ours) if *ours >= *theirs => continue,
                Some(ours) => *ours = theirs.clone(),
                None => drop(self.servers.insert(server, theirs.clone())),
            }
            changed = true;
        }
        changed
    }

    /// As [`JobTable::merge`], for the table of `server` itself: what it says of itself stays, and is made
    /// newer than whatever others believe of it.
    pub fn merge_into_own(&mut self, server: ServerId, other: &JobTable) -> bool {
        let own = self.servers.get(&server).cloned();
        let changed = self.merge(other);
        match (own, self.servers.get_mut(&server)) {
            (Some(own), Some(believed)) if *believed != own => {
                believed.jobs = own.jobs;
                believed.version += 1;
            }
            _ => (),
        }
        changed
    }

    /// The snapshots.
    pub fn servers(&self) -> impl Iterator<Item = (ServerId, &Snapshot)> {
        self.servers.iter().map(|(&server, snapshot)| (server, snapshot))
    }

    /// The jobs with work on `server`, by number.
    pub fn jobs_of(&self, server: ServerId) -> impl Iterator<Item = &Job> {
        self.servers.get(&server).into_iter().flat_map(Snapshot::jobs)
    }

    /// Every job once, by number. Where servers disagree on what a job is, the greatest description counts on
    /// all.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: BTreeMap<JobId, &Job> = BTreeMap::new();
        for job in self.servers.values().flat_map(Snapshot::jobs) {
            let known = jobs.entry(job.id).or_insert(job);
            *known = job.max(*known);
        }
        jobs.into_values().cloned().collect()
    }

    /// Whether every server with jobs has all the jobs, as when files are striped over all servers.
    pub(super) fn all_everywhere(&self) -> bool {
        let sets = self.servers.values().filter(|snapshot| !snapshot.jobs.is_empty());
        let sets: BTreeSet<Vec<JobId>> =
            sets.map(|snapshot| snapshot.jobs.keys().copied().collect()).collect();
        sets.len() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    /// Tables of `servers` servers after random entries, departures and exchanges.
    fn gossip(seed: u64, servers: u32) -> Vec<JobTable> {
        let mut random = Random::new(seed);
        let mut tables: Vec<JobTable> =
            (0..servers).map(|server| JobTable::new(ServerId(server), 1)).collect();
        for _ in 0..random.index(60) {
            let at = random.index(servers as usize);
            let server = ServerId(at as u32);
            let job = Job::new(random.next() % 5, 0, 0).with_nodes(1 + random.index(3) as u32);
            let from = tables[random.index(servers as usize)].clone();
            match random.index(4) {
                0 | 1 => tables[at].enter(server, &job),
                2 => tables[at].leave(server, job.id),
                _ => tables[at].merge_into_own(server, &from),
            };
        }
        tables
    }

    fn merged(tables: &[&JobTable]) -> JobTable {
        let mut all = JobTable::default();
        for table in tables {
            all.merge(table);
        }
        all
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent() {
        for seed in 0..2000 {
            let [a, b, c] = &gossip(seed, 3)[..] else { unreachable!("three servers") };
            assert_eq!(merged(&[a, b]), merged(&[b, a]), "seed {seed}");
            assert_eq!(merged(&[&merged(&[a, b]), c]), merged(&[a, &merged(&[b, c])]), "seed {seed}");
            assert_eq!(merged(&[a, a]), *a, "seed {seed}");
            let mut again = merged(&[a, b, c]);
            assert!(!again.merge(b), "seed {seed}");
        }
    }

    #[test]
    fn everybody_who_hears_everybody_knows_what_each_has_and_counts_it_once() {
        for seed in 0..2000 {
            let tables = gossip(seed, 4);
            let all = merged(&tables.iter().collect::<Vec<_>>());
            let mut ids = BTreeSet::new();
            for (server, table) in (0..).map(ServerId).zip(&tables) {
                let own: Vec<&Job> = table.jobs_of(server).collect();
                assert_eq!(all.jobs_of(server).collect::<Vec<_>>(), own, "seed {seed} server {server}");
                ids.extend(own.into_iter().map(|job| job.id));
            }
            let found: Vec<JobId> = all.jobs().iter().map(|job| job.id).collect();
            assert_eq!(found, ids.into_iter().collect::<Vec<_>>(), "seed {seed}");
        }
    }

    #[test]
    fn a_restarted_server_is_believed() {
        let server = ServerId(3);
        let mut before = JobTable::new(server, 1);
        (0..5).for_each(|id| assert!(before.enter(server, &Job::new(id, 0, 0))));
        let mut after = JobTable::new(server, 2);
        after.enter(server, &Job::new(9, 0, 0));
        assert_eq!(merged(&[&before, &after]), after);
        // Even when it came back with a number that is too low: it hears what is believed, and contradicts.
        let mut late = JobTable::new(server, 0);
        late.enter(server, &Job::new(8, 0, 0));
        late.merge_into_own(server, &before);
        assert_eq!(merged(&[&before, &late]).jobs(), [Job::new(8, 0, 0)]);
    }
}
