//! The command line of `cube` and `btio`.

use clap::{Parser, value_parser};

/// The options of both programs.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Options {
    /// Doubles along each edge of the array
    #[arg(short = 'n', long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = value_parser!(u64).range(1..=100_000))]
    pub size: u64,

    /// The file; deleted at the end unless --keep is given
    #[arg(long, value_name = "PATH", default_value = "tatpio-benchmark.dat")]
    pub file: String,

    /// Write over the file if it exists already
    #[arg(long)]
    pub overwrite: bool,

    /// Leave the file where it is at the end
    #[arg(long)]
    pub keep: bool,

    /// Measured passes over the file
    #[arg(long, value_name = "TIMES", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Arrays in the file, one collective call each, as in a program that writes a checkpoint every so often
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    pub steps: u32,

    /// Write only, read nothing
    #[arg(long, conflicts_with = "read_only")]
    pub write_only: bool,

    /// Read a file that an earlier run with the same --size, --steps and --scatter left with --keep
    #[arg(long)]
    pub read_only: bool,

    /// Do not check what was read
    #[arg(long)]
    pub no_verify: bool,

    /// Delete the file before every pass that writes it, so that the file system allocates it anew each time;
    /// by default it has been written once before the first measured pass
    #[arg(long, conflicts_with = "read_only")]
    pub cold: bool,

    /// Call MPI_File_sync before the close of every pass that writes (its time is reported separately)
    #[arg(long)]
    pub fsync: bool,

    /// A hint for MPI_File_open; can be given several times
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = key_value)]
    pub hints: Vec<(String, String)>,

    /// Deal the parts of the array to the ranks in a random order drawn from SEED, as if the ranks ran on
    /// nodes from all over the machine
    #[arg(long, value_name = "SEED")]
    pub scatter: Option<u64>,

    /// A command that rank 0 runs before and after the collective calls of each pass, untimed; it prints lines
    /// NAME.. NUMBER, and the JSON object says what each number grew by
    #[arg(long, value_name = "COMMAND")]
    pub probe: Option<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Parses `key=value`; the value may hold further equal signs, or nothing.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(format!("expected KEY=VALUE, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn hints_are_key_value() {
        assert_eq!(key_value("cb_config_list=*:2"), Ok(("cb_config_list".to_owned(), "*:2".to_owned())));
        assert_eq!(key_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(key_value("cb_nodes").is_err());
        assert!(key_value("=2").is_err());
    }
}
