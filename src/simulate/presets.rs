//! The experiments of the ThemisIO paper (sections 5.3, 5.4 and 5.6) as scenarios, and their figures as data.
//!
//! The server is one that moves 22 GB/s, the paper's figure; ranks write and read 10 MB in turn, 56 a node.
//! Where the paper does not say when jobs start, they start together and run for 60 s.

use super::compare::{Comparison, compare};
use super::metrics::{Metrics, metrics, phases, time_to_fairness};
use super::outcome::{Outcome, Series};
use super::run::run;
use super::scenario::{Access, Exchange, Load, Scenario, Server};
use crate::sharing::{Discipline, Job, Nanos, SECOND};
use std::fmt::Write as _;

/// How many processes a compute node runs.
pub const PROCESSES_PER_NODE: u32 = 56;

/// The names that [`figure`] knows.
pub const FIGURES: [&str; 8] = ["8a", "8b", "8c", "9", "10", "11", "12", "14"];

/// The data of one panel of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The unit of the values.
    pub unit: &'static str,
    /// A series a job.
    pub series: Vec<Series>,
    /// How well the discipline did.
    pub metrics: Metrics,
}

impl Figure {
    /// The series as comma-separated values: a line a step, `seconds` and a column a series. `seconds` is
    /// when a step begins.
    pub fn csv(&self) -> String {
        let mut text = String::from("seconds");
        self.series.iter().for_each(|series| write!(text, ",{}", series.label).expect("a string takes all"));
        text.push('\n');
        let steps = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        for step in 0..steps {
            let series = &self.series[0];
            let at = series.start + step as Nanos * series.step_ns;
            write!(text, "{}", at as f64 / SECOND as f64).expect("a string takes all");
            for series in &self.series {
                match series.values.get(step) {
                    Some(value) => write!(text, ",{value}").expect("a string takes all"),
                    None => text.push(','),
                }
            }
            text.push('\n');
        }
        text
    }
}

/// The panels of a figure of the paper. Throughput is in bytes a second, in steps of a second; figure 11 has
/// parts of the whole, one value a job; figure 12 has a panel a discipline, FIFO included; figure 14 has
/// parts of the service in steps of lambda, a panel a lambda.
///
/// Errors, for people: a figure that there is not.
pub fn figure(name: &str) -> Result<Vec<Figure>, String> {
    let throughput = |title: &str, scenario: Scenario| vec![throughput(title, &scenario, &run(&scenario))];
    Ok(match name {
        "8a" => throughput("size-fair, 4 nodes and 1", figure_8(&[(1, 4), (1, 1)], "size-fair")),
        "8b" => throughput("job-fair, 4 nodes and 1", figure_8(&[(1, 4), (1, 1)], "job-fair")),
        "8c" => {
            throughput("user-fair, 2 and 2 nodes, and 1", figure_8(&[(1, 2), (1, 2), (2, 1)], "user-fair"))
        }
        "9" => throughput("user-size-fair", figure_9()),
        "10" => throughput("group-user-size-fair", figure_10()),
        "11" => vec![figure_11(&figure_10())],
        "12" => compare(&figure_12(), &Discipline::ALL).iter().map(panel_12).collect(),
        "14" => LAMBDAS_MS.iter().map(|&lambda_ms| panel_14(lambda_ms)).collect(),
        _ => return Err(format!("expected a figure of {}, found \"{name}\"", FIGURES.join(", "))),
    })
}

const SERVER: Server = Server { bytes_per_second: 22_000_000_000, operation_ns: 2_000 };

/// A job of the paper's benchmark: a write of 10 MB and a read, again and again. A rank is 20 microseconds
/// away.
fn benchmark(job: Job, start: Nanos, end: Nanos) -> Load {
    let ranks = job.nodes.get() * PROCESSES_PER_NODE;
    let cycle = vec![Access { bytes: 10_000_000 }; 2];
    Load { job, ranks, servers: vec![0], cycle, think_ns: 20_000, start, end }
}

fn scenario(policy: &str, loads: Vec<Load>) -> Scenario {
    Scenario::new(policy.parse().expect("a policy of the paper"), vec![SERVER], loads)
}

/// Jobs by user and nodes. The last one starts after 15 seconds and runs for 30, the others run for 60.
fn figure_8(jobs: &[(u32, u32)], policy: &str) -> Scenario {
    let load = |(at, &(user, nodes)): (usize, &(u32, u32))| {
        let last = at + 1 == jobs.len();
        let (start, end) = if last { (15 * SECOND, 45 * SECOND) } else { (0, 60 * SECOND) };
        benchmark(Job::new(at as u64 + 1, user, 1).with_nodes(nodes), start, end)
    };
    scenario(policy, jobs.iter().enumerate().map(load).collect())
}

fn figure_9() -> Scenario {
    let jobs = [(1, 1, 1), (2, 1, 2), (3, 2, 4), (4, 2, 6)];
    let load = |(id, user, nodes)| benchmark(Job::new(id, user, 1).with_nodes(nodes), 0, 60 * SECOND);
    scenario("user-then-size-fair", jobs.map(load).to_vec())
}

fn figure_10() -> Scenario {
    let jobs = [
        (1, 1, 1, 1),
        (2, 2, 2, 2),
        (3, 2, 2, 3),
        (4, 2, 2, 2),
        (5, 3, 2, 3),
        (6, 3, 2, 2),
        (7, 4, 2, 1),
        (8, 4, 2, 2),
    ];
    let load =
        |(id, user, group, nodes)| benchmark(Job::new(id, user, group).with_nodes(nodes), 0, 60 * SECOND);
    scenario("group-user-then-size-fair", jobs.map(load).to_vec())
}

fn figure_11(scenario: &Scenario) -> Figure {
    let outcome = run(scenario);
    let parts = outcome.parts_between(0, outcome.end());
    let series = outcome.jobs.iter().zip(parts).map(|(job, part)| Series {
        label: format!("job {}", job.job),
        start: 0,
        step_ns: outcome.end(),
        values: vec![part],
    });
    Figure {
        title: "group-user-size-fair, parts of the service".into(),
        unit: "1",
        series: series.collect(),
        metrics: metrics(scenario, &outcome),
    }
}

/// Two jobs of a node. The second starts a quarter of a second after the paper's 15 s: at 15 s sharp one of
/// GIFT's windows begins, which would flatter it.
fn figure_12() -> Scenario {
    let second = 15 * SECOND + SECOND / 4;
    let loads = vec![
        benchmark(Job::new(1, 1, 1), 0, 60 * SECOND),
        benchmark(Job::new(2, 2, 1), second, second + 30 * SECOND),
    ];
    scenario("job-fair", loads)
}

fn panel_12(comparison: &Comparison) -> Figure {
    let series = comparison.outcome.jobs.iter().map(|job| job.series(0, comparison.outcome.end(), SECOND));
    Figure {
        title: format!("job-fair with {}", comparison.discipline),
        unit: "B/s",
        series: series.collect(),
        metrics: comparison.metrics.clone(),
    }
}

/// The paper's lambdas.
const LAMBDAS_MS: [u64; 4] = [10, 50, 200, 500];

/// How long an exchange takes until tokens have changed. The paper does not say; with this it is fair in the
/// fifth interval of 10 ms and in the second of 200 and 500, as there, but in the third of 50 and not yet in
/// the second.
const EXCHANGE_DELAY_NS: Nanos = 30_000_000;

/// The three jobs of figure 5: the first has files on both servers, the others on one each. Lengths are in
/// intervals, so that every panel has as many steps.
fn figure_14(lambda_ms: u64) -> Scenario {
    let lambda_ns = lambda_ms * 1_000_000;
    let end = 20 * lambda_ns;
    let load = |id, nodes, servers: &[usize]| {
        let load = benchmark(Job::new(id, id as u32, 1).with_nodes(nodes), 0, end);
        let cycle = vec![Access { bytes: 1_000_000 }; 2];
        Load { servers: servers.to_vec(), cycle, ..load }
    };
    let exchange = Exchange { lambda_ns, delay_ns: EXCHANGE_DELAY_NS, silence_ns_max: SECOND };
    let loads = vec![load(1, 16, &[0, 1]), load(2, 8, &[0]), load(3, 8, &[1])];
    let policy = "size-fair".parse().expect("a policy of the paper");
    Scenario { exchange, ..Scenario::new(policy, vec![SERVER; 2], loads) }
}

fn panel_14(lambda_ms: u64) -> Figure {
    let scenario = figure_14(lambda_ms);
    let outcome = run(&scenario);
    let step_ns = scenario.exchange.lambda_ns;
    let steps: Vec<Vec<f64>> =
        (0..20).map(|step| outcome.parts_between(step * step_ns, (step + 1) * step_ns)).collect();
    let series = outcome.jobs.iter().enumerate().map(|(at, job)| Series {
        label: format!("job {}", job.job),
        start: 0,
        step_ns,
        values: steps.iter().map(|parts| parts[at]).collect(),
    });
    let phase = phases(&scenario.loads).remove(0);
    let time_to_fairness_ns = time_to_fairness(&scenario, &outcome, &phase, step_ns, 0.1);
    Figure {
        title: format!("size-fair on two servers, lambda {lambda_ms} ms"),
        unit: "1",
        series: series.collect(),
        metrics: Metrics { time_to_fairness_ns, ..metrics(&scenario, &outcome) },
    }
}

fn throughput(title: &str, scenario: &Scenario, outcome: &Outcome) -> Figure {
    let end = scenario.loads.iter().map(|load| load.end).max().unwrap_or(0);
    let series = outcome.jobs.iter().map(|job| job.series(0, end, SECOND)).collect();
    Figure { title: title.into(), unit: "B/s", series, metrics: metrics(scenario, outcome) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::shares;

    /// The mean of a series over `[from, to)` steps, in GB/s.
    fn mean(series: &Series, from: usize, to: usize) -> f64 {
        series.values[from..to].iter().sum::<f64>() / (to - from) as f64 / 1e9
    }

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() <= within, "{found}, expected {expected}");
    }

    /// The paper's medians: 21.8 alone, 17.4 and 4.4 together; 10.6 each; user A's two jobs as much as user
    /// B's one.
    #[test]
    fn figure_8_as_measured() {
        let panel = |name| figure(name).unwrap().remove(0);
        let size = panel("8a");
        near(mean(&size.series[0], 0, 15), 21.8, 0.01);
        near(mean(&size.series[0], 16, 44), 17.4, 0.02);
        near(mean(&size.series[1], 16, 44), 4.4, 0.02);
        assert_eq!(size.series[1].values[50], 0.0);
        let job = panel("8b");
        near(mean(&job.series[0], 16, 44), 10.6, 0.05);
        near(mean(&job.series[0], 16, 44), mean(&job.series[1], 16, 44), 0.01);
        let user = panel("8c");
        let users = [0, 1, 2].map(|at| mean(&user.series[at], 16, 44));
        near(users[0] + users[1], users[2], 0.02);
        near(users[0], users[1], 0.02);
    }

    /// Tokens with two seeds, and stride: error below 2 percent of the whole, nothing lost to sharing.
    #[test]
    fn ours_are_within_two_percent_of_the_shares_and_one_of_fifo() {
        let scenarios = [
            figure_8(&[(1, 4), (1, 1)], "size-fair"),
            figure_8(&[(1, 4), (1, 1)], "job-fair"),
            figure_8(&[(1, 2), (1, 2), (2, 1)], "user-fair"),
            figure_9(),
            figure_10(),
            figure_12(),
        ];
        for scenario in scenarios {
            let fifo = compare(&scenario, &[Discipline::Fifo]).remove(0).metrics;
            for (seed, discipline) in
                [(1, Discipline::Tokens), (2, Discipline::Tokens), (1, Discipline::Stride)]
            {
                let scenario = Scenario { seed, ..scenario.clone() };
                let ours = compare(&scenario, &[discipline]).remove(0).metrics;
                let replay = format!("{} {discipline} seed {seed}: {ours:?}", scenario.policy);
                assert!(ours.share_error < 0.02, "{replay}");
                assert!(ours.bytes_per_second > fifo.bytes_per_second * 0.99, "{replay}");
                assert!(ours.time_to_fairness_ns.is_some(), "{replay}");
                if discipline == Discipline::Stride {
                    assert!(ours.share_error_relative < 0.005, "{replay}");
                }
            }
        }
    }

    #[test]
    fn figure_11_has_the_shares() {
        let scenario = figure_10();
        let jobs: Vec<Job> = scenario.loads.iter().map(|load| load.job.clone()).collect();
        let found = figure("11").unwrap().remove(0);
        for (series, share) in found.series.iter().zip(shares(&scenario.policy, &jobs).values()) {
            near(series.values[0], share.as_f64(), 0.05);
        }
    }

    /// GIFT needs until its next window to see a job come, and loses what one that goes had been allotted.
    #[test]
    fn figure_12_in_order() {
        let panels = figure("12").unwrap();
        let [fifo, gift, tbf, tokens, stride] = &panels[..] else { panic!("a panel a discipline") };
        assert!(gift.metrics.bytes_per_second < fifo.metrics.bytes_per_second * 0.997);
        assert!(tbf.metrics.bytes_per_second < fifo.metrics.bytes_per_second);
        for ours in [tokens, stride] {
            assert!(ours.metrics.bytes_per_second >= fifo.metrics.bytes_per_second * 0.9999);
            assert!(ours.metrics.time_to_fairness_ns < gift.metrics.time_to_fairness_ns);
            assert!(ours.metrics.deviation < gift.metrics.deviation);
        }
    }

    /// Two thirds before the first exchange, one half after it.
    #[test]
    fn figure_14_gets_fair() {
        let panels = figure("14").unwrap();
        let fair_in: Vec<u64> = panels
            .iter()
            .map(|panel| panel.metrics.time_to_fairness_ns.unwrap() / panel.series[0].step_ns)
            .collect();
        assert_eq!(fair_in, [5, 3, 2, 2], "intervals of 10, 50, 200, 500 ms");
        for panel in &panels {
            let job = |at: usize| &panel.series[at].values;
            assert!(
                (job(0)[0] - 2.0 / 3.0).abs() < 0.05 && (job(1)[0] - 1.0 / 6.0).abs() < 0.05,
                "{panel:?}"
            );
            let late = |at: usize| job(at)[10..].iter().sum::<f64>() / 10.0;
            assert!((late(0) - 0.5).abs() < 0.02 && (late(1) - 0.25).abs() < 0.02, "{panel:?}");
        }
    }

    #[test]
    fn names_and_csv() {
        let error = figure("13").unwrap_err();
        assert_eq!(error, "expected a figure of 8a, 8b, 8c, 9, 10, 11, 12, 14, found \"13\"");
        let csv = figure("8a").unwrap()[0].csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!((lines[0], lines.len()), ("seconds,job 1,job 2", 61));
        assert!(lines[1].starts_with("0,219") && lines[1].ends_with(",0"), "{}", lines[1]);
    }
}
