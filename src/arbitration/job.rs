//! Jobs, the system they run on, and what a job may be given.

use super::{Bandwidth, Curve, Infeasible};
use std::fmt;

/// A job that runs, or is about to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// For messages.
    pub name: String,
    /// Its compute nodes.
    pub compute_nodes: u32,
    /// Its processes on all of them.
    pub processes: u32,
    /// Its bandwidth by number of I/O nodes; `None` when it is not known, as on its first run.
    pub profile: Option<Curve>,
}

/// What there is to divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// The I/O nodes.
    pub io_nodes: u32,
    /// The compute nodes of the whole system, idle ones too: they set the static ratio.
    pub compute_nodes: u32,
    /// Whether a job may access the file system without an I/O node.
    pub direct: bool,
}

impl System {
    /// The I/O nodes that a static mapping gives a job: each I/O node serves an equal number R of the system's
    /// compute nodes, so that it is the job's compute nodes divided by R, rounded up (GekkoFWD, section 3.2).
    pub fn static_share(&self, compute_nodes: u32) -> u32 {
        let share = u64::from(compute_nodes) * u64::from(self.io_nodes);
        u32::try_from(share.div_ceil(u64::from(self.compute_nodes.max(1)))).unwrap_or(u32::MAX)
    }
}

/// How a job reaches the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// Without an I/O node.
    Direct,
    /// Through the I/O node that all jobs share which have none of their own.
    Shared,
    /// Through so many I/O nodes of its own; at least one.
    Own(u32),
}

impl Route {
    /// The route with so many I/O nodes of the job's own.
    pub fn with(io_nodes: u32) -> Route {
        if io_nodes == 0 { Route::Direct } else { Route::Own(io_nodes) }
    }

    /// The I/O nodes of the job's own.
    pub fn own(self) -> u32 {
        match self {
            Route::Direct | Route::Shared => 0,
            Route::Own(io_nodes) => io_nodes,
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Direct | Route::Own(_) => self.own().fmt(f),
            Route::Shared => f.write_str("shared"),
        }
    }
}

/// Something a job may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// How the job reaches the file system.
    pub route: Route,
    /// What it then gets; `None` when it has no profile.
    pub bandwidth: Option<Bandwidth>,
}

impl Job {
    /// What this job may be given on this system, the fewest I/O nodes first: every number that was measured and
    /// divides its compute nodes, so that each I/O node serves as many (GekkoFWD, section 3.1), and none at all where
    /// the system allows that. Without a profile, every divisor.
    ///
    /// The number of I/O nodes that there are is no limit here.
    pub fn choices(&self, system: &System) -> Vec<Choice> {
        let allowed = |&io_nodes: &u32| match io_nodes {
            0 => system.direct,
            _ => self.compute_nodes.is_multiple_of(io_nodes),
        };
        match &self.profile {
            Some(curve) => (curve.points().iter())
                .filter(|(io_nodes, _)| allowed(io_nodes))
                .map(|&(io_nodes, bandwidth)| Choice {
                    route: Route::with(io_nodes),
                    bandwidth: Some(bandwidth),
                })
                .collect(),
            None => (0..=self.compute_nodes)
                .filter(allowed)
                .map(|io_nodes| Choice { route: Route::with(io_nodes), bandwidth: None })
                .collect(),
        }
    }

    /// The choice with exactly this number of I/O nodes.
    pub(super) fn exactly(&self, io_nodes: u32, system: &System) -> Result<Choice, Infeasible> {
        let choices = self.choices(system);
        let found = choices.iter().find(|choice| choice.route.own() == io_nodes);
        found.copied().ok_or_else(|| self.no_choice(Some(io_nodes), &choices))
    }

    /// The choice for a share of I/O nodes that need not be one of them: the largest that is not above it, or the
    /// smallest there is. A job with a share of at least one gets at least one, if it may.
    pub(super) fn within(&self, share: u32, system: &System) -> Result<Choice, Infeasible> {
        let choices = self.choices(system);
        let below = choices.iter().rev().find(|choice| choice.route.own() <= share);
        let below = below.filter(|choice| choice.route != Route::Direct || share == 0);
        let above = || choices.iter().find(|choice| choice.route != Route::Direct || share == 0);
        let found = below.or_else(above).or(choices.first());
        found.copied().ok_or_else(|| self.no_choice(None, &choices))
    }

    pub(super) fn no_choice(&self, wanted: Option<u32>, choices: &[Choice]) -> Infeasible {
        Infeasible::NoChoice {
            job: self.name.clone(),
            compute_nodes: self.compute_nodes,
            wanted,
            allowed: choices.iter().map(|choice| choice.route.own()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, system};
    use super::*;

    #[test]
    fn static_shares_round_up() {
        for (io_nodes, compute_nodes, share) in
            [(12, 8, 1), (12, 16, 2), (12, 17, 3), (12, 96, 12), (12, 0, 0)]
        {
            assert_eq!(system(io_nodes).static_share(compute_nodes), share);
        }
        assert_eq!(system(0).static_share(50), 0);
        let huge = System { io_nodes: u32::MAX, compute_nodes: 0, direct: true };
        assert_eq!(huge.static_share(u32::MAX), u32::MAX);
    }

    /// Compute nodes and profile of a job, whether it may go without I/O nodes, and the numbers it may have.
    fn check_choices(compute_nodes: u32, profile: &str, direct: bool, expected: &[u32]) {
        let found = job("a", compute_nodes, profile).choices(&System { direct, ..system(4) });
        let found: Vec<u32> = found.iter().map(|choice| choice.route.own()).collect();
        assert_eq!(found, expected, "{compute_nodes} {profile} {direct}");
    }

    #[test]
    fn choices_divide_the_compute_nodes() {
        let profile = "0:9 1:8 2:7 3:6 4:5 8:4";
        check_choices(12, profile, true, &[0, 1, 2, 3, 4]);
        check_choices(12, profile, false, &[1, 2, 3, 4]);
        check_choices(16, profile, true, &[0, 1, 2, 4, 8]);
        check_choices(7, profile, false, &[1]);
        check_choices(12, "-", true, &[0, 1, 2, 3, 4, 6, 12]);
        check_choices(12, "-", false, &[1, 2, 3, 4, 6, 12]);
        check_choices(7, "2:1 4:1", true, &[]);
    }

    /// A share, and the number of I/O nodes that the job gets for it.
    fn check_within(profile: &str, direct: bool, share: u32, expected: u32) {
        let found = job("a", 16, profile).within(share, &System { direct, ..system(4) }).unwrap();
        assert_eq!(found.route.own(), expected, "{profile} {direct} {share}");
    }

    #[test]
    fn shares_come_down_to_a_choice() {
        for (share, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (7, 4), (8, 8), (99, 8)] {
            check_within("0:1 1:1 2:1 4:1 8:1", true, share, expected);
        }
        check_within("0:1 1:1 2:1", false, 0, 1);
        check_within("0:1 4:1", true, 2, 4);
        check_within("0:1 4:1", true, 0, 0);
        check_within("0:1", true, 3, 0);
        check_within("-", true, 7, 4);
    }

    #[test]
    fn errors_say_what_the_job_may_have() {
        let seven = job("seven", 7, "0:1 2:1 4:1");
        let forwarding = System { direct: false, ..system(4) };
        for (found, text) in [
            (
                seven.within(2, &forwarding),
                "job seven on 7 compute nodes may have no number of I/O nodes: \
                 measure it with a number that divides its compute nodes",
            ),
            (seven.exactly(1, &system(4)), "job seven on 7 compute nodes may not have 1 (it may have 0)"),
            (
                job("b", 8, "0:1 1:1 2:1").exactly(0, &forwarding),
                "job b may not access the file system without an I/O node (it may have 1, 2)",
            ),
        ] {
            assert_eq!(found.unwrap_err().to_string(), text);
        }
    }
}
