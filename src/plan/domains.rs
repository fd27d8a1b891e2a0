//! File domains: who is responsible for which bytes, before anybody asks where the responsible sits.

use super::access::Access;
use crate::units::{ByteRange, Bytes, DomainId, Offset};
use std::fmt;
use std::str::FromStr;

/// How the accessed range is cut into file domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// One range a domain, all of about the same size.
    #[default]
    Even,
    /// Stripes dealt in turn, as Lustre places them on its targets: a domain's stripes are all on the same ones.
    Cyclic,
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Partition, String> {
        match text {
            "even" => Ok(Partition::Even),
            "cyclic" => Ok(Partition::Cyclic),
            _ => Err("even or cyclic".into()),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Partition::Even => "even",
            Partition::Cyclic => "cyclic",
        })
    }
}

/// The accessed range cut into file domains. No two domains share a block of `unit` bytes (a lock block or a stripe),
/// because two clients that write one block wait for each other's lock (Liao and Choudhary, SC 2008).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domains {
    hull: ByteRange,
    unit: Bytes,
    count: u32,
    partition: Partition,
}

impl Domains {
    /// Cuts `hull` into at most `wanted` domains that begin at multiples of `unit`: fewer when there are fewer blocks,
    /// or when they would get smaller than `bytes_min`. None for an empty hull. Panics when `unit` or `wanted` is 0.
    pub fn new(hull: ByteRange, wanted: u32, unit: Bytes, bytes_min: Bytes, partition: Partition) -> Domains {
        assert!(unit > 0 && wanted > 0, "domains need a unit and an aggregator");
        let blocks = hull.end.div_ceil(unit) - hull.start / unit;
        let large_enough = hull.len().checked_div(bytes_min).map_or(u64::MAX, |most| most.max(1));
        let most = if hull.is_empty() { 0 } else { blocks.min(large_enough) };
        let count = u32::try_from(most).map_or(wanted, |most| wanted.min(most));
        Domains { hull, unit, count, partition }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, in file order.
    pub fn ids(&self) -> impl Iterator<Item = DomainId> + use<> {
        (0..self.count).map(DomainId)
    }

    /// From a domain's first to its last byte.
    pub fn reach(&self, domain: DomainId) -> ByteRange {
        match self.partition {
            Partition::Even => self.even(domain),
            Partition::Cyclic => self.hull,
        }
    }

    /// How many of an access's bytes lie in a domain: an entry of the communication matrix.
    pub fn bytes_of(&self, access: &Access, domain: DomainId) -> Bytes {
        let reach = self.reach(domain).intersect(access.hull());
        self.ranges(domain, reach.start)
            .take_while(|range| range.start < reach.end)
            .map(|range| access.bytes_in(range.intersect(reach)))
            .sum()
    }

    /// A domain's bytes from `from` on, as ranges in file order: one for an even domain, one a stripe for a cyclic one.
    pub fn ranges(&self, domain: DomainId, from: Offset) -> impl Iterator<Item = ByteRange> + use<> {
        let Domains { hull, unit, count, partition } = *self;
        let even = (partition == Partition::Even).then(|| {
            let range = self.even(domain);
            ByteRange::new(range.start.max(from), range.end)
        });
        let first_stripe = from.max(hull.start) / unit;
        let ahead =
            (u64::from(domain.0) + u64::from(count) - first_stripe % u64::from(count)) % u64::from(count);
        let mut stripe = first_stripe + ahead;
        let stripes = std::iter::from_fn(move || {
            let start = stripe.checked_mul(unit).filter(|&start| start < hull.end)?;
            stripe += u64::from(count);
            let range = ByteRange::new(start.max(from), start.saturating_add(unit));
            Some(range.intersect(hull))
        });
        even.into_iter()
            .chain(stripes.take(if partition == Partition::Even { 0 } else { usize::MAX }))
            .filter(|range| !range.is_empty())
    }

    /// Cuts a domain's bytes from `from` on into windows of at most `buffer` bytes. The cuts lie at the same places
    /// wherever `from` is, at multiples of the unit when the buffer holds one.
    pub fn windows(
        &self,
        domain: DomainId,
        from: Offset,
        buffer: Bytes,
    ) -> impl Iterator<Item = ByteRange> + use<> {
        let unit = self.unit;
        let step = if buffer > unit { buffer - buffer % unit } else { buffer };
        let origin = match self.partition {
            Partition::Even => self.even(domain).start / unit * unit,
            Partition::Cyclic => 0,
        };
        self.ranges(domain, from).flat_map(move |range| {
            let origin = if step < unit { range.start } else { origin };
            let mut start = range.start;
            std::iter::from_fn(move || {
                if start >= range.end {
                    return None;
                }
                let cut = origin.saturating_add(((start - origin) / step + 1).saturating_mul(step));
                let window = ByteRange::new(start, cut.min(range.end));
                start = window.end;
                Some(window)
            })
        })
    }

    fn even(&self, domain: DomainId) -> ByteRange {
        let first = self.hull.start / self.unit;
        let blocks = u128::from(self.hull.end.div_ceil(self.unit) - first);
        let bound = |d: u32| {
            let block = blocks * u128::from(d) / u128::from(self.count);
            let block = first + u64::try_from(block).expect("at most all blocks");
            block.saturating_mul(self.unit)
        };
        ByteRange::new(bound(domain.0), bound(domain.0 + 1)).intersect(self.hull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partition() -> impl Strategy<Value = Partition> {
        prop_oneof![Just(Partition::Even), Just(Partition::Cyclic)]
    }

    proptest! {
        /// Windows of all domains cover the hull once; no block is in two domains; no window exceeds the buffer.
        #[test]
        fn windows_tile_the_hull(
            start in 0..500u64, len in 0..2000u64, wanted in 1..9u32, unit in 1..200u64,
            bytes_min in 0..300u64, buffer in 1..700u64, partition in partition(),
        ) {
            let hull = ByteRange::new(start, start + len);
            let domains = Domains::new(hull, wanted, unit, bytes_min, partition);
            prop_assert!(domains.len() <= wanted);
            prop_assert_eq!(domains.is_empty(), hull.is_empty());
            let mut owner = vec![None; usize::try_from(len).unwrap()];
            for domain in domains.ids() {
                for window in domains.windows(domain, 0, buffer) {
                    prop_assert!(!window.is_empty() && window.len() <= buffer);
                    for byte in window.start..window.end {
                        let seat = &mut owner[usize::try_from(byte - start).unwrap()];
                        prop_assert_eq!(*seat, None);
                        *seat = Some(domain);
                    }
                }
                let from = start + len / 3;
                let late: u64 = domains.windows(domain, from, buffer).map(ByteRange::len).sum();
                let all: u64 = (domains.windows(domain, 0, buffer))
                    .map(|window| window.intersect(ByteRange::new(from, u64::MAX)).len())
                    .sum();
                prop_assert_eq!(late, all);
            }
            prop_assert!(owner.iter().all(Option::is_some));
            for byte in 1..owner.len() {
                if !(start + byte as u64).is_multiple_of(unit) {
                    prop_assert_eq!(owner[byte - 1], owner[byte], "block of byte {}", byte);
                }
            }
        }
    }

    #[test]
    fn the_largest_offsets_do_not_overflow() {
        let end = i64::MAX as u64;
        for partition in [Partition::Even, Partition::Cyclic] {
            let domains = Domains::new(ByteRange::new(end - 10_000, end), 3, 4096, 0, partition);
            let bytes: u64 =
                domains.ids().flat_map(|d| domains.windows(d, 0, 1000)).map(ByteRange::len).sum();
            assert_eq!(bytes, 10_000);
        }
    }
}
