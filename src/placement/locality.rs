//! Locality-aware two-phase I/O (LATP): the assignment that leaves the most bytes where they are, whatever
//! way the rest has to go.

use super::{Assignment, Chosen, Inside, Problem, lap};
use crate::units::NodeId;

/// The most bytes held.
pub(super) struct Locality;

impl Assignment for Locality {
    /// The nodes that hold the most bytes of their domains, over all domains together.
    fn nodes(&self, problem: &Problem<'_>) -> Chosen {
        let matrix = problem.matrix;
        let columns = most_held(matrix.domains(), &problem.candidates.slots, |domain, node| {
            matrix.bytes(NodeId::from_index(node), domain)
        });
        Chosen::one_each(columns.into_iter().map(NodeId::from_index).collect(), matrix.nodes())
    }

    /// The ranks that hold the most bytes of their domains, over all domains together.
    fn ranks(&self, inside: &Inside<'_>) -> Vec<usize> {
        let Inside { rows, allowed, .. } = inside;
        let columns = most_held(inside.units(), &vec![1; allowed.len()], |domain, column| {
            rows[allowed[column]][domain]
        });
        columns.into_iter().map(|column| allowed[column]).collect()
    }
}

fn most_held(domains: usize, capacity: &[u32], held: impl Fn(usize, usize) -> u64) -> Vec<usize> {
    // The most bytes held is the fewest bytes lacking, of as many as can be.
    lap::minimise(domains, capacity, |domain, costs| {
        for (column, cost) in costs.iter_mut().enumerate() {
            *cost = u128::from(u64::MAX - held(domain, column));
        }
    })
}
