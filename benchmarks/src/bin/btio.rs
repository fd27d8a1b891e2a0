//! `btio`: see `btio --help`.

use std::process::ExitCode;
use tatpio_benchmarks::bench::{self, Program};

fn main() -> ExitCode {
    bench::main(Program::Btio)
}
