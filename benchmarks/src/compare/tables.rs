//! Results as text: tables in Markdown, which also read well as they are.

use super::network;
use super::results::{CaseResult, Comparison, Direction, PeerResult};
use super::statistics::{CallStatistics, Seconds};
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeSet;

/// The share of the processor time that other processes may use without a remark.
const QUIET: f64 = 0.05;

/// Everything that was found, as paragraphs.
pub fn text(comparison: &Comparison) -> String {
    let Comparison { machine, notes, cases, emulated, .. } = comparison;
    let mut paragraphs = vec![[vec![machine.to_string()], notes.clone()].concat().join("\n")];
    paragraphs.extend(disturbance(cases));
    if cases.iter().any(|result| result.case.order.is_some()) {
        paragraphs.extend(network::paragraphs(cases));
    } else {
        paragraphs.extend(one_machine(cases));
    }
    if !emulated.is_empty() {
        paragraphs.push(
            "EMULATED cluster: ranks of this one machine that pretend to sit on several nodes. Hop-bytes, in \
             MB x hops of one collective write, are counted; nothing is timed."
                .to_owned(),
        );
        paragraphs.push(emulated_table(emulated));
    }
    for peer in cases.iter().chain(emulated).flat_map(|result| &result.peers) {
        let hung = |hung: &String| format!("Repeated after a hang under {}: {hung}", peer.peer);
        paragraphs.extend(peer.hung.iter().map(hung));
    }
    paragraphs.extend(warnings(cases.iter().chain(emulated)));
    paragraphs.join("\n\n")
}

/// The rates, the memory and the phases of runs on this one machine.
fn one_machine(cases: &[CaseResult]) -> Vec<String> {
    let mut paragraphs = Vec::new();
    if let Some(first) = cases.first() {
        let runs = first.peers.iter().map(|peer| peer.runs.len()).max().unwrap_or(0);
        paragraphs.push(format!(
            "MB/s of the collective calls (1 MB = 10^6 bytes), medians of {runs} runs, peers in turn. \
             A ratio above 1 is faster than {}.",
            first.peers[0].peer
        ));
        paragraphs.push(rates(cases));
        paragraphs.push(
            "Growth of the peak resident memory during the I/O, in MB: rank 0 / the largest of the others."
                .to_owned(),
        );
        paragraphs.push(memory(cases));
    }
    if cases.iter().flat_map(|result| &result.peers).any(has_statistics) {
        paragraphs.push(
            "Where tatpio's time goes (shares of the calls' time), and hop-bytes in MB x hops of one call \
             under each assignment."
                .to_owned(),
        );
        paragraphs.push(phases(cases));
    }
    paragraphs
}

/// What tatpio warned of in any run, each once.
fn warnings<'a>(results: impl Iterator<Item = &'a CaseResult>) -> Option<String> {
    let all: BTreeSet<&str> = results
        .flat_map(|result| &result.peers)
        .flat_map(|peer| &peer.warnings)
        .map(|line| &line[..])
        .collect();
    let lines: Vec<&str> = all.into_iter().collect();
    (!lines.is_empty()).then(|| format!("Warnings:\n{}", lines.join("\n")))
}

/// A warning if something else ran meanwhile.
fn disturbance(cases: &[CaseResult]) -> Option<String> {
    let shares = cases.iter().filter_map(|result| Some((result.others_cpu_share?, &result.case)));
    let (share, case) = shares.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (share > QUIET).then(|| {
        format!(
            "DISTURBED: other processes used up to {:.0} % of the processor time ({case}).",
            100.0 * share
        )
    })
}

fn has_statistics(peer: &PeerResult) -> bool {
    Direction::BOTH.iter().any(|&direction| peer.last_call(direction).is_some())
}

/// A table whose first `left` columns are text and the others figures.
pub(super) fn table(header: Vec<String>, left: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header).add_rows(rows);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// What the first columns of every table say, and their headings.
pub(super) fn case_columns(result: &CaseResult) -> Vec<String> {
    let case = &result.case;
    let order = case.scatter.map_or(String::new(), |seed| format!(", scattered by {seed}"));
    vec![
        format!("{}{order}", case.program),
        case.ranks.to_string(),
        case.size.to_string(),
        case.hints.to_string(),
    ]
}

const CASE_HEADINGS: [&str; 4] = ["program", "ranks", "N", "hints"];

/// Leaves the column of hints out if no case has any.
fn without_empty_hints(results: &[CaseResult], rows: &mut [Vec<String>]) {
    if results.iter().all(|result| result.case.hints.0.is_empty()) {
        rows.iter_mut().for_each(|row| drop(row.remove(3)));
    }
}

/// A table with a row a case: the case's columns, then those that `columns` gives.
fn case_table(
    results: &[CaseResult],
    headings: Vec<String>,
    mut columns: impl FnMut(&CaseResult) -> Vec<Vec<String>>,
) -> String {
    let mut rows = vec![CASE_HEADINGS.iter().map(|&heading| heading.to_owned()).chain(headings).collect()];
    for result in results {
        rows.extend(columns(result).into_iter().map(|row| [case_columns(result), row].concat()));
    }
    without_empty_hints(results, &mut rows);
    let header = rows.remove(0);
    table(header, 1, rows)
}

pub(super) fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn rates(results: &[CaseResult]) -> String {
    let peers = &results[0].peers;
    let mut headings = Vec::new();
    for direction in Direction::BOTH {
        headings.extend(peers.iter().map(|peer| format!("{} {}", direction.name(), peer.peer)));
        headings.extend(peers.iter().skip(1).map(|peer| match peers.len() {
            2 => "ratio".to_owned(),
            _ => format!("{} ratio", peer.peer),
        }));
    }
    headings.push("files".to_owned());
    case_table(results, headings, |result| {
        let mut row = Vec::new();
        for direction in Direction::BOTH {
            row.extend(result.medians.iter().map(|peer| figure(peer.mb_per_second(direction), 0)));
            row.extend(result.medians.iter().skip(1).map(|peer| figure(peer.ratio(direction), 2)));
        }
        row.push(result.agreement.to_string());
        vec![row]
    })
}

fn memory(results: &[CaseResult]) -> String {
    let headings = results[0].peers.iter().map(|peer| peer.peer.clone()).collect();
    let growth = |peer: &PeerResult| match peer.memory_growth() {
        Some((rank_0, others)) => format!("{:.1} / {:.1}", rank_0 / 1e6, others / 1e6),
        None => "-".to_owned(),
    };
    case_table(results, headings, |result| vec![result.peers.iter().map(growth).collect()])
}

const ASSIGNMENTS: [(&str, &str); 3] =
    [("rank_order", "rank_order"), ("locality", "locality"), ("hop_bytes", "TATP")];

fn hop_bytes(call: &CallStatistics) -> impl Iterator<Item = String> {
    ASSIGNMENTS.iter().map(|(key, _)| figure(call.hop_bytes_of(key).map(|hop_bytes| hop_bytes / 1e6), 1))
}

fn phases(results: &[CaseResult]) -> String {
    let fixed = ["call", "path", "offsets", "placement", "shuffle", "I/O", "rest"];
    let assignments = ASSIGNMENTS.iter().map(|(_, name)| *name);
    let headings = fixed.into_iter().chain(assignments).map(String::from).collect();
    case_table(results, headings, |result| {
        let of = |peer, direction| phase_row(peer, direction);
        let rows = |peer| Direction::BOTH.iter().filter_map(move |&direction| of(peer, direction));
        result.peers.iter().flat_map(rows).collect()
    })
}

fn phase_row(peer: &PeerResult, direction: Direction) -> Option<Vec<String>> {
    let call = peer.last_call(direction)?;
    let Seconds { offsets, placement, shuffle, io, total } = peer.seconds(direction)?;
    let share =
        |seconds: f64| if total > 0.0 { format!("{:.1} %", 100.0 * seconds / total) } else { "-".to_owned() };
    let rest = (total - offsets - placement - shuffle - io).max(0.0);
    let mut row = vec![direction.name().to_owned(), call.path.clone()];
    row.extend([offsets, placement, shuffle, io, rest].map(share));
    row.extend(hop_bytes(call));
    Some(row)
}

fn emulated_table(results: &[CaseResult]) -> String {
    let names = ASSIGNMENTS.iter().map(|(_, name)| *name);
    let headings = ["nodes", "domains"].into_iter().chain(names).chain(["TATP / rank_order"]);
    case_table(results, headings.map(String::from).collect(), |result| {
        let calls = result.peers.iter().filter_map(|peer| peer.last_call(Direction::Write));
        calls.map(emulated_row).collect()
    })
}

fn emulated_row(call: &CallStatistics) -> Vec<String> {
    let of = |assignment| call.hop_bytes_of(assignment);
    let ratio = match (of("hop_bytes"), of("rank_order")) {
        (Some(tatp), Some(rank_order)) if rank_order > 0.0 => Some(tatp / rank_order),
        _ => None,
    };
    let mut row = vec![call.nodes.to_string(), call.domains.to_string()];
    row.extend(hop_bytes(call));
    row.push(figure(ratio, 2));
    row
}
