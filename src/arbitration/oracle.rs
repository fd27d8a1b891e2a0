//! ORACLE: the best for every job, as if there were I/O nodes without end (GekkoFWD, section 3.2).

use super::{Arbitration, Choice, Infeasible, Job, Policy, System};
use std::cmp::Reverse;

/// Every job gets the number of I/O nodes with its largest bandwidth, the fewest of several, whether there are as many
/// or not: a bound, not a plan. A job without a profile gets its static share.
#[derive(Clone, Copy, Debug)]
pub struct Oracle;

impl Policy for Oracle {
    fn name(&self) -> &'static str {
        "ORACLE"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        Ok(Arbitration { choices: jobs.iter().map(|job| best(job, system)).collect::<Result<_, _>>()? })
    }
}

fn best(job: &Job, system: &System) -> Result<Choice, Infeasible> {
    if job.profile.is_none() {
        return job.within(system.static_share(job.compute_nodes), system);
    }
    let choices = job.choices(system);
    let best = choices.iter().max_by_key(|choice| (choice.bandwidth, Reverse(choice.route.own())));
    best.copied().ok_or_else(|| job.no_choice(None, &choices))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, mb, system};
    use super::*;

    #[test]
    fn everybody_gets_the_best() {
        let jobs = [
            job("a", 8, "0:5 1:9 2:9 8:8"),
            job("b", 12, "0:5 4:6 8:9"),
            job("c", 6, "0:2 1:1"),
            job("d", 9, "-"),
        ];
        let found = Oracle.arbitrate(&jobs, &system(12)).unwrap();
        assert_eq!((found.to_string().as_str(), found.bandwidth()), ("1 4 0 1", mb("17")));
        assert_eq!(Oracle.arbitrate(&jobs[..3], &system(0)).unwrap().excess(&system(0)), 5);
        assert!(Oracle.arbitrate(&[job("e", 7, "2:1")], &system(9)).is_err());
    }
}
