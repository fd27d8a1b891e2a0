//! Which rank is on which node.

use crate::units::{NodeId, Rank};
use std::collections::BTreeMap;

/// The ranks of a communicator, grouped by node. Every rank holds the same map.
///
/// Two ranks are on one node if and only if their host names and their shared-memory groups are both equal:
/// ranks of one host in two containers cannot share memory, and two hosts may bear one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    node_of: Vec<NodeId>,
    local_index: Vec<u32>,
    ranks: Vec<Vec<Rank>>,
    hosts: Vec<String>,
}

impl NodeMap {
    /// The map of ranks whose host name and shared-memory group are given, one entry a rank. Nodes are
    /// numbered by their lowest rank.
    pub fn new(hosts: Vec<(String, u64)>) -> NodeMap {
        let mut map = NodeMap {
            node_of: Vec::with_capacity(hosts.len()),
            local_index: Vec::with_capacity(hosts.len()),
            ranks: Vec::new(),
            hosts: Vec::new(),
        };
        let mut known: BTreeMap<(String, u64), NodeId> = BTreeMap::new();
        for (index, key) in hosts.into_iter().enumerate() {
            let node = *known.entry(key).or_insert_with_key(|(host, _)| {
                map.hosts.push(host.clone());
                map.ranks.push(Vec::new());
                NodeId::from_index(map.hosts.len() - 1)
            });
            let ranks = &mut map.ranks[node.index()];
            map.local_index.push(u32::try_from(ranks.len()).expect("ranks fit 32 bits"));
            ranks.push(Rank::from_index(index));
            map.node_of.push(node);
        }
        map
    }

    /// A testing aid: `ranks` ranks in blocks of `ranks_per_node`, on hosts `node0`, `node1` and so on.
    ///
    /// Panics when `ranks_per_node` is 0.
    pub fn emulated(ranks: u32, ranks_per_node: u32) -> NodeMap {
        assert!(ranks_per_node > 0, "a node holds at least one rank");
        NodeMap::new((0..ranks).map(|rank| (format!("node{}", rank / ranks_per_node), 0)).collect())
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is no rank at all.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The number of ranks.
    pub fn rank_count(&self) -> usize {
        self.node_of.len()
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.hosts.len()).map(NodeId::from_index)
    }

    /// The node that holds a rank. Panics for a rank that is not in the map.
    pub fn node_of(&self, rank: Rank) -> NodeId {
        self.node_of[rank.index()]
    }

    /// A rank's position among its node's ranks, from 0. Panics for a rank that is not in the map.
    pub fn local_index(&self, rank: Rank) -> usize {
        self.local_index[rank.index()] as usize
    }

    /// A node's ranks, ascending; never empty. Panics for a node that is not in the map.
    pub fn ranks_of(&self, node: NodeId) -> &[Rank] {
        &self.ranks[node.index()]
    }

    /// A node's host name. Panics for a node that is not in the map.
    pub fn host(&self, node: NodeId) -> &str {
        &self.hosts[node.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nodes of `text`, ranks as `host` or `host/group`, shown as `host:rank rank | host:rank`.
    fn show(text: &str) -> String {
        let hosts = text
            .split_whitespace()
            .map(|rank| match rank.split_once('/') {
                Some((host, group)) => (host.to_string(), group.parse().unwrap()),
                None => (rank.to_string(), 0),
            })
            .collect();
        let map = NodeMap::new(hosts);
        for node in map.nodes() {
            for (local, &rank) in map.ranks_of(node).iter().enumerate() {
                assert_eq!(map.node_of(rank), node, "{text}: rank {rank}");
                assert_eq!(map.local_index(rank), local, "{text}: rank {rank}");
            }
        }
        assert_eq!(
            map.rank_count(),
            map.nodes().map(|node| map.ranks_of(node).len()).sum::<usize>(),
            "{text}"
        );
        let one = |node| {
            let ranks: Vec<String> = map.ranks_of(node).iter().map(|rank| rank.to_string()).collect();
            format!("{}:{}", map.host(node), ranks.join(" "))
        };
        map.nodes().map(one).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn nodes_are_numbered_by_their_lowest_rank() {
        for (ranks, expected) in [
            ("", ""),
            ("b", "b:0"),
            ("b b a a", "b:0 1 | a:2 3"),
            ("b a b a", "b:0 2 | a:1 3"),
            ("c b a", "c:0 | b:1 | a:2"),
            // One host, two groups that do not share memory: two nodes of one name.
            ("x/7 x/3 x/7", "x:0 2 | x:1"),
            // One group number on two hosts: two nodes.
            ("x/7 y/7", "x:0 | y:1"),
        ] {
            assert_eq!(show(ranks), expected, "{ranks}");
        }
    }

    #[test]
    fn emulated_nodes_are_blocks() {
        let map = NodeMap::emulated(5, 2);
        assert_eq!(map.len(), 3);
        assert_eq!(map.host(NodeId(2)), "node2");
        assert_eq!(map.ranks_of(NodeId(1)), [Rank(2), Rank(3)]);
        assert_eq!(map.ranks_of(NodeId(2)), [Rank(4)]);
        assert!(NodeMap::emulated(0, 4).is_empty());
    }
}
