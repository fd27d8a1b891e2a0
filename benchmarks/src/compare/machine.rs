//! What the figures were measured on.

use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::Path;

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
    fn the_processor_has_a_name() {
        assert_eq!(processor("a : b\nmodel name\t: Some CPU\n").as_deref(), Some("Some CPU"));
        assert_eq!(processor(""), None);
    }
}
