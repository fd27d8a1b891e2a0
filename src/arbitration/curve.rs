//! Bandwidth, and how a job's depends on its number of I/O nodes.

use super::knapsack;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

/// A bandwidth in bytes a second: a millionth of a MB/s.
///
/// Measurements are read as decimal numbers, so that the same text is the same integer everywhere and sums are exact.
/// Some tools call a MiB "MB" (FORGE does): all curves of one arbitration must come in the same unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// Nothing.
    pub const ZERO: Bandwidth = Bandwidth(0);
    /// The most that one job may have: 35 TB/s.
    pub const MAX: Bandwidth = Bandwidth(knapsack::VALUE_MAX);
    /// How many units make a MB/s.
    const PER_MB: u64 = 1_000_000;
    const DECIMALS: usize = 6;

    /// In MB/s, for people.
    pub fn as_mb_per_s(self) -> f64 {
        self.0 as f64 / Bandwidth::PER_MB as f64
    }
}

impl FromStr for Bandwidth {
    type Err = String;

    /// A number of MB/s such as `24` or `0.1875`, rounded to the nearest millionth. The error says what was
    /// expected.
    fn from_str(text: &str) -> Result<Bandwidth, String> {
        let expected = || "a bandwidth in MB/s, a decimal number from 0 to 35184372".to_string();
        let text = text.trim();
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(decimals) {
            return Err(expected());
        }
        let kept = &decimals[..decimals.len().min(Bandwidth::DECIMALS)];
        let round_up = decimals.as_bytes().get(Bandwidth::DECIMALS).is_some_and(|&digit| digit >= b'5');
        let millionths: u64 = format!("{kept:0<6}").parse().map_err(|_| expected())?;
        let whole: u64 = whole.parse().map_err(|_| expected())?;
        let whole = whole.checked_mul(Bandwidth::PER_MB).filter(|&whole| whole <= Bandwidth::MAX.0);
        let value = whole.ok_or_else(expected)? + millionths + u64::from(round_up);
        Some(Bandwidth(value)).filter(|&value| value <= Bandwidth::MAX).ok_or_else(expected)
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:06}", self.0 % Bandwidth::PER_MB);
        let shown = match decimals.trim_end_matches('0') {
            "" => "0",
            shown => shown,
        };
        write!(f, "{}.{shown} MB/s", self.0 / Bandwidth::PER_MB)
    }
}

impl Add for Bandwidth {
    type Output = Bandwidth;

    fn add(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0 + other.0)
    }
}

impl Sum for Bandwidth {
    fn sum<I: Iterator<Item = Bandwidth>>(iter: I) -> Bandwidth {
        iter.fold(Bandwidth::ZERO, Add::add)
    }
}

/// The bandwidth of a job with each number of I/O nodes that was measured; 0 stands for access to the file system
/// without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    points: Vec<(u32, Bandwidth)>,
}

/// Why points make no curve.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CurveError {
    /// There are none.
    Empty,
    /// Two have this number of I/O nodes.
    Twice(u32),
    /// One exceeds [`Bandwidth::MAX`].
    TooFast(Bandwidth),
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurveError::Empty => f.write_str("a performance curve needs at least one point"),
            CurveError::Twice(io_nodes) => {
                write!(f, "a performance curve has two points for {io_nodes} I/O nodes")
            }
            CurveError::TooFast(found) => write!(f, "a bandwidth of {found} exceeds {}", Bandwidth::MAX),
        }
    }
}

impl std::error::Error for CurveError {}

impl Curve {
    /// The curve through these points, in any order.
    ///
    /// Errors: no point, two for one number of I/O nodes, a bandwidth beyond [`Bandwidth::MAX`].
    pub fn new(points: impl IntoIterator<Item = (u32, Bandwidth)>) -> Result<Curve, CurveError> {
        let mut points: Vec<(u32, Bandwidth)> = points.into_iter().collect();
        points.sort_unstable();
        if points.is_empty() {
            return Err(CurveError::Empty);
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(CurveError::Twice(pair[0].0));
        }
        match points.iter().find(|point| point.1 > Bandwidth::MAX) {
            Some(&(_, bandwidth)) => Err(CurveError::TooFast(bandwidth)),
            None => Ok(Curve { points }),
        }
    }

    /// Numbers of I/O nodes, ascending, and the bandwidth with each.
    pub fn points(&self) -> &[(u32, Bandwidth)] {
        &self.points
    }

    /// The bandwidth measured with exactly this number of I/O nodes.
    pub fn at(&self, io_nodes: u32) -> Option<Bandwidth> {
        let index = self.points.binary_search_by_key(&io_nodes, |point| point.0).ok()?;
        Some(self.points[index].1)
    }

    /// The largest number of I/O nodes measured that is not above this one, with its bandwidth. Access without an
    /// I/O node counts for `io_nodes` 0 alone.
    pub fn at_most(&self, io_nodes: u32) -> Option<(u32, Bandwidth)> {
        let point = self.points[..self.points.partition_point(|point| point.0 <= io_nodes)].last().copied();
        point.filter(|&(measured, _)| measured > 0 || io_nodes == 0)
    }

    /// The number of I/O nodes with the largest bandwidth, the fewest of several.
    pub fn best(&self) -> (u32, Bandwidth) {
        let best =
            self.points.iter().copied().reduce(|best, point| if point.1 > best.1 { point } else { best });
        best.expect("a curve has a point")
    }

    /// What the job gets out of an I/O node that `jobs` jobs share: the naive estimate of GekkoFWD, section 3.1, the
    /// bandwidth of a node of its own divided by the number of jobs. Where one node was not measured, the fewest that
    /// were stand in, divided by their number; `None` when forwarding was not measured at all.
    pub fn shared(&self, jobs: usize) -> Option<Bandwidth> {
        let &(io_nodes, bandwidth) = self.points.iter().find(|point| point.0 > 0)?;
        Some(Bandwidth(bandwidth.0 / u64::from(io_nodes) / (jobs.max(1) as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{curve, mb};
    use super::*;

    #[test]
    fn bandwidths_parse_exactly_and_print_back() {
        for (text, units, printed) in [
            ("24", 24_000_000, "24.0 MB/s"),
            (" 0.1875 ", 187_500, "0.1875 MB/s"),
            ("0", 0, "0.0 MB/s"),
            ("00.00", 0, "0.0 MB/s"),
            ("8023.06554", 8_023_065_540, "8023.06554 MB/s"),
            ("1.0000005", 1_000_001, "1.000001 MB/s"),
            ("1.00000049999999999999999", 1_000_000, "1.0 MB/s"),
            ("0.9999999", 1_000_000, "1.0 MB/s"),
            ("35184372.088831", knapsack::VALUE_MAX, "35184372.088831 MB/s"),
        ] {
            let found: Bandwidth = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((found.0, found.to_string().as_str()), (units, printed), "{text}");
        }
        for text in
            ["", "-1", "+1", "NaN", "inf", "1e3", ".5", "5.", "1.2.3", "1,5", "35184372.088832", "9e999"]
        {
            let error = text.parse::<Bandwidth>().unwrap_err();
            assert_eq!(error, "a bandwidth in MB/s, a decimal number from 0 to 35184372", "{text}");
        }
        assert!("99999999999999999999".parse::<Bandwidth>().is_err());
        assert!("18446744073709551615".parse::<Bandwidth>().is_err());
        assert!("18446744073709.9999999".parse::<Bandwidth>().is_err());
    }

    #[test]
    fn curves_answer() {
        let four = curve("8:90 1:10.5 4:90 0:30");
        assert_eq!(four.points().iter().map(|point| point.0).collect::<Vec<_>>(), [0, 1, 4, 8]);
        assert_eq!(four.at(4), Some(mb("90")));
        assert_eq!(four.at(2), None);
        assert_eq!(four.best(), (4, mb("90")));
        assert_eq!(four.at_most(3), Some((1, mb("10.5"))));
        assert_eq!(four.at_most(0), Some((0, mb("30"))));
        assert_eq!(curve("0:1 4:2").at_most(3), None);
        assert_eq!(four.shared(3), Some(mb("3.5")));
        assert_eq!(curve("0:1 4:20").shared(2), Some(mb("2.5")));
        assert_eq!(curve("0:1").shared(2), None);
    }

    #[test]
    fn points_that_make_no_curve_are_refused() {
        assert_eq!(Curve::new([]), Err(CurveError::Empty));
        let twice = Curve::new([(1, mb("1")), (2, mb("2")), (1, mb("1"))]).unwrap_err();
        assert_eq!(twice.to_string(), "a performance curve has two points for 1 I/O nodes");
        let fast = Curve::new([(1, Bandwidth(1 << 45))]).unwrap_err();
        assert_eq!(fast.to_string(), "a bandwidth of 35184372.088832 MB/s exceeds 35184372.088831 MB/s");
    }
}
