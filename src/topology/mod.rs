//! Where things are: which ranks share a node, how far nodes are from each other and over which links, and where a rank
//! sits in its node.
//!
//! A rank asks three questions, and each has one answer on every rank:
//!
//! - [`NodeMap`]: which node is a rank on? Built from host names and shared-memory groups.
//! - [`Topology`]: how many hops separate two nodes, and over which links of its [`Network`]? Resolved from the hint
//!   `tatpio_topology` ([`TopologySpec`]) by [`sources`]: an InfiniBand fabric, Slurm, a [topology file](mod@file), or a
//!   network that a few numbers describe.
//! - [`Place`]: how close are two ranks of one node? At most one hop, from what hwloc knows.

mod distances;
pub mod file;
pub mod graph;
#[cfg(feature = "hwloc")]
pub mod hwloc;
pub mod infiniband;
pub mod inside;
mod network;
mod nodes;
mod places;
pub mod slurm;
pub mod sources;
mod spec;
mod synthetic;

pub use distances::Topology;
pub use inside::{Place, between};
pub use network::{Link, Network, Ties, Ways};
pub use nodes::NodeMap;
pub use places::{NodePlaces, node_places};
pub use sources::{FilesOnly, Resolved, Surroundings, System};
pub use spec::{Shape, Synthetic, TopologySpec};

use std::fmt;
use std::io;

/// Why distances between nodes could not be had. The caller warns, and goes on with
/// [`TopologySpec::Automatic`].
#[derive(Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// A value of the hint that says nothing.
    Spec {
        /// The value.
        text: String,
        /// What would do.
        expected: String,
    },
    /// A synthetic network with fewer positions than the job has nodes.
    TooSmall {
        /// The value.
        text: String,
        /// How many nodes it places.
        positions: u64,
        /// How many nodes the job has.
        nodes: usize,
    },
    /// A file that describes the network could not be read.
    Read {
        /// Its path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A line that says nothing, in a file that describes the network.
    Line {
        /// What the file is, and its path: `topology file racks`.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What would do.
        expected: String,
        /// The line's text.
        text: String,
    },
    /// A command that failed, or a source that is not there.
    Command {
        /// What happened, and what to do.
        what: String,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::Spec { text, expected } => {
                write!(f, "tatpio_topology \"{text}\": expected {expected}")
            }
            TopologyError::TooSmall { text, positions, nodes } => write!(
                f,
                "tatpio_topology \"{text}\" places {positions} nodes and the job has {nodes}: \
                 give it larger sizes or more positions after @"
            ),
            TopologyError::Read { path, source } => {
                write!(f, "{path}, which was to describe the network, could not be read: {source}")
            }
            TopologyError::Line { file, line, expected, text } => {
                write!(f, "{file}, line {line}: expected {expected}, found \"{text}\"")
            }
            TopologyError::Command { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for TopologyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TopologyError::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
