//! File domains: who is responsible for which bytes, before anybody asks where the responsible sits.

use super::access::Access;
use crate::units::{ByteRange, Bytes, DomainId, Offset};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains {
    hull: ByteRange,
    unit: Bytes,
    count: u32,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Even,
    Cyclic,
    /// By domain: its stripes in file order, neighbours put together.
    Dealt(Arc<Vec<Vec<ByteRange>>>),
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
        let shape = match partition {
            Partition::Even => Shape::Even,
            Partition::Cyclic => Shape::Cyclic,
        };
        Domains { hull, unit, count, shape }
    }

    /// Deals the stripes of `hull` out: stripe i, of `unit` bytes at a multiple of `unit`, to domain `owner[i]` of
    /// `count`. Panics unless there is one owner a stripe, below `count`.
    pub fn dealt(hull: ByteRange, unit: Bytes, owner: &[u32], count: u32) -> Domains {
        let mut stripes: Vec<Vec<ByteRange>> = vec![Vec::new(); DomainId(count).index()];
        let all = Stripes { hull, unit };
        assert_eq!(all.len(), owner.len(), "an owner for each stripe of {hull}");
        for (range, &owner) in all.iter().zip(owner) {
            let mine = &mut stripes[DomainId(owner).index()];
            match mine.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => mine.push(range),
            }
        }
        Domains { hull, unit, count, shape: Shape::Dealt(Arc::new(stripes)) }
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
        match &self.shape {
            Shape::Even => self.even(domain),
            Shape::Cyclic => self.hull,
            Shape::Dealt(stripes) => {
                stripes[domain.index()].iter().fold(ByteRange::EMPTY, |hull, range| hull.hull(*range))
            }
        }
    }

    /// The bytes of a domain. Takes time in the number of its stripes.
    pub fn bytes(&self, domain: DomainId) -> Bytes {
        self.ranges(domain, 0).map(ByteRange::len).sum()
    }

    /// How many of an access's bytes lie in a domain: an entry of the communication matrix.
    pub fn bytes_of(&self, access: &Access, domain: DomainId) -> Bytes {
        let reach = self.reach(domain).intersect(access.hull());
        self.ranges(domain, reach.start)
            .take_while(|range| range.start < reach.end)
            .map(|range| access.bytes_in(range.intersect(reach)))
            .sum()
    }

    /// A domain's bytes from `from` on, as ranges in file order: one for an even domain, one for each stripe or run of
    /// stripes for others.
    pub fn ranges(&self, domain: DomainId, from: Offset) -> impl Iterator<Item = ByteRange> + use<> {
        let (even, cyclic, dealt) = match &self.shape {
            Shape::Even => (Some(self.even(domain)), None, None),
            Shape::Cyclic => (None, Some(self.cyclic(domain, from)), None),
            Shape::Dealt(stripes) => {
                let stripes = Arc::clone(stripes);
                let first = stripes[domain.index()].partition_point(|range| range.end <= from);
                (None, None, Some((first..).map_while(move |n| stripes[domain.index()].get(n).copied())))
            }
        };
        (even.into_iter())
            .chain(cyclic.into_iter().flatten())
            .chain(dealt.into_iter().flatten())
            .map(move |range| ByteRange::new(range.start.max(from), range.end))
            .filter(|range| !range.is_empty())
    }

    fn cyclic(&self, domain: DomainId, from: Offset) -> impl Iterator<Item = ByteRange> + use<> {
        let Domains { hull, unit, count, .. } = *self;
        let count = u64::from(count);
        let first_stripe = from.max(hull.start) / unit;
        let mut stripe = first_stripe + (u64::from(domain.0) + count - first_stripe % count) % count;
        std::iter::from_fn(move || {
            let start = stripe.checked_mul(unit).filter(|&start| start < hull.end)?;
            stripe += count;
            Some(ByteRange::new(start, start.saturating_add(unit)).intersect(hull))
        })
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
        let origin = match self.shape {
            Shape::Even => self.even(domain).start / unit * unit,
            Shape::Cyclic | Shape::Dealt(_) => 0,
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

/// A range cut into stripes at the multiples of a unit: what is assigned one by one when file domains need not be
/// contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    hull: ByteRange,
    unit: Bytes,
}

impl Stripes {
    /// Stripes of a multiple of `unit`, at most `most` of them. Of the multiples that are no more than twice as large as
    /// need be, one that divides a quarter, a half or the whole of `period` is taken when there is one: a pattern that
    /// repeats every so many bytes then meets the stripes alike each time, and ranks that share a period evenly mostly
    /// meet at the ends of stripes. Panics when `unit` or `most` is 0.
    pub fn new(hull: ByteRange, unit: Bytes, most: u32, period: Option<Bytes>) -> Stripes {
        assert!(unit > 0 && most > 0, "stripes have a size and a number");
        let blocks = hull.end.div_ceil(unit) - hull.start / unit;
        // One stripe more than the length says may be cut at both ends.
        let least = blocks.div_ceil(u64::from(most).saturating_sub(1).max(1)).max(1);
        let least = if blocks <= u64::from(most) { 1 } else { least };
        let divides = |factor: u64, parts: u64| {
            let stripes = unit.saturating_mul(factor).saturating_mul(parts);
            period.is_some_and(|period| period.is_multiple_of(stripes))
        };
        let factors = || (least..=least.saturating_mul(2)).take(4096);
        let fitting = |parts| factors().find(|&factor| divides(factor, parts));
        let factor = [4, 2, 1].into_iter().find_map(fitting).unwrap_or(least);
        Stripes { hull, unit: unit.saturating_mul(factor) }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        let stripes = if self.hull.is_empty() { 0 } else { self.last() - self.first() + 1 };
        usize::try_from(stripes).expect("stripes are limited in number")
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.hull.is_empty()
    }

    /// The size of all but the first and the last.
    pub fn unit(self) -> Bytes {
        self.unit
    }

    /// Their ranges, in file order.
    pub fn iter(self) -> impl Iterator<Item = ByteRange> {
        let end = if self.is_empty() { self.first() } else { self.last() + 1 };
        (self.first()..end).map(move |stripe| {
            let start = stripe * self.unit;
            ByteRange::new(start, start.saturating_add(self.unit)).intersect(self.hull)
        })
    }

    /// How many of an access's bytes lie in each: a row of the communication matrix.
    pub fn bytes_of(self, access: &Access) -> Vec<Bytes> {
        let mut row = vec![0; self.len()];
        let reach = access.hull().intersect(self.hull);
        if reach.is_empty() {
            return row;
        }
        // Only stripes that the access reaches are asked for.
        let first = reach.start / self.unit;
        let skipped = usize::try_from(first - self.first()).expect("below the number of stripes");
        for (entry, stripe) in row[skipped..].iter_mut().zip(first..) {
            let start = stripe * self.unit;
            if start >= reach.end {
                break;
            }
            *entry =
                access.bytes_in(ByteRange::new(start, start.saturating_add(self.unit)).intersect(self.hull));
        }
        row
    }

    fn first(self) -> u64 {
        self.hull.start / self.unit
    }

    fn last(self) -> u64 {
        (self.hull.end - 1) / self.unit
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

    proptest! {
        /// Stripes tile the hull, and dealt out they are the same bytes with the owners they were given.
        #[test]
        fn stripes_are_dealt_out(
            start in 0..500u64, len in 0..2000u64, unit in 1..200u64, most in 1..40u32,
            period in prop::option::of(1..800u64), buffer in 1..700u64, owners in prop::collection::vec(0..5u32, 60),
        ) {
            let hull = ByteRange::new(start, start + len);
            let stripes = Stripes::new(hull, unit, most, period);
            prop_assert!(stripes.len() <= most.max(2) as usize && stripes.unit().is_multiple_of(unit));
            prop_assert_eq!(stripes.iter().count(), stripes.len());
            let owner = &owners[..stripes.len()];
            let domains = Domains::dealt(hull, stripes.unit(), owner, 5);
            let mut next = start;
            for (range, &owner) in stripes.iter().zip(owner) {
                prop_assert_eq!(range.start, next);
                next = range.end;
                for domain in domains.ids() {
                    let bytes: u64 = domains.ranges(domain, 0).map(|part| part.intersect(range).len()).sum();
                    prop_assert_eq!(bytes, if domain.0 == owner { range.len() } else { 0 });
                }
            }
            prop_assert_eq!(next, hull.end);
            for domain in domains.ids() {
                let windows: Vec<ByteRange> = domains.windows(domain, 0, buffer).collect();
                prop_assert!(windows.iter().all(|window| !window.is_empty() && window.len() <= buffer));
                prop_assert!(windows.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert_eq!(windows.iter().map(|window| window.len()).sum::<u64>(), domains.bytes(domain));
                prop_assert!(windows.iter().all(|window| window.intersect(domains.reach(domain)) == *window));
            }
        }
    }

    #[test]
    fn stripes_follow_the_period_of_a_pattern() {
        let check = |len: u64, unit, most, period, expected| {
            assert_eq!(Stripes::new(ByteRange::new(0, len), unit, most, period).unit(), expected);
        };
        check(32_768_000, 4096, 8192, Some(204_800), 4096);
        check(262_144_000, 4096, 8192, Some(819_200), 10 * 4096);
        check(262_144_000, 4096, 8192, None, 8 * 4096);
        check(262_144_000, 4096, 8192, Some(4096 * 17), 8 * 4096);
        check(10, 4096, 1, Some(3), 4096);
    }

    #[test]
    fn rows_are_the_bytes_of_each_stripe() {
        let access = Access::new(&crate::plan::View::bytes(), 37, 300).unwrap();
        let stripes = Stripes::new(ByteRange::new(5, 1000), 50, 100, None);
        let naive: Vec<u64> = stripes.iter().map(|range| access.bytes_in(range)).collect();
        assert_eq!(stripes.bytes_of(&access), naive);
        assert_eq!(naive.iter().sum::<u64>(), 300);
        assert_eq!(stripes.bytes_of(&Access::empty()), vec![0; stripes.len()]);
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
