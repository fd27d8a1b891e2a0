//! What ends the command early, and with which exit code.

use std::fmt;
use std::process::ExitCode;

/// Why the command could not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that cannot be: exit code 2.
    Usage(String),
    /// Something went wrong on the way, such as a file that cannot be read: exit code 1.
    Failed(String),
    /// Nobody reads the output any more, as in `tatpio plan ... | head`: no error.
    Closed,
}

impl Failure {
    /// A mistake on the command line.
    pub fn usage(text: impl fmt::Display) -> Failure {
        Failure::Usage(text.to_string())
    }

    /// Anything else.
    pub fn failed(text: impl fmt::Display) -> Failure {
        Failure::Failed(text.to_string())
    }

    /// Says what went wrong on standard error; what the process ends with.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Usage(text) => {
                crate::output::complain(&format!("tatpio: {text}\nFor the options, try tatpio --help."));
                ExitCode::from(2)
            }
            Failure::Failed(text) => {
                crate::output::complain(&format!("tatpio: {text}"));
                ExitCode::FAILURE
            }
            Failure::Closed => ExitCode::SUCCESS,
        }
    }
}
