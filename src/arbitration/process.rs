//! PROCESS: I/O nodes in proportion to processes (GekkoFWD, section 3.2).

use super::{Arbitration, Infeasible, Job, Policy, System, proportion};

/// Every job gets a part of the I/O nodes in proportion to its processes, rounded to the nearest and brought down to
/// a choice that the job has. Rounding may hand out a few more than there are ([`Arbitration::excess`]).
#[derive(Clone, Copy, Debug)]
pub struct Process;

impl Policy for Process {
    fn name(&self) -> &'static str {
        "PROCESS"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        proportion::arbitrate(jobs, system, |job| job.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, system};
    use super::*;

    #[test]
    fn processes_count_and_not_nodes() {
        let curve = "0:5 1:9 2:9 4:9 8:9";
        let jobs =
            [Job { processes: 96, ..job("a", 8, curve) }, Job { processes: 32, ..job("b", 16, curve) }];
        assert_eq!(Process.arbitrate(&jobs, &system(8)).unwrap().to_string(), "4 2");
    }
}
