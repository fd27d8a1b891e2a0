//! What SIZE and PROCESS share: I/O nodes in proportion to something that jobs have.

use super::{Arbitration, Infeasible, Job, System};

/// Gives every job its part of all I/O nodes, rounded to the nearest (halves up), and brought down to a choice that
/// the job has. Unlike under STATIC all I/O nodes are in use when compute nodes are idle; jobs whose share rounds to
/// nothing go without where they may.
pub(super) fn arbitrate(
    jobs: &[Job],
    system: &System,
    size: impl Fn(&Job) -> u32,
) -> Result<Arbitration, Infeasible> {
    let total: u128 = jobs.iter().map(|job| u128::from(size(job))).sum();
    let share = |job: &Job| {
        let twice = 2 * u128::from(system.io_nodes) * u128::from(size(job));
        u32::try_from((twice + total) / (2 * total.max(1))).expect("a part of the I/O nodes")
    };
    let choices = jobs.iter().map(|job| job.within(share(job), system)).collect::<Result<_, _>>()?;
    Ok(Arbitration { choices })
}
