//! Many jobs, several at a time, with the results in the order of the cases.

use crate::failure::Failure;
use crate::job::{Job, Order, Setup};
use crate::output;
use crate::pattern::{Pattern, PatternName};
use crate::study::{Assigned, Study};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use tatpio::hints::Hints;
use tatpio::placement::{Flow, Prediction, Strategy};
use tatpio::topology::{NodeMap, TopologySpec};
use tatpio::units::Picoseconds;

/// One job of a sweep.
#[derive(Clone, Debug)]
pub struct Case {
    /// Who asks for what.
    pub pattern: PatternName,
    /// How many ranks.
    pub ranks: u32,
    /// On hosts of so many each.
    pub per_node: u32,
    /// The network.
    pub topology: TopologySpec,
    /// Which part of the pattern each rank takes.
    pub order: Order,
    /// Where the hosts sit in the network.
    pub positions: Order,
    /// Where aggregators may be.
    pub seats: Seats,
}

/// Where aggregators may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seats {
    /// As the hints say.
    Hints,
    /// So many on each host.
    PerHost(u32),
    /// On average so many on a host, but any rank may be one: as many file domains as with [`Seats::PerHost`].
    Anywhere(u32),
}

impl Seats {
    fn per_host(self) -> Option<u32> {
        match self {
            Seats::Hints => None,
            Seats::PerHost(count) | Seats::Anywhere(count) => Some(count),
        }
    }
}

/// What all jobs of a sweep have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// The hints of the file.
    pub hints: Hints,
    /// Write or read.
    pub flow: Flow,
    /// The assignments to compare.
    pub strategies: Vec<Strategy>,
    /// Whether the links' loads are computed.
    pub with_loads: bool,
    /// Whether to show progress although standard error is no terminal.
    pub progress: bool,
    /// How many jobs at a time.
    pub threads: Option<NonZeroUsize>,
}

/// One job under one assignment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `cube:2000`.
    pub pattern: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many of them a host holds.
    pub per_node: u32,
    /// How many hosts.
    pub nodes: usize,
    /// The network.
    pub topology: String,
    /// Which part of the pattern each rank takes.
    pub order: String,
    /// Where the hosts sit.
    pub positions: String,
    /// How many aggregators a host may hold.
    pub aggregators_per_node: Option<u32>,
    /// Whether that is an average, and any rank may aggregate.
    pub anywhere: bool,
    /// The assignment.
    pub assign: &'static str,
    /// File domains or stripes.
    pub units: usize,
    /// The ranks that serve them.
    pub aggregators: usize,
    /// Bytes times hops.
    pub hop_bytes: f64,
    /// The same exactly.
    pub hop_bytes_sixteenths: u128,
    /// In part of rank order's.
    pub ratio_to_rank_order: Option<f64>,
    /// Of the directed link that takes longest; nothing when loads were not asked for.
    pub busiest_bytes: Option<u128>,
    /// How long it takes.
    pub busiest_seconds: Option<f64>,
    /// Predicted, with the library's cost model: the exchange.
    pub shuffle_seconds: Option<f64>,
    /// The file system.
    pub io_seconds: Option<f64>,
    /// Both, and the copies inside nodes.
    pub total_seconds: Option<f64>,
}

impl Row {
    /// The columns of a CSV.
    pub const HEADER: [&'static str; 20] = [
        "pattern",
        "ranks",
        "per_node",
        "nodes",
        "topology",
        "order",
        "positions",
        "aggregators_per_node",
        "anywhere",
        "assign",
        "units",
        "aggregators",
        "hop_bytes",
        "hop_bytes_sixteenths",
        "ratio_to_rank_order",
        "busiest_bytes",
        "busiest_seconds",
        "shuffle_seconds",
        "io_seconds",
        "total_seconds",
    ];

    /// The cells of a CSV.
    pub fn cells(&self) -> Vec<String> {
        fn some<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map_or_else(String::new, T::to_string)
        }
        vec![
            self.pattern.clone(),
            self.ranks.to_string(),
            self.per_node.to_string(),
            self.nodes.to_string(),
            self.topology.clone(),
            self.order.clone(),
            self.positions.clone(),
            some(&self.aggregators_per_node),
            self.anywhere.to_string(),
            self.assign.to_string(),
            self.units.to_string(),
            self.aggregators.to_string(),
            self.hop_bytes.to_string(),
            self.hop_bytes_sixteenths.to_string(),
            some(&self.ratio_to_rank_order),
            some(&self.busiest_bytes),
            some(&self.busiest_seconds),
            some(&self.shuffle_seconds),
            some(&self.io_seconds),
            some(&self.total_seconds),
        ]
    }
}

/// One or several orders: `in-order`, `scattered:3`, or `scattered:1-5` for five seeds.
#[derive(Clone, Debug)]
pub struct Orders(pub Vec<Order>);

impl FromStr for Orders {
    type Err = String;

    fn from_str(text: &str) -> Result<Orders, String> {
        let Some((kind, (first, last))) =
            text.split_once(':').and_then(|(kind, seeds)| Some((kind, seeds.split_once('-')?)))
        else {
            return Ok(Orders(vec![text.parse()?]));
        };
        let seeds = first.parse::<u64>().ok().zip(last.parse::<u64>().ok());
        let seeds = seeds.filter(|(first, last)| first <= last && last - first < 10_000);
        let (first, last) =
            seeds.ok_or_else(|| format!("expected seeds like {kind}:1-5, found \"{text}\""))?;
        Ok(Orders(
            (first..=last).map(|seed| format!("{kind}:{seed}").parse()).collect::<Result<_, String>>()?,
        ))
    }
}

/// What a case came to.
type Done = Result<Vec<Row>, Failure>;

/// All cases under all assignments, case by case; the progress is shown on standard error.
pub fn run(cases: &[Case], common: &Common) -> Result<Vec<Row>, Failure> {
    let progress = Progress::new(cases.len(), common.progress);
    let threads =
        common.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results: Vec<Mutex<Option<Done>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(cases.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    let rows = one(case, common);
                    failed.fetch_or(rows.is_err(), Ordering::Relaxed);
                    *results[number].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(rows);
                    progress.step(case);
                }
            });
        }
    });
    progress.finish();
    let mut rows = Vec::new();
    // Cases are begun in order: the first that failed comes before any that was not begun.
    for result in results {
        match result.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some(result) => rows.extend(result?),
            None => break,
        }
    }
    Ok(rows)
}

fn one(case: &Case, common: &Common) -> Result<Vec<Row>, Failure> {
    let mut hints = common.hints.clone();
    let map = NodeMap::emulated(case.ranks, case.per_node);
    match case.seats {
        Seats::Hints => {}
        Seats::PerHost(count) => {
            hints.set("cb_config_list", &format!("*:{count}")).map_err(Failure::failed)?
        }
        Seats::Anywhere(count) => {
            let of_node = |node| map.ranks_of(node).len().min(count as usize);
            let domains: usize = map.nodes().map(of_node).sum();
            hints.set("cb_config_list", "*:*").map_err(Failure::failed)?;
            hints.set("cb_nodes", &domains.to_string()).map_err(Failure::failed)?;
        }
    }
    let (pattern, _) = Pattern::load(&case.pattern)?;
    let setup = Setup {
        order: case.order,
        positions: case.positions,
        topology: case.topology.clone(),
        hints,
        flow: common.flow,
    };
    let job = Job::new(map, &pattern, &setup)?;
    job.warn();
    let study = Study::new(&job);
    let baseline = study.assign(Strategy::RankOrder, common.with_loads);
    let row = |assigned: &Assigned| row(case, &job, &baseline, assigned);
    let under = |strategy: &Strategy| match *strategy {
        Strategy::RankOrder => row(&baseline),
        other => row(&study.assign(other, common.with_loads)),
    };
    Ok(common.strategies.iter().map(under).collect())
}

fn row(case: &Case, job: &Job, baseline: &Assigned, assigned: &Assigned) -> Row {
    let prediction = assigned.prediction.as_ref();
    let seconds = |time: fn(&Prediction) -> Picoseconds| prediction.map(|found| time(found).as_seconds());
    let busiest = |prediction: &Prediction| prediction.busiest.unwrap_or((0, Picoseconds(0)));
    Row {
        pattern: case.pattern.to_string(),
        ranks: case.ranks,
        per_node: case.per_node,
        nodes: job.map.len(),
        topology: case.topology.to_string(),
        order: case.order.to_string(),
        positions: case.positions.to_string(),
        aggregators_per_node: case.seats.per_host(),
        anywhere: matches!(case.seats, Seats::Anywhere(_)),
        assign: assigned.strategy.name(),
        units: assigned.units,
        aggregators: assigned.aggregators.len(),
        hop_bytes: assigned.hop_bytes.as_f64(),
        hop_bytes_sixteenths: assigned.hop_bytes.0,
        ratio_to_rank_order: assigned.ratio_to(baseline),
        busiest_bytes: prediction.map(|found| found.loads.get(busiest(found).0).copied().unwrap_or(0)),
        busiest_seconds: prediction.map(|found| busiest(found).1.as_seconds()),
        shuffle_seconds: seconds(|prediction| prediction.shuffle),
        io_seconds: seconds(|prediction| prediction.io),
        total_seconds: seconds(Prediction::time),
    }
}

/// A bar on a terminal; lines elsewhere, when they are asked for; else nothing.
struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    cases: usize,
    done: AtomicUsize,
    start: Instant,
}

impl Progress {
    fn new(cases: usize, wanted: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left, {msg}");
        let bar = || {
            let bar = ProgressBar::new(cases as u64);
            style.ok().into_iter().for_each(|style| bar.set_style(style));
            bar
        };
        Progress {
            bar: terminal.then(bar),
            lines: wanted && !terminal,
            cases,
            done: AtomicUsize::new(0),
            start: Instant::now(),
        }
    }

    fn step(&self, case: &Case) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let what = format!("{} on {} ranks, {}", case.pattern, case.ranks, case.topology);
        if let Some(bar) = &self.bar {
            bar.set_message(what.clone());
            bar.inc(1);
        }
        if self.lines {
            let seconds = self.start.elapsed().as_secs_f64();
            output::complain(&format!("{done}/{} after {seconds:.1} s: {what}", self.cases));
        }
    }

    fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        let show = |text: &str| {
            text.parse::<Orders>().map(|orders| orders.0.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(show("in-order").unwrap(), ["in-order"]);
        assert_eq!(show("sorted:7-9").unwrap(), ["sorted:7", "sorted:8", "sorted:9"]);
        assert_eq!(show("scattered:3").unwrap(), ["scattered:3"]);
        for wrong in ["scattered:3-1", "scattered:a-b", "odd:1-2", "scattered"] {
            assert!(show(wrong).is_err(), "{wrong}");
        }
    }
}
