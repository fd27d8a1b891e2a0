//! Disciplines side by side.

use super::metrics::{Metrics, metrics};
use super::outcome::Outcome;
use super::run::run;
use super::scenario::Scenario;
use crate::sharing::{Discipline, Nanos, SECOND};

/// How one discipline did.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The discipline.
    pub discipline: Discipline,
    /// What it made of the scenario.
    pub metrics: Metrics,
    /// Every request.
    pub outcome: Outcome,
}

/// Runs a scenario under each of these disciplines. Panics as [`run`] does.
pub fn compare(scenario: &Scenario, disciplines: &[Discipline]) -> Vec<Comparison> {
    let under = |&discipline: &Discipline| {
        let scenario = scenario.with(discipline);
        let outcome = run(&scenario);
        Comparison { discipline, metrics: metrics(&scenario, &outcome), outcome }
    };
    disciplines.iter().map(under).collect()
}

/// The metrics as comma-separated values, a line a discipline; times in seconds, and empty where there is
/// none.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut text = String::from(
        "discipline,bytes_per_second,share_error,share_error_relative,time_to_fairness_s,deviation_bytes_per_second,\
         jain,latency_p99_s,latency_p99_s_worst_job,latency_s_max\n",
    );
    let seconds = |ns: Nanos| (ns as f64 / SECOND as f64).to_string();
    for Comparison { discipline, metrics, .. } in comparisons {
        let fields = [
            discipline.to_string(),
            metrics.bytes_per_second.to_string(),
            metrics.share_error.to_string(),
            metrics.share_error_relative.to_string(),
            metrics.time_to_fairness_ns.map_or_else(String::new, seconds),
            metrics.deviation.to_string(),
            metrics.jain.to_string(),
            seconds(metrics.latency_p99_ns),
            seconds(metrics.latency_p99_ns_worst_job),
            seconds(metrics.latency_ns_max),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{Access, Load, Server};
    use super::*;
    use crate::sharing::{Job, JobId};

    const SERVER: Server = Server { bytes_per_second: 22_000_000_000, operation_ns: 2_000 };

    fn load(id: u64, nodes: u32, ranks: u32, bytes: u64) -> Load {
        let (job, cycle) = (Job::new(id, 0, 0).with_nodes(nodes), vec![Access { bytes }]);
        Load { job, ranks, servers: vec![0], cycle, think_ns: 20_000, start: 0, end: 20 * SECOND }
    }

    fn of(comparisons: &[Comparison], discipline: Discipline) -> &Metrics {
        &comparisons
            .iter()
            .find(|comparison| comparison.discipline == discipline)
            .expect("all were run")
            .metrics
    }

    /// A job of many ranks takes what first-in-first-out gives it; ours keep to the shares and lose no
    /// throughput.
    #[test]
    fn ours_are_fair_where_fifo_is_not_and_as_fast() {
        let loads = vec![load(1, 1, 400, 1_000_000), load(2, 1, 20, 1_000_000), load(3, 2, 60, 1_000_000)];
        for policy in ["job-fair", "size-fair"] {
            let scenario = Scenario::new(policy.parse().unwrap(), vec![SERVER], loads.clone());
            let found = compare(&scenario, &Discipline::ALL);
            let fifo = of(&found, Discipline::Fifo);
            assert!(fifo.share_error > 0.3 && fifo.time_to_fairness_ns.is_none(), "{policy} {fifo:?}");
            for discipline in [Discipline::Tokens, Discipline::Stride] {
                let ours = of(&found, discipline);
                assert!(ours.share_error_relative < 0.02, "{policy} {discipline} {ours:?}");
                assert!(
                    ours.bytes_per_second > fifo.bytes_per_second * 0.99,
                    "{policy} {discipline} {ours:?}"
                );
                assert!(
                    ours.jain > 0.999 && ours.time_to_fairness_ns <= Some(SECOND / 5),
                    "{policy} {discipline}"
                );
            }
        }
    }

    /// One rank that looks up metadata beside a thousand that write 10 MB.
    #[test]
    fn large_writes_do_not_starve_metadata() {
        let loads = vec![load(1, 1, 1, 0), load(2, 1, 500, 10_000_000), load(3, 1, 500, 10_000_000)];
        let scenario = Scenario::new("job-fair".parse().unwrap(), vec![SERVER], loads);
        let found = compare(&scenario, &[Discipline::Fifo, Discipline::Tokens, Discipline::Stride]);
        let longest = |discipline| {
            let comparison = found.iter().find(|comparison| comparison.discipline == discipline).unwrap();
            comparison.outcome.jobs[0].served.iter().map(|served| served.latency_ns()).max().unwrap()
        };
        let write = SERVER.service_ns(10_000_000);
        assert!(longest(Discipline::Fifo) > 900 * write);
        // The write that the server is busy with, and rarely one more; for stride, one of each of the others.
        assert!(longest(Discipline::Tokens) < 4 * write, "{} ns", longest(Discipline::Tokens));
        assert!(longest(Discipline::Stride) < 4 * write, "{} ns", longest(Discipline::Stride));
    }

    /// The other way round: whoever asks for many small things has its share of the server and no more.
    #[test]
    fn a_storm_of_metadata_has_its_share_and_no_more() {
        let loads = vec![load(1, 1, 2_000, 0), load(2, 1, 100, 10_000_000)];
        let scenario = Scenario::new("job-fair".parse().unwrap(), vec![SERVER], loads);
        for Comparison { discipline, metrics, .. } in
            compare(&scenario, &[Discipline::Tokens, Discipline::Stride])
        {
            assert!(metrics.share_error < 0.02, "{discipline} {metrics:?}");
        }
    }

    /// In proportion to rates means in proportion to what users claim.
    #[test]
    fn a_token_bucket_believes_what_users_say() {
        let loads = vec![load(1, 1, 56, 1_000_000), load(2, 1, 56, 1_000_000)];
        let mut scenario = Scenario::new("job-fair".parse().unwrap(), vec![SERVER], loads);
        scenario.rivals.tbf_rates = [(JobId(1), 9_000_000_000), (JobId(2), 3_000_000_000)].into();
        let found = compare(&scenario, &[Discipline::Tbf, Discipline::Tokens]);
        assert!(of(&found, Discipline::Tbf).share_error > 0.2);
        assert!(of(&found, Discipline::Tokens).share_error < 0.02);
        let csv = csv(&found);
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().count() == 3 && csv.lines().all(|line| columns(line) == 10), "{csv}");
        assert!(csv.lines().nth(1).unwrap().starts_with("tbf,"), "{csv}");
    }
}
