//! Access patterns from Darshan logs, in the text that `darshan-parser` prints (Darshan 3).
//!
//! Darshan counts what every process does to every file. The POSIX module is read here and no other: it sees the
//! requests that reach the file system, after MPI-IO has rearranged them. Lines are separated by tabs:
//!
//! ```text
//! # nprocs: 16
//! POSIX   -1   9457796068806373448   POSIX_WRITES   128   /scratch/out   /scratch   lustre
//! module rank  record                counter        value  file          mount      type
//! ```
//!
//! Rank -1 is a record that all processes share. How a pattern comes of the counters:
//!
//! - **Operation**: the one that moved more bytes; a draw counts as write. The rest looks at that operation alone,
//!   and weighs files by their bytes.
//! - **Layout**: a file is shared when its record has rank -1, or records of several ranks.
//! - **Spatiality**: a file is contiguous when at least half of its requests begin where the process's one before
//!   ended, each process's first request left out (`POSIX_CONSEC_*`).
//! - **Request size**: of Darshan's four most frequent sizes of each file the one that moved most bytes; the mean
//!   request where these counters are missing.
//! - **Processes**: all of the job when a file of rank -1 moved bytes, else as many as did.

use super::parse::{Mismatch, digits};
use super::{FileLayout, Operation, ParseError, Pattern, Spatiality};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What a job did to files, by its log.
#[derive(Clone, Debug)]
pub struct DarshanLog {
    processes: u32,
    /// By record and rank (`None` for all).
    files: BTreeMap<(u64, Option<u32>), File>,
}

/// The counters of a record that are of interest.
#[derive(Clone, Debug, Default)]
struct File {
    counters: BTreeMap<&'static str, u64>,
}

impl File {
    fn get(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or(0)
    }
}

/// What is read of a record.
const COUNTERS: [&str; 14] = [
    "POSIX_BYTES_READ",
    "POSIX_BYTES_WRITTEN",
    "POSIX_READS",
    "POSIX_WRITES",
    "POSIX_CONSEC_READS",
    "POSIX_CONSEC_WRITES",
    "POSIX_ACCESS1_ACCESS",
    "POSIX_ACCESS2_ACCESS",
    "POSIX_ACCESS3_ACCESS",
    "POSIX_ACCESS4_ACCESS",
    "POSIX_ACCESS1_COUNT",
    "POSIX_ACCESS2_COUNT",
    "POSIX_ACCESS3_COUNT",
    "POSIX_ACCESS4_COUNT",
];

/// The counters of an operation: bytes, requests, requests that follow on.
fn counters(operation: Operation) -> [&'static str; 3] {
    match operation {
        Operation::Read => ["POSIX_BYTES_READ", "POSIX_READS", "POSIX_CONSEC_READS"],
        Operation::Write => ["POSIX_BYTES_WRITTEN", "POSIX_WRITES", "POSIX_CONSEC_WRITES"],
    }
}

impl DarshanLog {
    /// The log in a text of `darshan-parser`; `name` is for messages.
    ///
    /// Errors name log, line and what was expected: no number of processes, a line with too few fields, a field that
    /// is no number, a counter twice.
    pub fn parse(name: &str, text: &str) -> Result<DarshanLog, ParseError> {
        let mut processes = None;
        let mut files: BTreeMap<(u64, Option<u32>), File> = BTreeMap::new();
        let mut lines = 0;
        for (index, line) in text.lines().enumerate() {
            lines = index + 1;
            let at = |mismatch: Mismatch| mismatch.at(name, index + 1);
            if let Some(value) = line.strip_prefix("# nprocs:") {
                let count = digits::<u32>(value.trim()).filter(|&count| count > 0);
                let expected = "nprocs, a whole number above 0";
                processes = Some(count.ok_or_else(|| at(Mismatch::new(expected, value.trim())))?);
            }
            let Some((key, counter, value)) = record(line).map_err(at)? else { continue };
            if files.entry(key).or_default().counters.insert(counter, value).is_some() {
                return Err(at(Mismatch::new(format!("{counter} once a record and rank"), line)));
            }
        }
        let expected = "a line \"# nprocs: N\", as darshan-parser prints it";
        let processes = processes.ok_or_else(|| Mismatch::new(expected, "the end").at(name, lines + 1))?;
        Ok(DarshanLog { processes, files })
    }

    /// The processes of the job.
    pub fn processes(&self) -> u32 {
        self.processes
    }

    /// The bytes that the job read and wrote.
    pub fn bytes(&self) -> Bytes {
        self.moved(Operation::Read).saturating_add(self.moved(Operation::Write))
    }

    fn moved(&self, operation: Operation) -> Bytes {
        let [bytes, ..] = counters(operation);
        self.files.values().map(|file| file.get(bytes)).fold(0, Bytes::saturating_add)
    }

    /// The pattern that moved most bytes, for a job on so many compute nodes (which the log does not tell); `None` when
    /// nothing was read or written.
    pub fn pattern(&self, compute_nodes: u32) -> Option<Pattern> {
        let reads = self.moved(Operation::Read) > self.moved(Operation::Write);
        let operation = if reads { Operation::Read } else { Operation::Write };
        let [bytes, requests, consecutive] = counters(operation);
        let mut ranks_of: BTreeMap<u64, u32> = BTreeMap::new();
        self.files.keys().for_each(|&(record, _)| *ranks_of.entry(record).or_default() += 1);
        let mut layouts = Weights::default();
        let mut spatialities = Weights::default();
        let mut sizes = Weights::default();
        let mut ranks = BTreeSet::new();
        for (&(record, rank), file) in self.files.iter().filter(|(_, file)| file.get(bytes) > 0) {
            let weight = file.get(bytes);
            let shared = rank.is_none() || ranks_of[&record] > 1;
            layouts.add(if shared { FileLayout::Shared } else { FileLayout::FilePerProcess }, weight);
            let first = if rank.is_none() { u64::from(self.processes) } else { 1 };
            let later = file.get(requests).saturating_sub(first);
            let contiguous = file.get(consecutive) >= later.div_ceil(2);
            spatialities.add(if contiguous { Spatiality::Contiguous } else { Spatiality::Strided }, weight);
            file.add_sizes(&mut sizes, weight, file.get(requests));
            ranks.insert(rank);
        }
        let of_ranks = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        Some(Pattern {
            layout: layouts.heaviest()?,
            spatiality: spatialities.heaviest()?,
            operation,
            compute_nodes,
            processes: if ranks.contains(&None) { self.processes } else { of_ranks },
            request_bytes: sizes.heaviest()?,
        })
    }
}

impl File {
    /// Adds the frequent request sizes of this file with the bytes they moved.
    fn add_sizes(&self, sizes: &mut Weights<Bytes>, bytes: u64, requests: u64) {
        let mut known = false;
        for (size, count) in COUNTERS[6..10].iter().zip(&COUNTERS[10..14]) {
            let (size, count) = (self.get(size), self.get(count));
            if size > 0 && count > 0 {
                sizes.add(size, size.saturating_mul(count));
                known = true;
            }
        }
        if !known {
            sizes.add(bytes.div_ceil(requests.max(1)), bytes);
        }
    }
}

/// Sums by key.
struct Weights<K>(BTreeMap<K, u64>);

impl<K> Default for Weights<K> {
    fn default() -> Self {
        Weights(BTreeMap::new())
    }
}

impl<K: Ord + Copy> Weights<K> {
    fn add(&mut self, key: K, weight: u64) {
        let sum = self.0.entry(key).or_default();
        *sum = sum.saturating_add(weight);
    }

    /// The key with the largest sum; the last of several.
    fn heaviest(&self) -> Option<K> {
        self.0.iter().max_by_key(|&(&key, &sum)| (sum, key)).map(|(&key, _)| key)
    }
}

type Key = (u64, Option<u32>);

/// The record, counter and value of a line, if it has one of interest.
fn record(line: &str) -> Result<Option<(Key, &'static str, u64)>, Mismatch> {
    let Some(rest) = line.strip_prefix("POSIX\t") else { return Ok(None) };
    let fields: Vec<&str> = rest.split('\t').collect();
    let [rank, record, counter, value, ..] = fields[..] else {
        return Err(Mismatch::new("module, rank, record, counter and value, separated by tabs", line));
    };
    let Some(counter) = COUNTERS.into_iter().find(|known| *known == counter) else { return Ok(None) };
    let rank = match rank {
        "-1" => None,
        _ => Some(digits(rank).ok_or_else(|| Mismatch::new("a rank, or -1 for all", rank))?),
    };
    let record = digits(record).ok_or_else(|| Mismatch::new("the number of a record", record))?;
    // Darshan writes -1 for what it could not count.
    let value = match value {
        "-1" => 0,
        _ => digits(value).ok_or_else(|| Mismatch::new(format!("{counter}, a whole number"), value))?,
    };
    Ok(Some(((record, rank), counter, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of so many processes; records as "rank record COUNTER=value..", without the POSIX_ of counters.
    fn log(processes: u32, records: &[&str]) -> String {
        let mut text =
            format!("# darshan log version: 3.41\n# exe: ./a.out\n# nprocs: {processes}\n# run time: 3\n\n");
        text += "# description of columns:\n#   <module>: module responsible for this I/O record.\n";
        text += "#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t<fs type>\n";
        for line in records {
            let (rank, rest) = line.split_once(' ').unwrap();
            let (record, rest) = rest.split_once(' ').unwrap();
            for counter in rest.split_whitespace() {
                let (counter, value) = counter.split_once('=').unwrap();
                text += &format!(
                    "POSIX\t{rank}\t{record}\tPOSIX_{counter}\t{value}\t/scratch/a b\t/scratch\tlustre\n"
                );
            }
            text += &format!(
                "POSIX\t{rank}\t{record}\tPOSIX_F_WRITE_TIME\t0.25\t/scratch/a b\t/scratch\tlustre\n"
            );
        }
        text + "STDIO\t0\t99\tSTDIO_BYTES_WRITTEN\t999999999\t<STDOUT>\tUNKNOWN\tUNKNOWN\n"
    }

    fn check(processes: u32, records: &[&str], expected: &str) {
        let parsed = DarshanLog::parse("log", &log(processes, records)).unwrap();
        assert_eq!(parsed.pattern(4).unwrap().to_string(), expected, "{records:?}");
    }

    #[test]
    fn patterns_come_of_counters() {
        check(
            16,
            &["-1 7 BYTES_WRITTEN=2097152 WRITES=32 CONSEC_WRITES=16 ACCESS1_ACCESS=65536 ACCESS1_COUNT=32"],
            "4 nodes, 16 processes, shared, contiguous, write, 65536 bytes",
        );
        check(
            16,
            &["-1 7 BYTES_WRITTEN=4194304 WRITES=64 CONSEC_WRITES=0 ACCESS1_ACCESS=65536 ACCESS1_COUNT=64"],
            "4 nodes, 16 processes, shared, strided, write, 65536 bytes",
        );
        // Two processes of four write files of their own; many small headers do not make the request size.
        let own = "BYTES_READ=0 BYTES_WRITTEN=8196 WRITES=6 CONSEC_WRITES=5 \
                   ACCESS1_ACCESS=1 ACCESS1_COUNT=4 ACCESS2_ACCESS=4096 ACCESS2_COUNT=2";
        check(
            4,
            &[&format!("0 7 {own}"), &format!("3 8 {own}"), "1 9 BYTES_WRITTEN=0 WRITES=0"],
            "4 nodes, 2 processes, file per process, contiguous, write, 4096 bytes",
        );
        // One record of two ranks is a file that some share. Reads outweigh writes. Sizes were not counted.
        check(
            4,
            &[
                "0 7 BYTES_READ=1000 READS=10 CONSEC_READS=0 BYTES_WRITTEN=1500 WRITES=1",
                "1 7 BYTES_READ=1000 READS=10 CONSEC_READS=1 ACCESS1_ACCESS=-1 ACCESS1_COUNT=0",
            ],
            "4 nodes, 2 processes, shared, strided, read, 100 bytes",
        );
        // One request a process follows on nothing.
        check(
            8,
            &["-1 7 BYTES_READ=80 READS=8 CONSEC_READS=0"],
            "4 nodes, 8 processes, shared, contiguous, read, 10 bytes",
        );
    }

    #[test]
    fn logs_add_up() {
        let records = ["-1 7 BYTES_READ=80 READS=8", "2 3 BYTES_WRITTEN=5 WRITES=1"];
        let parsed = DarshanLog::parse("log", &log(8, &records)).unwrap();
        assert_eq!((parsed.processes(), parsed.bytes()), (8, 85));
        let idle = DarshanLog::parse("log", &log(8, &["0 1 BYTES_READ=0"])).unwrap();
        assert_eq!((idle.pattern(4), idle.bytes()), (None, 0));
    }

    #[test]
    fn errors_name_log_line_and_what_was_expected() {
        let good = log(8, &["-1 7 BYTES_READ=80 READS=8"]);
        for (from, to, expected) in [
            (
                "# nprocs: 8",
                "# nprocs: x",
                "log, line 3: expected nprocs, a whole number above 0, found \"x\"",
            ),
            ("\t80\t", "\t-80\t", "log, line 9: expected POSIX_BYTES_READ, a whole number, found \"-80\""),
            ("\t80\t", "\tNaN\t", "log, line 9: expected POSIX_BYTES_READ, a whole number, found \"NaN\""),
            ("POSIX\t-1\t7", "POSIX\t-2\t7", "log, line 9: expected a rank, or -1 for all, found \"-2\""),
            ("POSIX\t-1\t7", "POSIX\t-1\tx7", "log, line 9: expected the number of a record, found \"x7\""),
            (
                "\t8\t/scratch/a b\t/scratch\tlustre\n",
                "\n",
                "log, line 10: expected module, rank, record, counter and value, separated by tabs, \
                 found \"POSIX\t-1\t7\tPOSIX_READS\"",
            ),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            assert_eq!(DarshanLog::parse("log", &text).unwrap_err().to_string(), expected);
        }
        let none = DarshanLog::parse("log", "a\nb\n").unwrap_err().to_string();
        assert_eq!(
            none,
            "log, line 3: expected a line \"# nprocs: N\", as darshan-parser prints it, found \"the end\""
        );
        let twice = log(8, &["0 7 BYTES_READ=80", "0 7 READS=1 BYTES_READ=80"]);
        let error = DarshanLog::parse("log", &twice).unwrap_err();
        assert_eq!((error.line, error.expected.as_str()), (12, "POSIX_BYTES_READ once a record and rank"));
    }
}
