//! SIZE: I/O nodes in proportion to compute nodes (GekkoFWD, section 3.2).

use super::{Arbitration, Infeasible, Job, Policy, System, proportion};

/// Every job gets a part of the I/O nodes in proportion to its compute nodes, rounded to the nearest and brought down
/// to a choice that the job has. Rounding may hand out a few more than there are ([`Arbitration::excess`]).
#[derive(Clone, Copy, Debug)]
pub struct Size;

impl Policy for Size {
    fn name(&self) -> &'static str {
        "SIZE"
    }

    fn arbitrate(&self, jobs: &[Job], system: &System) -> Result<Arbitration, Infeasible> {
        proportion::arbitrate(jobs, system, |job| job.compute_nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, system};
    use super::*;

    #[test]
    fn all_nodes_are_shared_out() {
        let curve = "0:5 1:9 2:9 4:9 8:9";
        let jobs = [job("a", 8, curve), job("b", 16, curve), job("c", 24, "-")];
        for (io_nodes, expected) in [(12, "2 4 6"), (3, "1 1 2"), (1, "0 0 1"), (0, "0 0 0")] {
            let found = Size.arbitrate(&jobs, &system(io_nodes)).unwrap();
            assert_eq!(found.to_string(), expected, "{io_nodes}");
        }
        let forwarding = System { direct: false, ..system(1) };
        assert_eq!(Size.arbitrate(&jobs, &forwarding).unwrap().excess(&forwarding), 2);
        assert_eq!(Size.arbitrate(&[], &system(3)).unwrap().choices, []);
    }
}
