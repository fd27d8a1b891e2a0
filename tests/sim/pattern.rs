//! Access patterns made by hand, for tests that need a certain one.

use tatpio::collective::Request;
use tatpio::memory::Memory;
use tatpio::plan::{Access, Layout, View};

/// Blocks of `block` bytes dealt to `ranks` ranks in turn, `count` each; the last `gap` bytes of every turn belong to
/// nobody.
#[derive(Clone, Copy, Debug)]
pub struct Dealt {
    pub ranks: u64,
    pub block: u64,
    pub count: u64,
    pub gap: u64,
}

impl Dealt {
    fn turn(&self) -> u64 {
        self.block * self.ranks + self.gap
    }

    /// Bytes of each rank.
    pub fn bytes(&self) -> u64 {
        self.block * self.count
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.turn() * self.count - self.gap
    }

    /// Whose byte an offset is.
    pub fn owner(&self, offset: u64) -> Option<u64> {
        let rank = offset % self.turn() / self.block;
        (rank < self.ranks && offset < self.end()).then_some(rank)
    }

    /// A rank's request for all its blocks.
    pub fn request<'a>(&self, rank: u64, buffer: &'a mut [u8]) -> Request<'a> {
        let block = Layout::bytes(self.block).unwrap();
        let filetype = block.resized(0, i64::try_from(self.turn()).unwrap()).unwrap();
        let view = View { displacement: rank * self.block, filetype, etype_bytes: 1 };
        let access = Access::new(&view, 0, self.bytes()).unwrap();
        Request { access, memory: Memory::contiguous(buffer) }
    }
}
