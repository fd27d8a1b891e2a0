//! The caller's buffer: where each byte of the data stream lies in memory. The one leaf, beside the shared segments of
//! `comm`, where the engine touches raw memory.

use crate::error::{Error, ErrorClass};
use crate::plan::{Layout, Placed};
use crate::units::Bytes;
use std::marker::PhantomData;

/// `count` elements of a memory datatype at a buffer address, as the stream of bytes they hold.
///
/// The datatype may have holes, negative or unsorted displacements, and (as the source of a write) overlaps.
#[derive(Debug)]
pub struct Memory<'buffer> {
    base: *mut u8,
    /// `None` when there is no data.
    placed: Option<Placed>,
    buffer: PhantomData<&'buffer mut [u8]>,
}

impl<'buffer> Memory<'buffer> {
    /// No data.
    pub fn empty() -> Memory<'static> {
        Memory { base: std::ptr::null_mut(), placed: None, buffer: PhantomData }
    }

    /// A buffer without gaps.
    pub fn contiguous(buffer: &'buffer mut [u8]) -> Memory<'buffer> {
        let placed = (!buffer.is_empty())
            .then(|| Placed::run(0, buffer.len() as u64).expect("a slice is shorter than 2^63 bytes"));
        Memory { base: buffer.as_mut_ptr(), placed, buffer: PhantomData }
    }

    /// `count` elements of `layout` at `base`.
    ///
    /// Errors: a size or displacement that leaves 63 bits.
    ///
    /// # Safety
    ///
    /// - Every byte of the elements is valid for reads while the value lives, and for writes if it is the target of a
    ///   read call. Bytes in the layout's gaps need not exist.
    /// - Nothing else writes those bytes meanwhile; nothing reads them if they are the target of a read call.
    pub unsafe fn new(base: *mut u8, layout: &Layout, count: u64) -> Result<Memory<'buffer>, Error> {
        let too_large = |_| Error::Invalid {
            class: ErrorClass::Count,
            what: "the memory datatype times count exceeds 2^63 bytes".into(),
        };
        let whole = Layout::contiguous(count, layout).map_err(too_large)?;
        Ok(Memory { base, placed: whole.into_body(), buffer: PhantomData })
    }

    /// Bytes of data.
    pub fn bytes(&self) -> Bytes {
        self.placed.as_ref().map_or(0, |placed| placed.node.bytes)
    }

    /// The stream bytes from `stream` on that are one run in memory, at most `limit` of them.
    pub(crate) fn run(&self, stream: u64, limit: Bytes) -> &[u8] {
        let (at, bytes) = self.locate(stream, limit);
        // SAFETY: the bytes are readable and nobody writes them (contract of `new`).
        unsafe { std::slice::from_raw_parts(at, bytes) }
    }

    /// Like [`Memory::run`], for filling.
    pub(crate) fn run_mut(&mut self, stream: u64, limit: Bytes) -> &mut [u8] {
        let (at, bytes) = self.locate(stream, limit);
        // SAFETY: the target of a read is writable and nobody else touches it (contract of `new`); `&mut self` keeps
        // this the only slice.
        unsafe { std::slice::from_raw_parts_mut(at, bytes) }
    }

    fn locate(&self, stream: u64, limit: Bytes) -> (*mut u8, usize) {
        let placed = self.placed.as_ref().expect("there is data");
        assert!(stream < placed.node.bytes, "stream byte {stream} of {}", placed.node.bytes);
        let (at, bytes) = placed.node.run_from(placed.at, stream);
        let bytes = usize::try_from(bytes.min(limit)).expect("a run in memory is addressable");
        (self.base.wrapping_offset(isize::try_from(at).expect("64-bit addresses")), bytes)
    }

    /// Copies the stream bytes from `stream` on into `target`.
    pub(crate) fn gather(&self, stream: u64, target: &mut [u8]) {
        self.pieces(stream, target.len(), |address, done, bytes| {
            // SAFETY: `address` is readable for `bytes` (contract of `new`); the slice is ours alone.
            unsafe { std::ptr::copy_nonoverlapping(address, target[done..done + bytes].as_mut_ptr(), bytes) }
        });
    }

    /// Copies `source` over the stream bytes from `stream` on.
    pub(crate) fn scatter(&mut self, stream: u64, source: &[u8]) {
        self.pieces(stream, source.len(), |address, done, bytes| {
            // SAFETY: `address` is writable for `bytes` and nobody else touches it (contract of `new`).
            unsafe { std::ptr::copy_nonoverlapping(source[done..done + bytes].as_ptr(), address, bytes) }
        });
    }

    /// Calls `copy(address, done, bytes)` for the runs that hold the `len` stream bytes from `stream` on.
    #[inline]
    fn pieces(&self, stream: u64, len: usize, mut copy: impl FnMut(*mut u8, usize, usize)) {
        if len == 0 {
            return;
        }
        let placed = self.placed.as_ref().expect("there is data");
        let end = stream + len as u64;
        assert!(end <= placed.node.bytes, "stream bytes up to {end} of {}", placed.node.bytes);
        placed.node.visit(placed.at, 0, stream, end, &mut |at, begin, bytes| {
            let address = self.base.wrapping_offset(at as isize); // 64-bit targets: both are 64 bits wide
            copy(address, (begin - stream) as usize, bytes as usize); // below `len`, a usize
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gather_and_scatter_follow_the_type_map() {
        let byte = Layout::bytes(1).unwrap();
        // Unsorted, with a hole and a negative displacement: stream 0..2 at +3, 2..5 at -2.
        let layout = Layout::hindexed(&[(2, 3), (3, -2)], &byte).unwrap().resized(0, 8).unwrap();
        let mut buffer: Vec<u8> = (0..20).collect();
        let base = unsafe { buffer.as_mut_ptr().add(4) };
        let mut memory = unsafe { Memory::new(base, &layout, 2) }.unwrap();
        assert_eq!(memory.bytes(), 10);
        let mut all = [0; 10];
        memory.gather(0, &mut all);
        assert_eq!(all, [7, 8, 2, 3, 4, 15, 16, 10, 11, 12]);
        let mut part = [0; 3];
        memory.gather(4, &mut part);
        assert_eq!(part, [4, 15, 16]);
        assert_eq!(memory.run(2, 2), [2, 3]);
        memory.scatter(1, &[100, 101, 102]);
        assert_eq!(buffer[8], 100);
        assert_eq!(buffer[2..5], [101, 102, 4]);
    }
}
