//! What a run of `cube` or `btio` found. Rates are in MB/s, with 1 MB = 10^6 bytes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One run. `compare` reads it back from `--json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// `cube` or `btio`.
    pub program: String,
    /// The MPI library, by its own words.
    pub mpi: String,
    /// The number of ranks.
    pub ranks: u32,
    /// How the array was cut, for people.
    pub partition: String,
    /// Doubles along each edge of the array.
    pub size: u64,
    /// Arrays in the file, one collective call each.
    pub steps: u32,
    /// The seed of `--scatter`.
    pub scatter: Option<u64>,
    /// Bytes that one pass transfers, all ranks together.
    pub bytes: u64,
    /// Whether each pass that writes starts without a file.
    pub cold: bool,
    /// The hints that the implementation says are in use.
    pub hints_in_use: BTreeMap<String, String>,
    /// The passes that wrote, in order; empty with `--read-only`.
    pub write: Vec<Pass>,
    /// The passes that read, in order; empty with `--write-only`.
    pub read: Vec<Pass>,
    /// What the ranks held in memory.
    pub memory: Memory,
    /// Doubles compared with what they should be, over all ranks and passes.
    pub doubles_verified: u64,
    /// Doubles found wrong, over all ranks and passes.
    pub doubles_wrong: u64,
}

/// One pass over the file: open, one collective call a step, close. Every time is the longest over the ranks,
/// from a barrier on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pass {
    /// MPI_File_open and MPI_File_set_view.
    pub open_seconds: f64,
    /// The collective calls alone.
    pub calls_seconds: f64,
    /// MPI_File_sync, when asked for.
    pub sync_seconds: f64,
    /// MPI_File_close.
    pub close_seconds: f64,
    /// Bytes of all ranks over `calls_seconds`.
    pub mb_per_second: f64,
    /// What the numbers of `--probe` grew by during the calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, u64>,
}

/// Peak resident memory of each rank (`ru_maxrss`), in bytes, by rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Just before the first open, the program's own buffer filled.
    pub baseline_bytes: Vec<u64>,
    /// At the end.
    pub peak_bytes: Vec<u64>,
}

impl Memory {
    /// The largest peak of any rank.
    pub fn peak_max(&self) -> u64 {
        self.peak_bytes.iter().copied().max().unwrap_or(0)
    }

    /// What each rank's peak grew by during the I/O, by rank.
    pub fn beyond_baseline(&self) -> impl Iterator<Item = u64> {
        self.peak_bytes
            .iter()
            .zip(&self.baseline_bytes)
            .map(|(peak, baseline)| peak.saturating_sub(*baseline))
    }

    /// The growth of rank 0, and the largest growth of any other rank.
    pub fn beyond_on_rank_0_and_others(&self) -> (u64, u64) {
        let mut growth = self.beyond_baseline();
        (growth.next().unwrap_or(0), growth.max().unwrap_or(0))
    }
}

/// The middle value, or the mean of the two middle ones; `None` of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0) }
}

/// The median rate of some passes.
pub fn median_mb_per_second(passes: &[Pass]) -> Option<f64> {
    median(passes.iter().map(|pass| pass.mb_per_second))
}

/// Bytes as a number of MB.
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { program, size, ranks, partition, mpi, steps, .. } = self;
        let each = megabytes(self.bytes / u64::from(*steps));
        writeln!(
            f,
            "{program}: {size} x {size} x {size} doubles ({each:.1} MB), {partition}, on {ranks} ranks, {mpi}"
        )?;
        if *steps > 1 {
            writeln!(
                f,
                "{steps} arrays a file, one collective call each: {:.1} MB a pass",
                megabytes(self.bytes)
            )?;
        }
        for (what, passes) in [("write", &self.write), ("read", &self.read)] {
            write_passes(f, what, passes)?;
        }
        let (rank_0, others) = self.memory.beyond_on_rank_0_and_others();
        let peak = megabytes(self.memory.peak_max());
        write!(
            f,
            "\npeak memory: {peak:.1} MB on the largest rank; grown by the I/O: {:.1} MB on rank 0",
            megabytes(rank_0)
        )?;
        if *ranks > 1 {
            write!(f, ", at most {:.1} MB on any other", megabytes(others))?;
        }
        match (self.doubles_verified, self.doubles_wrong) {
            (0, _) => write!(f, "\nnothing was verified"),
            (verified, 0) => write!(f, "\nverified: {verified} doubles read, every bit as written"),
            (verified, wrong) => write!(f, "\nWRONG: {wrong} of {verified} doubles read"),
        }
    }
}

fn write_passes(f: &mut fmt::Formatter<'_>, what: &str, passes: &[Pass]) -> fmt::Result {
    if passes.is_empty() {
        return Ok(());
    }
    let synced = passes.iter().any(|pass| pass.sync_seconds > 0.0);
    let sync = |text: String| if synced { format!("{text:>10}") } else { String::new() };
    writeln!(
        f,
        "\n{what:>8}{:>10}{:>10}{}{:>10}{:>10}",
        "open s",
        "calls s",
        sync("sync s".to_owned()),
        "close s",
        "MB/s"
    )?;
    for (at, pass) in passes.iter().enumerate() {
        let Pass { open_seconds, calls_seconds, sync_seconds, close_seconds, mb_per_second, .. } = pass;
        let synced = sync(format!("{sync_seconds:.4}"));
        write!(f, "{:>8}{open_seconds:>10.4}{calls_seconds:>10.4}{synced}", at + 1)?;
        writeln!(f, "{close_seconds:>10.4}{mb_per_second:>10.1}")?;
    }
    let median = median_mb_per_second(passes).unwrap_or(0.0);
    writeln!(f, "{:>8}{:>10}{:>10}{}{:>10}{median:>10.1}", "median", "", "", sync(String::new()), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (values, expected) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![4.0, 1.0], Some(2.5)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![4.0, 1.0, 3.0, 2.0], Some(2.5)),
        ] {
            assert_eq!(median(values.clone()), expected, "{values:?}");
        }
    }

    #[test]
    fn memory_growth_by_rank() {
        let memory = Memory { baseline_bytes: vec![10, 10, 30], peak_bytes: vec![15, 12, 29] };
        assert_eq!(memory.beyond_baseline().collect::<Vec<_>>(), [5, 2, 0]);
        assert_eq!((memory.beyond_on_rank_0_and_others(), memory.peak_max()), ((5, 2), 29));
    }
}
