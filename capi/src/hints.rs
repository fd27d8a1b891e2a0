//! Hints from an info object and from `TATPIO_HINTS`, and how the ranks come to hold the same ones.

use crate::mpi::{self, MPI_Info};
use crate::table::State;
use std::env::VarError;
use std::hash::{DefaultHasher, Hasher};
use tatpio::comm::mpi::MpiComm;
use tatpio::comm::{Communicator, Reduce};
use tatpio::hints::{BadHint, Hints, split_pairs};
use tatpio::units::Rank;

/// `key=value` pairs separated by semicolons, or the path of a file with such lines.
const VARIABLE: &str = "TATPIO_HINTS";

/// The hints that this rank was given, and what was wrong with them.
pub(crate) struct Given {
    pub hints: Hints,
    bad: Vec<BadHint>,
    /// What is wrong with the variable or the info object as a whole.
    unreadable: Option<String>,
}

impl Given {
    /// The environment's hints, and over them the program's: as in ROMIO, the program knows better. Local.
    pub fn at_open(info: MPI_Info) -> Given {
        let mut given = Given { hints: Hints::default(), bad: Vec::new(), unreadable: None };
        given.add_environment();
        given.add_info(info);
        given
    }

    /// An info object's hints over those in force. Local.
    pub fn over(in_force: &Hints, info: MPI_Info) -> Given {
        let mut given = Given { hints: in_force.clone(), bad: Vec::new(), unreadable: None };
        given.add_info(info);
        given
    }

    fn add(&mut self, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.bad.extend(self.hints.set(key, value).err());
        }
    }

    fn add_info(&mut self, info: MPI_Info) {
        match mpi::info_pairs(info) {
            Ok(pairs) => self.add(&pairs),
            Err(error) => self.unreadable = Some(format!("the info object's hints are ignored: {error}")),
        }
    }

    fn add_environment(&mut self) {
        let text = match std::env::var(VARIABLE) {
            Ok(text) if text.contains('=') => text,
            Ok(path) if path.trim().is_empty() => return,
            Ok(path) => match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) => {
                    self.unreadable = Some(format!(
                        "{VARIABLE} is ignored: {path:?} has no key=value in it, and as a file: {error}"
                    ));
                    return;
                }
            },
            Err(VarError::NotPresent) => return,
            Err(error @ VarError::NotUnicode(_)) => {
                self.unreadable = Some(format!("{VARIABLE} is ignored: {error}"));
                return;
            }
        };
        let (pairs, bad) = split_pairs(&text);
        self.bad.extend(bad);
        self.add(&pairs);
    }

    /// Prints what was wrong: for the lowest rank. Hints that are not tatpio's own are the MPI library's
    /// concern while tatpio is off.
    pub fn warn(&self, on: bool) {
        if let Some(text) = &self.unreadable {
            crate::report::warn(text);
        }
        for bad in self.bad.iter().filter(|bad| on || bad.key.starts_with("tatpio")) {
            crate::report::warn(&bad.to_string());
        }
    }

    /// A number that differs when the hints do.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.hints.encode());
        hasher.finish()
    }
}

/// Rank 0's hints on every rank. Collective.
pub(crate) fn of_rank_0(comm: &MpiComm, mine: &Hints) -> Hints {
    let mut encoded = mine.encode();
    comm.broadcast(Rank(0), &mut encoded);
    Hints::decode(&encoded)
}

/// Puts rank 0's hints in force on every rank, when any rank's differ from those in force. Prints warnings on
/// rank 0. Collective.
pub(crate) fn adopt(state: &mut State, given: &Given) {
    let comm = state.engine.comm();
    let changed = given.hints.encode() != state.engine.hints().encode();
    let print = given.fingerprint();
    let mut words = [u64::from(changed), print, !print];
    comm.all_reduce(Reduce::Max, &mut words);
    let [changed, most, least] = words;
    let differ = most != !least;
    if comm.rank() == Rank(0) {
        given.warn(true);
        if differ {
            warn_mismatch(&state.name);
        }
    }
    if changed != 0 || differ {
        let hints = of_rank_0(comm, &given.hints);
        state.engine.set_hints(hints);
    }
}

/// Says that the ranks' hints differ: for rank 0.
pub(crate) fn warn_mismatch(name: &str) {
    crate::report::warn(&format!(
        "{name}: the ranks were given different hints; those of rank 0 are used on all"
    ));
}
