//! Requests and what they cost.

use super::SECOND;
use super::job::JobId;
use crate::units::Bytes;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// What a request takes of a server, in bytes or what is worth a byte ([`Tariff`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost(self.0 + other.0)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(iter: I) -> Cost {
        iter.fold(Cost(0), Add::add)
    }
}

/// What an operation costs, so that bytes and operations can be added up.
///
/// Without it a job of metadata requests, which move no bytes, would have all the operations a server can do;
/// and with requests counted alone, one job's writes of 1 GB would weigh as much as another's of 4 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    /// How many bytes a server moves in the time that an operation takes by itself; at least 1.
    pub operation: Cost,
}

impl Tariff {
    /// The tariff of a server that moves `bytes_per_second` and spends `operation_ns` on each request
    /// besides.
    pub fn of(bytes_per_second: u64, operation_ns: u64) -> Tariff {
        let bytes = u128::from(bytes_per_second) * u128::from(operation_ns) / u128::from(SECOND);
        Tariff { operation: Cost(u64::try_from(bytes).unwrap_or(u64::MAX >> 16).clamp(1, u64::MAX >> 16)) }
    }

    /// The cost of one request that moves so many bytes.
    pub fn cost(self, bytes: Bytes) -> Cost {
        Cost(bytes.saturating_add(self.operation.0))
    }
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose it is.
    pub job: JobId,
    /// What the caller knows it by; dispatchers do not look at it.
    pub ticket: u64,
    /// What it takes; 0 counts as 1. Statistical tokens are exact to a thousandth up to 2^38 (256 GB).
    pub cost: Cost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_worth_the_bytes_of_its_time() {
        let tariff = Tariff::of(22_000_000_000, 2_000);
        assert_eq!(tariff.operation, Cost(44_000));
        assert_eq!(tariff.cost(0), Cost(44_000));
        assert_eq!(tariff.cost(1_000_000), Cost(1_044_000));
        assert_eq!(Tariff::of(1_000, 0).cost(0), Cost(1));
    }
}
