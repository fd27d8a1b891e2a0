//! Moving one round's data between the ranks and the collective buffers.
//!
//! Ranks of the aggregator's node copy each piece once, straight between their memory and the buffer. Others send one
//! message an aggregator, packed in file order unless it is one run anyway; both sides know its size from the plan, so
//! no sizes are exchanged.

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

/// The part of an access that lies in another node's windows of a round, as a message.
struct Message<'a> {
    peer: Rank,
    access: &'a Access,
    windows: &'a [Window],
    bytes: usize,
    /// Where its file bytes lie in the collective buffer when they are one run there, and whether the ranks fill that
    /// window.
    run: Option<(usize, bool)>,
    /// Where it begins in the stream, when it is one run there.
    stream: Option<u64>,
}

impl<'a> Message<'a> {
    /// `None` when the access has nothing in the windows.
    fn new(peer: Rank, access: &'a Access, windows: &'a [Window]) -> Option<Message<'a>> {
        let mut message = Message { peer, access, windows, bytes: 0, run: None, stream: None };
        for window in windows {
            let bytes = access.bytes_in(window.range);
            let Some((offset, stream, run)) = access.piece_from(window.range.start).filter(|_| bytes > 0)
            else {
                continue;
            };
            let one_run = run >= bytes;
            if message.bytes == 0 {
                message.run = one_run.then(|| (window.place(offset), window.filled));
                message.stream = (one_run || access.in_stream_order()).then_some(stream);
            } else {
                let next = message.stream.map(|begin| begin + message.bytes as u64);
                message.run = None;
                message.stream = message.stream.filter(|_| access.in_stream_order() && next == Some(stream));
            }
            message.bytes += fits(bytes);
        }
        (message.bytes > 0).then_some(message)
    }

    /// Calls `piece(at in the collective buffer, stream, at in the message, bytes)` for every piece.
    fn pieces(&self, mut piece: impl FnMut(usize, u64, usize, usize)) {
        let mut done = 0;
        for window in self.windows {
            self.access.visit(window.range, |offset, stream, bytes| {
                piece(window.place(offset), stream, done, fits(bytes));
                done += fits(bytes);
            });
        }
    }

    /// The message where it lies in this rank's memory, when it is one run there.
    fn in_memory<'m>(&self, memory: &'m Memory<'_>) -> Option<&'m [u8]> {
        let run = memory.run(self.stream?, self.bytes as u64);
        (run.len() == self.bytes).then_some(run)
    }

    /// The message where it lies in the collective buffer, when it is one run there.
    fn in_buffer<'b>(&self, half: Half<'b>) -> Option<&'b [u8]> {
        self.run.map(|(start, _)| half.bytes(start, self.bytes))
    }

    /// The same for receiving. Only in a window that the ranks fill without overlap may it be written while other
    /// messages arrive.
    fn in_buffer_mut<'b>(&self, half: Half<'b>) -> Option<&'b mut [u8]> {
        self.run.filter(|&(_, filled)| filled).map(|(start, _)| half.bytes_mut(start, self.bytes))
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
                message.pieces(|_, stream, done, len| memory.gather(stream, &mut into[done..done + len]));
            },
        );
        let mut receives =
            receives(&served, &mut arrived, |message| half.and_then(|half| message.in_buffer_mut(half)));
        self.comm.exchange(&sends, &mut receives);
        for (message, (_, bytes)) in served.iter().zip(&receives) {
            let Some(half) = half.filter(|&half| message.in_buffer_mut(half).is_none()) else { continue };
            message
                .pieces(|at, _, done, len| half.bytes_mut(at, len).copy_from_slice(&bytes[done..done + len]));
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
                message
                    .pieces(|at, _, done, len| into[done..done + len].copy_from_slice(half.bytes(at, len)));
            },
        );
        let mut receives = receives(&asked, &mut arrived, |_| None);
        self.comm.exchange(&sends, &mut receives);
        for (message, (_, bytes)) in asked.iter().zip(&receives) {
            message.pieces(|_, stream, done, len| memory.scatter(stream, &bytes[done..done + len]));
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
    fn asked<'r>(&'r self, rounds: &'r [Vec<Round>], round: usize) -> Vec<Message<'r>> {
        let far = |(seat, rounds): (&Seat, &'r Vec<Round>)| match (*seat, rounds.get(round)) {
            (Seat::Far(peer), Some(windows)) => Message::new(peer, self.access, windows),
            _ => None,
        };
        self.seats.iter().zip(rounds).filter_map(far).collect()
    }

    /// Other nodes' parts of the windows that this rank serves.
    fn served<'r>(&'r self, rounds: &'r [Vec<Round>], round: usize) -> Vec<Message<'r>> {
        let windows = self.mine.and_then(|(domain, _)| rounds[domain.index()].get(round));
        let windows: &[Window] = windows.map_or(&[], |round| round.as_slice());
        self.others.iter().filter_map(|(peer, access)| Message::new(*peer, access, windows)).collect()
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
