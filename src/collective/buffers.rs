//! The collective buffers: where a round's windows are put together.

use crate::comm::{Communicator, Segment};
use crate::units::{Bytes, Rank};

/// The collective buffers of one node, reachable by all its ranks where the system allows it.
///
/// A buffer belongs to a slot (the first, second, ... file domain that the node serves), not to a rank: which rank
/// serves a domain changes from call to call, the memory does not.
pub(super) struct Buffers {
    /// By slot when shared; otherwise this rank's own alone.
    segments: Vec<Segment>,
    half_bytes: usize,
    halves: usize,
    /// Whether the node's ranks copy straight into them; otherwise every rank sends messages.
    pub shared: bool,
}

impl Buffers {
    /// `slots` buffers of at least `bytes`, doubled when `double`: shared memory of the node if there can be, private
    /// memory otherwise. Collective over the node.
    pub fn new<C: Communicator>(node: &C, slots: u32, bytes: Bytes, double: bool) -> Buffers {
        let half_bytes =
            usize::try_from(bytes).expect("the collective buffer fits memory").next_multiple_of(4096);
        let halves = if double { 2 } else { 1 };
        let mine = if node.rank().0 < slots { halves * half_bytes } else { 0 };
        match node.share(mine) {
            Some(segments) => Buffers { segments, half_bytes, halves, shared: true },
            None => {
                let segments = vec![Segment::heap(half_bytes)];
                Buffers { segments, half_bytes, halves: 1, shared: false }
            }
        }
    }

    /// Whether they can serve windows of this size.
    pub fn fits(&self, bytes: Bytes) -> bool {
        bytes <= self.half_bytes as u64
    }

    /// How many rounds can be in a buffer at once.
    pub fn halves(&self) -> usize {
        self.halves
    }

    /// The buffer of a slot of this node, for round `round`.
    pub fn half(&self, slot: usize, round: usize) -> Half<'_> {
        let segment = if self.shared { &self.segments[slot] } else { &self.segments[0] };
        Half { segment, base: round % self.halves * self.half_bytes, bytes: self.half_bytes }
    }
}

/// The part of a collective buffer that one round uses.
#[derive(Clone, Copy)]
pub(super) struct Half<'a> {
    segment: &'a Segment,
    base: usize,
    bytes: usize,
}

impl<'a> Half<'a> {
    /// The bytes `[at, at + len)`, for reading. The rounds' barriers see to it that nobody writes them meanwhile.
    pub fn bytes(self, at: usize, len: usize) -> &'a [u8] {
        assert!(at + len <= self.bytes, "inside the half");
        self.segment.slice(self.base + at..self.base + at + len)
    }

    /// The bytes `[at, at + len)`, for writing. The rounds' barriers, and the windows' being filled by disjoint pieces,
    /// see to it that nobody else touches them meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub fn bytes_mut(self, at: usize, len: usize) -> &'a mut [u8] {
        assert!(at + len <= self.bytes, "inside the half");
        self.segment.slice_mut(self.base + at..self.base + at + len)
    }
}

/// Which buffer each domain's rounds go through, as this rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    /// On this node (or on this rank itself): the slot.
    Near(usize),
    /// Elsewhere: messages to this rank.
    Far(Rank),
}
