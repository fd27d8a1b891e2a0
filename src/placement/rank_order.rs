//! What ROMIO does: domain d belongs to the d-th aggregator of the list.

use super::{Assignment, Chosen, Inside, Problem};

/// The order of the aggregators' list.
pub(super) struct RankOrder;

impl Assignment for RankOrder {
    /// The nodes of the list's first entries.
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        let nodes = problem.candidates.list_nodes[..problem.matrix.domains()].to_vec();
        Chosen::one_each(nodes, problem.matrix.nodes())
    }

    /// The first allowed ranks. The list holds each node's ranks in ascending order, so that a node's k-th domain meets
    /// the k-th of its ranks, as in the list.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        inside.allowed[..inside.units()].to_vec()
    }
}
