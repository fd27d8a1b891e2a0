//! An InfiniBand fabric as the command `ibnetdiscover` (infiniband-diags) prints it: every switch and channel adapter,
//! and every cable with its width and speed.
//!
//! - A cable is one hop, and carries what its width and speed leave for data. It is listed from both ends and counts
//!   once; cables between the same two nodes add up.
//! - The channel adapters of one host, and the ports of one adapter, are one vertex. The host's name is the first word of
//!   the adapter's description (`node1 HCA-1`), which `rdma-ndd` or an administrator writes; it matches the job's hosts as
//!   [graphs](super::graph) say. An adapter that nobody told its host keeps its own description (`MT25408 ConnectX
//!   Mellanox Technologies`), bears its identifier as a name and matches no host.
//! - Without more, messages are taken to follow shortest paths. [`Fabric::add_routes`] adds the forwarding tables of the
//!   switches, and then distances are those of the routes. Of a host with several ports they are the routes to its first
//!   LID; *from* such a host, which could take any of its ports, the shortest path counts.

mod discover;
mod lines;
mod routes;
#[cfg(test)]
mod tests;

pub use discover::{REPLACEMENT, discover};

use super::graph::{Cable, Graph};
use super::{NodeMap, Topology, TopologyError};
use crate::units::Rate;
use lines::{Kind, Line};
use std::collections::BTreeMap;

/// A fabric: its network, and what its forwarding tables are to be read with.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// What it was read from, for messages.
    origin: String,
    nodes: Vec<Node>,
    graph: Graph,
    /// Descriptions of channel adapters that name no host.
    nameless: Vec<String>,
    /// How many cables are of no known speed, and a line with one.
    unknown_rates: Option<(usize, usize)>,
}

/// A switch, a channel adapter or a router.
#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    id: String,
    description: String,
    /// In the graph.
    vertex: usize,
    ports: BTreeMap<u8, Port>,
}

/// A port with a cable.
#[derive(Clone, Debug)]
struct Port {
    guid: Option<u64>,
    /// 0 is none.
    lid: u16,
    /// The node at the other end, and its port.
    peer: (usize, u8),
    rate: Option<Rate>,
    line: usize,
}

/// The node and the guid of the port that has a LID.
type Owner = (usize, Option<u64>);

/// What a switch does with what goes to a host: the vertices of both, and of its neighbour that is next.
type Forward = (usize, usize, usize);

/// How much of a line a message shows.
const SHOWN_MAX: usize = 120;

/// How many adapters a warning names.
const NAMED_MAX: usize = 3;

const WHOLE_LINE: &str = "an end of the line: the text is cut here";

/// Parses what `ibnetdiscover` prints without options, with `-f` or with `-g`. `name` says what is read, for messages:
/// `ibnetdiscover output fabric.txt`.
///
/// A cable may be listed from one end only. Errors name the line, what was expected, and the line's text: a line that is
/// no part of such output, a cable to a node that is not described (the text is cut, or of a part of the fabric), a node
/// described twice, a port with two cables, no channel adapter at all.
pub fn parse(name: &str, text: &str) -> Result<Fabric, TopologyError> {
    let (mut nodes, peers) = read(name, text)?;
    let fail = |line: usize, expected: String| Err(error(name, text, line, expected));
    let numbers: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(number, node)| (node.id.clone(), number)).collect();
    for (number, port, peer) in peers {
        let line = nodes[number].ports[&port].line;
        let Some(&other) = numbers.get(peer) else {
            let what =
                format!("a description of {peer}, to which this cable leads: the output is not complete");
            return fail(line, what);
        };
        let end = nodes[number].ports.get_mut(&port).expect("the port was read");
        end.peer.0 = other;
    }
    // Switches come first: this is what the beginning of a fabric looks like.
    if nodes.iter().all(|node| node.kind != Kind::ChannelAdapter) {
        let what = "channel adapters, too: the output is not complete";
        return fail(text.lines().count().max(1), what.to_string());
    }
    // The line that cables each port which does not list its cable itself.
    let mut cabled: BTreeMap<(usize, u8), usize> = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate() {
        for (&port, end) in &node.ports {
            let other = match nodes[end.peer.0].ports.get(&end.peer.1) {
                Some(back) => Some(back.line).filter(|_| back.peer != (number, port)),
                None => cabled.insert(end.peer, end.line),
            };
            if let Some(line) = other {
                let (peer, peer_port) = (&nodes[end.peer.0].id, end.peer.1);
                let what =
                    format!("one cable in port {peer_port} of {peer}, which has another in line {line}");
                return fail(end.line, what);
            }
        }
    }
    Ok(Fabric::new(name, nodes))
}

/// Node, port, and the identifier of the node at the other end of the cable.
type Peer<'a> = (usize, u8, &'a str);

/// All nodes with their ports, whose peers are still to be found.
fn read<'a>(name: &str, text: &'a str) -> Result<(Vec<Node>, Vec<Peer<'a>>), TopologyError> {
    let fail = |line: usize, expected: String| Err(error(name, text, line, expected));
    let mut nodes: Vec<Node> = Vec::new();
    let mut lines_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut peers = Vec::new();
    for (index, line_text) in text.lines().enumerate() {
        let line = index + 1;
        match lines::line(line_text) {
            Err(expected) => return fail(line, expected.to_string()),
            Ok(Line::Other) => {}
            Ok(Line::Node { kind, id, description }) => {
                if let Some(before) = lines_of.insert(id, line) {
                    return fail(line, format!("one description of {id}, which line {before} gave"));
                }
                let (id, description) = (id.to_string(), description.to_string());
                nodes.push(Node { kind, id, description, vertex: 0, ports: BTreeMap::new() });
            }
            Ok(Line::Port(port)) => {
                let number = nodes.len().wrapping_sub(1);
                let Some(node) = nodes.last_mut() else {
                    return fail(line, format!("{} before its cables", lines::NODE));
                };
                let lines::Port { guid, lid, rate, .. } = port;
                let end = Port { guid, lid, peer: (usize::MAX, port.peer_port), rate, line };
                if let Some(before) = node.ports.insert(port.number, end) {
                    let (port, id, before) = (port.number, &node.id, before.line);
                    let what = format!("one cable in port {port} of {id}, which line {before} gave");
                    return fail(line, what);
                }
                peers.push((number, port.number, port.peer));
            }
        }
    }
    let last = text.lines().count().max(1);
    if nodes.is_empty() {
        return fail(last, lines::LINE.to_string());
    }
    if !text.ends_with('\n') {
        return fail(last, WHOLE_LINE.to_string());
    }
    Ok((nodes, peers))
}

fn error(file: &str, text: &str, line: usize, expected: String) -> TopologyError {
    let text = text.lines().nth(line - 1).unwrap_or_default().trim();
    TopologyError::Line { file: file.to_string(), line, expected, text: shown(text) }
}

/// The beginning of a text, without what a terminal would act upon.
fn shown(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(SHOWN_MAX).map(printable).collect();
    if shown.len() < text.len() {
        shown.push_str("..");
    }
    shown
}

impl Fabric {
    fn new(origin: &str, mut nodes: Vec<Node>) -> Fabric {
        let mut graph = Graph::new(origin);
        let mut adapters: BTreeMap<&str, usize> = BTreeMap::new();
        for host in nodes.iter().filter_map(Node::host) {
            *adapters.entry(host).or_default() += 1;
        }
        let named = |node: &Node| node.host().filter(|host| adapters[host] <= lines::ADAPTERS_MAX).is_some();
        let mut nameless = Vec::new();
        let mut vertices = Vec::new();
        for node in &nodes {
            let with_host = named(node);
            let name = match (node.kind, node.host()) {
                (Kind::ChannelAdapter, Some(host)) if with_host => host.to_string(),
                // The identifier comes first: up to its first dot this is no host's name.
                (Kind::Switch | Kind::Router, _) if !node.description.is_empty() => {
                    format!("{} ({})", node.id, shown(&node.description))
                }
                _ => node.id.clone(),
            };
            let vertex = graph.vertex(&name);
            graph.alias(vertex, &node.id);
            vertices.push(vertex);
            if node.kind == Kind::ChannelAdapter {
                graph.set_terminal(vertex);
            }
            if node.kind == Kind::ChannelAdapter && !with_host && !lines::is_aggregation(&node.description) {
                nameless.push(format!("{} \"{}\"", node.id, shown(&node.description)));
            }
        }
        for (node, vertex) in nodes.iter_mut().zip(vertices) {
            node.vertex = vertex;
        }
        let unknown_rates = link(&mut graph, &nodes);
        Fabric { origin: origin.to_string(), nodes, graph, nameless, unknown_rates }
    }

    /// Adds the switches' forwarding tables, as `dump_lfts` (infiniband-diags) prints them, or as opensm writes them to
    /// `opensm-lfts.dump` and `opensm.fdbs`. `name` says what is read, for messages.
    ///
    /// Tables may be missing for some switches: routes over them are shortest paths. LIDs that no port of the fabric has
    /// (opensm keeps those of hosts that are gone) are left out.
    ///
    /// Errors name the line, and leave the fabric as it was: a text that is cut or no such tables, a fabric that was
    /// discovered without LIDs, and tables of another fabric, or of another state of it: a switch that is not there, an
    /// output port without a cable, a LID that belongs to another port.
    pub fn add_routes(&mut self, name: &str, text: &str) -> Result<(), TopologyError> {
        let line_error = |(line, text, expected): (usize, &str, String)| TopologyError::Line {
            file: name.to_string(),
            line,
            expected,
            text: shown(text),
        };
        let tables = routes::tables(text).map_err(line_error)?;
        let owners = self.owners().map_err(|expected| {
            let first = &tables[0];
            line_error((first.line, first.text, expected))
        })?;
        let switches = self.switches();
        let mut forwards = Vec::new();
        for table in &tables {
            let origin = &self.origin;
            let Some(&switch) = switches.get(&table.guid) else {
                let what =
                    format!("a switch that {origin} describes: take both from one state of the fabric");
                return Err(line_error((table.line, table.text, what)));
            };
            let next = self.next_of(switch, table, &owners);
            forwards.extend(next.map_err(|(entry, what)| line_error((entry.line, entry.text, what)))?);
        }
        for (switch, host, next) in forwards {
            self.graph.forward(switch, host, next);
        }
        Ok(())
    }

    /// The distances between the job's nodes and the network that joins them, and warnings for people.
    pub fn topology(&self, nodes: &NodeMap) -> (Topology, Vec<String>) {
        let (topology, mut warnings) = self.graph.topology(nodes);
        if let Some((cables, line)) = self.unknown_rates {
            warnings.push(format!(
                "{}: {cables} cables are of no known speed (line {line}); they are taken to carry {}",
                self.origin,
                Rate::DEFAULT
            ));
        }
        // When every host of the job was found, it does not matter.
        if !warnings.is_empty() && !self.nameless.is_empty() {
            warnings.push(self.warn_nameless());
        }
        (topology, warnings)
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The network, without what else was known of the fabric.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    fn warn_nameless(&self) -> String {
        let named = &self.nameless[..self.nameless.len().min(NAMED_MAX)];
        let more = match self.nameless.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{}: these channel adapters do not say in which host they are: {}{more}; start rdma-ndd on the hosts, or \
             write \"HOST DEVICE\" to /sys/class/infiniband/DEVICE/node_desc, and run ibnetdiscover again",
            self.origin,
            named.join(", ")
        )
    }

    /// Who has each LID; or what is expected of LIDs.
    fn owners(&self) -> Result<BTreeMap<u16, Owner>, String> {
        let mut owners = BTreeMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            for port in node.ports.values().filter(|port| port.lid != 0) {
                if let Some((other, _)) = owners.insert(port.lid, (number, port.guid)) {
                    let (lid, other, id) = (port.lid, &self.nodes[other].id, &node.id);
                    let origin = &self.origin;
                    return Err(format!(
                        "one port with LID {lid}, but {origin} has it at {other} and {id}: \
                         it must be of one subnet"
                    ));
                }
            }
        }
        if owners.is_empty() {
            return Err(format!(
                "a fabric with LIDs, but {} has none: was a subnet manager running?",
                self.origin
            ));
        }
        Ok(owners)
    }

    fn switches(&self) -> BTreeMap<u64, usize> {
        let guid = |node: &Node| u64::from_str_radix(node.id.strip_prefix("S-")?, 16).ok();
        let switches = self.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Switch);
        switches.filter_map(|(number, node)| Some((guid(node)?, number))).collect()
    }

    /// Where a switch's table sends what goes to each host. Of a host with several
    /// LIDs the lowest that the table has counts.
    fn next_of<'a, 'b>(
        &self,
        switch: usize,
        table: &'b routes::Table<'a>,
        owners: &BTreeMap<u16, Owner>,
    ) -> Result<Vec<Forward>, (&'b routes::Entry<'a>, String)> {
        let switch = &self.nodes[switch];
        let origin = &self.origin;
        let mut next: BTreeMap<usize, (u16, usize)> = BTreeMap::new();
        for entry in table.entries.iter().filter(|entry| entry.port != 0) {
            let Some(&(owner, guid)) = owners.get(&entry.lid) else { continue };
            if let (Some(said), Some(known)) = (entry.port_guid, guid)
                && said != known
            {
                let what = format!(
                    "LID {} at port guid 0x{known:016x}, where {origin} has it: \
                     take both from one state of the fabric",
                    entry.lid
                );
                return Err((entry, what));
            }
            let Some(port) = switch.ports.get(&entry.port) else {
                let (port, id) = (entry.port, &switch.id);
                let what = format!(
                    "a port with a cable, but {origin} has none in port {port} of {id}: \
                     take both from one state of the fabric"
                );
                return Err((entry, what));
            };
            let (host, peer) = (self.nodes[owner].vertex, self.nodes[port.peer.0].vertex);
            // A cable from the switch to itself leads nowhere.
            if peer == switch.vertex {
                continue;
            }
            let best = next.entry(host).or_insert((entry.lid, peer));
            *best = (*best).min((entry.lid, peer));
        }
        Ok(next.into_iter().map(|(host, (_, peer))| (switch.vertex, host, peer)).collect())
    }
}

impl Node {
    fn host(&self) -> Option<&str> {
        Some(self)
            .filter(|node| node.kind == Kind::ChannelAdapter)
            .and_then(|node| lines::host_of(&node.description))
    }
}

/// Puts every cable into the graph, once. How many are of no known speed, and the line of one.
fn link(graph: &mut Graph, nodes: &[Node]) -> Option<(usize, usize)> {
    let mut unknown = None;
    for (number, node) in nodes.iter().enumerate() {
        for (&port, end) in &node.ports {
            let back = nodes[end.peer.0].ports.get(&end.peer.1);
            // From the end that comes first; a cable may be listed from the other alone.
            if back.is_some() && end.peer < (number, port) {
                continue;
            }
            // Both ends should say the same; when they do not, the slower one sets the pace.
            let rate = end.rate.into_iter().chain(back.and_then(|back| back.rate)).min();
            if rate.is_none() {
                let (cables, line) = unknown.unwrap_or((0, end.line));
                unknown = Some((cables + 1, line));
            }
            let (a, b) = (node.vertex, nodes[end.peer.0].vertex);
            // Within a switch or a host a cable joins nothing.
            if a != b {
                graph.link(a, b, Cable { hops: 1, rate: rate.unwrap_or(Rate::DEFAULT) });
            }
        }
    }
    unknown
}
