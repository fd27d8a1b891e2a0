//! What the figures were measured on.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// The machine, as far as it says.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The type of the file system that the files are on.
    pub file_system: String,
}

impl Machine {
    /// Looks at the machine, and at the file system of `directory`.
    pub fn look(directory: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let unknown = || "unknown".to_owned();
        let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
        Machine {
            processor: processor(&read("/proc/cpuinfo")).unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: if kernel.is_empty() { unknown() } else { kernel },
            file_system: file_system(&read("/proc/self/mounts"), directory).unwrap_or_else(unknown),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { processor, cores, kernel, file_system } = self;
        write!(f, "machine: {processor}, {cores} cores, Linux {kernel}; files on {file_system}")
    }
}

/// The processor time used so far, to tell later how much of it others used: a benchmark next to a compiler
/// measures the compiler.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    at: Instant,
    /// Seconds of all cores together that were not idle.
    busy_seconds: f64,
    /// Seconds of this process and of those it started that have ended.
    own_seconds: f64,
}

impl Moment {
    /// Now; `None` where the system does not say.
    pub fn now() -> Option<Moment> {
        let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
        let busy_ticks = busy_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
        let mut own_milliseconds = 0;
        for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
            let usage = getrusage(who).ok()?;
            own_milliseconds += usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds();
        }
        Some(Moment {
            at: Instant::now(),
            busy_seconds: busy_ticks as f64 / ticks_per_second as f64,
            own_seconds: own_milliseconds as f64 / 1e3,
        })
    }

    /// The share of all cores' time that other processes have used since (or the host, on a virtual machine):
    /// 0 to 1.
    pub fn others_share_since(self) -> Option<f64> {
        let now = Moment::now()?;
        let cores = std::thread::available_parallelism().ok()?.get();
        let available_seconds = now.at.duration_since(self.at).as_secs_f64() * cores as f64;
        let busy = now.busy_seconds - self.busy_seconds;
        let own = now.own_seconds - self.own_seconds;
        (available_seconds > 0.0).then(|| ((busy - own) / available_seconds).clamp(0.0, 1.0))
    }
}

/// The ticks that all cores together were not idle and not waiting for I/O: the first line of /proc/stat.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks = line.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    // user nice system idle iowait irq softirq steal; what follows is counted in user and nice already.
    Some(
        ticks.iter().take(8).enumerate().filter(|(at, _)| ![3, 4].contains(at)).map(|(_, ticks)| ticks).sum(),
    )
}

fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The type of the last mount whose point is the longest that `directory` is below.
fn file_system(mounts: &str, directory: &Path) -> Option<String> {
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    let holds = |(point, _): &(String, String)| directory.starts_with(point);
    let mounts = mounts.lines().filter_map(mount).filter(holds);
    mounts.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_is_the_innermost_mount() {
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /dev tmpfs rw 0 0\nshm /dev/shm tmpfs2 rw 0 0\n";
        for (directory, expected) in
            [("/home", "ext4"), ("/dev/x", "tmpfs"), ("/dev/shm/y", "tmpfs2"), ("/devil", "ext4")]
        {
            assert_eq!(file_system(mounts, Path::new(directory)).as_deref(), Some(expected), "{directory}");
        }
    }

    #[test]
    fn idle_ticks_are_not_busy() {
        assert_eq!(busy_ticks("cpu  1 20 300 9 9 4000 50000 600000 7 7\ncpu0 1\n"), Some(654_321));
        assert_eq!(busy_ticks("intr 1\n"), None);
    }

    #[test]
    fn the_processor_has_a_name() {
        assert_eq!(processor("a : b\nmodel name\t: Some CPU\n").as_deref(), Some("Some CPU"));
        assert_eq!(processor(""), None);
    }
}
