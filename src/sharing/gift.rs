//! GIFT on one server (Patel, Garg and Tiwari, FAST 2020), as ThemisIO describes and ports it (section 5.4).

use super::dispatch::{Dispatcher, Next};
use super::job::JobId;
use super::random::Random;
use super::request::Request;
use super::tree::Tree;
use super::{Discipline, Nanos, SECOND};
use std::collections::{BTreeMap, VecDeque};

/// Gives each job an allotment of service a window, and throttles it when that is used up.
///
/// At the start of a window (the paper's port: half a second) the jobs seen in the last one, or waiting now,
/// divide what the server can do evenly: basic synchronous I/O progress, on one server. A job that could not
/// use its allotment is throttled to a little more than it used; what it gives up goes to the jobs that used
/// all of theirs, and it gets coupons for it, to be redeemed from what others give up when it needs more. On
/// one server the linear programme of GIFT, which maximises what is used of all servers, has this greedy
/// solution; several servers would need a central controller, which this is not.
///
/// Within a window jobs are drawn at random in proportion to allotment by cost, as the paper's port does. A
/// job that arrives in the middle of a window waits for the next, and what a job that ends does not use is
/// lost: nobody gets more than was allotted. Knows no policies but job-fair. A pick is O(jobs).
#[derive(Clone, Debug)]
pub struct Gift {
    cost_per_window: u64,
    window_ns: Nanos,
    window_end: Nanos,
    random: Random,
    jobs: BTreeMap<JobId, Account>,
    pending: usize,
}

#[derive(Clone, Debug, Default)]
struct Account {
    queue: VecDeque<Request>,
    /// Whether a request came in this window.
    seen: bool,
    granted: u64,
    /// What is left of the grant; below 0 after the last request of a window, which the next one pays.
    left: i128,
    coupons: u64,
}

impl Account {
    /// What it used of its last grant, when that was less than three quarters.
    fn unable_to_use(&self) -> Option<u64> {
        let used = u64::try_from(i128::from(self.granted) - self.left).unwrap_or(u64::MAX);
        (self.granted > 0 && used < self.granted / 4 * 3).then_some(used)
    }
}

impl Gift {
    /// A server of so much cost a second, with windows of `window_ns`. Panics for a window of 0.
    pub fn new(cost_per_second: u64, window_ns: Nanos, seed: u64) -> Gift {
        assert!(window_ns > 0, "a window has a length");
        let cost = u128::from(cost_per_second) * u128::from(window_ns) / u128::from(SECOND);
        Gift {
            cost_per_window: u64::try_from(cost).unwrap_or(u64::MAX),
            window_ns,
            window_end: 0,
            random: Random::new(seed),
            jobs: BTreeMap::new(),
            pending: 0,
        }
    }

    /// Starts a new window when the old one is over.
    fn turn(&mut self, now: Nanos) {
        if now < self.window_end {
            return;
        }
        self.window_end = (now / self.window_ns + 1) * self.window_ns;
        self.jobs.retain(|_, job| job.seen || !job.queue.is_empty() || job.coupons > 0);
        let present = |job: &Account| job.seen || !job.queue.is_empty();
        let count = self.jobs.values().filter(|&job| present(job)).count() as u64;
        let even = (self.cost_per_window / count.max(1)).max(1);
        let hungry =
            self.jobs.values().filter(|&job| present(job) && job.unable_to_use().is_none()).count() as u64;
        let mut spare = 0;
        for job in self.jobs.values_mut() {
            let debt = job.left.min(0);
            let mut grant = if present(job) { even } else { 0 };
            if let Some(used) = job.unable_to_use().filter(|_| hungry > 0 && grant > 0) {
                grant = grant.min((used / 4 * 5).max(even / 16));
                job.coupons = job.coupons.saturating_add(even - grant);
                spare += even - grant;
            }
            (job.granted, job.left) = (grant, debt);
        }
        // Coupons first, in the order of jobs; then all that are hungry alike.
        let throttled = |job: &Account| job.granted < even;
        for job in self.jobs.values_mut().filter(|job| !throttled(job)) {
            let redeemed = job.coupons.min(spare);
            job.coupons -= redeemed;
            job.granted += redeemed;
            spare -= redeemed;
        }
        for job in self.jobs.values_mut() {
            if job.granted >= even {
                job.granted += spare / hungry.max(1);
            }
            job.left += i128::from(job.granted);
            job.seen = false;
        }
    }
}

impl Dispatcher for Gift {
    fn name(&self) -> &'static str {
        Discipline::Gift.name()
    }

    fn set_shares(&mut self, _: &Tree) {}

    fn push(&mut self, request: Request, _: Nanos) {
        let job = self.jobs.entry(request.job).or_default();
        job.seen = true;
        job.queue.push_back(request);
        self.pending += 1;
    }

    fn next(&mut self, now: Nanos) -> Next {
        if self.pending == 0 {
            return Next::Idle;
        }
        self.turn(now);
        let chance = |job: &Account| match job.queue.front() {
            Some(request) if job.left > 0 => {
                ((u128::from(job.granted) << 48) / u128::from(request.cost.0.max(1))).max(1)
            }
            _ => 0,
        };
        let whole: u128 = self.jobs.values().map(chance).sum();
        if whole == 0 {
            return Next::Wait(self.window_end);
        }
        let mut left = self.random.below(whole);
        for job in self.jobs.values_mut() {
            match left.checked_sub(chance(job)) {
                Some(rest) => left = rest,
                None => {
                    let request = job.queue.pop_front().expect("only jobs with requests have a chance");
                    job.left -= i128::from(request.cost.0.max(1));
                    self.pending -= 1;
                    return Next::Serve(request);
                }
            }
        }
        unreachable!("the number drawn is below the sum of the chances")
    }

    fn pending(&self) -> usize {
        self.pending
    }

    fn pending_of(&self, job: JobId) -> usize {
        self.jobs.get(&job).map_or(0, |job| job.queue.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cost;
    use super::*;

    fn push(gift: &mut Gift, job: u64, count: usize) {
        (0..count).for_each(|_| gift.push(Request { job: JobId(job), ticket: 0, cost: Cost(10) }, 0));
    }

    /// What each of three jobs is served from `now` on until the server must wait, and until when.
    fn drain(gift: &mut Gift, now: Nanos) -> ([u64; 3], Next) {
        let mut had = [0; 3];
        loop {
            match gift.next(now) {
                Next::Serve(request) => had[request.job.0 as usize] += request.cost.0,
                other => return (had, other),
            }
        }
    }

    #[test]
    fn windows_throttle_and_newcomers_wait() {
        let mut gift = Gift::new(1000, SECOND, 1);
        push(&mut gift, 0, 200);
        push(&mut gift, 1, 200);
        assert_eq!(drain(&mut gift, 0), ([500, 500, 0], Next::Wait(SECOND)));
        push(&mut gift, 2, 200);
        assert_eq!(drain(&mut gift, SECOND / 2), ([0; 3], Next::Wait(SECOND)));
        assert_eq!(drain(&mut gift, SECOND), ([340, 340, 340], Next::Wait(2 * SECOND)));
    }

    #[test]
    fn who_gives_up_gets_coupons_and_redeems_them() {
        let mut gift = Gift::new(1000, SECOND, 1);
        push(&mut gift, 0, 10);
        push(&mut gift, 1, 400);
        assert_eq!(drain(&mut gift, 0), ([100, 500, 0], Next::Wait(SECOND)));
        // Job 0 used 100 of 500: it is throttled to 125, the rest goes to job 1.
        push(&mut gift, 0, 13);
        assert_eq!(drain(&mut gift, SECOND), ([130, 880, 0], Next::Wait(2 * SECOND)));
        assert_eq!(gift.jobs[&JobId(0)].coupons, 375);
        // Now job 1 has little to do and gives up; job 0 is hungry.
        push(&mut gift, 0, 400);
        gift.jobs.get_mut(&JobId(1)).unwrap().queue.truncate(10);
        gift.pending = 410;
        let (had, _) = drain(&mut gift, 2 * SECOND);
        assert_eq!(had, [500, 100, 0]);
        push(&mut gift, 1, 5);
        let (had, _) = drain(&mut gift, 3 * SECOND);
        assert!(had[0] > 800, "{had:?}");
        // All but 5: what job 1 paid of an earlier window counts as used.
        assert_eq!(gift.jobs[&JobId(0)].coupons, 5);
    }
}
