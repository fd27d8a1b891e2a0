//! The workload matrix W = D x C (TATP, section 4.3), by node: what each domain costs on each node.

use super::{Held, NodeMatrix};
use crate::topology::Topology;
use crate::units::{HopBytes, NodeId};

/// The hop-bytes of every domain on every node, domain by domain with one entry a node: the way of the other
/// nodes' bytes to the node, and of its own ranks' bytes inside it.
pub fn workload(matrix: &NodeMatrix, topology: &Topology) -> Vec<HopBytes> {
    (0..matrix.domains()).flat_map(|domain| costs_of_domain(matrix, topology, domain)).collect()
}

/// One row of [`workload`].
pub(super) fn costs_of_domain(matrix: &NodeMatrix, topology: &Topology, domain: usize) -> Vec<HopBytes> {
    let mut volume = vec![0; matrix.nodes()];
    for held in matrix.held(domain) {
        volume[held.node.index()] = held.bytes;
    }
    let mut costs = topology.gather_costs(&volume);
    for held in matrix.held(domain) {
        costs[held.node.index()] += HopBytes(u128::from(held.inside));
    }
    costs
}

/// The hop-bytes of an assignment of one node a domain: [`between`] nodes, and inside those that serve a
/// domain.
///
/// Inside a node the domain counts as served by the best rank for it. Where ranks were chosen in another way,
/// or one rank is the best for two domains, add up [`served`](super::served) over the nodes and [`between`]
/// instead.
pub fn total(matrix: &NodeMatrix, topology: &Topology, assignment: &[NodeId]) -> HopBytes {
    let inside = assignment.iter().enumerate().map(|(domain, &node)| matrix.inside(node, domain));
    between(matrix, topology, assignment) + inside.map(|inside| HopBytes(u128::from(inside))).sum()
}

/// The hop-bytes that an assignment of one node a domain sends from node to node.
pub fn between(matrix: &NodeMatrix, topology: &Topology, assignment: &[NodeId]) -> HopBytes {
    let of_domain = |(domain, &to): (usize, &NodeId)| {
        let way = |held: &Held| held.bytes * topology.distance(held.node, to);
        matrix.held(domain).iter().map(way).sum::<HopBytes>()
    };
    assignment.iter().enumerate().map(of_domain).sum()
}

#[cfg(test)]
mod tests {
    use super::super::NodeRow;
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn every_entry_is_the_inner_product() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let (nodes, domains) = (1 + random.below(6), random.below(5));
            let table: Vec<u16> = (0..36).map(|_| 1 + random.below(9) as u16).collect();
            let topology = Topology::from_hops(nodes, |a, b| table[a.index() * 6 + b.index()]);
            let mut list = || (0..domains).map(|_| random.next() >> random.below(64)).collect::<Vec<u64>>();
            let rows: Vec<NodeRow> = (0..nodes).map(|_| NodeRow { bytes: list(), inside: list() }).collect();
            let matrix = NodeMatrix::from_rows(domains, &rows);
            let found = workload(&matrix, &topology);
            assert_eq!(found.len(), domains * nodes);
            for (index, &found) in found.iter().enumerate() {
                let (domain, to) = (index / nodes, NodeId::from_index(index % nodes));
                let mut expected = HopBytes(u128::from(rows[to.index()].inside[domain]));
                for (from, row) in rows.iter().enumerate() {
                    expected += row.bytes[domain] * topology.distance(NodeId::from_index(from), to);
                }
                assert_eq!(found, expected, "seed {seed} domain {domain} node {to}");
            }
            let assignment: Vec<NodeId> =
                (0..domains).map(|_| NodeId::from_index(random.below(nodes))).collect();
            let of = |(domain, node): (usize, &NodeId)| found[domain * nodes + node.index()];
            let sum = assignment.iter().enumerate().map(of).sum();
            assert_eq!(total(&matrix, &topology, &assignment), sum, "seed {seed}");
        }
    }
}
