//! What tatpio says of its collective calls (hint `tatpio_stats`): one JSON object a line and call.
//!
//! Read leniently: a field that is missing counts as 0 or empty, and one that is unknown is skipped, so that
//! an older `compare` reads what a newer library writes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One collective call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallStatistics {
    /// `write` or `read`.
    pub call: String,
    /// `two-phase`, `direct` or `pass-through`.
    pub path: String,
    /// Nodes that tatpio sees.
    pub nodes: u32,
    /// The assignment in force.
    pub assign: String,
    /// File domains.
    pub domains: u64,
    /// Rounds of the domain that needs most.
    pub rounds: u64,
    /// Hop-bytes under each assignment, whichever is in force: `rank_order`, `locality`, `hop_bytes`.
    pub hop_bytes: BTreeMap<String, Option<f64>>,
    /// Where the time went.
    pub seconds: Seconds,
}

/// Seconds of each phase of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the phases are named as in the paper
pub struct Seconds {
    pub offsets: f64,
    pub placement: f64,
    pub shuffle: f64,
    pub io: f64,
    pub total: f64,
}

impl Seconds {
    /// Those of several calls together.
    pub fn sum<'a>(calls: impl IntoIterator<Item = &'a CallStatistics>) -> Seconds {
        calls.into_iter().fold(Seconds::default(), |sum, CallStatistics { seconds, .. }| Seconds {
            offsets: sum.offsets + seconds.offsets,
            placement: sum.placement + seconds.placement,
            shuffle: sum.shuffle + seconds.shuffle,
            io: sum.io + seconds.io,
            total: sum.total + seconds.total,
        })
    }
}

impl CallStatistics {
    /// The hop-bytes under an assignment.
    pub fn hop_bytes_of(&self, assignment: &str) -> Option<f64> {
        self.hop_bytes.get(assignment).copied().flatten()
    }
}

/// All calls in a file, in order.
///
/// Errors: the file cannot be read, or a line of it is not an object; the text says which.
pub fn read(path: &Path) -> Result<Vec<CallStatistics>, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("no statistics from tatpio in {}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse(text: &str) -> Result<Vec<CallStatistics>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let call = |(at, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1));
    lines.map(call).collect()
}

/// The calls that were measured, those that write and those that read: the last `passes` times `steps` of
/// each, because a program warms up first.
pub fn measured(
    calls: Vec<CallStatistics>,
    passes: u32,
    steps: u32,
) -> (Vec<CallStatistics>, Vec<CallStatistics>) {
    let wanted = usize::try_from(u64::from(passes) * u64::from(steps)).unwrap_or(usize::MAX);
    let last = |kind: &str| {
        let of_kind: Vec<CallStatistics> = calls.iter().filter(|call| call.call == kind).cloned().collect();
        of_kind[of_kind.len().saturating_sub(wanted)..].to_vec()
    };
    (last("write"), last("read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_missing_and_added() {
        let calls = parse(
            r#"{"file": "f", "call": "write", "ranks": 4, "nodes": 1, "bytes": 134217728, "path": "two-phase",
 "assign": "hop_bytes", "domains": 1, "rounds": 8, "hop_bytes": {"rank_order": 1.0e9, "locality": null},
 "seconds": {"offsets": 0.25, "new": 1, "total": 2}, "aggregators": [0], "holes": 0}"#
                .replace('\n', "")
                .as_str(),
        )
        .unwrap();
        assert_eq!(calls[0].hop_bytes_of("rank_order"), Some(1.0e9));
        assert_eq!((calls[0].hop_bytes_of("locality"), calls[0].hop_bytes_of("hop_bytes")), (None, None));
        assert_eq!((calls[0].seconds.offsets, calls[0].seconds.io, calls[0].seconds.total), (0.25, 0.0, 2.0));
        assert_eq!(parse("\n{}\n").unwrap(), [CallStatistics::default()]);
        assert!(parse("{}\n{\n").unwrap_err().starts_with("line 2:"));
    }

    #[test]
    fn the_last_calls_are_the_measured_ones() {
        let calls = parse(
            r#"{"call": "write", "rounds": 1}
               {"call": "read", "rounds": 2}
               {"call": "write", "rounds": 3}
               {"call": "read", "rounds": 4}"#,
        )
        .unwrap();
        let rounds = |calls: &[CallStatistics]| calls.iter().map(|call| call.rounds).collect::<Vec<_>>();
        let (write, read) = measured(calls.clone(), 1, 1);
        assert_eq!((rounds(&write), rounds(&read)), (vec![3], vec![4]));
        let (write, _) = measured(calls, 3, 2);
        assert_eq!(rounds(&write), [1, 3]);
    }
}
