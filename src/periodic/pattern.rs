//! What a search finds: who transfers when, over one period that repeats (PerSched, figure 3), and how good it is.

use super::quantities::{Bandwidth, Micros};
use super::workload::Workload;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// The longest period: four years, so that scores compare inside 128 bits.
pub const PERIOD_MAX: Micros = Micros(1 << 47);

/// A time in which an application may transfer, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When it opens, from the beginning of the period.
    #[serde(rename = "start_us")]
    pub start: Micros,
    /// When it closes: after `start`, and past the period when the window runs on into the next.
    #[serde(rename = "end_us")]
    pub end: Micros,
    /// What all processors of the application may move together in it.
    #[serde(rename = "bandwidth_kb_per_s")]
    pub bandwidth: Bandwidth,
}

/// What one application does in a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timetable {
    /// The number of the application in its workload.
    pub application: usize,
    /// Its instances in the order of time. The first window of the first opens inside the period, and the last window
    /// of the last closes at least w before that happens again. Inside an instance windows do not overlap and the
    /// volume goes through; between two instances the application computes for w and then waits.
    pub instances: Vec<Vec<Window>>,
}

/// A schedule that repeats for ever. Its serialised names carry the units; no rule of the model is checked when it is
/// read back but by [`Pattern::check`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// How long it takes until everything happens again (T).
    #[serde(rename = "period_us")]
    pub period: Micros,
    /// One for each application, in the order of the workload.
    pub timetables: Vec<Timetable>,
}

/// How good a pattern is. Both objectives are ratios of these whole numbers, so that they compare exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// The period of the pattern.
    pub period: Micros,
    /// Processor-microseconds of work in a period, over all applications.
    pub work: u128,
    /// The least n_per (w + time_io) of all applications: what the slowest would have needed alone.
    pub alone_least: Micros,
}

impl Score {
    pub(super) fn new(workload: &Workload, period: Micros, counts: &[u64]) -> Score {
        let jobs = || workload.jobs().iter().zip(counts);
        let work = jobs().map(|(job, &count)| job.work() * u128::from(count)).sum();
        let alone_least = jobs().map(|(job, &count)| job.cycle * count).min().unwrap_or(0);
        Score { period, work, alone_least: Micros(alone_least) }
    }

    /// SysEfficiency (Equation 1 with Equation 3): 1/N Σ β n_per w / T.
    pub fn efficiency(&self, workload: &Workload) -> f64 {
        self.work as f64 / self.period.0 as f64 / workload.platform().processors as f64
    }

    /// Dilation (Equation 2 with Equation 3): the largest T / (n_per (w + time_io)).
    pub fn dilation(&self) -> f64 {
        self.period.0 as f64 / self.alone_least.0 as f64
    }

    /// `Greater` when this score's SysEfficiency is.
    pub fn compare_efficiency(&self, other: &Score) -> Ordering {
        let scaled = |a: &Score, b: &Score| a.work * u128::from(b.period.0);
        scaled(self, other).cmp(&scaled(other, self))
    }

    /// `Greater` when this score's Dilation is *less*, which is better.
    pub fn compare_dilation(&self, other: &Score) -> Ordering {
        let scaled = |a: &Score, b: &Score| u128::from(a.alone_least.0) * u128::from(b.period.0);
        scaled(self, other).cmp(&scaled(other, self))
    }
}

/// Which of two patterns is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The larger SysEfficiency, and of equals the smaller Dilation.
    #[default]
    SysEfficiency,
    /// The smaller Dilation, and of equals the larger SysEfficiency.
    Dilation,
}

impl Objective {
    /// `Greater` when `a` is the better one.
    pub fn compare(self, a: &Score, b: &Score) -> Ordering {
        let (efficiency, dilation) = (a.compare_efficiency(b), a.compare_dilation(b));
        match self {
            Objective::SysEfficiency => efficiency.then(dilation),
            Objective::Dilation => dilation.then(efficiency),
        }
    }
}

/// The rule of the model that a pattern breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// The timetables are not one for each application, in order, with at least one instance each.
    Timetables,
    /// A window is empty, outside the period, or not after the one before it.
    Order {
        /// The application, by number.
        application: usize,
        /// The instance, by number.
        instance: usize,
    },
    /// An instance has less than w between the end of the transfer before it and its own.
    Compute {
        /// The application, by number.
        application: usize,
        /// The instance after the gap, by number; 0 is the first of the next period.
        instance: usize,
    },
    /// An instance transfers less than its volume, or a microsecond at its bandwidth more.
    Volume {
        /// The application, by number.
        application: usize,
        /// The instance, by number.
        instance: usize,
    },
    /// A window is faster than the processors of the application.
    Processors {
        /// The application, by number.
        application: usize,
        /// The instance, by number.
        instance: usize,
    },
    /// All windows together are faster than the file storage.
    Total {
        /// When, from the beginning of the period.
        at: Micros,
        /// How much they want.
        wanted: Bandwidth,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Timetables => {
                write!(f, "not one timetable with instances for each application, in order")
            }
            Broken::Order { application, instance } => {
                write!(f, "application {application}, instance {instance}: windows are not in order")
            }
            Broken::Compute { application, instance } => {
                write!(f, "application {application}: no time to compute before instance {instance}")
            }
            Broken::Volume { application, instance } => {
                write!(f, "application {application}, instance {instance}: not its volume")
            }
            Broken::Processors { application, instance } => {
                write!(f, "application {application}, instance {instance}: faster than its processors")
            }
            Broken::Total { at, wanted } => write!(f, "at {at} all want {wanted}, more than there is"),
        }
    }
}

impl std::error::Error for Broken {}

impl Pattern {
    /// Its score.
    pub fn score(&self, workload: &Workload) -> Score {
        let counts: Vec<u64> = self.timetables.iter().map(|table| table.instances.len() as u64).collect();
        Score::new(workload, self.period, &counts)
    }

    /// Holds the pattern against every rule of the model (section 2.2), repeated for ever.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn check(&self, workload: &Workload) -> Result<(), Broken> {
        let in_order =
            |(number, table): (usize, &Timetable)| table.application == number && !table.instances.is_empty();
        let complete = self.timetables.len() == workload.jobs().len();
        if !complete || !self.timetables.iter().enumerate().all(in_order) {
            return Err(Broken::Timetables);
        }
        self.timetables.iter().try_for_each(|table| self.check_timetable(workload, table))?;
        self.check_total(workload)
    }

    fn check_timetable(&self, workload: &Workload, table: &Timetable) -> Result<(), Broken> {
        let application = table.application;
        let job = &workload.jobs()[application];
        let mut ended: Option<Micros> = None;
        for (instance, windows) in table.instances.iter().enumerate() {
            let mut earliest = ended.map(|end| end.0.saturating_add(job.compute));
            for window in windows {
                if earliest.is_some_and(|earliest| window.start.0 < earliest) {
                    let first = std::ptr::eq(window, &windows[0]);
                    let gap = Broken::Compute { application, instance };
                    return Err(if first { gap } else { Broken::Order { application, instance } });
                }
                if window.end <= window.start || window.bandwidth.0 == 0 {
                    return Err(Broken::Order { application, instance });
                }
                if window.bandwidth > job.fastest {
                    return Err(Broken::Processors { application, instance });
                }
                earliest = Some(window.end.0);
            }
            let grains =
                |window: &Window| u128::from(window.bandwidth.0) * u128::from(window.end.0 - window.start.0);
            let carried: u128 = windows.iter().map(grains).sum();
            let last = windows.last().ok_or(Broken::Volume { application, instance })?;
            let wanted = u128::from(job.grains);
            if carried < wanted || carried - wanted >= u128::from(last.bandwidth.0) {
                return Err(Broken::Volume { application, instance });
            }
            ended = Some(last.end);
        }
        let first = table.instances[0][0].start;
        if first >= self.period {
            return Err(Broken::Order { application, instance: 0 });
        }
        let again = u128::from(first.0) + u128::from(self.period.0);
        match ended {
            Some(end) if u128::from(end.0) + u128::from(job.compute) > again => {
                Err(Broken::Compute { application, instance: 0 })
            }
            _ => Ok(()),
        }
    }

    /// Adds up all windows at every instant of a period. Every window is shorter than the period here.
    fn check_total(&self, workload: &Workload) -> Result<(), Broken> {
        let period = self.period.0;
        let mut changes: Vec<(u64, i128)> = Vec::new();
        for window in self.windows() {
            let (start, end) = (window.start.0 % period, window.end.0 % period);
            let bandwidth = i128::from(window.bandwidth.0);
            changes.extend([(start, bandwidth), (end, -bandwidth)]);
            if end < start {
                changes.push((0, bandwidth));
            }
        }
        // At one instant those that close come first.
        changes.sort_unstable();
        let mut wanted = 0;
        for (at, change) in changes {
            wanted += change;
            if wanted > i128::from(workload.platform().total.0) {
                let wanted = Bandwidth(u64::try_from(wanted).unwrap_or(u64::MAX));
                return Err(Broken::Total { at: Micros(at), wanted });
            }
        }
        Ok(())
    }

    /// All windows of all applications.
    pub fn windows(&self) -> impl Iterator<Item = &Window> {
        self.timetables.iter().flat_map(|table| table.instances.iter().flatten())
    }
}
