//! What is to be scheduled: a platform and the applications on it (PerSched, section 2.1), and what no schedule beats.

use super::quantities::{Bandwidth, GRAINS_PER_BYTE, Micros};
use crate::units::Bytes;
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt;

/// The machine: processors that compute apart and share one way to the file storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Platform {
    /// Processors in all (N).
    pub processors: u64,
    /// What one processor can move (b).
    #[serde(rename = "per_processor_kb_per_s")]
    pub per_processor: Bandwidth,
    /// What the file storage takes in all (B).
    #[serde(rename = "total_kb_per_s")]
    pub total: Bandwidth,
}

/// A job that computes, transfers, computes again, without end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Application {
    /// What reports call it.
    pub name: String,
    /// Its own processors (β).
    pub processors: u64,
    /// How long an instance computes (w).
    #[serde(rename = "compute_us")]
    pub compute: Micros,
    /// What an instance transfers after that (vol_io).
    #[serde(rename = "volume_bytes")]
    pub volume: Bytes,
}

impl Application {
    /// The same job on a machine of `factor` times fewer, and as many times slower, processors: the volume stays. The
    /// paper scales its Table 1 by 64 like this (section 4.2). `None` when the processors do not divide or the time
    /// does not fit.
    pub fn scaled(&self, factor: u64) -> Option<Application> {
        let divides = factor > 0 && self.processors.is_multiple_of(factor);
        let compute = Micros(self.compute.0.checked_mul(factor)?);
        divides.then(|| Application { processors: self.processors / factor, compute, ..self.clone() })
    }
}

/// An application as the algorithms see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub processors: u64,
    pub compute: u64,
    /// In thousandths of a byte.
    pub grains: u64,
    /// min(β b, B).
    pub fastest: Bandwidth,
    /// w + time_io.
    pub cycle: u64,
}

/// Applications on a platform that can hold them, checked once.
#[derive(Clone, Debug)]
pub struct Workload {
    platform: Platform,
    applications: Vec<Application>,
    jobs: Vec<Job>,
    /// The place of each application when slowdowns are equal.
    ranks: Vec<u32>,
    /// The numbers of the applications by the work that a transferred byte frees, the most first.
    by_value: Vec<usize>,
    dilation_shared: f64,
}

/// What keeps applications from being a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadWorkload {
    /// There is nothing to schedule.
    NoApplications,
    /// A quantity of the platform is 0 or past what is computed with; the text names it.
    Platform(&'static str),
    /// A quantity of an application (its number, from 0) is 0 or past what is computed with; the text names it.
    Application(usize, &'static str),
    /// The applications together want more processors than there are.
    TooManyProcessors {
        /// What they want.
        wanted: u64,
        /// What there is.
        available: u64,
    },
}

impl fmt::Display for BadWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadWorkload::NoApplications => write!(f, "no application to schedule: give at least one"),
            BadWorkload::Platform(what) => write!(f, "the platform's {what}"),
            BadWorkload::Application(number, what) => write!(f, "application {number}: {what}"),
            BadWorkload::TooManyProcessors { wanted, available } => {
                write!(
                    f,
                    "the applications want {wanted} processors of {available}: leave some out, or scale them"
                )
            }
        }
    }
}

impl std::error::Error for BadWorkload {}

/// The longest w or time_io: half a year. These limits keep every product of a comparison inside 128 bits.
pub(super) const TIME_MAX: u64 = 1 << 44;
/// The largest volume of an instance: 9 petabytes, whose thousandths fit 63 bits.
pub(super) const VOLUME_MAX: Bytes = (1 << 63) / GRAINS_PER_BYTE;
/// The largest number of processors.
pub(super) const PROCESSORS_MAX: u64 = 1 << 30;
/// The largest bandwidth: 1.1 PB/s.
pub(super) const BANDWIDTH_MAX: Bandwidth = Bandwidth(1 << 40);

impl Workload {
    /// Checks that the applications fit the platform.
    ///
    /// # Errors
    ///
    /// [`BadWorkload`]: no application, a quantity of 0 or out of range, more processors wanted than there are.
    pub fn new(platform: Platform, applications: Vec<Application>) -> Result<Workload, BadWorkload> {
        let platform_checks = [
            (platform.processors, PROCESSORS_MAX, "number of processors is from 1 to 2^30"),
            (
                platform.per_processor.0,
                BANDWIDTH_MAX.0,
                "bandwidth per processor is from 1 kB/s to 2^40 kB/s",
            ),
            (platform.total.0, BANDWIDTH_MAX.0, "total bandwidth is from 1 kB/s to 2^40 kB/s"),
        ];
        let bad = platform_checks.into_iter().find(|&(value, max, _)| !(1..=max).contains(&value));
        if let Some((_, _, what)) = bad {
            return Err(BadWorkload::Platform(what));
        }
        if applications.is_empty() {
            return Err(BadWorkload::NoApplications);
        }
        let mut jobs = Vec::with_capacity(applications.len());
        for (number, application) in applications.iter().enumerate() {
            let job =
                Job::new(&platform, application).map_err(|what| BadWorkload::Application(number, what))?;
            jobs.push(job);
        }
        let wanted = jobs.iter().fold(0u64, |sum, job| sum.saturating_add(job.processors));
        if wanted > platform.processors {
            return Err(BadWorkload::TooManyProcessors { wanted, available: platform.processors });
        }
        let ranks = ranks(&jobs);
        let mut by_value: Vec<usize> = (0..jobs.len()).collect();
        by_value.sort_by(|&a, &b| compare_value(&jobs[b], &jobs[a]));
        let wanted: f64 = jobs.iter().map(|job| job.grains as f64 / job.cycle as f64).sum();
        let dilation_shared = (wanted / platform.total.0 as f64).max(1.0);
        Ok(Workload { platform, applications, jobs, ranks, by_value, dilation_shared })
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The applications, in the order given.
    pub fn applications(&self) -> &[Application] {
        &self.applications
    }

    pub(super) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The longest w + time_io: below this period no pattern holds every application (section 3.1, T_min).
    pub fn cycle_max(&self) -> Micros {
        Micros(self.jobs.iter().map(|job| job.cycle).max().expect("a workload has applications"))
    }

    /// The longest w + time_io over the shortest: about how many instances of the shortest fit one of the longest
    /// (n_max of Theorem 1 and Table 5).
    pub fn cycle_ratio(&self) -> f64 {
        let least = self.jobs.iter().map(|job| job.cycle).min().expect("a workload has applications");
        self.cycle_max().0 as f64 / least as f64
    }

    /// What SysEfficiency cannot exceed, were every application alone (Equation 5).
    pub fn efficiency_alone(&self) -> f64 {
        let sum: f64 = self.jobs.iter().map(|job| job.work() as f64 / job.cycle as f64).sum();
        sum / self.platform.processors as f64
    }

    /// What SysEfficiency cannot exceed with the file storage shared: the linear program over rates of instances, each
    /// at most 1 / (w + time_io), together at most B. Never above [`Workload::efficiency_alone`].
    pub fn efficiency_shared(&self) -> f64 {
        let alone = |job: &Job| 1.0 / job.cycle as f64;
        self.work_at_most(1.0, alone) / self.platform.processors as f64
    }

    /// What Dilation cannot go below: all applications slowed alike until the file storage carries them.
    pub fn dilation_shared(&self) -> f64 {
        self.dilation_shared
    }

    /// The most work in a time, of at most `count` instances of each job and what the file storage carries: a knapsack
    /// of fractions, filled in the order of value.
    pub(super) fn work_at_most(&self, time: f64, count: impl Fn(&Job) -> f64) -> f64 {
        let mut left = self.platform.total.0 as f64 * time;
        let mut work = 0.0;
        for job in self.by_value.iter().map(|&job| &self.jobs[job]) {
            let count = count(job).min(left / job.grains as f64);
            work += count * job.work() as f64;
            left -= count * job.grains as f64;
        }
        work
    }

    /// Each job's class by the work that a transferred byte frees: 0 for the most, equal for equal.
    pub(super) fn value_classes(&self) -> Vec<u32> {
        let mut leaders: Vec<&Job> = self.by_value.iter().map(|&job| &self.jobs[job]).collect();
        leaders.dedup_by(|b, a| compare_value(a, b).is_eq());
        let class =
            |job: &Job| leaders.iter().take_while(|leader| compare_value(leader, job).is_gt()).count();
        self.jobs.iter().map(|job| u32::try_from(class(job)).expect("applications fit 32 bits")).collect()
    }
}

/// `Greater` when a byte that `a` transfers frees more work.
fn compare_value(a: &Job, b: &Job) -> Ordering {
    (a.work() * u128::from(b.volume())).cmp(&(b.work() * u128::from(a.volume())))
}

impl Job {
    fn new(platform: &Platform, application: &Application) -> Result<Job, &'static str> {
        let Application { processors, compute, volume, .. } = *application;
        if !(1..=PROCESSORS_MAX).contains(&processors) {
            return Err("its number of processors is from 1 to 2^30");
        }
        if !(1..=TIME_MAX).contains(&compute.0) {
            return Err("an instance computes from 1 microsecond to 2^44");
        }
        if !(1..=VOLUME_MAX).contains(&volume) {
            return Err("an instance transfers from 1 byte to 9 petabytes");
        }
        let own = processors.saturating_mul(platform.per_processor.0);
        let fastest = Bandwidth(own.min(platform.total.0));
        let transfer = fastest.time(volume).0;
        if transfer > TIME_MAX {
            return Err(
                "an instance's transfer takes more than 2^44 microseconds: more bandwidth or less volume",
            );
        }
        let grains = volume * GRAINS_PER_BYTE;
        Ok(Job { processors, compute: compute.0, grains, fastest, cycle: compute.0 + transfer })
    }

    /// The processor-microseconds of an instance: what it adds to SysEfficiency. Below 2^75.
    pub fn work(&self) -> u128 {
        u128::from(self.processors) * u128::from(self.compute)
    }

    pub fn volume(&self) -> Bytes {
        self.grains / GRAINS_PER_BYTE
    }

    /// time_io.
    pub fn transfer(&self) -> u64 {
        self.cycle - self.compute
    }
}

/// Each job's place by (w / time_io, the largest first, number).
///
/// Algorithm 2 writes the *minimal* element by (slowdown, w / time_io), but its text serves the *largest* slowdown
/// first. With the largest w / time_io first, too, Tables 4 and 5 come out to the last digit; with the smallest, set 3
/// has a dilation of 1.118 instead of 1.087.
fn ranks(jobs: &[Job]) -> Vec<u32> {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&jobs[a], &jobs[b]);
        product(b.compute, a.transfer()).cmp(&product(a.compute, b.transfer()))
    });
    let mut ranks = vec![0; jobs.len()];
    for (rank, job) in order.into_iter().enumerate() {
        ranks[job] = u32::try_from(rank).expect("applications fit 32 bits");
    }
    ranks
}
