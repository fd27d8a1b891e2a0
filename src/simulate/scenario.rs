//! What is simulated, as data.

use crate::sharing::{Discipline, Job, JobId, Nanos, Policy, SECOND, Setup, Tariff};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// A server: it works on one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Bytes a second; not 0.
    pub bytes_per_second: u64,
    /// What each request takes besides its bytes.
    pub operation_ns: Nanos,
}

impl Server {
    /// How long a request of so many bytes takes, at least a nanosecond.
    pub fn service_ns(&self, bytes: Bytes) -> Nanos {
        let moving = (u128::from(bytes) * u128::from(SECOND)).div_ceil(u128::from(self.bytes_per_second));
        self.operation_ns.saturating_add(u64::try_from(moving).unwrap_or(u64::MAX)).max(1)
    }

    /// What requests cost on it.
    pub fn tariff(&self) -> Tariff {
        Tariff::of(self.bytes_per_second, self.operation_ns)
    }
}

/// One request of a rank's cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How many bytes it moves; 0 for metadata.
    pub bytes: Bytes,
}

/// What a job does: each rank goes through the cycle again and again, one request at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The job.
    pub job: Job,
    /// How many processes it has.
    pub ranks: u32,
    /// The servers that hold its files, as indices; rank r uses the (r mod their number)-th.
    pub servers: Vec<usize>,
    /// What a rank asks for, in turn.
    pub cycle: Vec<Access>,
    /// How long a rank is busy with other things between an answer and its next request.
    pub think_ns: Nanos,
    /// When its ranks begin.
    pub start: Nanos,
    /// From when on its ranks issue nothing more.
    pub end: Nanos,
}

/// When and how servers tell each other of their jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The paper's lambda: how often; not 0.
    pub lambda_ns: Nanos,
    /// How long until the others know.
    pub delay_ns: Nanos,
    /// A job silent for longer does not count any more.
    pub silence_ns_max: Nanos,
}

impl Default for Exchange {
    /// Every half a second, at once; a second of silence.
    fn default() -> Exchange {
        Exchange { lambda_ns: SECOND / 2, delay_ns: 0, silence_ns_max: SECOND }
    }
}

/// What the rivals must be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rivals {
    /// GIFT: the length of a window.
    pub gift_window_ns: Nanos,
    /// TBF: the rates that users ask for, in bytes a second of each server.
    pub tbf_rates: BTreeMap<JobId, u64>,
    /// TBF: how often spare bandwidth is found out.
    pub tbf_period_ns: Nanos,
}

/// Servers, loads, and how they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The servers; at least one.
    pub servers: Vec<Server>,
    /// The loads; no job has two.
    pub loads: Vec<Load>,
    /// How jobs share.
    pub policy: Policy,
    /// How servers choose.
    pub discipline: Discipline,
    /// Where random numbers start.
    pub seed: u64,
    /// How servers keep each other informed.
    pub exchange: Exchange,
    /// What GIFT and TBF need.
    pub rivals: Rivals,
}

impl Scenario {
    /// A scenario with the defaults: tokens, seed 1, GIFT's windows of half a second, TBF's periods of 100 ms
    /// and rates such that all loads together ask for nine tenths of a server, evenly.
    pub fn new(policy: Policy, servers: Vec<Server>, loads: Vec<Load>) -> Scenario {
        let slowest = servers.iter().map(|server| server.bytes_per_second).min().unwrap_or(1);
        let rate = (slowest / 10 * 9 / (loads.len() as u64).max(1)).max(1);
        let tbf_rates = loads.iter().map(|load| (load.job.id, rate)).collect();
        let rivals = Rivals { gift_window_ns: SECOND / 2, tbf_rates, tbf_period_ns: SECOND / 10 };
        let exchange = Exchange::default();
        Scenario { servers, loads, policy, discipline: Discipline::Tokens, seed: 1, exchange, rivals }
    }

    /// The same with another discipline.
    pub fn with(&self, discipline: Discipline) -> Scenario {
        Scenario { discipline, ..self.clone() }
    }

    /// What the dispatcher of a server is told.
    pub(super) fn setup(&self, server: usize) -> Setup {
        let speed = self.servers[server];
        let request = self.loads.iter().flat_map(|load| &load.cycle).map(|access| access.bytes).max();
        let cost = speed.tariff().cost(request.unwrap_or(0)).0;
        Setup {
            gift_window_ns: self.rivals.gift_window_ns,
            tbf_rates: self.rivals.tbf_rates.clone(),
            tbf_period_ns: self.rivals.tbf_period_ns,
            ..Setup::new(speed.bytes_per_second, cost, self.seed.wrapping_add(server as u64))
        }
    }

    /// Panics with what is wrong with it.
    pub(super) fn check(&self) {
        assert!(!self.servers.is_empty(), "a scenario has a server");
        assert!(self.servers.iter().all(|server| server.bytes_per_second > 0), "a server moves bytes");
        assert!(self.exchange.lambda_ns > 0, "lambda is not 0");
        let mut jobs: Vec<JobId> = self.loads.iter().map(|load| load.job.id).collect();
        jobs.sort_unstable();
        assert!(jobs.windows(2).all(|pair| pair[0] != pair[1]), "a job has one load");
        for load in &self.loads {
            let id = load.job.id;
            assert!(!load.cycle.is_empty(), "job {id} asks for something");
            assert!(!load.servers.is_empty(), "job {id} uses a server");
            assert!(
                load.servers.iter().all(|&server| server < self.servers.len()),
                "job {id} uses servers there are"
            );
        }
    }
}
