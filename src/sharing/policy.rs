//! Sharing policies and their names (ThemisIO, sections 2.2.2 and 5.3).

use super::job::Job;
use std::fmt;
use std::str::FromStr;

/// One level of a policy: who shares, and by which weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `group`: groups share evenly.
    Group,
    /// `user`: users share evenly.
    User,
    /// `size`: in proportion to compute nodes.
    Size,
    /// `priority`: in proportion to priorities.
    Priority,
    /// `job`: jobs share evenly.
    Job,
}

impl Level {
    /// Every level.
    pub const ALL: [Level; 5] = [Level::Job, Level::User, Level::Group, Level::Size, Level::Priority];

    fn name(self) -> &'static str {
        match self {
            Level::Group => "group",
            Level::User => "user",
            Level::Size => "size",
            Level::Priority => "priority",
            Level::Job => "job",
        }
    }

    /// The entity of this level that a job belongs to.
    pub(super) fn entity(self, job: &Job) -> u64 {
        match self {
            Level::Group => job.group.0.into(),
            Level::User => job.user.0.into(),
            Level::Size | Level::Priority => self.weight(job).into(),
            Level::Job => job.id.0,
        }
    }

    /// The weight of that entity among its siblings; equal for all jobs of an entity.
    pub(super) fn weight(self, job: &Job) -> u32 {
        match self {
            Level::Group | Level::User | Level::Job => 1,
            Level::Size => job.nodes.get(),
            Level::Priority => job.priority.get(),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A sharing policy: levels from the outermost in, as in `group-user-size-fair`.
///
/// Each level divides what an entity of the level before got. At the last level the entities are jobs; a
/// policy that ends with groups or users divides evenly among the jobs of each. Before the last level, `size`
/// and `priority` make classes: jobs of equal size (priority) are one entity, whose weight is that size
/// (priority), so that `priority-size-fair` divides among priorities first and by size within each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    levels: Vec<Level>,
}

impl Policy {
    /// A policy of these levels, outermost first.
    ///
    /// Errors, for people: no level; one that stands twice, or any after `job`: it would have nothing left to
    /// divide.
    pub fn new(levels: Vec<Level>) -> Result<Policy, String> {
        if levels.is_empty() {
            return Err(format!("expected a sharing policy of {}, found none", known()));
        }
        for (at, level) in levels.iter().enumerate() {
            if levels[..at].contains(level) {
                return Err(format!(
                    "\"{level}\" stands twice in the sharing policy: leave the second one out"
                ));
            }
            if levels[..at].contains(&Level::Job) {
                return Err(format!(
                    "\"{level}\" after \"job\" in the sharing policy has nothing left to divide: put \"job\" last"
                ));
            }
        }
        Ok(Policy { levels })
    }

    /// The levels as named, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The levels down to jobs: as named, and the implied last one.
    pub(super) fn down_to_jobs(&self) -> impl Iterator<Item = Level> + '_ {
        let implied = matches!(self.levels.last(), Some(Level::Group | Level::User)).then_some(Level::Job);
        self.levels.iter().copied().chain(implied)
    }
}

fn known() -> String {
    Level::ALL.map(Level::name).join(", ")
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.levels.iter().try_for_each(|level| write!(f, "{level}-"))?;
        f.write_str("fair")
    }
}

impl FromStr for Policy {
    type Err = String;

    /// The policy of a name such as `size-fair`, `user-then-size-fair` or `group-user-size`: words joined by
    /// hyphens, where `then` and a last `fair` mean nothing.
    ///
    /// Errors, for people: an unknown word, with the known ones; and those of [`Policy::new`].
    fn from_str(text: &str) -> Result<Policy, String> {
        let text = text.trim();
        let words = text.strip_suffix("fair").map_or(text, |rest| rest.strip_suffix('-').unwrap_or(rest));
        let mut levels = Vec::new();
        for word in words.split('-').filter(|&word| word != "then" && !words.is_empty()) {
            let found = Level::ALL.into_iter().find(|level| level.name() == word);
            levels.push(found.ok_or_else(|| {
                format!("\"{word}\" in the sharing policy \"{text}\" is not known: expected {}", known())
            })?);
        }
        Policy::new(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, expected) in [
            ("size-fair", "size-fair"),
            ("job", "job-fair"),
            (" user-then-size-fair ", "user-size-fair"),
            ("group-user-then-size-fair", "group-user-size-fair"),
            ("group-then-user-fair", "group-user-fair"),
            ("priority-size", "priority-size-fair"),
            ("priority-group-user-size-job-fair", "priority-group-user-size-job-fair"),
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), expected);
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }

    #[test]
    fn errors() {
        for (text, expected) in [
            (
                "group-usr-fair",
                "\"usr\" in the sharing policy \"group-usr-fair\" is not known: expected job, user, group, size, priority",
            ),
            ("", "expected a sharing policy of job, user, group, size, priority, found none"),
            ("fair", "expected a sharing policy of job, user, group, size, priority, found none"),
            (
                "user--size",
                "\"\" in the sharing policy \"user--size\" is not known: expected job, user, group, size, priority",
            ),
            ("user-size-user", "\"user\" stands twice in the sharing policy: leave the second one out"),
            (
                "job-size-fair",
                "\"size\" after \"job\" in the sharing policy has nothing left to divide: put \"job\" last",
            ),
        ] {
            assert_eq!(text.parse::<Policy>().unwrap_err(), expected);
        }
    }
}
