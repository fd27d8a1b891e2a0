//! PerSched (Algorithm 2): tries periods that grow by a factor, keeps the best pattern, then shortens its period.
//!
//! Every period is a computation of its own, from a period to a score, so that the caller may run them side by side: a
//! search takes a function that maps a batch of periods. Batches and their order depend on nothing but the
//! arguments, and so does the result.

use super::insert::Builder;
use super::pattern::{Objective, PERIOD_MAX, Pattern, Score};
use super::quantities::Micros;
use super::workload::Workload;
use std::cmp::Ordering;
use std::fmt;

/// Which periods to try, and what for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first period (T_min); the paper's text has [`Workload::cycle_max`].
    pub period_min: Micros,
    /// The last period over the first (K'), 1 or more; the paper has 10.
    pub period_ratio: f64,
    /// How much longer each period is than the one before it (ε), above 0 and at most 1; the paper has 0.01.
    pub precision: f64,
    /// What makes a pattern the better one.
    pub objective: Objective,
}

impl Search {
    /// The paper's parameters (section 4.4) from a first period on.
    pub fn from_period(period_min: Micros) -> Search {
        Search { period_min, period_ratio: 10.0, precision: 0.01, objective: Objective::SysEfficiency }
    }

    /// The periods of the first loop. Empty when the first is 0 or past [`PERIOD_MAX`], or the ratio or the
    /// precision is not what it has to be.
    pub fn periods(&self) -> Vec<Micros> {
        let precise = self.precision > 1e-6 && self.precision <= 1.0;
        let mut periods = Vec::new();
        if !precise || !self.period_ratio.is_finite() || self.period_min == Micros(0) {
            return periods;
        }
        let last = (self.period_min.0 as f64 * self.period_ratio).min(PERIOD_MAX.0 as f64);
        let mut period = self.period_min.0 as f64;
        while period <= last {
            periods.push(Micros(period.round() as u64));
            period *= 1.0 + self.precision;
        }
        periods.dedup();
        periods
    }

    /// The periods of the second loop, the longest first, after the one that was best.
    fn shorter(&self, best: Micros) -> Vec<Micros> {
        let best = best.0 as f64;
        let count = (1.0 / self.precision).floor();
        let step = (best - best / (1.0 + self.precision)) / count;
        let period = |index: u64| Micros((best - step * index as f64).round() as u64);
        let mut periods: Vec<Micros> = (1..=count as u64).map(period).collect();
        periods.dedup();
        periods
    }
}

/// No pattern was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoPattern {
    /// The parameters give no period to try.
    NoPeriod,
    /// Every pattern tried leaves an application out, which would then wait for ever.
    LeavesOneOut {
        /// The longest period tried.
        period_max: Micros,
    },
}

impl fmt::Display for NoPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPattern::NoPeriod => write!(
                f,
                "no period to try: the first is above 0 s and at most {PERIOD_MAX}, the ratio 1 or more, the \
                 precision above 0.000001 and at most 1"
            ),
            NoPattern::LeavesOneOut { period_max } => write!(
                f,
                "every pattern up to {period_max} leaves an application out: allow longer periods, or run fewer \
                 applications at once"
            ),
        }
    }
}

impl std::error::Error for NoPattern {}

/// The score of the pattern for one period, without the pattern; `None` when it leaves an application out.
///
/// Panics for a period of 0 or past [`PERIOD_MAX`].
pub fn score_period(workload: &Workload, period: Micros) -> Option<Score> {
    let mut builder = Builder::for_score(workload, period);
    builder.insert_all();
    builder.score()
}

/// The pattern for one period (Algorithms 1 and 3); `None` when it leaves an application out.
///
/// Panics for a period of 0 or past [`PERIOD_MAX`].
pub fn pattern_of_period(workload: &Workload, period: Micros) -> Option<Pattern> {
    let mut builder = Builder::for_pattern(workload, period);
    builder.insert_all();
    builder.pattern()
}

/// A computation from a period to the score of its pattern, which threads may share.
pub type ScorePeriod<'a> = &'a (dyn Fn(Micros) -> Option<Score> + Sync);

/// Maps a batch of periods one after another: what [`search`] takes where there is one thread.
pub fn one_by_one(periods: &[Micros], score: ScorePeriod<'_>) -> Vec<Option<Score>> {
    periods.iter().map(|&period| score(period)).collect()
}

/// How many periods a call of the map gets in the first loop, and in the second, which ends early.
const BATCHES: [usize; 2] = [16, 4];

/// PerSched (Algorithm 2). `map` returns, for each period of a batch, what the function it is given returns for it; it
/// may call it on any thread and in any order, and the result is the same.
///
/// A period is passed over when no pattern of that length could be better than the best one known: each application
/// does at most T / (w + time_io) instances. That changes nothing but the time.
///
/// # Errors
///
/// [`NoPattern`], when there is no period or no pattern with all applications.
pub fn search<M>(workload: &Workload, search: &Search, map: M) -> Result<Pattern, NoPattern>
where
    M: Fn(&[Micros], ScorePeriod<'_>) -> Vec<Option<Score>>,
{
    let period = best_period(workload, search, map)?;
    Ok(pattern_of_period(workload, period).expect("the score of this period had all applications"))
}

/// The period of the pattern that [`search`] returns.
pub(super) fn best_period<M>(workload: &Workload, search: &Search, map: M) -> Result<Micros, NoPattern>
where
    M: Fn(&[Micros], ScorePeriod<'_>) -> Vec<Option<Score>>,
{
    let score = |period| score_period(workload, period);
    let periods = search.periods();
    let period_max = *periods.last().ok_or(NoPattern::NoPeriod)?;
    let mut hopes: Vec<Score> = periods.iter().map(|&period| at_most(workload, period)).collect();
    hopes.sort_by(|a, b| search.objective.compare(b, a).then(a.period.cmp(&b.period)));
    let mut best: Option<Score> = None;
    for batch in hopes.chunks(BATCHES[0]) {
        let hopeful = |hope: &&Score| best.is_none_or(|best| search.objective.compare(hope, &best).is_ge());
        let batch: Vec<Micros> = batch.iter().filter(hopeful).map(|hope| hope.period).collect();
        if batch.is_empty() {
            break;
        }
        for found in map(&batch, &score).into_iter().flatten() {
            best = Some(best.map_or(found, |best| better(search.objective, found, best)));
        }
    }
    let best = best.ok_or(NoPattern::LeavesOneOut { period_max })?;
    Ok(shorten(search, best, |batch| map(batch, &score)))
}

/// The better of two, the one of the shorter period of equals: the one that comes first in the first loop.
fn better(objective: Objective, a: Score, b: Score) -> Score {
    match objective.compare(&a, &b) {
        Ordering::Greater => a,
        Ordering::Less => b,
        Ordering::Equal => {
            if a.period < b.period {
                a
            } else {
                b
            }
        }
    }
}

/// The second loop: the shortest of the next shorter periods, up to a factor of 1 + ε, that still carry the work.
fn shorten(search: &Search, best: Score, score: impl Fn(&[Micros]) -> Vec<Option<Score>>) -> Micros {
    let carries = |found: &Score| found.work >= best.work && found.alone_least >= best.alone_least;
    let mut shortest = best.period;
    for batch in search.shorter(best.period).chunks(BATCHES[1]) {
        let found = score(batch);
        let kept = found.iter().take_while(|found| found.as_ref().is_some_and(carries)).count();
        shortest = batch[..kept].last().copied().unwrap_or(shortest);
        if kept < batch.len() {
            break;
        }
    }
    shortest
}

/// A score that no pattern of this period beats.
fn at_most(workload: &Workload, period: Micros) -> Score {
    let counts: Vec<u64> = workload.jobs().iter().map(|job| period.0 / job.cycle).collect();
    Score::new(workload, period, &counts)
}
