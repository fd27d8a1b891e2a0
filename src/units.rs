//! The quantities of two-phase I/O, as types: what would be confused gets a newtype.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

/// A byte position in a file.
pub type Offset = u64;

/// A number of bytes.
pub type Bytes = u64;

macro_rules! index_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The value as an index into a table with one row each.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The value at an index. Panics past 2^32 rows.
            pub fn from_index(index: usize) -> Self {
                $name(u32::try_from(index).expect("index fits 32 bits"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index_newtype! {
    /// A process, by its number in the communicator of the file.
    Rank
}
index_newtype! {
    /// A compute node, numbered by the lowest rank it holds.
    NodeId
}
index_newtype! {
    /// A file domain, numbered in file order.
    DomainId
}

/// A distance between two processes, in sixteenths of a network hop.
///
/// Whole hops separate nodes; inside a node the distance is at most one hop (TATP, section 4.2), and the sixteenths
/// leave room for what hwloc knows about shared caches, memory and packages while every cost stays an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hops(pub u32);

impl Hops {
    /// How many units make one network hop.
    pub const PER_HOP: u32 = 16;
    /// A process to itself.
    pub const ZERO: Hops = Hops(0);
    /// One whole hop: the largest distance inside a node, the smallest between nodes.
    pub const ONE: Hops = Hops(Hops::PER_HOP);

    /// A whole number of network hops. Panics past 2^28 hops.
    pub fn whole(hops: u32) -> Hops {
        Hops(hops.checked_mul(Hops::PER_HOP).expect("hop count fits 28 bits"))
    }

    /// The distance in hops, for people.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Hops::PER_HOP)
    }
}

/// Bytes times distance, in byte-sixteenths of a hop: the metric that TATP minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HopBytes(pub u128);

impl HopBytes {
    /// The value in hops times bytes, for people.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / f64::from(Hops::PER_HOP)
    }
}

impl Mul<Hops> for u64 {
    type Output = HopBytes;

    fn mul(self, distance: Hops) -> HopBytes {
        HopBytes(u128::from(self) * u128::from(distance.0))
    }
}

impl Add for HopBytes {
    type Output = HopBytes;

    fn add(self, other: HopBytes) -> HopBytes {
        HopBytes(self.0 + other.0)
    }
}

impl AddAssign for HopBytes {
    fn add_assign(&mut self, other: HopBytes) {
        self.0 += other.0;
    }
}

impl Sum for HopBytes {
    fn sum<I: Iterator<Item = HopBytes>>(iter: I) -> HopBytes {
        iter.fold(HopBytes(0), Add::add)
    }
}

/// A half-open range of bytes of a file; `start == end` is an ordinary empty range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte.
    pub start: Offset,
    /// One past the last byte; never below `start`.
    pub end: Offset,
}

impl ByteRange {
    /// No bytes.
    pub const EMPTY: ByteRange = ByteRange { start: 0, end: 0 };

    /// The range `[start, end)`, empty when `end` is not past `start`.
    pub fn new(start: Offset, end: Offset) -> ByteRange {
        ByteRange { start, end: end.max(start) }
    }

    /// The number of bytes.
    pub fn len(self) -> Bytes {
        self.end - self.start
    }

    /// Whether it holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes in both.
    pub fn intersect(self, other: ByteRange) -> ByteRange {
        ByteRange::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// The smallest range that holds both; an empty range adds nothing.
    pub fn hull(self, other: ByteRange) -> ByteRange {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => ByteRange::new(self.start.min(other.start), self.end.max(other.end)),
        }
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

/// How many bits a link carries each second, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// What a link carries of which nothing is said. Only the ratios of rates decide a placement.
    pub const DEFAULT: Rate = Rate(100_000_000_000);

    /// The time that bytes take, rounded up.
    pub fn time(self, bytes: u128) -> Picoseconds {
        Picoseconds((bytes * 8 * Picoseconds::PER_SECOND).div_ceil(u128::from(self.0.max(1))))
    }
}

/// The units in which rates are written, the largest first.
const RATE_UNITS: [(&str, u64); 4] =
    [("tbit", 1_000_000_000_000), ("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000)];

impl fmt::Display for Rate {
    /// In the largest unit that divides it; the form parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match RATE_UNITS.iter().find(|(_, bits)| self.0.is_multiple_of(*bits)) {
            Some((unit, bits)) => write!(f, "{}{unit}", self.0 / bits),
            None => write!(f, "{}bit", self.0),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    /// `200mbit`, `2.5gbit`: a number and bit, kbit, mbit, gbit or tbit (a second). The error says what was expected.
    fn from_str(text: &str) -> Result<Rate, String> {
        let expected = || format!("a rate like 40gbit, 2.5gbit or 200mbit (a second), found \"{text}\"");
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text[number.len()..].to_ascii_lowercase();
        let units = RATE_UNITS.into_iter().chain([("bit", 1)]);
        let bits = units.filter(|&(name, _)| name == unit).map(|(_, bits)| bits).next();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
            return Err(expected());
        }
        let scale = 10u128.pow(u32::try_from(fraction.len()).expect("nine digits at most"));
        let rate = (format!("{whole}{fraction}").parse::<u128>().ok())
            .zip(bits)
            .and_then(|(number, bits)| number.checked_mul(u128::from(bits)))
            .map(|bits| bits / scale)
            .and_then(|bits| u64::try_from(bits).ok())
            .filter(|&bits| bits > 0);
        rate.map(Rate).ok_or_else(expected)
    }
}

/// A time as placement computes it: whole picoseconds, so that every rank gets the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picoseconds(pub u128);

impl Picoseconds {
    /// How many make a second.
    pub const PER_SECOND: u128 = 1_000_000_000_000;

    /// The time in seconds, for people.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / Picoseconds::PER_SECOND as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse_and_print_back() {
        for (text, bits, printed) in [
            ("40gbit", 40_000_000_000, "40gbit"),
            ("2.5Gbit", 2_500_000_000, "2500mbit"),
            ("200mbit", 200_000_000, "200mbit"),
            ("1001kbit", 1_001_000, "1001kbit"),
            ("7bit", 7, "7bit"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate, rate.to_string().as_str()), (Rate(bits), printed));
            assert_eq!(printed.parse(), Ok(rate));
        }
        for text in
            ["", "gbit", "0gbit", "1.gbits", "-1gbit", "+1gbit", "40", "1e3bit", "99999999tbit", ".5gbit"]
        {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(error.contains("40gbit") && error.contains(&format!("\"{text}\"")), "{error}");
        }
        assert_eq!(Rate(8).time(3), Picoseconds(3 * Picoseconds::PER_SECOND));
        assert_eq!(Rate(3_000_000_000_000).time(1), Picoseconds(3));
    }
}
