//! What a collective call did: seconds by phase, bytes, rounds, hop-bytes under each assignment.

use crate::placement::Strategy;
use crate::units::{Bytes, HopBytes, Picoseconds, Rank};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The parts of a collective call that time is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Learning what every rank asks for, and planning the rounds.
    Offsets,
    /// The communication matrix and the assignment.
    Placement,
    /// Moving data between ranks.
    Shuffle,
    /// Reading and writing the file.
    Io,
}

/// The phases of a two-phase call, in order.
const PHASES: [(Phase, &str); 4] = [
    (Phase::Offsets, "offsets"),
    (Phase::Placement, "placement"),
    (Phase::Shuffle, "shuffle"),
    (Phase::Io, "io"),
];

/// Charges the time since the last mark to a phase.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    begin: Instant,
    mark: Instant,
    spent: [Duration; PHASES.len()],
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        let now = Instant::now();
        Stopwatch { begin: now, mark: now, spent: [Duration::ZERO; PHASES.len()] }
    }

    /// The time since the last call went into `phase`.
    pub fn charge(&mut self, phase: Phase) {
        let now = Instant::now();
        let index =
            PHASES.iter().position(|&(known, _)| known == phase).expect("every phase is in the table");
        self.spent[index] += now - self.mark;
        self.mark = now;
    }

    /// Nanoseconds by phase, then in all: for exchange between ranks.
    pub fn nanoseconds(&self) -> Vec<u64> {
        let whole = self.begin.elapsed();
        let all = self.spent.iter().chain([&whole]);
        all.map(|spent| u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX)).collect()
    }
}

/// The seconds of a call: of each phase the longest on any rank.
pub(crate) fn seconds(nanoseconds: &[u64]) -> BTreeMap<&'static str, f64> {
    let names = PHASES.iter().map(|&(_, name)| name).chain(["total"]);
    names.zip(nanoseconds).map(|(name, &spent)| (name, spent as f64 * 1e-9)).collect()
}

/// The direction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Call {
    /// Ranks to file.
    Write,
    /// File to ranks.
    Read,
}

/// How a call moved its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Nobody asked for anything.
    Nothing,
    /// Every rank by itself: the requests do not interleave, or a hint says so.
    Direct,
    /// Through aggregators.
    TwoPhase,
}

/// Where a two-phase call's plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plan {
    /// The assignment was worked out.
    New,
    /// Other bytes of the file than last time, but as many in each file domain: the assignment of last time.
    SameMatrix,
    /// What every rank asked for last time: nothing was worked out.
    Kept,
}

/// The most loaded link of an assignment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusiestLink {
    /// From where to where.
    pub link: String,
    /// How long it takes for what it carries.
    pub seconds: f64,
}

/// One collective call, as the statistics report it. Everything but the seconds is the same on every rank.
#[derive(Clone, Debug, Serialize)]
pub struct CallStats {
    /// The file's name.
    pub file: String,
    /// Write or read.
    pub call: Call,
    /// Ranks of the file's communicator.
    pub ranks: u32,
    /// Nodes they are on.
    pub nodes: usize,
    /// Bytes asked for by all ranks.
    pub bytes: Bytes,
    /// Through aggregators or not.
    pub path: Path,
    /// The assignment in force.
    pub assign: String,
    /// Where the distances come from.
    pub topology: String,
    /// Whether the plan was kept from the last call; `None` when there was none to make.
    pub plan: Option<Plan>,
    /// File domains.
    pub domains: u32,
    /// Rounds of the domain that took most.
    pub rounds: usize,
    /// Windows with holes that were read before they were written.
    pub holes: usize,
    /// The rank that serves each domain.
    pub aggregators: Vec<Rank>,
    /// Hops times bytes of the shuffle, under the assignments that were worked out.
    pub hop_bytes: BTreeMap<String, f64>,
    /// The most loaded link under the same assignments, as the topology's rates say; none when nothing crosses the
    /// network.
    pub busiest_link: BTreeMap<String, BusiestLink>,
    /// Seconds by phase, the longest on any rank; and in all.
    pub seconds: BTreeMap<&'static str, f64>,
}

impl CallStats {
    /// Notes what an assignment costs.
    pub(crate) fn set_costs(
        &mut self,
        strategy: Strategy,
        cost: HopBytes,
        busiest: Option<&(String, Picoseconds)>,
    ) {
        self.hop_bytes.insert(strategy.to_string(), cost.as_f64());
        if let Some((link, time)) = busiest {
            let busiest = BusiestLink { link: link.clone(), seconds: time.as_seconds() };
            self.busiest_link.insert(strategy.to_string(), busiest);
        }
    }

    /// One line for people.
    pub fn text(&self) -> String {
        let seconds = |name: &str| self.seconds.get(name).copied().unwrap_or(0.0);
        let total = seconds("total").max(1e-9);
        let mut line = format!(
            "tatpio: {:?} {} bytes of {} by {} ranks on {} nodes in {:.6} s ({:.0} MB/s), {:?}",
            self.call,
            self.bytes,
            self.file,
            self.ranks,
            self.nodes,
            total,
            self.bytes as f64 / total / 1e6,
            self.path,
        );
        if self.path == Path::TwoPhase {
            let aggregators: Vec<String> = self.aggregators.iter().map(Rank::to_string).collect();
            line += &format!(
                ": {} domains, {} rounds, {} holes, {} over {}, aggregators [{}]",
                self.domains,
                self.rounds,
                self.holes,
                self.assign,
                self.topology,
                aggregators.join(" ")
            );
            if let Some(plan) = self.plan.filter(|&plan| plan != Plan::New) {
                line += &format!(", plan {plan:?}");
            }
            for (name, cost) in &self.hop_bytes {
                line += &format!("; {name} {cost:.4e} hop-bytes");
                if let Some(busiest) = self.busiest_link.get(name) {
                    line += &format!(", {:.6} s on {}", busiest.seconds, busiest.link);
                }
            }
            for (_, name) in PHASES {
                line += &format!("; {name} {:.6} s", seconds(name));
            }
        }
        line
    }
}
