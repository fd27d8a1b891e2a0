//! A FIFO queue of jobs, arbitrated anew whenever a job starts or ends (GekkoFWD, section 5.3), on a virtual clock.
//!
//! Jobs start strictly in the order of the queue, each as soon as enough compute nodes are free. All jobs that can
//! start at a moment do; then the policy divides the I/O nodes among all that run, and may change what those have that
//! ran before. (STATIC does not: its shares depend on a job's size alone.) A job moves its volume at the bandwidth of
//! what it has, and ends when all is moved: jobs do nothing but I/O, as in the paper, where a job's bandwidth is its
//! volume over its running time.
//!
//! Changes take effect at once. In the machine clients look for a new mapping now and then (every ten seconds in the
//! paper). Time is whole nanoseconds, and a job ends with the one in which its last byte moves; so equal arguments
//! give equal runs.

use super::{Bandwidth, Curve, Infeasible, Job, Policy, Route, System};
use crate::units::Bytes;
use std::fmt;

/// A moment since the start, in nanoseconds.
pub type TimeNs = u64;

const NS_PER_S: u128 = 1_000_000_000;

/// A job in the queue.
#[derive(Clone, Debug)]
pub struct QueuedJob {
    /// What the policy sees.
    pub job: Job,
    /// The bytes that it reads and writes.
    pub volume: Bytes,
    /// The bandwidth that it really gets; `None` when that is its profile. For jobs whose profile is not known, or is
    /// an estimate. With more I/O nodes than a point was measured for, the point below counts.
    pub actual: Option<Curve>,
}

/// What a job has for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// From when on; it lasts until the next phase, or the job's end.
    pub from_ns: TimeNs,
    /// How the job reaches the file system.
    pub route: Route,
    /// What it gets.
    pub bandwidth: Bandwidth,
}

/// How a job ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    /// When it started.
    pub start_ns: TimeNs,
    /// When it ended.
    pub end_ns: TimeNs,
    /// What it had, the first from its start; successive ones differ.
    pub phases: Vec<Phase>,
    /// The bytes that it moved.
    pub volume: Bytes,
}

impl JobRun {
    /// Volume over running time; `None` for a job that took none.
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        mean_bandwidth(u128::from(self.volume), self.end_ns - self.start_ns)
    }

    /// What it had at this moment; `None` while it did not run.
    pub fn at(&self, now_ns: TimeNs) -> Option<Phase> {
        let ran = (self.start_ns..self.end_ns).contains(&now_ns);
        self.phases.iter().rev().find(|phase| ran && phase.from_ns <= now_ns).copied()
    }
}

fn mean_bandwidth(volume: u128, time_ns: TimeNs) -> Option<Bandwidth> {
    let bandwidth = (volume * NS_PER_S).checked_div(u128::from(time_ns))?;
    Some(Bandwidth(u64::try_from(bandwidth).unwrap_or(u64::MAX)))
}

/// How the queue ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// One a job, in the order of the queue.
    pub jobs: Vec<JobRun>,
    /// How often the policy was asked.
    pub arbitrations: usize,
}

impl Run {
    /// The sum of the jobs' bandwidths (GekkoFWD, equation 2).
    pub fn aggregate_bandwidth(&self) -> Bandwidth {
        self.jobs.iter().filter_map(JobRun::bandwidth).sum()
    }

    /// When the last job ended.
    pub fn makespan_ns(&self) -> TimeNs {
        self.jobs.iter().map(|job| job.end_ns).max().unwrap_or(0)
    }

    /// All bytes over the makespan; `None` when it took no time.
    pub fn throughput(&self) -> Option<Bandwidth> {
        mean_bandwidth(self.jobs.iter().map(|job| u128::from(job.volume)).sum(), self.makespan_ns())
    }
}

/// Why a queue cannot be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// A job needs more compute nodes than the system has.
    TooLarge {
        /// The job's name.
        job: String,
        /// How many it needs.
        needed: u32,
        /// How many there are.
        available: u32,
    },
    /// The policy has no answer for the jobs that run.
    Infeasible {
        /// When.
        at_ns: TimeNs,
        /// Why.
        source: Infeasible,
    },
    /// What the policy gave a job was never measured, so that nobody knows how fast it is.
    NotMeasured {
        /// The job's name.
        job: String,
        /// What it was given.
        route: Route,
    },
    /// None of the jobs that run ends before the clock does, or at all: they get no bandwidth.
    Stuck {
        /// Since when.
        at_ns: TimeNs,
        /// The first of them.
        job: String,
    },
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::TooLarge { job, needed, available } => {
                write!(f, "job {job} needs {needed} compute nodes and the system has {available}")
            }
            QueueError::Infeasible { at_ns, source } => write!(f, "at {at_ns} ns: {source}"),
            QueueError::NotMeasured { job, route: Route::Direct } => {
                write!(f, "job {job} goes without an I/O node, for which it was not measured")
            }
            QueueError::NotMeasured { job, route: Route::Shared } => {
                write!(f, "job {job} shares an I/O node, and was measured with none")
            }
            QueueError::NotMeasured { job, route: Route::Own(io_nodes) } => {
                write!(f, "job {job} has {io_nodes} I/O nodes, and was not measured with as few")
            }
            QueueError::Stuck { at_ns, job } => {
                write!(f, "at {at_ns} ns: no job that runs ever ends; the first is {job}")
            }
        }
    }
}

impl std::error::Error for QueueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            QueueError::Infeasible { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A job that runs.
struct Running {
    /// In the queue.
    index: usize,
    /// What is still to move, in bytes times nanoseconds a second.
    left: u128,
    bandwidth: Bandwidth,
}

impl Running {
    /// Until it ends, if what it has stays; `None` when it never does.
    fn time_left(&self) -> Option<u128> {
        match (self.left, u128::from(self.bandwidth.0)) {
            (0, _) => Some(0),
            (_, 0) => None,
            (left, bandwidth) => Some(left.div_ceil(bandwidth)),
        }
    }
}

/// Runs the queue under a policy until every job has ended.
///
/// Errors: a job that is larger than the system; the policy's [`Infeasible`]; a job that gets what it was not measured
/// with; jobs that never end.
pub fn run_queue(queue: &[QueuedJob], system: &System, policy: &dyn Policy) -> Result<Run, QueueError> {
    if let Some(QueuedJob { job, .. }) =
        queue.iter().find(|queued| queued.job.compute_nodes > system.compute_nodes)
    {
        let (needed, available) = (job.compute_nodes, system.compute_nodes);
        return Err(QueueError::TooLarge { job: job.name.clone(), needed, available });
    }
    let mut run = Run { jobs: Vec::with_capacity(queue.len()), arbitrations: 0 };
    let mut running: Vec<Running> = Vec::new();
    let mut now_ns: TimeNs = 0;
    loop {
        start(queue, system, now_ns, &mut run, &mut running);
        if running.is_empty() {
            return Ok(run);
        }
        arbitrate(queue, system, policy, now_ns, &mut run, &mut running)?;
        let stuck = || QueueError::Stuck { at_ns: now_ns, job: queue[running[0].index].job.name.clone() };
        let wait = running.iter().filter_map(Running::time_left).min().ok_or_else(stuck)?;
        let next_ns = u64::try_from(wait).ok().and_then(|wait| now_ns.checked_add(wait)).ok_or_else(stuck)?;
        for job in &mut running {
            job.left = job.left.saturating_sub(wait * u128::from(job.bandwidth.0));
        }
        now_ns = next_ns;
        running.retain(|job| {
            run.jobs[job.index].end_ns = now_ns;
            job.left > 0
        });
    }
}

/// Starts the jobs at the head of the queue that fit the free compute nodes.
fn start(queue: &[QueuedJob], system: &System, now_ns: TimeNs, run: &mut Run, running: &mut Vec<Running>) {
    let used: u32 = running.iter().map(|job| queue[job.index].job.compute_nodes).sum();
    let mut free = system.compute_nodes - used;
    while let Some(queued) = queue.get(run.jobs.len())
        && let Some(rest) = free.checked_sub(queued.job.compute_nodes)
    {
        free = rest;
        let left = u128::from(queued.volume) * NS_PER_S;
        running.push(Running { index: run.jobs.len(), left, bandwidth: Bandwidth::ZERO });
        let volume = queued.volume;
        run.jobs.push(JobRun { start_ns: now_ns, end_ns: now_ns, phases: Vec::new(), volume });
    }
}

/// Gives every job that runs what the policy says from now on.
fn arbitrate(
    queue: &[QueuedJob],
    system: &System,
    policy: &dyn Policy,
    now_ns: TimeNs,
    run: &mut Run,
    running: &mut [Running],
) -> Result<(), QueueError> {
    let jobs: Vec<Job> = running.iter().map(|job| queue[job.index].job.clone()).collect();
    let found = policy.arbitrate(&jobs, system);
    let found = found.map_err(|source| QueueError::Infeasible { at_ns: now_ns, source })?;
    run.arbitrations += 1;
    for (job, choice) in running.iter_mut().zip(&found.choices) {
        job.bandwidth = served(&queue[job.index], choice.route, jobs.len())?;
        let phase = Phase { from_ns: now_ns, route: choice.route, bandwidth: job.bandwidth };
        let phases = &mut run.jobs[job.index].phases;
        if phases.last().is_none_or(|last| (last.route, last.bandwidth) != (phase.route, phase.bandwidth)) {
            phases.push(phase);
        }
    }
    Ok(())
}

/// What a job really gets.
fn served(queued: &QueuedJob, route: Route, running: usize) -> Result<Bandwidth, QueueError> {
    let curve = queued.actual.as_ref().or(queued.job.profile.as_ref());
    let bandwidth = curve.and_then(|curve| match route {
        Route::Direct => curve.at(0),
        Route::Shared => curve.shared(running),
        Route::Own(io_nodes) => curve.at_most(io_nodes).map(|(_, bandwidth)| bandwidth),
    });
    bandwidth.ok_or_else(|| QueueError::NotMeasured { job: queued.job.name.clone(), route })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, curve, job, mb, system};
    use super::super::{Mckp, POLICIES, Size, Static, Zero};
    use super::*;

    const MB: u64 = 1_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn queued(compute_nodes: u32, profile: &str, volume_mb: u64) -> QueuedJob {
        QueuedJob { job: job("a", compute_nodes, profile), volume: volume_mb * MB, actual: None }
    }

    /// The phases of each job: "from-seconds:io-nodes" and the end.
    fn shown(run: &Run) -> Vec<String> {
        let shown = |job: &JobRun| {
            let phase = |phase: &Phase| format!("{}:{} ", phase.from_ns as f64 / 1e9, phase.route);
            let phases: String = job.phases.iter().map(phase).collect();
            format!("{phases}{}", job.end_ns as f64 / 1e9)
        };
        run.jobs.iter().map(shown).collect()
    }

    #[test]
    fn nodes_move_as_jobs_come_and_go() {
        let queue = [
            // Alone with the second at first; the third waits for compute nodes, and the fourth behind it.
            queued(48, "1:10 2:20 4:40", 400),
            queued(32, "1:1 2:50 4:55", 100),
            queued(64, "1:10 2:100 4:110", 500),
            queued(16, "1:5 2:6", 50),
        ];
        let forwarding = System { direct: false, ..system(4) };
        let run = run_queue(&queue, &forwarding, &Mckp).unwrap();
        // 0 s: 20 and 50. 2 s: the second ends; the first has 360 left at 40 and ends at 11 s.
        // 11 s: 2 nodes each, since both must forward; the third ends at 16 s, the fourth's 50 take 8.3 s.
        assert_eq!(shown(&run), ["0:2 2:4 11", "0:2 2", "11:2 16", "11:2 19.333333334"]);
        assert_eq!(run.arbitrations, 4);
        assert_eq!(run.makespan_ns(), 19_333_333_334);
        assert_eq!(run.jobs[1].bandwidth(), Some(mb("50")));
        assert_eq!(run.throughput(), Some(Bandwidth(1_050_000_000 * SECOND / 19_333_333_334)));
        let first = 400 * MB / 11;
        let last = 50 * MB * SECOND / 8_333_333_334;
        assert_eq!(run.aggregate_bandwidth(), Bandwidth(first + 50 * MB + 100 * MB + last));
        assert_eq!(run.jobs[0].at(SECOND).unwrap().route, Route::Own(2));
        assert_eq!(run.jobs[0].at(2 * SECOND).unwrap().route, Route::Own(4));
        assert_eq!((run.jobs[0].at(11 * SECOND), run.jobs[2].at(0)), (None, None));
    }

    #[test]
    fn static_never_moves_a_node() {
        let queue: Vec<QueuedJob> =
            (1..9).map(|size| queued(8 * size, "0:1 1:10 2:20 4:40", u64::from(30 * size % 70))).collect();
        let run = run_queue(&queue, &system(12), &Static).unwrap();
        assert!(run.jobs.iter().all(|job| job.phases.len() == 1));
        assert!(run_queue(&queue, &system(12), &Size).unwrap().jobs.iter().any(|job| job.phases.len() > 1));
    }

    #[test]
    fn a_first_run_is_served_as_it_really_is() {
        let unknown = QueuedJob { actual: Some(curve("1:10 2:20")), ..queued(32, "-", 60) };
        let run = run_queue(std::slice::from_ref(&unknown), &system(12), &Mckp).unwrap();
        // The static share of 4 is measured as 2 are.
        assert_eq!(shown(&run), ["0:4 3"]);
        let error = run_queue(&[unknown], &system(12), &Zero).unwrap_err();
        assert_eq!(error.to_string(), "job a goes without an I/O node, for which it was not measured");
    }

    #[test]
    fn jobs_on_a_shared_node_get_the_estimate() {
        let queue = [queued(32, "1:12", 12), queued(32, "1:90", 90), queued(32, "1:60", 60)];
        let forwarding = System { direct: false, ..system(1) };
        let run = run_queue(&queue, &forwarding, &Mckp).unwrap();
        assert_eq!(shown(&run), ["0:shared 3", "0:shared 3", "0:shared 3"]);
    }

    #[test]
    fn jobs_with_nothing_to_move_end_where_they_start() {
        let queue = [queued(96, "0:0", 0), queued(96, "0:5", 10), queued(96, "0:0", 0)];
        assert_eq!(shown(&run_queue(&queue, &system(0), &Mckp).unwrap()), ["0:0 0", "0:0 2", "2:0 2"]);
        let none = run_queue(&[], &system(4), &Mckp).unwrap();
        assert_eq!(
            (none.makespan_ns(), none.throughput(), none.aggregate_bandwidth()),
            (0, None, Bandwidth::ZERO)
        );
    }

    #[test]
    fn errors_tell_who_and_when() {
        let check = |queue: &[QueuedJob], system: &System, policy: &dyn Policy, expected: &str| {
            assert_eq!(run_queue(queue, system, policy).unwrap_err().to_string(), expected);
        };
        let forwarding = System { direct: false, ..system(0) };
        check(
            &[queued(97, "0:1", 1)],
            &system(0),
            &Mckp,
            "job a needs 97 compute nodes and the system has 96",
        );
        check(
            &[queued(90, "0:1", 1), queued(90, "1:1", 1)],
            &system(0),
            &Mckp,
            "at 1000000000 ns: 1 jobs need at least 1 I/O nodes and there are 0",
        );
        check(
            &[queued(8, "1:1", 1)],
            &forwarding,
            &Zero,
            "at 0 ns: job a may not access the file system without an I/O node (it may have 1)",
        );
        let stuck = "at 1000000000 ns: no job that runs ever ends; the first is a";
        check(&[queued(8, "0:1", 1), queued(8, "0:0", 1)], &system(0), &Zero, stuck);
        let mut slow = queued(8, "0:0.000001", 0);
        slow.volume = u64::MAX;
        check(&[slow], &system(0), &Zero, "at 0 ns: no job that runs ever ends; the first is a");
    }

    /// The rules, checked on the outcome: who runs when, what each had, and that volume and time agree.
    fn check_run(queue: &[QueuedJob], system: &System, policy: &dyn Policy, case: &str) {
        let run = run_queue(queue, system, policy).unwrap_or_else(|error| panic!("{case}: {error}"));
        let mut events: Vec<u64> = run.jobs.iter().flat_map(|job| [job.start_ns, job.end_ns]).collect();
        events.sort_unstable();
        events.dedup();
        assert_eq!(run.jobs[0].start_ns, 0, "{case}");
        for (index, &now) in events.iter().enumerate() {
            let here: Vec<usize> = (0..queue.len()).filter(|&job| run.jobs[job].at(now).is_some()).collect();
            let used: u32 = here.iter().map(|&job| queue[job].job.compute_nodes).sum();
            assert!(used <= system.compute_nodes, "{case}");
            // Strictly in order, and as soon as there is room.
            let waiting = run.jobs.iter().position(|job| job.start_ns > now);
            if let Some(waiting) = waiting {
                assert!(run.jobs[waiting..].iter().all(|job| job.start_ns > now), "{case}");
                assert!(used + queue[waiting].job.compute_nodes > system.compute_nodes, "{case}");
            }
            let jobs: Vec<Job> = here.iter().map(|&job| queue[job].job.clone()).collect();
            let expected = policy.arbitrate(&jobs, system).unwrap();
            for (&job, choice) in here.iter().zip(&expected.choices) {
                assert_eq!(run.jobs[job].at(now).unwrap().route, choice.route, "{case}");
                // Phases begin at events.
                let next = run.jobs[job].phases.iter().find(|phase| phase.from_ns > now);
                assert!(next.is_none_or(|next| next.from_ns >= events[index + 1]), "{case}");
            }
        }
        for (queued, job) in queue.iter().zip(&run.jobs) {
            let ends = job.phases.iter().skip(1).map(|phase| phase.from_ns).chain([job.end_ns]);
            let moved = job
                .phases
                .iter()
                .zip(ends)
                .map(|(phase, end)| u128::from(end - phase.from_ns) * u128::from(phase.bandwidth.0));
            let (moved, volume) = (moved.sum::<u128>(), u128::from(queued.volume) * NS_PER_S);
            let last = job.phases.last().unwrap().bandwidth.0;
            assert!(moved >= volume && moved < volume + u128::from(last.max(1)), "{case}: {moved} {volume}");
        }
    }

    #[test]
    fn random_queues_keep_the_rules() {
        for seed in 0..600 {
            let mut random = Random(seed ^ 0x0051_7565);
            let queue: Vec<QueuedJob> = (0..1 + random.below(12))
                .map(|_| {
                    let points: String =
                        [0, 1, 2, 4, 8].map(|nodes| format!("{nodes}:{} ", 1 + random.below(99))).concat();
                    let volume = 1 + random.below(500) as u64;
                    queued(8 * (1 + random.below(12)) as u32, &points, volume)
                })
                .collect();
            let system = System { direct: random.below(2) == 0, ..system(12 + random.below(12) as u32) };
            for policy in POLICIES.iter().filter(|policy| system.direct || policy.name() != "ZERO") {
                check_run(&queue, &system, *policy, &format!("seed {seed} {}", policy.name()));
            }
        }
    }
}
