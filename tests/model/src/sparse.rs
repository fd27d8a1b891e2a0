//! A file of any size as the pages that hold something.

use std::collections::BTreeMap;

/// Bytes a page.
pub(crate) const PAGE: u64 = 512;

/// A page: bytes, and who wrote each last.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) bytes: [u8; PAGE as usize],
    pub(crate) writers: [Writer; PAGE as usize],
}

/// Who wrote a byte last: an operation and a rank, if any did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writer {
    op_and_one: u32,
    rank: u32,
}

impl Writer {
    pub(crate) fn new(op: usize, rank: usize) -> Writer {
        let number = |n: usize| u32::try_from(n).expect("operations and ranks are few");
        Writer { op_and_one: number(op + 1), rank: number(rank) }
    }

    pub(crate) fn get(self) -> Option<(usize, usize)> {
        (self.op_and_one > 0).then(|| (self.op_and_one as usize - 1, self.rank as usize))
    }
}

/// A file's bytes; those never written are 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseFile {
    pub(crate) pages: BTreeMap<u64, Page>,
    pub(crate) size: u64,
}

impl SparseFile {
    /// The page and the place in it of a byte, made when absent.
    fn place(&mut self, at: u64) -> (&mut Page, usize) {
        let page = self.pages.entry(at / PAGE).or_insert_with(|| Page {
            bytes: [0; PAGE as usize],
            writers: [Writer::default(); PAGE as usize],
        });
        (page, (at % PAGE) as usize)
    }

    /// Writes one byte; returns the value and the writer it had.
    pub(crate) fn write(&mut self, at: u64, value: u8, writer: Writer) -> (u8, Writer) {
        self.size = self.size.max(at + 1);
        let (page, i) = self.place(at);
        (std::mem::replace(&mut page.bytes[i], value), std::mem::replace(&mut page.writers[i], writer))
    }

    /// Changes one byte's value only.
    pub(crate) fn adopt(&mut self, at: u64, value: u8) {
        let (page, i) = self.place(at);
        page.bytes[i] = value;
    }

    /// The byte at `at`, 0 where there is none.
    pub(crate) fn read(&self, at: u64) -> u8 {
        self.pages.get(&(at / PAGE)).map_or(0, |page| page.bytes[(at % PAGE) as usize])
    }

    /// Who wrote the byte at `at` last.
    pub(crate) fn writer(&self, at: u64) -> Option<(usize, usize)> {
        self.pages.get(&(at / PAGE)).and_then(|page| page.writers[(at % PAGE) as usize].get())
    }
}
