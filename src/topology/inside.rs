//! How close two ranks of one node are: a fraction of a hop, from the part of the machine that both are bound
//! to.
//!
//! | The finest part that both share | Sixteenths of a hop |
//! |---|---|
//! | processing unit or core | 1 |
//! | L2 cache | 2 |
//! | L3 cache | 4 |
//! | NUMA node | 6 |
//! | package | 10 |
//! | the machine, or nothing is known | 16 |
//!
//! TATP (section 4.2) asks only that this be at most one hop. The order is that of what two processes share
//! when one reads what the other wrote; the steps leave room and are no measurement. A rank to itself is
//! [`Hops::ZERO`].

use crate::units::Hops;

/// A level of a machine's hierarchy, the coarsest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What sits in one socket.
    Package,
    /// Processors and the memory next to them.
    Numa,
    /// A last-level cache.
    L3,
    /// A second-level cache.
    L2,
    /// A core.
    Core,
    /// A processing unit, that is a hardware thread.
    Pu,
}

impl Level {
    /// Every level, the coarsest first.
    pub const ALL: [Level; 6] = [Level::Package, Level::Numa, Level::L3, Level::L2, Level::Core, Level::Pu];

    /// The distance of two ranks that share a part of this level and none finer.
    pub const fn distance(self) -> Hops {
        match self {
            Level::Package => Hops(10),
            Level::Numa => Hops(6),
            Level::L3 => Hops(4),
            Level::L2 => Hops(2),
            Level::Core | Level::Pu => Hops(1),
        }
    }
}

/// Where a rank sits inside its node: the number of the part it is bound to, at each level that its binding
/// decides. A rank bound to a package has no core; a rank bound to nothing has, on a machine of two packages,
/// nothing at all.
///
/// A number belongs to the whole node, not to the part around it: two ranks share a part if and only if their
/// numbers at that level are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    parts: [Option<u16>; Level::ALL.len()],
}

impl Place {
    /// Nothing is known.
    pub const UNKNOWN: Place = Place { parts: [None; Level::ALL.len()] };

    /// The same place, with the number of its part at `level`.
    pub fn with(mut self, level: Level, number: u16) -> Place {
        self.parts[level as usize] = Some(number);
        self
    }

    /// The number of the part at `level`, when the rank is bound that finely.
    pub fn part(&self, level: Level) -> Option<u16> {
        self.parts[level as usize]
    }

    /// The place as bytes, for other ranks: which levels are known, then their numbers. At most 13 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0];
        for (level, number) in self.parts.iter().enumerate() {
            if let Some(number) = number {
                bytes[0] |= 1 << level;
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes
    }

    /// The place that [`Place::encode`] wrote; `None` for bytes that it cannot have written.
    pub fn decode(bytes: &[u8]) -> Option<Place> {
        let (&known, mut numbers) = bytes.split_first()?;
        let mut place = Place::UNKNOWN;
        for (level, part) in place.parts.iter_mut().enumerate() {
            if known & (1 << level) != 0 {
                let (number, rest) = numbers.split_first_chunk()?;
                (*part, numbers) = (Some(u16::from_le_bytes(*number)), rest);
            }
        }
        (numbers.is_empty() && known >> Level::ALL.len() == 0).then_some(place)
    }
}

/// The distance of two different ranks of one node: that of the finest level at which both are known and
/// equal, at most one hop.
pub fn distance(a: &Place, b: &Place) -> Hops {
    let shared = |&level: &Level| a.part(level).is_some() && a.part(level) == b.part(level);
    Level::ALL.into_iter().rev().find(shared).map_or(Hops::ONE, Level::distance)
}

/// The distance of the ranks at two positions of a node's list of places; [`Hops::ZERO`] for a rank to
/// itself.
pub fn between(places: &[Place], a: usize, b: usize) -> Hops {
    if a == b { Hops::ZERO } else { distance(&places[a], &places[b]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `package numa l3 l2 core pu`, each a number or `-`.
    fn place(text: &str) -> Place {
        let mut place = Place::UNKNOWN;
        for (level, word) in Level::ALL.into_iter().zip(text.split_whitespace()) {
            place = word.parse().map_or(place, |number| place.with(level, number));
        }
        place
    }

    #[test]
    fn the_table() {
        for (a, b, sixteenths) in [
            ("0 0 0 0 0 0", "0 0 0 0 0 0", 1),
            ("0 0 0 0 0 0", "0 0 0 0 0 1", 1),
            ("0 0 0 0 0 0", "0 0 0 0 1 2", 2),
            ("0 0 0 0 0 0", "0 0 0 1 2 4", 4),
            ("0 0 0 0 0 0", "0 0 1 4 8 16", 6),
            ("0 0 0 0 0 0", "0 1 2 8 16 32", 10),
            ("0 0 0 0 0 0", "1 2 4 16 32 64", 16),
            // Bound to a package only: no finer than that, even to another such rank.
            ("0 - - - - -", "0 0 0 0 0 0", 10),
            ("0 - - - - -", "0 - - - - -", 10),
            // A machine without packages or L3 in the way.
            ("- 0 - 3 7 -", "- 0 - 4 9 -", 6),
            ("- - - - - -", "- - - - - -", 16),
            ("0 0 0 0 0 0", "- - - - - -", 16),
        ] {
            assert_eq!(distance(&place(a), &place(b)), Hops(sixteenths), "{a} | {b}");
            assert_eq!(distance(&place(b), &place(a)), Hops(sixteenths), "{b} | {a}");
        }
    }

    #[test]
    fn coarser_parts_are_farther() {
        let distances: Vec<Hops> = Level::ALL.iter().map(|level| level.distance()).collect();
        assert!(distances.windows(2).all(|pair| pair[0] >= pair[1]), "{distances:?}");
        assert!(distances.iter().all(|&distance| Hops::ZERO < distance && distance < Hops::ONE));
    }

    #[test]
    fn a_rank_is_at_no_distance_from_itself() {
        let places = [Place::UNKNOWN, Place::UNKNOWN, place("0 0 0 0 0 0")];
        assert_eq!(between(&places, 0, 0), Hops::ZERO);
        assert_eq!(between(&places, 0, 1), Hops::ONE);
        assert_eq!(between(&places, 2, 0), Hops::ONE);
    }

    proptest! {
        #[test]
        fn places_survive_their_bytes(parts in prop::array::uniform6(prop::option::of(any::<u16>()))) {
            let place = Place { parts };
            let bytes = place.encode();
            prop_assert!(bytes.len() <= 13);
            prop_assert_eq!(Place::decode(&bytes), Some(place));
            prop_assert_eq!(Place::decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Place::decode(&[&bytes[..], &[0]].concat()), None);
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
            if let Some(place) = Place::decode(&bytes) {
                prop_assert_eq!(place.encode(), bytes);
            }
        }
    }
}
