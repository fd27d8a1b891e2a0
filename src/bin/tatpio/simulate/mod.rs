//! `tatpio simulate`: sweeps over many jobs, on paper.

mod hops;
mod paper;
mod sweep;

use crate::failure::Failure;

/// Sweeps over many jobs; nothing is moved or measured
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  tatpio simulate hops cube:512 --ranks 64,125,512 --topology tree:4,20 --per-node 12 --plot hops.svg
  tatpio simulate paper --out results

Each has more: tatpio simulate hops --help.")]
pub struct Options {
    #[command(subcommand)]
    subcommand: Subcommand,
}

#[derive(clap::Subcommand)]
enum Subcommand {
    Hops(hops::Options),
    Paper(paper::Options),
}

/// Runs `tatpio simulate`.
pub fn run(options: &Options) -> Result<(), Failure> {
    match &options.subcommand {
        Subcommand::Hops(options) => hops::run(options),
        Subcommand::Paper(options) => paper::run(options),
    }
}
