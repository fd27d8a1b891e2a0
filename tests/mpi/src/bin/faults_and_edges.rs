//! What differential cases do not reach: hints, modes, errors, handles, and what must pass through.
//!
//! ```text
//! mpirun -n 4 -genv LD_PRELOAD .../libtatpio.so faults_and_edges [NAME...]
//! mpirun -n 4 -genv LD_PRELOAD .../libtatpio.so faults_and_edges --never
//! ```
//!
//! The checks set TATPIO_HINTS themselves. Names choose among them; `--never` is one for a run in which
//! nobody ever enables tatpio. Rank 0 prints each check's name before it begins; a check that fails ends the
//! job.

use tatpio_mpi_tests::edges::{self, Check, Here};
use tatpio_mpi_tests::mpi_io::Mpi;

fn main() {
    let _mpi = Mpi::init();
    let here = Here::new();
    let names: Vec<String> = std::env::args().skip(1).collect();
    let never = names.iter().any(|name| name == "--never");
    let chosen = |name: &str| never || names.is_empty() || names.iter().any(|wanted| wanted == name);
    let checks: &[Check] = if never { &edges::NEVER } else { &edges::ALL };
    let mut done = 0;
    for (name, check) in checks.iter().filter(|(name, _)| chosen(name)) {
        here.announce(name);
        check(&here);
        here.world.barrier();
        done += 1;
    }
    here.finish(done);
}
