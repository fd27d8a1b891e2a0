//! Topology-aware two-phase I/O (TATP, section 4.3): the assignment with the fewest hop-bytes.

use super::workload::costs_of_domain;
use super::{Candidates, NodeMatrix, lap, served};
use crate::topology::Topology;
use crate::units::{Hops, NodeId};

/// The nodes with the fewest hop-bytes, over all domains together. Rows of the workload matrix are computed
/// one by one, so that it never takes memory as a whole.
pub(super) fn nodes(matrix: &NodeMatrix, topology: &Topology, candidates: &Candidates) -> Vec<NodeId> {
    let columns = lap::minimise(matrix.domains(), &candidates.slots, |domain, costs| {
        for (cost, hop_bytes) in costs.iter_mut().zip(costs_of_domain(matrix, topology, domain)) {
            *cost = hop_bytes.0;
        }
    });
    columns.into_iter().map(NodeId::from_index).collect()
}

/// The ranks with the fewest hop-bytes inside the node, over all domains together.
pub(super) fn ranks(
    rows: &[Vec<u64>],
    distance: &dyn Fn(usize, usize) -> Hops,
    allowed: &[usize],
) -> Vec<usize> {
    let domains = rows.first().map_or(0, Vec::len);
    let columns = lap::minimise(domains, &vec![1; allowed.len()], |domain, costs| {
        for (cost, &rank) in costs.iter_mut().zip(allowed) {
            *cost = served(rows, distance, domain, rank).0;
        }
    });
    columns.into_iter().map(|column| allowed[column]).collect()
}
