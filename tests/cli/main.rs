//! The command `tatpio`, run as users run it.

mod bad_input;
mod naive;
mod output;
mod small_cases;

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a run of the command left.
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs `tatpio` with arguments that are separated by blanks.
fn tatpio(arguments: &str) -> Run {
    run(&arguments.split_whitespace().collect::<Vec<_>>())
}

fn run(arguments: &[&str]) -> Run {
    let output = command(arguments).output().expect("the command was built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command prints text");
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatpio"));
    // What is around the machine of the test must not matter.
    for name in ["SLURM_CONF", "SLURM_TOPOLOGY_ADDR", "TATPIO_HINTS", "TATPIO_IBNETDISCOVER"] {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

impl Run {
    /// The output of a run that did what it was asked for.
    fn done(self, arguments: &str) -> String {
        assert_eq!(self.code, Some(0), "tatpio {arguments}: {}", self.err);
        self.out
    }
}

/// The output of a run that must work.
fn out(arguments: &str) -> String {
    tatpio(arguments).done(arguments)
}

fn json(arguments: &str) -> serde_json::Value {
    serde_json::from_str(&out(arguments)).expect("--json prints JSON")
}

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path)
}
