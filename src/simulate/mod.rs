//! Discrete-event simulation of sharing: clients and servers on a virtual clock, with the real dispatchers.
//!
//! ```text
//! scenario    servers, loads (a job, its ranks, what and when they ask), policy, lambda  Scenario
//! run         events in the order of time; ranks ask, wait and ask again                 run
//! outcome     every request: when it was issued and served, by whom, how large           Outcome
//! metrics     throughput over time, errors against the shares, latency, fairness         Series, Metrics
//! presets     what figures 8 to 12 and 14 of the ThemisIO paper show, as data            figure
//! ```
//!
//! Time is integer nanoseconds and ties go by sequence number, so that a scenario has one outcome, on any
//! machine. Nothing here measures a computer: results say what a discipline does, not how fast its code is.

mod client;
mod compare;
mod event;
mod metrics;
mod outcome;
mod presets;
mod run;
mod scenario;

pub use compare::{Comparison, compare, csv};
pub use metrics::{Metrics, Phase, metrics, percentile, phases, time_to_fairness};
pub use outcome::{JobOutcome, Outcome, Series, Served};
pub use presets::{FIGURES, Figure, PROCESSES_PER_NODE, figure};
pub use run::run;
pub use scenario::{Access, Exchange, Load, Rivals, Scenario, Server};
