//! The compact form of a set of bytes: nested strides where there is regularity, lists only where there is none.
//!
//! A [`Node`] describes *bytes in stream order*: byte `s` of the stream lies at some position relative to the node's
//! first byte, which is always position 0 ([`Placed`] carries the displacement). A subarray of millions of rows is two
//! or three nested [`Shape::Every`]; an indexed type without regularity is one [`Shape::Runs`] with 16 bytes a run.
//! Every question the planner asks (bytes below a file position, coverage of a window) is answered without visiting
//! the pieces, in time of the nesting depth and the logarithm of list lengths.

use super::coverage::{Coverage, power, repeat};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A node and the position of its first stream byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub at: i64,
    pub node: Arc<Node>,
}

/// A set of bytes in stream order, with position 0 at the first of them.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Stream bytes; never 0.
    pub bytes: u64,
    /// Contiguous pieces, as far as the form shows them.
    pub pieces: u64,
    /// The lowest position; 0 when sorted.
    pub low: i64,
    /// One past the highest position.
    pub high: i64,
    /// Stream order is position order and no byte occurs twice.
    pub sorted: bool,
    pub shape: Shape,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// All bytes in one run.
    Run,
    /// `inner` repeated, its first bytes `stride` apart.
    Every { count: u64, stride: i64, inner: Arc<Node> },
    /// Runs at `at[i]`, holding the stream bytes `start[i]..start[i + 1]`.
    Runs { at: Vec<i64>, start: Vec<u64> },
    /// Nodes at `at[i]`, whose stream begins at `start[i]`; one more start at the end.
    List { at: Vec<i64>, start: Vec<u64>, inner: Vec<Arc<Node>> },
}

impl Placed {
    /// One run of `bytes` (not 0) at `at`.
    pub fn run(at: i64, bytes: u64) -> Option<Placed> {
        let high = i64::try_from(bytes).ok()?;
        let node = Node { bytes, pieces: 1, low: 0, high, sorted: true, shape: Shape::Run };
        Some(Placed { at, node: Arc::new(node) })
    }

    /// This node `count` times (not 0), `stride` apart; `None` where a position leaves 63 bits.
    pub fn every(self, count: u64, stride: i64) -> Option<Placed> {
        let inner = &self.node;
        if count == 1 {
            return Some(self);
        }
        if let (Shape::Run, true) = (&inner.shape, i64::try_from(inner.bytes) == Ok(stride)) {
            return Placed::run(self.at, inner.bytes.checked_mul(count)?);
        }
        if let Shape::Every { count: inside, stride: step, inner: deeper } = &inner.shape
            && step.checked_mul(i64::try_from(*inside).ok()?) == Some(stride)
        {
            let whole = Placed { at: self.at, node: Arc::clone(deeper) };
            return whole.every(inside.checked_mul(count)?, *step);
        }
        let last = stride.checked_mul(i64::try_from(count - 1).ok()?)?;
        let node = Node {
            bytes: inner.bytes.checked_mul(count)?,
            pieces: inner.pieces.checked_mul(count)?,
            low: inner.low.checked_add(last.min(0))?,
            high: inner.high.checked_add(last.max(0))?,
            sorted: inner.sorted && stride >= inner.high,
            shape: Shape::Every { count, stride, inner: Arc::clone(inner) },
        };
        self.at.checked_add(node.low)?;
        self.at.checked_add(node.high)?;
        Some(Placed { at: self.at, node: Arc::new(node) })
    }

    /// Moved by `by`; `None` where a position leaves 63 bits.
    pub fn shifted(self, by: i64) -> Option<Placed> {
        let at = self.at.checked_add(by)?;
        at.checked_add(self.node.low)?;
        at.checked_add(self.node.high)?;
        Some(Placed { at, node: self.node })
    }

    /// The lowest position.
    pub fn low(&self) -> i64 {
        self.at + self.node.low
    }
}

/// Collects parts in stream order and finds the regularity in them: neighbours that touch become one run, equal parts
/// at equal distances become an [`Shape::Every`].
#[derive(Default)]
pub(crate) struct ListBuilder {
    at: Vec<i64>,
    bytes: Vec<u64>,
    /// The parts that are no runs, by index; few lists have any.
    nodes: Vec<(usize, Arc<Node>)>,
}

impl ListBuilder {
    /// Adds one run; an empty one adds nothing.
    pub fn push_run(&mut self, at: i64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let last_is_run = self.nodes.last().is_none_or(|(index, _)| index + 1 != self.at.len());
        if let (Some(&last_at), Some(last_bytes), true) = (self.at.last(), self.bytes.last_mut(), last_is_run)
            && i64::try_from(*last_bytes).ok().and_then(|len| last_at.checked_add(len)) == Some(at)
        {
            *last_bytes += bytes;
            return;
        }
        self.at.push(at);
        self.bytes.push(bytes);
    }

    /// Adds any part.
    pub fn push(&mut self, part: Placed) {
        if let Shape::Run = part.node.shape {
            return self.push_run(part.at, part.node.bytes);
        }
        self.nodes.push((self.at.len(), Arc::clone(&part.node)));
        self.at.push(part.at);
        self.bytes.push(part.node.bytes);
    }

    /// The parts as one node; `None` inside when there are none, `None` outside where a position leaves 63 bits.
    pub fn finish(self) -> Option<Option<Placed>> {
        let Some(&first) = self.at.first() else { return Some(None) };
        if let Some(regular) = self.as_every() {
            return regular.map(Some);
        }
        let inner = self.inner();
        let mut start = Vec::with_capacity(self.at.len() + 1);
        start.push(0u64);
        let mut node =
            Node { bytes: 0, pieces: 0, low: i64::MAX, high: i64::MIN, sorted: true, shape: Shape::Run };
        let mut at = self.at;
        let mut end_before = i64::MIN;
        for (index, position) in at.iter_mut().enumerate() {
            *position = position.checked_sub(first)?;
            let (low, high, pieces, sorted) = match &inner {
                Some(inner) => {
                    let part = &inner[index];
                    (part.low, part.high, part.pieces, part.sorted)
                }
                None => (0, i64::try_from(self.bytes[index]).ok()?, 1, true),
            };
            let (low, high) = (position.checked_add(low)?, position.checked_add(high)?);
            node.sorted &= sorted && low >= end_before;
            end_before = high;
            node.low = node.low.min(low);
            node.high = node.high.max(high);
            node.pieces = node.pieces.checked_add(pieces)?;
            node.bytes = node.bytes.checked_add(self.bytes[index])?;
            start.push(node.bytes);
        }
        first.checked_add(node.low)?;
        first.checked_add(node.high)?;
        node.shape = match inner {
            Some(inner) => Shape::List { at, start, inner },
            None => Shape::Runs { at, start },
        };
        Some(Some(Placed { at: first, node: Arc::new(node) }))
    }

    /// The same part at equal distances, when that is what the list is.
    fn as_every(&self) -> Option<Option<Placed>> {
        let count = self.at.len();
        let same = match self.nodes.len() {
            0 => self.bytes.iter().all(|&bytes| bytes == self.bytes[0]),
            n if n == count => self.nodes.iter().all(|(_, node)| *node == self.nodes[0].1),
            _ => false,
        };
        if !same {
            return None;
        }
        let part = match self.nodes.first() {
            Some((_, node)) => Placed { at: self.at[0], node: Arc::clone(node) },
            None => Placed::run(self.at[0], self.bytes[0])?,
        };
        if count == 1 {
            return Some(Some(part));
        }
        let stride = self.at[1].checked_sub(self.at[0])?;
        let regular = self.at.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(stride));
        regular.then(|| part.every(count as u64, stride))
    }

    /// Every part as a node, when any of them is more than a run.
    fn inner(&self) -> Option<Vec<Arc<Node>>> {
        if self.nodes.is_empty() {
            return None;
        }
        let mut nodes = self.nodes.iter().peekable();
        let inner = self.bytes.iter().enumerate().map(|(index, &bytes)| {
            match nodes.next_if(|(position, _)| *position == index) {
                Some((_, node)) => Arc::clone(node),
                None => Placed::run(0, bytes).expect("a pushed run fits 63 bits").node,
            }
        });
        Some(inner.collect())
    }
}

impl Node {
    /// Calls `piece(position, stream, bytes)` for the stream bytes `[from, to)`, in stream order. `at` is where the
    /// node lies, `stream` the number its first stream byte has for the caller.
    pub fn visit(&self, at: i64, stream: u64, from: u64, to: u64, piece: &mut impl FnMut(i64, u64, u64)) {
        if from >= to {
            return;
        }
        match &self.shape {
            Shape::Run => piece(at + signed(from), stream + from, to - from),
            Shape::Every { stride, inner, .. } => {
                let size = inner.bytes;
                let (first, last) = (from / size, (to - 1) / size);
                let mut position = at + stride * signed(first);
                let mut begin = first * size;
                if let (Shape::Run, 0, true) = (&inner.shape, from - begin, to - last * size == size) {
                    // The loop that most time goes to: whole runs at equal distances.
                    for _ in first..=last {
                        piece(position, stream + begin, size);
                        position += stride;
                        begin += size;
                    }
                    return;
                }
                for _ in first..=last {
                    let (low, high) = (from.max(begin) - begin, to.min(begin + size) - begin);
                    inner.visit(position, stream + begin, low, high, piece);
                    position += stride;
                    begin += size;
                }
            }
            Shape::Runs { at: positions, start } => {
                let first = start.partition_point(|&s| s <= from) - 1;
                for index in first..positions.len() {
                    let (begin, end) = (start[index].max(from), start[index + 1].min(to));
                    if begin >= end {
                        break;
                    }
                    piece(at + positions[index] + signed(begin - start[index]), stream + begin, end - begin);
                }
            }
            Shape::List { at: positions, start, inner } => {
                let first = start.partition_point(|&s| s <= from) - 1;
                for index in first..positions.len() {
                    let (begin, end) = (start[index].max(from), start[index + 1].min(to));
                    if begin >= end {
                        break;
                    }
                    let origin = start[index];
                    inner[index].visit(
                        at + positions[index],
                        stream + origin,
                        begin - origin,
                        end - origin,
                        piece,
                    );
                }
            }
        }
    }

    /// Where stream byte `from` lies when the node lies at `at`, and how many bytes from there on are in one run.
    pub fn run_from(&self, at: i64, from: u64) -> (i64, u64) {
        match &self.shape {
            Shape::Run => (at + signed(from), self.bytes - from),
            Shape::Every { stride, inner, .. } => {
                let index = from / inner.bytes;
                inner.run_from(at + stride * signed(index), from - index * inner.bytes)
            }
            Shape::Runs { at: positions, start } => {
                let index = start.partition_point(|&s| s <= from) - 1;
                (at + positions[index] + signed(from - start[index]), start[index + 1] - from)
            }
            Shape::List { at: positions, start, inner } => {
                let index = start.partition_point(|&s| s <= from) - 1;
                inner[index].run_from(at + positions[index], from - start[index])
            }
        }
    }

    /// How many stream bytes lie below `position`. Only for a sorted node.
    pub fn below(&self, position: i64) -> u64 {
        debug_assert!(self.sorted);
        if position <= 0 {
            return 0;
        }
        if position >= self.high {
            return self.bytes;
        }
        match &self.shape {
            Shape::Run => position.unsigned_abs(),
            Shape::Every { stride, inner, .. } => {
                let whole = position / stride;
                whole.unsigned_abs() * inner.bytes + inner.below(position - whole * stride)
            }
            Shape::Runs { at, start } => {
                let index = at.partition_point(|&a| a < position) - 1;
                let inside = (position - at[index]).unsigned_abs();
                start[index] + inside.min(start[index + 1] - start[index])
            }
            Shape::List { at, start, inner } => {
                let index = at.partition_point(|&a| a < position) - 1;
                start[index] + inner[index].below(position - at[index])
            }
        }
    }

    /// The coverage fingerprint of the stream bytes `[from, to)` of a sorted node that lies at `at`, a position in a
    /// window; see [`Coverage`]. Whole repetitions cost a closed form, not a visit.
    pub fn coverage(&self, at: i64, from: u64, to: u64) -> Coverage {
        if from >= to {
            return Coverage::default();
        }
        match &self.shape {
            Shape::Run => Coverage::run(position(at + signed(from)), to - from),
            Shape::Every { stride, inner, .. } => {
                let size = inner.bytes;
                let (first_whole, end_whole) = (from.div_ceil(size), to / size);
                if first_whole >= end_whole {
                    // Parts of one or two repetitions.
                    let middle = to.min(first_whole * size).max(from);
                    let before = from / size;
                    let mut sum = inner.coverage(
                        at + stride * signed(before),
                        from - before * size,
                        middle - before * size,
                    );
                    if middle < to {
                        let last = middle / size;
                        sum += inner.coverage(
                            at + stride * signed(last),
                            middle - last * size,
                            to - last * size,
                        );
                    }
                    return sum;
                }
                let count = end_whole - first_whole;
                let one = inner.coverage(0, 0, size);
                let whole = repeat(one, count, stride.unsigned_abs())
                    .shifted(power(position(at + stride * signed(first_whole))));
                let head = self.coverage(at, from, first_whole * size);
                let tail = self.coverage(at, end_whole * size, to);
                whole + head + tail
            }
            _ => {
                let mut sum = Coverage::default();
                self.visit(at, 0, from, to, &mut |start, _, bytes| {
                    sum += Coverage::run(position(start), bytes)
                });
                sum
            }
        }
    }

    /// The shortest stride of at least `at_least` bytes.
    pub fn period(&self, at_least: u64) -> Option<u64> {
        match &self.shape {
            Shape::Every { stride, inner, .. } => {
                let own = u64::try_from(*stride).ok().filter(|&stride| stride >= at_least);
                inner.period(at_least).into_iter().chain(own).min()
            }
            Shape::Run | Shape::Runs { .. } | Shape::List { .. } => None,
        }
    }

    /// How many list entries the form holds: what it costs to keep and to send, beyond a constant.
    pub fn entries(&self) -> u64 {
        match &self.shape {
            Shape::Run => 1,
            Shape::Every { inner, .. } => 1 + inner.entries(),
            Shape::Runs { at, .. } => at.len() as u64,
            Shape::List { inner, .. } => inner.iter().map(|node| 1 + node.entries()).sum(),
        }
    }
}

/// A stream or repetition number as a factor of positions. Every node's positions were checked when it was built.
fn signed(value: u64) -> i64 {
    debug_assert!(i64::try_from(value).is_ok());
    value.cast_signed()
}

/// A position inside a window, which never lies before its start.
fn position(value: i64) -> u64 {
    debug_assert!(value >= 0);
    value.cast_unsigned()
}
