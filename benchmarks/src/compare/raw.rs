//! Every pass of every run as a line of CSV, below what it was measured on.

use super::launch::Outcome;
use super::links::Load;
use super::results::{CaseResult, Comparison, Direction};
use super::statistics::{CallStatistics, Seconds};
use crate::report::Pass;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A line. The figures from `nodes` to `hop_bytes_assigned` are tatpio's own, and empty under another peer;
/// hop-bytes are those of one call. Those after them are a fabric's: what the links carried in the pass.
#[derive(Serialize)]
struct Line<'a> {
    program: &'a str,
    ranks: u32,
    size: u64,
    steps: u32,
    scatter: Option<u64>,
    hints: String,
    peer: &'a str,
    mpi: &'a str,
    run: usize,
    direction: &'a str,
    bytes: u64,
    open_seconds: f64,
    calls_seconds: f64,
    sync_seconds: f64,
    close_seconds: f64,
    mb_per_second: f64,
    memory_peak_max_bytes: u64,
    memory_growth_rank_0_bytes: u64,
    memory_growth_others_bytes: u64,
    others_cpu_share: Option<f64>,
    emulated: bool,
    nodes: Option<u32>,
    path: Option<&'a str>,
    assign: Option<&'a str>,
    domains: Option<u64>,
    rounds: Option<u64>,
    offsets_seconds: Option<f64>,
    placement_seconds: Option<f64>,
    shuffle_seconds: Option<f64>,
    io_seconds: Option<f64>,
    total_seconds: Option<f64>,
    hop_bytes_rank_order: Option<f64>,
    hop_bytes_locality: Option<f64>,
    hop_bytes_tatp: Option<f64>,
    hop_bytes_assigned: Option<f64>,
    order: Option<String>,
    ended: bool,
    links_bytes: Option<f64>,
    busiest_link: Option<String>,
    busiest_bytes: Option<f64>,
    busiest_seconds: Option<f64>,
}

/// A run and where it belongs.
struct NumberedRun<'a> {
    result: &'a CaseResult,
    emulated: bool,
    peer: &'a str,
    number: usize,
    outcome: &'a Outcome,
}

/// Writes the file.
///
/// Errors: those of the file system.
pub fn write(path: &Path, comparison: &Comparison) -> io::Result<()> {
    let mut file = File::create(path)?;
    writeln!(file, "# {}\n# command: {}", comparison.machine, comparison.command)?;
    for note in &comparison.notes {
        writeln!(file, "# {}", note.replace('\n', " "))?;
    }
    let mut csv = csv::Writer::from_writer(file);
    for (results, emulated) in [(&comparison.cases, false), (&comparison.emulated, true)] {
        for result in results {
            for (peer, (at, outcome)) in result
                .peers
                .iter()
                .flat_map(|peer| peer.runs.iter().enumerate().map(move |run| (&peer.peer, run)))
            {
                lines(&mut csv, &NumberedRun { result, emulated, peer, number: at + 1, outcome })?;
            }
        }
    }
    csv.flush()
}

/// A line a pass of a run; what tatpio says of the calls of a pass is added up.
fn lines(csv: &mut csv::Writer<File>, run: &NumberedRun<'_>) -> io::Result<()> {
    let steps = usize::try_from(run.outcome.report.steps).unwrap_or(1).max(1);
    for direction in Direction::BOTH {
        let mut calls = direction.calls(run.outcome).chunks(steps);
        for pass in direction.passes(run.outcome) {
            csv.serialize(line(run, direction, pass, calls.next().unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn line<'a>(
    run: &NumberedRun<'a>,
    direction: Direction,
    pass: &Pass,
    calls: &'a [CallStatistics],
) -> Line<'a> {
    let NumberedRun { result, emulated, peer, number, outcome } = *run;
    let (case, report) = (&result.case, &outcome.report);
    let (growth_rank_0, growth_others) = report.memory.beyond_on_rank_0_and_others();
    let call = calls.last();
    let seconds = call.map(|_| Seconds::sum(calls));
    let hop_bytes = |assignment| call.and_then(|call| call.hop_bytes_of(assignment));
    let load = Load::of_pass(pass);
    let busiest = load.as_ref().map(|load| &load.busiest);
    Line {
        program: case.program,
        ranks: case.ranks,
        size: case.size,
        steps: report.steps,
        scatter: case.scatter,
        hints: case.hints.to_string(),
        peer,
        mpi: &report.mpi,
        run: number,
        direction: direction.name(),
        bytes: report.bytes,
        open_seconds: pass.open_seconds,
        calls_seconds: pass.calls_seconds,
        sync_seconds: pass.sync_seconds,
        close_seconds: pass.close_seconds,
        mb_per_second: pass.mb_per_second,
        memory_peak_max_bytes: report.memory.peak_max(),
        memory_growth_rank_0_bytes: growth_rank_0,
        memory_growth_others_bytes: growth_others,
        others_cpu_share: result.others_cpu_share,
        emulated,
        nodes: call.map(|call| call.nodes),
        path: call.map(|call| &call.path[..]),
        assign: call.map(|call| &call.assign[..]),
        domains: call.map(|call| call.domains),
        rounds: call.map(|call| call.rounds),
        offsets_seconds: seconds.map(|seconds| seconds.offsets),
        placement_seconds: seconds.map(|seconds| seconds.placement),
        shuffle_seconds: seconds.map(|seconds| seconds.shuffle),
        io_seconds: seconds.map(|seconds| seconds.io),
        total_seconds: seconds.map(|seconds| seconds.total),
        hop_bytes_rank_order: hop_bytes("rank_order"),
        hop_bytes_locality: hop_bytes("locality"),
        hop_bytes_tatp: hop_bytes("hop_bytes"),
        hop_bytes_assigned: call.and_then(|call| call.hop_bytes_of(&call.assign)),
        order: case.order.as_ref().map(ToString::to_string),
        ended: outcome.ended,
        links_bytes: load.as_ref().map(|load| load.hop_bytes),
        busiest_link: busiest.map(|busy| busy.link.clone()),
        busiest_bytes: busiest.map(|busy| busy.bytes),
        busiest_seconds: busiest.map(|busy| busy.seconds),
    }
}
