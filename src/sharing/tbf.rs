//! A token bucket a job, as in Lustre (Qian et al., SC 2017), with its two strategies that ThemisIO ports
//! (section 5.4).

use super::dispatch::{Dispatcher, Next};
use super::job::JobId;
use super::request::Request;
use super::tree::Tree;
use super::{Discipline, Nanos, SECOND};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

/// Serves each job at the rate that its user asked for.
///
/// A bucket gains tokens at the job's rate and holds a few requests' worth; a request is due when the bucket
/// has what it costs, and the request that has been due longest is next.
///
/// - *Hard token compensation*: while a job has requests waiting, tokens that the server was too busy to
///   honour are kept beyond the bucket's depth (up to a second's worth), so that it catches up.
/// - *Proportional sharing of spare bandwidth*: at the end of each period, what the server could have done
///   beyond the due requests is given to the jobs seen in it, in proportion to their rates, for the next
///   period. Those requests are served when none is due.
///
/// Knows no policies: rates are what somebody says. A pick is O(jobs).
#[derive(Clone, Debug)]
pub struct Tbf {
    cost_per_second: u64,
    period_ns: Nanos,
    period_end: Nanos,
    depth: u64,
    rates: BTreeMap<JobId, u64>,
    rate_default: u64,
    jobs: BTreeMap<JobId, Bucket>,
    /// What due requests cost in this period.
    due_cost: u64,
    pending: usize,
}

/// A token is a unit of cost; buckets count in billionths, so that a nanosecond at any rate is a whole
/// number.
const TOKEN: i128 = SECOND as i128;

#[derive(Clone, Debug)]
struct Bucket {
    queue: VecDeque<Request>,
    rate: u64,
    tokens: i128,
    filled_at: Nanos,
    /// Spare bandwidth of this period, in cost; below 0 after its last request.
    spare: i128,
    seen: bool,
}

impl Bucket {
    fn fill(&mut self, now: Nanos, depth: u64) {
        let gained = i128::from(self.rate) * i128::from(now.saturating_sub(self.filled_at));
        let room = i128::from(if self.queue.is_empty() { depth } else { depth.max(self.rate) });
        self.tokens = (self.tokens + gained).min(room * TOKEN);
        self.filled_at = now;
    }

    /// How many tokens it has beyond those its next request needs; below 0 when it is not due.
    fn excess(&self, depth: u64) -> Option<i128> {
        let cost = self.queue.front()?.cost.0.clamp(1, depth);
        Some(self.tokens - i128::from(cost) * TOKEN)
    }
}

impl Tbf {
    /// A server of so much cost a second; each job's rate is in cost a second, too, and `rate_default` is
    /// that of jobs which `rates` leaves out. `depth` is the cost that a bucket holds; a larger request is
    /// due when it is full. Spare bandwidth is found out every `period_ns`. Panics when the default rate, the
    /// depth or the period is 0.
    pub fn new(
        cost_per_second: u64,
        rates: BTreeMap<JobId, u64>,
        rate_default: u64,
        depth: u64,
        period_ns: Nanos,
    ) -> Tbf {
        assert!(rate_default > 0 && depth > 0 && period_ns > 0, "rates, depths and periods are not 0");
        Tbf {
            cost_per_second,
            period_ns,
            period_end: 0,
            depth,
            rates,
            rate_default,
            jobs: BTreeMap::new(),
            due_cost: 0,
            pending: 0,
        }
    }

    /// Gives out the spare bandwidth of the period that is over.
    fn turn(&mut self, now: Nanos) {
        if now < self.period_end {
            return;
        }
        self.period_end = (now / self.period_ns + 1) * self.period_ns;
        let capacity = u128::from(self.cost_per_second) * u128::from(self.period_ns) / u128::from(SECOND);
        let spare = capacity.saturating_sub(u128::from(std::mem::take(&mut self.due_cost)));
        let present = |job: &Bucket| job.seen || !job.queue.is_empty();
        let full = i128::from(self.depth) * TOKEN;
        self.jobs.retain(|_, job| present(job) || job.tokens < full);
        let rates: u128 =
            self.jobs.values().filter(|&job| present(job)).map(|job| u128::from(job.rate)).sum();
        for job in self.jobs.values_mut() {
            let part = if present(job) { spare * u128::from(job.rate) / rates } else { 0 };
            job.spare = job.spare.min(0) + i128::try_from(part).expect("a period's cost fits");
            job.seen = false;
        }
    }

    /// The job whose request has been due longest, or else the one that has most spare bandwidth for its
    /// rate.
    fn choose(&self) -> Option<(JobId, bool)> {
        // Compares a/b with c/d.
        let by_rate =
            |(a, b): (i128, u64), (c, d): (i128, u64)| (a * i128::from(d)).cmp(&(c * i128::from(b)));
        let earlier = |order: Ordering, a: JobId, b: JobId| order.then(b.cmp(&a));
        let due = self.jobs.iter().filter_map(|(&id, job)| Some((id, job.excess(self.depth)?, job.rate)));
        let due = due
            .filter(|&(_, excess, _)| excess >= 0)
            .max_by(|a, b| earlier(by_rate((a.1, a.2), (b.1, b.2)), a.0, b.0));
        if let Some((id, _, _)) = due {
            return Some((id, true));
        }
        let spare = self.jobs.iter().filter(|(_, job)| !job.queue.is_empty() && job.spare > 0);
        spare
            .max_by(|a, b| earlier(by_rate((a.1.spare, a.1.rate), (b.1.spare, b.1.rate)), *a.0, *b.0))
            .map(|(&id, _)| (id, false))
    }

    /// When the next request is due, or the next period starts.
    fn wake(&self, now: Nanos) -> Nanos {
        let due = self.jobs.values().filter_map(|job| {
            let missing = u128::try_from(-job.excess(self.depth)?).unwrap_or(0);
            Some(
                now.saturating_add(u64::try_from(missing.div_ceil(u128::from(job.rate))).unwrap_or(u64::MAX)),
            )
        });
        due.min().unwrap_or(u64::MAX).min(self.period_end).max(now + 1)
    }
}

impl Dispatcher for Tbf {
    fn name(&self) -> &'static str {
        Discipline::Tbf.name()
    }

    fn set_shares(&mut self, _: &Tree) {}

    fn push(&mut self, request: Request, now: Nanos) {
        let depth = self.depth;
        let rate = self.rates.get(&request.job).copied().unwrap_or(self.rate_default).max(1);
        let job = self.jobs.entry(request.job).or_insert_with(|| Bucket {
            queue: VecDeque::new(),
            rate,
            tokens: i128::from(depth) * TOKEN,
            filled_at: now,
            spare: 0,
            seen: false,
        });
        job.fill(now, depth);
        job.seen = true;
        job.queue.push_back(request);
        self.pending += 1;
    }

    fn next(&mut self, now: Nanos) -> Next {
        if self.pending == 0 {
            return Next::Idle;
        }
        self.turn(now);
        self.jobs.values_mut().for_each(|job| job.fill(now, self.depth));
        let Some((id, due)) = self.choose() else { return Next::Wait(self.wake(now)) };
        let job = self.jobs.get_mut(&id).expect("the job chosen is one of them");
        let request = job.queue.pop_front().expect("a job is only chosen when it has requests");
        let cost = request.cost.0.max(1);
        if due {
            job.tokens -= i128::from(cost) * TOKEN;
            self.due_cost = self.due_cost.saturating_add(cost);
        } else {
            job.spare -= i128::from(cost);
        }
        self.pending -= 1;
        Next::Serve(request)
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

    /// What two jobs that always have requests of cost 10 are served a second by a server of 1000 a second.
    fn serve(rates: [u64; 2], jobs: &[u64], seconds: u64) -> [u64; 2] {
        let rates = BTreeMap::from([(JobId(0), rates[0]), (JobId(1), rates[1])]);
        let mut tbf = Tbf::new(1000, rates, 1, 30, SECOND / 10);
        let mut had = [0; 2];
        let mut now = 0;
        let request = |id: u64| Request { job: JobId(id), ticket: 0, cost: Cost(10) };
        jobs.iter().for_each(|&id| (0..3).for_each(|_| tbf.push(request(id), 0)));
        while now < seconds * SECOND {
            match tbf.next(now) {
                Next::Serve(served) => {
                    had[served.job.0 as usize] += served.cost.0;
                    now += SECOND / 100;
                    tbf.push(request(served.job.0), now);
                }
                Next::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                Next::Idle => panic!("requests wait"),
            }
        }
        had.map(|had| had / seconds)
    }

    #[test]
    fn rates_are_kept_and_spare_bandwidth_is_shared_by_rate() {
        // More is asked for than there is: both fall behind alike, compensation keeps the ratio near.
        let [a, b] = serve([900, 900], &[0, 1], 10);
        assert!(a.abs_diff(b) <= 10 && a + b >= 995, "{a} {b}");
        // 400 asked for of 1000: the rest is divided 3 to 1.
        let [a, b] = serve([300, 100], &[0, 1], 10);
        assert!(a.abs_diff(750) < 20 && b.abs_diff(250) < 20, "{a} {b}");
        // One job alone has its rate and all that is spare, but for the first period.
        let [a, b] = serve([300, 100], &[0], 10);
        assert!(a > 960 && b == 0, "{a} {b}");
    }
}
