//! What ROMIO does: domain d belongs to the d-th aggregator of the list.

use super::Candidates;
use crate::units::NodeId;

/// The nodes of the list's first entries.
pub(super) fn nodes(domains: usize, candidates: &Candidates) -> Vec<NodeId> {
    candidates.list_nodes[..domains].to_vec()
}

/// The first allowed ranks. The list holds each node's ranks in ascending order, so that a node's k-th domain
/// meets the k-th of its ranks, as in the list.
pub(super) fn ranks(domains: usize, allowed: &[usize]) -> Vec<usize> {
    allowed[..domains].to_vec()
}
