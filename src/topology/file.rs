//! The topology file: how hosts and switches are cabled, or how far hosts are from each other.
//!
//! ```text
//! # Two leaf switches under a spine.
//! link  node1  leaf1        # one hop
//! link  node2  leaf1
//! link  node3  leaf2
//! link  leaf1  spine
//! link  leaf2  spine  3     # a longer way: three hops
//! distance  node1  node3  9
//! ```
//!
//! - One statement a line, words separated by blanks; `#` starts a comment. Names are those that the job's
//!   hosts bear (what `MPI_Get_processor_name` or `hostname` prints); any other name is a switch, or a host
//!   that this job does not use.
//! - `link A B [HOPS]`: a cable that both directions share; HOPS is 1 when left out. The distance between two
//!   hosts is that of the shortest path. Above, node1 and node2 are 2 hops apart.
//! - `distance A B HOPS`: the distance of two hosts, whatever the links say. At most one line a pair.
//! - HOPS is a whole number from 1 to 1000.
//! - A host of the job matches a name that is equal, or else the only name that is equal up to its first dot:
//!   `node1` and `node1.cluster` are one host. Numeric addresses match only as a whole.
//!
//! What the file leaves open is never a reason for an error. **Two hosts that the file joins by no path and
//! no distance line** are one hop farther apart than the farthest pair of the job that it does join: a cable
//! that was forgotten must not make a node look near. **Hosts that the file does not name** are one hop from
//! each other, since nothing tells them apart, and so are all hosts when it names none; from those that it
//! names they are as far as unjoined hosts are. Both cases come with a warning that names hosts.

use super::{NodeMap, Topology, TopologyError};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A parsed topology file.
#[derive(Clone, Debug)]
pub struct TopologyFile {
    path: String,
    names: BTreeMap<String, usize>,
    /// The neighbours of each name and the hops to them, each neighbour once.
    links: Vec<BTreeMap<usize, u32>>,
    /// Hops by pair, the smaller number first, and the line that said so.
    distances: BTreeMap<(usize, usize), (u32, usize)>,
}

/// Long enough for any network, small enough that a path of dozens fits 16 bits.
const HOPS_MAX: u32 = 1000;

/// How many hosts a warning names.
const NAMED_MAX: usize = 3;

/// What the file knows of a node of the job. Nodes that compare equal have the same distances to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seat {
    Unnamed,
    /// The name itself.
    At(usize),
    /// A host whose only cable leads to `switch`.
    Below {
        switch: usize,
        hops: u32,
    },
}

impl TopologyFile {
    /// Parses the text of the file at `path` (for messages). Errors name the file, the line, what was
    /// expected, and the line's text.
    pub fn parse(path: &str, text: &str) -> Result<TopologyFile, TopologyError> {
        let mut file = TopologyFile {
            path: path.to_string(),
            names: BTreeMap::new(),
            links: Vec::new(),
            distances: BTreeMap::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let statement = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = statement.split_whitespace().collect();
            file.statement(&words, index + 1).map_err(|expected| TopologyError::Line {
                path: path.to_string(),
                line: index + 1,
                expected,
                text: line.trim().to_string(),
            })?;
        }
        Ok(file)
    }

    /// Takes in one line; says what was expected when it cannot.
    fn statement(&mut self, words: &[&str], line: usize) -> Result<(), String> {
        let (keyword, a, b, hops) = match *words {
            [] => return Ok(()),
            ["link", a, b] => ("link", a, b, "1"),
            [keyword @ ("link" | "distance"), a, b, hops] => (keyword, a, b, hops),
            ["link", ..] => return Err("link A B [HOPS]".to_string()),
            ["distance", ..] => return Err("distance A B HOPS".to_string()),
            _ => return Err("link A B [HOPS] or distance A B HOPS".to_string()),
        };
        let hops = Some(hops)
            .filter(|hops| hops.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|hops| hops.parse().ok())
            .filter(|hops| (1..=HOPS_MAX).contains(hops))
            .ok_or_else(|| format!("a whole number of hops from 1 to {HOPS_MAX}"))?;
        if a == b {
            return Err("two different names".to_string());
        }
        let (a, b) = (self.number(a), self.number(b));
        if keyword == "link" {
            // Of several cables between two switches the shortest counts.
            for (from, to) in [(a, b), (b, a)] {
                let known = self.links[from].entry(to).or_insert(hops);
                *known = hops.min(*known);
            }
            return Ok(());
        }
        match self.distances.insert((a.min(b), a.max(b)), (hops, line)) {
            Some((_, before)) => Err(format!("one distance for this pair, which line {before} gave")),
            None => Ok(()),
        }
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        self.links.push(BTreeMap::new());
        self.names.insert(name.to_string(), self.links.len() - 1);
        self.links.len() - 1
    }

    /// The distances between the job's nodes, and warnings for people. Two nodes of one host are one hop
    /// apart.
    pub fn distances(&self, nodes: &NodeMap) -> (Topology, Vec<String>) {
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
        let topology = Topology::from_classes(&seats, |&a, &b| match (a, b) {
            (Seat::Unnamed, Seat::Unnamed) => 1,
            _ => joined.get(&(a.min(b), a.max(b))).copied().unwrap_or(unjoined),
        });
        let mut warnings = Vec::new();
        warnings.extend(self.warn_unnamed(&members, unjoined));
        warnings.extend(self.warn_unjoined(&members, &joined, unjoined));
        (topology, warnings)
    }

    /// What the file knows of each node of the job.
    fn seats(&self, nodes: &NodeMap) -> Vec<Seat> {
        let mut short_names: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (name, &number) in &self.names {
            short_names.entry(short(name)).and_modify(|only| *only = None).or_insert(Some(number));
        }
        let find = |host: &str| {
            self.names.get(host).copied().or_else(|| short_names.get(short(host)).copied().flatten())
        };
        let numbers: Vec<Option<usize>> = nodes.nodes().map(|node| find(nodes.host(node))).collect();
        let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
        for &number in numbers.iter().flatten() {
            *uses.entry(number).or_default() += 1;
        }
        let with_distance: Vec<bool> = {
            let mut with_distance = vec![false; self.links.len()];
            for &(a, b) in self.distances.keys() {
                (with_distance[a], with_distance[b]) = (true, true);
            }
            with_distance
        };
        let seat = |number: usize| match self.links[number].first_key_value() {
            // A cable between two hosts that have no other is no switch's: each then stays where it is. So
            // does a host that several nodes share, and one that a distance line sets apart from its
            // neighbours.
            Some((&switch, &hops))
                if self.links[number].len() == 1
                    && self.links[switch].len() > 1
                    && uses[&number] == 1
                    && !with_distance[number] =>
            {
                Seat::Below { switch, hops }
            }
            _ => Seat::At(number),
        };
        numbers.into_iter().map(|number| number.map_or(Seat::Unnamed, seat)).collect()
    }

    /// The hops between the seats that a path or a distance line joins, the smaller seat first; a seat paired
    /// with itself stands for different nodes on it.
    fn joined(&self, members: &BTreeMap<Seat, Vec<&str>>) -> BTreeMap<(Seat, Seat), u16> {
        let mut joined = BTreeMap::new();
        let mut paths: BTreeMap<usize, Vec<Option<u32>>> = BTreeMap::new();
        for &a in members.keys() {
            let Some((from, first)) = a.vertex() else { continue };
            let paths = paths.entry(from).or_insert_with(|| self.paths(from));
            for &b in members.keys().filter(|&&b| b >= a) {
                let Some((to, last)) = b.vertex() else { continue };
                let said = self.distances.get(&(from.min(to), from.max(to)));
                let said = said.filter(|_| matches!((a, b), (Seat::At(_), Seat::At(_))));
                let path = paths[to].map(|hops| first.saturating_add(hops).saturating_add(last).max(1));
                if let Some(hops) = said.map(|&(hops, _)| hops).or(path) {
                    joined.insert((a, b), u16::try_from(hops).unwrap_or(u16::MAX));
                }
            }
        }
        joined
    }

    /// The hops of the shortest path from one name to every other, where there is one (Dijkstra).
    fn paths(&self, from: usize) -> Vec<Option<u32>> {
        let mut best = vec![None; self.links.len()];
        let mut queue = BinaryHeap::from([Reverse((0u32, from))]);
        while let Some(Reverse((hops, at))) = queue.pop() {
            if best[at].is_some() {
                continue;
            }
            best[at] = Some(hops);
            for (&next, &link) in self.links[at].iter().filter(|&(&next, _)| best[next].is_none()) {
                queue.push(Reverse((hops.saturating_add(link), next)));
            }
        }
        best
    }

    fn warn_unnamed(&self, members: &BTreeMap<Seat, Vec<&str>>, unjoined: u16) -> Option<String> {
        let hosts = members.get(&Seat::Unnamed)?;
        let rest = match members.len() {
            1 => String::new(),
            _ => format!(" and {unjoined} from the others"),
        };
        Some(format!(
            "topology file {} does not name these hosts of the job: {}; \
             they are taken to be one hop from each other{rest}",
            self.path,
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
                "topology file {} joins these hosts of the job by no path and no distance: {}{more}; \
                 they are taken to be {unjoined} hops apart",
                self.path,
                pairs.join(", ")
            )
        })
    }
}

impl Seat {
    /// The name to start paths from, and the hops to get there.
    fn vertex(self) -> Option<(usize, u32)> {
        match self {
            Seat::Unnamed => None,
            Seat::At(number) => Some((number, 0)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Hops, NodeId};

    /// The job's hosts, its hop table row by row above the diagonal, and the warnings.
    fn check(file: &str, hosts: &str, rows: &str) -> Vec<String> {
        let groups = hosts.split_whitespace().enumerate().map(|(rank, host)| (host.to_string(), rank as u64));
        let nodes = NodeMap::new(groups.collect());
        let file = TopologyFile::parse("racks", file).unwrap();
        let (topology, warnings) = file.distances(&nodes);
        let mut found = Vec::new();
        for a in nodes.nodes() {
            let row: Vec<String> = nodes
                .nodes()
                .filter(|&b| b > a)
                .map(|b| {
                    assert_eq!(topology.distance(a, b), topology.distance(b, a));
                    (topology.distance(a, b).0 / Hops::PER_HOP).to_string()
                })
                .collect();
            found.push(row.join(" "));
        }
        found.pop();
        assert_eq!(found.join(" | "), rows, "hosts {hosts}");
        warnings
    }

    const EXAMPLE: &str = "
        # Two leaf switches under a spine.
        link  node1  leaf1        # one hop
        link  node2  leaf1
        link  node3  leaf2
        link  leaf1  spine
        link  leaf2  spine  3     # a longer way
        distance  node1  node3  9
    ";

    #[test]
    fn the_example_of_the_documentation() {
        assert!(check(EXAMPLE, "node1 node2 node3", "2 9 | 6").is_empty());
        assert!(check(EXAMPLE, "node3 node2", "6").is_empty());
    }

    #[test]
    fn shortest_paths() {
        for (file, hosts, rows) in [
            // Parallel cables, the shortest counts, in either order.
            ("link a b 5\nlink b a 2\nlink a b 3", "a b", "2"),
            // A ring of four hosts, no switches.
            ("link a b\nlink b c\nlink c d\nlink d a", "a b c d", "1 2 1 | 1 2 | 1"),
            // Two ways, the longer in cables is the shorter in hops.
            ("link a s 9\nlink s b 9\nlink a t\nlink t u\nlink u b", "a b", "3"),
            // Hosts below a host: it acts as a switch and is itself in the job.
            ("link a h\nlink b h 4\nlink h c", "a b c h", "5 2 1 | 5 4 | 1"),
            // Two hosts on one cable.
            ("link a b 7", "a b", "7"),
            // Distance lines alone.
            ("distance a b 2\ndistance c b 3\ndistance a c 4", "a b c", "2 4 | 3"),
            // A distance line beats a shorter path; it does not shorten other paths.
            ("link a s\nlink b s\nlink c s\ndistance a b 8", "a b c", "8 2 | 2"),
            // Names match without their domain when that is not ambiguous.
            ("link a.x s\nlink b s 2", "a b.y", "3"),
            ("link a.x s\nlink a.y s 2\nlink b s", "a.y b", "3"),
        ] {
            let warnings = check(file, hosts, rows);
            assert!(warnings.is_empty(), "{file}: {warnings:?}");
        }
    }

    #[test]
    fn two_nodes_of_one_host_are_one_hop_apart() {
        assert!(check("link a s 3\nlink b s 3", "a a b", "1 6 | 6").is_empty());
    }

    #[test]
    fn unnamed_hosts_are_warned_of() {
        let unnamed = |list: &str, rest: &str| {
            format!(
                "topology file racks does not name these hosts of the job: {list}; \
                 they are taken to be one hop from each other{rest}"
            )
        };
        let file = "link a s\nlink b s";
        assert_eq!(check(file, "a x b y", "3 2 3 | 3 1 | 3"), [unnamed("x, y", " and 3 from the others")]);
        // Nothing that the file joins: one hop throughout.
        assert_eq!(check(file, "x a", "1"), [unnamed("x", " and 1 from the others")]);
        assert_eq!(
            check(file, "v w x y z", "1 1 1 1 | 1 1 1 | 1 1 | 1"),
            [unnamed("v, w, x and 2 more", "")]
        );
        // Two names match without a domain: neither does. Addresses have no domain.
        assert_eq!(check("link a.x s\nlink a.y s\nlink b s", "a b", "1").len(), 1);
        assert_eq!(check("link 10.0.0.1 s\nlink b s", "10.0.0.2 b", "1").len(), 1);
        assert_eq!(check("", "a b", "1").len(), 1);
    }

    #[test]
    fn unjoined_hosts_are_warned_of() {
        let file = "link a s\nlink b s 4\nlink c t\nlink d t";
        assert_eq!(
            check(file, "a b c d", "5 6 6 | 6 6 | 2"),
            ["topology file racks joins these hosts of the job by no path and no distance: \
              a and c, b and c (2 more pairs); they are taken to be 6 hops apart"]
        );
        // Only the job's own pairs count for the farthest.
        assert_eq!(check(file, "a c d", "3 3 | 2").len(), 1);
        assert_eq!(check("distance a b 5\ndistance c b 2", "a b c", "5 6 | 2").len(), 1);
    }

    #[test]
    fn bad_lines_are_shown() {
        for (line, expected) in [
            ("node1 leaf1", "link A B [HOPS] or distance A B HOPS"),
            ("Link a b", "link A B [HOPS] or distance A B HOPS"),
            ("link a", "link A B [HOPS]"),
            ("link a b 1 2", "link A B [HOPS]"),
            ("link a b one", "a whole number of hops from 1 to 1000"),
            ("link a b 0", "a whole number of hops from 1 to 1000"),
            ("link a b 1001", "a whole number of hops from 1 to 1000"),
            ("link a b -1", "a whole number of hops from 1 to 1000"),
            ("link a b 1.5", "a whole number of hops from 1 to 1000"),
            ("link a a", "two different names"),
            ("distance a b", "distance A B HOPS"),
            ("distance q p 3", "one distance for this pair, which line 2 gave"),
        ] {
            let text = format!("link x y # fine\ndistance p q 4\n\n  {line}  \nlink bad");
            let error = TopologyFile::parse("a/racks", &text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("topology file a/racks, line 4: expected {expected}, found \"{line}\"")
            );
        }
    }

    /// Random networks against Floyd and Warshall on the full matrix.
    #[test]
    fn distances_equal_those_of_the_naive_twin() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for case in 0..400 {
            let (hosts, switches) = (1 + random(6), 1 + random(4));
            let names = hosts + switches;
            let mut table = vec![vec![None::<u32>; names]; names];
            (0..names).for_each(|name| table[name][name] = Some(0));
            let mut text = String::new();
            for _ in 0..random(names * 2) {
                let (a, b, hops) = (random(names), random(names), 1 + random(4) as u32);
                if a != b {
                    text += &format!("link n{a} n{b} {hops}\n");
                    let least = table[a][b].map_or(hops, |known| known.min(hops));
                    (table[a][b], table[b][a]) = (Some(least), Some(least));
                }
            }
            for via in 0..names {
                for a in 0..names {
                    for b in 0..names {
                        let path = table[a][via].zip(table[via][b]).map(|(a, b)| a + b);
                        table[a][b] = table[a][b].into_iter().chain(path).min();
                    }
                }
            }
            let mut said = vec![vec![false; names]; names];
            for _ in 0..random(3) {
                let (a, b, hops) = (random(hosts), random(hosts), 1 + random(9) as u32);
                if a != b && !said[a][b] {
                    text += &format!("distance n{a} n{b} {hops}\n");
                    (said[a][b], said[b][a]) = (true, true);
                    (table[a][b], table[b][a]) = (Some(hops), Some(hops));
                }
            }
            let named = |host: usize| text.split_whitespace().any(|word| word == format!("n{host}"));
            let farthest = (0..hosts).flat_map(|a| table[a][..hosts].iter().flatten()).max();
            let unjoined = farthest.unwrap_or(&0) + 1;
            let nodes = NodeMap::new((0..hosts).map(|host| (format!("n{host}"), 0)).collect());
            let (topology, warnings) = TopologyFile::parse("racks", &text).unwrap().distances(&nodes);
            let mut open = false;
            for (a, row) in table.iter().enumerate().take(hosts) {
                for b in (0..hosts).filter(|&b| b != a) {
                    let expected = match row[b] {
                        Some(hops) => hops,
                        None if !named(a) && !named(b) => 1,
                        None => unjoined,
                    };
                    open |= row[b].is_none();
                    let found = topology.distance(NodeId::from_index(a), NodeId::from_index(b));
                    assert_eq!(
                        found,
                        Hops::whole(expected),
                        "case {case}: n{a} n{b} of {hosts} hosts\n{text}"
                    );
                }
            }
            assert_eq!(
                open || (0..hosts).any(|host| !named(host)),
                !warnings.is_empty(),
                "case {case}\n{text}"
            );
        }
    }
}
