//! What a simulation found: every request, and throughput over time.

use crate::sharing::{Cost, JobId, Nanos, SECOND};
use crate::units::Bytes;

/// A request that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// By which server, as an index.
    pub server: usize,
    /// When it was issued.
    pub issued: Nanos,
    /// When it was finished.
    pub finished: Nanos,
    /// The bytes it moved.
    pub bytes: Bytes,
    /// What it took of the server.
    pub cost: Cost,
}

impl Served {
    /// How long its rank waited for it.
    pub fn latency_ns(&self) -> Nanos {
        self.finished - self.issued
    }
}

/// What a job was served, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// The job.
    pub job: JobId,
    /// Its requests.
    pub served: Vec<Served>,
}

impl JobOutcome {
    /// The requests that finished in `[from, to)`.
    pub fn between(&self, from: Nanos, to: Nanos) -> &[Served] {
        let start = self.served.partition_point(|served| served.finished < from);
        let end = self.served.partition_point(|served| served.finished < to);
        &self.served[start..end.max(start)]
    }

    /// The cost of those.
    pub fn cost_between(&self, from: Nanos, to: Nanos) -> Cost {
        self.between(from, to).iter().map(|served| served.cost).sum()
    }

    /// Bytes a second over `[from, to)` in steps of `step_ns`, by when requests finished; a last shorter step
    /// is left out. Panics for a step of 0.
    pub fn series(&self, from: Nanos, to: Nanos, step_ns: Nanos) -> Series {
        assert!(step_ns > 0, "a step has a length");
        let rate = |start: Nanos| {
            let bytes: Bytes = self.between(start, start + step_ns).iter().map(|served| served.bytes).sum();
            bytes as f64 * SECOND as f64 / step_ns as f64
        };
        let steps = to.saturating_sub(from) / step_ns;
        let values = (0..steps).map(|step| rate(from + step * step_ns)).collect();
        Series { label: format!("job {}", self.job), start: from, step_ns, values }
    }
}

/// What every job was served, in the order of the scenario's loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The jobs.
    pub jobs: Vec<JobOutcome>,
}

impl Outcome {
    /// When the last request finished; 0 when there was none.
    pub fn end(&self) -> Nanos {
        self.jobs.iter().filter_map(|job| Some(job.served.last()?.finished)).max().unwrap_or(0)
    }

    /// The bytes of all jobs in `[from, to)`.
    pub fn bytes_between(&self, from: Nanos, to: Nanos) -> Bytes {
        self.jobs.iter().flat_map(|job| job.between(from, to)).map(|served| served.bytes).sum()
    }

    /// The part of each job in the cost of all in `[from, to)`; zeros when nothing was served.
    pub fn parts_between(&self, from: Nanos, to: Nanos) -> Vec<f64> {
        let costs: Vec<u64> = self.jobs.iter().map(|job| job.cost_between(from, to).0).collect();
        let whole: u64 = costs.iter().sum();
        costs.into_iter().map(|cost| cost as f64 / whole.max(1) as f64).collect()
    }
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Whose it is.
    pub label: String,
    /// When the first step begins.
    pub start: Nanos,
    /// How long a step is.
    pub step_ns: Nanos,
    /// A value a step.
    pub values: Vec<f64>,
}
