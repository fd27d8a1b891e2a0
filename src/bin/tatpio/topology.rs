//! `tatpio topology`: what a machine or a network looks like to the library.

use crate::fabric::{self, Panel, natural};
use crate::failure::Failure;
use crate::{format, hosts, job, output, picture};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;
use tatpio::topology::{
    Network, NodeMap, Resolved, Surroundings, System, Topology, TopologySpec, file, infiniband, slurm,
};
use tatpio::units::{Hops, NodeId, Rate};

const EXAMPLES: &str = "\
Examples:
  tatpio topology
      this machine, and what `automatic` finds around it
  tatpio topology tree:4,20/20gbit,40gbit
      four racks of twenty nodes
  tatpio topology infiniband:fabric.txt --hosts node1,node2,node7
      three hosts of a fabric that `ibnetdiscover > fabric.txt` saved
  tatpio topology slurm:/etc/slurm/topology.conf --picture cluster.png
  tatpio topology --machine node.xml
      a machine that `lstopo node.xml` saved; or text such as 'pack:2 core:8 pu:2'

SPEC is a value of the hint tatpio_topology: automatic, flat, file:PATH, infiniband[:PATH[,routes=PATH]], slurm[:PATH],
tree:SIZES, fat-tree:K, fat-tree:PODS,LEAVES,NODES, torus:SIZES or dragonfly:GROUPS,ROUTERS,NODES.";

/// What this machine or a network looks like
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The network [default: this machine and automatic]
    spec: Option<TopologySpec>,
    /// The hosts of the job: a,b or node[1-8], or a file with one a line [default: all of the network]
    #[arg(long, value_name = "LIST|FILE")]
    hosts: Option<String>,
    /// Where the hosts sit in a synthetic network: in-order, scattered:SEED or sorted:SEED
    #[arg(long, default_value = "in-order", value_name = "ORDER")]
    positions: job::Order,
    /// A machine: XML of hwloc, or text such as 'pack:2 core:8 pu:2'
    #[arg(long, value_name = "FILE.xml|TEXT", conflicts_with_all = ["spec", "hosts"])]
    machine: Option<String>,
    /// Also print every link and every distance
    #[arg(long)]
    links: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Draw the network, as .svg or .png
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    picture: Option<PathBuf>,
}

/// The whole answer, as JSON has it.
#[derive(Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkReport>,
}

#[derive(Serialize)]
struct NetworkReport {
    topology: String,
    warnings: Vec<String>,
    hosts: Vec<String>,
    switches: Vec<String>,
    links: Vec<LinkReport>,
    /// Pairs of hosts by hops.
    pairs_by_hops: BTreeMap<u32, u64>,
    /// Hops between hosts, in their order; left out when there are many.
    #[serde(skip_serializing_if = "Option::is_none")]
    hops: Option<Vec<Vec<u32>>>,
}

#[derive(Serialize)]
struct LinkReport {
    a: String,
    b: String,
    hops: u32,
    bits_per_second: u64,
}

/// More hosts have no matrix in JSON, and their pairs are not counted one by one.
const MATRIX_HOSTS_MAX: usize = 2048;

/// Of a longer matrix the text shows the beginning.
const SHOWN_MAX: usize = 16;

/// Synthetic networks may be larger than anybody wants to see: without --hosts there are at most so many.
const SYNTHETIC_HOSTS_MAX: u64 = 4096;

/// Runs `tatpio topology`.
pub fn run(options: &Options) -> Result<(), Failure> {
    options.picture.as_deref().map(picture::format_of).transpose()?;
    if let Some(machine) = &options.machine {
        let machine = named_machine(machine)?;
        let report = Report { machine: Some(machine), network: None };
        return finish(options, &report, None);
    }
    let machine = if options.spec.is_none() { this_machine() } else { None };
    let spec = options.spec.clone().unwrap_or_default();
    let hosts = match &options.hosts {
        Some(list) => hosts::parse(list)?.into_iter().map(|(host, _)| host).collect(),
        None => all_hosts(&spec)?,
    };
    let map = NodeMap::new(distinct(hosts).into_iter().map(|host| (host, 0)).collect());
    let spec = job::placed(&spec, options.positions, map.len())?;
    let resolved = Topology::resolve(&spec, &map, &System::default()).map_err(Failure::failed)?;
    resolved.warnings.iter().for_each(|warning| output::warn(warning));
    if let Some(path) = &options.picture {
        let title = format!("{}: {} hosts", resolved.source, map.len());
        let panel = Panel {
            title: String::new(),
            subtitle: String::new(),
            loads: Vec::new(),
            serving: BTreeMap::new(),
        };
        fabric::draw(resolved.topology.network(), &map, &spec, &[panel], &title)?.save(path)?;
    }
    let report = Report { machine, network: Some(network_report(&resolved, &map)) };
    finish(options, &report, Some((&resolved, &map)))
}

fn finish(options: &Options, report: &Report, network: Option<(&Resolved, &NodeMap)>) -> Result<(), Failure> {
    if options.json {
        return output::print_json(report);
    }
    let mut text = String::new();
    if let Some(machine) = &report.machine {
        let _ = writeln!(text, "{machine}");
    } else if options.spec.is_none() {
        let _ = writeln!(text, "This machine: {NO_HWLOC}\n");
    }
    if let (Some((resolved, map)), Some(report)) = (network, &report.network) {
        text += &network_text(options, resolved, map, report);
    }
    output::print(&text)
}

/// What is said where the machine cannot be looked at.
const NO_HWLOC: &str = "its inside is not known (build tatpio with --features hwloc; it needs libhwloc-dev)";

#[cfg(feature = "hwloc")]
type Machine = tatpio::topology::hwloc::Part;
#[cfg(not(feature = "hwloc"))]
type Machine = String;

#[cfg(feature = "hwloc")]
fn this_machine() -> Option<Machine> {
    tatpio::topology::hwloc::Machine::this().map(tatpio::topology::hwloc::Machine::describe)
}

#[cfg(not(feature = "hwloc"))]
fn this_machine() -> Option<Machine> {
    None
}

/// A machine from XML or from text.
#[cfg(feature = "hwloc")]
fn named_machine(machine: &str) -> Result<Machine, Failure> {
    use tatpio::topology::hwloc::Machine;
    let is_file =
        machine.ends_with(".xml") || machine.contains('/') || std::path::Path::new(machine).is_file();
    let found = if is_file {
        let text = output::read("machine", machine)?;
        Machine::from_xml(&text).map_err(|what| Failure::failed(format!("the machine {machine}: {what}")))
    } else {
        Machine::from_synthetic(machine).map_err(|what| Failure::usage(format!("--machine: {what}")))
    };
    Ok(found?.describe())
}

#[cfg(not(feature = "hwloc"))]
fn named_machine(_: &str) -> Result<Machine, Failure> {
    Err(Failure::failed(format!("--machine: {NO_HWLOC}")))
}

/// A job names a host once.
fn distinct(hosts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    hosts.into_iter().filter(|host| seen.insert(host.clone())).collect()
}

/// The hosts that a network has of itself.
fn all_hosts(spec: &TopologySpec) -> Result<Vec<String>, Failure> {
    let around = System::default();
    let hosts = match spec {
        TopologySpec::Synthetic(network) => {
            let positions = network.at.as_ref().map_or(network.positions(), |at| at.len() as u64);
            if positions > SYNTHETIC_HOSTS_MAX {
                output::warn(&format!(
                    "{spec} has {positions} hosts; the first {SYNTHETIC_HOSTS_MAX} are shown"
                ));
            }
            (0..positions.min(SYNTHETIC_HOSTS_MAX)).map(|host| format!("node{host}")).collect()
        }
        TopologySpec::File(path) => hosts_of_file(path, &output::read("topology file", path)?)?,
        TopologySpec::Infiniband { fabric: Some(path), .. } => {
            hosts_of_fabric(path, &output::read("ibnetdiscover output", path)?)?
        }
        TopologySpec::Infiniband { fabric: None, .. } => {
            hosts_of_fabric("ibnetdiscover", &around.ibnetdiscover().map_err(Failure::failed)?)?
        }
        TopologySpec::Slurm(Some(path)) => hosts_of_slurm(path, &output::read("topology.conf", path)?)?,
        TopologySpec::Slurm(None) | TopologySpec::Automatic => match around.topology_conf() {
            Some(path) => hosts_of_slurm(&path, &output::read("topology.conf", &path)?)?,
            None if *spec == TopologySpec::Automatic && around.has_infiniband() => around
                .ibnetdiscover()
                .ok()
                .map_or(Ok(Vec::new()), |text| hosts_of_fabric("ibnetdiscover", &text))?,
            None => Vec::new(),
        },
        TopologySpec::Flat => Vec::new(),
    };
    let here = || {
        std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map_or("localhost".into(), |name| name.trim().into())
    };
    Ok(if hosts.is_empty() { vec![here()] } else { hosts })
}

/// Names with one cable, and those that a distance names.
fn hosts_of_file(path: &str, text: &str) -> Result<Vec<String>, Failure> {
    file::parse(path, text).map_err(Failure::failed)?;
    let mut neighbours: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut in_order = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let [kind, a, b, ..] = words[..] else { continue };
        for (name, other) in [(a, b), (b, a)] {
            in_order.push(name);
            let known = neighbours.entry(name).or_default();
            match kind {
                "link" => drop(known.insert(other)),
                _ => known.clear(),
            }
        }
    }
    let host = |name: &&&str| neighbours[**name].len() <= 1;
    Ok(distinct(in_order.iter().filter(host).map(|&name| name.to_string()).collect()))
}

/// The names of channel adapters, as far as they are names of hosts.
fn hosts_of_fabric(name: &str, text: &str) -> Result<Vec<String>, Failure> {
    let fabric = infiniband::parse(&format!("ibnetdiscover output {name}"), text).map_err(Failure::failed)?;
    let adapters = text.lines().filter(|line| line.starts_with("Ca") || line.starts_with("Hca"));
    let description = |line: &str| {
        let (_, described) = line.split_once("# ")?;
        let word = described.trim_start_matches(['"', '\'', ' ']).split_whitespace().next()?;
        Some(word.trim_matches(['"', '\'']).to_string())
    };
    let mut hosts: Vec<String> =
        adapters.filter_map(description).filter(|host| fabric.graph().find(host).is_some()).collect();
    hosts.sort_by_cached_key(|host| natural(host));
    Ok(distinct(hosts))
}

/// What stands after `Nodes=`.
fn hosts_of_slurm(path: &str, text: &str) -> Result<Vec<String>, Failure> {
    let graph = slurm::parse_conf(&format!("topology.conf {path}"), text).map_err(Failure::failed)?;
    let joined = text.replace("\\\n", " ");
    let words = joined.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    let lists = words.filter_map(|word| {
        word.get(..6).filter(|key| key.eq_ignore_ascii_case("nodes=")).map(|key| &word[key.len()..])
    });
    let names = lists.flat_map(hosts::outside_brackets).filter_map(|item| hosts::expand(item).ok()).flatten();
    Ok(distinct(names.filter(|name| graph.find(name).is_some()).collect()))
}

fn whole_hops(distance: Hops) -> u32 {
    distance.0 / Hops::PER_HOP
}

fn network_report(resolved: &Resolved, map: &NodeMap) -> NetworkReport {
    let (topology, network) = (&resolved.topology, resolved.topology.network());
    let row = |a: NodeId| map.nodes().map(|b| whole_hops(topology.distance(a, b))).collect::<Vec<u32>>();
    let small = map.len() <= MATRIX_HOSTS_MAX;
    let mut pairs_by_hops = BTreeMap::new();
    for a in map.nodes().filter(|_| small) {
        map.nodes().skip(a.index() + 1).for_each(|b| {
            *pairs_by_hops.entry(whole_hops(topology.distance(a, b))).or_default() += 1;
        });
    }
    let hosts: BTreeSet<u32> = map.nodes().map(|node| network.vertex_of(node)).collect();
    let name = |vertex: u32| network.name(vertex).to_string();
    let vertices = 0..u32::try_from(network.vertices()).expect("vertices fit 32 bits");
    NetworkReport {
        topology: resolved.source.clone(),
        warnings: resolved.warnings.clone(),
        hosts: map.nodes().map(|node| map.host(node).to_string()).collect(),
        switches: vertices.filter(|vertex| !hosts.contains(vertex)).map(name).collect(),
        links: (network.links().iter())
            .map(|link| LinkReport {
                a: name(link.a),
                b: name(link.b),
                hops: link.hops,
                bits_per_second: link.rate.0,
            })
            .collect(),
        pairs_by_hops,
        hops: small.then(|| map.nodes().map(row).collect()),
    }
}

fn network_text(options: &Options, resolved: &Resolved, map: &NodeMap, report: &NetworkReport) -> String {
    let network = resolved.topology.network();
    let (hosts, switches, links) = (report.hosts.len(), report.switches.len(), report.links.len());
    let mut text = format!(
        "{}: {}, {}, {}\n\n",
        report.topology,
        counted(hosts, "host"),
        counted(switches, "switch"),
        counted(links, "link")
    );
    if hosts > 1 || options.spec.is_some() {
        text += &Tree::new(network, map).text();
        text += &rates_text(network);
        text += &distances_text(options, report);
    }
    if options.links {
        let row = |link: &LinkReport| {
            vec![
                link.a.clone(),
                link.b.clone(),
                link.hops.to_string(),
                Rate(link.bits_per_second).to_string(),
            ]
        };
        text += "\nLinks\n\n";
        text += &output::table(
            &["from", "to", "hops", "rate"],
            &report.links.iter().map(row).collect::<Vec<_>>(),
        );
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    let ending = match (count, what.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{count} {what}{ending}")
}

/// The network from its top down.
struct Tree<'a> {
    network: &'a Network,
    /// By vertex: neighbours and the links to them.
    around: BTreeMap<u32, Vec<(u32, usize)>>,
    level: BTreeMap<u32, usize>,
}

impl Tree<'_> {
    fn new<'a>(network: &'a Network, map: &NodeMap) -> Tree<'a> {
        let mut around: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
        for (number, link) in network.links().iter().enumerate() {
            around.entry(link.a).or_default().push((link.b, number));
            around.entry(link.b).or_default().push((link.a, number));
        }
        let hosts = map.nodes().map(|node| network.vertex_of(node)).collect();
        let near = around
            .iter()
            .map(|(&vertex, near)| (vertex, near.iter().map(|&(next, _)| next).collect()))
            .collect();
        Tree { network, around, level: fabric::levels(&hosts, &near) }
    }

    fn text(&self) -> String {
        let top = self.level.iter().max_by_key(|&(&vertex, &level)| (level, std::cmp::Reverse(vertex)));
        let is_tree = self.network.links().len() + 1 == self.level.len() && self.level.len() > 2;
        match top {
            Some((&root, _)) if is_tree => {
                let mut text = format!("{}\n", self.network.name(root));
                self.below(root, None, 1, &mut text);
                text
            }
            _ => self.switches_text(),
        }
    }

    /// What hangs below a vertex, a line each; leaves of one rate in one line.
    fn below(&self, vertex: u32, from: Option<u32>, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let mut leaves: BTreeMap<Rate, Vec<&str>> = BTreeMap::new();
        let mut inner: Vec<(u32, Rate)> = Vec::new();
        for &(next, link) in self.around[&vertex].iter().filter(|&&(next, _)| Some(next) != from) {
            let rate = self.network.links()[link].rate;
            match self.around[&next].len() {
                1 => leaves.entry(rate).or_default().push(self.network.name(next)),
                _ => inner.push((next, rate)),
            }
        }
        inner.sort_by_cached_key(|&(vertex, _)| natural(self.network.name(vertex)));
        for (rate, names) in leaves {
            let _ = writeln!(text, "{indent}{}  ({rate})", sorted_names(names));
        }
        for (next, rate) in inner {
            let _ = writeln!(text, "{indent}{}  ({rate})", self.network.name(next));
            self.below(next, Some(vertex), depth + 1, text);
        }
    }

    /// Where there is more than one way: every switch (or, in a torus, host) and its neighbours.
    fn switches_text(&self) -> String {
        const ROWS_MAX: usize = 48;
        let levels = self.level.values().any(|&level| level > 0);
        let mut order: Vec<u32> = self.around.keys().copied().collect();
        order.retain(|vertex| !levels || self.level.get(vertex) != Some(&0));
        order.sort_by_cached_key(|vertex| {
            (self.level.get(vertex).copied(), natural(self.network.name(*vertex)))
        });
        let row = |&vertex: &u32| {
            let of = |host: bool| {
                let near = self.around[&vertex].iter().map(|&(next, _)| next);
                let names = near
                    .filter(|next| levels && host == (self.level.get(next) == Some(&0)) || !levels && !host);
                sorted_names(names.map(|next| self.network.name(next)).collect())
            };
            let hosts = of(true);
            let mut row = vec![self.network.name(vertex).to_string()];
            row.extend(levels.then_some(hosts));
            row.push(of(false));
            row
        };
        let header =
            if levels { vec!["switch", "hosts", "other switches"] } else { vec!["host", "joined to"] };
        let mut text = output::table(&header, &order.iter().take(ROWS_MAX).map(row).collect::<Vec<_>>());
        if order.len() > ROWS_MAX {
            let _ = writeln!(text, " and {} more (--links has every link)", order.len() - ROWS_MAX);
        }
        text
    }
}

fn sorted_names(mut names: Vec<&str>) -> String {
    names.sort_by_cached_key(|name| natural(name));
    format::names(names)
}

fn rates_text(network: &Network) -> String {
    let mut rates: BTreeMap<Rate, usize> = BTreeMap::new();
    network.links().iter().for_each(|link| *rates.entry(link.rate).or_default() += 1);
    let texts: Vec<String> =
        rates.iter().rev().map(|(rate, &count)| format!("{} of {rate}", counted(count, "link"))).collect();
    if texts.is_empty() { String::new() } else { format!("\nRates: {}\n", texts.join(", ")) }
}

fn distances_text(options: &Options, report: &NetworkReport) -> String {
    let mut text = String::new();
    for (hops, pairs) in &report.pairs_by_hops {
        let start = if text.is_empty() { "\nPairs of hosts by hops: " } else { ", " };
        let _ = write!(text, "{start}{hops}: {pairs}");
    }
    text.push('\n');
    let Some(hops) = report.hops.as_ref().filter(|hops| hops.len() > 1) else { return text };
    let shown = if options.links { hops.len() } else { hops.len().min(SHOWN_MAX) };
    let mut header = vec!["hops"];
    header.extend(report.hosts[..shown].iter().map(String::as_str));
    let row = |(host, row): (&String, &Vec<u32>)| {
        let cells = row[..shown].iter().map(ToString::to_string);
        std::iter::once(host.clone()).chain(cells).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = report.hosts.iter().zip(hops).take(shown).map(row).collect();
    let _ = write!(text, "\n{}", output::table(&header, &rows));
    if shown < hops.len() {
        let _ = writeln!(text, " and {} more hosts (--links or --json has them all)", hops.len() - shown);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_files() {
        let text = "link n1 leaf1\nlink n10 leaf1 2 # far\nlink leaf1 spine\nlink n2 leaf2\nlink leaf2 spine\ndistance n1 x 3\n";
        assert_eq!(hosts_of_file("f", text).unwrap(), ["n1", "n10", "n2", "x"]);
    }

    #[test]
    fn hosts_of_slurms_file() {
        let text = "SwitchName=s0 Nodes=tux[0-1],login # x\nSwitchName=s1 nodes=r1n[2-3]\nSwitchName=s2 Switches=s[0-1]\n";
        assert_eq!(hosts_of_slurm("f", text).unwrap(), ["tux0", "tux1", "login", "r1n2", "r1n3"]);
    }

    #[test]
    fn counts() {
        assert_eq!(
            (counted(1, "switch"), counted(2, "switch"), counted(0, "host")),
            ("1 switch".into(), "2 switches".into(), "0 hosts".into())
        );
    }
}
