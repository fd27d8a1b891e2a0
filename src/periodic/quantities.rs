//! Time and bandwidth as integers, so that every comparison of a schedule is exact.
//!
//! A microsecond times a kilobyte a second is a thousandth of a byte. In those, a volume of 9 petabytes still fits 63
//! bits, and whether a window carries what is left of a transfer is decided without rounding: a transfer ends with the
//! first whole microsecond by which all of it is through.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A time or a duration, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// How many make a second.
    pub const PER_SECOND: u64 = 1_000_000;

    /// The nearest whole number of microseconds; what is below 0 becomes 0, what is past 2^64 the largest.
    pub fn from_seconds(seconds: f64) -> Micros {
        Micros((seconds * Micros::PER_SECOND as f64).round() as u64)
    }

    /// The time in seconds, for people.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / Micros::PER_SECOND as f64
    }
}

impl Add for Micros {
    type Output = Micros;

    fn add(self, other: Micros) -> Micros {
        Micros(self.0 + other.0)
    }
}

impl Sub for Micros {
    type Output = Micros;

    /// Panics when `other` is the longer.
    fn sub(self, other: Micros) -> Micros {
        Micros(self.0.checked_sub(other.0).expect("a duration is not below 0"))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_seconds())
    }
}

/// A bandwidth, in kilobytes (1000 bytes) a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bandwidth(pub u64);

impl Bandwidth {
    /// How many make a gigabyte (10^9 bytes) a second.
    pub const PER_GB: u64 = 1_000_000;

    /// The bandwidth in gigabytes a second, for people.
    pub fn as_gb(self) -> f64 {
        self.0 as f64 / Bandwidth::PER_GB as f64
    }

    /// The shortest time in which the bandwidth, above 0, carries a volume.
    pub fn time(self, volume: Bytes) -> Micros {
        Micros(self.time_of(volume * GRAINS_PER_BYTE))
    }

    /// The shortest time for `grains` thousandths of a byte.
    pub(super) fn time_of(self, grains: u64) -> u64 {
        grains.div_ceil(self.0)
    }

    /// What it carries in a time, in thousandths of a byte.
    pub(super) fn carries(self, time: u64) -> u64 {
        self.0 * time
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GB/s", self.as_gb())
    }
}

/// A microsecond times a kilobyte a second is a thousandth of a byte.
pub(super) const GRAINS_PER_BYTE: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_the_first_whole_microsecond_that_suffices() {
        for (kilobytes, volume, expected) in [
            (1000, 1_000_000, 1_000_000),
            (3, 1, 334),
            (1, 7, 7000),
            (3_000_000, 34_304_000_000_000, 11_434_666_667),
        ] {
            let found = Bandwidth(kilobytes).time(volume);
            assert_eq!(found, Micros(expected), "{kilobytes} kB/s, {volume} bytes");
            assert!(Bandwidth(kilobytes).carries(found.0) >= volume * GRAINS_PER_BYTE);
            assert!(Bandwidth(kilobytes).carries(found.0 - 1) < volume * GRAINS_PER_BYTE);
        }
    }
}
