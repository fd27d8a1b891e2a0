//! Puts instances into a pattern one by one, never moving one that is there (PerSched, Algorithms 1 and 3).

use super::pattern::{PERIOD_MAX, Pattern, Score, Timetable, Window};
use super::profile::{Grant, Place, Profile};
use super::quantities::Micros;
use super::workload::Workload;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A pattern in the making.
pub(super) struct Builder<'a> {
    workload: &'a Workload,
    profile: Profile,
    progress: Vec<Progress>,
    /// Every piece taken, by application, in the order of time, with the number of its instance; nothing where only
    /// the score is asked for.
    taken: Option<Vec<Vec<(u64, Grant)>>>,
    /// Room for the pieces of one instance.
    grants: Vec<Grant>,
}

/// How far one application has come.
#[derive(Clone, Copy)]
struct Progress {
    count: u64,
    /// When its first instance begins to transfer.
    first: u64,
    /// Where its last instance has ended so far.
    last: Place,
}

impl<'a> Builder<'a> {
    /// An empty pattern, of which the score will be asked. Panics for a period of 0 or past [`PERIOD_MAX`].
    pub fn for_score(workload: &'a Workload, period: Micros) -> Builder<'a> {
        assert!((1..=PERIOD_MAX.0).contains(&period.0), "a period is from 1 microsecond to 2^47");
        let profile = Profile::new(period.0, workload.platform().total);
        let nothing = Progress { count: 0, first: 0, last: profile.origin() };
        let jobs = workload.jobs().len();
        Builder { workload, profile, progress: vec![nothing; jobs], taken: None, grants: Vec::new() }
    }

    /// An empty pattern, of which the windows will be asked, too. Panics as [`Builder::for_score`].
    pub fn for_pattern(workload: &'a Workload, period: Micros) -> Builder<'a> {
        let taken = Some(vec![Vec::new(); workload.jobs().len()]);
        Builder { taken, ..Builder::for_score(workload, period) }
    }

    /// Inserts what fits, always for the application that is slowed most, ties by w / time_io and then by number
    /// (Algorithm 3): the heap holds every application not yet known to be full, and one that is full stays so (Lemma
    /// 3). The slowdown is T / (n_per (w + time_io)), so that whole numbers order it.
    pub fn insert_all(&mut self) {
        let key = |job: usize, count: u64| {
            (self.workload.jobs()[job].cycle * count, self.workload.ranks()[job], job)
        };
        let entries =
            self.progress.iter().enumerate().map(|(job, progress)| Reverse(key(job, progress.count)));
        let mut heap: BinaryHeap<_> = entries.collect();
        while let Some(Reverse((alone, rank, job))) = heap.pop() {
            if self.insert(job) {
                heap.push(Reverse((alone + self.workload.jobs()[job].cycle, rank, job)));
            }
        }
    }

    /// Inserts one more instance of an application, the first where it transfers fastest, another right after the
    /// last (Algorithm 1). Says whether it fitted.
    pub fn insert(&mut self, job: usize) -> bool {
        let end = if self.progress[job].count == 0 { self.place_first(job) } else { self.place_next(job) };
        let Some(end) = end else { return false };
        self.take(job);
        self.conclude(job, self.grants[0].start, end);
        true
    }

    /// Inserts instances of an application that has none yet, as they are: free, in the order of time, and from each
    /// end to the next beginning at least w.
    pub fn adopt<'w>(&mut self, job: usize, instances: impl Iterator<Item = &'w [Window]>) {
        for windows in instances {
            let mut place = self.progress[job].last;
            for window in windows {
                place = self.profile.cover(place, window, &mut self.grants);
                self.take(job);
            }
            self.conclude(job, windows[0].start.0, place);
        }
    }

    /// Takes the pieces in `grants` for the instance under way.
    fn take(&mut self, job: usize) {
        self.profile.take(&self.grants);
        if let Some(taken) = &mut self.taken {
            let instance = self.progress[job].count;
            taken[job].extend(self.grants.iter().map(|&grant| (instance, grant)));
        }
    }

    /// The instance under way begins to transfer at `start` and ends at `end`.
    fn conclude(&mut self, job: usize, start: u64, end: Place) {
        let progress = &mut self.progress[job];
        if progress.count == 0 {
            progress.first = start;
        }
        progress.count += 1;
        progress.last = end;
    }

    /// Insert-First-Instance: of the transfers that begin with a segment the shortest, of those the earliest.
    fn place_first(&mut self, number: usize) -> Option<Place> {
        let job = &self.workload.jobs()[number];
        let period = self.profile.period();
        let span = period.checked_sub(job.compute)?;
        let mut best: Option<(u64, Place)> = None;
        let mut place = self.profile.origin();
        while place.at < period {
            let until = place.at + best.map_or(span, |(length, _)| length - 1);
            if let Some(end) = self.profile.fill(place, until, job.fastest, job.grains, &mut self.grants) {
                // From where the first byte moves: before that the application only waits.
                let start = self.grants[0].start;
                best = Some((end.at - start, self.profile.walk(place, start)));
                if end.at - start == job.transfer() {
                    break;
                }
            }
            place = self.profile.next(&place);
        }
        let (length, from) = best?;
        self.profile.fill(from, from.at + length, job.fastest, job.grains, &mut self.grants)
    }

    /// The second half of Algorithm 1: between w after the last instance and w before the first comes again.
    fn place_next(&mut self, number: usize) -> Option<Place> {
        let job = &self.workload.jobs()[number];
        let Progress { first, last, .. } = self.progress[number];
        let until = first + self.profile.period() - job.compute;
        let earliest = last.at + job.compute;
        if earliest + job.transfer() > until {
            return None;
        }
        let from = self.profile.walk(last, earliest);
        self.profile.fill(from, until, job.fastest, job.grains, &mut self.grants)
    }

    /// The score, when every application has an instance.
    pub fn score(&self) -> Option<Score> {
        let counts: Vec<u64> = self.progress.iter().map(|progress| progress.count).collect();
        let complete = !counts.contains(&0);
        complete.then(|| Score::new(self.workload, Micros(self.profile.period()), &counts))
    }

    /// The pattern, when every application has an instance. Panics unless made [for it](Builder::for_pattern).
    pub fn pattern(&self) -> Option<Pattern> {
        self.score()?;
        let taken = self.taken.as_ref().expect("the windows were kept");
        let timetables = (taken.iter().enumerate())
            .map(|(application, taken)| Timetable { application, instances: instances(taken) })
            .collect();
        Some(Pattern { period: Micros(self.profile.period()), timetables })
    }
}

/// The windows of one application: pieces that follow each other at one bandwidth become one.
fn instances(taken: &[(u64, Grant)]) -> Vec<Vec<Window>> {
    let mut instances: Vec<Vec<Window>> = Vec::new();
    for &(number, Grant { start, end, bandwidth, .. }) in taken {
        if instances.len() as u64 == number {
            instances.push(Vec::new());
        }
        let windows = instances.last_mut().expect("instances are numbered from 0");
        match windows.last_mut() {
            Some(last) if last.end.0 == start && last.bandwidth == bandwidth => last.end = Micros(end),
            _ => windows.push(Window { start: Micros(start), end: Micros(end), bandwidth }),
        }
    }
    instances
}
