//! Fills a period by going along it once, as a scheduler would that serves whoever is due (the second solver's way of
//! making a pattern).
//!
//! PerSched places whole instances in places that earlier ones left over. A sweep shares the file storage anew whenever
//! somebody begins or ends, so that it leaves less over. What makes it periodic: each application has an offset at
//! which its first transfer may begin, and all of its instances end w before that comes again. Past the period the
//! sweep goes on with what the beginning left free.

use super::pattern::Window;
use super::quantities::{Bandwidth, Micros};
use super::workload::{Job, Workload};

/// Who is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Who is furthest behind its own pace, the earliest virtual deadline: good for Dilation.
    Behind,
    /// Whose bytes free the most work, then who is furthest behind: good for SysEfficiency.
    Value,
}

/// One way to sweep.
pub(super) struct Plan<'a> {
    pub period: u64,
    pub rule: Rule,
    /// When each application's first transfer may begin; below the period.
    pub offsets: &'a [u64],
}

/// The windows of one application's instances.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// All windows, in the order of time.
    windows: Vec<Window>,
    /// Where each instance ends in them.
    ends: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Runner {
    /// When it can begin to transfer, if it is not transferring.
    ready: u64,
    /// What is left of a transfer under way.
    left: u64,
    share: Bandwidth,
    track: Track,
    /// When its last transfer has to end.
    until: u64,
    /// First key of the order among runners.
    class: u64,
    /// When the instance under way would end at the pace of an application alone.
    due: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Computing,
    Transferring,
    Over,
}

/// What the first period uses, from when on; the same is taken when the sweep comes past it again.
struct Used {
    period: u64,
    changes: Vec<(u64, Bandwidth)>,
    /// The change that holds now, in the second period.
    replayed: usize,
}

impl Used {
    /// What is taken at a time, and until when that stays so.
    fn at(&mut self, now: u64) -> (Bandwidth, u64) {
        if now < self.period {
            return (Bandwidth(0), self.period);
        }
        let period = self.period;
        let again = |change: &(u64, Bandwidth)| change.0 + period;
        while self.changes.get(self.replayed + 1).is_some_and(|next| again(next) <= now) {
            self.replayed += 1;
        }
        let until = self.changes.get(self.replayed + 1).map_or(u64::MAX, again);
        (self.changes[self.replayed].1, until)
    }

    fn record(&mut self, now: u64, used: Bandwidth) {
        if now < self.period && self.changes.last().is_none_or(|last| last.1 != used) {
            self.changes.push((now, used));
        }
    }
}

/// The instances of each application that a sweep finds room for; an application may have none.
pub(super) fn sweep(workload: &Workload, plan: &Plan<'_>) -> Vec<Track> {
    let jobs = workload.jobs();
    let total = workload.platform().total;
    let mut runners = runners(workload, plan);
    let mut used = Used { period: plan.period, changes: Vec::new(), replayed: 0 };
    let mut order: Vec<usize> = Vec::with_capacity(jobs.len());
    let mut now = 0;
    loop {
        for (runner, job) in runners.iter_mut().zip(jobs) {
            runner.begin_if_ready(now, job);
        }
        if runners.iter().all(|runner| runner.state == State::Over) {
            break;
        }
        order.clear();
        order.extend((0..jobs.len()).filter(|&job| runners[job].state == State::Transferring));
        order.sort_unstable_by_key(|&job| (runners[job].class, runners[job].due, job));
        let (taken, mut until) = used.at(now);
        let mut free = Bandwidth(total.0 - taken.0);
        for &job in &order {
            let runner = &mut runners[job];
            runner.share = free.min(jobs[job].fastest);
            free.0 -= runner.share.0;
            if runner.share.0 > 0 {
                until = until.min(now + runner.share.time_of(runner.left));
            }
        }
        used.record(now, Bandwidth(total.0 - free.0));
        let computing = runners.iter().filter(|runner| runner.state == State::Computing);
        until = computing.map(|runner| runner.ready).fold(until, u64::min);
        for &job in &order {
            runners[job].advance(now, until, plan.period, &jobs[job]);
        }
        now = until;
    }
    runners.into_iter().map(|runner| runner.track.finish(plan.period)).collect()
}

fn runners(workload: &Workload, plan: &Plan<'_>) -> Vec<Runner> {
    let values = workload.value_classes();
    let runner = |(number, job): (usize, &Job)| {
        let offset = plan.offsets[number];
        let class = if plan.rule == Rule::Value { u64::from(values[number]) } else { 0 };
        let until = (offset + plan.period).saturating_sub(job.compute);
        Runner {
            ready: offset,
            left: 0,
            share: Bandwidth(0),
            track: Track::default(),
            until,
            class,
            due: offset + job.transfer(),
            state: State::Computing,
        }
    };
    workload.jobs().iter().enumerate().map(runner).collect()
}

impl Runner {
    /// Begins a transfer at `now` if there is time for one.
    fn begin_if_ready(&mut self, now: u64, job: &Job) {
        if self.state == State::Computing && self.ready <= now {
            let fits = now + job.transfer() <= self.until;
            self.state = if fits { State::Transferring } else { State::Over };
            self.left = job.grains;
        }
    }

    /// Transfers at its share from `now` to `then`.
    fn advance(&mut self, now: u64, then: u64, period: u64, job: &Job) {
        if self.share.0 > 0 && now < period && self.track.windows.is_empty() {
            // Only now its period begins, and so it ends later, too.
            self.until = now + period - job.compute;
        }
        if then > self.until {
            // It cannot end in time: what it took so far was in vain.
            self.state = State::Over;
            return;
        }
        if self.share.0 == 0 {
            return;
        }
        let (start, end, bandwidth) = (Micros(now), Micros(then), self.share);
        match self.track.windows.last_mut() {
            Some(last) if last.end == start && last.bandwidth == bandwidth => last.end = end,
            _ => self.track.windows.push(Window { start, end, bandwidth }),
        }
        self.left = self.left.saturating_sub(bandwidth.carries(then - now));
        if self.left == 0 {
            self.track.ends.push(self.track.windows.len());
            self.state = State::Computing;
            self.ready = then + job.compute;
            self.due += job.cycle;
        }
    }
}

impl Track {
    /// The windows of each instance.
    pub fn instances(&self) -> impl Iterator<Item = &[Window]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.windows[start..end])
    }

    /// Without a transfer that did not end, and with the first beginning inside the period.
    fn finish(mut self, period: u64) -> Track {
        self.windows.truncate(self.ends.last().copied().unwrap_or(0));
        if self.windows.first().is_some_and(|first| first.start.0 >= period) {
            for window in &mut self.windows {
                *window = Window {
                    start: window.start - Micros(period),
                    end: window.end - Micros(period),
                    ..*window
                };
            }
        }
        self
    }
}
