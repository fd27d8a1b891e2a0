//! The last exchange of a call: one outcome for every rank.

use crate::comm::{Communicator, Reduce};
use crate::error::{Error, ErrorClass};
use crate::hints::StatsSink;
use crate::stats::{self, Call, CallStats, Path, Stopwatch};
use crate::units::{Bytes, Offset, Rank};
use std::collections::BTreeMap;
use std::io::Write;

/// What a rank records of a call while it goes on to the end.
pub(super) struct Outcome {
    error: Option<Error>,
    /// Where a read found the file to end, if it met the end.
    pub end_of_file: Offset,
    pub watch: Stopwatch,
    pub stats: CallStats,
}

impl Outcome {
    pub fn new(call: Call, bytes: Bytes, watch: Stopwatch) -> Outcome {
        let stats = CallStats {
            file: String::new(),
            call,
            ranks: 0,
            nodes: 0,
            bytes,
            path: Path::Nothing,
            assign: String::new(),
            topology: String::new(),
            plan: None,
            domains: 0,
            rounds: 0,
            holes: 0,
            aggregators: Vec::new(),
            hop_bytes: BTreeMap::new(),
            busiest_link: BTreeMap::new(),
            seconds: BTreeMap::new(),
        };
        Outcome { error: None, end_of_file: Offset::MAX, watch, stats }
    }

    /// Keeps the first error.
    pub fn record(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    /// The lowest failing rank's class for everybody, or where the file was found to end. Collective. A rank that
    /// failed itself returns its own error when that has the agreed class.
    pub fn agree<C: Communicator>(&mut self, comm: &C, with_stats: bool) -> Result<Offset, Error> {
        let mine = self
            .error
            .as_ref()
            .map_or(u64::MAX, |error| u64::from(comm.rank().0) << 32 | error.class() as u64);
        let mut least = [mine, self.end_of_file];
        comm.all_reduce(Reduce::Min, &mut least);
        if with_stats {
            let mut most = self.watch.nanoseconds();
            comm.all_reduce(Reduce::Max, &mut most);
            self.stats.seconds = stats::seconds(&most);
        }
        let [verdict, end_of_file] = least;
        if verdict != u64::MAX {
            let rank = Rank(u32::try_from(verdict >> 32).expect("a rank has 32 bits"));
            let class = ErrorClass::from_code(verdict & 0xffff_ffff);
            let own = self.error.take().filter(|error| error.class() == class);
            return Err(own.unwrap_or(Error::Remote { rank, class }));
        }
        Ok(end_of_file)
    }
}

/// Sends the statistics where the hint says. A file that cannot be written costs a warning, not the call.
pub(super) fn report(sink: &StatsSink, stats: &CallStats) {
    match sink {
        StatsSink::Off => {}
        StatsSink::Text => eprintln!("{}", stats.text()),
        StatsSink::Json(path) => {
            let line = serde_json::to_string(stats).expect("statistics are plain data") + "\n";
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                log::warn!("tatpio_stats: {} could not be written: {error}", path.display());
            }
        }
    }
}
