//! Collective read.

use super::direct::{self, Sieve};
use super::outcome::Outcome;
use super::rounds::{Batch, Placed, Planning};
use super::shuffle::Shuffle;
use super::{CollectiveFile, Request};
use crate::backend::Backend;
use crate::comm::Communicator;
use crate::error::Error;
use crate::hints::Switch;
use crate::memory::Memory;
use crate::placement::Flow;
use crate::plan::{Access, Window};
use crate::stats::{Call, Path, Phase, Stopwatch};
use crate::units::{ByteRange, Bytes};

impl<C: Communicator, B: Backend> CollectiveFile<C, B> {
    /// Reads every rank's request; returns the bytes of this rank's stream that were there, counted up to the first
    /// one past the end of the file; what memory holds beyond them is not defined. Collective.
    ///
    /// Errors are those of [`CollectiveFile::write_all`]; after one, the memory holds nothing in particular.
    pub fn read_all(&mut self, request: Result<Request<'_>, Error>) -> Result<Bytes, Error> {
        let mut watch = Stopwatch::start();
        let (survey, Request { access, mut memory }) = self.survey(request)?;
        watch.charge(Phase::Offsets);
        let mut outcome = Outcome::new(Call::Read, survey.bytes, watch);
        outcome.end_of_file = survey.file_bytes;
        let there = ByteRange::new(0, survey.file_bytes);
        let range = survey.range.intersect(there);
        if !range.is_empty() {
            if self.goes_direct(self.hints.cb_read, &survey) {
                self.read_direct(&access, access.hull().intersect(there), &mut memory, &mut outcome);
                outcome.stats.path = Path::Direct;
            } else {
                let placed = self.place(&access, range, &survey, Flow::Scatter, &mut outcome);
                let sieve = self.hints.ds_read != Switch::Disable;
                let planning = Planning { look_for_holes: !sieve, sieve, modify: false, tiled: survey.tiled };
                self.read_rounds(&placed, &access, &mut memory, planning, &mut outcome);
                outcome.stats.path = Path::TwoPhase;
                let finished = self.finish(outcome).map(|end_of_file| access.delivered(end_of_file));
                self.keep(access, range, placed);
                return finished;
            }
        }
        self.finish(outcome).map(|end_of_file| access.delivered(end_of_file))
    }

    fn read_rounds(
        &self,
        placed: &Placed,
        access: &Access,
        memory: &mut Memory<'_>,
        planning: Planning,
        outcome: &mut Outcome,
    ) {
        let mut cursors = self.cursors(placed);
        while cursors.iter().any(Option::is_some) {
            let batch = self.plan_batch(placed, access, &mut cursors, planning);
            outcome.watch.charge(Phase::Offsets);
            self.read_batch(placed, access, memory, &batch, outcome);
            for &range in &batch.single {
                self.read_direct(access, range, memory, outcome);
            }
            outcome.stats.rounds += batch.depth;
        }
    }

    /// Round by round: the aggregators read into the buffers, and everybody copies out of them. With two halves a
    /// buffer, the aggregator reads into one half while the others empty the other.
    fn read_batch(
        &self,
        placed: &Placed,
        access: &Access,
        memory: &mut Memory<'_>,
        batch: &Batch,
        outcome: &mut Outcome,
    ) {
        let mut shuffle = self.shuffle(placed, access);
        let mine = |round| batch.windows_of(placed.mine, round);
        let ahead = placed.buffers.halves() - 1;
        for round in 0..batch.depth {
            let fill = if round == 0 { 0..1 } else { round + ahead..round + ahead + 1 };
            for next in fill {
                for window in mine(next) {
                    self.fill(&shuffle, next, window, outcome);
                }
            }
            outcome.watch.charge(Phase::Io);
            if round == 0 || ahead == 0 {
                self.node.barrier();
            }
            if round == 0 && ahead == 1 {
                for window in mine(1) {
                    self.fill(&shuffle, 1, window, outcome);
                }
                outcome.watch.charge(Phase::Io);
            }
            shuffle.scatter(&batch.rounds, round, memory);
            self.node.barrier();
            outcome.watch.charge(Phase::Shuffle);
        }
    }

    /// Reads one window into its buffer.
    fn fill(&self, shuffle: &Shuffle<'_, C>, round: usize, window: &Window, outcome: &mut Outcome) {
        let half = shuffle.my_half(round).expect("a rank with windows has a buffer");
        let buffer = half.bytes_mut(window.at, direct::length(window.range));
        match direct::read_at(&self.backend, window.range.start, buffer) {
            Ok(Some(end)) => outcome.end_of_file = outcome.end_of_file.min(end),
            Ok(None) => {}
            Err(error) => outcome.record(Err(error)),
        }
    }

    fn read_direct(&self, access: &Access, range: ByteRange, memory: &mut Memory<'_>, outcome: &mut Outcome) {
        let sieve = Sieve { switch: self.hints.ds_read, buffer_bytes: self.hints.ind_read_buffer_bytes };
        match direct::read(&self.backend, access, range, memory, sieve) {
            Ok(Some(end)) => outcome.end_of_file = outcome.end_of_file.min(end),
            Ok(None) => {}
            Err(error) => outcome.record(Err(error)),
        }
        outcome.watch.charge(Phase::Io);
    }
}
