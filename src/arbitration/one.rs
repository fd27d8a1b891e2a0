//! ONE: an I/O node of its own for every job (GekkoFWD, section 3.2).

use super::{Arbitration, Infeasible, Job, Policy, System};

/// Every job gets one I/O node that it shares with no other. Infeasible with fewer I/O nodes than jobs.
#[derive(Clone, Copy, Debug)]
pub struct One;

impl Policy for One {
    fn name(&self) -> &'static str {
        "ONE"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        let needed = jobs.len() as u64;
        if needed > u64::from(system.io_nodes) {
            return Err(Infeasible::TooFewIoNodes { needed, available: system.io_nodes, jobs: jobs.len() });
        }
        let choices = jobs.iter().map(|job| job.exactly(1, system)).collect::<Result<_, _>>()?;
        Ok(Arbitration { choices })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, mb, system};
    use super::*;

    #[test]
    fn everybody_gets_one() {
        let jobs = [job("a", 8, "0:5 1:9"), job("b", 3, "-")];
        let found = One.arbitrate(&jobs, &system(2)).unwrap();
        assert_eq!((found.to_string().as_str(), found.bandwidth(), found.io_nodes()), ("1 1", mb("9"), 2));
        let error = One.arbitrate(&jobs, &system(1)).unwrap_err();
        assert_eq!(error.to_string(), "2 jobs need at least 2 I/O nodes and there are 1");
    }
}
