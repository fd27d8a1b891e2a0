//! Access patterns: what decides how many I/O nodes are good for a job.

use super::parse::{Mismatch, digits};
use crate::units::Bytes;
use std::fmt;

/// Whether processes share files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // each says it
pub enum FileLayout {
    FilePerProcess,
    Shared,
}

/// How the successive requests of a process follow each other in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spatiality {
    /// Each begins where the one before ended.
    Contiguous,
    /// With the requests of other processes between them.
    Strided,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // each says it
pub enum Operation {
    Write,
    Read,
}

/// An access pattern, as FORGE replays it (GekkoFWD, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// Whether processes share files.
    pub layout: FileLayout,
    /// How requests follow each other.
    pub spatiality: Spatiality,
    /// Which way data goes.
    pub operation: Operation,
    /// The job's compute nodes.
    pub compute_nodes: u32,
    /// Its processes on all of them.
    pub processes: u32,
    /// The size of a request.
    pub request_bytes: Bytes,
}

impl fmt::Display for Pattern {
    /// One line for people, as in `32 nodes, 1536 processes, shared, strided, write, 131072 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = match self.layout {
            FileLayout::FilePerProcess => "file per process",
            FileLayout::Shared => "shared",
        };
        let spatiality = match self.spatiality {
            Spatiality::Contiguous => "contiguous",
            Spatiality::Strided => "strided",
        };
        let operation = match self.operation {
            Operation::Write => "write",
            Operation::Read => "read",
        };
        let Pattern { compute_nodes, processes, request_bytes, .. } = self;
        write!(
            f,
            "{compute_nodes} nodes, {processes} processes, {layout}, {spatiality}, {operation}, {request_bytes} bytes"
        )
    }
}

impl std::str::FromStr for Pattern {
    type Err = String;

    /// The pattern that [`Display`](fmt::Display) prints. The error says what was expected.
    fn from_str(text: &str) -> Result<Pattern, String> {
        parse(text).map_err(|Mismatch { expected, found }| format!("expected {expected}, found \"{found}\""))
    }
}

fn parse(text: &str) -> Result<Pattern, Mismatch> {
    let whole =
        "N nodes, N processes, shared or file per process, contiguous or strided, write or read, N bytes";
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [nodes, processes, layout, spatiality, operation, request] = parts[..] else {
        return Err(Mismatch::new(whole, text));
    };
    let number = |part: &str, unit: &str| {
        let number = part.strip_suffix(unit).and_then(|number| digits::<u64>(number.trim_end()));
        number.filter(|&number| number > 0).ok_or_else(|| Mismatch::new(format!("N {unit}"), part))
    };
    let number32 = |part: &str, unit: &str| {
        u32::try_from(number(part, unit)?).map_err(|_| Mismatch::new(format!("N {unit}, N below 2^32"), part))
    };
    Ok(Pattern {
        compute_nodes: number32(nodes, "nodes")?,
        processes: number32(processes, "processes")?,
        layout: match layout {
            "shared" => FileLayout::Shared,
            "file per process" => FileLayout::FilePerProcess,
            _ => return Err(Mismatch::new("shared or file per process", layout)),
        },
        spatiality: match spatiality {
            "contiguous" => Spatiality::Contiguous,
            "strided" => Spatiality::Strided,
            _ => return Err(Mismatch::new("contiguous or strided", spatiality)),
        },
        operation: match operation {
            "write" => Operation::Write,
            "read" => Operation::Read,
            _ => return Err(Mismatch::new("write or read", operation)),
        },
        request_bytes: number(request, "bytes")?,
    })
}

/// The measured pattern that is nearest to a wanted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The measured pattern.
    pub pattern: Pattern,
    /// How far off it is: the doublings or halvings of compute nodes, processes and request size together, in
    /// units of 1/65536. 0 when it is the wanted one itself.
    pub distance: u64,
}

impl Pattern {
    /// The nearest of these patterns, the lowest of several; `None` when none has the same layout, spatiality and
    /// operation, which no other can stand in for.
    pub fn nearest(&self, measured: impl IntoIterator<Item = Pattern>) -> Option<Match> {
        let alike = |other: &Pattern| {
            (other.layout, other.spatiality, other.operation)
                == (self.layout, self.spatiality, self.operation)
        };
        let matches = measured
            .into_iter()
            .filter(alike)
            .map(|pattern| Match { pattern, distance: self.distance(&pattern) });
        matches.min_by_key(|found| (found.distance, found.pattern))
    }

    fn distance(&self, other: &Pattern) -> u64 {
        let doublings = |a: u64, b: u64| log2(a).abs_diff(log2(b));
        doublings(self.compute_nodes.into(), other.compute_nodes.into())
            + doublings(self.processes.into(), other.processes.into())
            + doublings(self.request_bytes, other.request_bytes)
    }
}

/// The logarithm in units of 1/65536, rounded down, of integers alone so that all machines agree; 0 counts as 1.
fn log2(number: u64) -> u64 {
    let number = number.max(1);
    let mut result = u64::from(number.ilog2());
    // Between 1 and 2, with 63 bits behind the point; each squaring shows one more bit of the logarithm.
    let mut rest = number << number.leading_zeros();
    for _ in 0..16 {
        let square = u128::from(rest) * u128::from(rest);
        let above = square >> 127;
        result = result << 1 | above as u64;
        rest = (square >> (63 + above)) as u64;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_parse_and_print_back() {
        for text in [
            "32 nodes, 1536 processes, shared, strided, write, 131072 bytes",
            "1 nodes, 1 processes, file per process, contiguous, read, 1 bytes",
        ] {
            assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("0 nodes, 1 processes, shared, strided, write, 1 bytes", "expected N nodes, found \"0 nodes\""),
            ("1 nodes, 1 procs, shared, strided, write, 1 bytes", "expected N processes, found \"1 procs\""),
            ("1 nodes, 1 processes, own, strided, write, 1 bytes", "file per process, found \"own\""),
            ("1 nodes, 1 processes, shared, 2D, write, 1 bytes", "strided, found \"2D\""),
            ("1 nodes, 1 processes, shared, strided, append, 1 bytes", "read, found \"append\""),
            ("9999999999 nodes, 1 processes, shared, strided, write, 1 bytes", "N below 2^32, found"),
            ("shared", "expected N nodes, N processes"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn logarithms_are_those_of_floats() {
        for number in (1..3000).chain([u64::MAX, 1 << 63, (1 << 40) + 12345]) {
            let expected = (number as f64).log2() * 65536.0;
            assert!((log2(number) as f64 - expected).abs() <= 1.0, "{number}: {} {expected}", log2(number));
        }
        assert_eq!((log2(0), log2(1), log2(8)), (0, 0, 3 << 16));
    }

    #[test]
    fn the_nearest_is_found() {
        let pattern = |text: &str| {
            format!("{text}, shared, contiguous, write, 1048576 bytes").parse::<Pattern>().unwrap()
        };
        let measured = [
            pattern("8 nodes, 96 processes"),
            pattern("16 nodes, 96 processes"),
            pattern("16 nodes, 192 processes"),
        ];
        for (wanted, expected, halves) in [
            ("16 nodes, 96 processes", 1, 0),
            ("32 nodes, 192 processes", 2, 2),
            ("11 nodes, 96 processes", 0, 1),
            ("12 nodes, 96 processes", 1, 1),
            // As far from both of the last two: the lower pattern.
            ("16 nodes, 136 processes", 2, 1),
            ("1000000 nodes, 1 processes", 1, 45),
        ] {
            let found = pattern(wanted).nearest(measured).unwrap();
            assert_eq!(found.pattern, measured[expected], "{wanted}");
            assert_eq!((found.distance + (1 << 14)) >> 15, halves, "{wanted}");
        }
        let read = Pattern { operation: Operation::Read, ..measured[0] };
        assert_eq!(read.nearest(measured), None);
    }
}
