//! Which processes may aggregate: ROMIO's hints `cb_nodes` and `cb_config_list`, with ROMIO's meaning.
//!
//! `cb_config_list` is a comma-separated list of `host:count`. The host is the name that
//! `MPI_Get_processor_name` gives, compared letter by letter, or `*` for every host that no entry before has
//! named; the count is how many processes of each such host may aggregate, `*` for all of them, and 1 when
//! left out. The leftmost entry of a host holds, so that `node7:0,*:2` leaves out node7. The default is
//! `*:1`.
//!
//! `cb_nodes` limits how many aggregate in all; without it, the list alone does. (So it is in ROMIO, where
//! the default of `cb_nodes` is the number of processes, and what is left of it after the list is reported.)
//!
//! Where tatpio departs from ROMIO: two nodes of one host name, which cannot share memory, each get the
//! count; a count that is no number is an error (ROMIO takes 1); and a list that no process matches leaves
//! rank 0 to aggregate, where ROMIO fails to open the file.

use crate::topology::NodeMap;
use crate::units::{NodeId, Rank};
use std::fmt;
use std::str::FromStr;

/// A parsed `cb_config_list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigList {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `None` for `*`.
    host: Option<String>,
    /// `None` for `*`.
    count: Option<u32>,
}

impl Default for ConfigList {
    /// One process on every host.
    fn default() -> ConfigList {
        ConfigList { entries: vec![Entry { host: None, count: Some(1) }] }
    }
}

impl FromStr for ConfigList {
    type Err = String;

    /// The list of a hint's value. The error says what was expected and names the part that is wrong.
    fn from_str(text: &str) -> Result<ConfigList, String> {
        // ROMIO takes a comma at the end in its stride.
        let list = text.trim().strip_suffix(',').unwrap_or(text.trim());
        let entry = |part: &str| {
            parse_entry(part.trim()).ok_or_else(|| {
                format!(
                    "cb_config_list \"{text}\": expected HOST, HOST:COUNT or HOST:*, with * for any HOST, \
                     found \"{part}\""
                )
            })
        };
        Ok(ConfigList { entries: list.split(',').map(entry).collect::<Result<_, _>>()? })
    }
}

fn parse_entry(part: &str) -> Option<Entry> {
    let (host, count) = part.split_once(':').unwrap_or((part, "1"));
    let (host, count) = (host.trim(), count.trim());
    let host = match host {
        "*" => None,
        _ if host.is_empty() || host.starts_with('*') => return None,
        _ => Some(host.to_string()),
    };
    let digits = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let count = match count {
        "*" => None,
        _ if digits => Some(count.parse().ok()?),
        _ => return None,
    };
    Some(Entry { host, count })
}

impl fmt::Display for ConfigList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}:", entry.host.as_deref().unwrap_or("*"))?;
            match entry.count {
                Some(count) => write!(f, "{count}")?,
                None => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

/// Who may aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// ROMIO's list of aggregators: entry by entry of `cb_config_list`, node by node, each node's lowest
    /// ranks; cut at `cb_nodes`. For `*:*` alone it goes by rank. There are at most as many file domains as
    /// it has entries.
    pub list: Vec<Rank>,
    /// The node of each entry of the list.
    pub list_nodes: Vec<NodeId>,
    /// How many domains each node may serve, `cb_nodes` aside: a strategy that looks at the topology picks
    /// the best of these, where ROMIO's list takes the first.
    pub slots: Vec<u32>,
    /// The ranks of each node that may aggregate, ascending: all of a node with slots, because any of them
    /// may fill one; none of another.
    pub allowed: Vec<Vec<Rank>>,
    /// Whether the list matched no process, so that rank 0 aggregates alone. The caller warns.
    pub fell_back: bool,
}

impl Candidates {
    /// The candidates that the two hints give. A `cb_nodes` of 0 counts as unset, as in ROMIO.
    pub fn new(map: &NodeMap, cb_nodes: Option<u32>, config: &ConfigList) -> Candidates {
        let chosen = choose(map, config);
        let mut slots = vec![0; map.len()];
        for &(node, count) in &chosen {
            slots[node.index()] = count;
        }
        let of_node = |&(node, count): &(NodeId, u32)| &map.ranks_of(node)[..count as usize];
        let mut list: Vec<Rank> = chosen.iter().flat_map(of_node).copied().collect();
        if config.entries == [Entry { host: None, count: None }] {
            list.sort_unstable();
        }
        let fell_back = list.is_empty() && !map.is_empty();
        if fell_back {
            list.push(Rank(0));
            slots[map.node_of(Rank(0)).index()] = 1;
        }
        let limit = cb_nodes.filter(|&limit| limit > 0).map_or(usize::MAX, |limit| limit as usize);
        list.truncate(limit);
        let allowed = |node: NodeId| match slots[node.index()] {
            0 => Vec::new(),
            _ => map.ranks_of(node).to_vec(),
        };
        Candidates {
            list_nodes: list.iter().map(|&rank| map.node_of(rank)).collect(),
            allowed: map.nodes().map(allowed).collect(),
            list,
            slots,
            fell_back,
        }
    }
}

/// The nodes that the list names, in its order, with their number of slots.
fn choose(map: &NodeMap, config: &ConfigList) -> Vec<(NodeId, u32)> {
    let mut chosen = Vec::new();
    let mut named = vec![false; map.len()];
    for entry in &config.entries {
        for node in map.nodes() {
            let matches = entry.host.as_deref().is_none_or(|host| host == map.host(node));
            if matches && !std::mem::replace(&mut named[node.index()], true) {
                let ranks = u32::try_from(map.ranks_of(node).len()).expect("ranks fit 32 bits");
                chosen.push((node, entry.count.unwrap_or(ranks).min(ranks)));
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_parse_and_print_back() {
        for (text, printed) in [
            ("*:1", "*:1"),
            ("*", "*:1"),
            ("*:*", "*:*"),
            ("a", "a:1"),
            ("a:*,b:3,*:0", "a:*,b:3,*:0"),
            (" a : 2 , * ", "a:2,*:1"),
            ("a,", "a:1"),
            ("n-1.x_y:02", "n-1.x_y:2"),
        ] {
            let list: ConfigList = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(list.to_string(), printed, "{text}");
            assert_eq!(printed.parse(), Ok(list));
        }
        assert_eq!(ConfigList::default().to_string(), "*:1");
    }

    #[test]
    fn errors_name_the_part_that_is_wrong() {
        for (text, part) in [
            ("", ""),
            (",", ""),
            ("a,,b", ""),
            ("a:1,b:x", "b:x"),
            ("a:-1", "a:-1"),
            ("a:+1", "a:+1"),
            ("a:", "a:"),
            (":2", ":2"),
            ("a:1:2", "a:1:2"),
            ("*a:1", "*a:1"),
            ("a:99999999999", "a:99999999999"),
        ] {
            let error = text.parse::<ConfigList>().unwrap_err();
            assert!(error.starts_with(&format!("cb_config_list \"{text}\": expected HOST")), "{error}");
            assert!(error.ends_with(&format!("found \"{part}\"")), "{error}");
        }
    }

    /// The host of each rank, `cb_config_list`, `cb_nodes` (0 for unset), and the expected list and slots.
    fn check(hosts: &str, config: &str, cb_nodes: u32, list: &[u32], slots: &[u32]) {
        let map = NodeMap::new(hosts.split_whitespace().map(|host| (host.to_string(), 0)).collect());
        let found = Candidates::new(&map, Some(cb_nodes), &config.parse().unwrap());
        let case = format!("{hosts} | {config} | {cb_nodes}");
        assert_eq!(found.list, list.iter().map(|&rank| Rank(rank)).collect::<Vec<_>>(), "{case}");
        assert_eq!(found.slots, slots, "{case}");
        assert!(!found.fell_back, "{case}");
        for node in map.nodes() {
            let allowed = if found.slots[node.index()] > 0 { map.ranks_of(node) } else { &[] };
            assert_eq!(found.allowed[node.index()], allowed, "{case}");
        }
        let nodes: Vec<NodeId> = found.list.iter().map(|&rank| map.node_of(rank)).collect();
        assert_eq!(found.list_nodes, nodes, "{case}");
        if cb_nodes == 0 {
            assert_eq!(found, Candidates::new(&map, None, &config.parse().unwrap()), "{case}");
        }
    }

    #[test]
    fn candidates_are_those_of_romio() {
        let hosts = "a a a b b c";
        for (config, cb_nodes, list, slots) in [
            ("*:1", 0, vec![0, 3, 5], [1, 1, 1]),
            ("*:1", 2, vec![0, 3], [1, 1, 1]),
            ("*:1", 9, vec![0, 3, 5], [1, 1, 1]),
            ("*:2", 0, vec![0, 1, 3, 4, 5], [2, 2, 1]),
            ("*:2", 3, vec![0, 1, 3], [2, 2, 1]),
            ("*:9", 0, vec![0, 1, 2, 3, 4, 5], [3, 2, 1]),
            ("*:*", 0, vec![0, 1, 2, 3, 4, 5], [3, 2, 1]),
            ("*:*", 4, vec![0, 1, 2, 3], [3, 2, 1]),
            ("b", 0, vec![3], [0, 1, 0]),
            ("c,a:2", 0, vec![5, 0, 1], [2, 0, 1]),
            ("b:*,*:1", 0, vec![3, 4, 0, 5], [1, 2, 1]),
            ("a:0,*:1", 0, vec![3, 5], [0, 1, 1]),
            // The leftmost entry of a host holds.
            ("a:1,a:3,*:0,b:1", 0, vec![0], [1, 0, 0]),
            ("*:1,a:3", 0, vec![0, 3, 5], [1, 1, 1]),
            ("x:5,c", 0, vec![5], [0, 0, 1]),
        ] {
            check(hosts, config, cb_nodes, &list, &slots);
        }
        // Ranks dealt out in turn.
        check("a b a b", "*:1", 0, &[0, 1], &[1, 1]);
        check("a b a b", "*:2", 0, &[0, 2, 1, 3], &[2, 2]);
        check("a b a b", "*:*", 0, &[0, 1, 2, 3], &[2, 2]);
        check("a b a b", "*:*", 3, &[0, 1, 2], &[2, 2]);
        check("a b a b", "b:*,*:*", 0, &[1, 3, 0, 2], &[2, 2]);
    }

    #[test]
    fn two_nodes_of_one_name_each_get_the_count() {
        let map = NodeMap::new([7, 7, 8, 8].map(|group| ("a".to_string(), group)).to_vec());
        let found = Candidates::new(&map, None, &"a:1".parse().unwrap());
        assert_eq!(found.list, [Rank(0), Rank(2)]);
    }

    #[test]
    fn a_list_that_matches_nothing_leaves_rank_0() {
        let map = NodeMap::emulated(4, 2);
        for config in ["x", "*:0", "node0:0,node1:0"] {
            for cb_nodes in [None, Some(3)] {
                let found = Candidates::new(&map, cb_nodes, &config.parse().unwrap());
                assert_eq!((&found.list[..], &found.slots[..]), (&[Rank(0)][..], &[1, 0][..]), "{config}");
                assert_eq!(found.allowed, [vec![Rank(0), Rank(1)], vec![]]);
                assert!(found.fell_back);
            }
        }
    }
}
