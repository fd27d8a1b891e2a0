//! A file in memory, for tests: sparse, shared by all its handles, with range locks that really exclude.

use super::Backend;
use crate::units::{ByteRange, Bytes, Offset};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a page of the file holds. A write far out, say at 2^40, costs one page and not the gap before it.
const PAGE_BYTES: usize = 4096;

/// The largest offset a file can have, as in POSIX.
const END_MAX: u64 = i64::MAX as u64;

/// How long a lock is waited for. No test holds one for this long, unless it never gives it back.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);

/// A handle of a shared in-memory file. Clones are new handles of the same file, as if it were opened again:
/// each rank has its own, and locks are held by handles. A dropped handle gives up its locks.
#[derive(Debug)]
pub struct MemoryFile {
    file: Arc<Shared>,
    /// Who holds a lock.
    holder: u64,
    readable: bool,
    writable: bool,
}

#[derive(Debug, Default)]
struct Shared {
    content: Mutex<Content>,
    locks: Mutex<Locks>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Content {
    /// By page number; an absent page is zeros.
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
    size: Bytes,
}

#[derive(Debug, Default)]
struct Locks {
    held: Vec<(u64, ByteRange)>,
    next_holder: u64,
}

impl MemoryFile {
    /// A handle of a new, empty file.
    pub fn new() -> MemoryFile {
        MemoryFile::handle_of(Arc::default(), true, true)
    }

    /// A handle of a new file with this content.
    pub fn with_bytes(bytes: &[u8]) -> MemoryFile {
        let file = MemoryFile::new();
        file.content().write(0, bytes);
        file
    }

    /// Another handle of the same file, for another rank.
    pub fn handle(&self) -> MemoryFile {
        self.clone()
    }

    /// A handle of the same file as if opened for reading only: writes fail with EBADF.
    pub fn read_only(&self) -> MemoryFile {
        MemoryFile::handle_of(Arc::clone(&self.file), true, false)
    }

    /// A handle of the same file as if opened for writing only: reads fail with EBADF.
    pub fn write_only(&self) -> MemoryFile {
        MemoryFile::handle_of(Arc::clone(&self.file), false, true)
    }

    /// The bytes of `range`, as far as the file has them: for looking at a result, past every lock.
    pub fn contents(&self, range: ByteRange) -> Vec<u8> {
        let content = self.content();
        let range = range.intersect(ByteRange::new(0, content.size));
        let mut bytes = vec![0; usize::try_from(range.len()).expect("the caller can hold what it asks for")];
        content.read(range.start, &mut bytes);
        bytes
    }

    fn handle_of(file: Arc<Shared>, readable: bool, writable: bool) -> MemoryFile {
        let mut locks = unpoisoned(file.locks.lock());
        let holder = locks.next_holder;
        locks.next_holder += 1;
        drop(locks);
        MemoryFile { file, holder, readable, writable }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        unpoisoned(self.file.content.lock())
    }

    fn locks(&self) -> MutexGuard<'_, Locks> {
        unpoisoned(self.file.locks.lock())
    }
}

impl Default for MemoryFile {
    fn default() -> MemoryFile {
        MemoryFile::new()
    }
}

impl Clone for MemoryFile {
    fn clone(&self) -> MemoryFile {
        MemoryFile::handle_of(Arc::clone(&self.file), self.readable, self.writable)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let holder = self.holder;
        self.locks().held.retain(|(other, _)| *other != holder);
        self.file.released.notify_all();
    }
}

impl Backend for MemoryFile {
    fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        permitted(self.readable)?;
        let content = self.content();
        let there = usize::try_from(content.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buffer.len().min(there);
        content.read(offset, &mut buffer[..count]);
        Ok(count)
    }

    fn write_at(&self, offset: Offset, bytes: &[u8]) -> io::Result<()> {
        permitted(self.writable)?;
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > END_MAX) {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        self.content().write(offset, bytes);
        Ok(())
    }

    fn size(&self) -> io::Result<Bytes> {
        Ok(self.content().size)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// # Panics
    /// When this handle holds a lock on some of these bytes (in POSIX, the first unlock would give up both), and when
    /// another holder keeps them for half a minute: a deadlock.
    fn lock(&self, range: ByteRange) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + LOCK_WAIT_MAX;
        let mut locks = self.locks();
        while let Some((holder, held)) = locks.conflict(range) {
            let me = self.holder;
            assert!(holder != me, "handle {me} locks {range} while it holds {held}");
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "handle {me} waits too long for {range}: handle {holder} keeps {held}");
            locks = unpoisoned(self.file.released.wait_timeout(locks, left)).0;
        }
        locks.held.push((self.holder, range));
        Ok(())
    }

    /// # Panics
    /// When this handle does not hold exactly this range.
    fn unlock(&self, range: ByteRange) {
        if range.is_empty() {
            return;
        }
        let mut locks = self.locks();
        let position = locks.held.iter().position(|&held| held == (self.holder, range));
        locks.held.swap_remove(position.unwrap_or_else(|| panic!("handle {} holds no {range}", self.holder)));
        drop(locks);
        self.file.released.notify_all();
    }

    fn readable(&self) -> bool {
        self.readable
    }
}

impl Content {
    /// Fills `buffer`; bytes past the end are zeros.
    fn read(&self, offset: Offset, buffer: &mut [u8]) {
        for (number, at, within) in pages(offset, buffer.len()) {
            let piece = &mut buffer[at..at + within.len()];
            match self.pages.get(&number) {
                Some(page) => piece.copy_from_slice(&page[within]),
                None => piece.fill(0),
            }
        }
    }

    fn write(&mut self, offset: Offset, bytes: &[u8]) {
        for (number, at, within) in pages(offset, bytes.len()) {
            let page = self.pages.entry(number).or_insert_with(|| Box::new([0; PAGE_BYTES]));
            let piece = &bytes[at..at + within.len()];
            page[within].copy_from_slice(piece);
        }
        // As in POSIX, writing no bytes does not move the end.
        if !bytes.is_empty() {
            self.size = self.size.max(offset + bytes.len() as u64);
        }
    }
}

impl Locks {
    fn conflict(&self, range: ByteRange) -> Option<(u64, ByteRange)> {
        self.held.iter().copied().find(|(_, held)| !held.intersect(range).is_empty())
    }
}

/// The pages under `len` bytes from `offset`: the page's number, where its part starts among the bytes, and
/// which of the page's bytes those are.
fn pages(offset: Offset, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let here = offset + done as u64;
        let start = (here % PAGE_BYTES as u64) as usize; // below PAGE_BYTES
        let count = (len - done).min(PAGE_BYTES - start);
        let part = (here / PAGE_BYTES as u64, done, start..start + count);
        done += count;
        (count > 0).then_some(part)
    })
}

fn permitted(allowed: bool) -> io::Result<()> {
    if allowed { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EBADF)) }
}

/// A rank that panics leaves the file usable for the others: every change of it is a copy that cannot stop
/// half way.
fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_behaves_like_an_array_of_bytes() {
        // Writes of growing length at positions around page ends, against a plain vector.
        let (file, mut twin) = (MemoryFile::with_bytes(b"start"), b"start".to_vec());
        for step in 0..60usize {
            let (offset, bytes) = (step * 997 % 9000, vec![step as u8 + 1; step * step % 5000]);
            file.handle().write_at(offset as u64, &bytes).expect("writable");
            if !bytes.is_empty() {
                twin.resize(twin.len().max(offset + bytes.len()), 0);
                twin[offset..offset + bytes.len()].copy_from_slice(&bytes);
            }
            assert_eq!(file.contents(ByteRange::new(0, 1 << 20)), twin, "after step {step}");
            let mut buffer = vec![0xEE; 3000];
            let count = file.read_at(offset as u64, &mut buffer).expect("readable");
            let expected = &twin[offset.min(twin.len())..twin.len().min(offset + 3000)];
            assert_eq!(&buffer[..count], expected, "after step {step}");
        }
        assert_eq!(file.size().expect("always known"), twin.len() as u64);
    }

    #[test]
    fn far_offsets_cost_one_page() {
        let file = MemoryFile::new();
        file.write_at((1 << 41) + 5, b"far").expect("below 2^63");
        assert_eq!(file.size().expect("always known"), (1 << 41) + 8);
        assert_eq!(file.contents(ByteRange::new((1 << 41) + 3, u64::MAX)), b"\0\0far");
        assert_eq!(file.content().pages.len(), 1);
        let error = file.write_at(END_MAX, b"x").expect_err("past the largest offset");
        assert_eq!(error.raw_os_error(), Some(libc::EFBIG));
        file.write_at(END_MAX + 9, b"").expect_err("even nothing");
    }

    #[test]
    fn access_is_what_the_handle_was_opened_for() {
        let file = MemoryFile::with_bytes(b"abc");
        let error = file.read_only().write_at(0, b"x").expect_err("read-only");
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        let writer = file.write_only().handle();
        assert!(!writer.readable() && writer.read_at(0, &mut [0]).is_err());
        writer.write_at(1, b"x").expect("writable");
        assert_eq!(file.contents(ByteRange::new(0, 3)), b"axc");
    }

    #[test]
    fn a_lock_excludes_other_handles() {
        let file = MemoryFile::with_bytes(&[0; 8]);
        let (inside, rounds) = (AtomicU32::new(0), 200);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (handle, inside) = (file.handle(), &inside);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let range = ByteRange::new((thread + round) % 3, 6 + (thread * round) % 3);
                        handle.lock(range).expect("free sooner or later");
                        assert_eq!(
                            inside.fetch_add(1, Ordering::SeqCst),
                            0,
                            "two holders of overlapping ranges"
                        );
                        let mut value = [0; 2];
                        handle.read_at(4, &mut value).expect("readable");
                        let next = (u16::from_ne_bytes(value) + 1).to_ne_bytes();
                        handle.write_at(4, &next).expect("writable");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        handle.unlock(range);
                    }
                });
            }
        });
        assert_eq!(file.contents(ByteRange::new(4, 6)), 800u16.to_ne_bytes());
    }

    #[test]
    fn apart_ranges_do_not_exclude_and_a_dropped_handle_lets_go() {
        let file = MemoryFile::new();
        let (one, other) = (file.handle(), file.handle());
        one.lock(ByteRange::new(0, 10)).expect("free");
        other.lock(ByteRange::new(10, 20)).expect("free");
        other.lock(ByteRange::new(5, 5)).expect("no bytes");
        drop(one);
        other.lock(ByteRange::new(0, 10)).expect("free again");
        other.unlock(ByteRange::new(10, 20));
        assert_eq!(file.locks().held.len(), 1);
    }

    #[test]
    #[should_panic(expected = "locks [5, 15) while it holds [0, 10)")]
    fn locking_twice_is_a_mistake() {
        let file = MemoryFile::new();
        file.lock(ByteRange::new(0, 10)).expect("free");
        let _ = file.lock(ByteRange::new(5, 15));
    }

    #[test]
    #[should_panic(expected = "holds no [0, 5)")]
    fn unlocking_another_range_is_a_mistake() {
        let file = MemoryFile::new();
        file.lock(ByteRange::new(0, 10)).expect("free");
        file.unlock(ByteRange::new(0, 5));
    }
}
