//! What Slurm says of the network: its file `topology.conf`, and `SLURM_TOPOLOGY_ADDR`, which it sets for every
//! process.
//!
//! ```text
//! SwitchName=leaf0 Nodes=tux[0-5,07],login1   # topology/tree: a switch has nodes or switches below it
//! SwitchName=leaf1 Nodes=r[1-2]n[01-16]
//! SwitchName=spine Switches=leaf[0-1] LinkSpeed=40gbit
//!
//! BlockName=b1 Nodes=gpu[01-18]               # topology/block: blocks are joined by one vertex
//! BlockSizes=18,36
//! ```
//!
//! - Every cable is one hop. Switches that no line joins stay unjoined, as in Slurm; what becomes of hosts without a
//!   path between them is said [there](super::graph). A node may be below several leaf switches.
//! - Slurm leaves the unit of LinkSpeed open and does not use it. Here it is the rate of the cables to what the line
//!   names below the switch, when it is written as a rate (`40gbit`); else it is passed over.
//! - Keys in capitals or not; `#` starts a comment; a backslash at the end joins the next line. What Slurm refuses is
//!   refused: nodes and switches below one switch, two switches of one name, children that are no switches. `Include`
//!   is not followed.
//! - Lists are Slurm's hostlist expressions: names with any number of ranges in brackets; a range has as many digits as
//!   its first number is written with.
//!
//! Source: the manual page topology.conf(5) of Slurm 24.05; what is refused, and the form of an address, from what its
//! topology plugins do.

use super::graph::{Cable, Graph};
use super::{NodeMap, TopologyError};
use crate::units::Rate;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More names than any machine has. A line of a few letters could ask for more memory than there is.
const NAMES_MAX: usize = 1_000_000;

/// As long as a host's name may be.
const NAME_BYTES_MAX: usize = 255;

/// How much of a line an error repeats.
const SHOWN_MAX: usize = 80;

/// The vertex between blocks. No name in a file or an address has a blank.
const BETWEEN_BLOCKS: &str = "between blocks";

const CABLE: Cable = Cable { hops: 1, rate: Rate::DEFAULT };

/// Parses the text of a `topology.conf`; `name` says what it is, for messages: `topology.conf
/// /etc/slurm/topology.conf`.
///
/// Errors name the file, the line on which a statement starts, what was expected, and what was found. Lists of more
/// than a million names in all, or of names longer than 255 bytes, are errors.
pub fn parse_conf(name: &str, text: &str) -> Result<Graph, TopologyError> {
    let mut conf = Conf { switches: Vec::new(), numbers: BTreeMap::new(), names_left: NAMES_MAX };
    for (line, statement) in statements(text) {
        conf.take(line, &statement).map_err(|fault| fault.on_line(name, line))?;
    }
    conf.graph(name)
}

/// What stands in the way.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    expected: String,
    found: String,
}

impl Fault {
    fn new(expected: impl Into<String>, found: &str) -> Fault {
        let mut shown: String = found.trim().chars().take(SHOWN_MAX).collect();
        if shown.len() < found.trim().len() {
            shown.push_str("...");
        }
        Fault { expected: expected.into(), found: shown }
    }

    fn on_line(self, name: &str, line: usize) -> TopologyError {
        TopologyError::Line { file: name.to_string(), line, expected: self.expected, text: self.found }
    }
}

/// Lines without comments, those put together that a backslash joins, and the number of the first.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut statements = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line);
        let (_, statement) = begun.get_or_insert_with(|| (index + 1, String::new()));
        match line.trim_end().strip_suffix('\\') {
            Some(part) => statement.push_str(part),
            None => {
                statement.push_str(&line);
                statements.extend(begun.take());
            }
        }
    }
    statements.extend(begun);
    statements
}

/// The line up to `#`; a number sign after a backslash is one of the text.
fn without_comment(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '#' if kept.ends_with('\\') => {
                kept.pop();
            }
            '#' => break,
            _ => {}
        }
        kept.push(c);
    }
    kept
}

/// The `KEY=VALUE` of a statement. Blanks around the sign, and values in quotes, are Slurm's.
fn pairs(statement: &str) -> Result<Vec<(String, &str)>, Fault> {
    let mut pairs = Vec::new();
    let mut rest = statement.trim();
    while !rest.is_empty() {
        let key_ends = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (key, after) = rest.split_at(key_ends);
        let value = after.trim_start().strip_prefix('=').filter(|_| !key.is_empty());
        let value = value.ok_or_else(|| Fault::new("KEY=VALUE", rest))?.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(|| Fault::new("a closing quote", value))?,
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        // `Nodes= LinkSpeed=1`: the value was forgotten.
        if value.is_empty() || value.contains('=') {
            return Err(Fault::new("KEY=VALUE", rest));
        }
        pairs.push((key.to_ascii_lowercase(), value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// A switch or a block.
struct Switch {
    name: String,
    line: usize,
    is_block: bool,
    /// Sorted, each once.
    nodes: Vec<String>,
    /// Names of switches, sorted, each once.
    children: Vec<String>,
    /// Of the cables to what is below.
    rate: Rate,
}

/// The file so far.
struct Conf {
    switches: Vec<Switch>,
    numbers: BTreeMap<String, usize>,
    /// How many more names its lists may come to.
    names_left: usize,
}

impl Conf {
    fn take(&mut self, line: usize, statement: &str) -> Result<(), Fault> {
        const FIRST: &str = "SwitchName=, BlockName= or BlockSizes= at the start of a line";
        let word = statement.split(|c: char| c.is_whitespace() || c == '=').find(|word| !word.is_empty());
        if word.is_some_and(|word| word.eq_ignore_ascii_case("include")) {
            let instead = "the lines of the included file in its place: Include is not followed";
            return Err(Fault::new(instead, statement));
        }
        let pairs = pairs(statement)?;
        let Some(((key, value), rest)) = pairs.split_first() else { return Ok(()) };
        match key.as_str() {
            "switchname" => self.switch(line, value, false, rest),
            "blockname" => self.switch(line, value, true, rest),
            // What jobs get, not what is cabled.
            "blocksizes" => Ok(()),
            _ => Err(Fault::new(FIRST, statement)),
        }
    }

    fn switch(
        &mut self,
        line: usize,
        name: &str,
        is_block: bool,
        rest: &[(String, &str)],
    ) -> Result<(), Fault> {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || "[],".contains(c)) {
            return Err(Fault::new("one name of a switch or a block", name));
        }
        if let Some(&before) = self.numbers.get(name) {
            let before = self.switches[before].line;
            return Err(Fault::new(format!("a new name, for line {before} has this one"), name));
        }
        let mut switch = Switch {
            name: name.to_string(),
            line,
            is_block,
            nodes: Vec::new(),
            children: Vec::new(),
            rate: Rate::DEFAULT,
        };
        for (index, (key, value)) in rest.iter().enumerate() {
            if rest[..index].iter().any(|(before, _)| before == key) {
                return Err(Fault::new(format!("{key} once"), value));
            }
            match (key.as_str(), is_block) {
                ("nodes", _) => switch.nodes = self.names(value)?,
                ("switches", false) => switch.children = self.names(value)?,
                ("linkspeed", false) => switch.rate = value.parse().unwrap_or(Rate::DEFAULT),
                (_, true) => return Err(Fault::new("Nodes= after the name of a block", key)),
                (_, false) => return Err(Fault::new("Nodes=, Switches= or LinkSpeed= after the name", key)),
            }
        }
        if !switch.nodes.is_empty() && !switch.children.is_empty() {
            return Err(Fault::new("Nodes= or Switches=, not both, below one switch", name));
        }
        self.numbers.insert(switch.name.clone(), self.switches.len());
        self.switches.push(switch);
        Ok(())
    }

    fn names(&mut self, list: &str) -> Result<Vec<String>, Fault> {
        let mut names = expand(list, self.names_left)?;
        self.names_left -= names.len();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn graph(&self, name: &str) -> Result<Graph, TopologyError> {
        let mut graph = Graph::new(name);
        let nodes: BTreeSet<&str> =
            self.switches.iter().flat_map(|switch| &switch.nodes).map(String::as_str).collect();
        let vertices: Vec<usize> = (self.switches.iter())
            .map(|switch| graph.vertex(&switch_name(&switch.name, |name| nodes.contains(name))))
            .collect();
        for (switch, &vertex) in self.switches.iter().zip(&vertices) {
            let cable = Cable { rate: switch.rate, ..CABLE };
            for node in &switch.nodes {
                let node = graph.vertex(node);
                graph.link(vertex, node, cable);
            }
            for child in &switch.children {
                let below = self.numbers.get(child).map(|&number| vertices[number]);
                let below = below.filter(|&below| below != vertex).ok_or_else(|| {
                    let expected = "another switch, with a SwitchName= line of its own, below this one";
                    Fault::new(expected, child).on_line(name, switch.line)
                })?;
                graph.link(vertex, below, cable);
            }
        }
        let blocks = self.switches.iter().zip(&vertices).filter(|(switch, _)| switch.is_block);
        join_blocks(&mut graph, blocks.map(|(_, &vertex)| vertex));
        Ok(graph)
    }
}

/// The name of a switch's vertex: Slurm keeps the names of switches apart from those of nodes.
fn switch_name(name: &str, is_node: impl Fn(&str) -> bool) -> String {
    if is_node(name) { format!("switch {name}") } else { name.to_string() }
}

fn join_blocks(graph: &mut Graph, blocks: impl Iterator<Item = usize>) {
    let blocks: Vec<usize> = blocks.collect();
    if blocks.len() > 1 {
        let middle = graph.vertex(BETWEEN_BLOCKS);
        blocks.into_iter().for_each(|block| graph.link(middle, block, CABLE));
    }
}

/// The names of a hostlist expression, in its order: `r[1-2]n[01-16],login` is r1n01 to r2n16 and login. The error is
/// for one that says nothing, and for more than `names_max` names.
fn expand(list: &str, names_max: usize) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for item in items(list) {
        let parts = parts(item)?;
        let count =
            parts.iter().map(|part| part.count()).fold(1u64, |product, count| product.saturating_mul(count));
        let room = names_max - all.len();
        if usize::try_from(count).map_or(true, |count| count > room) {
            let expected = format!("no more than {NAMES_MAX} names in the lists of a file, a million");
            return Err(Fault::new(expected, item));
        }
        if parts.iter().map(|part| part.bytes_max()).sum::<usize>() > NAME_BYTES_MAX {
            return Err(Fault::new(format!("names of at most {NAME_BYTES_MAX} bytes"), item));
        }
        let mut names = vec![String::new()];
        for part in &parts {
            names = part.append(names);
        }
        all.append(&mut names);
    }
    Ok(all)
}

/// What commas and blanks outside of brackets separate; nothing between two of them is passed over.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let separates = move |c: char| {
        inside = (inside || c == '[') && c != ']';
        !inside && (c == ',' || c.is_whitespace())
    };
    list.split(separates).filter(|item| !item.is_empty())
}

/// A part of a name.
#[derive(Debug)]
enum Part<'a> {
    Text(&'a str),
    /// Any of these numbers.
    Numbers(Vec<Range>),
}

/// Numbers from `first` to `last`, both included, with at least `digits` digits.
#[derive(Debug)]
struct Range {
    first: u64,
    last: u64,
    digits: usize,
}

impl Part<'_> {
    fn count(&self) -> u64 {
        match self {
            Part::Text(_) => 1,
            Part::Numbers(ranges) => ranges
                .iter()
                .map(|range| (range.last - range.first).saturating_add(1))
                .fold(0, u64::saturating_add),
        }
    }

    fn bytes_max(&self) -> usize {
        match self {
            Part::Text(text) => text.len(),
            Part::Numbers(ranges) => ranges
                .iter()
                .map(|range| range.digits.max(range.last.to_string().len()))
                .max()
                .unwrap_or_default(),
        }
    }

    /// Every name with every way to go on.
    fn append(&self, names: Vec<String>) -> Vec<String> {
        match self {
            Part::Text(text) => names.into_iter().map(|name| name + text).collect(),
            Part::Numbers(ranges) => {
                let mut longer = Vec::new();
                for name in &names {
                    for Range { first, last, digits } in ranges {
                        longer.extend((*first..=*last).map(|number| format!("{name}{number:0digits$}")));
                    }
                }
                longer
            }
        }
    }
}

/// The parts of one name with brackets.
fn parts(item: &str) -> Result<Vec<Part<'_>>, Fault> {
    const BRACKETS: &str = "numbers and ranges in pairs of brackets, like tux[0-5,07]";
    let mut parts = Vec::new();
    let mut rest = item;
    while let Some((text, opened)) = rest.split_once('[') {
        let (numbers, after) = opened.split_once(']').ok_or_else(|| Fault::new(BRACKETS, item))?;
        let range = |text: &str| range(text).ok_or_else(|| Fault::new(BRACKETS, item));
        let numbers = numbers.split(',').map(range).collect::<Result<Vec<Range>, Fault>>()?;
        parts.extend([Part::Text(text), Part::Numbers(numbers)]);
        rest = after;
    }
    parts.push(Part::Text(rest));
    let stray = |part: &Part<'_>| matches!(part, Part::Text(text) if text.contains(']'));
    if parts.iter().any(stray) { Err(Fault::new(BRACKETS, item)) } else { Ok(parts) }
}

/// `5`, `007` or `01-16`.
fn range(text: &str) -> Option<Range> {
    let number = |digits: &str| -> Option<u64> {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(from)?, number(to)?);
    (first <= last).then_some(Range { first, last, digits: from.len() })
}

/// A level of an address that names more switches than this is taken for one switch: every switch is linked to every
/// one of the next level.
const LEVEL_MAX: usize = 64;

/// The network as `SLURM_TOPOLOGY_ADDR` of each node tells it, in the order of the nodes: `spine.leaf1.tux1`, the
/// switches from the top down to the node, or `block.node`. A level may be a hostlist expression, where a node is below
/// several switches, or empty, where it is below none.
///
/// The last part of an address is the node itself, whose vertex bears the name that its host has in `nodes`. Addresses
/// with one switch each and nothing above are those of blocks, which are joined by one vertex. `None` when no address
/// names a switch: topology/default gives just the node.
///
/// The names of an address are told apart by dots: a switch that has one in its name counts as two, one below the
/// other.
pub fn from_addresses(nodes: &NodeMap, addresses: &[Option<String>]) -> Option<Graph> {
    let paths: Vec<(&str, Vec<Vec<String>>)> = (nodes.nodes().zip(addresses))
        .filter_map(|(node, address)| Some((nodes.host(node), address.as_deref()?)))
        .map(|(host, address)| (host, levels(address, host)))
        .collect();
    let depth = paths.iter().map(|(_, levels)| levels.len()).max().unwrap_or_default();
    if depth == 0 {
        return None;
    }
    let hosts: BTreeSet<&str> = nodes.nodes().map(|node| nodes.host(node)).collect();
    let mut graph = Graph::new("SLURM_TOPOLOGY_ADDR");
    let mut linked = BTreeSet::new();
    let mut tops = BTreeSet::new();
    for (host, levels) in &paths {
        let mut above: Vec<usize> = Vec::new();
        for (index, names) in levels.iter().enumerate() {
            let name = |name: &String| graph.vertex(&switch_name(name, |name| hosts.contains(name)));
            let level: Vec<usize> = names.iter().map(name).collect();
            link_all(&mut graph, &mut linked, &above, &level);
            if index == 0 {
                tops.extend(&level);
            }
            above = level;
        }
        let node = graph.vertex(host);
        link_all(&mut graph, &mut linked, &above, &[node]);
    }
    if depth == 1 {
        join_blocks(&mut graph, tops.into_iter());
    }
    Some(graph)
}

/// The names of switches of an address, level by level, the highest first; empty levels left out.
fn levels(address: &str, host: &str) -> Vec<Vec<String>> {
    // The node's own name may have dots, and may bear a domain where the host's does not, or the reverse.
    let own = address.strip_suffix(host).filter(|above| above.is_empty() || above.ends_with('.'));
    let parts: Vec<&str> = own.unwrap_or(address).split('.').collect();
    let short = host.split('.').next();
    let node = parts.iter().rposition(|&part| own.is_none() && Some(part) == short);
    let switches = &parts[..node.unwrap_or(parts.len() - 1)];
    let names = |part: &&str| expand(part, LEVEL_MAX).unwrap_or_else(|_| vec![part.to_string()]);
    switches.iter().map(names).filter(|names| !names.is_empty()).collect()
}

/// Joins every vertex above to every one below, by one cable however often it is asked for.
fn link_all(graph: &mut Graph, linked: &mut BTreeSet<(usize, usize)>, above: &[usize], below: &[usize]) {
    for &a in above {
        for &b in below {
            if a != b && linked.insert((a.min(b), a.max(b))) {
                graph.link(a, b, CABLE);
            }
        }
    }
}

/// Where `topology.conf` lies: beside the file that `SLURM_CONF` names, or in a directory where Slurm is usually
/// configured. `None` when it is in none of them. Reads the environment and the file system.
pub fn find_conf() -> Option<PathBuf> {
    let named = std::env::var_os("SLURM_CONF").map(PathBuf::from);
    conf_places(named.as_deref()).into_iter().find(|path| path.is_file())
}

/// Where to look, in this order.
fn conf_places(slurm_conf: Option<&Path>) -> Vec<PathBuf> {
    const USUAL: [&str; 3] = ["/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc"];
    let named = slurm_conf.and_then(Path::parent);
    named.into_iter().chain(USUAL.map(Path::new)).map(|place| place.join("topology.conf")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Hops, NodeId};
    use proptest::prelude::*;

    fn job(hosts: &str) -> NodeMap {
        let groups = hosts.split_whitespace().enumerate().map(|(rank, host)| (host.to_string(), rank as u64));
        NodeMap::new(groups.collect())
    }

    /// The hop table row by row above the diagonal, and the warnings.
    fn table(graph: &Graph, nodes: &NodeMap) -> (String, Vec<String>) {
        let (topology, warnings) = graph.topology(nodes);
        let hops = |a: NodeId, b: NodeId| (topology.distance(a, b).0 / Hops::PER_HOP).to_string();
        let rows = nodes
            .nodes()
            .map(|a| nodes.nodes().filter(|&b| b > a).map(|b| hops(a, b)).collect::<Vec<_>>().join(" "));
        let mut rows: Vec<String> = rows.collect();
        rows.pop();
        (rows.join(" | "), warnings)
    }

    fn check(conf: &str, hosts: &str, rows: &str) {
        let graph = parse_conf("topology.conf t", conf).unwrap_or_else(|error| panic!("{conf}: {error}"));
        assert_eq!(table(&graph, &job(hosts)), (rows.to_string(), Vec::new()), "{conf}");
    }

    const EXAMPLE: &str = r"
        # Two leaf switches under a spine, and a third under its own.
        SwitchName=s0 Nodes=tux[0-5,07],login1
        switchname=s1 NODES=r[1-2]n[01-16]   # thirty-two
        SwitchName=s2 Switches=s[0-1] LinkSpeed=10
        SwitchName = s3 Nodes = far\
[1-2],\
far7
        SwitchName=s4 Switches=s2,s3
    ";

    #[test]
    fn trees() {
        check(EXAMPLE, "tux0 tux07 login1 r1n01 r2n16", "2 2 4 4 | 2 4 4 | 4 4 | 2");
        check(EXAMPLE, "far7 far1 tux3 r2n09", "2 5 5 | 5 5 | 4");
        for (conf, hosts, rows) in [
            ("SwitchName=s Nodes=a,b", "a b", "2"),
            ("SwitchName=s Nodes=\"a b\"\nSwitchName=t Switches=\"s\"", "a b", "2"),
            ("SwitchName=s Nodes=a,,a,b,\\\n", "b a", "2"),
            // A node below two leaf switches.
            ("SwitchName=s Nodes=a,b\nSwitchName=t Nodes=b,c\nSwitchName=u Switches=s,t", "a b c", "2 4 | 2"),
            // Children before their switch and after it, and a leaf without nodes.
            (
                "SwitchName=u Switches=s,t,e\nSwitchName=s Nodes=a\nSwitchName=t Nodes=b\nSwitchName=e",
                "a b",
                "4",
            ),
            // A switch that bears the name of a node of its own.
            ("SwitchName=a Nodes=a,b\nSwitchName=c Nodes=c\nSwitchName=u Switches=a,c", "a b c", "2 4 | 4"),
            // Domains are no matter of Slurm's.
            ("SwitchName=s Nodes=a,b", "a.cluster b.cluster", "2"),
            ("\r\nSwitchName=s Nodes=a\\#1,b\r\n", "a#1 b", "2"),
        ] {
            check(conf, hosts, rows);
        }
    }

    #[test]
    fn blocks() {
        let conf = "BlockName=b1 Nodes=g[1-2]\nBlockName=b2 Nodes=g[3-4]\nblocksizes=2,4";
        check(conf, "g1 g2 g3 g4", "2 4 4 | 4 4 | 2");
        check("BlockName=b1 Nodes=g[1-2]", "g1 g2", "2");
    }

    #[test]
    fn switches_that_nothing_joins_are_warned_of() {
        let graph = parse_conf(
            "topology.conf t",
            "SwitchName=s Nodes=a,b\nSwitchName=t Nodes=c\nSwitchName=lone Nodes=d",
        );
        let (rows, warnings) = table(&graph.unwrap(), &job("a b c"));
        assert_eq!(rows, "2 3 | 3");
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].starts_with("topology.conf t joins these hosts of the job by no path"),
            "{warnings:?}"
        );
    }

    #[test]
    fn rates_are_those_of_the_cables_below() {
        let rates = |speed: &str| {
            let conf =
                format!("SwitchName=s Nodes=a,b {speed}\nSwitchName=t Nodes=c\nSwitchName=u Switches=s,t");
            let graph = parse_conf("t", &conf).unwrap();
            let (topology, _) = graph.topology(&job("a b c"));
            let mut rates: Vec<String> =
                topology.network().links().iter().map(|link| link.rate.to_string()).collect();
            rates.sort_unstable();
            rates.join(" ")
        };
        assert_eq!(rates("LinkSpeed=40gbit"), "100gbit 100gbit 100gbit 40gbit 40gbit");
        for other in ["", "LinkSpeed=40", "LinkSpeed=\"fast lane\"", "LinkSpeed=-1"] {
            assert_eq!(rates(other), "100gbit 100gbit 100gbit 100gbit 100gbit", "{other}");
        }
    }

    #[test]
    fn errors_name_line_and_remedy() {
        for (conf, line, expected, found) in [
            ("SwitchName=s Nodes=a\nInclude /etc/more", 2, "Include is not followed", "Include /etc/more"),
            ("include=x", 1, "Include is not followed", "include=x"),
            ("nodes=a", 1, "SwitchName=, BlockName= or BlockSizes=", "nodes=a"),
            ("\n\nSwitchName", 3, "KEY=VALUE", "SwitchName"),
            ("SwitchName=s Nodes=a, b", 1, "KEY=VALUE", "b"),
            ("SwitchName=s Nodes= LinkSpeed=1", 1, "KEY=VALUE", "Nodes= LinkSpeed=1"),
            ("SwitchName=s Nodes=\"a", 1, "a closing quote", "\"a"),
            ("SwitchName=s Nodes=a Rack=1", 1, "Nodes=, Switches= or LinkSpeed=", "rack"),
            ("BlockName=s Switches=a", 1, "Nodes= after the name of a block", "switches"),
            ("SwitchName=s Nodes=a Nodes=b", 1, "nodes once", "b"),
            ("SwitchName=s Nodes=a Switches=t", 1, "not both", "s"),
            ("SwitchName=s[1-2] Nodes=a", 1, "one name", "s[1-2]"),
            ("SwitchName=s Nodes=a\n\nSwitchName=s Nodes=b", 3, "line 1 has this one", "s"),
            (
                "SwitchName=t Switches=\\\ns[1-2]\nSwitchName=s1 Nodes=a",
                1,
                "SwitchName= line of its own",
                "s2",
            ),
            ("SwitchName=s Switches=s", 1, "another switch", "s"),
            ("SwitchName=s Nodes=a[1-", 1, "in pairs of brackets", "a[1-"),
            ("SwitchName=s Nodes=x,a]b", 1, "in pairs of brackets", "a]b"),
            ("SwitchName=s Nodes=a[1[2]]", 1, "in pairs of brackets", "a[1[2]]"),
            ("SwitchName=s Nodes=a[2-1]", 1, "in pairs of brackets", "a[2-1]"),
            ("SwitchName=s Nodes=a[]", 1, "in pairs of brackets", "a[]"),
            ("SwitchName=s Nodes=a[1,]", 1, "in pairs of brackets", "a[1,]"),
            ("SwitchName=s Nodes=a[1-2-3]", 1, "in pairs of brackets", "a[1-2-3]"),
            ("SwitchName=s Nodes=a[99999999999999999999]", 1, "in pairs", "a[99999999999999999999]"),
            ("SwitchName=s Nodes=a[1-1000001]", 1, "a million", "a[1-1000001]"),
            ("SwitchName=s Nodes=a[0-18446744073709551615]", 1, "a million", "a[0-18446744073709551615]"),
            ("SwitchName=s Nodes=a[0-99999][0-99999][0-99999][0-99999]", 1, "a million", "a[0-99999]"),
            ("SwitchName=s Nodes=a[1-9]\nSwitchName=t Nodes=b[1-999992]", 2, "a million", "b[1-999992]"),
        ] {
            let error = parse_conf("topology.conf t", conf).expect_err(conf);
            let TopologyError::Line { file, line: at, expected: said, text } = &error else {
                panic!("{error}")
            };
            assert_eq!((file.as_str(), *at), ("topology.conf t", line), "{conf}: {error}");
            assert!(said.contains(expected) && text.starts_with(found), "{conf}: {error}");
        }
        let long = format!("SwitchName=s Nodes={}[1-2]", "a".repeat(300));
        let error = parse_conf("t", &long).unwrap_err().to_string();
        assert!(error.contains("names of at most 255 bytes") && error.ends_with("aaa...\""), "{error}");
        let digits = format!("SwitchName=s Nodes=a[{}1-2]", "0".repeat(100_000));
        assert!(parse_conf("t", &digits).unwrap_err().to_string().contains("255 bytes"));
    }

    #[test]
    fn a_million_names_are_few_enough() {
        let names = expand("r[0-9]c[00-99]n[000-999]", NAMES_MAX).unwrap();
        assert_eq!((names.len(), names[999_999].as_str()), (1_000_000, "r9c99n999"));
    }

    #[test]
    fn addresses() {
        for (hosts, addresses, rows) in [
            ("tux1 tux2 tux3", "s4.s0.tux1 s4.s0.tux2 s4.s1.tux3", "2 4 | 4"),
            // Blocks.
            ("a b c", "b1.a b1.b b2.c", "2 4 | 4"),
            // One switch.
            ("a b", "s.a s.b", "2"),
            // Several switches a level; a level without one.
            ("a b c", "t.s[0-1].a t.s1.b t.s2.c", "2 4 | 4"),
            ("a b", ".core.leaf1.a .core.leaf2.b", "4"),
            ("a b c", "t0,t1.s.a t[0-1].s.b t1.u.c", "2 4 | 4"),
            // Hosts that bear domains, in the job or in Slurm.
            ("a.x.y b.x.y", "s.a s.b", "2"),
            ("a b", "s.a.x.y s.b.x.y", "2"),
            ("a.x b.x", "s.a.x s.b.x", "2"),
            ("a.x b.x", "s.a.z s.b.z", "2"),
            // Slurm has other names for nodes, a switch bears a host's, an address that is no name.
            ("10.0.0.1 10.0.0.2", "s.n1 s.n2", "2"),
            ("10.0.0.1 10.0.0.2", "t.s.10.0.0.1 t.u.10.0.0.2", "4"),
            ("a b", "a.a a.b", "2"),
            ("a b", "s.s.a s.s.b", "2"),
            ("a b", "s[.a s[.b", "2"),
        ] {
            let nodes = job(hosts);
            let addresses: Vec<Option<String>> = addresses.split(' ').map(|text| Some(text.into())).collect();
            let graph = from_addresses(&nodes, &addresses).expect(hosts);
            assert_eq!(table(&graph, &nodes), (rows.to_string(), Vec::new()), "{addresses:?}");
        }
    }

    #[test]
    fn addresses_that_name_no_switch_say_nothing() {
        for (hosts, addresses) in [("a b", vec![]), ("a b", vec!["", "-"]), ("a.x b", vec!["a.x", "b.x"])] {
            let some = |text: &&str| (*text != "-").then(|| text.to_string());
            let addresses: Vec<Option<String>> = addresses.iter().map(some).collect();
            assert!(from_addresses(&job(hosts), &addresses).is_none(), "{addresses:?}");
        }
    }

    #[test]
    fn a_node_without_an_address_is_warned_of() {
        let nodes = job("a b c");
        let addresses = [Some("s.a".to_string()), None, Some("s.c".to_string())];
        let (rows, warnings) = table(&from_addresses(&nodes, &addresses).unwrap(), &nodes);
        assert_eq!(rows, "3 2 | 3");
        assert!(warnings[0].starts_with("SLURM_TOPOLOGY_ADDR does not name these hosts of the job: b;"));
    }

    #[test]
    fn switches_shared_by_many_addresses_keep_one_cable() {
        let nodes = job("a b c");
        let addresses = ["t.s.a", "t.s.b", "t.u.c"].map(|text| Some(text.to_string()));
        let (topology, _) = from_addresses(&nodes, &addresses).unwrap().topology(&nodes);
        assert!(topology.network().links().iter().all(|link| link.rate == Rate::DEFAULT));
    }

    #[test]
    fn where_the_file_is_looked_for() {
        let found = conf_places(Some(Path::new("/opt/slurm/slurm.conf")));
        let expected = ["/opt/slurm", "/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc"];
        assert_eq!(found, expected.map(|place| Path::new(place).join("topology.conf")));
        assert_eq!(conf_places(None), found[1..]);
    }

    /// The naive twin of [`expand`]: the first bracket is written out, and the rest of the name after it.
    fn naive(list: &str) -> Vec<String> {
        fn one(item: &str) -> Vec<String> {
            let Some(open) = item.find('[') else { return vec![item.to_string()] };
            let close = item.find(']').unwrap();
            let mut names = Vec::new();
            for range in item[open + 1..close].split(',') {
                let ends: Vec<&str> = range.split('-').collect();
                let mut number: u64 = ends[0].parse().unwrap();
                while number <= ends[ends.len() - 1].parse().unwrap() {
                    let mut digits = number.to_string();
                    while digits.len() < ends[0].len() {
                        digits.insert(0, '0');
                    }
                    names.extend(
                        one(&item[close + 1..]).iter().map(|rest| [&item[..open], &digits, rest].concat()),
                    );
                    number += 1;
                }
            }
            names
        }
        let (mut names, mut item, mut depth) = (Vec::new(), String::new(), 0);
        for c in list.chars().chain([',']) {
            depth += i32::from(c == '[') - i32::from(c == ']');
            if c == ',' && depth == 0 {
                names.extend(one(&std::mem::take(&mut item)));
            } else {
                item.push(c);
            }
        }
        names
    }

    #[test]
    fn padding_follows_the_first_number() {
        for (list, names) in [
            ("a[8-11]", "a8 a9 a10 a11"),
            ("a[08-11]x", "a08x a09x a10x a11x"),
            ("a[098-0101]", "a098 a099 a100 a101"),
            ("a[8-010],b", "a8 a9 a10 b"),
            ("[1-2]-[3,05]", "1-3 1-05 2-3 2-05"),
        ] {
            assert_eq!(expand(list, NAMES_MAX).unwrap().join(" "), names, "{list}");
            assert_eq!(naive(list).join(" "), names, "{list}");
        }
    }

    fn hostlist() -> impl Strategy<Value = String> {
        let range =
            (0u32..120, 0u32..12, 0usize..4, any::<bool>()).prop_map(|(first, more, digits, single)| {
                let last = first + more;
                if single { format!("{first:0digits$}") } else { format!("{first:0digits$}-{last}") }
            });
        let group = prop::collection::vec(range, 1..3).prop_map(|ranges| format!("[{}]", ranges.join(",")));
        let part = prop_oneof!["[a-z.-]{0,3}", group];
        let item =
            ("[a-z]", prop::collection::vec(part, 0..5)).prop_map(|(head, parts)| head + &parts.concat());
        prop::collection::vec(item, 1..4).prop_map(|items| items.join(","))
    }

    proptest! {
        #[test]
        fn hostlists_expand_as_their_naive_twin(list in hostlist()) {
            let names = naive(&list);
            prop_assert_eq!(expand(&list, names.len()), Ok(names.clone()));
            prop_assert!(expand(&list, names.len() - 1).is_err());
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_conf("t", &String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn any_words_are_parsed_or_refused(words in prop::collection::vec(prop::sample::select(vec![
            "SwitchName=", "BlockName=", "Nodes=", "Switches=", "LinkSpeed=", "Include", "s", "t", "[", "]", "0-3",
            "-", ",", "=", "\"", " ", "\n", "\n", "\\", "#", "é", "between blocks", "switch ", "9",
        ]), 0..40)) {
            let text = words.concat();
            if let Ok(graph) = parse_conf("t", &text) {
                graph.topology(&job("s t s1"));
            }
        }

        #[test]
        fn any_addresses_give_distances_or_nothing(texts in prop::collection::vec(
            prop::option::of("[ab.,\\[\\]0-9-]{0,12}"), 0..4
        )) {
            let nodes = job("a b a.b");
            if let Some(graph) = from_addresses(&nodes, &texts) {
                graph.topology(&nodes);
            }
        }
    }
}
