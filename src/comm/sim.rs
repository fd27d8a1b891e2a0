//! The simulated communicator: every rank is a thread of this process.
//!
//! It carries messages as MPI would, and it is a referee: it numbers the collectives of every group from 1,
//! compares what each rank calls, and ends the whole run at once, naming the ranks, when they disagree on
//! which collective comes next, when a rank ends that others wait for, when the two sides of a message differ
//! on its size, or when every rank waits. It never hangs.

mod books;
mod world;

#[cfg(test)]
mod tests;

use super::{Communicator, Reduce, Segment};
use crate::units::Rank;
use books::{Call, Input, Outcome, Place};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use world::{Stopped, World};

/// What a simulated run looks like.
#[derive(Clone, Debug)]
pub struct SimSetup {
    /// How many ranks the first group has.
    pub ranks: u32,
    /// The stack of each rank's thread, in bytes. The default lets the C library keep and reuse the stacks of
    /// 64 ranks (it keeps 40 MiB) and suits the engine, which recurses nowhere.
    pub stack_bytes: usize,
    /// This rank of the first group can have no shared memory: every `share` that it takes part in gives
    /// `None`.
    pub share_fails_on: Option<Rank>,
}

impl Default for SimSetup {
    fn default() -> SimSetup {
        SimSetup { ranks: 1, stack_bytes: 512 << 10, share_fails_on: None }
    }
}

impl SimSetup {
    /// So many ranks, everything else as usual.
    pub fn new(ranks: u32) -> SimSetup {
        SimSetup { ranks, ..SimSetup::default() }
    }
}

/// Runs `program` on every rank, each in its own thread; returns their values by rank.
///
/// # Errors
/// The text of the first failure: a rank's panic, with its rank; a disagreement between ranks or a deadlock, with the
/// number of the collective and the ranks that wait in it. The other ranks are stopped where they next call, or wait
/// in, the communicator.
pub fn simulate<T: Send>(setup: &SimSetup, program: impl Fn(SimComm) -> T + Sync) -> Result<Vec<T>, String> {
    let world = Arc::new(World::new(setup.ranks, setup.share_fails_on));
    let values: Vec<Option<T>> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(world.size());
        for number in 0..setup.ranks {
            let (comm, world, program) = (SimComm::first(&world, number), &world, &program);
            let builder = thread::Builder::new().name(format!("rank {number}")).stack_size(setup.stack_bytes);
            match builder.spawn_scoped(scope, move || run_rank(world, number, comm, program)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    world.end(number, Err(format!("rank {number} could not be started: {error}")));
                    break;
                }
            }
        }
        threads.into_iter().map(|thread| thread.join().expect("run_rank catches its panics")).collect()
    });
    match world.failure() {
        Some(text) => Err(text),
        None => {
            Ok(values.into_iter().map(|value| value.expect("a rank without a failure has a value")).collect())
        }
    }
}

/// One rank's life: its value, or `None` when it, or the run, failed.
fn run_rank<T>(
    world: &World,
    number: u32,
    comm: SimComm,
    program: &(impl Fn(SimComm) -> T + Sync),
) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| program(comm))) {
        Ok(value) => {
            world.end(number, Ok(()));
            Some(value)
        }
        Err(payload) => {
            // A rank that the referee stopped adds nothing to the failure that is on record.
            if !payload.is::<Stopped>() {
                world.end(number, Err(format!("rank {number} panicked: {}", panic_text(&*payload))));
            }
            None
        }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("(no text)")
}

/// One rank's end of a simulated group.
#[derive(Debug)]
pub struct SimComm {
    world: Arc<World>,
    place: Place,
    size: u32,
}

impl SimComm {
    /// The group of all ranks.
    fn first(world: &Arc<World>, number: u32) -> SimComm {
        let size = u32::try_from(world.size()).expect("made from a u32");
        SimComm { world: Arc::clone(world), place: Place { number, group: 0, rank: number }, size }
    }

    fn collective(&self, call: Call, input: Input) -> Arc<Outcome> {
        self.world.collective(self.place, call, input)
    }

    fn assert_member(&self, rank: Rank) {
        assert!(rank.0 < self.size, "rank {rank} is not in a group of {}", self.size);
    }
}

/// What a finished collective of this kind leaves for its ranks.
macro_rules! expect_outcome {
    ($outcome:expr, $kind:path) => {
        match &*$outcome {
            $kind(content) => content,
            other => unreachable!("another collective's outcome: {other:?}"),
        }
    };
}

impl Communicator for SimComm {
    fn rank(&self) -> Rank {
        Rank(self.place.rank)
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn barrier(&self) {
        self.collective(Call::Barrier, Input::Nothing);
    }

    fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let outcome = self.collective(Call::AllGather, Input::Bytes(mine.to_vec()));
        expect_outcome!(outcome, Outcome::Lists).clone()
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Vec<Vec<u8>> {
        self.assert_member(root);
        let outcome = self.collective(Call::Gather { root }, Input::Bytes(mine.to_vec()));
        let lists = expect_outcome!(outcome, Outcome::Lists);
        if self.rank() == root { lists.clone() } else { Vec::new() }
    }

    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) {
        self.assert_member(root);
        let at_root = self.rank() == root;
        let input = if at_root { Input::Bytes(bytes.clone()) } else { Input::Nothing };
        let outcome = self.collective(Call::Broadcast { root }, input);
        if !at_root {
            bytes.clone_from(expect_outcome!(outcome, Outcome::Bytes));
        }
    }

    fn all_reduce(&self, op: Reduce, values: &mut [u64]) {
        let outcome =
            self.collective(Call::AllReduce { op, count: values.len() }, Input::Values(values.to_vec()));
        values.copy_from_slice(expect_outcome!(outcome, Outcome::Values));
    }

    fn all_to_all(&self, values: &[u64]) -> Vec<u64> {
        assert_eq!(values.len(), Rank(self.size).index(), "all_to_all takes one value a rank");
        let outcome = self.collective(Call::AllToAll, Input::Values(values.to_vec()));
        expect_outcome!(outcome, Outcome::Rows).iter().map(|row| row[self.rank().index()]).collect()
    }

    fn exchange(&self, sends: &[(Rank, &[u8])], receives: &mut [(Rank, &mut [u8])]) {
        let outgoing = sends.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(to, bytes)| {
            self.assert_member(*to);
            (to.0, bytes.to_vec())
        });
        let wanted = receives.iter().filter(|(_, into)| !into.is_empty()).map(|(from, into)| {
            self.assert_member(*from);
            (from.0, into.len())
        });
        let arrived = self.world.exchange(self.place, outgoing.collect(), wanted.collect());
        for ((_, into), bytes) in receives.iter_mut().filter(|(_, into)| !into.is_empty()).zip(arrived) {
            into.copy_from_slice(&bytes);
        }
    }

    fn split(&self, color: u32) -> Self {
        let outcome = self.collective(Call::Split, Input::Color(color));
        let seat = expect_outcome!(outcome, Outcome::Groups)[self.rank().index()];
        let place = Place { number: self.place.number, group: seat.group, rank: seat.rank };
        SimComm { world: Arc::clone(&self.world), place, size: seat.size }
    }

    fn share(&self, bytes: usize) -> Option<Vec<Segment>> {
        let fails = self.world.share_fails_on() == Some(Rank(self.place.number));
        let segment = (!fails).then(|| Segment::heap(bytes));
        let outcome = self.collective(Call::Share, Input::Segment(segment));
        expect_outcome!(outcome, Outcome::Segments).clone()
    }
}
