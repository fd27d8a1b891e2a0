//! How far the nodes of a job are from each other.

use super::network::Network;
use crate::units::{Bytes, HopBytes, Hops, NodeId};
use std::collections::BTreeMap;

/// The distances between the nodes of one [`NodeMap`] (TATP, section 4.2): symmetric, whole hops, at least
/// one hop between different nodes, and nothing from a node to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    model: Model,
    network: Network,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Model {
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

impl Topology {
    /// One hop between any two of `nodes` nodes.
    pub fn flat(nodes: usize) -> Topology {
        let model = Model::Classes { class_of: vec![0; nodes], hops: vec![1], classes: 1 };
        Topology { model, network: Network::crossbar(nodes) }
    }

    /// Whole hops between any two of `nodes` nodes, from a function that is asked for each pair `a < b` once;
    /// a zero counts as one hop.
    pub fn from_hops(nodes: usize, hops: impl Fn(NodeId, NodeId) -> u16) -> Topology {
        let keys = (0..nodes).collect::<Vec<_>>();
        Topology::from_classes(&keys, Network::crossbar(nodes), |&a, &b| {
            hops(NodeId::from_index(a.min(b)), NodeId::from_index(a.max(b)))
        })
    }

    /// Nodes of one key are in one class; `hops` is symmetric and gives the whole hops between different
    /// nodes of two keys, the same or not.
    pub(super) fn from_classes<K: Ord>(
        keys: &[K],
        network: Network,
        hops: impl Fn(&K, &K) -> u16,
    ) -> Topology {
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
        Topology { model: Model::Classes { class_of, hops: table, classes: firsts.len() }, network }
    }

    /// Distances of a model, over a network of as many nodes.
    pub(super) fn new(model: Model, network: Network) -> Topology {
        Topology { model, network }
    }

    /// The links between the nodes.
    pub fn network(&self) -> &Network {
        &self.network
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
                    let mut sums = vec![0u128; size as usize];
                    for (node, &bytes) in volume.iter().enumerate() {
                        sums[at(node) as usize] += u128::from(bytes);
                    }
                    let held: Vec<(u32, u128)> = (0..size).zip(sums).filter(|&(_, sum)| sum > 0).collect();
                    let to = |y: u32| held.iter().map(|&(x, sum)| u128::from(around(size, x, y)) * sum).sum();
                    let mut to_coordinate: Vec<Option<u128>> = vec![None; size as usize];
                    for (node, cost) in costs.iter_mut().enumerate() {
                        let y = at(node);
                        *cost += *to_coordinate[y as usize].get_or_insert_with(|| to(y));
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
