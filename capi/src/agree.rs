//! Small agreements between the ranks of a file, for calls that the engine does not know.

use crate::errors::Failure;
use tatpio::comm::mpi::MpiComm;
use tatpio::comm::{Communicator, Reduce};
use tatpio::error::{Error, ErrorClass};
use tatpio::units::Rank;

/// Of each flag whether it is set on any rank. Collective.
pub(crate) fn any<const N: usize>(comm: &MpiComm, flags: [bool; N]) -> [bool; N] {
    let mut words = flags.map(u64::from);
    comm.all_reduce(Reduce::Max, &mut words);
    words.map(|word| word != 0)
}

/// One outcome for every rank: the class of the lowest rank that failed. Collective.
pub(crate) fn outcome(comm: &MpiComm, mine: Result<(), Error>) -> Result<(), Failure> {
    let code = |error: &Error| u64::from(comm.rank().0) << 32 | error.class() as u64;
    let mut words = [mine.as_ref().err().map_or(u64::MAX, code)];
    comm.all_reduce(Reduce::Min, &mut words);
    if words[0] == u64::MAX {
        return Ok(());
    }
    let class = ErrorClass::from_code(words[0] & 0xffff_ffff);
    let rank = Rank(u32::try_from(words[0] >> 32).expect("a rank has 32 bits"));
    let mut failure = Failure::from(Error::Remote { rank, class });
    failure.facts = mine.err().map(|error| error.to_string());
    Err(failure)
}
