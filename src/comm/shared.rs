//! Memory that several ranks reach: between the threads of one process, or between the processes of one node.
//!
//! Between processes a segment is a memfd. Its owner offers it, sends a [`Ticket`] to its neighbours, and
//! they attach it through `/proc/PID/fd/FD`: no name in `/dev/shm` that a killed job would leave behind, and
//! none of the 64 MiB that containers give to `/dev/shm`.

use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::resource::{Resource, getrlimit};
use std::alloc::Layout;
use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions, read_link};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, process};

/// Bytes that several ranks may read and write. Clones are the same bytes; the last one frees them.
///
/// Nothing here orders accesses: between a write on one rank and a read of the same bytes on another there
/// must be a barrier or a message.
#[derive(Clone)]
pub struct Segment {
    memory: Arc<Memory>,
}

impl Segment {
    /// A zeroed segment of this process, for ranks that are threads. Untouched pages cost nothing.
    pub fn heap(len: usize) -> Segment {
        let Some(layout) = heap_layout(len) else {
            return Segment {
                memory: Arc::new(Memory { base: NonNull::dangling(), len, kind: Kind::Empty }),
            };
        };
        // SAFETY: the layout's size is not zero (heap_layout returns None for it).
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| std::alloc::handle_alloc_error(layout));
        Segment { memory: Arc::new(Memory { base, len, kind: Kind::Heap }) }
    }

    /// Maps the segment that another process (or this one) offers and has kept open since it made the ticket.
    ///
    /// # Errors
    /// Whatever forbids it: no `/proc`, another user's process, a process in another PID namespace (the number then
    /// names nothing, or a stranger: `NotFound`), no address space left.
    pub fn attach(ticket: &Ticket) -> io::Result<Segment> {
        let Some(len) = NonZeroUsize::new(usize::try_from(ticket.len).map_err(io::Error::other)?) else {
            return Ok(Segment::heap(0));
        };
        let path = format!("/proc/{}/fd/{}", ticket.pid, ticket.fd);
        // The name is looked at before the file is opened: what a stranger's descriptor stands for may be a
        // terminal or a pipe, and opening those has effects. It is looked at again through the opened
        // descriptor, because the stranger may have changed it in between.
        ticket.check_name(Path::new(&path))?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        ticket.check_name(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        let seals = SealFlag::from_bits_truncate(fcntl(&file, FcntlArg::F_GET_SEALS)?);
        if file.metadata()?.len() != ticket.len || !seals.contains(SealFlag::F_SEAL_SHRINK) {
            return Err(io::Error::other(format!(
                "{path} is not a finished segment of {} bytes",
                ticket.len
            )));
        }
        Segment::map(&file, len)
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.memory.len
    }

    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first byte; valid for [`Segment::len`] bytes while a clone of this segment lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.base.as_ptr()
    }

    /// Copies `bytes` to position `at`. Panics when they do not fit.
    pub fn copy_in(&self, at: usize, bytes: &[u8]) {
        let to = self.checked(at, bytes.len());
        // SAFETY: `to` is valid for bytes.len() bytes (checked above) and `bytes` by its type; `copy` allows
        // that they overlap, should `bytes` lie in this segment. No reference to the destination is formed.
        // That no other rank touches it meanwhile is what a barrier around the use of the range gives (type's
        // contract).
        unsafe { std::ptr::copy(bytes.as_ptr(), to, bytes.len()) }
    }

    /// Fills `into` from position `at` on. Panics when it asks for bytes past the end.
    pub fn copy_out(&self, at: usize, into: &mut [u8]) {
        let from = self.checked(at, into.len());
        // SAFETY: as in copy_in, with source and destination exchanged.
        unsafe { std::ptr::copy(from, into.as_mut_ptr(), into.len()) }
    }

    /// The bytes of `range` in place. Panics when it reaches past the end.
    ///
    /// The engine's barriers must guarantee that nobody writes the range while the slice lives.
    #[allow(dead_code)] // which of the two an engine needs depends on its features
    pub(crate) fn slice(&self, range: Range<usize>) -> &[u8] {
        let len = range.end.checked_sub(range.start).expect("a range does not end before it starts");
        let from = self.checked(range.start, len);
        // SAFETY: valid for len initialised bytes (checked; zeroed at birth) for as long as &self keeps the
        // memory; that nobody writes them meanwhile is the caller's duty, discharged by the barriers between
        // rounds.
        unsafe { std::slice::from_raw_parts(from, len) }
    }

    /// The bytes of `range` in place, to be changed. Panics when it reaches past the end.
    ///
    /// The engine's barriers must guarantee that nobody else touches the range while the slice lives: neither
    /// another rank nor another slice of this one.
    #[allow(dead_code, clippy::mut_from_ref)] // a segment is shared by design: the barriers separate its users
    pub(crate) fn slice_mut(&self, range: Range<usize>) -> &mut [u8] {
        let len = range.end.checked_sub(range.start).expect("a range does not end before it starts");
        let from = self.checked(range.start, len);
        // SAFETY: as in slice; that nobody else touches the bytes is the caller's duty, discharged by the
        // barriers between rounds and by giving every writer its own range.
        unsafe { std::slice::from_raw_parts_mut(from, len) }
    }

    /// The address of `at`, from which `len` bytes are inside the segment.
    fn checked(&self, at: usize, len: usize) -> *mut u8 {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len());
        assert!(inside, "bytes from {at}, {len} of them, reach past a segment of {}", self.len());
        self.as_ptr().wrapping_add(at)
    }

    fn map(file: &File, len: NonZeroUsize) -> io::Result<Segment> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a fresh address, so no memory in use is replaced. The file has len bytes
        // and is sealed against shrinking (both callers), so no access to the mapping can fault.
        let base = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, file, 0)? };
        Ok(Segment { memory: Arc::new(Memory { base: base.cast(), len: len.get(), kind: Kind::Mapped }) })
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({:?}, {} bytes)", self.memory.kind, self.len())
    }
}

/// A segment that other processes may attach while this value keeps its descriptor open.
#[derive(Debug)]
pub struct Offer {
    segment: Segment,
    ticket: Ticket,
    /// Closed with the offer; `None` for an empty segment.
    _file: Option<File>,
}

impl Offer {
    /// A zeroed segment of `len` bytes with its memory reserved.
    ///
    /// The reservation is a `fallocate`: the kernel takes every page now, so that a full memory is an error
    /// here and not a SIGBUS at the first touch, but it neither clears nor maps them. That work is done by
    /// whoever touches a page first, and not at all for a part that no call ever fills. (Writing zeros would
    /// clear every page twice, and MAP_POPULATE reports no failure.)
    ///
    /// # Errors
    /// No memory, no descriptors, a kernel without memfd, a file size limit (`ulimit -f`) below `len`.
    pub fn create(len: usize) -> io::Result<Offer> {
        let mut ticket = Ticket { pid: process::id(), fd: -1, len: len as u64, token: random_token() };
        let Some(size) = NonZeroUsize::new(len) else {
            return Ok(Offer { segment: Segment::heap(0), ticket, _file: None });
        };
        // Growing a file past the limit would not only fail but raise SIGXFSZ, which kills.
        if getrlimit(Resource::RLIMIT_FSIZE)?.0 < ticket.len {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(ticket.name().as_str(), flags)?);
        reserve(&file, ticket.len)?;
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW))?;
        ticket.fd = file.as_raw_fd();
        Ok(Offer { segment: Segment::map(&file, size)?, ticket, _file: Some(file) })
    }

    /// What another process needs to attach it.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The segment. Once the offer is dropped nobody can attach it any more.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

/// Where another process finds an offered segment, and how it knows that it found the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pid: u32,
    fd: i32,
    len: u64,
    /// Part of the memfd's name. Process numbers repeat between PID namespaces and inode numbers between
    /// hosts.
    token: u128,
}

impl Ticket {
    /// The length of [`Ticket::to_bytes`].
    pub const BYTES: usize = 32;

    /// The ticket as bytes, for another process of this node.
    pub fn to_bytes(self) -> [u8; Ticket::BYTES] {
        let mut bytes = [0; Ticket::BYTES];
        bytes[0..4].copy_from_slice(&self.pid.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.fd.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.len.to_ne_bytes());
        bytes[16..32].copy_from_slice(&self.token.to_ne_bytes());
        bytes
    }

    /// The ticket that another process of this node sent; `None` when the length is not [`Ticket::BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Ticket> {
        let bytes: &[u8; Ticket::BYTES] = bytes.try_into().ok()?;
        let (pid, rest) = bytes.split_first_chunk()?;
        let (fd, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        Some(Ticket {
            pid: u32::from_ne_bytes(*pid),
            fd: i32::from_ne_bytes(*fd),
            len: u64::from_ne_bytes(*len),
            token: u128::from_ne_bytes(rest.try_into().ok()?),
        })
    }

    fn name(&self) -> String {
        format!("tatpio-{:032x}", self.token)
    }

    /// Fails unless `link`, an entry of a `/proc/*/fd`, stands for this ticket's memfd.
    fn check_name(&self, link: &Path) -> io::Result<()> {
        let target = read_link(link)?;
        if target.as_os_str() == format!("/memfd:{} (deleted)", self.name()).as_str() {
            return Ok(());
        }
        let what = format!("{} is {}, not the offered segment", link.display(), target.display());
        Err(io::Error::new(io::ErrorKind::NotFound, what))
    }
}

/// The bytes themselves.
struct Memory {
    base: NonNull<u8>,
    len: usize,
    kind: Kind,
}

/// Who gave the memory, hence who takes it back.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Empty,
    Heap,
    Mapped,
}

// SAFETY: the memory belongs to this value alone, not to a thread, and may be freed on any thread.
unsafe impl Send for Memory {}
// SAFETY: shared access goes through raw copies, whose ordering the type's contract leaves to barriers and
// messages.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.kind {
            Kind::Empty => {}
            Kind::Heap => {
                let layout = heap_layout(self.len).expect("the layout it was allocated with");
                // SAFETY: allocated with this very layout in Segment::heap and freed once, here: the Arc's
                // last owner.
                unsafe { std::alloc::dealloc(self.base.as_ptr(), layout) }
            }
            Kind::Mapped => {
                // SAFETY: base and len are those of the mapping made in Segment::map; slices borrow a
                // Segment, so none outlives the Arc whose last owner drops here.
                if let Err(error) = unsafe { munmap(self.base.cast(), self.len) } {
                    log::warn!("{} bytes of shared memory stay mapped: {error}", self.len);
                }
            }
        }
    }
}

/// How a heap segment is allocated; `None` when it is empty. Sixteen bytes are the strictest alignment for
/// which the allocator hands out zeroed memory without writing to it.
fn heap_layout(len: usize) -> Option<Layout> {
    (len > 0).then(|| Layout::from_size_align(len, 16).expect("a segment is smaller than the address space"))
}

/// Grows the file to `len` bytes that the kernel holds pages for.
fn reserve(file: &File, len: u64) -> io::Result<()> {
    // A signal undoes the call it interrupts. In pieces, a program that lives on timer signals still gets
    // there, and neighbours that reserve at the same time see each other's pages in the check below.
    const PIECE: u64 = 64 << 20;
    let mut done = 0;
    while done < len {
        let piece = PIECE.min(len - done);
        check_available(len - done)?;
        match fallocate(file, FallocateFlags::empty(), file_offset(done)?, file_offset(piece)?) {
            Ok(()) => done += piece,
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fails when the host has not `len` bytes to spare.
///
/// The kernel would not say so itself: asked for more pages than there are it ends processes, this one or its
/// neighbours, before it fails the request. (A memory limit of the job's control group ends processes too,
/// and is not looked at: the buffers that would replace the segment count against it as well.)
fn check_available(len: u64) -> io::Result<()> {
    const SPARE: u64 = 256 << 20;
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let available =
        kib.ok_or_else(|| io::Error::other("no MemAvailable in /proc/meminfo"))?.saturating_mul(1024);
    if available < len.saturating_add(SPARE) {
        return Err(io::Error::from_raw_os_error(libc::ENOMEM));
    }
    Ok(())
}

fn file_offset(value: u64) -> io::Result<libc::off_t> {
    value.try_into().map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

/// A number that no other segment of this host has. It keeps strangers apart, not attackers: those of the
/// same user could write to our memory anyway.
fn random_token() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_starts_zeroed_and_keeps_what_is_copied_in() {
        for segment in [Segment::heap(5000), Offer::create(5000).expect("a memfd").segment().clone()] {
            let mut all = vec![1; 5000];
            segment.copy_out(0, &mut all);
            assert_eq!(all, vec![0; 5000], "{segment:?}");
            segment.clone().copy_in(4997, b"abc");
            segment.slice_mut(10..12).copy_from_slice(b"xy");
            assert_eq!(segment.slice(4996..5000), b"\0abc");
            let mut two = [0; 2];
            segment.copy_out(10, &mut two);
            assert_eq!(&two, b"xy");
        }
    }

    #[test]
    fn an_empty_segment_is_ordinary() {
        let offer = Offer::create(0).expect("nothing to fail");
        for segment in [Segment::heap(0), Segment::attach(&offer.ticket()).expect("no file behind it")] {
            assert!(segment.is_empty());
            segment.copy_in(0, &[]);
            assert_eq!(segment.slice(0..0), b"");
        }
    }

    #[test]
    fn bytes_past_the_end_are_refused() {
        for (at, len) in [(0, 11), (10, 1), (11, 0), (usize::MAX, 2)] {
            let segment = Segment::heap(10);
            let out = std::panic::catch_unwind(|| segment.copy_out(at, &mut vec![0; len]));
            assert!(out.is_err(), "{len} bytes from {at}");
        }
    }

    #[test]
    fn an_attached_segment_is_the_same_memory_until_the_last_user_drops_it() {
        let offer = Offer::create(100_000).expect("a memfd");
        let ticket = Ticket::from_bytes(&offer.ticket().to_bytes()).expect("its own bytes");
        assert_eq!(ticket, offer.ticket());
        let there = Segment::attach(&ticket).expect("same process, same user");
        assert_ne!(there.as_ptr(), offer.segment.as_ptr());
        let here = offer.segment().clone();
        drop(offer);
        here.copy_in(99_999, &[7]);
        there.copy_in(0, &[8]);
        assert_eq!((there.slice(99_999..100_000), here.slice(0..1)), (&[7][..], &[8][..]));
        drop(here);
        assert_eq!(there.slice(99_999..100_000), [7]);
    }

    #[test]
    fn a_stranger_behind_the_ticket_is_recognised() {
        let offer = Offer::create(4096).expect("a memfd");
        let wrong = [
            Ticket { token: offer.ticket().token ^ 1, ..offer.ticket() },
            Ticket { len: 4095, ..offer.ticket() },
            Ticket { fd: 0, ..offer.ticket() },
            Ticket { fd: 1 << 20, ..offer.ticket() },
            Ticket { pid: 1 << 30, ..offer.ticket() },
        ];
        for ticket in wrong {
            assert!(Segment::attach(&ticket).is_err(), "{ticket:?}");
        }
        assert!(Ticket::from_bytes(&[0; 31]).is_none());
    }

    #[test]
    fn more_than_the_memory_is_an_error_and_not_a_signal() {
        let error = Offer::create(usize::MAX / 4).expect_err("no host has that much");
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }
}
