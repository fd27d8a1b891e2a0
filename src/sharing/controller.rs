//! One server's share of the work: it keeps the table, the tree and the dispatcher in step (ThemisIO, section
//! 4.1).

use super::Nanos;
use super::dispatch::{Dispatcher, Next};
use super::global::local_tree;
use super::job::{Job, JobId};
use super::policy::Policy;
use super::request::Request;
use super::table::{JobTable, ServerId};
use super::tree::Tree;
use std::collections::BTreeMap;

/// A server's job monitor, controller and queues. Times that are passed never decrease.
///
/// A job counts from its first request on and until it has been silent for a while with nothing waiting; the
/// others learn of it when [`Controller::table`] is passed to their [`Controller::merge`], every lambda.
pub struct Controller {
    server: ServerId,
    policy: Policy,
    table: JobTable,
    tree: Tree,
    dispatcher: Box<dyn Dispatcher>,
    heard_at: BTreeMap<JobId, Nanos>,
    silence_ns_max: Nanos,
    /// Whether the table has changed since the tree was made. Trees are made before a pick and not at each
    /// change, so that a thousand jobs that arrive together cost one.
    stale: bool,
    /// Requests of jobs that the tree does not have yet.
    newcomers: Vec<Request>,
}

impl Controller {
    /// A server without jobs. `incarnation` as for [`JobTable::new`]; a job that has been silent for longer
    /// than `silence_ns_max` does not count any more.
    pub fn new(
        server: ServerId,
        incarnation: u64,
        policy: Policy,
        dispatcher: Box<dyn Dispatcher>,
        silence_ns_max: Nanos,
    ) -> Controller {
        Controller {
            server,
            policy,
            table: JobTable::new(server, incarnation),
            tree: Tree::default(),
            dispatcher,
            heard_at: BTreeMap::new(),
            silence_ns_max,
            stale: false,
            newcomers: Vec::new(),
        }
    }

    /// A request arrives, with what its job says of itself.
    pub fn request(&mut self, job: &Job, request: Request, now: Nanos) {
        debug_assert_eq!(job.id, request.job, "a request is its job's");
        self.heard_at.insert(job.id, now);
        self.stale |= self.table.enter(self.server, job);
        match self.tree.contains(job.id) {
            true => self.dispatcher.push(request, now),
            false => self.newcomers.push(request),
        }
    }

    /// The server is free: what does it do?
    pub fn next(&mut self, now: Nanos) -> Next {
        self.settle(now);
        self.dispatcher.next(now)
    }

    /// Forgets jobs that have been silent too long and have nothing waiting.
    pub fn expire(&mut self, now: Nanos) {
        self.settle(now);
        let silent = |&(&job, &at): &(&JobId, &Nanos)| {
            now.saturating_sub(at) > self.silence_ns_max && self.dispatcher.pending_of(job) == 0
        };
        let gone: Vec<JobId> = self.heard_at.iter().filter(silent).map(|(&job, _)| job).collect();
        for &job in &gone {
            self.heard_at.remove(&job);
            self.stale |= self.table.leave(self.server, job);
        }
    }

    /// What this server knows, for the others.
    pub fn table(&self) -> &JobTable {
        &self.table
    }

    /// Learns from another server's table.
    pub fn merge(&mut self, other: &JobTable) {
        self.stale |= self.table.merge_into_own(self.server, other);
    }

    /// The weights of the last pick.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How many requests wait.
    pub fn pending(&self) -> usize {
        self.dispatcher.pending() + self.newcomers.len()
    }

    /// Brings the weights up to date, and newcomers into the queues.
    fn settle(&mut self, now: Nanos) {
        if std::mem::take(&mut self.stale) {
            let tree = local_tree(&self.policy, &self.table, self.server);
            if tree != self.tree {
                self.dispatcher.set_shares(&tree);
                self.tree = tree;
            }
        }
        for request in self.newcomers.drain(..) {
            self.dispatcher.push(request, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cost, Discipline, Setup};
    use super::*;

    fn controller(server: u32) -> Controller {
        let stride = Discipline::Stride.build(&Setup::new(1000, 1, 0));
        Controller::new(ServerId(server), 1, "size-fair".parse().unwrap(), stride, 100)
    }

    fn request(controller: &mut Controller, job: &Job, now: Nanos) {
        controller.request(job, Request { job: job.id, ticket: now, cost: Cost(1) }, now);
    }

    #[test]
    fn jobs_come_are_shared_with_others_and_go() {
        let [one, two, three] =
            [(1, 16), (2, 8), (3, 8)].map(|(id, nodes)| Job::new(id, 0, 0).with_nodes(nodes));
        let mut servers = [controller(0), controller(1)];
        request(&mut servers[0], &one, 0);
        request(&mut servers[0], &two, 1);
        request(&mut servers[1], &one, 2);
        request(&mut servers[1], &three, 3);
        let part = |server: &mut Controller| {
            server.settle(4);
            server.tree().parts()[&JobId(1)]
        };
        servers.iter_mut().for_each(|server| assert!((part(server) - 2.0 / 3.0).abs() < 1e-9));

        let tables = servers.each_ref().map(|server| server.table().clone());
        servers.iter_mut().for_each(|server| tables.iter().for_each(|table| server.merge(table)));
        servers.iter_mut().for_each(|server| assert!((part(server) - 0.5).abs() < 1e-3));
        assert_eq!(servers[1].pending(), 2);

        // Silent but waiting: it stays. Served and silent: it goes, and the other server learns of it.
        servers[1].expire(1000);
        assert_eq!(servers[1].table().jobs().len(), 3);
        (0..2).for_each(|_| assert!(matches!(servers[1].next(1000), Next::Serve(_))));
        servers[1].expire(1000);
        assert_eq!(servers[1].next(1000), Next::Idle);
        let table = servers[1].table().clone();
        servers[0].merge(&table);
        assert_eq!(servers[0].table().jobs(), [one, two]);
        assert!((part(&mut servers[0]) - 2.0 / 3.0).abs() < 1e-9);
    }
}
