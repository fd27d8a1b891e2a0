//! The dispatchers by name.

use super::dispatch::Dispatcher;
use super::fifo::Fifo;
use super::gift::Gift;
use super::job::JobId;
use super::stride::Stride;
use super::tbf::Tbf;
use super::tokens::Tokens;
use super::{Nanos, SECOND};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How a server chooses among the requests that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Discipline {
    /// `fifo`: [`Fifo`].
    Fifo,
    /// `gift`: [`Gift`].
    Gift,
    /// `tbf`: [`Tbf`].
    Tbf,
    /// `tokens`: [`Tokens`].
    Tokens,
    /// `stride`: [`Stride`].
    Stride,
}

/// What the disciplines need to know. The rivals must be told the capacity; tokens and stride need none of it
/// but the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What the server can do, in cost a second.
    pub cost_per_second: u64,
    /// Where random numbers start.
    pub seed: u64,
    /// GIFT: the length of a window.
    pub gift_window_ns: Nanos,
    /// TBF: what users asked for, in cost a second.
    pub tbf_rates: BTreeMap<JobId, u64>,
    /// TBF: the rate of the other jobs.
    pub tbf_rate_default: u64,
    /// TBF: how much cost a bucket holds.
    pub tbf_depth: u64,
    /// TBF: how often spare bandwidth is found out.
    pub tbf_period_ns: Nanos,
}

impl Setup {
    /// A server of so much cost a second: windows of half a second (ThemisIO, section 5.4), rates of a tenth
    /// of the capacity, buckets of three requests of `request_cost` (the default of Lustre), periods of 100
    /// ms.
    pub fn new(cost_per_second: u64, request_cost: u64, seed: u64) -> Setup {
        Setup {
            cost_per_second,
            seed,
            gift_window_ns: SECOND / 2,
            tbf_rates: BTreeMap::new(),
            tbf_rate_default: (cost_per_second / 10).max(1),
            tbf_depth: request_cost.saturating_mul(3).max(1),
            tbf_period_ns: SECOND / 10,
        }
    }
}

impl Discipline {
    /// Every discipline, the base line first.
    pub const ALL: [Discipline; 5] =
        [Discipline::Fifo, Discipline::Gift, Discipline::Tbf, Discipline::Tokens, Discipline::Stride];

    pub(super) fn name(self) -> &'static str {
        match self {
            Discipline::Fifo => "fifo",
            Discipline::Gift => "gift",
            Discipline::Tbf => "tbf",
            Discipline::Tokens => "tokens",
            Discipline::Stride => "stride",
        }
    }

    /// A dispatcher without jobs. Panics for a window, rate, depth or period of 0.
    pub fn build(self, setup: &Setup) -> Box<dyn Dispatcher> {
        match self {
            Discipline::Fifo => Box::new(Fifo::new()),
            Discipline::Gift => Box::new(Gift::new(setup.cost_per_second, setup.gift_window_ns, setup.seed)),
            Discipline::Tbf => Box::new(Tbf::new(
                setup.cost_per_second,
                setup.tbf_rates.clone(),
                setup.tbf_rate_default,
                setup.tbf_depth,
                setup.tbf_period_ns,
            )),
            Discipline::Tokens => Box::new(Tokens::new(setup.seed)),
            Discipline::Stride => Box::new(Stride::new()),
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Discipline {
    type Err = String;

    /// The discipline of a name. The error says what was expected.
    fn from_str(text: &str) -> Result<Discipline, String> {
        let found = Discipline::ALL.into_iter().find(|discipline| discipline.name() == text.trim());
        found.ok_or_else(|| format!("expected fifo, gift, tbf, tokens or stride, found \"{text}\""))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::super::{Cost, Job, Next, Request, Tree};
    use super::*;

    #[test]
    fn names() {
        for discipline in Discipline::ALL {
            assert_eq!(discipline.to_string().parse(), Ok(discipline));
            assert_eq!(discipline.build(&Setup::new(1000, 10, 0)).name(), discipline.name());
        }
        let error = "themis".parse::<Discipline>().unwrap_err();
        assert_eq!(error, "expected fifo, gift, tbf, tokens or stride, found \"themis\"");
    }

    /// Whatever the discipline: every request is served once, those of a job in order, the counts are right,
    /// and a run is repeated by its seed.
    #[test]
    fn nothing_is_lost_doubled_or_overtaken_within_a_job() {
        for discipline in Discipline::ALL {
            for seed in 0..200 {
                let served = [(); 2].map(|()| random_run(discipline, seed));
                assert_eq!(served[0], served[1], "{discipline} seed {seed}");
                let mut last = BTreeMap::new();
                for &(job, ticket) in &served[0] {
                    assert!(last.insert(job, ticket) < Some(ticket), "{discipline} seed {seed} job {job}");
                }
            }
        }
    }

    fn random_run(discipline: Discipline, seed: u64) -> Vec<(JobId, u64)> {
        let mut random = Random::new(seed);
        let mut jobs: Vec<Job> = (0..6).map(|id| Job::new(id, id as u32 % 2, 0)).collect();
        let mut dispatcher = discipline.build(&Setup::new(1_000_000_000, 50, seed));
        dispatcher.set_shares(&Tree::new(&"user-job".parse().unwrap(), &jobs));
        let (mut now, mut pushed, mut served) = (0, 0, Vec::new());
        while pushed < 300 || dispatcher.pending() > 0 {
            if pushed < 300 && random.index(2) == 0 {
                let (job, cost) = (jobs[random.index(6)].id, Cost(random.next() % 100));
                dispatcher.push(Request { job, ticket: pushed, cost }, now);
                pushed += 1;
            } else {
                match dispatcher.next(now) {
                    Next::Serve(request) => {
                        served.push((request.job, request.ticket));
                        now += request.cost.0;
                    }
                    Next::Wait(until) => {
                        assert!(until > now, "{discipline} seed {seed}");
                        now = until;
                    }
                    Next::Idle => assert_eq!(dispatcher.pending(), 0, "{discipline} seed {seed}"),
                }
            }
            if random.index(20) == 0 {
                jobs[random.index(6)].user.0 = random.index(3) as u32;
                dispatcher.set_shares(&Tree::new(&"user-job".parse().unwrap(), &jobs));
            }
            let waiting: usize = jobs.iter().map(|job| dispatcher.pending_of(job.id)).sum();
            assert_eq!(waiting, dispatcher.pending(), "{discipline} seed {seed}");
            assert_eq!(waiting as u64 + served.len() as u64, pushed, "{discipline} seed {seed}");
        }
        served
    }
}
