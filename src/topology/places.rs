//! Where the ranks of a node sit, from the processors they may run on.

use super::Place;

/// The places of a node's ranks; `sets` holds the processors of each, as 32-bit little-endian numbers.
///
/// Ranks that may all run on the same processors cannot be told apart, so hwloc is asked only when they differ: nothing
/// is loaded in the common unbound case. Without the feature `hwloc` every place is unknown.
pub fn places(sets: &[Vec<u8>]) -> Vec<Place> {
    let alike = sets.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        return vec![Place::UNKNOWN; sets.len()];
    }
    sets.iter().map(|set| place(set)).collect()
}

#[cfg(feature = "hwloc")]
fn place(set: &[u8]) -> Place {
    let number =
        |raw: &[u8]| raw.try_into().ok().and_then(|raw| usize::try_from(u32::from_le_bytes(raw)).ok());
    let processors: Vec<usize> = set.chunks_exact(4).filter_map(number).collect();
    super::hwloc::Machine::this().map_or(Place::UNKNOWN, |machine| machine.place_of(&processors))
}

#[cfg(not(feature = "hwloc"))]
fn place(_: &[u8]) -> Place {
    Place::UNKNOWN
}
