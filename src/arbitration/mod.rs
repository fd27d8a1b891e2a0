//! Which job gets how many I/O (forwarding) nodes. Pure: jobs and a number of nodes in, a choice a job out.
//!
//! A forwarding layer stands between compute nodes and the file system. How many of its nodes a job can use to good
//! effect depends on its access pattern and not on its size, and for some none is best. The policies here divide the
//! nodes among the jobs that run, after Bez et al., *Arbitration Policies for On-Demand User-Level I/O Forwarding on
//! HPC Platforms* (IPDPS 2021), called GekkoFWD below:
//!
//! ```text
//! measure    FORGE tables, Darshan logs -> patterns -> curves    measurements, darshan, pattern, curve
//! arbitrate  curves, jobs, system -> a choice a job              one policy a file; knapsack solves MCKP
//! replay     a FIFO queue, arbitrated at every start and end     queue
//! evaluate   many sets of jobs, medians as in figures 2 and 3    evaluation
//! ```
//!
//! **Decisions are integers**, bandwidths too ([`Bandwidth`]), so that equal arguments give equal results everywhere.
//! **Ties** go to fewer I/O nodes; where that does not decide, to the jobs that come first in the list.

mod curve;
mod darshan;
mod evaluation;
mod infeasible;
mod job;
pub mod knapsack;
mod mckp;
mod measurements;
mod one;
mod oracle;
mod parse;
mod pattern;
mod process;
mod proportion;
mod queue;
mod size;
mod static_share;
#[cfg(test)]
mod testing;
mod zero;

pub use curve::{Bandwidth, Curve, CurveError};
pub use darshan::DarshanLog;
pub use evaluation::{Point, Quartiles, RATIO_ONE, RatioPoint, figure_2, figure_3, sample};
pub use infeasible::Infeasible;
pub use job::{Choice, Job, Route, System};
pub use mckp::Mckp;
pub use measurements::{Measurements, Statistic};
pub use one::One;
pub use oracle::Oracle;
pub use parse::ParseError;
pub use pattern::{FileLayout, Match, Operation, Pattern, Spatiality};
pub use process::Process;
pub use queue::{JobRun, Phase, QueueError, QueuedJob, Run, TimeNs, run_queue};
pub use size::Size;
pub use static_share::Static;
pub use zero::Zero;

use std::fmt;

/// A way to divide the I/O nodes among the jobs that run.
pub trait Policy: Sync {
    /// The name that the paper gives it, in capitals.
    fn name(&self) -> &'static str;

    /// A choice for each job, in the order of `jobs`.
    ///
    /// Errors: [`Infeasible`] when the policy has none for a job, or not enough I/O nodes. Policies that share out by
    /// a rule and not under a limit may hand out more nodes than there are: [`Arbitration::excess`].
    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible>;
}

/// Every policy, in the order of GekkoFWD, section 3.2.
pub const POLICIES: [&dyn Policy; 7] = [&Zero, &One, &Static, &Size, &Process, &Oracle, &Mckp];

/// The policy of a name, in any case. The error says what was expected.
pub fn policy(name: &str) -> Result<&'static dyn Policy, String> {
    let found = POLICIES.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(name.trim()));
    found.ok_or_else(|| {
        let names: Vec<&str> = POLICIES.iter().map(|policy| policy.name()).collect();
        format!("expected a policy of {}, found \"{name}\"", names.join(", "))
    })
}

/// What a policy gave each job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arbitration {
    /// One a job, in the order of the jobs.
    pub choices: Vec<Choice>,
}

impl Arbitration {
    /// The sum of the jobs' bandwidths (GekkoFWD, equation 2), those without a profile left out.
    pub fn bandwidth(&self) -> Bandwidth {
        self.choices.iter().filter_map(|choice| choice.bandwidth).sum()
    }

    /// The I/O nodes in use: the jobs' own, and the shared one if a job uses it.
    pub fn io_nodes(&self) -> u64 {
        let own: u64 = self.choices.iter().map(|choice| u64::from(choice.route.own())).sum();
        own + u64::from(self.choices.iter().any(|choice| choice.route == Route::Shared))
    }

    /// How many more I/O nodes were handed out than there are: jobs would have to share that many, which the
    /// bandwidths do not account for.
    pub fn excess(&self, system: &System) -> u64 {
        self.io_nodes().saturating_sub(u64::from(system.io_nodes))
    }
}

impl fmt::Display for Arbitration {
    /// The choices, separated by blanks: a number of I/O nodes, or `shared`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, choice) in self.choices.iter().enumerate() {
            let blank = if index > 0 { " " } else { "" };
            write!(f, "{blank}{}", choice.route)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Random, job, mb, system};
    use super::*;

    #[test]
    fn policies_are_found_by_name() {
        for known in POLICIES {
            assert_eq!(policy(&known.name().to_lowercase()).unwrap().name(), known.name());
        }
        let error = policy("drfa").err().unwrap();
        let expected = "expected a policy of ZERO, ONE, STATIC, SIZE, PROCESS, ORACLE, MCKP, found \"drfa\"";
        assert_eq!(error, expected);
    }

    /// The jobs of GekkoFWD, section 5.2, with the points that table 4 gives. Their compute nodes are those that add
    /// up to the 72 of the text and give the table's shares; processes are table 3's.
    fn table_4() -> Vec<Job> {
        [
            ("BT-C", 8, 128, "0:195.7 1:77.6"),
            ("BT-D", 16, 512, "1:597.2 2:594.2"),
            ("IOR-MPI", 8, 128, "1:268.4 8:5089.9"),
            ("POSIX-L", 16, 512, "2:411.9"),
            ("MAD", 8, 64, "0:255.9 1:77.8"),
            ("S3D", 16, 512, "0:241.3 2:48.1"),
        ]
        .map(|(name, nodes, processes, profile)| Job { processes, ..job(name, nodes, profile) })
        .to_vec()
    }

    #[test]
    fn table_4_exactly() {
        let jobs = table_4();
        assert_eq!(jobs.iter().map(|job| job.compute_nodes).sum::<u32>(), 72);
        for (policy, choices, io_nodes, bandwidth) in [
            (&Static as &dyn Policy, "1 2 1 2 1 2", 9, "1478.0"),
            (&Size, "1 2 1 2 1 2", 9, "1478.0"),
            (&Mckp, "0 1 8 2 0 0", 11, "6791.9"),
        ] {
            let found = policy.arbitrate(&jobs, &system(12)).unwrap();
            assert_eq!(found.to_string(), choices, "{}", policy.name());
            assert_eq!((found.io_nodes(), found.bandwidth()), (io_nodes, mb(bandwidth)), "{}", policy.name());
            assert_eq!(found.excess(&system(12)), 0);
        }
        let total =
            |policy: &dyn Policy| policy.arbitrate(&jobs, &system(12)).unwrap().bandwidth().as_mb_per_s();
        assert_eq!(format!("{:.3}", total(&Mckp) / total(&Static)), "4.595");
        // Section 5.2: "4.59x, 4.59x, and 4.1x better than the alternatives"; PROCESS is not in the table.
        assert_eq!(Process.arbitrate(&jobs, &system(12)).unwrap().to_string(), "1 2 1 2 0 2");
        assert_eq!(format!("{:.1}", total(&Mckp) / total(&Process)), "4.1");
        assert_eq!(total(&Oracle), total(&Mckp));
    }

    /// Jobs of all kinds, some of which must forward, some without a profile.
    fn jobs(random: &mut Random) -> Vec<Job> {
        let job = |random: &mut Random| {
            let compute_nodes = 1 + random.below(24) as u32;
            let measured: Vec<u32> = (0..9).filter(|&nodes| nodes == 1 || random.below(2) == 0).collect();
            let point = |nodes: u32| format!("{nodes}:{}", random.below(12));
            let points: Vec<String> = measured.into_iter().map(point).collect();
            job(
                "any",
                compute_nodes,
                if random.below(5) == 0 { "-".into() } else { points.join(" ") }.as_str(),
            )
        };
        (0..1 + random.below(5)).map(|_| job(random)).collect()
    }

    /// Every choice of every job tried, for the best bandwidth with these I/O nodes.
    fn brute_force(choices: &[Vec<Choice>], io_nodes: u32) -> Option<Bandwidth> {
        let Some((first, rest)) = choices.split_first() else { return Some(Bandwidth::ZERO) };
        let with = |choice: &Choice| {
            let left = io_nodes.checked_sub(choice.route.own())?;
            Some(choice.bandwidth.unwrap_or_default() + brute_force(rest, left)?)
        };
        first.iter().filter_map(with).max()
    }

    #[test]
    fn mckp_is_the_best_within_the_limit_and_never_below_a_rival_that_keeps_it() {
        let mut compared = 0;
        for seed in 0..3000 {
            let mut random = Random(seed);
            let jobs = jobs(&mut random);
            let direct = random.below(2) == 0;
            let system = System { direct, compute_nodes: 200, ..system(random.below(20) as u32) };
            let Ok(best) = Mckp.arbitrate(&jobs, &system) else {
                assert_eq!(system.io_nodes, 0, "seed {seed}: one node can always be shared");
                continue;
            };
            assert_eq!(best.excess(&system), 0, "seed {seed}");
            for (job, choice) in jobs.iter().zip(&best.choices) {
                let own = choice.route.own();
                assert!(own == 0 || job.compute_nodes.is_multiple_of(own), "seed {seed}: load is balanced");
                assert!(choice.route != Route::Direct || direct, "seed {seed}: jobs forward where they must");
            }
            if best.choices.iter().any(|choice| choice.route == Route::Shared) {
                continue;
            }
            let offered: Vec<Vec<Choice>> = (jobs.iter().zip(&best.choices))
                .map(|(job, &found)| if job.profile.is_some() { job.choices(&system) } else { vec![found] })
                .collect();
            assert_eq!(Some(best.bandwidth()), brute_force(&offered, system.io_nodes), "seed {seed}");
            for rival in POLICIES {
                // A job without a profile gets its default share from MCKP, and perhaps another from a rival, at no
                // known bandwidth: nodes that are then left for others make no fair comparison.
                if jobs.iter().any(|job| job.profile.is_none()) {
                    continue;
                }
                let Ok(found) = rival.arbitrate(&jobs, &system) else { continue };
                if found.excess(&system) == 0 {
                    compared += 1;
                    assert!(best.bandwidth() >= found.bandwidth(), "seed {seed}: {}", rival.name());
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }

    #[test]
    fn the_oracle_is_a_bound_and_reached_with_enough_nodes() {
        for seed in 0..2000 {
            let mut random = Random(seed ^ 0x6f72_6163);
            let jobs = jobs(&mut random);
            let oracle = Oracle.arbitrate(&jobs, &system(16)).unwrap();
            let enough = System { compute_nodes: 120, ..system(16 * jobs.len() as u32) };
            let mckp = Mckp.arbitrate(&jobs, &enough).unwrap();
            assert_eq!(mckp.bandwidth(), oracle.bandwidth(), "seed {seed}");
        }
    }
}
