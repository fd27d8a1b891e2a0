//! The links that messages between the job's nodes cross: what a placement loads, beyond what it costs in hops.
//!
//! Routes are static and follow the destination, as forwarding tables do (and as D-mod-k and dimension order are): every
//! vertex has one next link towards each node. Where nothing is said about routes they are shortest paths; among equally
//! short ones a hash of the destination chooses, alike for all vertices at one distance, so that what goes to one node
//! meets early and different nodes use different links.
//!
//! A link carries its rate in each direction. Directed links have numbers: twice the link's, plus one for the way back.

use super::graph::Cable;
use crate::units::{Bytes, NodeId, Picoseconds, Rate};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A network that joins all nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    links: Vec<Link>,
    /// By vertex: its neighbours and the directed links to them, in the order in which they were joined.
    around: Vec<Vec<(u32, u32)>>,
    /// By vertex: whether it passes nothing on.
    terminal: Vec<bool>,
    /// By node.
    vertex_of: Vec<u32>,
    ties: Ties,
    /// By vertex, where tables are known: the directed link towards a vertex.
    forwards: BTreeMap<(u32, u32), u32>,
}

/// A link between two vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The vertex where its directed link `2 * index` begins.
    pub a: u32,
    /// The vertex where it ends.
    pub b: u32,
    /// What it adds to a path.
    pub hops: u32,
    /// In each direction.
    pub rate: Rate,
}

/// Which of several shortest paths is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The link that was added first: dimension order in a torus.
    First,
    /// By a hash of the destination.
    Spread,
}

/// No link leads on.
const NONE: u32 = u32::MAX;

/// The ways from every vertex to one node.
#[derive(Clone, Debug)]
pub struct Ways {
    to: u32,
    /// By vertex: the directed link to take.
    next: Vec<u32>,
}

impl Network {
    /// No vertex yet.
    pub(super) fn new(ties: Ties) -> Network {
        Network {
            names: Vec::new(),
            numbers: BTreeMap::new(),
            links: Vec::new(),
            around: Vec::new(),
            terminal: Vec::new(),
            vertex_of: Vec::new(),
            ties,
            forwards: BTreeMap::new(),
        }
    }

    /// Nodes on one switch that never gets in their way: what is assumed where only distances are known.
    pub(super) fn crossbar(nodes: usize) -> Network {
        let mut network = Network::new(Ties::First);
        let switch = network.vertex("network");
        let cable = Cable { hops: 1, rate: Rate::DEFAULT };
        let seats = (0..nodes).map(|node| {
            let vertex = network.vertex(&format!("node{node}"));
            network.link(vertex, switch, cable);
            vertex
        });
        let seats = seats.collect();
        network.seat(seats)
    }

    /// The vertex of a name; a new one for a new name.
    pub(super) fn vertex(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("vertices fit 32 bits");
        self.numbers.insert(name.to_string(), number);
        self.names.push(name.to_string());
        self.around.push(Vec::new());
        self.terminal.push(false);
        number
    }

    /// The vertex passes nothing on.
    pub(super) fn set_terminal(&mut self, vertex: u32) {
        self.terminal[vertex as usize] = true;
    }

    pub(super) fn link(&mut self, a: u32, b: u32, cable: Cable) {
        let directed = u32::try_from(2 * self.links.len()).expect("links fit 31 bits");
        self.links.push(Link { a, b, hops: cable.hops, rate: cable.rate });
        self.around[a as usize].push((b, directed));
        self.around[b as usize].push((a, directed + 1));
    }

    /// `at` forwards to its neighbour `next` what goes to `to`.
    pub(super) fn forward(&mut self, at: u32, to: u32, next: u32) {
        if let Some(&(_, link)) = self.around[at as usize].iter().find(|&&(neighbour, _)| neighbour == next) {
            self.forwards.insert((at, to), link);
        }
    }

    /// Puts the nodes on vertices. Vertices that no path joins to the first node's get one over a vertex called `?`, so
    /// that every node can be reached.
    pub(super) fn seat(mut self, vertex_of: Vec<u32>) -> Network {
        self.vertex_of = vertex_of;
        let mut reached = vec![false; self.names.len()];
        let mut unknown = None;
        for index in 0..self.vertex_of.len() {
            let vertex = self.vertex_of[index];
            if reached[vertex as usize] {
                continue;
            }
            if index > 0 {
                let middle = *unknown.get_or_insert_with(|| self.join_unknown());
                self.link(vertex, middle, Cable { hops: 1, rate: Rate::DEFAULT });
            }
            self.flood(vertex, &mut reached);
        }
        self
    }

    /// The vertex `?`, joined to the first node.
    fn join_unknown(&mut self) -> u32 {
        let middle = self.vertex("?");
        self.link(self.vertex_of[0], middle, Cable { hops: 1, rate: Rate::DEFAULT });
        middle
    }

    fn flood(&self, from: u32, reached: &mut Vec<bool>) {
        reached.resize(self.names.len(), false);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let known = std::mem::replace(&mut reached[at as usize], true);
            if !known && (at == from || !self.terminal[at as usize]) {
                open.extend(self.around[at as usize].iter().map(|&(next, _)| next));
            }
        }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.vertex_of.len()
    }

    /// All links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The number of directed links: loads have one entry each.
    pub fn directed(&self) -> usize {
        2 * self.links.len()
    }

    /// The number of vertices: hosts and switches.
    pub fn vertices(&self) -> usize {
        self.names.len()
    }

    /// A vertex's name. Panics out of range.
    pub fn name(&self, vertex: u32) -> &str {
        &self.names[vertex as usize]
    }

    /// The vertex of a node; two nodes may share one. Panics out of range.
    pub fn vertex_of(&self, node: NodeId) -> u32 {
        self.vertex_of[node.index()]
    }

    /// From where to where a directed link leads. Panics out of range.
    pub fn ends(&self, directed: usize) -> (u32, u32) {
        let link = self.links[directed / 2];
        if directed.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
    }

    /// The rate of a directed link. Panics out of range.
    pub fn rate(&self, directed: usize) -> Rate {
        self.links[directed / 2].rate
    }

    /// The time of the most loaded directed link, and which it is (the lowest of equals); `None` when nothing is loaded.
    pub fn busiest(&self, loads: &[u128]) -> Option<(usize, Picoseconds)> {
        let times = loads.iter().enumerate().filter(|&(_, &bytes)| bytes > 0);
        times
            .map(|(link, &bytes)| (link, self.rate(link).time(bytes)))
            .max_by_key(|&(link, time)| (time, Reverse(link)))
    }

    /// The ways of messages to a node, from everywhere.
    pub fn ways_to(&self, node: NodeId) -> Ways {
        let to = self.vertex_of(node);
        let hops = self.hops_to(to);
        let mut next = vec![NONE; self.names.len()];
        for vertex in (0..self.names.len()).filter(|&vertex| hops[vertex] != NONE && vertex != to as usize) {
            let at = u32::try_from(vertex).expect("vertices fit 32 bits");
            let shortest = || {
                let leads = |&&(neighbour, link): &&(u32, u32)| {
                    let rest = hops[neighbour as usize];
                    let passes = neighbour == to || !self.terminal[neighbour as usize];
                    passes && rest != NONE && rest + self.links[link as usize / 2].hops == hops[vertex]
                };
                let ways: Vec<u32> =
                    self.around[vertex].iter().filter(leads).map(|&(_, link)| link).collect();
                match self.ties {
                    Ties::First => ways[0],
                    Ties::Spread => {
                        let choice = mix(u64::from(to) << 32 | u64::from(hops[vertex]));
                        ways[usize::try_from(choice % ways.len() as u64).expect("below a length")]
                    }
                }
            };
            next[vertex] = self.forwards.get(&(at, to)).copied().unwrap_or_else(shortest);
        }
        let mut ways = Ways { to, next };
        if !self.forwards.is_empty() && !ways.all_arrive(self, &hops) {
            // Tables and shortest paths together may lead in a circle: then the tables are of no use here.
            ways = self.without_forwards().ways_to(node);
        }
        ways
    }

    fn without_forwards(&self) -> Network {
        Network { forwards: BTreeMap::new(), ..self.clone() }
    }

    fn hops_to(&self, to: u32) -> Vec<u32> {
        let mut best = vec![NONE; self.names.len()];
        best[to as usize] = 0;
        let mut queue = BinaryHeap::from([Reverse((0u32, to))]);
        while let Some(Reverse((hops, at))) = queue.pop() {
            if hops > best[at as usize] || at != to && self.terminal[at as usize] {
                continue;
            }
            for &(next, link) in &self.around[at as usize] {
                let further = hops.saturating_add(self.links[link as usize / 2].hops);
                if further < best[next as usize] {
                    best[next as usize] = further;
                    queue.push(Reverse((further, next)));
                }
            }
        }
        best
    }
}

impl Ways {
    /// The directed links from a vertex to the node, in order. Panics for a vertex that no path joins.
    pub fn from<'a>(&'a self, network: &'a Network, vertex: u32) -> impl Iterator<Item = usize> + 'a {
        let mut at = vertex;
        std::iter::from_fn(move || {
            if at == self.to {
                return None;
            }
            let link = self.next[at as usize];
            assert_ne!(link, NONE, "vertex {at} is joined to the node");
            at = network.ends(link as usize).1;
            Some(link as usize)
        })
    }

    /// Adds what a node sends this way to the loads, one entry a directed link.
    pub fn load(&self, network: &Network, from: NodeId, bytes: Bytes, loads: &mut [u128]) {
        self.from(network, network.vertex_of(from)).for_each(|link| loads[link] += u128::from(bytes));
    }

    /// Whether following the links ends at the node from every vertex that some path joins to it.
    fn all_arrive(&self, network: &Network, hops: &[u32]) -> bool {
        let starts = (0..hops.len()).filter(|&vertex| hops[vertex] != NONE);
        starts.into_iter().all(|start| {
            let mut at = start;
            for _ in 0..=self.next.len() {
                match self.next[at] {
                    NONE => return at == self.to as usize,
                    link => at = network.ends(link as usize).1 as usize,
                }
            }
            false
        })
    }
}

/// Spreads the bits of a number (the finaliser of splitmix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::{FilesOnly, NodeMap, Topology};
    use super::*;
    use crate::units::Hops;

    fn resolve(spec: &str, nodes: u32) -> Topology {
        Topology::resolve(&spec.parse().unwrap(), &NodeMap::emulated(nodes, 1), &FilesOnly).unwrap().topology
    }

    /// What each node sends each other, over the links of the synthetic networks: as many hops as the closed forms say.
    #[test]
    fn ways_are_as_long_as_distances() {
        for (spec, nodes) in [
            ("tree:4", 4),
            ("tree:2,2,3", 12),
            ("tree:2,1,3@5,0,3", 3),
            ("fat-tree:4", 16),
            ("fat-tree:3,2,4@23,0,1,7,8,15", 6),
            ("torus:5", 5),
            ("torus:2,4,3", 24),
            ("torus:1,1,3", 3),
            ("dragonfly:5,2,2", 20),
            ("dragonfly:9,4,2@0,9,17,33,71,70", 6),
            ("dragonfly:2,1,2", 4),
        ] {
            let topology = resolve(spec, nodes);
            let network = topology.network();
            for to in (0..nodes).map(NodeId) {
                let ways = network.ways_to(to);
                for from in (0..nodes).map(NodeId) {
                    let hops: u32 = (ways.from(network, network.vertex_of(from)))
                        .map(|link| network.links()[link / 2].hops)
                        .sum();
                    assert_eq!(Hops::whole(hops), topology.distance(from, to), "{spec}: {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn loads_add_up_on_shared_links() {
        let topology = resolve("tree:2,2/1gbit,8gbit", 4);
        let network = topology.network();
        let mut loads = vec![0; network.directed()];
        for (from, to, bytes) in [(0, 2, 5), (1, 3, 7), (2, 3, 100), (3, 0, 11)] {
            network.ways_to(NodeId(to)).load(network, NodeId(from), bytes, &mut loads);
        }
        let named = |name: (&str, &str)| {
            let ends = |link: &usize| {
                let (a, b) = network.ends(*link);
                (network.name(a), network.name(b)) == name
            };
            loads[(0..network.directed()).find(ends).unwrap()]
        };
        assert_eq!(named(("switch1.0", "root")), 12);
        assert_eq!(named(("root", "switch1.0")), 11);
        assert_eq!(named(("switch1.1", "node3")), 107);
        assert_eq!(named(("node1", "switch1.0")), 7);
        let (busiest, time) = network.busiest(&loads).unwrap();
        // 12 bytes at 1 Gbit/s take as long as 96 at 8: the node's 107 take longer.
        assert_eq!(network.name(network.ends(busiest).1), "node3");
        assert_eq!(time, Picoseconds(107_000));
        assert_eq!(network.busiest(&[0; 12]), None);
    }

    #[test]
    fn equal_ways_are_shared_out() {
        let topology = resolve("fat-tree:8", 128);
        let network = topology.network();
        let mut loads = vec![0; network.directed()];
        for to in 64..128 {
            network.ways_to(NodeId(to)).load(network, NodeId(to - 64), 1, &mut loads);
        }
        let up =
            (0..network.directed()).filter(|&link| network.name(network.ends(link).1).starts_with("core"));
        let used = up.map(|link| loads[link]).filter(|&bytes| bytes > 0).count();
        assert!(used > 25, "64 messages use {used} of the ways up");
        assert!(network.busiest(&loads).unwrap().1 < Rate::DEFAULT.time(9));
    }

    #[test]
    fn nodes_that_nothing_joins_are_joined() {
        let graph = super::super::file::parse("racks", "link a s\nlink b s\nlink c t\nlink d t").unwrap();
        let nodes = NodeMap::new(
            ["a", "b", "c", "d", "x", "a"]
                .iter()
                .zip(0..)
                .map(|(host, group)| (host.to_string(), group))
                .collect(),
        );
        let (topology, _) = graph.topology(&nodes);
        let network = topology.network();
        for to in 0..6 {
            let ways = network.ways_to(NodeId(to));
            for from in 0..6 {
                let links = ways.from(network, network.vertex_of(NodeId(from))).count();
                assert_eq!(
                    links == 0,
                    from == to || [from, to] == [0, 5] || [from, to] == [5, 0],
                    "{from} to {to}"
                );
            }
        }
    }

    #[test]
    fn nothing_passes_through_a_host_that_passes_nothing_on() {
        // Two switches joined over three others, and by a host with a cable to each.
        let mut graph = super::super::graph::Graph::new("fabric");
        let cable = Cable { hops: 1, rate: Rate::DEFAULT };
        let [a, b, both, s, t, u, v] = ["a", "b", "both", "s", "t", "u", "v"].map(|name| graph.vertex(name));
        for (x, y) in [(a, s), (b, t), (both, s), (both, t), (s, u), (u, v), (v, t)] {
            graph.link(x, y, cable);
        }
        let nodes = NodeMap::new(["a", "b", "both"].map(|host| (host.to_string(), 0)).to_vec());
        for (terminal, expected) in [(false, 4), (true, 5)] {
            if terminal {
                graph.set_terminal(both);
            }
            let (topology, _) = graph.topology(&nodes);
            let network = topology.network();
            let links =
                |from, to| network.ways_to(NodeId(to)).from(network, network.vertex_of(NodeId(from))).count();
            assert_eq!(topology.distance(NodeId(0), NodeId(1)), Hops::whole(expected), "{terminal}");
            assert_eq!((links(0, 1), links(1, 0)), (expected as usize, expected as usize), "{terminal}");
            assert_eq!((links(0, 2), links(2, 1)), (2, 2), "{terminal}");
            assert_eq!(topology.distance(NodeId(1), NodeId(2)), Hops::whole(2), "{terminal}");
        }
    }

    #[test]
    fn forwarding_tables_decide_between_ways() {
        let mut graph = super::super::graph::Graph::new("fabric");
        let cable = Cable { hops: 1, rate: Rate::DEFAULT };
        let [a, b, s, t, u, v] = ["a", "b", "s", "t", "u", "v"].map(|name| graph.vertex(name));
        for (x, y) in [(a, s), (s, t), (t, b), (s, u), (u, v), (v, t)] {
            graph.link(x, y, cable);
        }
        let nodes = NodeMap::new(vec![("a".into(), 0), ("b".into(), 0)]);
        let hops =
            |graph: &super::super::graph::Graph| graph.topology(&nodes).0.distance(NodeId(0), NodeId(1));
        assert_eq!(hops(&graph), Hops::whole(3));
        for (switch, next) in [(s, u), (u, v), (v, t), (t, b)] {
            graph.forward(switch, b, next);
        }
        for (switch, next) in [(t, s), (s, a)] {
            graph.forward(switch, a, next);
        }
        assert_eq!(hops(&graph), Hops::whole(5));
        let (topology, _) = graph.topology(&nodes);
        let network = topology.network();
        assert_eq!(network.ways_to(NodeId(1)).from(network, network.vertex_of(NodeId(0))).count(), 5);
        assert_eq!(network.ways_to(NodeId(0)).from(network, network.vertex_of(NodeId(1))).count(), 3);
        // Tables that lead in a circle are left aside.
        graph.forward(v, b, u);
        let (topology, _) = graph.topology(&nodes);
        let network = topology.network();
        assert_eq!(network.ways_to(NodeId(1)).from(network, network.vertex_of(NodeId(0))).count(), 3);
    }
}
