//! Which job may do I/O when. Pure: applications in, a pattern out.
//!
//! Applications compute for a while, then transfer, then compute again. They have processors of their own and share the
//! way to the file storage, where they get into each other's way. A *pattern* says for one period, which then repeats
//! for ever, when each may transfer and how fast; the jobs need nobody to ask while they run. It is computed when a job
//! enters or leaves the machine (PerSched: Aupy, Gainaru, Le Fèvre, Periodic I/O scheduling for super-computers).
//!
//! | What | Where |
//! |---|---|
//! | Applications, platform, bounds | [`Workload`], read by [`parse_applications`], [`parse_platform`] |
//! | The paper's search | [`search`] over [`score_period`] (Algorithms 1 to 3) |
//! | A better one | [`front()`], the patterns that no other found beats in both objectives |
//! | The rivals, that decide while the jobs run | [`run_online`] |
//! | The schedule itself, and whether it obeys the model | [`Pattern`], [`Pattern::check`] |
//!
//! All quantities of a schedule are whole microseconds, kilobytes a second and bytes; patterns compare exactly.
//! A search takes a function that maps a batch of independent computations, so that the caller decides about threads.
//!
//! ```
//! use tatpio::periodic::{Search, Workload, one_by_one, parse_applications, parse_platform, search};
//!
//! let platform = parse_platform("platform", "640 0.01 3")?;
//! let applications = parse_applications("jobs", "4480 128.2 512 T1\n15360 423.4 128 AP")?;
//! let workload = Workload::new(platform, applications)?;
//! let pattern = search(&workload, &Search::from_period(workload.cycle_max()), one_by_one)?;
//! assert!(pattern.score(&workload).dilation() < 1.01);
//! let first = &pattern.timetables[0].instances[0][0];
//! println!("T1 may transfer from {} to {} at {}", first.start, first.end, first.bandwidth);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod front;
mod input;
mod insert;
mod online;
mod pattern;
mod persched;
mod profile;
mod quantities;
mod sweep;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod workload;

pub use front::{Contender, Exploration, Maker, Recipe, ScoreRecipe, front, in_turn, most_efficient};
pub use input::{InputError, parse_applications, parse_platform};
pub use online::{Online, Policy, Run, run_online};
pub use pattern::{Broken, Objective, PERIOD_MAX, Pattern, Score, Timetable, Window};
pub use persched::{NoPattern, ScorePeriod, Search, one_by_one, pattern_of_period, score_period, search};
pub use quantities::{Bandwidth, Micros};
pub use workload::{Application, BadWorkload, Platform, Workload};
