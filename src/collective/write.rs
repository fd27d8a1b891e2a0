//! Collective write.

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
    /// Writes every rank's request; returns the bytes this rank wrote. Collective.
    ///
    /// A rank that has no request because of a local error passes the error: it takes part with nothing, nothing is
    /// written, and every rank returns an error of that class. A write that fails on any rank gives every rank an
    /// error of one class; what was written before that stays (MPI-4.1, section 14.7).
    pub fn write_all(&mut self, request: Result<Request<'_>, Error>) -> Result<Bytes, Error> {
        let mut watch = Stopwatch::start();
        let (survey, Request { access, memory }) = self.survey(request)?;
        watch.charge(Phase::Offsets);
        let mut outcome = Outcome::new(Call::Write, survey.bytes, watch);
        let bytes = access.bytes();
        if !survey.range.is_empty() {
            if self.goes_direct(self.hints.cb_write, &survey) {
                // Between this rank's pieces lie others': writing across them would undo what those write meanwhile.
                let sieve = if survey.interleaved { Switch::Disable } else { self.hints.ds_write };
                self.write_direct(&access, access.hull(), &memory, sieve, &mut outcome);
                outcome.stats.path = Path::Direct;
            } else {
                let placed = self.place(&access, survey.range, &survey, Flow::Gather, &mut outcome);
                let sieve = self.hints.ds_write != Switch::Disable && survey.readable;
                let planning = Planning { look_for_holes: true, sieve, modify: true, tiled: survey.tiled };
                self.write_rounds(&placed, &access, &memory, planning, &mut outcome);
                self.keep(access, survey.range, placed);
                outcome.stats.path = Path::TwoPhase;
            }
        }
        self.finish(outcome).map(|_| bytes)
    }

    fn write_rounds(
        &self,
        placed: &Placed,
        access: &Access,
        memory: &Memory<'_>,
        planning: Planning,
        outcome: &mut Outcome,
    ) {
        let mut cursors = self.cursors(placed);
        while cursors.iter().any(Option::is_some) {
            let batch = self.plan_batch(placed, access, &mut cursors, planning);
            outcome.watch.charge(Phase::Offsets);
            self.write_batch(placed, access, memory, &batch, outcome);
            for &range in &batch.single {
                self.write_direct(access, range, memory, Switch::Disable, outcome);
            }
            outcome.stats.rounds += batch.depth;
            outcome.stats.holes += batch.holes();
        }
    }

    /// Round by round: everybody copies into the buffers, and the aggregators write them. With two halves a buffer,
    /// the others fill one half while the aggregator writes the other, and one barrier a round keeps them apart.
    fn write_batch(
        &self,
        placed: &Placed,
        access: &Access,
        memory: &Memory<'_>,
        batch: &Batch,
        outcome: &mut Outcome,
    ) {
        let mut shuffle = self.shuffle(placed, access);
        let mine = |round| batch.windows_of(placed.mine, round);
        let ahead = placed.buffers.halves() - 1;
        let mut spoiled = Vec::new();
        for round in 0..batch.depth {
            // The half that is filled next must hold what a hole keeps; the first time, none of them does.
            let prepare = if round == 0 { 0..1 + ahead } else { round + ahead..round + ahead + 1 };
            for next in prepare {
                for window in mine(next).iter().filter(|window| !window.filled) {
                    let ready = self.prepare(&shuffle, next, window);
                    if ready.is_err() {
                        spoiled.push(window.range);
                    }
                    outcome.record(ready);
                }
            }
            outcome.watch.charge(Phase::Io);
            if round == 0 || ahead == 0 {
                self.node.barrier();
            }
            shuffle.gather(&batch.rounds, round, memory);
            self.node.barrier();
            outcome.watch.charge(Phase::Shuffle);
            for window in mine(round) {
                if spoiled.contains(&window.range) {
                    continue; // its holes are not known: writing it would lose what they hold
                }
                let half = shuffle.my_half(round).expect("a rank with windows has a buffer");
                let bytes = half.bytes(window.at, direct::length(window.range));
                outcome.record(direct::write_at(&self.backend, window.range.start, bytes));
            }
            outcome.watch.charge(Phase::Io);
        }
        // Nobody fills the buffers of the next batch or call while they are being written.
        self.node.barrier();
        self.unlock_holes(batch);
        outcome.watch.charge(Phase::Shuffle);
    }

    /// Reads what the holes of a window hold.
    fn prepare(&self, shuffle: &Shuffle<'_, C>, round: usize, window: &Window) -> Result<(), Error> {
        let half = shuffle.my_half(round).expect("a rank with windows has a buffer");
        let buffer = half.bytes_mut(window.at, direct::length(window.range));
        if let Some(end) = direct::read_at(&self.backend, window.range.start, buffer)? {
            let valid = ByteRange::new(window.range.start, end);
            buffer[direct::length(valid)..].fill(0);
        }
        Ok(())
    }

    fn write_direct(
        &self,
        access: &Access,
        range: ByteRange,
        memory: &Memory<'_>,
        switch: Switch,
        outcome: &mut Outcome,
    ) {
        let sieve = Sieve { switch, buffer_bytes: self.hints.ind_write_buffer_bytes };
        match direct::write(&self.backend, access, range, memory, sieve) {
            Ok(holes) => outcome.stats.holes += holes,
            Err(error) => outcome.record(Err(error)),
        }
        outcome.watch.charge(Phase::Io);
    }
}
