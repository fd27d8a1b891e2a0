//! Ranks: each asks, waits for the answer, thinks, and asks again.

use super::scenario::{Load, Scenario};
use crate::sharing::Nanos;
use crate::units::Bytes;

#[derive(Clone, Debug)]
pub(super) struct Rank {
    /// Its load.
    pub load: usize,
    /// The server that it uses.
    pub server: usize,
    /// Where it is in the cycle.
    step: usize,
    /// When its request was issued, and of how many bytes.
    pub issued: Nanos,
    pub bytes: Bytes,
}

impl Rank {
    /// All ranks of a scenario, load by load.
    pub fn all(scenario: &Scenario) -> Vec<Rank> {
        let of_load = |(at, load): (usize, &Load)| {
            let servers = load.servers.clone();
            let rank = move |rank: u32| Rank {
                load: at,
                server: servers[rank as usize % servers.len()],
                step: 0,
                issued: 0,
                bytes: 0,
            };
            (0..load.ranks).map(rank)
        };
        scenario.loads.iter().enumerate().flat_map(of_load).collect()
    }

    /// Issues the next request of the cycle.
    pub fn issue(&mut self, load: &Load, now: Nanos) {
        self.bytes = load.cycle[self.step].bytes;
        self.step = (self.step + 1) % load.cycle.len();
        self.issued = now;
    }
}
