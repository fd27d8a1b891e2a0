//! What one rank asks for in one call, as file bytes in file order.

use super::coverage::Coverage;
use super::layout::Layout;
use super::node::{Node, Placed};
use crate::error::{Error, ErrorClass};
use crate::units::{ByteRange, Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A file view: the filetype tiles the file from `displacement` on (MPI-4.1, section 14.3).
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Where the first tile starts, in bytes.
    pub displacement: Offset,
    /// Which bytes of a tile are seen, in which order.
    pub filetype: Layout,
    /// The unit of offsets, in bytes.
    pub etype_bytes: Bytes,
}

impl View {
    /// The view of a file just opened: all bytes, one by one.
    pub fn bytes() -> View {
        let filetype = Layout::bytes(1).expect("one byte fits");
        View { displacement: 0, filetype, etype_bytes: 1 }
    }
}

/// A flattened request: file bytes in file order, each with its place in the stream of the caller's data.
///
/// A view with regularity stays in nested strides, whatever the number of pieces; a list is made only of a view whose
/// bytes are not in file order or overlap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    bytes: Bytes,
    hull: ByteRange,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Form {
    /// The stream bytes `[skip, skip + bytes)` of a sorted node at `at`.
    Nested { at: i64, node: Arc<Node>, skip: u64 },
    /// Pieces by offset, and the furthest end of the pieces up to each.
    List { pieces: Vec<Piece>, reach: Vec<Offset> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    offset: Offset,
    stream: u64,
    bytes: Bytes,
}

/// Lists of more pieces are not looked at as a whole: the windows that hold them will be, one by one.
const TILING_PIECES_MAX: usize = 1 << 16;

impl Access {
    /// No bytes.
    pub fn empty() -> Access {
        Access::of_pieces(Vec::new())
    }

    /// The bytes `[from, from + bytes)` of the data stream that `view` shows.
    ///
    /// Errors: a view without data that is asked for some, or one that reaches below offset 0 or past 2^63.
    pub fn new(view: &View, from: u64, bytes: Bytes) -> Result<Access, Error> {
        if bytes == 0 {
            return Ok(Access::empty());
        }
        let invalid = |what: &str| Error::Invalid { class: ErrorClass::Arg, what: what.into() };
        let Some(tile) = &view.filetype.body else {
            return Err(invalid("the file view's filetype holds no data, but data was asked for"));
        };
        let far = || invalid("the request reaches past the largest file offset, 2^63 - 1");
        let size = tile.node.bytes;
        let (first_tile, skip) = (from / size, from % size);
        let tiles = skip.checked_add(bytes).ok_or_else(far)?.div_ceil(size);
        let extent = view.filetype.extent();
        let placed = i64::try_from(first_tile)
            .ok()
            .and_then(|tile| extent.checked_mul(tile)?.checked_add_unsigned(view.displacement))
            .and_then(|at| tile.clone().every(tiles, extent)?.shifted(at))
            .ok_or_else(far)?;
        if placed.low() < 0 {
            return Err(invalid("the file view reaches below offset 0"));
        }
        Ok(if placed.node.sorted {
            Access::nested(placed, skip, bytes)
        } else {
            Access::sorted_list(&placed, skip, bytes)
        })
    }

    fn nested(placed: Placed, skip: u64, bytes: Bytes) -> Access {
        let start = offset(placed.node.run_from(placed.at, skip).0);
        let end = offset(placed.node.run_from(placed.at, skip + bytes - 1).0) + 1;
        let form = Form::Nested { at: placed.at, node: placed.node, skip };
        Access { bytes, hull: ByteRange::new(start, end), form }
    }

    fn sorted_list(placed: &Placed, skip: u64, bytes: Bytes) -> Access {
        let mut pieces = Vec::new();
        placed.node.visit(placed.at, 0, skip, skip + bytes, &mut |at, stream, bytes| {
            pieces.push(Piece { offset: offset(at), stream: stream - skip, bytes });
        });
        pieces.sort_by_key(|piece| (piece.offset, piece.stream));
        Access::of_pieces(pieces)
    }

    fn of_pieces(pieces: Vec<Piece>) -> Access {
        let mut furthest = 0;
        let reach: Vec<Offset> = (pieces.iter())
            .map(|piece| {
                furthest = furthest.max(piece.offset + piece.bytes);
                furthest
            })
            .collect();
        let start = pieces.first().map_or(0, |piece| piece.offset);
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        Access { bytes, hull: ByteRange::new(start, furthest), form: Form::List { pieces, reach } }
    }

    /// Bytes asked for, counting a file byte that is read twice twice.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// From the first to the last file byte.
    pub fn hull(&self) -> ByteRange {
        self.hull
    }

    /// Whether each file byte is asked for at most once.
    pub fn disjoint(&self) -> bool {
        match &self.form {
            Form::Nested { .. } => true,
            Form::List { pieces, reach } => {
                pieces.iter().skip(1).zip(reach).all(|(piece, &reach)| piece.offset >= reach)
            }
        }
    }

    /// Whether pieces in file order are in stream order, without gaps.
    pub fn in_stream_order(&self) -> bool {
        matches!(self.form, Form::Nested { .. })
    }

    /// Calls `piece(offset, stream, bytes)` for every piece inside `window`, in file order; a piece that crosses the
    /// window's ends is cut there.
    pub fn visit(&self, window: ByteRange, mut piece: impl FnMut(Offset, u64, Bytes)) {
        match &self.form {
            Form::Nested { at, node, skip } => {
                let (from, to) = self.stream_range(window);
                node.visit(*at, 0, from, to, &mut |at, stream, bytes| {
                    piece(offset(at), stream - skip, bytes)
                });
            }
            Form::List { pieces, .. } => {
                for candidate in &pieces[self.touching(window)] {
                    let whole = ByteRange::new(candidate.offset, candidate.offset + candidate.bytes);
                    let part = whole.intersect(window);
                    if !part.is_empty() {
                        piece(part.start, candidate.stream + (part.start - whole.start), part.len());
                    }
                }
            }
        }
    }

    /// Bytes inside `window`.
    pub fn bytes_in(&self, window: ByteRange) -> Bytes {
        match &self.form {
            Form::Nested { .. } => {
                let (from, to) = self.stream_range(window);
                to - from
            }
            Form::List { .. } => {
                let mut sum = 0;
                self.visit(window, |_, _, bytes| sum += bytes);
                sum
            }
        }
    }

    /// What this access contributes to `window`'s being filled.
    pub fn coverage(&self, window: ByteRange) -> Coverage {
        match &self.form {
            Form::Nested { at, node, .. } => {
                let (from, to) = self.stream_range(window);
                node.coverage(at - window.start.cast_signed(), from, to)
            }
            Form::List { .. } => {
                let mut sum = Coverage::default();
                self.visit(window, |offset, _, bytes| sum += Coverage::run(offset - window.start, bytes));
                sum
            }
        }
    }

    /// What this access contributes to every byte of a range being asked for exactly once: the coverage of the whole file.
    /// A list that is too long to be worth it contributes what no range is made of.
    pub fn tiling(&self) -> Coverage {
        match &self.form {
            Form::List { pieces, .. } if pieces.len() > TILING_PIECES_MAX => Coverage::of_bytes(self.bytes),
            Form::Nested { node, .. } if node.entries() > TILING_PIECES_MAX as u64 => {
                Coverage::of_bytes(self.bytes)
            }
            _ => self.coverage(ByteRange::new(0, Offset::MAX)),
        }
    }

    /// The shortest distance, of at least `at_least` bytes, at which the access repeats; `None` when it does not.
    pub fn period(&self, at_least: Bytes) -> Option<Bytes> {
        match &self.form {
            Form::Nested { node, .. } => node.period(at_least),
            Form::List { .. } => None,
        }
    }

    /// The first piece at or after `from`, as (offset, stream, bytes); one that `from` cuts starts there.
    pub fn piece_from(&self, from: Offset) -> Option<(Offset, u64, Bytes)> {
        if from >= self.hull.end {
            return None;
        }
        let rest = ByteRange::new(from, self.hull.end);
        match &self.form {
            Form::Nested { at, node, skip } => {
                let (begin, end) = self.stream_range(rest);
                let (start, run) = node.run_from(*at, begin);
                Some((offset(start), begin - skip, run.min(end - begin)))
            }
            Form::List { pieces, reach } => {
                let index = reach.partition_point(|&reach| reach <= from);
                let piece = pieces.get(index)?;
                let cut = from.saturating_sub(piece.offset);
                Some((piece.offset + cut, piece.stream + cut, piece.bytes - cut))
            }
        }
    }

    /// How many bytes of the stream, from its beginning, lie before the first one at or past `end_of_file`: what a read
    /// delivers.
    pub fn delivered(&self, end_of_file: Offset) -> Bytes {
        match &self.form {
            Form::Nested { .. } => self.bytes_in(ByteRange::new(0, end_of_file)),
            Form::List { pieces, .. } => (pieces.iter())
                .filter(|piece| piece.offset + piece.bytes > end_of_file)
                .map(|piece| piece.stream + end_of_file.saturating_sub(piece.offset))
                .min()
                .unwrap_or(self.bytes),
        }
    }

    /// This access, or the part of it inside `range`, in bytes for another rank: whichever is the smaller. Stream
    /// positions are lost when a part is taken; offsets and their order are not.
    pub fn encode_for(&self, range: ByteRange) -> Vec<u8> {
        let portion = match &self.form {
            Form::Nested { node, .. } if node.entries() <= SMALL_FORM => None,
            _ => {
                let mut list = Vec::new();
                self.visit(range, |offset, stream, bytes| list.push(Piece { offset, stream, bytes }));
                Some(Access::of_pieces(list))
            }
        };
        postcard::to_stdvec(portion.as_ref().unwrap_or(self)).expect("serialising to memory cannot fail")
    }

    /// An access that [`Access::encode_for`] of another rank of the same job made. Panics on anything else: the two
    /// libraries then differ, and nothing that follows would be right.
    pub fn decode(bytes: &[u8]) -> Access {
        postcard::from_bytes(bytes).expect("all ranks run the same tatpio")
    }

    /// The stream bytes of the nested form that lie inside `window`.
    fn stream_range(&self, window: ByteRange) -> (u64, u64) {
        let Form::Nested { at, node, skip } = &self.form else {
            unreachable!("asked of the nested form only")
        };
        let below = |end: Offset| {
            let position = i64::try_from(end).unwrap_or(i64::MAX).saturating_sub(*at);
            node.below(position).clamp(*skip, skip + self.bytes)
        };
        let from = below(window.start);
        (from, below(window.end).max(from))
    }

    /// The indices of list pieces that may touch `window`.
    fn touching(&self, window: ByteRange) -> std::ops::Range<usize> {
        let Form::List { pieces, reach } = &self.form else { unreachable!("asked of the list form only") };
        let first = reach.partition_point(|&reach| reach <= window.start);
        let end = pieces.partition_point(|piece| piece.offset < window.end);
        first.min(end)..end
    }
}

/// Forms up to this many list entries are sent whole: cutting them would cost more than it saves.
const SMALL_FORM: u64 = 64;

/// A position of a placed node that was checked to lie at or past 0.
fn offset(position: i64) -> Offset {
    debug_assert!(position >= 0);
    position.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every byte of an access, as (offset, stream), by visiting.
    fn bytes_of(access: &Access, window: ByteRange) -> Vec<(Offset, u64)> {
        let mut found = Vec::new();
        access.visit(window, |offset, stream, bytes| {
            found.extend((0..bytes).map(|i| (offset + i, stream + i)));
        });
        found
    }

    /// The same straight from the definition of a view.
    fn naive(
        blocks: &[(i64, u64)],
        extent: i64,
        displacement: u64,
        from: u64,
        bytes: u64,
    ) -> Vec<(Offset, u64)> {
        let tile: Vec<i64> = (blocks.iter()).flat_map(|&(at, len)| at..at + len.cast_signed()).collect();
        let mut all: Vec<(Offset, u64)> = (0..bytes)
            .map(|i| {
                let (tiles, inside) = ((from + i) / tile.len() as u64, (from + i) % tile.len() as u64);
                let at = tile[inside as usize] + tiles.cast_signed() * extent;
                ((at + displacement.cast_signed()).cast_unsigned(), i)
            })
            .collect();
        all.sort();
        all
    }

    fn blocks() -> impl Strategy<Value = Vec<(i64, u64)>> {
        proptest::collection::vec((0..200i64, 1..9u64), 1..8)
    }

    proptest! {
        /// All questions about an access have the answers that its bytes, listed one by one, give; sorted views,
        /// unsorted and overlapping ones alike.
        #[test]
        fn answers_match_the_bytes(
            raw in blocks(), sort in any::<bool>(), gap in 0..40i64, nest in 1..4u64,
            displacement in 0..100u64, from in 0..300u64, bytes in 0..300u64,
            start in 0..1500u64, len in 0..600u64,
        ) {
            let mut blocks = raw;
            if sort {
                let mut next = 0;
                for block in &mut blocks {
                    block.0 = next + block.0 % 7;
                    next = block.0 + block.1.cast_signed();
                }
            }
            let span = blocks.iter().map(|b| b.0 + b.1.cast_signed()).max().unwrap();
            let listed: Vec<_> = blocks.iter().map(|&(at, len)| (len, at)).collect();
            let byte = Layout::bytes(1).unwrap();
            let one = Layout::hindexed(&listed, &byte).unwrap();
            let filetype = Layout::hvector(nest, 1, span + gap, &one).unwrap();
            let repeated: Vec<(i64, u64)> = (0..nest.cast_signed())
                .flat_map(|i| blocks.iter().map(move |&(at, len)| (at + i * (span + gap), len)))
                .collect();
            let low = blocks.iter().map(|b| b.0).min().unwrap();
            let view = View { displacement, filetype: filetype.clone(), etype_bytes: 1 };
            prop_assert_eq!(filetype.extent(), span + (span + gap) * (nest.cast_signed() - 1) - low);
            let access = Access::new(&view, from, bytes).unwrap();
            let expected = naive(&repeated, filetype.extent(), displacement, from, bytes);
            let window = ByteRange::new(start, start + len);
            let inside: Vec<_> =
                expected.iter().copied().filter(|&(at, _)| start <= at && at < start + len).collect();

            let everything = ByteRange::new(0, 1 << 40);
            let mut seen = bytes_of(&access, everything);
            prop_assert!(seen.is_sorted_by_key(|&(at, _)| at) || !access.disjoint());
            seen.sort();
            prop_assert_eq!(&seen, &expected);
            let mut seen = bytes_of(&access, window);
            seen.sort();
            prop_assert_eq!(&seen, &inside);
            prop_assert_eq!(access.bytes_in(window), inside.len() as u64);
            prop_assert_eq!(access.bytes(), bytes);
            let hull = (expected.first().map_or(0, |b| b.0), expected.last().map_or(0, |b| b.0 + 1));
            prop_assert_eq!(access.hull(), ByteRange::new(hull.0, hull.1));
            let end = expected.iter().filter(|b| b.0 >= start).map(|b| b.1).min().unwrap_or(bytes);
            if expected.is_sorted_by_key(|b| b.1) || !matches!(access.form, Form::Nested { .. }) {
                prop_assert_eq!(access.delivered(start), end);
            }
            let next = expected.iter().filter(|b| b.0 >= start).map(|b| b.0).next();
            prop_assert_eq!(access.piece_from(start).map(|piece| piece.0), next);
            let once = expected.windows(2).all(|pair| pair[0].0 < pair[1].0);
            prop_assert_eq!(access.disjoint(), once);
            let covered = inside.iter().map(|&(at, _)| Coverage::run(at - start, 1)).fold(Coverage::default(), |a, b| a + b);
            prop_assert_eq!(access.coverage(window), covered);
            let sent = Access::decode(&access.encode_for(window));
            let mut received: Vec<_> = bytes_of(&sent, window);
            received.sort();
            prop_assert_eq!(received, inside);
        }
    }

    /// Ten million rows: kilobytes, and answers without visiting them.
    #[test]
    fn ten_million_pieces_stay_small() {
        let element = Layout::bytes(8).unwrap();
        let sizes = [4000, 5000, 64];
        let filetype =
            Layout::subarray(&sizes, &[3200, 4000, 16], &[1, 1, 1], crate::plan::Order::C, &element).unwrap();
        let view = View { displacement: 0, filetype, etype_bytes: 8 };
        let access = Access::new(&view, 0, 3200 * 4000 * 16 * 8).unwrap();
        let Form::Nested { node, .. } = &access.form else { panic!("nested") };
        assert_eq!(node.pieces, 12_800_000);
        assert!(access.encode_for(access.hull()).len() < 200);
        let window = ByteRange::new(1 << 30, (1 << 30) + (16 << 20));
        let coverage = access.coverage(window);
        assert_eq!(coverage.bytes, access.bytes_in(window));
        assert!(!coverage.fills(window.len()));
    }

    #[test]
    fn impossible_views_are_errors() {
        let byte = Layout::bytes(1).unwrap();
        let below = Layout::hindexed(&[(1, -5)], &byte).unwrap();
        let view = |filetype: Layout, displacement| View { displacement, filetype, etype_bytes: 1 };
        assert!(Access::new(&view(below.clone(), 4), 0, 1).is_err());
        assert!(Access::new(&view(below, 5), 0, 1).is_ok());
        assert!(Access::new(&view(Layout::EMPTY, 0), 0, 1).is_err());
        assert!(Access::new(&view(Layout::EMPTY, 0), 0, 0).is_ok());
        assert!(Access::new(&view(byte, i64::MAX as u64 - 3), 0, 4).is_err());
    }
}
