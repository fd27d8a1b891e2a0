//! The tables of a fabric: how fast, and what crossed the network.

use super::links::Load;
use super::results::{CaseResult, Direction, PeerResult};
use super::tables::{case_columns, figure, table};

/// Paragraphs and tables, one of each a direction.
pub fn paragraphs(results: &[CaseResult]) -> Vec<String> {
    let runs = results.iter().flat_map(|result| &result.peers).map(|peer| peer.runs.len()).max().unwrap_or(0);
    let mut all = vec![format!(
        "MB/s of the collective calls (1 MB = 10^6 bytes), medians of {runs} runs, peers in turn. A ratio above \
         1 is faster than {}. Shuffle: seconds a pass, by tatpio's clock. Hop-bytes in MB x hops of a pass: \
         planned as tatpio counts them, and counted as all links together carried them. Then the directed link \
         that was busy longest: its MB and seconds at its rate. Links are read right before and after the \
         calls: the start of MPI is not in it, headers and acknowledgements are.",
        results.first().and_then(|result| result.peers.first()).map_or("-", |peer| &peer.peer)
    )];
    for direction in Direction::BOTH {
        all.push(direction_table(results, direction));
    }
    let ended: usize = results.iter().flat_map(|result| &result.peers).map(PeerResult::ended).sum();
    if ended > 0 {
        all.push(format!("{ended} runs hung in MPI_Finalize, after their work, and were ended there."));
    }
    all
}

fn direction_table(results: &[CaseResult], direction: Direction) -> String {
    let mut header: Vec<&str> = vec!["program", "ranks", "N", "hints", "order", "peer"];
    header.extend([direction.name(), "ratio", "shuffle s", "planned", "counted"]);
    header.extend(["busiest link", "MB", "s", "files"]);
    let with_hints = results.iter().any(|result| !result.case.hints.0.is_empty());
    let mut rows: Vec<Vec<String>> = results
        .iter()
        .flat_map(|result| (0..result.peers.len()).map(|at| row(result, at, direction)))
        .collect();
    if !with_hints {
        header.remove(3);
        rows.iter_mut().for_each(|row| drop(row.remove(3)));
    }
    table(header.into_iter().map(String::from).collect(), 1, rows)
}

fn row(result: &CaseResult, at: usize, direction: Direction) -> Vec<String> {
    let (peer, medians) = (&result.peers[at], &result.medians[at]);
    let load = Load::median(peer.runs.iter().flat_map(|run| direction.passes(run)));
    let busiest = load.as_ref().map(|load| &load.busiest);
    let planned = peer.last_call(direction).and_then(|call| call.hop_bytes_of(&call.assign));
    let mut row = case_columns(result);
    row.push(result.case.order.as_ref().map_or(String::new(), ToString::to_string));
    row.push(peer.peer.clone());
    row.extend([
        figure(medians.mb_per_second(direction), 1),
        figure(medians.ratio(direction), 2),
        figure(peer.shuffle_seconds(direction), 3),
        figure(planned.map(|bytes| bytes / 1e6), 1),
        figure(load.as_ref().map(|load| load.hop_bytes / 1e6), 1),
        busiest.map_or("-".to_owned(), |busy| busy.link.clone()),
        figure(busiest.map(|busy| busy.bytes / 1e6), 2),
        figure(busiest.map(|busy| busy.seconds), 3),
        result.agreement.to_string(),
    ]);
    row
}
