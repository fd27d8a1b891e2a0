//! Measured performance curves: the tables that FORGE writes (Bez et al., PDSW 2020).
//!
//! The first line names the columns, separated by semicolons; each other line is one run. These columns must be there,
//! in any order; others (`odirect`, `stonewall`, `total`, `time`, `transfered`, as FORGE spells it) are not read:
//!
//! | Column | Meaning |
//! |---|---|
//! | `forwarders` | I/O nodes, 0 for none |
//! | `clients` | compute nodes |
//! | `processes` | on all of them |
//! | `layout` | 0 file per process, 1 shared |
//! | `spatiality` | 0 contiguous, 1 strided |
//! | `request` | in KiB |
//! | `operation` | `write` or `read` |
//! | `bandwidth` | in MB/s (FORGE counts 2^20 bytes as a MB) |
//!
//! Runs that agree in all but the bandwidth are repetitions; two lines that agree to the letter are one run copied
//! twice, and an error.

use super::parse::{Mismatch, digits};
use super::{Bandwidth, Curve, FileLayout, Match, Operation, ParseError, Pattern, Spatiality};
use std::collections::BTreeMap;

/// Runs by pattern and number of I/O nodes.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// The bandwidths of repetitions ascend.
    runs: BTreeMap<Pattern, BTreeMap<u32, Vec<Bandwidth>>>,
}

/// What stands for the repetitions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean, rounded to the nearest.
    Mean,
    /// The middle one, or the mean of the middle two.
    Median,
    /// The largest.
    Maximum,
}

impl Statistic {
    /// Of bandwidths in ascending order, at least one.
    fn of(self, ascending: &[Bandwidth]) -> Bandwidth {
        let mean = |part: &[Bandwidth]| {
            let sum: u128 = part.iter().map(|bandwidth| u128::from(bandwidth.0)).sum();
            let count = part.len() as u128;
            Bandwidth(
                u64::try_from((2 * sum + count) / (2 * count)).expect("a mean is not above the largest"),
            )
        };
        match self {
            Statistic::Mean => mean(ascending),
            Statistic::Median => mean(&ascending[(ascending.len() - 1) / 2..=ascending.len() / 2]),
            Statistic::Maximum => *ascending.last().expect("a run was made once at least"),
        }
    }
}

const COLUMNS: [&str; 8] =
    ["forwarders", "clients", "processes", "layout", "spatiality", "request", "operation", "bandwidth"];

impl Measurements {
    /// The runs of several tables together, each with its name (for messages) and text.
    ///
    /// Errors name table, line and what was expected: a column that is missing or there twice, a line with another
    /// number of fields, a field that is not of its kind (negative or NaN bandwidths among them), the same run twice.
    pub fn parse<'a>(
        tables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Measurements, ParseError> {
        let mut all = Measurements::default();
        let mut seen = BTreeMap::new();
        for (name, text) in tables {
            let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
            let header = lines.next().unwrap_or((1, ""));
            let columns = Columns::parse(header.1).map_err(|mismatch| mismatch.at(name, header.0))?;
            for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
                let (pattern, io_nodes, bandwidth) =
                    columns.run(line).map_err(|mismatch| mismatch.at(name, number))?;
                if let Some((before, line_before)) = seen.insert((header.1, line), (name, number)) {
                    let expected = format!("a run once, and {before}, line {line_before} has it");
                    return Err(Mismatch::new(expected, line).at(name, number));
                }
                all.runs.entry(pattern).or_default().entry(io_nodes).or_default().push(bandwidth);
            }
        }
        all.runs.values_mut().flat_map(BTreeMap::values_mut).for_each(|runs| runs.sort_unstable());
        Ok(all)
    }

    /// The patterns that were measured, ascending.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> + '_ {
        self.runs.keys().copied()
    }

    /// The curve of a pattern that was measured.
    pub fn curve(&self, pattern: &Pattern, statistic: Statistic) -> Option<Curve> {
        let runs = self.runs.get(pattern)?;
        let points = runs.iter().map(|(&io_nodes, runs)| (io_nodes, statistic.of(runs)));
        Some(Curve::new(points).expect("a pattern has runs, keyed by their I/O nodes"))
    }

    /// The measured pattern nearest to this one ([`Pattern::nearest`]).
    pub fn nearest(&self, pattern: &Pattern) -> Option<Match> {
        pattern.nearest(self.patterns())
    }
}

/// Where each of [`COLUMNS`] stands in a line.
struct Columns {
    places: [usize; COLUMNS.len()],
    count: usize,
}

impl Columns {
    fn parse(header: &str) -> Result<Columns, Mismatch> {
        let names: Vec<&str> = header.split(';').map(str::trim).collect();
        let mut places = [0; COLUMNS.len()];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            let mut found = (0..names.len()).filter(|&index| names[index] == column);
            *place = found.next().ok_or_else(|| Mismatch::new(format!("a column {column}"), header))?;
            if found.next().is_some() {
                return Err(Mismatch::new(format!("one column {column}"), header));
            }
        }
        Ok(Columns { places, count: names.len() })
    }

    fn run(&self, line: &str) -> Result<(Pattern, u32, Bandwidth), Mismatch> {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        if fields.len() != self.count {
            return Err(Mismatch::new(format!("{} fields separated by ;", self.count), line));
        }
        let [io_nodes, clients, processes, layout, spatiality, request, operation, bandwidth] =
            self.places.map(|place| fields[place]);
        let at_least_one = |text: &str, what: &str| {
            let number = digits::<u32>(text).filter(|&number| number > 0);
            number.ok_or_else(|| Mismatch::new(format!("{what}, a whole number above 0"), text))
        };
        let pattern = Pattern {
            compute_nodes: at_least_one(clients, "clients")?,
            processes: at_least_one(processes, "processes")?,
            layout: match layout {
                "0" => FileLayout::FilePerProcess,
                "1" => FileLayout::Shared,
                _ => return Err(Mismatch::new("layout 0 (file per process) or 1 (shared)", layout)),
            },
            spatiality: match spatiality {
                "0" => Spatiality::Contiguous,
                "1" => Spatiality::Strided,
                _ => return Err(Mismatch::new("spatiality 0 (contiguous) or 1 (strided)", spatiality)),
            },
            request_bytes: u64::from(at_least_one(request, "request in KiB")?) << 10,
            operation: match operation {
                "write" => Operation::Write,
                "read" => Operation::Read,
                _ => return Err(Mismatch::new("operation write or read", operation)),
            },
        };
        let io_nodes =
            digits(io_nodes).ok_or_else(|| Mismatch::new("forwarders, a whole number from 0", io_nodes))?;
        let bandwidth = bandwidth.parse().map_err(|expected: String| Mismatch::new(expected, bandwidth))?;
        Ok((pattern, io_nodes, bandwidth))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{curve, mb};
    use super::*;

    const TABLE: &str = "clients;forwarders;processes;layout;spatiality;request;time;operation;bandwidth\r\n\
        8;0;96;1;0;32;1.0;write;10.5\r\n\
        8;1;96;1;0;32;1.0;write;2\r\n\
        8;0;96;1;0;32;1.1;write;20\r\n\
        \r\n\
        8;0;96;1;0;32;1.2;write;1\r\n\
        8;0;96;1;0;32;1.2;write;1.00000\r\n\
        16;2;96;0;1;8192;1.0;read;0\r\n";

    #[test]
    fn runs_become_curves() {
        let found = Measurements::parse([("table", TABLE)]).unwrap();
        let patterns: Vec<String> = found.patterns().map(|pattern| pattern.to_string()).collect();
        assert_eq!(
            patterns,
            [
                "16 nodes, 96 processes, file per process, strided, read, 8388608 bytes",
                "8 nodes, 96 processes, shared, contiguous, write, 32768 bytes",
            ]
        );
        let first: Pattern = patterns[1].parse().unwrap();
        for (statistic, expected) in [
            (Statistic::Mean, "0:8.125 1:2"),
            (Statistic::Median, "0:5.75 1:2"),
            (Statistic::Maximum, "0:20 1:2"),
        ] {
            assert_eq!(found.curve(&first, statistic), Some(curve(expected)), "{statistic:?}");
        }
        let three = [mb("0.000001"), mb("0.000001"), mb("0.000003")];
        assert_eq!(Statistic::Mean.of(&three), mb("0.000002"));
        assert_eq!(Statistic::Median.of(&three), mb("0.000001"));
        let other = Pattern { compute_nodes: 9, ..first };
        assert_eq!(found.curve(&other, Statistic::Mean), None);
        assert_eq!(found.nearest(&other).unwrap().pattern, first);
    }

    /// A table with `from` replaced by `to` once, and the error.
    fn check(from: &str, to: &str, expected: &str) {
        let text = TABLE.replacen(from, to, 1);
        assert_ne!(text, TABLE, "{from}");
        assert_eq!(Measurements::parse([("a.csv", &*text)]).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_name_table_line_and_what_was_expected() {
        let bandwidth = "expected a bandwidth in MB/s, a decimal number from 0 to 35184372";
        check(";2\r", ";-2\r", &format!("a.csv, line 3: {bandwidth}, found \"-2\""));
        check(";2\r", ";NaN\r", &format!("a.csv, line 3: {bandwidth}, found \"NaN\""));
        check(";2\r", ";\r", &format!("a.csv, line 3: {bandwidth}, found \"\""));
        check(
            ";2\r",
            "\r",
            "a.csv, line 3: expected 9 fields separated by ;, found \"8;1;96;1;0;32;1.0;write\"",
        );
        check("8;1", "8;1.5", "a.csv, line 3: expected forwarders, a whole number from 0, found \"1.5\"");
        check("8;1", "0;1", "a.csv, line 3: expected clients, a whole number above 0, found \"0\"");
        check(";1.1;", ";1.1;over", "a.csv, line 4: expected operation write or read, found \"overwrite\"");
        check(
            "1;0;32",
            "2;0;32",
            "a.csv, line 2: expected layout 0 (file per process) or 1 (shared), found \"2\"",
        );
        check(
            "0;1;8192",
            "0;;8192",
            "a.csv, line 8: expected spatiality 0 (contiguous) or 1 (strided), found \"\"",
        );
        check(
            "1.00000",
            "1",
            "a.csv, line 7: expected a run once, and a.csv, line 6 has it, \
                               found \"8;0;96;1;0;32;1.2;write;1\"",
        );
        let header = TABLE.lines().next().unwrap();
        let other = header.replace("layout", "layer");
        check("layout", "layer", &format!("a.csv, line 1: expected a column layout, found \"{other}\""));
        let twice = header.replace("time", "clients");
        check("time", "clients", &format!("a.csv, line 1: expected one column clients, found \"{twice}\""));
        let empty = Measurements::parse([("a.csv", "")]).unwrap_err();
        assert_eq!(empty.to_string(), "a.csv, line 1: expected a column forwarders, found \"\"");
        let both = Measurements::parse([("a.csv", TABLE), ("b.csv", TABLE)]).unwrap_err();
        assert_eq!((both.name.as_str(), both.line), ("b.csv", 2));
        assert_eq!(both.expected, "a run once, and a.csv, line 2 has it");
    }
}
