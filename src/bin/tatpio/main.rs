//! The command `tatpio`: what the library would do, on paper.
//!
//! One file a subcommand; what they share is in files of its own: [`output`] (tables, JSON, CSV), [`picture`] and
//! [`charts`], [`job`] and [`study`] (a job, and what assignments make of it), [`pattern`] and [`hosts`] (what users
//! name). Exit codes: 0 done, 1 it failed, 2 the command line cannot be followed.

mod charts;
mod fabric;
mod failure;
mod format;
mod hosts;
mod job;
mod output;
mod pattern;
mod picture;
mod plan;
mod random;
mod simulate;
mod study;
mod topology;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  tatpio topology                                     this machine, and the network around it
  tatpio topology tree:4,20 --picture racks.svg       four racks of twenty nodes
  tatpio plan cube:160 --ranks 8 --topology tree:4,2  what each assignment would move
  tatpio simulate paper --out results                 the hop-bytes of the paper, as CSV and pictures

Every subcommand has examples of its own: tatpio plan --help.";

/// Topology-aware collective I/O: look at networks, plan assignments, simulate
#[derive(Parser)]
#[command(name = "tatpio", version, after_help = EXAMPLES)]
struct Command {
    #[command(subcommand)]
    subcommand: Subcommand,
}

#[derive(clap::Subcommand)]
enum Subcommand {
    Topology(topology::Options),
    Plan(plan::Options),
    Simulate(simulate::Options),
}

fn main() -> ExitCode {
    if log::set_logger(&output::Messages).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => {
            // Help and version come this way, too. A reader that went away is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = match &command.subcommand {
        Subcommand::Topology(options) => topology::run(options),
        Subcommand::Plan(options) => plan::run(options),
        Subcommand::Simulate(options) => simulate::run(options),
    };
    done.map_or_else(|failure: Failure| failure.report(), |()| ExitCode::SUCCESS)
}
