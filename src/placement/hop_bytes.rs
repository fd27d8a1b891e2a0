//! Topology-aware two-phase I/O (TATP, section 4.3): the assignment with the fewest hop-bytes.

use super::workload::costs_of_domain;
use super::{Assignment, Chosen, Inside, Problem, lap};
use crate::units::NodeId;

/// The fewest hop-bytes.
pub(super) struct HopBytes;

impl Assignment for HopBytes {
    /// The nodes with the fewest hop-bytes, over all domains together. Rows of the workload matrix are computed one by
    /// one, so that it never takes memory as a whole.
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        Chosen::one_each(fewest(problem, &problem.candidates.slots), problem.matrix.nodes())
    }

    /// The ranks with the fewest hop-bytes inside the node, over all domains together.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        let columns = lap::minimise(inside.units(), &vec![1; inside.allowed.len()], |domain, costs| {
            for (cost, &rank) in costs.iter_mut().zip(inside.allowed) {
                *cost = inside.cost(domain, rank).0;
            }
        });
        columns.into_iter().map(|column| inside.allowed[column]).collect()
    }
}

/// The nodes with the fewest hop-bytes when each takes at most `capacity` units.
pub(super) fn fewest(problem: &Problem<'_>, capacity: &[u32]) -> Vec<NodeId> {
    let matrix = problem.matrix;
    let columns = lap::minimise(matrix.domains(), capacity, |domain, costs| {
        for (cost, hop_bytes) in costs.iter_mut().zip(costs_of_domain(matrix, problem.topology, domain)) {
            *cost = hop_bytes.0;
        }
    });
    columns.into_iter().map(NodeId::from_index).collect()
}
