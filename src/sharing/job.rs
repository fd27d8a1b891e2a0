//! Jobs, as their requests describe them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A job, by the batch system's number.
    JobId(u64)
}
id! {
    /// The user who runs a job.
    UserId(u32)
}
id! {
    /// The group (project, account) on whose behalf a job runs.
    GroupId(u32)
}

/// What policies know of a job. It travels with the job's requests (ThemisIO, section 4.1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// The job.
    pub id: JobId,
    /// Its user.
    pub user: UserId,
    /// Its group.
    pub group: GroupId,
    /// How many compute nodes it has; never 0, so that a job with work always has a share.
    pub nodes: NonZeroU32,
    /// Its priority, a weight; never 0.
    pub priority: NonZeroU32,
}

impl Job {
    /// A job of one node and priority 1.
    pub fn new(id: u64, user: u32, group: u32) -> Job {
        let one = NonZeroU32::MIN;
        Job { id: JobId(id), user: UserId(user), group: GroupId(group), nodes: one, priority: one }
    }

    /// The same job with so many nodes; 0 counts as 1.
    pub fn with_nodes(self, nodes: u32) -> Job {
        Job { nodes: NonZeroU32::new(nodes).unwrap_or(NonZeroU32::MIN), ..self }
    }

    /// The same job with a priority; 0 counts as 1.
    pub fn with_priority(self, priority: u32) -> Job {
        Job { priority: NonZeroU32::new(priority).unwrap_or(NonZeroU32::MIN), ..self }
    }
}
