//! The topology file: how hosts and switches are cabled, or how far hosts are from each other.
//!
//! ```text
//! # Two leaf switches under a spine.
//! link  node1  leaf1        # one hop
//! link  node2  leaf1
//! link  node3  leaf2
//! link  leaf1  spine
//! link  leaf2  spine  3  40gbit   # a longer way: three hops
//! distance  node1  node3  9
//! ```
//!
//! - One statement a line, words separated by blanks; `#` starts a comment. Names are those that the job's
//!   hosts bear (what `MPI_Get_processor_name` or `hostname` prints); any other name is a switch, or a host
//!   that this job does not use.
//! - `link A B [HOPS] [RATE]`: a cable; HOPS is 1 when left out. The distance between two hosts is that of the
//!   shortest path: above, node1 and node2 are 2 hops apart. RATE is what it carries each second in each
//!   direction, such as `40gbit` or `200mbit`; 100gbit when left out.
//! - `distance A B HOPS`: the distance of two hosts, whatever the links say. At most one line a pair.
//! - HOPS is a whole number from 1 to 1000.
//!
//! How names match the job's hosts, and what happens to hosts that the file leaves out or does not join, is said
//! [there](super::graph).

use super::TopologyError;
use super::graph::{Cable, Graph};
use crate::units::Rate;

/// Long enough for any network, small enough that a path of dozens fits 16 bits.
const HOPS_MAX: u32 = 1000;

/// Parses the text of the file at `path` (for messages). Errors name the file, the line, what was expected, and the
/// line's text.
pub fn parse(path: &str, text: &str) -> Result<Graph, TopologyError> {
    let mut graph = Graph::new(&format!("topology file {path}"));
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        statement(&mut graph, &words, index + 1).map_err(|expected| TopologyError::Line {
            file: format!("topology file {path}"),
            line: index + 1,
            expected,
            text: line.trim().to_string(),
        })?;
    }
    Ok(graph)
}

/// Takes in one line; says what was expected when it cannot.
fn statement(graph: &mut Graph, words: &[&str], line: usize) -> Result<(), String> {
    let two = |graph: &mut Graph, a: &str, b: &str| match a == b {
        true => Err("two different names".to_string()),
        false => Ok((graph.vertex(a), graph.vertex(b))),
    };
    match *words {
        [] => Ok(()),
        ["link", a, b, ref rest @ ..] if rest.len() <= 2 => {
            let (hops, rate) = match *rest {
                [] => ("1", None),
                [rate] if rate.ends_with("bit") => ("1", Some(rate)),
                [hops, ref rate @ ..] => (hops, rate.first().copied()),
            };
            let cable = Cable {
                hops: whole_hops(hops)?,
                rate: rate.map_or(Ok(Rate::DEFAULT), |rate| rate.parse().map_err(|_| RATE.to_string()))?,
            };
            let (a, b) = two(graph, a, b)?;
            graph.link(a, b, cable);
            Ok(())
        }
        ["distance", a, b, hops] => {
            let hops = whole_hops(hops)?;
            let (a, b) = two(graph, a, b)?;
            let said = graph.set_distance(a, b, hops, line);
            said.map_err(|before| format!("one distance for this pair, which line {before} gave"))
        }
        ["link", ..] => Err("link A B [HOPS] [RATE]".to_string()),
        ["distance", ..] => Err("distance A B HOPS".to_string()),
        _ => Err("link A B [HOPS] [RATE] or distance A B HOPS".to_string()),
    }
}

const RATE: &str = "a rate like 40gbit, 2.5gbit or 200mbit (a second)";

fn whole_hops(text: &str) -> Result<u32, String> {
    Some(text)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|hops| (1..=HOPS_MAX).contains(hops))
        .ok_or_else(|| format!("a whole number of hops from 1 to {HOPS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NodeMap;
    use crate::units::{Hops, NodeId};

    /// The job's hosts, its hop table row by row above the diagonal, and the warnings.
    fn check(file: &str, hosts: &str, rows: &str) -> Vec<String> {
        let groups = hosts.split_whitespace().enumerate().map(|(rank, host)| (host.to_string(), rank as u64));
        let nodes = NodeMap::new(groups.collect());
        let (topology, warnings) = parse("racks", file).unwrap().topology(&nodes);
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
            ("link a b 5\nlink b a 2 1gbit\nlink a b 3", "a b", "2"),
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
            ("node1 leaf1", "link A B [HOPS] [RATE] or distance A B HOPS"),
            ("Link a b", "link A B [HOPS] [RATE] or distance A B HOPS"),
            ("link a", "link A B [HOPS] [RATE]"),
            ("link a b 1 2gbit 3", "link A B [HOPS] [RATE]"),
            ("link a b 1 2", "a rate like 40gbit, 2.5gbit or 200mbit (a second)"),
            ("link a b 0gbit", "a rate like 40gbit, 2.5gbit or 200mbit (a second)"),
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
            let error = parse("a/racks", &text).unwrap_err().to_string();
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
            let (topology, warnings) = parse("racks", &text).unwrap().topology(&nodes);
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
