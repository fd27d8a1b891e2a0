//! What the parsers of measurements share: the error, and numbers.

use std::fmt;
use std::str::FromStr;

/// A text that is no table of measurements, or no Darshan log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The name that the caller gave the text: a path.
    pub name: String,
    /// The line, from 1; one past the last when something is missing at the end.
    pub line: usize,
    /// What belongs there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { name, line, expected, found } = self;
        write!(f, "{name}, line {line}: expected {expected}, found \"{found}\"")
    }
}

impl std::error::Error for ParseError {}

/// What belongs somewhere, and what stands there instead.
pub(super) struct Mismatch {
    pub expected: String,
    pub found: String,
}

impl Mismatch {
    pub(super) fn new(expected: impl Into<String>, found: &str) -> Mismatch {
        Mismatch { expected: expected.into(), found: found.to_string() }
    }

    pub(super) fn at(self, name: &str, line: usize) -> ParseError {
        ParseError { name: name.to_string(), line, expected: self.expected, found: self.found }
    }
}

/// A number written in decimal digits alone.
pub(super) fn digits<T: FromStr>(text: &str) -> Option<T> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}
