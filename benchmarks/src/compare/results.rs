//! From runs to medians, ratios and shares.

use super::launch::Outcome;
use super::machine::Machine;
use super::options::Case;
use super::statistics::{CallStatistics, Seconds};
use crate::report::{self, Pass};
use serde::Serialize;
use std::fmt;

/// All that `compare` found.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What it was measured on.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// Remarks of whoever called.
    pub notes: Vec<String>,
    /// The timed cases.
    pub cases: Vec<CaseResult>,
    /// The cases on pretended nodes, one peer each; only their hop-bytes mean anything.
    pub emulated: Vec<CaseResult>,
}

/// One case under all peers.
#[derive(Debug, Serialize)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// Whether the peers wrote the same file.
    pub agreement: Agreement,
    /// The share of the machine's processor time that other processes used meanwhile, where the system says
    /// so.
    pub others_cpu_share: Option<f64>,
    /// The medians of the peers, in the order given, and their ratios to the first, the baseline.
    pub medians: Vec<Medians>,
    /// The peers in the same order, with every run.
    pub peers: Vec<PeerResult>,
}

/// What the runs of one case under one peer come to; none where nothing was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Medians {
    /// The peer's name.
    pub peer: String,
    /// The rate of writing.
    pub write_mb_per_second: Option<f64>,
    /// How many times faster than the baseline it writes.
    pub write_ratio: Option<f64>,
    /// The rate of reading.
    pub read_mb_per_second: Option<f64>,
    /// How many times faster than the baseline it reads.
    pub read_ratio: Option<f64>,
}

impl Medians {
    /// The rate in a direction, in MB/s.
    pub fn mb_per_second(&self, direction: Direction) -> Option<f64> {
        match direction {
            Direction::Write => self.write_mb_per_second,
            Direction::Read => self.read_mb_per_second,
        }
    }

    /// How many times faster than the baseline.
    pub fn ratio(&self, direction: Direction) -> Option<f64> {
        match direction {
            Direction::Write => self.write_ratio,
            Direction::Read => self.read_ratio,
        }
    }
}

/// How the files of the peers compare.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Every byte is the same.
    Equal,
    /// There is one file only.
    Single,
    /// A peer wrote none.
    Missing,
    /// Two are not the same.
    Differ {
        /// The baseline and the other.
        peers: [String; 2],
        /// Where they first differ.
        byte: u64,
    },
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agreement::Equal => f.write_str("equal"),
            Agreement::Single => f.write_str("one only"),
            Agreement::Missing => f.write_str("missing"),
            Agreement::Differ { byte, .. } => write!(f, "DIFFER at byte {byte}"),
        }
    }
}

/// The two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as named
pub enum Direction {
    Write,
    Read,
}

impl Direction {
    /// Both.
    pub const BOTH: [Direction; 2] = [Direction::Write, Direction::Read];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Write => "write",
            Direction::Read => "read",
        }
    }

    /// The passes of a run in this direction.
    pub fn passes(self, outcome: &Outcome) -> &[Pass] {
        match self {
            Direction::Write => &outcome.report.write,
            Direction::Read => &outcome.report.read,
        }
    }

    /// What tatpio says of the measured calls of a run in this direction.
    pub fn calls(self, outcome: &Outcome) -> &[CallStatistics] {
        match self {
            Direction::Write => &outcome.write_calls,
            Direction::Read => &outcome.read_calls,
        }
    }
}

/// One case under one peer.
#[derive(Debug, Serialize)]
pub struct PeerResult {
    /// The peer's name.
    pub peer: String,
    /// Its measured runs, in order.
    pub runs: Vec<Outcome>,
    /// What tatpio warned of, each once.
    pub warnings: Vec<String>,
    /// What went wrong in runs that failed.
    pub failures: Vec<String>,
    /// Runs that hung and were repeated.
    pub hung: Vec<String>,
}

impl PeerResult {
    /// No run yet.
    pub fn new(peer: &str) -> PeerResult {
        PeerResult {
            peer: peer.to_owned(),
            runs: Vec::new(),
            warnings: Vec::new(),
            failures: Vec::new(),
            hung: Vec::new(),
        }
    }

    /// The median over the runs of each run's median rate, in MB/s.
    pub fn mb_per_second(&self, direction: Direction) -> Option<f64> {
        let rates = self.runs.iter().filter_map(|run| report::median_mb_per_second(direction.passes(run)));
        report::median(rates)
    }

    /// The median over all passes of the seconds that tatpio's calls shuffled.
    pub fn shuffle_seconds(&self, direction: Direction) -> Option<f64> {
        let passes = self.runs.iter().flat_map(|run| {
            let steps = usize::try_from(run.report.steps).unwrap_or(1).max(1);
            direction.calls(run).chunks(steps)
        });
        report::median(passes.map(|calls| Seconds::sum(calls).shuffle))
    }

    /// How many measured runs were ended after their work.
    pub fn ended(&self) -> usize {
        self.runs.iter().filter(|run| run.ended).count()
    }

    /// Where the time of tatpio's calls went: the seconds of all of them together.
    pub fn seconds(&self, direction: Direction) -> Option<Seconds> {
        let calls = || self.runs.iter().flat_map(|run| direction.calls(run));
        calls().next().map(|_| Seconds::sum(calls()))
    }

    /// The last call of tatpio's in this direction: what does not vary from run to run.
    pub fn last_call(&self, direction: Direction) -> Option<&CallStatistics> {
        self.runs.last().and_then(|run| direction.calls(run).last())
    }

    /// By how many bytes the I/O made the peak resident memory grow: on rank 0, and at most on another rank;
    /// medians over the runs.
    pub fn memory_growth(&self) -> Option<(f64, f64)> {
        let growth = || self.runs.iter().map(|run| run.report.memory.beyond_on_rank_0_and_others());
        let rank_0 = report::median(growth().map(|(rank_0, _)| rank_0 as f64))?;
        Some((rank_0, report::median(growth().map(|(_, others)| others as f64))?))
    }
}

impl CaseResult {
    /// Works out the medians.
    pub fn new(case: Case, agreement: Agreement, peers: Vec<PeerResult>) -> CaseResult {
        let ratio = |peer: &PeerResult, direction| {
            Some(peer.mb_per_second(direction)? / peers.first()?.mb_per_second(direction)?)
        };
        let medians = peers.iter().map(|peer| Medians {
            peer: peer.peer.clone(),
            write_mb_per_second: peer.mb_per_second(Direction::Write),
            write_ratio: ratio(peer, Direction::Write),
            read_mb_per_second: peer.mb_per_second(Direction::Read),
            read_ratio: ratio(peer, Direction::Read),
        });
        CaseResult { medians: medians.collect(), case, agreement, others_cpu_share: None, peers }
    }

    /// One line for a log.
    pub fn line(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let one = |peer: &Medians| {
            format!("{} {}/{}", peer.peer, rate(peer.write_mb_per_second), rate(peer.read_mb_per_second))
        };
        let peers: Vec<String> = self.medians.iter().map(one).collect();
        format!("{}: write/read MB/s: {}; files: {}", self.case, peers.join(", "), self.agreement)
    }
}

impl Comparison {
    /// Everything that makes the exit code non-zero.
    pub fn problems(&self, min_ratio: Option<f64>) -> Vec<String> {
        let mut problems = Vec::new();
        for result in self.cases.iter().chain(&self.emulated) {
            for peer in &result.peers {
                let name = format!("{} under {}", result.case, peer.peer);
                if !peer.failures.is_empty() {
                    problems.push(format!("{name}: {} runs failed", peer.failures.len()));
                }
            }
            if let Agreement::Differ { peers: [left, right], byte } = &result.agreement {
                problems
                    .push(format!("{}: the files of {left} and {right} differ at byte {byte}", result.case));
            }
        }
        problems.extend(min_ratio.into_iter().flat_map(|least| self.too_slow(least)));
        problems
    }

    fn too_slow(&self, least: f64) -> Vec<String> {
        let mut slow = Vec::new();
        for result in &self.cases {
            for peer in result.medians.iter().skip(1) {
                for direction in Direction::BOTH {
                    let what = format!("{} under {}: {}", result.case, peer.peer, direction.name());
                    match peer.ratio(direction) {
                        Some(ratio) if ratio >= least => (),
                        Some(ratio) => {
                            slow.push(format!("{what} is {ratio:.2} of the baseline, below {least}"))
                        }
                        None => slow.push(format!("{what} was not measured")),
                    }
                }
            }
        }
        slow
    }
}
