//! From the shares of all jobs to weights on one server: lambda-delayed global fairness (ThemisIO, section
//! 3.1).

use super::fraction::Fraction;
use super::job::{Job, JobId};
use super::policy::Policy;
use super::shares::shares;
use super::table::{JobTable, ServerId};
use super::tree::Tree;
use std::collections::BTreeMap;

/// The shares of all jobs of all servers, of all that the servers can do together. Panics as [`shares`] does.
pub fn global_shares(policy: &Policy, table: &JobTable) -> BTreeMap<JobId, Fraction> {
    shares(policy, &table.jobs())
}

/// The tree of the jobs that `server` has, such that serving by it on every server serves each job what it
/// should have of all of them, as far as the servers that it uses allow.
///
/// A job on few servers needs more of each than one on many. When every server has all jobs, weights are the
/// policy's. Otherwise the table of what each job gets of each server is found by proportional fitting
/// (Deming and Stephan 1940): rows are scaled to the jobs' shares and columns to the servers' capacities, in
/// turn, until rows hardly change; where the shares cannot all be had, because a server has too few jobs,
/// columns prevail: no server idles.
///
/// Servers count as equally fast. Every server finds the same from the same table: integers, in a fixed
/// order.
pub fn local_tree(policy: &Policy, table: &JobTable, server: ServerId) -> Tree {
    let global = table.jobs();
    let local: Vec<Job> = {
        let present: BTreeMap<JobId, ()> = table.jobs_of(server).map(|job| (job.id, ())).collect();
        global.iter().filter(|job| present.contains_key(&job.id)).cloned().collect()
    };
    if table.all_everywhere() {
        return Tree::new(policy, &local);
    }
    let weights = fit(policy, table, &global).remove(&server).unwrap_or_default();
    Tree::weighted(policy, &local, &weights)
}

/// One server, as a share of it; fine enough for a million jobs, and its square times the square of 2^16
/// servers fits.
const WHOLE: u128 = 1 << 47;

/// How often rows and columns are scaled at most, and how near rows must be to stop before: one part in so
/// many.
const ROUNDS_MAX: usize = 64;
const NEAR: u128 = 4096;

/// What each job should have of each server that it uses.
fn fit(policy: &Policy, table: &JobTable, jobs: &[Job]) -> BTreeMap<ServerId, BTreeMap<JobId, u64>> {
    let columns: Vec<(ServerId, Vec<JobId>)> = table
        .servers()
        .map(|(server, snapshot)| (server, snapshot.jobs().map(|job| job.id).collect::<Vec<_>>()))
        .filter(|(_, jobs)| !jobs.is_empty())
        .collect();
    let row_of: BTreeMap<JobId, usize> = jobs.iter().map(|job| job.id).zip(0..).collect();
    let share = parts(policy, jobs);
    let target: Vec<u128> = jobs.iter().map(|job| share[&job.id] * columns.len() as u128).collect();
    // By column: (row, what the job has of the server).
    let mut cells: Vec<Vec<(usize, u128)>> =
        columns.iter().map(|(_, jobs)| jobs.iter().map(|job| (row_of[job], WHOLE)).collect()).collect();
    for _ in 0..ROUNDS_MAX {
        let mut row = vec![0; jobs.len()];
        cells.iter().flatten().for_each(|&(at, cell)| row[at] += cell);
        cells.iter_mut().flatten().for_each(|(at, cell)| *cell = (*cell * target[*at] / row[*at]).max(1));
        for column in &mut cells {
            let whole: u128 = column.iter().map(|&(_, cell)| cell).sum();
            column.iter_mut().for_each(|(_, cell)| *cell = (*cell * WHOLE / whole).max(1));
        }
        let mut row = vec![0; jobs.len()];
        cells.iter().flatten().for_each(|&(at, cell)| row[at] += cell);
        if row.iter().zip(&target).all(|(row, target)| row.abs_diff(*target) <= target / NEAR) {
            break;
        }
    }
    let weight = |cell: u128| u64::try_from(cell).expect("a cell is at most about one server");
    let column = |((server, _), cells): ((ServerId, _), Vec<(usize, u128)>)| {
        (server, cells.into_iter().map(|(row, cell)| (jobs[row].id, weight(cell))).collect())
    };
    columns.into_iter().zip(cells).map(column).collect()
}

/// The shares as parts of `WHOLE`, rounded down but never 0: unlike fractions they always fit.
fn parts(policy: &Policy, jobs: &[Job]) -> BTreeMap<JobId, u128> {
    let tree = Tree::new(policy, jobs);
    let mut part = vec![WHOLE; tree.nodes.len()];
    for parent in 0..tree.nodes.len() {
        let children = tree.nodes[parent].children.clone();
        let whole: u128 = children.clone().map(|child| u128::from(tree.nodes[child].weight)).sum();
        for child in children {
            part[child] = (part[parent] * u128::from(tree.nodes[child].weight) / whole).max(1);
        }
    }
    tree.nodes.iter().zip(part).filter_map(|(node, part)| Some((node.job?, part))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, random_jobs, random_policy};
    use super::*;

    fn exchanged(of: &[&[&Job]]) -> JobTable {
        let mut table = JobTable::default();
        for (server, jobs) in (0..).map(ServerId).zip(of) {
            for job in jobs.iter() {
                table.enter(server, job);
            }
        }
        table
    }

    fn near(found: &BTreeMap<JobId, f64>, expected: &[(u64, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for &(job, part) in expected {
            assert!((found[&JobId(job)] - part).abs() < 1e-3, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn figure_5() {
        let size_fair: Policy = "size-fair".parse().unwrap();
        let [one, two, three] =
            [(1, 16), (2, 8), (3, 8)].map(|(id, nodes)| Job::new(id, 0, 0).with_nodes(nodes));
        // Before the exchange each server knows its own jobs: two thirds and one third.
        let before = exchanged(&[&[&one, &two]]);
        let third = |n| Fraction::new(n, 3);
        assert_eq!(
            shares(&size_fair, &before.jobs()),
            BTreeMap::from([(JobId(1), third(2)), (JobId(2), third(1))])
        );
        near(&local_tree(&size_fair, &before, ServerId(0)).parts(), &[(1, 2.0 / 3.0), (2, 1.0 / 3.0)]);
        // After it: 1/2, 1/4, 1/4 of the whole, which is one half of its server for each of jobs 2 and 3.
        let after = exchanged(&[&[&one, &two], &[&one, &three]]);
        let global: Vec<Fraction> = global_shares(&size_fair, &after).into_values().collect();
        assert_eq!(global, [Fraction::new(1, 2), Fraction::new(1, 4), Fraction::new(1, 4)]);
        near(&local_tree(&size_fair, &after, ServerId(0)).parts(), &[(1, 0.5), (2, 0.5)]);
        near(&local_tree(&size_fair, &after, ServerId(1)).parts(), &[(1, 0.5), (3, 0.5)]);
    }

    #[test]
    fn a_job_on_one_server_makes_up_for_it_there() {
        let job_fair: Policy = "job-fair".parse().unwrap();
        let [one, two, three] = [1, 2, 3].map(|id| Job::new(id, 0, 0));
        // Each should have a third of three servers. Job 1 has server 0 alone to have it from.
        let table = exchanged(&[&[&one, &two], &[&two, &three], &[&two, &three]]);
        let parts: Vec<BTreeMap<JobId, f64>> =
            (0..3).map(|server| local_tree(&job_fair, &table, ServerId(server)).parts()).collect();
        assert!(parts[0][&JobId(1)] > 0.97, "{parts:?}");
        assert!((parts[1][&JobId(2)] - 0.5).abs() < 0.02, "{parts:?}");
        // What cannot be had: two jobs on server 0, one on server 1. Nobody idles.
        let table = exchanged(&[&[&one, &two], &[&three]]);
        near(&local_tree(&job_fair, &table, ServerId(0)).parts(), &[(1, 0.5), (2, 0.5)]);
        near(&local_tree(&job_fair, &table, ServerId(1)).parts(), &[(3, 1.0)]);
    }

    #[test]
    fn with_all_jobs_everywhere_the_policy_is_exact() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (policy, jobs) = (random_policy(&mut random), random_jobs(&mut random, 8));
            let jobs: Vec<&Job> = jobs.iter().collect();
            let table = exchanged(&[&jobs, &[], &jobs]);
            let owned: Vec<Job> = jobs.into_iter().cloned().collect();
            assert_eq!(local_tree(&policy, &table, ServerId(2)), Tree::new(&policy, &owned), "seed {seed}");
        }
    }

    /// Where some division of the servers gives every job its share, that is what is found.
    #[test]
    fn shares_that_can_be_had_are_had() {
        let size_fair: Policy = "size-fair".parse().unwrap();
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let (servers, count) = (1 + random.index(4), 1 + random.index(6));
            // A division of servers of 60 each; a job's size is what it has of all.
            let mut have = vec![vec![0; servers]; count];
            for cell in (0..servers).flat_map(|server| [server; 60]) {
                have[random.index(count)][cell] += 1;
            }
            let jobs: Vec<Job> = have
                .iter()
                .zip(0..)
                .map(|(row, id)| Job::new(id, 0, 0).with_nodes(row.iter().sum::<u32>().max(1)))
                .collect();
            let mut table = JobTable::default();
            for server in 0..servers {
                for (job, _) in jobs.iter().zip(&have).filter(|(_, row)| row[server] > 0) {
                    table.enter(ServerId(server as u32), job);
                }
            }
            let mut had: BTreeMap<JobId, f64> = BTreeMap::new();
            for server in 0..servers {
                for (job, part) in local_tree(&size_fair, &table, ServerId(server as u32)).parts() {
                    *had.entry(job).or_default() += part / servers as f64;
                }
            }
            for (job, share) in global_shares(&size_fair, &table) {
                assert!((had[&job] / share.as_f64() - 1.0).abs() < 0.01, "seed {seed} job {job}: {had:?}");
            }
        }
    }
}
