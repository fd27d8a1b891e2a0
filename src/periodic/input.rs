//! Reads applications and platforms from text.
//!
//! Applications are one a line: seconds of computation (w), gigabytes (10^9 bytes) that an instance transfers (vol_io),
//! processors (β), and if wanted a name, which is else the application's number from 1 on. A platform is one line:
//! processors (N), gigabytes a second for each (b), gigabytes a second in all (B). Empty lines and what follows a
//! `#` do not count.
//!
//! ```text
//! # w (s)  vol_io (GB)  β
//! 240      423.4        8192    AstroPhysics
//! ```

use super::quantities::{Bandwidth, Micros};
use super::workload::{Application, BANDWIDTH_MAX, PROCESSORS_MAX, Platform, TIME_MAX, VOLUME_MAX};
use std::fmt;

/// A line that is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, as the caller called it.
    pub file: String,
    /// The line, from 1; the last one when something is missing at the end.
    pub line: usize,
    /// What was expected, and what is there.
    pub message: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for InputError {}

/// Reads applications; `file` is what errors call the text.
///
/// # Errors
///
/// [`InputError`] for a column that is missing, too many, not a number, not above 0 or too large; for no application.
pub fn parse_applications(file: &str, text: &str) -> Result<Vec<Application>, InputError> {
    let mut applications = Vec::new();
    for line in lines(file, text) {
        let compute = line.column(0, "w, the seconds of computation of an instance", 1e-6, TIME_MAX)?;
        let volume = line.column(1, "vol_io, the gigabytes that an instance transfers", 1e-9, VOLUME_MAX)?;
        let processors = line.column(2, "β, the number of processors", 1.0, PROCESSORS_MAX)?;
        line.at_most(4, "w, vol_io, β and a name")?;
        let name =
            line.columns.get(3).map_or_else(|| (applications.len() + 1).to_string(), |name| name.to_string());
        applications.push(Application { name, processors, compute: Micros(compute), volume });
    }
    if applications.is_empty() {
        return Err(at_end(file, text, "expected an application: w (s), vol_io (GB), β; found none"));
    }
    Ok(applications)
}

/// Reads a platform; `file` is what errors call the text.
///
/// # Errors
///
/// [`InputError`] for a column that is missing, too many, not a number, not above 0 or too large; for no line or more
/// than one.
pub fn parse_platform(file: &str, text: &str) -> Result<Platform, InputError> {
    let mut platform = None;
    for line in lines(file, text) {
        if platform.is_some() {
            return Err(line.error("expected the end of the file after the platform".to_string()));
        }
        let processors = line.column(0, "N, the number of processors", 1.0, PROCESSORS_MAX)?;
        let per_processor = line.column(1, "b, the GB/s of a processor", 1e-6, BANDWIDTH_MAX.0)?;
        let total = line.column(2, "B, the GB/s of the file storage", 1e-6, BANDWIDTH_MAX.0)?;
        line.at_most(3, "N, b and B")?;
        let (per_processor, total) = (Bandwidth(per_processor), Bandwidth(total));
        platform = Some(Platform { processors, per_processor, total });
    }
    platform.ok_or_else(|| at_end(file, text, "expected a platform: N, b (GB/s), B (GB/s); found none"))
}

struct Line<'a> {
    file: &'a str,
    number: usize,
    columns: Vec<&'a str>,
}

/// The lines with something on them.
fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    let line = move |(index, line): (usize, &'a str)| {
        let counts = line.split('#').next().unwrap_or("");
        Line { file, number: index + 1, columns: counts.split_whitespace().collect() }
    };
    text.lines().enumerate().map(line).filter(|line| !line.columns.is_empty())
}

fn at_end(file: &str, text: &str, message: &str) -> InputError {
    InputError { file: file.to_string(), line: text.lines().count().max(1), message: message.to_string() }
}

impl Line<'_> {
    fn error(&self, message: String) -> InputError {
        InputError { file: self.file.to_string(), line: self.number, message }
    }

    /// A column as a whole number of `unit`s, at least one and at most `max`.
    fn column(&self, index: usize, what: &str, unit: f64, max: u64) -> Result<u64, InputError> {
        let expected =
            |found: String| self.error(format!("expected {what}, in column {}; {found}", index + 1));
        let text = self.columns.get(index).ok_or_else(|| expected("the line ends before it".to_string()))?;
        let least =
            if unit == 1.0 { "a whole number from 1 on".to_string() } else { format!("{unit} or more") };
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| expected(format!("a number is {least}, found \"{text}\"")))?;
        let units = value / unit;
        // The nearest whole number of units; what is counted has to be whole.
        let counted = unit == 1.0;
        if units.round() < 1.0 || (counted && units.fract() != 0.0) {
            return Err(expected(format!("it is {least}, found \"{text}\"")));
        }
        if units.round() > max as f64 {
            return Err(expected(format!("it is {} at most, found \"{text}\"", max as f64 * unit)));
        }
        Ok((units.round() as u64).min(max))
    }

    fn at_most(&self, columns: usize, what: &str) -> Result<(), InputError> {
        match self.columns.get(columns) {
            None => Ok(()),
            Some(extra) => Err(self.error(format!("expected {what} alone, found \"{extra}\" after them"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_whole_quantities() {
        let text = "# w vol β\n240 423.4 8192 AP # the second\n\n1.2\t235.8  4096\r\n";
        let [ap, t2] = &parse_applications("x", text).unwrap()[..] else { panic!("two") };
        assert_eq!((ap.name.as_str(), ap.compute, ap.volume), ("AP", Micros(240_000_000), 423_400_000_000));
        assert_eq!((t2.name.as_str(), t2.compute, t2.processors), ("2", Micros(1_200_000), 4096));
        let platform =
            Platform { processors: 640, per_processor: Bandwidth(10_000), total: Bandwidth(3_000_000) };
        assert_eq!(parse_platform("p", "640 0.01 3 # Jupiter"), Ok(platform));
    }

    #[test]
    fn errors_name_the_file_the_line_and_what_was_expected() {
        for (text, expected) in [
            ("", "f:1: expected an application: w (s), vol_io (GB), β; found none"),
            ("# a\n# b", "f:2: expected an application: w (s), vol_io (GB), β; found none"),
            ("1 2", "f:1: expected β, the number of processors, in column 3; the line ends before it"),
            (
                "1 2 3\n\n1 -2 3",
                "f:3: expected vol_io, the gigabytes that an instance transfers, in column 2; it is 0.000000001 or \
                 more, found \"-2\"",
            ),
            (
                "NaN 2 3",
                "f:1: expected w, the seconds of computation of an instance, in column 1; a number is 0.000001 or more, \
                 found \"NaN\"",
            ),
            (
                "inf 2 3",
                "f:1: expected w, the seconds of computation of an instance, in column 1; a number is 0.000001 or more, \
                 found \"inf\"",
            ),
            (
                "0 2 3",
                "f:1: expected w, the seconds of computation of an instance, in column 1; it is 0.000001 or more, \
                 found \"0\"",
            ),
            (
                "1e300 2 3",
                "f:1: expected w, the seconds of computation of an instance, in column 1; it is 17592186.044416 at most, \
                 found \"1e300\"",
            ),
            (
                "1 2 3.5",
                "f:1: expected β, the number of processors, in column 3; it is a whole number from 1 on, found \"3.5\"",
            ),
            (
                "1 2 x",
                "f:1: expected β, the number of processors, in column 3; a number is a whole number from 1 on, found \"x\"",
            ),
            ("1 2 3 name 5", "f:1: expected w, vol_io, β and a name alone, found \"5\" after them"),
        ] {
            assert_eq!(parse_applications("f", text).unwrap_err().to_string(), expected, "{text:?}");
        }
        for (text, expected) in [
            ("#", "p:1: expected a platform: N, b (GB/s), B (GB/s); found none"),
            (
                "640 0.01",
                "p:1: expected B, the GB/s of the file storage, in column 3; the line ends before it",
            ),
            ("640 0.01 3\n1 2 3", "p:2: expected the end of the file after the platform"),
            (
                "0 0.01 3",
                "p:1: expected N, the number of processors, in column 1; it is a whole number from 1 on, found \"0\"",
            ),
            ("640 1 3 4", "p:1: expected N, b and B alone, found \"4\" after them"),
        ] {
            assert_eq!(parse_platform("p", text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}
