//! Why a policy has no answer.

use std::fmt;

/// A policy cannot serve these jobs on this system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Infeasible {
    /// The policy gives this job a number of I/O nodes (0 for none) that it may not have.
    NoChoice {
        /// The job's name.
        job: String,
        /// Its compute nodes, which its I/O nodes must divide.
        compute_nodes: u32,
        /// What the policy wants to give it; `None` when anything would do.
        wanted: Option<u32>,
        /// What it may have: measured, and allowed on this system.
        allowed: Vec<u32>,
    },
    /// There are fewer I/O nodes than the policy must hand out.
    TooFewIoNodes {
        /// How many it must hand out at least.
        needed: u64,
        /// How many there are.
        available: u32,
        /// For how many jobs.
        jobs: usize,
    },
    /// The jobs run on more compute nodes than the system is said to have.
    TooFewComputeNodes {
        /// How many the jobs use together.
        needed: u64,
        /// How many there are.
        available: u32,
    },
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Infeasible::NoChoice { job, compute_nodes, wanted, allowed } => {
                match wanted {
                    Some(0) => write!(f, "job {job} may not access the file system without an I/O node")?,
                    Some(wanted) => {
                        write!(f, "job {job} on {compute_nodes} compute nodes may not have {wanted}")?
                    }
                    None => write!(
                        f,
                        "job {job} on {compute_nodes} compute nodes may have no number of I/O nodes"
                    )?,
                }
                let allowed: Vec<String> = allowed.iter().map(u32::to_string).collect();
                match allowed.is_empty() {
                    true => f.write_str(": measure it with a number that divides its compute nodes"),
                    false => write!(f, " (it may have {})", allowed.join(", ")),
                }
            }
            Infeasible::TooFewIoNodes { needed, available, jobs } => {
                write!(f, "{jobs} jobs need at least {needed} I/O nodes and there are {available}")
            }
            Infeasible::TooFewComputeNodes { needed, available } => {
                write!(f, "the jobs use {needed} compute nodes and the system is said to have {available}")
            }
        }
    }
}

impl std::error::Error for Infeasible {}
