//! Moving one round's data between the ranks and the collective buffers.
//!
//! Ranks of the aggregator's node copy each piece once, straight between their memory and the buffer. Others send one
//! message a window, packed in file order unless it is one run anyway; both sides know its size from the plan, so no
//! sizes are exchanged.

use super::buffers::{Buffers, Half, Seat};
use crate::comm::Communicator;
use crate::memory::Memory;
use crate::plan::{Access, Round, Window};
use crate::units::{DomainId, Rank};

/// One call's data movement, as this rank sees it.
pub(super) struct Shuffle<'a, C> {
    pub comm: &'a C,
    pub access: &'a Access,
    pub buffers: &'a Buffers,
    /// Which buffer each domain's rounds go through.
    pub seats: &'a [Seat],
    /// The domain this rank serves, with its slot.
    pub mine: Option<(DomainId, usize)>,
    /// What ranks of other nodes ask of it.
    pub others: &'a [(Rank, Access)],
    /// Whether all ranks reach all buffers: then there are no messages.
    pub alone: bool,
    /// Memory for messages, kept from round to round: what this rank sends, and what it receives.
    pub staging: [Vec<u8>; 2],
}

/// The part of an access that lies in a window of another node, as a message.
struct Message<'a> {
    peer: Rank,
    access: &'a Access,
    window: Window,
    bytes: usize,
    /// Where its first byte lies in the collective buffer, and in the stream.
    start: usize,
    stream: u64,
    /// Its file bytes are one run.
    one_run: bool,
}

impl<'a> Message<'a> {
    /// `None` when the access has nothing in the window.
    fn new(peer: Rank, access: &'a Access, window: Window) -> Option<Message<'a>> {
        let bytes = access.bytes_in(window.range);
        let (offset, stream, run) = access.piece_from(window.range.start).filter(|_| bytes > 0)?;
        let start = window.place(offset);
        Some(Message { peer, access, window, bytes: fits(bytes), start, stream, one_run: run >= bytes })
    }

    /// Calls `piece(at in the collective buffer, at in the message, bytes)` for every piece.
    fn pieces(&self, mut piece: impl FnMut(usize, usize, usize)) {
        let mut done = 0;
        self.access.visit(self.window.range, |offset, _, bytes| {
            piece(self.window.place(offset), done, fits(bytes));
            done += fits(bytes);
        });
    }

    /// The message where it lies in this rank's memory, when it is one run there.
    fn in_memory<'m>(&self, memory: &'m Memory<'_>) -> Option<&'m [u8]> {
        let ordered = self.one_run || self.access.in_stream_order();
        let run = ordered.then(|| memory.run(self.stream, self.bytes as u64))?;
        (run.len() == self.bytes).then_some(run)
    }

    /// The message where it lies in the collective buffer, when it is one run there.
    fn in_buffer<'b>(&self, half: Half<'b>) -> Option<&'b [u8]> {
        self.one_run.then(|| half.bytes(self.start, self.bytes))
    }

    /// The same for receiving. Only in a window that the ranks fill without overlap may it be written while other
    /// messages arrive.
    fn in_buffer_mut<'b>(&self, half: Half<'b>) -> Option<&'b mut [u8]> {
        (self.one_run && self.window.filled).then(|| half.bytes_mut(self.start, self.bytes))
    }
}

impl<C: Communicator> Shuffle<'_, C> {
    /// From the ranks' memory into the buffers: one round of a write. Collective.
    pub fn gather(&mut self, rounds: &[Vec<Round>], round: usize, memory: &Memory<'_>) {
        self.near(rounds, round, |half, window| {
            self.access.visit(window.range, |offset, stream, bytes| {
                memory.gather(stream, half.bytes_mut(window.place(offset), fits(bytes)));
            });
        });
        if self.alone {
            return;
        }
        let [mut packed, mut arrived] = std::mem::take(&mut self.staging);
        let (asked, served) = (self.asked(rounds, round), self.served(rounds, round));
        let half = self.my_half(round);
        let sends = sends(
            &asked,
            &mut packed,
            |message| message.in_memory(memory),
            |message, into| {
                let mut done = 0;
                message.access.visit(message.window.range, |_, stream, bytes| {
                    memory.gather(stream, &mut into[done..done + fits(bytes)]);
                    done += fits(bytes);
                });
            },
        );
        let mut receives =
            receives(&served, &mut arrived, |message| half.and_then(|half| message.in_buffer_mut(half)));
        self.comm.exchange(&sends, &mut receives);
        for (message, (_, bytes)) in served.iter().zip(&receives) {
            let Some(half) = half.filter(|&half| message.in_buffer_mut(half).is_none()) else { continue };
            message.pieces(|at, done, len| half.bytes_mut(at, len).copy_from_slice(&bytes[done..done + len]));
        }
        self.staging = [packed, arrived];
    }

    /// From the buffers into the ranks' memory: one round of a read. Collective.
    pub fn scatter(&mut self, rounds: &[Vec<Round>], round: usize, memory: &mut Memory<'_>) {
        self.near(rounds, round, |half, window| {
            self.access.visit(window.range, |offset, stream, bytes| {
                memory.scatter(stream, half.bytes(window.place(offset), fits(bytes)));
            });
        });
        if self.alone {
            return;
        }
        let [mut packed, mut arrived] = std::mem::take(&mut self.staging);
        let (asked, served) = (self.asked(rounds, round), self.served(rounds, round));
        let half = self.my_half(round);
        let sends = sends(
            &served,
            &mut packed,
            |message| half.and_then(|half| message.in_buffer(half)),
            |message, into| {
                let half = half.expect("a rank that serves a domain has its buffer");
                message.pieces(|at, done, len| into[done..done + len].copy_from_slice(half.bytes(at, len)));
            },
        );
        let mut receives = receives(&asked, &mut arrived, |_| None);
        self.comm.exchange(&sends, &mut receives);
        for (message, (_, bytes)) in asked.iter().zip(&receives) {
            let mut done = 0;
            message.access.visit(message.window.range, |_, stream, len| {
                memory.scatter(stream, &bytes[done..done + fits(len)]);
                done += fits(len);
            });
        }
        self.staging = [packed, arrived];
    }

    /// The buffer of the domain that this rank serves.
    pub fn my_half(&self, round: usize) -> Option<Half<'_>> {
        self.mine.map(|(_, slot)| self.buffers.half(slot, round))
    }

    /// Calls `copy` for every window of the round whose buffer this rank can reach.
    fn near(&self, rounds: &[Vec<Round>], round: usize, mut copy: impl FnMut(Half<'_>, &Window)) {
        for (seat, rounds) in self.seats.iter().zip(rounds) {
            let (Seat::Near(slot), Some(windows)) = (*seat, rounds.get(round)) else { continue };
            let half = self.buffers.half(slot, round);
            windows.iter().for_each(|window| copy(half, window));
        }
    }

    /// This rank's parts of windows that other nodes serve.
    fn asked(&self, rounds: &[Vec<Round>], round: usize) -> Vec<Message<'_>> {
        let mut messages = Vec::new();
        for (seat, rounds) in self.seats.iter().zip(rounds) {
            let (Seat::Far(peer), Some(windows)) = (*seat, rounds.get(round)) else { continue };
            messages.extend(windows.iter().filter_map(|&window| Message::new(peer, self.access, window)));
        }
        messages
    }

    /// Other nodes' parts of the windows that this rank serves.
    fn served(&self, rounds: &[Vec<Round>], round: usize) -> Vec<Message<'_>> {
        let windows = self.mine.and_then(|(domain, _)| rounds[domain.index()].get(round));
        let windows = windows.map_or(&[][..], |round| round.as_slice());
        (self.others.iter())
            .flat_map(|(peer, access)| {
                windows.iter().filter_map(move |&window| Message::new(*peer, access, window))
            })
            .collect()
    }
}

/// The messages' bytes: from where they are, or packed one after another.
fn sends<'a>(
    messages: &[Message<'_>],
    packed: &'a mut Vec<u8>,
    straight: impl Fn(&Message<'_>) -> Option<&'a [u8]>,
    mut pack: impl FnMut(&Message<'_>, &mut [u8]),
) -> Vec<(Rank, &'a [u8])> {
    let mut rest = room(messages, packed, |message| straight(message).is_none());
    let one = |message: &Message<'_>| {
        let bytes = straight(message).unwrap_or_else(|| {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(message.bytes);
            rest = tail;
            pack(message, part);
            part
        });
        (message.peer, bytes)
    };
    messages.iter().map(one).collect()
}

/// Where the messages go: to their places, or one after another.
fn receives<'a>(
    messages: &[Message<'_>],
    arrived: &'a mut Vec<u8>,
    straight: impl Fn(&Message<'_>) -> Option<&'a mut [u8]>,
) -> Vec<(Rank, &'a mut [u8])> {
    let mut rest = room(messages, arrived, |message| straight(message).is_none());
    let one = |message: &Message<'_>| {
        let bytes = straight(message).unwrap_or_else(|| {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(message.bytes);
            rest = tail;
            part
        });
        (message.peer, bytes)
    };
    messages.iter().map(one).collect()
}

/// Makes room for the messages that need it.
fn room<'a>(
    messages: &[Message<'_>],
    staging: &'a mut Vec<u8>,
    needs: impl Fn(&Message<'_>) -> bool,
) -> &'a mut [u8] {
    let bytes = messages.iter().filter(|message| needs(message)).map(|message| message.bytes).sum();
    if staging.len() < bytes {
        staging.resize(bytes, 0);
    }
    &mut staging[..bytes]
}

/// A number of bytes, or a distance, inside a window: windows fit memory.
fn fits(bytes: u64) -> usize {
    usize::try_from(bytes).expect("windows fit memory")
}
