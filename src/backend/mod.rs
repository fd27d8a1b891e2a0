//! Where the bytes go: the trait and its implementations. A back end knows files, never ranks or domains.

mod faulty;
mod memory;
mod posix;

pub use faulty::{Fault, FaultOn, Faulty};
pub use memory::MemoryFile;
pub use posix::{Access, PosixFile};

use crate::units::{ByteRange, Bytes, Offset};
use std::io;

/// A file as one rank sees it. All calls are local and may come from any rank at any time; ranges that two ranks touch
/// at once are the callers' concern, except under [`Backend::lock`].
pub trait Backend {
    /// Fills `buffer` from `offset` on; returns how many bytes there were. Fewer than asked means the end of the file.
    fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`, extending the file when needed; a gap this leaves reads as zeros.
    fn write_at(&self, offset: Offset, bytes: &[u8]) -> io::Result<()>;

    /// The file's size now.
    fn size(&self) -> io::Result<Bytes>;

    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;

    /// Waits for, then holds, the exclusive right to change `range`, against every other holder of such a lock.
    fn lock(&self, range: ByteRange) -> io::Result<()>;

    /// Gives up a range locked before.
    fn unlock(&self, range: ByteRange);

    /// Whether reads can succeed: a file opened write-only may not allow a read-modify-write.
    fn readable(&self) -> bool;
}
