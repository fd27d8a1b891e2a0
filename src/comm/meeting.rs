//! A barrier of processes that share memory, in which ranks that wait sleep.
//!
//! MPI libraries wait by polling. With more ranks than processors that costs twice: pollers take turns on processors that
//! the late ranks need, and the kernel, to which everybody looks busy, cannot move a rank to an idle processor. Asleep on
//! a futex, a rank costs nothing, and is woken where there is room.

use super::Segment;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a rank polls before it sleeps, where every rank of the node has a processor to itself.
const POLL: Duration = Duration::from_micros(20);

/// How long a rank sleeps before it lets the MPI library work: a message that left the program may still be in its
/// hands, and a peer waiting for it cannot come to this barrier.
const SLEEP: Duration = Duration::from_millis(1);

/// One barrier for the ranks of a group, in a segment that all of them reach.
#[derive(Debug)]
pub(super) struct Meeting {
    segment: Segment,
    ranks: u32,
    polls: bool,
}

/// What lies in the segment.
#[repr(C)]
struct Board {
    /// Ranks that have come since the last opening.
    arrived: AtomicU32,
    /// Openings so far; what ranks sleep on.
    openings: AtomicU32,
}

impl Meeting {
    /// Bytes of the segment; they must be zero at first.
    pub const BYTES: usize = size_of::<Board>();

    /// For `ranks` ranks, in the first bytes of `segment`. Panics when it is too short.
    pub fn new(segment: Segment, ranks: u32) -> Meeting {
        assert!(segment.len() >= Meeting::BYTES, "the segment holds the board");
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let polls = usize::try_from(ranks).is_ok_and(|ranks| ranks <= processors);
        Meeting { segment, ranks, polls }
    }

    /// Returns when every rank has called it as often as this one. Calls `progress` now and then while it waits.
    pub fn wait(&self, mut progress: impl FnMut()) {
        let board = self.board();
        let opening = board.openings.load(Ordering::Acquire);
        if board.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.ranks {
            board.arrived.store(0, Ordering::Relaxed);
            board.openings.fetch_add(1, Ordering::Release);
            wake_all(&board.openings);
            return;
        }
        let closed = || board.openings.load(Ordering::Acquire) == opening;
        if self.polls {
            let start = Instant::now();
            while closed() && start.elapsed() < POLL {
                std::hint::spin_loop();
            }
        }
        while closed() {
            sleep(&board.openings, opening, SLEEP);
            if closed() {
                progress();
            }
        }
    }

    fn board(&self) -> &Board {
        // SAFETY: the segment is at least as long as a board (checked in `new`), aligned to a page or 16 bytes, zeroed at
        // birth, lives as long as &self, and is only ever used as a board of atomics, by all processes.
        unsafe { &*self.segment.as_ptr().cast::<Board>() }
    }
}

/// Sleeps while `word` is `value`, until it is woken, or for `at_most`. May return early for no reason.
fn sleep(word: &AtomicU32, value: u32, at_most: Duration) {
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(at_most.as_secs()).expect("milliseconds"),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: FUTEX_WAIT reads the word, which is valid and aligned, and the time limit, which outlives the call. It is
    // not a private futex: the sleepers are processes. Its outcome does not matter: the caller looks at the word again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit) };
}

fn wake_all(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE only uses the address of the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// No rank gets ahead of another by more than a barrier, in thousands of them.
    #[test]
    fn nobody_leaves_before_everybody_came() {
        for ranks in [1, 2, 3, 8] {
            let segment = Segment::heap(Meeting::BYTES);
            let came = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..ranks {
                    scope.spawn(|| {
                        let meeting = Meeting::new(segment.clone(), ranks);
                        for round in 1..=2000 {
                            came.fetch_add(1, Ordering::SeqCst);
                            meeting.wait(|| {});
                            let seen = came.load(Ordering::SeqCst);
                            assert!(
                                seen >= round * u64::from(ranks),
                                "round {round}: {seen} of {ranks} ranks"
                            );
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn who_waits_long_lets_the_library_work() {
        let segment = Segment::heap(Meeting::BYTES);
        let (first, second) = (Meeting::new(segment.clone(), 2), Meeting::new(segment, 2));
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            scope.spawn(move || first.wait(|| tell.send(()).unwrap_or(())));
            told.recv().expect("the first rank waits and makes progress");
            second.wait(|| {});
        });
    }
}
