//! Figures of merit.

use super::outcome::Outcome;
use super::scenario::{Load, Scenario};
use crate::sharing::{Job, JobId, Nanos, SECOND, shares};
use std::collections::BTreeMap;

/// A time in which the same loads run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// The loads that run, as indices.
    pub loads: Vec<usize>,
}

/// The phases of a scenario, in the order of time; those without loads are left out.
pub fn phases(loads: &[Load]) -> Vec<Phase> {
    let mut times: Vec<Nanos> = loads.iter().flat_map(|load| [load.start, load.end]).collect();
    times.sort_unstable();
    times.dedup();
    let phase = |pair: &[Nanos]| {
        let runs = |at: &usize| loads[*at].start <= pair[0] && pair[1] <= loads[*at].end;
        Phase { start: pair[0], end: pair[1], loads: (0..loads.len()).filter(runs).collect() }
    };
    times.windows(2).map(phase).filter(|phase| !phase.loads.is_empty()).collect()
}

/// How well a discipline did in a scenario whose loads ask for more than the servers can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Bytes a second of all jobs, from the first start to the last end.
    pub bytes_per_second: f64,
    /// The largest difference between what part of the service a job had in a phase and its share, both from
    /// 0 to 1.
    pub share_error: f64,
    /// The largest of those differences by the share.
    pub share_error_relative: f64,
    /// The longest that it took after a load began or ended beside others until all jobs had their shares;
    /// none when in some phase that never happened ([`time_to_fairness`]).
    pub time_to_fairness_ns: Option<Nanos>,
    /// The largest standard deviation of a job's bytes a second, from second to second within a phase of
    /// several loads; transitions count.
    pub deviation: f64,
    /// Jain's index of service by share in the worst phase: 1 is fair, 1/n when one of n jobs has all.
    pub jain: f64,
    /// The 99th percentile of the latency of all requests.
    pub latency_p99_ns: Nanos,
    /// The largest 99th percentile of a job's latency.
    pub latency_p99_ns_worst_job: Nanos,
    /// The longest that any request waited.
    pub latency_ns_max: Nanos,
}

/// The metrics of an outcome. Shares are global: those of the policy over the loads of a phase.
pub fn metrics(scenario: &Scenario, outcome: &Outcome) -> Metrics {
    let phases = phases(&scenario.loads);
    let (start, end) =
        (phases.first().map_or(0, |phase| phase.start), phases.last().map_or(0, |phase| phase.end));
    let seconds = (end - start).max(1) as f64 / SECOND as f64;
    let mut metrics = Metrics {
        bytes_per_second: outcome.bytes_between(start, end) as f64 / seconds,
        share_error: 0.0,
        share_error_relative: 0.0,
        time_to_fairness_ns: Some(0),
        deviation: 0.0,
        jain: 1.0,
        latency_p99_ns: 0,
        latency_p99_ns_worst_job: 0,
        latency_ns_max: 0,
    };
    for phase in phases.iter().filter(|phase| phase.loads.len() > 1) {
        let expected = expected(scenario, phase);
        let found = outcome.parts_between(phase.start, phase.end);
        let mut by_share = Vec::new();
        for &load in &phase.loads {
            let (found, share) = (found[load], expected[&scenario.loads[load].job.id]);
            metrics.share_error = metrics.share_error.max((found - share).abs());
            metrics.share_error_relative = metrics.share_error_relative.max((found - share).abs() / share);
            by_share.push(found / share);
            let series = outcome.jobs[load].series(phase.start, phase.end, SECOND);
            metrics.deviation = metrics.deviation.max(deviation(&series.values));
        }
        metrics.jain = metrics.jain.min(jain(&by_share));
        let time = time_to_fairness(scenario, outcome, phase, FAIR_STEP_NS, FAIR_WITHIN);
        metrics.time_to_fairness_ns =
            metrics.time_to_fairness_ns.zip(time).map(|(longest, time)| longest.max(time));
    }
    latencies(outcome, &mut metrics);
    metrics
}

/// Over how long, and how near to its share, a job must be for [`metrics`] to call it fair.
const FAIR_STEP_NS: Nanos = SECOND / 10;
const FAIR_WITHIN: f64 = 0.1;

/// How many steps in a row must be fair.
const FAIR_STEPS: usize = 3;

/// How long it takes from the start of a phase until every job's part of the service is within `within` of
/// its share for three steps of `step_ns` in a row: the end of the first of them. None when that does not
/// happen in the phase. Panics for a step of 0.
pub fn time_to_fairness(
    scenario: &Scenario,
    outcome: &Outcome,
    phase: &Phase,
    step_ns: Nanos,
    within: f64,
) -> Option<Nanos> {
    let expected = expected(scenario, phase);
    let fair = |step: Nanos| {
        let start = phase.start + step * step_ns;
        let found = outcome.parts_between(start, start + step_ns);
        phase.loads.iter().all(|&load| (found[load] - expected[&scenario.loads[load].job.id]).abs() <= within)
    };
    let steps: Vec<bool> = (0..(phase.end - phase.start) / step_ns).map(fair).collect();
    let first = steps.windows(FAIR_STEPS).position(|steps| steps.iter().all(|&fair| fair))?;
    Some((first as Nanos + 1) * step_ns)
}

fn expected(scenario: &Scenario, phase: &Phase) -> BTreeMap<JobId, f64> {
    let jobs: Vec<Job> = phase.loads.iter().map(|&load| scenario.loads[load].job.clone()).collect();
    shares(&scenario.policy, &jobs).into_iter().map(|(job, share)| (job, share.as_f64())).collect()
}

fn latencies(outcome: &Outcome, metrics: &mut Metrics) {
    let mut all = Vec::new();
    for job in &outcome.jobs {
        let mut latencies: Vec<Nanos> = job.served.iter().map(|served| served.latency_ns()).collect();
        all.extend_from_slice(&latencies);
        metrics.latency_p99_ns_worst_job =
            metrics.latency_p99_ns_worst_job.max(percentile(&mut latencies, 99));
    }
    metrics.latency_p99_ns = percentile(&mut all, 99);
    metrics.latency_ns_max = all.last().copied().unwrap_or(0);
}

/// The value that `percent` of a hundred values are not above (nearest rank); 0 for no values. Sorts them.
pub fn percentile(values: &mut [Nanos], percent: usize) -> Nanos {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// Jain's fairness index (Jain, Chiu and Hawe 1984).
fn jain(values: &[f64]) -> f64 {
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) }
}

/// The standard deviation of a sample.
fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{JobOutcome, Served};
    use super::super::scenario::{Access, Server};
    use super::*;
    use crate::sharing::Cost;

    fn load(id: u64, start: u64, end: u64) -> Load {
        let cycle = vec![Access { bytes: 1 }];
        let (start, end) = (start * SECOND, end * SECOND);
        Load { job: Job::new(id, 0, 0), ranks: 1, servers: vec![0], cycle, think_ns: 0, start, end }
    }

    #[test]
    fn phases_change_when_loads_do() {
        let found = phases(&[load(1, 0, 60), load(2, 15, 45), load(3, 70, 80)]);
        let expected = [(0, 15, vec![0]), (15, 45, vec![0, 1]), (45, 60, vec![0]), (70, 80, vec![2])];
        let expected =
            expected.map(|(start, end, loads)| Phase { start: start * SECOND, end: end * SECOND, loads });
        assert_eq!(found, expected);
    }

    #[test]
    fn percentiles_indices_and_deviations() {
        let mut values: Vec<Nanos> = (1..=200).rev().collect();
        assert_eq!(percentile(&mut values, 99), 198);
        assert_eq!(percentile(&mut values, 100), 200);
        assert_eq!(percentile(&mut [7], 50), 7);
        assert_eq!(percentile(&mut [], 50), 0);
        assert_eq!(jain(&[2.0, 2.0, 2.0]), 1.0);
        assert_eq!(jain(&[3.0, 0.0, 0.0]), 1.0 / 3.0);
        assert_eq!(deviation(&[1.0, 3.0]), 2f64.sqrt());
    }

    /// Two jobs of equal shares for ten seconds; one is served four of five requests for the first two
    /// seconds.
    #[test]
    fn as_worked_by_hand() {
        let server = Server { bytes_per_second: 100, operation_ns: 0 };
        let loads = vec![load(1, 0, 10), load(2, 0, 10)];
        let scenario = Scenario::new("job-fair".parse().unwrap(), vec![server], loads);
        let mut jobs = [1, 2].map(|id| JobOutcome { job: JobId(id), served: Vec::new() });
        for tick in 0..1000 {
            let to_second = if tick < 200 { tick % 5 == 0 } else { tick % 2 == 0 };
            let finished = tick * SECOND / 100;
            let issued = finished.saturating_sub(tick + 1);
            jobs[usize::from(to_second)].served.push(Served {
                server: 0,
                issued,
                finished,
                bytes: 1,
                cost: Cost(1),
            });
        }
        let outcome = Outcome { jobs: jobs.to_vec() };
        let found = metrics(&scenario, &outcome);
        assert_eq!(found.bytes_per_second, 100.0);
        assert!((found.share_error - 0.06).abs() < 1e-9, "{found:?}");
        assert!((found.share_error_relative - 0.12).abs() < 1e-9, "{found:?}");
        assert_eq!(found.time_to_fairness_ns, Some(2 * SECOND + FAIR_STEP_NS));
        assert!((found.jain - 1.0 / (1.0 + 0.12 * 0.12)).abs() < 1e-9, "{found:?}");
        // 80, 80, then eight times 50.
        assert!((found.deviation - (2.0 * 24.0f64.powi(2) + 8.0 * 6.0f64.powi(2)).sqrt() / 3.0).abs() < 1e-9);
        assert_eq!((found.latency_p99_ns, found.latency_ns_max), (990, 1000));
    }
}
