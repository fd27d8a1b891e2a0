//! The simulation.

use super::client::Rank;
use super::event::{Event, Events};
use super::outcome::{JobOutcome, Outcome, Served};
use super::scenario::Scenario;
use crate::sharing::{Controller, JobTable, Nanos, Next, Request, ServerId};
use std::rc::Rc;

/// Simulates until the last request has been served.
///
/// Panics, naming what is wrong, for a scenario without servers, with a load that uses none or asks for
/// nothing, with two loads of one job, or with a lambda of 0.
pub fn run(scenario: &Scenario) -> Outcome {
    scenario.check();
    let mut simulation = Simulation::new(scenario);
    while let Some((now, event)) = simulation.events.next() {
        simulation.happen(now, event);
    }
    Outcome { jobs: simulation.jobs }
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    events: Events,
    ranks: Vec<Rank>,
    servers: Vec<Station>,
    jobs: Vec<JobOutcome>,
    /// Ranks that will still issue, or wait for an answer: when there are none, servers stop talking.
    alive: usize,
}

/// A server, and what it is doing.
struct Station {
    controller: Controller,
    /// The request that it works on.
    working: Option<Request>,
    /// When it will look again, if it was told to wait.
    looks_at: Option<Nanos>,
}

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario) -> Simulation<'a> {
        let station = |server: usize| {
            let dispatcher = scenario.discipline.build(&scenario.setup(server));
            let (policy, silence) = (scenario.policy.clone(), scenario.exchange.silence_ns_max);
            let controller = Controller::new(ServerId(server as u32), 1, policy, dispatcher, silence);
            Station { controller, working: None, looks_at: None }
        };
        let mut simulation = Simulation {
            scenario,
            events: Events::default(),
            ranks: Rank::all(scenario),
            servers: (0..scenario.servers.len()).map(station).collect(),
            jobs: scenario
                .loads
                .iter()
                .map(|load| JobOutcome { job: load.job.id, served: Vec::new() })
                .collect(),
            alive: 0,
        };
        for rank in 0..simulation.ranks.len() {
            let load = &scenario.loads[simulation.ranks[rank].load];
            if load.start < load.end {
                simulation.alive += 1;
                simulation.events.add(load.start, Event::Issue { rank });
            }
        }
        simulation.events.add(scenario.exchange.lambda_ns, Event::Exchange);
        simulation
    }

    fn happen(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Issue { rank } => self.issue(rank, now),
            Event::Finish { server } => self.finish(server, now),
            Event::Look { server } => {
                if self.servers[server].looks_at == Some(now) {
                    self.servers[server].looks_at = None;
                    self.look(server, now);
                }
            }
            Event::Exchange => self.exchange(now),
            Event::Deliver { server, table } => self.servers[server].controller.merge(&table),
        }
    }

    fn issue(&mut self, at: usize, now: Nanos) {
        let rank = &mut self.ranks[at];
        let load = &self.scenario.loads[rank.load];
        rank.issue(load, now);
        let (server, cost) = (rank.server, self.scenario.servers[rank.server].tariff().cost(rank.bytes));
        let request = Request { job: load.job.id, ticket: at as u64, cost };
        self.servers[server].controller.request(&load.job, request, now);
        self.look(server, now);
    }

    /// A server that is free takes the next request, if it may.
    fn look(&mut self, server: usize, now: Nanos) {
        let station = &mut self.servers[server];
        if station.working.is_some() {
            return;
        }
        match station.controller.next(now) {
            Next::Idle => station.looks_at = None,
            Next::Serve(request) => {
                station.working = Some(request);
                station.looks_at = None;
                let bytes = self.ranks[request.ticket as usize].bytes;
                let done = now + self.scenario.servers[server].service_ns(bytes);
                self.events.add(done, Event::Finish { server });
            }
            Next::Wait(until) => {
                assert!(until > now, "a dispatcher waits for a later time");
                if station.looks_at != Some(until) {
                    station.looks_at = Some(until);
                    self.events.add(until, Event::Look { server });
                }
            }
        }
    }

    fn finish(&mut self, server: usize, now: Nanos) {
        let request = self.servers[server].working.take().expect("a server finishes what it works on");
        let at = request.ticket as usize;
        let rank = &self.ranks[at];
        let load = &self.scenario.loads[rank.load];
        let served =
            Served { server, issued: rank.issued, finished: now, bytes: rank.bytes, cost: request.cost };
        self.jobs[rank.load].served.push(served);
        let again = now + load.think_ns;
        if again < load.end {
            self.events.add(again, Event::Issue { rank: at });
        } else {
            self.alive -= 1;
        }
        self.look(server, now);
    }

    fn exchange(&mut self, now: Nanos) {
        self.servers.iter_mut().for_each(|station| station.controller.expire(now));
        let tables: Vec<Rc<JobTable>> =
            self.servers.iter().map(|station| Rc::new(station.controller.table().clone())).collect();
        for (from, table) in tables.iter().enumerate() {
            for server in (0..self.servers.len()).filter(|&to| to != from) {
                let deliver = Event::Deliver { server, table: Rc::clone(table) };
                self.events.add(now + self.scenario.exchange.delay_ns, deliver);
            }
        }
        if self.alive > 0 {
            self.events.add(now + self.scenario.exchange.lambda_ns, Event::Exchange);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{Access, Load, Server};
    use super::*;
    use crate::sharing::testing::Random;
    use crate::sharing::{Discipline, Job, SECOND};

    fn load(id: u64, ranks: u32, bytes: u64, think_ns: Nanos) -> Load {
        let cycle = vec![Access { bytes }];
        Load { job: Job::new(id, 0, 0), ranks, servers: vec![0], cycle, think_ns, start: 0, end: SECOND }
    }

    fn scenario(loads: Vec<Load>) -> Scenario {
        let server = Server { bytes_per_second: 1_000_000_000, operation_ns: 1_000 };
        Scenario::new("job-fair".parse().unwrap(), vec![server], loads)
    }

    #[test]
    fn a_rank_alone_is_served_at_once_as_worked_by_hand() {
        // 9 us of bytes and 1 us of operation, then 40 us of thinking: 20,000 requests a second.
        let outcome = run(&scenario(vec![load(1, 1, 9_000, 40_000)]));
        let served = &outcome.jobs[0].served;
        assert_eq!(served.len(), 20_000);
        assert_eq!((served[7].issued, served[7].finished), (350_000, 360_000));
        assert!(served.iter().all(|served| served.finished - served.issued == 10_000));
    }

    #[test]
    fn partial_load_is_served_as_without_sharing() {
        // Half of what the server can do is asked for: whoever asks is served, whatever its share.
        let loads = vec![load(1, 1, 9_000, 30_000), load(2, 1, 9_000, 30_000).clone()];
        for discipline in [Discipline::Fifo, Discipline::Tokens, Discipline::Stride] {
            let outcome = run(&scenario(loads.clone()).with(discipline));
            for job in &outcome.jobs {
                assert!(job.served.len() >= 24_990, "{discipline}: {}", job.served.len());
            }
        }
    }

    #[test]
    fn the_server_works_on_one_request_at_a_time_and_every_run_is_alike() {
        for discipline in Discipline::ALL {
            let loads = vec![load(1, 5, 100_000, 7), load(2, 3, 0, 0), load(3, 20, 5_000_000, 1_000)];
            check(&scenario(loads).with(discipline), &format!("{discipline}"));
        }
    }

    #[test]
    fn the_same_in_random_scenarios_of_several_servers() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let servers = 1 + random.index(3);
            let mut loads = Vec::new();
            for id in 0..1 + random.index(4) {
                let bytes = [0, 4_096, 1_000_000, 20_000_000][random.index(4)];
                let think = [0, 1_000, 5_000_000][random.index(3)];
                let mut load = load(id as u64, 1 + random.index(9) as u32, bytes, think);
                load.job = load.job.with_nodes(1 + random.index(4) as u32);
                load.cycle.push(Access { bytes: random.next() % 1_000_000 });
                load.servers = (0..servers).filter(|_| random.index(2) == 0).collect();
                if load.servers.is_empty() {
                    load.servers.push(random.index(servers));
                }
                (load.start, load.end) = (random.next() % (SECOND / 4), random.next() % SECOND);
                loads.push(load);
            }
            let mut scenario = scenario(loads);
            scenario.servers = vec![scenario.servers[0]; servers];
            scenario.policy = ["job-fair", "size-fair", "user-size-fair"][random.index(3)].parse().unwrap();
            scenario.exchange.lambda_ns = 1 + random.next() % (SECOND / 10);
            scenario.exchange.delay_ns = random.next() % (SECOND / 20);
            scenario.exchange.silence_ns_max = random.next() % (SECOND / 10);
            for discipline in Discipline::ALL {
                check(&scenario.with(discipline), &format!("seed {seed} {discipline}"));
            }
        }
    }

    /// Runs twice with one outcome; servers do one thing at a time; every rank is answered until it ends.
    fn check(scenario: &Scenario, replay: &str) {
        let outcome = run(scenario);
        assert_eq!(outcome, run(scenario), "{replay}");
        for (at, server) in scenario.servers.iter().enumerate() {
            let mut times: Vec<(Nanos, Nanos)> = Vec::new();
            for served in outcome.jobs.iter().flat_map(|job| &job.served).filter(|served| served.server == at)
            {
                let work = server.service_ns(served.bytes);
                assert!(served.issued + work <= served.finished, "{replay}");
                times.push((served.finished - work, served.finished));
            }
            times.sort_unstable();
            assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{replay}");
        }
        for (load, job) in scenario.loads.iter().zip(&outcome.jobs) {
            let last_answers = job.served.iter().filter(|served| served.finished + load.think_ns >= load.end);
            let ranks = if load.start < load.end { load.ranks as usize } else { 0 };
            assert_eq!(last_answers.count(), ranks, "{replay} job {}", job.job);
        }
    }
}
