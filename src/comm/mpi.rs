//! The communicator over a real MPI library. Every call goes through the profiling names, on a communicator
//! of our own: no wrapper of this library, nor any tool's, sees them, and no message of the program can match
//! one of ours.
//!
//! The MPI library must be initialized, and a communicator is used by one thread at a time, as far as the
//! thread level that the program asked for allows (MPI-4.1, section 11.6).

use super::meeting::Meeting;
use super::shared::{Offer, Ticket};
use super::{Communicator, Reduce, Segment};
use crate::units::Rank;
use pmpi_sys::{self as ffi, MPI_Comm, MPI_Op, MPI_Request, MPI_Status, consts};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longer messages are cut: MPI counts bytes in an int.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// The only tag in use: messages between two ranks are told apart by their order.
const TAG: c_int = 0;

/// A communicator of our own. It is freed when dropped, which, as in MPI, all its ranks must do in the same
/// order as their other collective calls; one that outlives MPI_Finalize is left alone.
#[derive(Debug)]
pub struct MpiComm {
    comm: MPI_Comm,
    rank: Rank,
    size: u32,
    /// What is cut, and what a collective with many lengths may sum up to.
    message_bytes_max: usize,
    /// A barrier in shared memory, once the group was found to have some: the same on all its ranks.
    meeting: OnceLock<Meeting>,
    /// A handle is a number in one MPI library and a pointer in the next: the same threads may use it in
    /// both.
    _one_thread_at_a_time: PhantomData<*const ()>,
}

// SAFETY: MPI handles belong to the process; which threads may call is the thread level's business (module
// contract).
unsafe impl Send for MpiComm {}

impl MpiComm {
    /// A private duplicate of `comm`, with an error handler that ends the job: an error code that one rank
    /// acted on alone would leave the others waiting. Collective over `comm`.
    ///
    /// # Safety
    /// MPI is initialized and not finalized, and `comm` is a valid intra-communicator.
    pub unsafe fn dup(comm: MPI_Comm) -> MpiComm {
        let mut copy = consts::comm_null();
        // SAFETY: `comm` is valid (caller contract); `copy` is a place for one handle.
        check("MPI_Comm_dup", unsafe { ffi::PMPI_Comm_dup(comm, &raw mut copy) });
        MpiComm::adopt(copy, MESSAGE_BYTES_MAX)
    }

    /// The ranks of this group that can share memory with this one, in the order of their numbers here
    /// (MPI_COMM_TYPE_SHARED; MPI-4.1, section 7.4.2). Collective.
    pub fn node_group(&self) -> MpiComm {
        let mut group = consts::comm_null();
        let (kind, key, info) = (ffi::MPI_COMM_TYPE_SHARED, count(self.rank.index()), consts::info_null());
        // SAFETY: our own live communicator; `group` is a place for one handle.
        let code = unsafe { ffi::PMPI_Comm_split_type(self.comm, kind, key, info, &raw mut group) };
        check("MPI_Comm_split_type", code);
        MpiComm::adopt(group, self.message_bytes_max)
    }

    /// The same communicator, with messages cut from this length on and not from 1 GiB: for tests of the
    /// cutting.
    pub fn with_messages_cut_at(mut self, bytes: usize) -> MpiComm {
        self.message_bytes_max = bytes.clamp(1, MESSAGE_BYTES_MAX);
        self
    }

    /// The handle, for calls that the trait does not have. It dies with this value.
    pub fn raw(&self) -> MPI_Comm {
        self.comm
    }

    /// Takes over a communicator that was made for us.
    fn adopt(comm: MPI_Comm, message_bytes_max: usize) -> MpiComm {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a live communicator that a call has just returned; places for one int each.
        unsafe {
            check("MPI_Comm_set_errhandler", ffi::PMPI_Comm_set_errhandler(comm, consts::errors_are_fatal()));
            check("MPI_Comm_rank", ffi::PMPI_Comm_rank(comm, &raw mut rank));
            check("MPI_Comm_size", ffi::PMPI_Comm_size(comm, &raw mut size));
        }
        let number = |value: c_int| u32::try_from(value).expect("ranks and sizes are not negative");
        let (rank, size) = (Rank(number(rank)), number(size));
        let meeting = OnceLock::new();
        MpiComm { comm, rank, size, message_bytes_max, meeting, _one_thread_at_a_time: PhantomData }
    }

    fn broadcast_piecewise(&self, root: Rank, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(self.message_bytes_max) {
            let (len, root) = (count(piece.len()), count(root.index()));
            // SAFETY: `piece` is valid for its length, on the root to read and elsewhere to write.
            let code = unsafe { ffi::PMPI_Bcast(target(piece), len, consts::byte(), root, self.comm) };
            check("MPI_Bcast", code);
        }
    }

    /// Where each rank's bytes go in one piece, when MPI can count their sum.
    fn layout(&self, heads: &[Head]) -> Option<Layout> {
        let mut layout = Layout::default();
        for head in heads {
            layout.displacements.push(c_int::try_from(layout.total).ok()?);
            layout.counts.push(c_int::try_from(head.len()).ok()?);
            layout.total = layout.total.checked_add(head.len())?;
        }
        (layout.total <= self.message_bytes_max).then_some(layout)
    }
}

impl Drop for MpiComm {
    fn drop(&mut self) {
        let mut finalized = 1;
        // SAFETY: may be called at any time; a place for one int.
        let code = unsafe { ffi::PMPI_Finalized(&raw mut finalized) };
        // Freeing is collective: a rank that unwinds must not wait for the others.
        if code == ffi::MPI_SUCCESS && finalized == 0 && !std::thread::panicking() {
            // SAFETY: our own communicator, freed once, with no request pending (each call waits for its
            // own).
            check("MPI_Comm_free", unsafe { ffi::PMPI_Comm_free(&raw mut self.comm) });
        }
    }
}

impl Communicator for MpiComm {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn barrier(&self) {
        match self.meeting.get() {
            Some(meeting) => meeting.wait(|| self.progress()),
            // SAFETY: our own live communicator.
            None => check("MPI_Barrier", unsafe { ffi::PMPI_Barrier(self.comm) }),
        }
    }

    fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let head = Head::of(mine);
        let mut heads = vec![Head::EMPTY; Rank(self.size).index()];
        let (from, to) = (source(&head.0), target(&mut heads));
        let (len, byte) = (count(Head::BYTES), consts::byte());
        // SAFETY: `head` is one record, `heads` has room for one a rank, both as plain bytes.
        check("MPI_Allgather", unsafe { ffi::PMPI_Allgather(from, len, byte, to, len, byte, self.comm) });
        if heads.iter().all(Head::is_whole) {
            return heads.iter().map(Head::list).collect();
        }
        let Some(layout) = self.layout(&heads) else {
            return self.all_gather_piecewise(mine, &heads);
        };
        let mut all = vec![0; layout.total];
        let (from, to, mine_len) = (source(mine), target(&mut all), count(mine.len()));
        let (counts, displacements) = (layout.counts.as_ptr(), layout.displacements.as_ptr());
        // SAFETY: `mine` has as many bytes as this rank announced; `all` has room for the sum of what all
        // announced, and the displacements lay it out without overlap; counts and displacements have one
        // entry a rank.
        check("MPI_Allgatherv", unsafe {
            ffi::PMPI_Allgatherv(from, mine_len, byte, to, counts, displacements, byte, self.comm)
        });
        cut(&all, &heads)
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Vec<Vec<u8>> {
        let at_root = self.rank == root;
        let head = Head::of(mine);
        let mut heads = vec![Head::EMPTY; if at_root { Rank(self.size).index() } else { 0 }];
        let (from, to) = (source(&head.0), target(&mut heads));
        let (len, byte, root_number) = (count(Head::BYTES), consts::byte(), count(root.index()));
        // SAFETY: as in all_gather; off the root, MPI does not look at the receiving side.
        check("MPI_Gather", unsafe {
            ffi::PMPI_Gather(from, len, byte, to, len, byte, root_number, self.comm)
        });
        // Only the root knows all lengths, so it decides for all how the bytes come.
        let layout = self.layout(&heads);
        let mut way = [if heads.iter().all(Head::is_whole) {
            Way::IS_HERE
        } else if layout.is_some() {
            Way::GATHERED
        } else {
            Way::AS_MESSAGES
        }];
        self.broadcast_piecewise(root, &mut way);
        match way[0] {
            Way::IS_HERE => heads.iter().map(Head::list).collect(),
            Way::GATHERED => self.gather_in_one(root, mine, &heads, &layout.unwrap_or_default()),
            _ => {
                let mut lists: Vec<Vec<u8>> = heads.iter().map(|head| vec![0; head.len()]).collect();
                let ranks = (0..).map(Rank);
                let mut receives: Vec<_> = ranks.zip(lists.iter_mut().map(Vec::as_mut_slice)).collect();
                self.exchange(&[(root, mine)], &mut receives);
                lists
            }
        }
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) {
        let mut head = Head::of(bytes);
        self.broadcast_piecewise(root, &mut head.0);
        if self.rank != root {
            bytes.clear();
            bytes.extend_from_slice(head.start());
            bytes.resize(head.len(), 0);
        }
        let sent = head.start().len();
        self.broadcast_piecewise(root, &mut bytes[sent..]);
    }

    fn all_reduce(&self, op: Reduce, values: &mut [u64]) {
        // MPICH 4.0 compares unsigned numbers as signed ones (its issue 6083, and 7507 for some types later),
        // and Open MPI did so for unsigned long (10525). With the top bit flipped, signed order is the order
        // we want.
        let (op, word, flip): (MPI_Op, _, _) = match op {
            Reduce::Sum => (consts::op_sum(), consts::uint64_t(), 0),
            Reduce::Min => (consts::op_min(), consts::int64_t(), 1 << 63),
            Reduce::Max => (consts::op_max(), consts::int64_t(), 1 << 63),
        };
        values.iter_mut().for_each(|value| *value ^= flip);
        for piece in values.chunks_mut((self.message_bytes_max / size_of::<u64>()).max(1)) {
            let (to, len) = (target(piece), count(piece.len()));
            // SAFETY: `piece` is read and written in place, as many 64-bit words as announced.
            let code = unsafe { ffi::PMPI_Allreduce(consts::in_place(), to, len, word, op, self.comm) };
            check("MPI_Allreduce", code);
        }
        values.iter_mut().for_each(|value| *value ^= flip);
    }

    fn all_to_all(&self, values: &[u64]) -> Vec<u64> {
        assert_eq!(values.len(), Rank(self.size).index(), "all_to_all takes one value a rank");
        let mut received = vec![0; values.len()];
        let (from, to, word) = (source(values), target(&mut received), consts::uint64_t());
        // SAFETY: both sides have one 64-bit word a rank (asserted for the one that came from outside).
        check("MPI_Alltoall", unsafe { ffi::PMPI_Alltoall(from, 1, word, to, 1, word, self.comm) });
        received
    }

    fn exchange(&self, sends: &[(Rank, &[u8])], receives: &mut [(Rank, &mut [u8])]) {
        let mut requests: Vec<MPI_Request> = Vec::with_capacity(sends.len() + receives.len());
        let mut expected: Vec<c_int> = Vec::with_capacity(receives.len());
        let (byte, comm) = (consts::byte(), self.comm);
        // Receives first: a message that finds its buffer waiting is not copied twice.
        for (from, into) in receives {
            for piece in into.chunks_mut(self.message_bytes_max) {
                let (to, len, from) = (target(piece), count(piece.len()), count(from.index()));
                let mut request = consts::request_null();
                // SAFETY: the piece is valid to write for its length and borrowed until this call returns,
                // which waits for the request; no other piece overlaps it (they are disjoint parts of mutable
                // borrows).
                let code = unsafe { ffi::PMPI_Irecv(to, len, byte, from, TAG, comm, &raw mut request) };
                check("MPI_Irecv", code);
                requests.push(request);
                expected.push(len);
            }
        }
        for (to, bytes) in sends {
            for piece in bytes.chunks(self.message_bytes_max) {
                let (from, len, to) = (source(piece), count(piece.len()), count(to.index()));
                let mut request = consts::request_null();
                // SAFETY: the piece is valid to read for its length and borrowed until this call returns,
                // which waits.
                let code = unsafe { ffi::PMPI_Isend(from, len, byte, to, TAG, comm, &raw mut request) };
                check("MPI_Isend", code);
                requests.push(request);
            }
        }
        let statuses = wait_all(&mut requests);
        for (status, expected) in statuses.iter().zip(expected) {
            let mut received = 0;
            // SAFETY: the status of a finished receive; a place for one int.
            let code = unsafe { ffi::PMPI_Get_count(status, byte, &raw mut received) };
            check("MPI_Get_count", code);
            if received != expected {
                end_job(&format!("rank {} got a message of {received} bytes for {expected}", self.rank));
            }
        }
    }

    /// Panics for a color past 2^31, which MPI does not have.
    fn split(&self, color: u32) -> Self {
        let color = c_int::try_from(color).expect("a color fits 31 bits");
        let mut group = consts::comm_null();
        // SAFETY: our own live communicator; `group` is a place for one handle.
        let code =
            unsafe { ffi::PMPI_Comm_split(self.comm, color, count(self.rank.index()), &raw mut group) };
        check("MPI_Comm_split", code);
        MpiComm::adopt(group, self.message_bytes_max)
    }

    fn share(&self, bytes: usize) -> Option<Vec<Segment>> {
        let segments = self.share_segments(bytes)?;
        // Every rank of the group is here or none: whether there is a meeting yet is the same on all of them.
        if self.meeting.get().is_none() && self.size > 1 {
            let board = if self.rank == Rank(0) { Meeting::BYTES } else { 0 };
            if let Some(board) = self.share_segments(board) {
                self.meeting.get_or_init(|| Meeting::new(board[0].clone(), self.size));
            }
        }
        Some(segments)
    }
}

impl MpiComm {
    /// Lets the MPI library work on what is under way.
    fn progress(&self) {
        let mut found = 0;
        // SAFETY: our own live communicator, a place for one int, and no status.
        let code = unsafe {
            let (any, ignored) = (ffi::MPI_ANY_SOURCE, consts::status_ignore());
            ffi::PMPI_Iprobe(any, TAG, self.comm, &raw mut found, ignored)
        };
        check("MPI_Iprobe", code);
    }

    fn share_segments(&self, bytes: usize) -> Option<Vec<Segment>> {
        let offer = Offer::create(bytes).inspect_err(|error| log::debug!("no memory to share: {error}")).ok();
        let ticket = offer.as_ref().map(|offer| offer.ticket().to_bytes());
        let tickets = self.all_gather(ticket.as_ref().map_or(&[], |bytes| &bytes[..]));
        let segments: Option<Vec<Segment>> = (0..)
            .map(Rank)
            .zip(&tickets)
            .map(|(rank, ticket)| {
                if rank == self.rank {
                    return offer.as_ref().map(|offer| offer.segment().clone());
                }
                let attached = Segment::attach(&Ticket::from_bytes(ticket)?);
                attached
                    .inspect_err(|error| log::debug!("rank {rank}'s memory is out of reach: {error}"))
                    .ok()
            })
            .collect();
        // No rank gets past this before all have tried to attach, so the descriptors behind the offers may
        // close.
        let mut everybody = [u64::from(segments.is_some())];
        self.all_reduce(Reduce::Min, &mut everybody);
        segments.filter(|_| everybody == [1])
    }

    /// Gathers what the root has laid out; off the root the lists are empty, as are their heads.
    fn gather_in_one(&self, root: Rank, mine: &[u8], heads: &[Head], layout: &Layout) -> Vec<Vec<u8>> {
        let mut all = vec![0; layout.total];
        let (from, to, mine_len) = (source(mine), target(&mut all), count(mine.len()));
        let (counts, displacements) = (layout.counts.as_ptr(), layout.displacements.as_ptr());
        let (byte, root) = (consts::byte(), count(root.index()));
        // SAFETY: as in all_gather; off the root, MPI does not look at the receiving side.
        check("MPI_Gatherv", unsafe {
            ffi::PMPI_Gatherv(from, mine_len, byte, to, counts, displacements, byte, root, self.comm)
        });
        cut(&all, heads)
    }

    /// The slow way, for more bytes than MPI can count in one call.
    fn all_gather_piecewise(&self, mine: &[u8], heads: &[Head]) -> Vec<Vec<u8>> {
        let ranks = (0..).map(Rank);
        ranks
            .zip(heads)
            .map(|(root, head)| {
                let mut bytes = if root == self.rank { mine.to_vec() } else { vec![0; head.len()] };
                self.broadcast_piecewise(root, &mut bytes);
                bytes
            })
            .collect()
    }
}

/// The name of the host this process runs on (MPI-4.1, section 9.1.2). Local.
pub fn host_name() -> String {
    let mut name = [0; ffi::MPI_MAX_PROCESSOR_NAME as usize + 1];
    let mut length = 0;
    // SAFETY: the call writes at most MPI_MAX_PROCESSOR_NAME characters; `name` has room for one more, the
    // final zero.
    check("MPI_Get_processor_name", unsafe {
        ffi::PMPI_Get_processor_name(name.as_mut_ptr(), &raw mut length)
    });
    text(&name)
}

/// What is said first of a list of bytes: its length, and its start. A short list is then already said.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Head([u8; Head::BYTES]);

impl Head {
    /// Two cache lines: about as quick to send as the length alone, and room for what ranks tell each other first in
    /// every call.
    const BYTES: usize = 128;
    const LENGTH_BYTES: usize = size_of::<u64>();
    const EMPTY: Head = Head([0; Head::BYTES]);

    fn of(bytes: &[u8]) -> Head {
        let mut head = Head::EMPTY;
        let (length, start) = head.0.split_at_mut(Head::LENGTH_BYTES);
        length.copy_from_slice(&(bytes.len() as u64).to_ne_bytes());
        let said = bytes.len().min(start.len());
        start[..said].copy_from_slice(&bytes[..said]);
        head
    }

    fn len(&self) -> usize {
        let length = self.0.first_chunk().expect("a head has a length");
        usize::try_from(u64::from_ne_bytes(*length)).expect("what a rank holds fits its address space")
    }

    /// As much of the bytes as is said.
    fn start(&self) -> &[u8] {
        let start = &self.0[Head::LENGTH_BYTES..];
        &start[..self.len().min(start.len())]
    }

    fn is_whole(&self) -> bool {
        self.len() == self.start().len()
    }

    fn list(&self) -> Vec<u8> {
        self.start().to_vec()
    }
}

/// Where MPI puts lists of bytes that it gathers into one piece.
#[derive(Default)]
struct Layout {
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    total: usize,
}

/// How the bytes of a gather come to the root.
struct Way;

impl Way {
    const IS_HERE: u8 = 0;
    const GATHERED: u8 = 1;
    const AS_MESSAGES: u8 = 2;
}

/// Cuts what came in one piece into one list a rank.
fn cut(all: &[u8], heads: &[Head]) -> Vec<Vec<u8>> {
    let mut rest = all;
    let mut take = |head: &Head| {
        let (list, after) = rest.split_at(head.len());
        rest = after;
        list.to_vec()
    };
    heads.iter().map(&mut take).collect()
}

/// Waits for all requests; returns their statuses.
///
/// MPI_Waitall polls without end. Here a rank that has waited longer than messages inside a machine room take sleeps
/// between its looks: the kernel's network threads, and ranks that still have something to do, need the core.
fn wait_all(requests: &mut [MPI_Request]) -> Vec<MPI_Status> {
    let mut statuses: Vec<MPI_Status> = Vec::with_capacity(requests.len());
    let begin = Instant::now();
    loop {
        let (requests_at, statuses_at) = (requests.as_mut_ptr(), statuses.as_mut_ptr());
        let mut done = 0;
        // SAFETY: as many live requests, and as much room for statuses, as announced; a place for one int.
        let code =
            unsafe { ffi::PMPI_Testall(count(requests.len()), requests_at, &raw mut done, statuses_at) };
        check("MPI_Testall", code);
        if done != 0 {
            // SAFETY: all are finished, so the call has written a status a request; a status is plain numbers.
            unsafe { statuses.set_len(requests.len()) };
            return statuses;
        }
        match begin.elapsed() {
            waited if waited < PATIENCE => std::thread::yield_now(),
            waited => std::thread::sleep((waited / 8).min(NAP_MAX)),
        }
    }
}

/// How long a rank looks again and again before it sleeps in between: longer than a round inside a fast network takes.
const PATIENCE: Duration = Duration::from_micros(300);

/// The longest sleep between two looks.
const NAP_MAX: Duration = Duration::from_micros(200);

/// The address of what is sent. An empty slice's own address is arbitrary, and may be 1: MPI_IN_PLACE in Open
/// MPI.
fn source<T>(items: &[T]) -> *const c_void {
    if items.is_empty() { std::ptr::null() } else { items.as_ptr().cast() }
}

/// The address of what is received into; null when empty, as in [`source`].
fn target<T>(items: &mut [T]) -> *mut c_void {
    if items.is_empty() { std::ptr::null_mut() } else { items.as_mut_ptr().cast() }
}

/// A number as an MPI count, displacement or rank. Panics past 2^31, which cutting keeps us below.
fn count(value: usize) -> c_int {
    c_int::try_from(value).expect("MPI counts in an int")
}

/// Ends the job when an MPI call failed. The handler of our communicators has usually ended it before.
fn check(call: &str, code: c_int) {
    if code != ffi::MPI_SUCCESS {
        let mut message = [0; ffi::MPI_MAX_ERROR_STRING as usize + 1];
        let mut length = 0;
        // SAFETY: the call writes at most MPI_MAX_ERROR_STRING characters; `message` has room for one more.
        let known = unsafe { ffi::PMPI_Error_string(code, message.as_mut_ptr(), &raw mut length) };
        let what = if known == ffi::MPI_SUCCESS { text(&message) } else { format!("error {code}") };
        end_job(&format!("{call} failed: {what}"));
    }
}

fn end_job(why: &str) -> ! {
    eprintln!("tatpio: {why}");
    // SAFETY: MPI is initialized, or no communicator could have been made.
    unsafe { ffi::PMPI_Abort(consts::comm_world(), 1) };
    std::process::abort()
}

/// The text up to the final zero.
fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character.to_ne_bytes()[0]).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}
