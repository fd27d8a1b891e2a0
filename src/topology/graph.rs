//! Hosts, switches and the cables between them, as a file or a command describes them, and what that says of the hosts
//! of a job.
//!
//! A host of the job matches a name that is equal, or else the only name that is equal up to its first dot: `node1` and
//! `node1.cluster` are one host. Numeric addresses match only as a whole.
//!
//! What the description leaves open is never a reason for an error. **Two hosts that it joins by no path and no
//! distance** are one hop farther apart than the farthest pair of the job that it does join: a cable that was forgotten
//! must not make a node look near. **Hosts that it does not name** are one hop from each other, since nothing tells them
//! apart, and so are all hosts when it names none; from those that it names they are as far as unjoined hosts are. Both
//! cases come with a warning that names hosts.

use super::network::{Network, Ties};
use super::{NodeMap, Topology};
use crate::units::Rate;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A described network. Vertices have numbers, given out in the order in which they are first named.
#[derive(Clone, Debug)]
pub struct Graph {
    /// What it was read from, for messages: `topology file racks`.
    origin: String,
    /// The numbers of all names; several may lead to one vertex.
    numbers: BTreeMap<String, usize>,
    /// The first name of each vertex.
    names: Vec<String>,
    /// The neighbours of each vertex and the cables to them, each neighbour once.
    cables: Vec<BTreeMap<usize, Cable>>,
    /// Hops by pair, the smaller number first, and the line that said so.
    distances: BTreeMap<(usize, usize), (u32, usize)>,
    /// By vertex: whether paths may end there only. Vertices beyond its length are ordinary.
    terminal: Vec<bool>,
    /// By switch: the neighbour to which it forwards what goes to a host. Empty when nothing is known of routes.
    forwards: Vec<BTreeMap<usize, usize>>,
}

/// A cable, which serves both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// At least 1.
    pub hops: u32,
    /// In each direction.
    pub rate: Rate,
}

/// How many hosts a warning names.
const NAMED_MAX: usize = 3;

/// What is known of a node of the job. Nodes that compare equal have the same distances to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seat {
    Unnamed,
    /// The vertex itself.
    At(usize),
    /// A host whose only cable leads to `switch`.
    Below {
        switch: usize,
        hops: u32,
    },
}

impl Graph {
    /// Nothing yet. `origin` begins the warnings: `topology file racks`.
    pub fn new(origin: &str) -> Graph {
        Graph {
            origin: origin.to_string(),
            numbers: BTreeMap::new(),
            names: Vec::new(),
            cables: Vec::new(),
            distances: BTreeMap::new(),
            terminal: Vec::new(),
            forwards: Vec::new(),
        }
    }

    /// The vertex of a name; a new one for a new name.
    pub fn vertex(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_string());
        self.cables.push(BTreeMap::new());
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The vertex of a name that is known.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A further name of a vertex. False, and nothing happens, when the name is another vertex's already.
    pub fn alias(&mut self, vertex: usize, name: &str) -> bool {
        *self.numbers.entry(name.to_string()).or_insert(vertex) == vertex
    }

    /// Says that a vertex passes nothing on: a host with two cables is then no way between their switches.
    pub fn set_terminal(&mut self, vertex: usize) {
        self.terminal.resize(self.names.len(), false);
        self.terminal[vertex] = true;
    }

    fn is_terminal(&self, vertex: usize) -> bool {
        self.terminal.get(vertex).copied().unwrap_or(false)
    }

    /// Joins two vertices. Of several cables between them the shortest count, and those carry their rates together.
    /// Panics when both are one vertex, or none of the graph.
    pub fn link(&mut self, a: usize, b: usize, cable: Cable) {
        assert_ne!(a, b, "a cable joins two vertices");
        for (from, to) in [(a, b), (b, a)] {
            let known = self.cables[from].entry(to).or_insert(Cable { hops: cable.hops, rate: Rate(0) });
            if cable.hops < known.hops {
                *known = cable;
            } else if cable.hops == known.hops {
                known.rate = Rate(known.rate.0.saturating_add(cable.rate.0));
            }
        }
    }

    /// Says how far two vertices are from each other, whatever the cables say. Errors with the line that said so
    /// before.
    pub fn set_distance(&mut self, a: usize, b: usize, hops: u32, line: usize) -> Result<(), usize> {
        match self.distances.insert((a.min(b), a.max(b)), (hops, line)) {
            Some((_, before)) => Err(before),
            None => Ok(()),
        }
    }

    /// Says that `switch` forwards to its neighbour `next` what goes to `host`. From the first such word on, distances
    /// are those of the routes where they lead to the end, and of the shortest paths elsewhere.
    pub fn forward(&mut self, switch: usize, host: usize, next: usize) {
        self.forwards.resize(self.names.len(), BTreeMap::new());
        self.forwards[switch].insert(host, next);
    }

    /// The distances between the job's nodes and the network that joins them, and warnings for people. Two nodes of
    /// one host are one hop apart.
    pub fn topology(&self, nodes: &NodeMap) -> (Topology, Vec<String>) {
        let seats = self.seats(nodes);
        let mut members: BTreeMap<Seat, Vec<&str>> = BTreeMap::new();
        for (node, &seat) in nodes.nodes().zip(&seats) {
            members.entry(seat).or_default().push(nodes.host(node));
        }
        let joined = self.joined(&members);
        // The farthest pair of different nodes: a seat with one node has no pair of its own.
        let pairs = joined.iter().filter(|((a, b), _)| a != b || members[a].len() > 1);
        let farthest = pairs.map(|(_, &hops)| hops).max().unwrap_or(0);
        let unjoined = farthest.saturating_add(1);
        let network = self.network(nodes);
        let topology = Topology::from_classes(&seats, network, |&a, &b| match (a, b) {
            (Seat::Unnamed, Seat::Unnamed) => 1,
            _ => joined.get(&(a.min(b), a.max(b))).copied().unwrap_or(unjoined),
        });
        let mut warnings = Vec::new();
        warnings.extend(self.warn_unnamed(&members, unjoined));
        warnings.extend(self.warn_unjoined(&members, &joined, unjoined));
        (topology, warnings)
    }

    /// The vertex of each node of the job.
    fn hosts(&self, nodes: &NodeMap) -> Vec<Option<usize>> {
        let mut short_names: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (name, &number) in &self.numbers {
            let only = short_names.entry(short(name)).or_insert(Some(number));
            *only = only.filter(|&known| known == number);
        }
        let find = |host: &str| self.find(host).or_else(|| short_names.get(short(host)).copied().flatten());
        nodes.nodes().map(|node| find(nodes.host(node))).collect()
    }

    fn seats(&self, nodes: &NodeMap) -> Vec<Seat> {
        let hosts = self.hosts(nodes);
        let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
        hosts.iter().flatten().for_each(|&vertex| *uses.entry(vertex).or_default() += 1);
        let mut with_distance = vec![false; self.names.len()];
        for &(a, b) in self.distances.keys() {
            (with_distance[a], with_distance[b]) = (true, true);
        }
        let seat = |vertex: usize| match self.cables[vertex].first_key_value() {
            // A cable between two hosts that have no other is no switch's: each then stays where it is. So does a
            // host that several nodes share, one that a distance sets apart from its neighbours, and any when routes
            // lead to hosts one by one.
            Some((&switch, cable))
                if self.cables[vertex].len() == 1
                    && self.cables[switch].len() > 1
                    && uses[&vertex] == 1
                    && !with_distance[vertex]
                    && self.forwards.is_empty() =>
            {
                Seat::Below { switch, hops: cable.hops }
            }
            _ => Seat::At(vertex),
        };
        hosts.into_iter().map(|vertex| vertex.map_or(Seat::Unnamed, seat)).collect()
    }

    /// The hops between the seats that a distance, a route or a path joins, the smaller seat first; a seat paired with
    /// itself stands for different nodes on it.
    fn joined(&self, members: &BTreeMap<Seat, Vec<&str>>) -> BTreeMap<(Seat, Seat), u16> {
        let mut joined = BTreeMap::new();
        let mut paths: BTreeMap<usize, Vec<Option<u32>>> = BTreeMap::new();
        for &a in members.keys() {
            let Some((from, first)) = a.vertex() else { continue };
            let paths = paths.entry(from).or_insert_with(|| self.paths(from));
            for &b in members.keys().filter(|&&b| b >= a) {
                let Some((to, last)) = b.vertex() else { continue };
                let said = self.distances.get(&(from.min(to), from.max(to)));
                let said =
                    said.filter(|_| matches!((a, b), (Seat::At(_), Seat::At(_)))).map(|&(hops, _)| hops);
                // The two ways of a pair may differ: the longer counts.
                let routed = || Some(self.route(from, to)?.max(self.route(to, from)?)).filter(|_| from != to);
                let path = || paths[to].map(|hops| first.saturating_add(hops).saturating_add(last).max(1));
                if let Some(hops) = said.or_else(routed).or_else(path) {
                    joined.insert((a, b), u16::try_from(hops).unwrap_or(u16::MAX));
                }
            }
        }
        joined
    }

    /// The hops of the shortest path from one vertex to every other, where there is one (Dijkstra).
    fn paths(&self, from: usize) -> Vec<Option<u32>> {
        let mut best = vec![None; self.names.len()];
        let mut queue = BinaryHeap::from([Reverse((0u32, from))]);
        while let Some(Reverse((hops, at))) = queue.pop() {
            if best[at].is_some() {
                continue;
            }
            best[at] = Some(hops);
            if at != from && self.is_terminal(at) {
                continue;
            }
            for (&next, cable) in &self.cables[at] {
                let further = hops.saturating_add(cable.hops);
                if best[next].is_none() && self.cables[next].len() == 1 {
                    best[next] = Some(further); // most hosts: nothing lies behind them
                } else if best[next].is_none() {
                    queue.push(Reverse((further, next)));
                }
            }
        }
        best
    }

    /// The hops of the way that the switches' tables give, when they lead to the end.
    fn route(&self, from: usize, to: usize) -> Option<u32> {
        if self.forwards.is_empty() {
            return None;
        }
        let (mut at, mut hops, mut steps) = (from, 0u32, 0);
        while at != to {
            let next = match self.forwards.get(at).and_then(|table| table.get(&to)) {
                Some(&next) => next,
                // A host has no table: its only cable.
                None if self.cables[at].len() == 1 => *self.cables[at].keys().next()?,
                None => return None,
            };
            hops = hops.saturating_add(self.cables[at].get(&next)?.hops);
            (at, steps) = (next, steps + 1);
            if steps > self.names.len() {
                return None; // the tables lead in a circle
            }
        }
        Some(hops)
    }

    /// The job's hosts and all switches.
    fn network(&self, nodes: &NodeMap) -> Network {
        let hosts = self.hosts(nodes);
        let passes_on = |vertex: usize| self.cables[vertex].len() > 1 && !self.is_terminal(vertex);
        let mut wanted: Vec<bool> = (0..self.names.len()).map(passes_on).collect();
        hosts.iter().flatten().for_each(|&vertex| wanted[vertex] = true);
        let mut network = Network::new(if self.forwards.is_empty() { Ties::Spread } else { Ties::First });
        let vertices: Vec<Option<u32>> = (self.names.iter().zip(&wanted))
            .map(|(name, &wanted)| wanted.then(|| network.vertex(name)))
            .collect();
        let terminals = (0..vertices.len()).filter(|&vertex| self.is_terminal(vertex));
        terminals.filter_map(|vertex| vertices[vertex]).for_each(|vertex| network.set_terminal(vertex));
        for (from, cables) in self.cables.iter().enumerate() {
            for (&to, cable) in cables.range(from + 1..) {
                if let (Some(a), Some(b)) = (vertices[from], vertices[to]) {
                    network.link(a, b, *cable);
                }
            }
        }
        for (switch, table) in self.forwards.iter().enumerate() {
            for (&host, &next) in table {
                if let (Some(at), Some(to), Some(next)) = (vertices[switch], vertices[host], vertices[next]) {
                    network.forward(at, to, next);
                }
            }
        }
        let seats = (nodes.nodes().zip(hosts))
            .map(|(node, vertex)| match vertex.and_then(|vertex| vertices[vertex]) {
                Some(vertex) => vertex,
                None => network.vertex(nodes.host(node)),
            })
            .collect();
        network.seat(seats)
    }

    fn warn_unnamed(&self, members: &BTreeMap<Seat, Vec<&str>>, unjoined: u16) -> Option<String> {
        let hosts = members.get(&Seat::Unnamed)?;
        let rest = match members.len() {
            1 => String::new(),
            _ => format!(" and {unjoined} from the others"),
        };
        Some(format!(
            "{} does not name these hosts of the job: {}; they are taken to be one hop from each other{rest}",
            self.origin,
            few(hosts)
        ))
    }

    fn warn_unjoined(
        &self,
        members: &BTreeMap<Seat, Vec<&str>>,
        joined: &BTreeMap<(Seat, Seat), u16>,
        unjoined: u16,
    ) -> Option<String> {
        let named: Vec<_> = members.iter().filter(|&(&seat, _)| seat != Seat::Unnamed).collect();
        let mut pairs = Vec::new();
        let mut count = 0;
        for (index, &(&a, hosts)) in named.iter().enumerate() {
            for (_, others) in named[index + 1..].iter().filter(|&&(&b, _)| !joined.contains_key(&(a, b))) {
                count += hosts.len() * others.len();
                if pairs.len() < NAMED_MAX {
                    pairs.push(format!("{} and {}", hosts[0], others[0]));
                }
            }
        }
        let more = match count - pairs.len() {
            0 => String::new(),
            more => format!(" ({more} more pairs)"),
        };
        (count > 0).then(|| {
            format!(
                "{} joins these hosts of the job by no path and no distance: {}{more}; \
                 they are taken to be {unjoined} hops apart",
                self.origin,
                pairs.join(", ")
            )
        })
    }
}

impl Seat {
    /// The vertex to start paths from, and the hops to get there.
    fn vertex(self) -> Option<(usize, u32)> {
        match self {
            Seat::Unnamed => None,
            Seat::At(vertex) => Some((vertex, 0)),
            Seat::Below { switch, hops } => Some((switch, hops)),
        }
    }
}

/// A host name without its domain; a numeric address as it is.
fn short(name: &str) -> &str {
    if name.parse::<std::net::IpAddr>().is_ok() { name } else { name.split('.').next().unwrap_or(name) }
}

/// The first few, and how many more there are.
fn few(hosts: &[&str]) -> String {
    let named = hosts.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
