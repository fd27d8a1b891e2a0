//! `compare`: see `compare --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tatpio_benchmarks::compare::main()
}
