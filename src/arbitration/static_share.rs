//! STATIC: a fixed ratio of I/O nodes to compute nodes (GekkoFWD, section 3.2).

use super::{Arbitration, Infeasible, Job, Policy, System};

/// Every job gets the I/O nodes that serve its compute nodes in a fixed mapping of the whole system
/// ([`System::static_share`]), whatever else runs: a change of jobs moves no node of another.
///
/// A share that is not among a job's choices comes down to the next that is. Jobs always forward where they can.
/// Shares round up, so that small jobs on few I/O nodes may get more than there are ([`Arbitration::excess`]): in the
/// machine they would sit under the same node.
#[derive(Clone, Copy, Debug)]
pub struct Static;

impl Policy for Static {
    fn name(&self) -> &'static str {
        "STATIC"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        let needed = jobs.iter().map(|job| u64::from(job.compute_nodes)).sum();
        if needed > u64::from(system.compute_nodes) {
            return Err(Infeasible::TooFewComputeNodes { needed, available: system.compute_nodes });
        }
        let choice = |job: &Job| job.within(system.static_share(job.compute_nodes), system);
        Ok(Arbitration { choices: jobs.iter().map(choice).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, system};
    use super::*;

    #[test]
    fn the_share_depends_on_the_job_alone() {
        let curve = "0:5 1:9 2:9 4:9";
        let jobs = [job("a", 8, curve), job("b", 48, curve), job("c", 20, "-")];
        for (io_nodes, expected, excess) in
            [(12, "1 4 2", 0), (1, "1 1 1", 2), (0, "0 0 0", 0), (96, "4 4 20", 0)]
        {
            let found = Static.arbitrate(&jobs, &system(io_nodes)).unwrap();
            assert_eq!((found.to_string().as_str(), found.excess(&system(io_nodes))), (expected, excess));
            let alone = Static.arbitrate(&jobs[1..2], &system(io_nodes)).unwrap();
            assert_eq!(alone.choices[0], found.choices[1]);
        }
        let error = Static.arbitrate(&[job("a", 97, curve)], &system(12)).unwrap_err();
        assert_eq!(error.to_string(), "the jobs use 97 compute nodes and the system is said to have 96");
    }
}
