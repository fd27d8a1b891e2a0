//! What the tests of this room share.

use super::{Bandwidth, Curve, Job, System};
use std::io::Write;
use std::path::PathBuf;

pub(super) use super::evaluation::Random;

/// A curve of `nodes:MB/s` words.
pub(super) fn curve(text: &str) -> Curve {
    let point = |word: &str| {
        let (nodes, bandwidth) = word.split_once(':').unwrap();
        (nodes.parse().unwrap(), bandwidth.parse().unwrap())
    };
    Curve::new(text.split_whitespace().map(point)).unwrap()
}

/// A job of so many compute nodes, four processes on each, and a curve as [`curve`] reads it, none for "-".
pub(super) fn job(name: &str, compute_nodes: u32, profile: &str) -> Job {
    let profile = (profile != "-").then(|| curve(profile));
    Job { name: name.to_string(), compute_nodes, processes: 4 * compute_nodes, profile }
}

/// So many I/O nodes for 96 compute nodes; jobs may go without.
pub(super) fn system(io_nodes: u32) -> System {
    System { io_nodes, compute_nodes: 96, direct: true }
}

/// Megabytes a second.
pub(super) fn mb(text: &str) -> Bandwidth {
    text.parse().unwrap()
}

/// The measured scenarios: name and text of each file, where they are at hand. `TATPIO_DATA` names the directory
/// that holds `forwarding/`. They bear no licence, so the repository has no copy.
pub(super) fn scenarios() -> Option<Vec<(String, String)>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let directory = std::env::var_os("TATPIO_DATA").map_or_else(beside, PathBuf::from).join("forwarding");
    let read = |name: &str| Some((name.to_string(), std::fs::read_to_string(directory.join(name)).ok()?));
    let files: Option<_> = ["marenostrum-4.csv", "marenostrum-4-gpfs.csv"].into_iter().map(read).collect();
    if files.is_none() {
        // Not println, which is shown for tests that fail alone.
        let note = format!(
            "skipped: no measured scenarios in {}; TATPIO_DATA names their directory",
            directory.display()
        );
        writeln!(std::io::stderr(), "{note}").expect("standard error is open");
    }
    files
}
