//! A back end that fails on command, for tests.

use super::Backend;
use crate::units::{ByteRange, Bytes, Offset};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The kinds of calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is the call of its name
pub enum FaultOn {
    Read,
    Write,
    Lock,
    Size,
    Sync,
}

impl FaultOn {
    /// Every kind.
    pub const ALL: [FaultOn; 5] =
        [FaultOn::Read, FaultOn::Write, FaultOn::Lock, FaultOn::Size, FaultOn::Sync];
}

/// One planned failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which kind of call.
    pub on: FaultOn,
    /// How many calls of that kind on this handle succeed before.
    pub after: u64,
    /// The system's error number, such as `libc::ENOSPC`.
    pub errno: i32,
    /// Whether all later calls of that kind fail too.
    pub sticky: bool,
}

impl Fault {
    /// The call number `after` (from 0) fails, the next ones do not.
    pub fn once(on: FaultOn, after: u64, errno: i32) -> Fault {
        Fault { on, after, errno, sticky: false }
    }

    fn strikes(&self, on: FaultOn, call: u64) -> bool {
        self.on == on && (call == self.after || self.sticky && call > self.after)
    }
}

/// A handle whose calls reach `inner`, except those that the plan fails: these touch nothing. It counts every
/// call, so that a test can run once without faults and then fail each call in turn.
#[derive(Debug)]
pub struct Faulty<B> {
    inner: B,
    plan: Vec<Fault>,
    /// By kind, in the order of [`FaultOn::ALL`].
    calls: [AtomicU64; 5],
}

impl<B> Faulty<B> {
    /// A handle that fails as planned; an empty plan only counts.
    pub fn new(inner: B, plan: impl Into<Vec<Fault>>) -> Faulty<B> {
        Faulty { inner, plan: plan.into(), calls: Default::default() }
    }

    /// How many calls of this kind there were, failed ones included.
    pub fn calls(&self, on: FaultOn) -> u64 {
        self.calls[on as usize].load(Ordering::Relaxed)
    }

    /// The back end behind it.
    pub fn inner(&self) -> &B {
        &self.inner
    }

    fn call(&self, on: FaultOn) -> io::Result<()> {
        let call = self.calls[on as usize].fetch_add(1, Ordering::Relaxed);
        match self.plan.iter().find(|fault| fault.strikes(on, call)) {
            Some(fault) => Err(io::Error::from_raw_os_error(fault.errno)),
            None => Ok(()),
        }
    }
}

impl<B: Backend> Backend for Faulty<B> {
    fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        self.call(FaultOn::Read)?;
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: Offset, bytes: &[u8]) -> io::Result<()> {
        self.call(FaultOn::Write)?;
        self.inner.write_at(offset, bytes)
    }

    fn size(&self) -> io::Result<Bytes> {
        self.call(FaultOn::Size)?;
        self.inner.size()
    }

    fn sync(&self) -> io::Result<()> {
        self.call(FaultOn::Sync)?;
        self.inner.sync()
    }

    fn lock(&self, range: ByteRange) -> io::Result<()> {
        self.call(FaultOn::Lock)?;
        self.inner.lock(range)
    }

    fn unlock(&self, range: ByteRange) {
        self.inner.unlock(range);
    }

    fn readable(&self) -> bool {
        self.inner.readable()
    }
}

#[cfg(test)]
mod tests {
    use super::super::MemoryFile;
    use super::*;

    /// Makes one call of the kind; the error number, or 0.
    fn errno_of(file: &impl Backend, on: FaultOn) -> i32 {
        let range = ByteRange::new(0, 1);
        let result = match on {
            FaultOn::Read => file.read_at(0, &mut [0]).map(drop),
            FaultOn::Write => file.write_at(0, b"x"),
            FaultOn::Lock => file.lock(range).map(|()| file.unlock(range)),
            FaultOn::Size => file.size().map(drop),
            FaultOn::Sync => file.sync(),
        };
        result.map_or_else(|error| error.raw_os_error().expect("a planned one"), |()| 0)
    }

    #[test]
    fn only_the_planned_calls_fail() {
        for on in FaultOn::ALL {
            let plan =
                [Fault::once(on, 1, libc::EIO), Fault { on, after: 3, errno: libc::ENOSPC, sticky: true }];
            let file = Faulty::new(MemoryFile::new(), plan);
            for other in FaultOn::ALL.into_iter().filter(|&other| other != on) {
                let outcomes: Vec<i32> = (0..5).map(|_| errno_of(&file, other)).collect();
                assert_eq!(outcomes, [0; 5], "{other:?} with faults on {on:?}");
                assert_eq!(file.calls(other), 5);
            }
            let outcomes: Vec<i32> = (0..5).map(|_| errno_of(&file, on)).collect();
            assert_eq!(outcomes, [0, libc::EIO, 0, libc::ENOSPC, libc::ENOSPC], "{on:?}");
            assert_eq!(file.calls(on), 5);
        }
    }

    #[test]
    fn a_failed_write_writes_nothing() {
        let file = Faulty::new(MemoryFile::with_bytes(b"abc"), [Fault::once(FaultOn::Write, 0, libc::EIO)]);
        file.write_at(0, b"xyz").expect_err("planned");
        assert_eq!(file.inner().contents(ByteRange::new(0, 9)), b"abc");
    }
}
