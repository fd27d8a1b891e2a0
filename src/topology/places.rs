//! Where the ranks of a node and its network card sit, from the processors that the ranks may run on.

use super::Place;
use super::inside::{between, distance};
use crate::units::Hops;

/// Where the ranks of a node sit, and its network card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePlaces {
    /// By local rank.
    pub ranks: Vec<Place>,
    /// The NUMA node or the package next to the card through which the node reaches others.
    pub network: Place,
}

impl NodePlaces {
    /// The distance of two local ranks, at most one hop; [`Hops::ZERO`] for a rank to itself.
    pub fn between(&self, a: usize, b: usize) -> Hops {
        between(&self.ranks, a, b)
    }

    /// The distance of a local rank to the network card, by the [same table](super::inside): that of the NUMA node or
    /// the package that both share, else one hop, as for a rank whose place is unknown.
    ///
    /// When nothing is known of the card it is [`Hops::ZERO`] for every rank, so that costs to which it is added, and
    /// what is chosen by them, stay what they were. Panics for a rank that the node does not have.
    pub fn to_network(&self, rank: usize) -> Hops {
        let place = &self.ranks[rank];
        if self.network == Place::UNKNOWN { Hops::ZERO } else { distance(place, &self.network) }
    }
}

/// The places of a node's ranks and of its network card; `sets` holds the processors of each rank, as 32-bit
/// little-endian numbers.
///
/// Ranks that may all run on the same processors cannot be told apart, so hwloc is asked only when they differ: nothing
/// is loaded in the common unbound case. Without the feature `hwloc` every place is unknown.
pub fn node_places(sets: &[Vec<u8>]) -> NodePlaces {
    let alike = sets.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        return NodePlaces { ranks: vec![Place::UNKNOWN; sets.len()], network: Place::UNKNOWN };
    }
    NodePlaces { ranks: sets.iter().map(|set| place(set)).collect(), network: network_place() }
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

#[cfg(feature = "hwloc")]
fn network_place() -> Place {
    super::hwloc::Machine::this().map_or(Place::UNKNOWN, super::hwloc::Machine::network_place)
}

#[cfg(not(feature = "hwloc"))]
fn network_place() -> Place {
    Place::UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::inside::Level;

    fn place(package: u16, numa: u16, core: u16) -> Place {
        Place::UNKNOWN.with(Level::Package, package).with(Level::Numa, numa).with(Level::Core, core)
    }

    #[test]
    fn ranks_near_the_card() {
        let ranks = vec![place(0, 0, 0), place(0, 1, 4), place(8, 2, 8), Place::UNKNOWN];
        let card = |levels: &[(Level, u16)]| {
            levels.iter().fold(Place::UNKNOWN, |place, &(level, number)| place.with(level, number))
        };
        for (network, sixteenths) in [
            // Next to NUMA node 1, to package 8, and nowhere known.
            (card(&[(Level::Package, 0), (Level::Numa, 1)]), [10, 6, 16, 16]),
            (card(&[(Level::Package, 8)]), [16, 16, 10, 16]),
            (Place::UNKNOWN, [0, 0, 0, 0]),
        ] {
            let node = NodePlaces { ranks: ranks.clone(), network };
            let found: Vec<u32> = (0..4).map(|rank| node.to_network(rank).0).collect();
            assert_eq!(found, sixteenths, "{network:?}");
            assert_eq!((node.between(0, 1), node.between(1, 1)), (Hops(10), Hops::ZERO));
        }
    }

    #[test]
    fn ranks_that_cannot_be_told_apart_are_nowhere() {
        for sets in [vec![], vec![vec![0; 4]], vec![vec![0; 8], vec![0; 8]]] {
            let node = node_places(&sets);
            assert_eq!(node.ranks, vec![Place::UNKNOWN; sets.len()]);
            assert_eq!(node.network, Place::UNKNOWN);
        }
    }
}
