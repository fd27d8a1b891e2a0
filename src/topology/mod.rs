//! Where things are: which ranks share a node, how far nodes are from each other, and where a rank sits in
//! its node.
//!
//! A rank asks three questions, and each has one answer on every rank:
//!
//! - [`NodeMap`]: which node is a rank on? Built from host names and shared-memory groups.
//! - [`Topology`]: how many hops separate two nodes? Resolved from the hint `tatpio_topology`
//!   ([`TopologySpec`]), from a [topology file](mod@file) or from what is known without one.
//! - [`Place`]: how close are two ranks of one node? At most one hop, from what hwloc knows.

pub mod file;
#[cfg(feature = "hwloc")]
pub mod hwloc;
pub mod inside;
mod nodes;
mod places;
mod spec;

pub use inside::{Place, between};
pub use nodes::NodeMap;
pub use places::places;
pub use spec::{Synthetic, TopologySpec};

use crate::units::{Bytes, HopBytes, Hops, NodeId};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// The distances between the nodes of one [`NodeMap`] (TATP, section 4.2): symmetric, whole hops, at least
/// one hop between different nodes, and nothing from a node to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    model: Model,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Model {
    /// Nodes of one class are equally far from every node, as nodes on one switch are. This keeps thousands
    /// of nodes in a table of their switches.
    Classes {
        /// The class of each node.
        class_of: Vec<u32>,
        /// Whole hops, class by class; the diagonal separates different nodes of one class.
        hops: Vec<u16>,
        classes: usize,
    },
    /// In a torus every node is its own class, but distances add up dimension by dimension.
    Torus {
        sizes: Vec<u32>,
        /// Coordinates, node by node.
        coordinates: Vec<u32>,
    },
}

/// Why distances between nodes could not be had. The caller warns, and goes on with
/// [`TopologySpec::Automatic`].
#[derive(Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// A value of the hint that says nothing.
    Spec {
        /// The value.
        text: String,
        /// What would do.
        expected: String,
    },
    /// A synthetic network with fewer positions than the job has nodes.
    TooSmall {
        /// The value.
        text: String,
        /// How many nodes it places.
        positions: u64,
        /// How many nodes the job has.
        nodes: usize,
    },
    /// The topology file could not be read.
    Read {
        /// Its path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A line of the topology file that says nothing.
    Line {
        /// The file's path.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// What would do.
        expected: String,
        /// The line's text.
        text: String,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::Spec { text, expected } => {
                write!(f, "tatpio_topology \"{text}\": expected {expected}")
            }
            TopologyError::TooSmall { text, positions, nodes } => write!(
                f,
                "tatpio_topology \"{text}\" places {positions} nodes and the job has {nodes}: \
                 give it larger sizes or more positions after @"
            ),
            TopologyError::Read { path, source } => {
                write!(f, "the topology file {path} could not be read: {source}")
            }
            TopologyError::Line { path, line, expected, text } => {
                write!(f, "topology file {path}, line {line}: expected {expected}, found \"{text}\"")
            }
        }
    }
}

impl std::error::Error for TopologyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TopologyError::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Topology {
    /// The distances that `spec` gives the job's nodes, and warnings for people (one line each).
    ///
    /// `read_file` reads the topology file. Ranks must agree: let one rank resolve and share the
    /// specification and the file's text, or see to it that all read the same.
    ///
    /// Errors: a file that cannot be read, a bad line in it, a synthetic network too small for the job.
    pub fn resolve(
        spec: &TopologySpec,
        nodes: &NodeMap,
        read_file: impl Fn(&str) -> io::Result<String>,
    ) -> Result<(Topology, Vec<String>), TopologyError> {
        let topology = match spec {
            TopologySpec::Automatic | TopologySpec::Flat => Topology::flat(nodes.len()),
            TopologySpec::File(path) => {
                let text =
                    read_file(path).map_err(|source| TopologyError::Read { path: path.clone(), source })?;
                return Ok(file::TopologyFile::parse(path, &text)?.distances(nodes));
            }
            TopologySpec::Tree(network) | TopologySpec::FatTree(network) => {
                Topology::tree(&network.sizes, &place(spec, network, nodes.len())?)
            }
            TopologySpec::Torus(network) => {
                Topology::torus(&network.sizes, &place(spec, network, nodes.len())?)
            }
        };
        Ok((topology, Vec::new()))
    }

    /// One hop between any two of `nodes` nodes.
    pub fn flat(nodes: usize) -> Topology {
        Topology { model: Model::Classes { class_of: vec![0; nodes], hops: vec![1], classes: 1 } }
    }

    /// Whole hops between any two of `nodes` nodes, from a function that is asked for each pair `a < b` once;
    /// a zero counts as one hop.
    pub fn from_hops(nodes: usize, hops: impl Fn(NodeId, NodeId) -> u16) -> Topology {
        let keys = (0..nodes).collect::<Vec<_>>();
        Topology::from_classes(&keys, |&a, &b| {
            hops(NodeId::from_index(a.min(b)), NodeId::from_index(a.max(b)))
        })
    }

    /// Nodes of one key are in one class; `hops` is symmetric and gives the whole hops between different
    /// nodes of two keys, the same or not.
    fn from_classes<K: Ord>(keys: &[K], hops: impl Fn(&K, &K) -> u16) -> Topology {
        let mut numbers: BTreeMap<&K, u32> = BTreeMap::new();
        let mut firsts = Vec::new();
        let class_of = keys
            .iter()
            .map(|key| {
                *numbers.entry(key).or_insert_with(|| {
                    firsts.push(key);
                    u32::try_from(firsts.len() - 1).expect("nodes fit 32 bits")
                })
            })
            .collect();
        let mut table = vec![1; firsts.len() * firsts.len()];
        for (a, key) in firsts.iter().enumerate() {
            for (b, other) in firsts.iter().enumerate().skip(a) {
                let distance = hops(key, other).max(1);
                table[a * firsts.len() + b] = distance;
                table[b * firsts.len() + a] = distance;
            }
        }
        Topology { model: Model::Classes { class_of, hops: table, classes: firsts.len() } }
    }

    /// A tree of switches: `sizes` from the top, nodes at distinct positions.
    fn tree(sizes: &[u32], positions: &[u32]) -> Topology {
        let (&leaf, above) = sizes.split_last().expect("a tree has a level");
        let switches: Vec<u32> = positions.iter().map(|position| position / leaf).collect();
        Topology::from_classes(&switches, |&a, &b| {
            let (mut a, mut b, mut levels_up) = (a, b, 1);
            for size in above.iter().rev() {
                if a == b {
                    break;
                }
                (a, b, levels_up) = (a / size, b / size, levels_up + 1);
            }
            2 * levels_up
        })
    }

    /// A torus: `sizes` of the dimensions, nodes at distinct positions.
    fn torus(sizes: &[u32], positions: &[u32]) -> Topology {
        let mut coordinates = vec![0; positions.len() * sizes.len()];
        for (node, &position) in coordinates.chunks_mut(sizes.len()).zip(positions) {
            let mut rest = position;
            for (coordinate, size) in node.iter_mut().zip(sizes).rev() {
                (*coordinate, rest) = (rest % size, rest / size);
            }
        }
        Topology { model: Model::Torus { sizes: sizes.to_vec(), coordinates } }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        match &self.model {
            Model::Classes { class_of, .. } => class_of.len(),
            Model::Torus { sizes, coordinates } => coordinates.len() / sizes.len(),
        }
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distance between two nodes; [`Hops::ZERO`] from a node to itself, else whole hops, at least one.
    /// Panics for a node out of range.
    pub fn distance(&self, a: NodeId, b: NodeId) -> Hops {
        let (a, b) = (a.index(), b.index());
        assert!(a < self.len() && b < self.len(), "nodes {a} and {b} of {}", self.len());
        if a == b {
            return Hops::ZERO;
        }
        match &self.model {
            Model::Classes { class_of, hops, classes } => {
                Hops::whole(u32::from(hops[class_of[a] as usize * classes + class_of[b] as usize]))
            }
            Model::Torus { sizes, coordinates } => {
                let of = |node: usize| &coordinates[node * sizes.len()..][..sizes.len()];
                let steps = sizes.iter().zip(of(a)).zip(of(b)).map(|((&size, &x), &y)| around(size, x, y));
                Hops::whole(steps.sum())
            }
        }
    }

    /// For each node n, what it costs to bring `volume[m]` bytes from every node m to n: the product of the
    /// distance matrix and one column of the communication matrix (TATP, section 4.3), without forming the
    /// distance matrix.
    ///
    /// Takes time in the square of the number of switches (for a torus, of its dimensions' sizes), not of
    /// nodes. Panics unless there is one volume a node.
    pub fn gather_costs(&self, volume: &[Bytes]) -> Vec<HopBytes> {
        assert_eq!(volume.len(), self.len(), "one volume a node");
        let hop_bytes = |sum: u128| HopBytes(sum * u128::from(Hops::PER_HOP));
        match &self.model {
            Model::Classes { class_of, hops, classes } => {
                let mut sums = vec![0u128; *classes];
                for (&class, &bytes) in class_of.iter().zip(volume) {
                    sums[class as usize] += u128::from(bytes);
                }
                let product = |row: &[u16]| {
                    row.iter().zip(&sums).map(|(&hops, &sum)| u128::from(hops) * sum).sum::<u128>()
                };
                let to_class: Vec<u128> = hops.chunks(*classes).map(product).collect();
                // The diagonal of the table is for the others of the class: a node's own bytes travel
                // nowhere.
                let to_node = |(&class, &own): (&u32, &Bytes)| {
                    let class = class as usize;
                    hop_bytes(to_class[class] - u128::from(hops[class * classes + class]) * u128::from(own))
                };
                class_of.iter().zip(volume).map(to_node).collect()
            }
            Model::Torus { sizes, coordinates } => {
                let mut costs = vec![0u128; volume.len()];
                for (dimension, &size) in sizes.iter().enumerate() {
                    let at = |node: usize| coordinates[node * sizes.len() + dimension];
                    let mut sums: BTreeMap<u32, u128> = BTreeMap::new();
                    for (node, &bytes) in volume.iter().enumerate() {
                        *sums.entry(at(node)).or_default() += u128::from(bytes);
                    }
                    let to =
                        |y: u32| sums.iter().map(|(&x, &sum)| u128::from(around(size, x, y)) * sum).sum();
                    let to_coordinate: BTreeMap<u32, u128> = sums.keys().map(|&y| (y, to(y))).collect();
                    for (node, cost) in costs.iter_mut().enumerate() {
                        *cost += to_coordinate[&at(node)];
                    }
                }
                costs.into_iter().map(hop_bytes).collect()
            }
        }
    }
}

/// The shorter way around a ring.
fn around(size: u32, x: u32, y: u32) -> u32 {
    let steps = x.abs_diff(y);
    steps.min(size - steps)
}

/// The positions of the job's nodes in a synthetic network.
fn place(spec: &TopologySpec, network: &Synthetic, nodes: usize) -> Result<Vec<u32>, TopologyError> {
    let positions = network.at.as_ref().map_or(network.positions(), |at| at.len() as u64);
    if (nodes as u64) > positions {
        return Err(TopologyError::TooSmall { text: spec.to_string(), positions, nodes });
    }
    let in_order = || (0..nodes).map(|node| NodeId::from_index(node).0).collect();
    Ok(network.at.as_ref().map_or_else(in_order, |at| at[..nodes].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(spec: &str, nodes: u32) -> Topology {
        let never = |path: &str| panic!("{path} was read");
        let (topology, warnings) =
            Topology::resolve(&spec.parse().unwrap(), &NodeMap::emulated(nodes, 1), never).unwrap();
        assert!(warnings.is_empty(), "{spec}: {warnings:?}");
        topology
    }

    fn hops(topology: &Topology, a: usize, b: usize) -> u32 {
        let distance = topology.distance(NodeId::from_index(a), NodeId::from_index(b));
        assert_eq!(distance.0 % Hops::PER_HOP, 0);
        distance.0 / Hops::PER_HOP
    }

    #[test]
    fn synthetic_distances() {
        for (spec, row) in [
            ("automatic", vec![0, 1, 1, 1]),
            ("flat", vec![0, 1, 1, 1]),
            ("tree:4", vec![0, 2, 2, 2]),
            ("tree:2,2", vec![0, 2, 4, 4]),
            ("tree:2,2,2", vec![0, 2, 4, 4, 6, 6, 6, 6]),
            ("tree:3,1,2", vec![0, 2, 6, 6, 6, 6]),
            ("tree:2,2@0,3,1,2", vec![0, 4, 2, 4]),
            ("fat-tree:2", vec![0, 6]),
            ("fat-tree:4", vec![0, 2, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]),
            ("fat-tree:2,1,3", vec![0, 2, 2, 6, 6, 6]),
            ("torus:5", vec![0, 1, 2, 2, 1]),
            ("torus:2,4", vec![0, 1, 2, 1, 1, 2, 3, 2]),
            ("torus:4,4@5,0-3", vec![0, 2, 1, 2, 3]),
            ("torus:1,1,3", vec![0, 1, 1]),
        ] {
            let topology = resolve(spec, u32::try_from(row.len()).unwrap());
            let found: Vec<u32> = (0..row.len()).map(|node| hops(&topology, 0, node)).collect();
            assert_eq!(found, row, "{spec}");
        }
    }

    #[test]
    fn the_racks_of_the_paper() {
        // The Inspur cluster of section 5.1: 4 racks of 20 nodes.
        let topology = resolve("tree:4,20", 80);
        assert_eq!(hops(&topology, 0, 19), 2);
        assert_eq!(hops(&topology, 0, 20), 4);
        assert_eq!(hops(&topology, 20, 39), 2);
        assert_eq!(hops(&topology, 60, 19), 4);
    }

    #[test]
    fn distances_are_symmetric_whole_and_at_least_one_hop() {
        for spec in
            ["flat", "tree:3,2,5", "fat-tree:4@1,2,3,5,7,11,13,8,0", "torus:3,4,2", "torus:9@8,7,6,5,0-4"]
        {
            let topology = resolve(spec, 9);
            for a in 0..9 {
                for b in 0..9 {
                    assert_eq!(hops(&topology, a, b), hops(&topology, b, a), "{spec}: {a} {b}");
                    assert_eq!(hops(&topology, a, b) == 0, a == b, "{spec}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn gather_costs_are_the_inner_products() {
        // Different volumes, some empty, one that overflows 64 bits when multiplied.
        let volume: Vec<Bytes> =
            (0..12).map(|node| [0, 7, u64::MAX, 1, 4096][node % 5].wrapping_add(node as u64 / 5)).collect();
        for spec in [
            "flat",
            "tree:12",
            "tree:2,3,2",
            "fat-tree:4@3,1,0,2,9,8,7,15,12,13,4,5",
            "torus:3,2,2",
            "torus:4,5",
        ] {
            let topology = resolve(spec, 12);
            let naive = |n: usize| {
                let cost = |(m, &bytes): (usize, &Bytes)| {
                    bytes * topology.distance(NodeId::from_index(m), NodeId::from_index(n))
                };
                volume.iter().enumerate().map(cost).sum::<HopBytes>()
            };
            assert_eq!(topology.gather_costs(&volume), (0..12).map(naive).collect::<Vec<_>>(), "{spec}");
        }
    }

    #[test]
    fn any_table_of_hops() {
        let topology = Topology::from_hops(4, |a, b| u16::try_from(a.0 * b.0).unwrap());
        assert_eq!((0..4).map(|b| hops(&topology, 2, b)).collect::<Vec<_>>(), [1, 2, 0, 6]);
        assert!(Topology::from_hops(0, |_, _| 1).is_empty());
        assert!(Topology::flat(0).gather_costs(&[]).is_empty());
    }

    #[test]
    fn a_network_too_small_says_how_to_mend_it() {
        for spec in ["tree:2,2", "torus:2,2", "fat-tree:2,2,1", "torus:9@0,1,2,3"] {
            let error =
                Topology::resolve(&spec.parse().unwrap(), &NodeMap::emulated(10, 2), |_| unreachable!())
                    .unwrap_err()
                    .to_string();
            assert!(error.contains("places 4 nodes and the job has 5: give it larger sizes"), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let gone = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
        let error =
            Topology::resolve(&"file:racks".parse().unwrap(), &NodeMap::emulated(2, 1), gone).unwrap_err();
        assert!(error.to_string().starts_with("the topology file racks could not be read: "), "{error}");
    }
}
