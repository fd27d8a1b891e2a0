//! Where the programs' files go.

use crate::mpi_io::Comm;
use std::path::Path;

/// A name for a file of this job, the same on every rank: in `TATPIO_SCRATCH`, else in memory (`/dev/shm`),
/// else where the system keeps temporary files. Collective.
pub fn path(world: &Comm, name: &str) -> String {
    let job = world.all(u64::from(std::process::id()))[0];
    format!("{}/tatpio-{name}-{job}", folder())
}

/// The folder alone. Local.
pub fn folder() -> String {
    let named = std::env::var("TATPIO_SCRATCH").ok().filter(|folder| !folder.is_empty());
    named.unwrap_or_else(|| {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            memory.display().to_string()
        } else {
            std::env::temp_dir().display().to_string()
        }
    })
}
