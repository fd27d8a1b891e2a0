//! Shares as the product of transition matrices (ThemisIO, section 3, equation 1).

use super::fraction::Fraction;
use super::job::{Job, JobId};
use super::policy::Policy;
use super::tree::Tree;
use std::collections::BTreeMap;
use std::ops::Mul;

/// A transition matrix: how each entity of one level (a row) divides what it has among those of the next
/// (columns).
///
/// A row sums to 1, and a column has one entry that is not 0, so that the matrix is a row and a share a
/// column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    rows: usize,
    columns: Vec<(usize, Fraction)>,
}

impl Transition {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// An entry. Panics past the last column.
    pub fn entry(&self, row: usize, column: usize) -> Fraction {
        let (parent, share) = self.columns[column];
        if parent == row { share } else { Fraction::ZERO }
    }
}

impl Mul<&Transition> for &Transition {
    type Output = Transition;

    /// The product. Panics unless the left one has as many columns as the right one has rows, and for entries
    /// that need more than 128 bits.
    fn mul(self, next: &Transition) -> Transition {
        assert_eq!(self.columns.len(), next.rows, "columns of the left are rows of the right");
        let through = |&(middle, share): &(usize, Fraction)| {
            let (row, before) = self.columns[middle];
            (row, before * share)
        };
        Transition { rows: self.rows, columns: next.columns.iter().map(through).collect() }
    }
}

/// The matrices of a policy over these jobs, outermost level first; the columns of the last are the jobs in
/// the order of [`Tree::jobs`]. Jobs that are not passed do not count: pass those with work for opportunity
/// fairness.
pub fn transitions(policy: &Policy, jobs: &[Job]) -> Vec<Transition> {
    let tree = Tree::new(policy, jobs);
    let mut first_row = 0;
    let mut matrices = Vec::new();
    for level in tree.levels() {
        let share = |node: usize| {
            let parent = tree.nodes[node].parent;
            let siblings = tree.nodes[parent].children.clone();
            let whole: u128 = siblings.map(|sibling| u128::from(tree.nodes[sibling].weight)).sum();
            (parent - first_row, Fraction::new(tree.nodes[node].weight.into(), whole))
        };
        matrices
            .push(Transition { rows: level.start - first_row, columns: level.clone().map(share).collect() });
        first_row = level.start;
    }
    matrices
}

/// The share of each of these jobs: the product of the transition matrices. Shares sum to 1, and none is 0.
///
/// Panics when two jobs have one number, and for a share that needs more than 128 bits (its denominator is
/// the product of the sums of weights at each level; [`Tree`] has no such limit).
pub fn shares(policy: &Policy, jobs: &[Job]) -> BTreeMap<JobId, Fraction> {
    let product = transitions(policy, jobs).into_iter().reduce(|product, next| &product * &next);
    let columns = product.map_or_else(Vec::new, |product| product.columns);
    Tree::new(policy, jobs).jobs().zip(columns).map(|(job, (_, share))| (job, share)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, random_jobs, random_policy, shares_by_definition};
    use super::*;

    fn f(numerator: u128, denominator: u128) -> Fraction {
        Fraction::new(numerator, denominator)
    }

    fn of(policy: &str, jobs: &[Job]) -> Vec<Fraction> {
        shares(&policy.parse().unwrap(), jobs).into_values().collect()
    }

    /// The job, user and group numbers and sizes of figure 11.
    fn figure11() -> Vec<Job> {
        [
            (1, 1, 1, 1),
            (2, 2, 2, 2),
            (3, 2, 2, 3),
            (4, 2, 2, 2),
            (5, 3, 2, 3),
            (6, 3, 2, 2),
            (7, 4, 2, 1),
            (8, 4, 2, 2),
        ]
        .map(|(id, user, group, nodes)| Job::new(id, user, group).with_nodes(nodes))
        .to_vec()
    }

    #[test]
    fn figure_11() {
        let expected = [f(1, 2), f(1, 21), f(1, 14), f(1, 21), f(1, 10), f(1, 15), f(1, 18), f(1, 9)];
        assert_eq!(of("group-user-size-fair", &figure11()), expected);
    }

    #[test]
    fn figures_3_and_4() {
        let job = |id, user| Job::new(id, user, 0);
        let jobs = [job(1, 1), job(2, 1), job(3, 2), job(4, 2), job(5, 2), job(6, 2)];
        let policy = "user-then-job-fair".parse().unwrap();
        let matrices = transitions(&policy, &jobs);
        assert_eq!(matrices.len(), 2);
        assert_eq!((matrices[0].rows(), matrices[0].columns()), (1, 2));
        assert_eq!((matrices[1].rows(), matrices[1].columns()), (2, 6));
        let row = |row| (0..6).map(|column| matrices[1].entry(row, column)).collect::<Vec<_>>();
        assert_eq!(row(0), [f(1, 2), f(1, 2), f(0, 1), f(0, 1), f(0, 1), f(0, 1)]);
        assert_eq!(row(1), [f(0, 1), f(0, 1), f(1, 4), f(1, 4), f(1, 4), f(1, 4)]);
        assert_eq!(of("user-job", &jobs), [f(1, 4), f(1, 4), f(1, 8), f(1, 8), f(1, 8), f(1, 8)]);
    }

    #[test]
    fn primitive_policies() {
        let jobs = [
            Job::new(1, 1, 1).with_nodes(4).with_priority(1),
            Job::new(2, 1, 1).with_nodes(1).with_priority(1),
            Job::new(3, 2, 1).with_nodes(5).with_priority(8),
        ];
        assert_eq!(of("size-fair", &jobs), [f(2, 5), f(1, 10), f(1, 2)]);
        assert_eq!(of("job-fair", &jobs), [f(1, 3); 3]);
        assert_eq!(of("user-fair", &jobs), [f(1, 4), f(1, 4), f(1, 2)]);
        assert_eq!(of("group-fair", &jobs), [f(1, 3); 3]);
        assert_eq!(of("priority-fair", &jobs), [f(1, 10), f(1, 10), f(4, 5)]);
        // As a class, the two jobs of priority 1 have one ninth between them.
        assert_eq!(of("priority-size-fair", &jobs), [f(4, 45), f(1, 45), f(8, 9)]);
        assert_eq!(of("size-fair", &[]), []);
    }

    #[test]
    fn an_idle_jobs_part_stays_with_its_user_and_a_users_with_its_group() {
        let all = figure11();
        let without = |idle: &[u64]| -> Vec<Job> {
            all.iter().filter(|job| !idle.contains(&job.id.0)).cloned().collect()
        };
        // Job 3 idle: jobs 2 and 4 divide the sixth of user 2, nobody else has more.
        let expected = [f(1, 2), f(1, 12), f(1, 12), f(1, 10), f(1, 15), f(1, 18), f(1, 9)];
        assert_eq!(of("group-user-size", &without(&[3])), expected);
        // User 4 idle: users 2 and 3 have a quarter each.
        let expected = [f(1, 2), f(1, 14), f(3, 28), f(1, 14), f(3, 20), f(1, 10)];
        assert_eq!(of("group-user-size", &without(&[7, 8])), expected);
    }

    #[test]
    fn shares_are_those_of_the_definition_and_sum_to_one() {
        for seed in 0..4000 {
            let mut random = Random::new(seed);
            let policy = random_policy(&mut random);
            let jobs = random_jobs(&mut random, 9);
            let found = shares(&policy, &jobs);
            assert_eq!(found, shares_by_definition(&policy, &jobs), "seed {seed} {policy}");
            assert!(found.values().all(|share| share.numerator() > 0), "seed {seed} {policy}");
            let whole: Fraction = found.into_values().sum();
            assert_eq!(whole, if jobs.is_empty() { Fraction::ZERO } else { Fraction::ONE }, "seed {seed}");
        }
    }
}
