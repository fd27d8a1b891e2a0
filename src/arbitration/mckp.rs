//! MCKP: the largest sum of bandwidths that the I/O nodes allow (GekkoFWD, section 3.1).

use super::knapsack::{self, Item};
use super::{Arbitration, Choice, Infeasible, Job, Policy, Route, System};

/// The choices with the largest sum of bandwidths among all that keep to the I/O nodes there are, found exactly
/// ([`knapsack`], which also says how ties are broken).
///
/// A job without a profile gets what it would get by default, its static share, so that its first run is no slower for
/// being unknown. Static shares round up, and may be too many together; such jobs then get one I/O node each.
///
/// **When there are fewer I/O nodes than jobs need that must forward**, one node is set aside for sharing, and the jobs
/// that have no other way may use it: at the estimate of [`Curve::shared`](super::Curve::shared), which is low, so
/// that those who gain least from a node of their own end up there, and those of whom nothing is known before them. The
/// other nodes are divided as ever.
///
/// Infeasible only when a job has no choice at all, or must forward and there is no I/O node.
#[derive(Clone, Copy, Debug)]
pub struct Mckp;

impl Policy for Mckp {
    fn name(&self) -> &'static str {
        "MCKP"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        let mut offered = jobs.iter().map(|job| choices(job, system)).collect::<Result<Vec<_>, _>>()?;
        let mut io_nodes = system.io_nodes;
        if needed(&offered) > u64::from(io_nodes) {
            for (job, choices) in jobs.iter().zip(&mut offered).filter(|(job, _)| job.profile.is_none()) {
                *choices = vec![job.within(1, system)?];
            }
        }
        if needed(&offered) > u64::from(io_nodes) {
            let forwarding = offered.iter().filter(|choices| fewest(choices) > 0).count();
            let too_few = Infeasible::TooFewIoNodes { needed: 1, available: io_nodes, jobs: forwarding };
            io_nodes = io_nodes.checked_sub(1).ok_or(too_few)?;
            for (job, choices) in jobs.iter().zip(&mut offered).filter(|(_, choices)| fewest(choices) > 0) {
                let bandwidth = job.profile.as_ref().and_then(|curve| curve.shared(jobs.len()));
                choices.insert(0, Choice { route: Route::Shared, bandwidth });
            }
        }
        let item = |choice: &Choice| Item {
            weight: choice.route.own(),
            value: choice.bandwidth.map_or(0, |bandwidth| bandwidth.0),
        };
        let classes: Vec<Vec<Item>> =
            offered.iter().map(|choices| choices.iter().map(item).collect()).collect();
        let chosen = knapsack::solve(&classes, io_nodes).expect("the fewest nodes of each job fit");
        let choices = offered.iter().zip(chosen).map(|(choices, index)| choices[index]).collect();
        Ok(Arbitration { choices })
    }
}

/// The I/O nodes without which somebody goes without a choice.
fn needed(offered: &[Vec<Choice>]) -> u64 {
    offered.iter().map(|choices| u64::from(fewest(choices))).sum()
}

fn fewest(choices: &[Choice]) -> u32 {
    choices.first().map_or(0, |choice| choice.route.own())
}

/// What a job is offered, the fewest I/O nodes first: all that it may have or, without a profile, its static share.
pub(super) fn choices(job: &Job, system: &System) -> Result<Vec<Choice>, Infeasible> {
    if job.profile.is_none() {
        return Ok(vec![job.within(system.static_share(job.compute_nodes), system)?]);
    }
    let choices = job.choices(system);
    if choices.is_empty() { Err(job.no_choice(None, &choices)) } else { Ok(choices) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, mb, system};
    use super::*;

    /// I/O nodes, whether jobs may go without, jobs as "compute nodes; profile", and the expected choices.
    fn check(io_nodes: u32, direct: bool, jobs: &[&str], expected: &str, bandwidth: &str) {
        let jobs: Vec<Job> = (jobs.iter())
            .map(|text| {
                let (nodes, profile) = text.split_once("; ").unwrap();
                job("a", nodes.parse().unwrap(), profile)
            })
            .collect();
        let system = System { direct, ..system(io_nodes) };
        let found = Mckp.arbitrate(&jobs, &system).unwrap();
        assert_eq!(found.to_string(), expected, "{jobs:?}");
        assert_eq!(found.bandwidth(), mb(bandwidth), "{jobs:?}");
        assert_eq!(found.excess(&system), 0);
    }

    #[test]
    fn nodes_go_where_they_gain_most() {
        check(3, true, &["8; 0:5 1:6 2:9", "8; 0:5 1:9 2:10"], "2 1", "18");
        check(2, true, &["8; 0:5 1:6 2:9", "8; 0:5 1:9 2:10"], "1 1", "15");
        check(9, true, &["8; 0:5 1:6 2:9", "8; 0:9 1:2 2:9"], "2 0", "18");
        check(9, true, &["9; 0:5 1:6 2:9", "6; 4:90 2:20"], "1 2", "26");
        check(0, true, &["9; 0:5 1:6"], "0", "5");
        check(9, true, &[], "", "0");
    }

    #[test]
    fn a_job_without_a_profile_gets_its_static_share() {
        check(12, true, &["17; -", "8; 0:1 8:9"], "1 8", "9");
        check(12, true, &["16; -", "8; 0:1 8:9"], "2 8", "9");
        check(2, true, &["16; -", "8; 0:1 1:5 2:9"], "1 1", "5");
        // Shares of 2 and 2 and 1 are too many together.
        check(4, true, &["32; -", "32; -", "12; -", "8; 0:1 1:5"], "1 1 1 1", "5");
    }

    #[test]
    fn those_who_gain_least_share() {
        // Three must forward and there are two nodes: one is shared.
        check(2, false, &["8; 1:30", "8; 1:90", "8; 1:60"], "shared 1 shared", "120");
        // One of its own would be worth more to the second, but the fourth may go without.
        check(
            2,
            true,
            &["8; 1:40", "8; 1:80", "8; 2:90 4:100", "8; 0:5 1:90"],
            "shared shared shared 1",
            "131.25",
        );
        check(1, false, &["8; 1:40", "8; 1:80"], "shared shared", "60");
        check(1, false, &["8; -", "8; 1:80"], "shared shared", "40");
        // Enough for all: nobody shares.
        check(2, false, &["8; 1:40", "8; 1:80 2:900"], "1 1", "120");
        let error = Mckp.arbitrate(&[job("a", 8, "1:1"), job("b", 8, "0:1")], &system(0)).unwrap_err();
        assert_eq!(error.to_string(), "1 jobs need at least 1 I/O nodes and there are 0");
        let error = Mckp.arbitrate(&[job("a", 7, "2:1")], &system(5)).unwrap_err();
        assert!(matches!(error, Infeasible::NoChoice { .. }), "{error}");
    }
}
