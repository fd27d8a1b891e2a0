//! ZERO: nobody uses forwarding (GekkoFWD, section 3.2).

use super::{Arbitration, Infeasible, Job, Policy, System};

/// Every job accesses the file system without an I/O node. Infeasible where that is not allowed or, for a job with a
/// profile, was not measured.
#[derive(Clone, Copy, Debug)]
pub struct Zero;

impl Policy for Zero {
    fn name(&self) -> &'static str {
        "ZERO"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        let choices = jobs.iter().map(|job| job.exactly(0, system)).collect::<Result<_, _>>()?;
        Ok(Arbitration { choices })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, mb, system};
    use super::*;

    #[test]
    fn nobody_forwards() {
        let jobs = [job("a", 8, "0:5 1:9"), job("b", 3, "-")];
        let found = Zero.arbitrate(&jobs, &system(4)).unwrap();
        assert_eq!((found.to_string().as_str(), found.bandwidth(), found.io_nodes()), ("0 0", mb("5"), 0));
        assert!(Zero.arbitrate(&jobs, &System { direct: false, ..system(4) }).is_err());
        assert!(Zero.arbitrate(&[job("a", 8, "1:9")], &system(4)).is_err());
    }
}
