//! The communication matrix (TATP, section 4.1), summed over each node's ranks.

use crate::units::{Bytes, NodeId};

/// What one node tells the others: one entry a domain in each list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRow {
    /// The bytes of each domain that the node's ranks hold (or want, in a read).
    pub bytes: Vec<Bytes>,
    /// The hop-bytes, in sixteenths, that the node's own data costs when the domain is served on the node by
    /// its best allowed rank: [`inside`](super::inside).
    pub inside: Vec<u64>,
}

impl NodeRow {
    /// The row as numbers for the other nodes. Domains of which the node holds nothing are left out when that
    /// is shorter, as it is for nodes that hold a slab of a file.
    ///
    /// The form is the number of entries, then either `domain, bytes, inside` for each, or, when there is one
    /// entry a domain, `bytes, inside` for each.
    pub fn encode(&self) -> Vec<u64> {
        assert_eq!(self.bytes.len(), self.inside.len(), "one entry a domain in each list");
        let domains = self.bytes.len();
        let entry = |&domain: &usize| self.bytes[domain] != 0 || self.inside[domain] != 0;
        let used: Vec<usize> = (0..domains).filter(entry).collect();
        let mut numbers = Vec::with_capacity(1 + 2 * domains);
        if 3 * used.len() < 2 * domains {
            numbers.push(used.len() as u64);
            used.iter().for_each(|&d| numbers.extend([d as u64, self.bytes[d], self.inside[d]]));
        } else {
            numbers.push(domains as u64);
            (0..domains).for_each(|d| numbers.extend([self.bytes[d], self.inside[d]]));
        }
        numbers
    }

    /// The row of `domains` domains that [`NodeRow::encode`] wrote; `None` for numbers that it cannot have
    /// written.
    pub fn decode(domains: usize, numbers: &[u64]) -> Option<NodeRow> {
        let (&count, entries) = numbers.split_first()?;
        let mut row = NodeRow { bytes: vec![0; domains], inside: vec![0; domains] };
        let count = usize::try_from(count).ok().filter(|&count| count <= domains)?;
        let width = if count == domains { 2 } else { 3 };
        if entries.len() != count * width {
            return None;
        }
        for (index, entry) in entries.chunks(width).enumerate() {
            let domain = if width == 2 { index } else { usize::try_from(entry[0]).ok()? };
            *row.bytes.get_mut(domain)? = entry[width - 2];
            row.inside[domain] = entry[width - 1];
        }
        Some(row)
    }
}

/// What one node holds of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// The node.
    pub node: NodeId,
    /// The bytes of the unit that its ranks hold.
    pub bytes: Bytes,
    /// The hop-bytes, in sixteenths, inside the node for these bytes, when it serves the unit itself.
    pub inside: u64,
}

/// The bytes of each unit (a file domain, or a stripe) on each node. Only entries that are not zero take memory: a unit
/// is seldom held by many nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMatrix {
    nodes: usize,
    /// Where the entries of each unit begin, and where the last ones end.
    starts: Vec<usize>,
    /// Unit by unit, the nodes ascending.
    entries: Vec<Held>,
}

impl NodeMatrix {
    /// The matrix of one row a node, in the order of nodes. Panics unless every row has `domains` entries.
    pub fn from_rows(domains: usize, rows: &[NodeRow]) -> NodeMatrix {
        for row in rows {
            assert_eq!((row.bytes.len(), row.inside.len()), (domains, domains), "one entry a domain");
        }
        NodeMatrix::from_units(
            rows.len(),
            (0..domains).map(|domain| {
                let held = |(node, row): (usize, &NodeRow)| Held {
                    node: NodeId::from_index(node),
                    bytes: row.bytes[domain],
                    inside: row.inside[domain],
                };
                rows.iter().enumerate().map(held).collect()
            }),
        )
    }

    /// The matrix of one list a unit. Panics for a node out of range or listed twice.
    pub fn from_units(nodes: usize, units: impl IntoIterator<Item = Vec<Held>>) -> NodeMatrix {
        let mut matrix = NodeMatrix { nodes, starts: vec![0], entries: Vec::new() };
        for mut unit in units {
            unit.retain(|held| held.bytes != 0 || held.inside != 0);
            unit.sort_unstable_by_key(|held| held.node);
            assert!(unit.windows(2).all(|pair| pair[0].node < pair[1].node), "one entry a node");
            assert!(unit.last().is_none_or(|held| held.node.index() < nodes), "a node of {nodes}");
            matrix.entries.extend(unit);
            matrix.starts.push(matrix.entries.len());
        }
        matrix
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of units.
    pub fn domains(&self) -> usize {
        self.starts.len() - 1
    }

    /// What the nodes hold of a unit, the nodes ascending; none that holds nothing. Panics out of range.
    pub fn held(&self, domain: usize) -> &[Held] {
        assert!(domain < self.domains(), "domain {domain} of {}", self.domains());
        &self.entries[self.starts[domain]..self.starts[domain + 1]]
    }

    /// The bytes of a unit that a node's ranks hold. Panics out of range.
    pub fn bytes(&self, node: NodeId, domain: usize) -> Bytes {
        self.entry(node, domain).map_or(0, |held| held.bytes)
    }

    /// The hop-bytes, in sixteenths, inside a node that serves a unit, for the node's own data. Panics out of range.
    pub fn inside(&self, node: NodeId, domain: usize) -> u64 {
        self.entry(node, domain).map_or(0, |held| held.inside)
    }

    fn entry(&self, node: NodeId, domain: usize) -> Option<Held> {
        assert!(node.index() < self.nodes, "node {node} of {}", self.nodes);
        let held = self.held(domain);
        held.binary_search_by_key(&node, |held| held.node).ok().map(|index| held[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_take_the_shorter_form() {
        let row = |bytes: &[u64], inside: &[u64]| NodeRow { bytes: bytes.to_vec(), inside: inside.to_vec() };
        for (row, expected) in [
            (row(&[], &[]), vec![0]),
            (row(&[7], &[3]), vec![1, 7, 3]),
            (row(&[0; 9], &[0; 9]), vec![0]),
            (row(&[0, 0, 7, 0], &[0, 0, 0, 0]), vec![1, 2, 7, 0]),
            (row(&[0, 5, 7], &[0, 1, 2]), vec![3, 0, 0, 5, 1, 7, 2]),
        ] {
            assert_eq!(row.encode(), expected, "{row:?}");
            assert_eq!(NodeRow::decode(row.bytes.len(), &expected), Some(row));
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        for (domains, numbers) in [
            (2, vec![]),
            (2, vec![3, 0, 0, 0, 0, 0, 0]),
            (2, vec![2, 0, 0]),
            (2, vec![1, 0, 0]),
            (2, vec![1, 2, 0, 0]),
            (2, vec![u64::MAX]),
            (0, vec![0, 0]),
        ] {
            assert_eq!(NodeRow::decode(domains, &numbers), None, "{numbers:?}");
        }
    }

    #[test]
    fn the_matrix_is_its_rows() {
        let rows = [vec![1, 2], vec![3, 4], vec![5, 6]].map(|bytes| NodeRow { bytes, inside: vec![8, 9] });
        let matrix = NodeMatrix::from_rows(2, &rows);
        assert_eq!((matrix.nodes(), matrix.domains()), (3, 2));
        assert_eq!((matrix.bytes(NodeId(1), 0), matrix.inside(NodeId(2), 1)), (3, 9));
    }

    proptest! {
        #[test]
        fn rows_survive_their_numbers(
            entries in prop::collection::vec((prop::option::of(any::<u64>()), 0..3u64), 0..40)
        ) {
            let (bytes, inside) = entries.into_iter().map(|(bytes, inside)| (bytes.unwrap_or(0), inside)).unzip();
            let row = NodeRow { bytes, inside };
            let numbers = row.encode();
            prop_assert!(numbers.len() <= 1 + 2 * row.bytes.len());
            prop_assert_eq!(NodeRow::decode(row.bytes.len(), &numbers), Some(row));
        }
    }
}
