//! Locality-aware two-phase I/O (LATP): the assignment that leaves the most bytes where they are, whatever
//! way the rest has to go.

use super::{Candidates, NodeMatrix, lap};
use crate::units::NodeId;

/// The nodes that hold the most bytes of their domains, over all domains together.
pub(super) fn nodes(matrix: &NodeMatrix, candidates: &Candidates) -> Vec<NodeId> {
    let columns = most_held(matrix.domains(), &candidates.slots, |domain, node| {
        matrix.bytes(NodeId::from_index(node), domain)
    });
    columns.into_iter().map(NodeId::from_index).collect()
}

/// The ranks that hold the most bytes of their domains, over all domains together.
pub(super) fn ranks(rows: &[Vec<u64>], allowed: &[usize]) -> Vec<usize> {
    let domains = rows.first().map_or(0, Vec::len);
    let columns = most_held(domains, &vec![1; allowed.len()], |domain, column| rows[allowed[column]][domain]);
    columns.into_iter().map(|column| allowed[column]).collect()
}

fn most_held(domains: usize, capacity: &[u32], held: impl Fn(usize, usize) -> u64) -> Vec<usize> {
    // The most bytes held is the fewest bytes lacking, of as many as can be.
    lap::minimise(domains, capacity, |domain, costs| {
        for (column, cost) in costs.iter_mut().enumerate() {
            *cost = u128::from(u64::MAX - held(domain, column));
        }
    })
}
