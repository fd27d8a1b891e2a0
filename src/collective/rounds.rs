//! The part of a two-phase call that writing and reading share: from the survey to the planned rounds.

use super::buffers::{Buffers, Seat};
use super::placement::Solution;
use super::shuffle::Shuffle;
use super::{CollectiveFile, requests};
use crate::backend::Backend;
use crate::comm::{Communicator, Reduce};
use crate::plan::{Access, Coverage, Domains, Round, Window, WindowPlan, plan_rounds};
use crate::units::{ByteRange, Bytes, DomainId, Offset, Rank};

/// Windows are planned together in batches of about this many, so that a request over terabytes costs bounded memory.
const WINDOWS_AT_ONCE: usize = 16 << 10;

/// Which rank serves each domain, and what follows from it.
pub(super) struct Placed {
    pub domains: Domains,
    pub seats: Vec<Seat>,
    pub mine: Option<(DomainId, usize)>,
    pub others: Vec<(Rank, Access)>,
    pub buffers: Buffers,
    /// Whether all ranks reach all buffers.
    pub alone: bool,
    /// How the domains came to their ranks.
    pub solution: Solution,
}

/// Some of the call's windows, ready to be moved.
pub(super) struct Batch {
    /// By domain.
    pub rounds: Vec<Vec<Round>>,
    /// Windows that each rank reads or writes for itself, because they have holes and may not be sieved.
    pub single: Vec<ByteRange>,
    /// Rounds of the domain that has most.
    pub depth: usize,
    /// Locked by rank 0 while windows with holes are read, filled and written.
    locked: Option<ByteRange>,
}

impl Batch {
    /// The windows that the rank which serves `mine` moves in a round.
    pub fn windows_of(&self, mine: Option<(DomainId, usize)>, round: usize) -> &[Window] {
        mine.and_then(|(domain, _)| self.rounds[domain.index()].get(round))
            .map_or(&[], |round| round.as_slice())
    }

    /// Windows that are read before they are written.
    pub fn holes(&self) -> usize {
        self.rounds.iter().flatten().flatten().filter(|window| !window.filled).count()
    }
}

/// What decides how windows are planned.
#[derive(Clone, Copy)]
pub(super) struct Planning {
    /// Whether holes matter: they must be known before data moves.
    pub look_for_holes: bool,
    /// Whether windows with holes go through the buffers.
    pub sieve: bool,
    /// Whether that changes the file, so that it needs a lock.
    pub modify: bool,
    /// Whether no window has holes or bytes that two ranks ask for, so that nothing need be exchanged about them.
    pub tiled: bool,
}

impl<C: Communicator, B: Backend> CollectiveFile<C, B> {
    /// Buffers, seats and other nodes' requests for an assignment. Collective.
    pub(super) fn take_seats(
        &mut self,
        access: &Access,
        domains: Domains,
        aggregators: &[Rank],
        solution: Solution,
        buffers: Option<Buffers>,
    ) -> Placed {
        let largest = domains.ids().map(|domain| domains.bytes(domain)).max().unwrap_or(0);
        let bytes = largest.min(self.hints.cb_buffer_bytes);
        let buffers = match buffers.filter(|buffers| buffers.fits(bytes)) {
            Some(buffers) => buffers,
            None => {
                let node = self.nodes.node_of(self.comm.rank());
                let double = self.nodes.len() == 1;
                let aggregators = u32::try_from(self.candidates.list.len()).expect("aggregators are ranks");
                let slots = self.candidates.slots[node.index()].min(aggregators);
                Buffers::new(&self.node, slots, bytes, double)
            }
        };
        let (seats, mine) = self.seats(aggregators, &buffers);
        let alone = buffers.shared && self.nodes.len() == 1;
        let others =
            if alone { Vec::new() } else { requests::exchange(&self.comm, access, &domains, &seats) };
        Placed { domains, seats, mine, others, buffers, alone, solution }
    }

    /// The slot or the rank behind each domain, and the domain that this rank serves.
    fn seats(&self, aggregators: &[Rank], buffers: &Buffers) -> (Vec<Seat>, Option<(DomainId, usize)>) {
        let me = self.comm.rank();
        let node = self.nodes.node_of(me);
        let (mut slots, mut mine) = (0, None);
        let seat = |(index, &rank): (usize, &Rank)| {
            let here = self.nodes.node_of(rank) == node;
            let slot = slots;
            slots += usize::from(here);
            if rank == me {
                mine = Some((DomainId::from_index(index), slot));
            }
            if rank == me || here && buffers.shared { Seat::Near(slot) } else { Seat::Far(rank) }
        };
        let seats = aggregators.iter().enumerate().map(seat).collect();
        (seats, mine)
    }

    /// Plans the next windows of every domain; `cursors` says where each goes on. Collective.
    pub(super) fn plan_batch(
        &self,
        placed: &Placed,
        access: &Access,
        cursors: &mut Vec<Option<Offset>>,
        planning: Planning,
    ) -> Batch {
        let mut buffer = self.hints.cb_buffer_bytes;
        if planning.tiled {
            let plan = WindowPlan::new(&placed.domains, cursors, buffer, windows_at_once(placed));
            *cursors = plan.next;
            let full = |(_, range): &(DomainId, ByteRange)| Coverage::run(0, range.len());
            let totals: Vec<Coverage> = plan.windows.iter().map(full).collect();
            let rounds = plan_rounds(placed.domains.len(), &plan.windows, &totals, buffer);
            let depth = rounds.iter().map(Vec::len).max().unwrap_or(0);
            return Batch { rounds, single: Vec::new(), depth, locked: None };
        }
        let (mut plan, mut totals) = self.windows(placed, access, cursors, buffer, planning);
        let crowded = (plan.windows.iter().zip(&totals))
            .map(|((_, range), total)| total.bytes.div_ceil(range.len()))
            .max()
            .unwrap_or(0);
        if crowded > 1 && !placed.alone {
            // Ranks ask for the same bytes: what an aggregator packs for them must still fit its second buffer.
            buffer = (buffer / crowded).max(1);
            (plan, totals) = self.windows(placed, access, cursors, buffer, planning);
        }
        *cursors = plan.next;
        if cursors.iter().any(Option::is_some) {
            self.skip_untouched(placed, access, cursors);
        }
        let holes = |totals: &[Coverage]| {
            (plan.windows.iter().zip(totals))
                .filter(|((_, range), total)| total.bytes > 0 && !total.fills(range.len()))
                .fold(ByteRange::EMPTY, |hull, ((_, range), _)| hull.hull(*range))
        };
        let locked = (planning.sieve && planning.modify)
            .then(|| holes(&totals))
            .filter(|range| !range.is_empty() && self.lock_holes(*range));
        let mut single = Vec::new();
        if !planning.sieve || planning.modify && locked.is_none() {
            for ((_, range), total) in plan.windows.iter().zip(&mut totals) {
                if total.bytes > 0 && !total.fills(range.len()) {
                    single.push(*range);
                    *total = Coverage::default();
                }
            }
        }
        let rounds = plan_rounds(placed.domains.len(), &plan.windows, &totals, buffer);
        let depth = rounds.iter().map(Vec::len).max().unwrap_or(0);
        Batch { rounds, single, depth, locked }
    }

    /// Locks the range of all holes, or says that the file system has no locks; then every rank writes its pieces by
    /// itself. Collective.
    ///
    /// One lock for the whole group, taken before its rounds: aggregators that each locked their own windows and then
    /// met in a barrier could wait in a circle with another group's aggregators on the same file.
    fn lock_holes(&self, range: ByteRange) -> bool {
        let mut held = Vec::new();
        if self.comm.rank() == Rank(0) {
            let lock = self.backend.lock(range);
            if let Err(error) = &lock {
                let name = &self.name;
                log::warn!("{name} cannot be locked ({error}): holes are written around, piece by piece");
            }
            held = vec![u8::from(lock.is_ok())];
        }
        self.comm.broadcast(Rank(0), &mut held);
        held == [1]
    }

    /// Gives up the lock of a batch when everybody has written. Collective.
    pub(super) fn unlock_holes(&self, batch: &Batch) {
        let Some(range) = batch.locked else { return };
        self.comm.barrier();
        if self.comm.rank() == Rank(0) {
            self.backend.unlock(range);
        }
    }

    /// The next windows, and what all ranks together put into each. Collective.
    fn windows(
        &self,
        placed: &Placed,
        access: &Access,
        cursors: &[Option<Offset>],
        buffer: Bytes,
        planning: Planning,
    ) -> (WindowPlan, Vec<Coverage>) {
        let plan = WindowPlan::new(&placed.domains, cursors, buffer, windows_at_once(placed));
        let words = if planning.look_for_holes { Coverage::WORDS } else { 1 };
        let mut sums: Vec<u64> = (plan.windows.iter())
            .flat_map(|(_, range)| {
                let mine = if planning.look_for_holes {
                    access.coverage(*range)
                } else {
                    Coverage::of_bytes(access.bytes_in(*range))
                };
                mine.to_words().into_iter().take(words)
            })
            .collect();
        self.comm.all_reduce(Reduce::Sum, &mut sums);
        let totals = sums.chunks_exact(words).map(Coverage::from_words).collect();
        (plan, totals)
    }

    /// Where each domain's windows begin.
    pub(super) fn cursors(&self, placed: &Placed) -> Vec<Option<Offset>> {
        placed.domains.ids().map(|domain| Some(placed.domains.reach(domain).start)).collect()
    }

    /// Moves the cursors to where somebody's data goes on, so that two bytes a terabyte apart are two windows.
    /// Collective.
    fn skip_untouched(&self, placed: &Placed, access: &Access, cursors: &mut [Option<Offset>]) {
        let mut first: Vec<u64> = (placed.domains.ids().zip(&*cursors))
            .map(|(domain, cursor)| {
                let next = cursor.and_then(|from| access.piece_from(from));
                let end = placed.domains.reach(domain).end;
                next.map(|piece| piece.0).filter(|&offset| offset < end).unwrap_or(Offset::MAX)
            })
            .collect();
        self.comm.all_reduce(Reduce::Min, &mut first);
        for (cursor, first) in cursors.iter_mut().zip(first) {
            *cursor = cursor.filter(|_| first < Offset::MAX).map(|from| from.max(first));
        }
    }

    pub(super) fn shuffle<'a>(&'a self, placed: &'a Placed, access: &'a Access) -> Shuffle<'a, C> {
        Shuffle {
            comm: &self.comm,
            access,
            buffers: &placed.buffers,
            seats: &placed.seats,
            mine: placed.mine,
            others: &placed.others,
            alone: placed.alone,
            staging: Default::default(),
        }
    }
}

/// By domain.
fn windows_at_once(placed: &Placed) -> usize {
    (WINDOWS_AT_ONCE / DomainId(placed.domains.len()).index()).max(1)
}
