//! What an assignment loads the links with, and how long the most loaded one takes: the congestion that hop-bytes only
//! stand for.

use super::NodeMatrix;
use crate::topology::{Network, Ways};
use crate::units::{Bytes, NodeId};
use std::collections::BTreeMap;

/// The direction of a call's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the aggregators: a write.
    Gather,
    /// From the aggregators: a read. Answers are taken to travel the way back of the requests, which they do in trees
    /// and, link by link, in fat trees whose tables are symmetric.
    Scatter,
}

impl Flow {
    /// The directed link that data takes on the way that leads along `link` to an aggregator.
    pub fn along(self, link: usize) -> usize {
        match self {
            Flow::Gather => link,
            Flow::Scatter => link ^ 1,
        }
    }
}

/// The bytes on every directed link when `assignment[unit]` serves each unit.
pub fn link_loads(matrix: &NodeMatrix, network: &Network, assignment: &[NodeId], flow: Flow) -> Vec<u128> {
    let mut loads = vec![0; network.directed()];
    let mut served: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (unit, &node) in assignment.iter().enumerate() {
        served.entry(node).or_default().push(unit);
    }
    for (node, units) in served {
        let mut volumes: BTreeMap<NodeId, Bytes> = BTreeMap::new();
        for held in units.iter().flat_map(|&unit| matrix.held(unit)).filter(|held| held.node != node) {
            *volumes.entry(held.node).or_default() += held.bytes;
        }
        if volumes.is_empty() {
            continue;
        }
        let ways: Ways = network.ways_to(node);
        for (from, bytes) in volumes {
            for link in ways.from(network, network.vertex_of(from)) {
                loads[flow.along(link)] += u128::from(bytes);
            }
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::super::NodeRow;
    use super::*;
    use crate::topology::{FilesOnly, NodeMap, Topology};
    use crate::units::Picoseconds;

    #[test]
    fn loads_of_a_tree_worked_by_hand() {
        let map = NodeMap::emulated(4, 1);
        let spec = "tree:2,2/8bit,80bit".parse().unwrap();
        let topology = Topology::resolve(&spec, &map, &FilesOnly).unwrap().topology;
        let rows = [[10, 0], [20, 1], [30, 2], [40, 3]]
            .map(|bytes| NodeRow { bytes: bytes.to_vec(), inside: vec![0; 2] });
        let matrix = NodeMatrix::from_rows(2, &rows);
        let network = topology.network();
        for (flow, way) in [(Flow::Gather, ("root", "switch1.0")), (Flow::Scatter, ("switch1.0", "root"))] {
            let loads = link_loads(&matrix, network, &[NodeId(0), NodeId(3)], flow);
            let (busiest, time) = network.busiest(&loads).unwrap();
            let (from, to) = network.ends(busiest);
            // Domain 0 draws 30 and 40 bytes into the first switch at a byte a second.
            assert_eq!((network.name(from), network.name(to)), way);
            assert_eq!(time, Picoseconds(70 * Picoseconds::PER_SECOND));
            // Up and down between the switches 4 links' worth, and each end's own.
            assert_eq!(loads.iter().sum::<u128>(), 20 * 2 + 70 * 4 + 2 * 2 + 4);
        }
    }
}
