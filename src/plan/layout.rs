//! Datatypes: which bytes, in which order, and the extent at which copies of them tile (MPI-4.1, chapter 5).

use super::node::{ListBuilder, Placed};
use std::fmt;

/// The byte layout of an MPI datatype, in compact form. Displacements are bytes from the buffer address or the start
/// of the view; they may be negative, unsorted or overlapping, as MPI allows.
///
/// The constructors are MPI's, with strides and displacements in bytes ([`Layout::hvector`], [`Layout::hindexed`], ...);
/// the element-counted ones are these with multiples of [`Layout::extent`].
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub(super) body: Option<Placed>,
    pub(super) bounds: Option<Bounds>,
}

/// Lower and upper bound in bytes; a datatype without entries has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub lower: i64,
    pub upper: i64,
}

/// A datatype whose displacements or size leave 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutError;

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the datatype's size or displacements do not fit 63 bits")
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// A datatype with nothing in it: size 0, extent 0.
    pub const EMPTY: Layout = Layout { body: None, bounds: None };

    /// A basic type of `bytes` bytes without gaps, extent the same.
    pub fn bytes(bytes: u64) -> Result<Layout, LayoutError> {
        Layout::hindexed(&[(bytes, 0)], &Layout::byte())
    }

    fn byte() -> Layout {
        Layout { body: Placed::run(0, 1), bounds: Some(Bounds { lower: 0, upper: 1 }) }
    }

    /// Bytes of data in one copy.
    pub fn size(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.node.bytes)
    }

    /// The lower bound, in bytes.
    pub fn lower_bound(&self) -> i64 {
        self.bounds.map_or(0, |bounds| bounds.lower)
    }

    /// The distance of successive copies, in bytes; may be negative or 0 after [`Layout::resized`].
    pub fn extent(&self) -> i64 {
        self.bounds.map_or(0, |bounds| bounds.upper - bounds.lower)
    }

    /// The list entries that the compact form holds: a measure of the memory it takes (about 16 bytes each).
    pub fn entries(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.node.entries())
    }

    /// `count` copies, one extent apart (`MPI_Type_contiguous`).
    pub fn contiguous(count: u64, element: &Layout) -> Result<Layout, LayoutError> {
        Layout::hvector(1, count, 0, element)
    }

    /// `count` blocks of `block` elements, `stride` bytes apart (`MPI_Type_create_hvector`).
    pub fn hvector(count: u64, block: u64, stride: i64, element: &Layout) -> Result<Layout, LayoutError> {
        let blocks = element.block(block, 0)?;
        blocks.repeated(count, stride)
    }

    /// Blocks of elements at byte displacements, as (elements, displacement) (`MPI_Type_create_hindexed`).
    pub fn hindexed(blocks: &[(u64, i64)], element: &Layout) -> Result<Layout, LayoutError> {
        Layout::join(blocks.iter().map(|&(count, at)| (count, at, element)))
    }

    /// Blocks of several types, as (elements, displacement, type) (`MPI_Type_create_struct`). The padding that MPI adds
    /// for alignment is the caller's to add with [`Layout::resized`]: only the MPI library knows it.
    pub fn structure(blocks: &[(u64, i64, Layout)]) -> Result<Layout, LayoutError> {
        Layout::join(blocks.iter().map(|(count, at, element)| (*count, *at, element)))
    }

    /// The same bytes with other bounds (`MPI_Type_create_resized`).
    pub fn resized(&self, lower: i64, extent: i64) -> Result<Layout, LayoutError> {
        let upper = lower.checked_add(extent).ok_or(LayoutError)?;
        Ok(Layout { body: self.body.clone(), bounds: Some(Bounds { lower, upper }) })
    }

    /// The data alone, without bounds.
    pub(crate) fn into_body(self) -> Option<Placed> {
        self.body
    }

    /// All blocks in stream order.
    fn join<'a>(blocks: impl Iterator<Item = (u64, i64, &'a Layout)>) -> Result<Layout, LayoutError> {
        let mut list = ListBuilder::default();
        let mut bounds = None;
        for (count, at, element) in blocks {
            if let Some(bytes) = element.plain_run(count)? {
                // Most lists are of plain elements: no node a block.
                at.checked_add_unsigned(bytes).ok_or(LayoutError)?;
                list.push_run(at, bytes);
                bounds = hull(bounds, Some(Bounds { lower: at, upper: at + bytes.cast_signed() }));
            } else {
                let block = element.block(count, at)?;
                bounds = hull(bounds, block.bounds);
                if let Some(body) = block.body {
                    list.push(body);
                }
            }
        }
        Ok(Layout { body: list.finish().ok_or(LayoutError)?, bounds })
    }

    /// The bytes of `count` copies when they are one run from displacement 0 on with nothing around it.
    fn plain_run(&self, count: u64) -> Result<Option<u64>, LayoutError> {
        let size = self.size();
        let plain = count > 0
            && self.body.as_ref().is_some_and(|body| body.at == 0 && body.node.pieces == 1)
            && self.bounds.is_some_and(|b| b.lower == 0 && b.upper.unsigned_abs() == size && b.upper > 0);
        if !plain {
            return Ok(None);
        }
        let bytes = size.checked_mul(count).filter(|&bytes| i64::try_from(bytes).is_ok());
        bytes.map(Some).ok_or(LayoutError)
    }

    /// `count` copies one extent apart, moved by `at`.
    fn block(&self, count: u64, at: i64) -> Result<Layout, LayoutError> {
        self.repeated(count, self.extent())?.shifted(at)
    }

    pub(super) fn repeated(&self, count: u64, stride: i64) -> Result<Layout, LayoutError> {
        if count == 0 {
            return Ok(Layout::EMPTY);
        }
        let last = i64::try_from(count - 1).ok().and_then(|n| stride.checked_mul(n)).ok_or(LayoutError)?;
        let body = match self.body.clone() {
            Some(body) => Some(body.every(count, stride).ok_or(LayoutError)?),
            None => None,
        };
        let moved = self.bounds.map(|b| b.moved(last)).transpose()?;
        Ok(Layout { body, bounds: hull(self.bounds, moved) })
    }

    pub(super) fn shifted(&self, by: i64) -> Result<Layout, LayoutError> {
        let body = match self.body.clone() {
            Some(body) => Some(body.shifted(by).ok_or(LayoutError)?),
            None => None,
        };
        Ok(Layout { body, bounds: self.bounds.map(|b| b.moved(by)).transpose()? })
    }
}

impl Bounds {
    fn moved(self, by: i64) -> Result<Bounds, LayoutError> {
        let lower = self.lower.checked_add(by).ok_or(LayoutError)?;
        let upper = self.upper.checked_add(by).ok_or(LayoutError)?;
        Ok(Bounds { lower, upper })
    }
}

fn hull(a: Option<Bounds>, b: Option<Bounds>) -> Option<Bounds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Bounds { lower: a.lower.min(b.lower), upper: a.upper.max(b.upper) }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(layout: &Layout) -> Vec<(i64, u64)> {
        let mut found = Vec::new();
        if let Some(body) = &layout.body {
            body.node.visit(body.at, 0, 0, body.node.bytes, &mut |at, _, bytes| found.push((at, bytes)));
        }
        found
    }

    #[test]
    fn regularity_is_found() {
        let int = Layout::bytes(4).unwrap();
        let rows = Layout::hvector(1_000_000, 8, 4096, &int).unwrap();
        assert_eq!((rows.size(), rows.extent(), rows.entries()), (32_000_000, 999_999 * 4096 + 32, 2));
        let same: Vec<_> = (0..1000).map(|i| (8, 4096 * i)).collect();
        assert_eq!(Layout::hindexed(&same, &int).unwrap().entries(), 2, "a list that is a vector");
        let touching: Vec<_> = (0..1000).map(|i| (8, 32 * i)).collect();
        assert_eq!(Layout::hindexed(&touching, &int).unwrap().entries(), 1, "a list that is one run");
        let plane = Layout::hvector(100, 1, 1 << 30, &rows).unwrap();
        assert_eq!(plane.entries(), 3);
    }

    #[test]
    fn constructors_follow_the_type_map() {
        let int = Layout::bytes(4).unwrap();
        let padded = int.resized(-4, 12).unwrap();
        let check = |layout: Layout, expected: &[(i64, u64)], bounds: (i64, i64)| {
            assert_eq!(pieces(&layout), expected);
            assert_eq!((layout.lower_bound(), layout.extent()), bounds);
        };
        check(Layout::contiguous(3, &padded).unwrap(), &[(0, 4), (12, 4), (24, 4)], (-4, 36));
        check(Layout::hvector(2, 2, -16, &int).unwrap(), &[(0, 8), (-16, 8)], (-16, 24));
        check(Layout::hindexed(&[(1, 40), (0, 900), (2, 0)], &int).unwrap(), &[(40, 4), (0, 8)], (0, 44));
        let mixed = Layout::structure(&[(1, 0, int.clone()), (2, 8, padded), (0, 99, int)]).unwrap();
        check(mixed, &[(0, 4), (8, 4), (20, 4)], (0, 28));
        check(Layout::EMPTY, &[], (0, 0));
    }

    #[test]
    fn what_leaves_63_bits_is_refused() {
        let int = Layout::bytes(4).unwrap();
        assert_eq!(Layout::contiguous(u64::MAX / 2, &int), Err(LayoutError));
        assert_eq!(Layout::hvector(3, 1, i64::MAX, &int), Err(LayoutError));
        assert_eq!(Layout::hindexed(&[(1, i64::MAX - 1)], &int), Err(LayoutError));
        assert_eq!(int.resized(i64::MAX, 1), Err(LayoutError));
    }
}
