//! From the hint `tatpio_topology` to distances.
//!
//! `automatic` takes the first of these that says where every node is, those that cost nothing first:
//!
//! 1. `SLURM_TOPOLOGY_ADDR`, which Slurm sets for every process when it knows the network;
//! 2. Slurm's `topology.conf`, in the directory of `SLURM_CONF` or where Slurm is usually configured;
//! 3. `ibnetdiscover`, when this machine has an InfiniBand device. It needs access to `/dev/infiniband/umad*`, which
//!    ordinary users seldom have: run it once as root and pass its output as `infiniband:PATH`.
//!
//! Else all nodes are one hop from each other. A job on one node asks nothing.

use super::spec::Synthetic;
use super::{NodeMap, Topology, TopologyError, TopologySpec, file, infiniband, slurm, synthetic};
use crate::units::NodeId;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What topology is asked of, apart from the hint. Tests put their own in its place.
pub trait Surroundings {
    /// The text of a file.
    fn read(&self, path: &str) -> io::Result<String>;

    /// What `ibnetdiscover` prints; or why not, in words for people.
    fn ibnetdiscover(&self) -> Result<String, String>;

    /// Whether this machine has an InfiniBand device.
    fn has_infiniband(&self) -> bool;

    /// `SLURM_TOPOLOGY_ADDR` of the processes of a node.
    fn slurm_address(&self, node: NodeId) -> Option<String>;

    /// The path of Slurm's `topology.conf`.
    fn topology_conf(&self) -> Option<String>;
}

/// The surroundings of this process.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// By node: `SLURM_TOPOLOGY_ADDR`.
    pub slurm_addresses: Vec<Option<String>>,
}

/// How long `ibnetdiscover` may take. Every port of a fabric is asked over the network, about 50 microseconds each.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(20);

impl Surroundings for System {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn ibnetdiscover(&self) -> Result<String, String> {
        // A fabric does not change while a program runs, and it is slow to ask.
        static FOUND: Mutex<Option<Result<String, String>>> = Mutex::new(None);
        let mut found = FOUND.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        found.get_or_insert_with(|| infiniband::discover("ibnetdiscover", DISCOVERY_LIMIT)).clone()
    }

    fn has_infiniband(&self) -> bool {
        let devices = std::fs::read_dir("/sys/class/infiniband");
        devices.is_ok_and(|mut devices| devices.next().is_some())
            || std::env::var_os("TATPIO_IBNETDISCOVER").is_some()
    }

    fn slurm_address(&self, node: NodeId) -> Option<String> {
        self.slurm_addresses.get(node.index()).cloned().flatten()
    }

    fn topology_conf(&self) -> Option<String> {
        slurm::find_conf().map(|path| path.display().to_string())
    }
}

/// Distances, and where they come from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The distances.
    pub topology: Topology,
    /// In the form of the hint, with what `automatic` came to in brackets.
    pub source: String,
    /// For people, one line each.
    pub warnings: Vec<String>,
}

impl Topology {
    /// The distances that `spec` gives the job's nodes, and warnings for people (one line each).
    ///
    /// Ranks must agree: let one rank resolve and tell the others.
    ///
    /// Errors: a file that cannot be read, a bad line in it, a command that fails, a synthetic network too small for the
    /// job.
    pub fn resolve(
        spec: &TopologySpec,
        nodes: &NodeMap,
        around: &dyn Surroundings,
    ) -> Result<Resolved, TopologyError> {
        let resolved = |(topology, warnings): (Topology, Vec<String>)| Resolved {
            topology,
            source: spec.to_string(),
            warnings,
        };
        let text = |path: &str| {
            around.read(path).map_err(|source| TopologyError::Read { path: path.to_string(), source })
        };
        Ok(match spec {
            TopologySpec::Automatic => automatic(nodes, around),
            TopologySpec::Flat => resolved((Topology::flat(nodes.len()), Vec::new())),
            TopologySpec::File(path) => resolved(file::parse(path, &text(path)?)?.topology(nodes)),
            TopologySpec::Infiniband { fabric, routes } => {
                let (name, found) = match fabric {
                    Some(path) => (format!("ibnetdiscover output {path}"), text(path)?),
                    None => {
                        let found = around.ibnetdiscover();
                        ("ibnetdiscover".to_string(), found.map_err(|what| TopologyError::Command { what })?)
                    }
                };
                let mut fabric = infiniband::parse(&name, &found)?;
                if let Some(path) = routes {
                    fabric.add_routes(&format!("forwarding tables {path}"), &text(path)?)?;
                }
                resolved(fabric.topology(nodes))
            }
            TopologySpec::Slurm(Some(path)) => {
                resolved(slurm::parse_conf(&format!("topology.conf {path}"), &text(path)?)?.topology(nodes))
            }
            TopologySpec::Slurm(None) => match slurm_itself(nodes, around) {
                Some(found) => found,
                None => {
                    let what = "Slurm says nothing of the network: SLURM_TOPOLOGY_ADDR is not set, or names no \
                                switch, and there is no topology.conf; name one with tatpio_topology=slurm:PATH"
                        .to_string();
                    return Err(TopologyError::Command { what });
                }
            },
            TopologySpec::Synthetic(network) => {
                let positions = place(spec, network, nodes.len())?;
                resolved((synthetic::topology(network, &positions, nodes), Vec::new()))
            }
        })
    }
}

/// What [`Topology::resolve`] found for this hint and these nodes, now or before in this process, so that opening one file
/// after another asks nothing anew. A hint that cannot be followed is a warning, and `automatic` takes its place.
pub fn resolve_once(spec: &TopologySpec, nodes: &NodeMap, around: System) -> Arc<Resolved> {
    type Known = (TopologySpec, NodeMap, Vec<Option<String>>, Arc<Resolved>);
    static KNOWN: Mutex<VecDeque<Known>> = Mutex::new(VecDeque::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let same = |known: &&Known| known.0 == *spec && known.1 == *nodes && known.2 == around.slurm_addresses;
    if let Some((_, _, _, resolved)) = known.iter().find(same) {
        return Arc::clone(resolved);
    }
    let resolved = Topology::resolve(spec, nodes, &around).unwrap_or_else(|error| {
        log::warn!("{error}; going on with tatpio_topology=automatic");
        automatic(nodes, &around)
    });
    resolved.warnings.iter().for_each(|warning| log::warn!("{warning}"));
    let resolved = Arc::new(resolved);
    known.truncate(KNOWN_MAX - 1);
    known.push_front((spec.clone(), nodes.clone(), around.slurm_addresses, Arc::clone(&resolved)));
    resolved
}

/// Files of several communicators may be open at once, but few hints are in use.
const KNOWN_MAX: usize = 8;

/// The first source that is there.
fn automatic(nodes: &NodeMap, around: &dyn Surroundings) -> Resolved {
    if nodes.len() <= 1 {
        let topology = Topology::flat(nodes.len());
        return Resolved { topology, source: "automatic (one node)".into(), warnings: Vec::new() };
    }
    if let Some(found) = slurm_itself(nodes, around) {
        return Resolved { source: format!("automatic ({})", found.source), ..found };
    }
    let mut warnings = Vec::new();
    if around.has_infiniband() {
        let live = TopologySpec::Infiniband { fabric: None, routes: None };
        match Topology::resolve(&live, nodes, around) {
            Ok(found) => return Resolved { source: "automatic (infiniband)".into(), ..found },
            Err(error) => warnings.push(format!("{error}; nodes are taken to be one hop from each other")),
        }
    }
    Resolved { topology: Topology::flat(nodes.len()), source: "automatic (flat)".into(), warnings }
}

/// What Slurm says in the environment or in its usual file. A file that cannot be used is a warning: nobody named it.
fn slurm_itself(nodes: &NodeMap, around: &dyn Surroundings) -> Option<Resolved> {
    let addresses: Vec<Option<String>> = nodes.nodes().map(|node| around.slurm_address(node)).collect();
    if let Some(graph) = slurm::from_addresses(nodes, &addresses) {
        let (topology, warnings) = graph.topology(nodes);
        return Some(Resolved { topology, source: "slurm: SLURM_TOPOLOGY_ADDR".into(), warnings });
    }
    let path = around.topology_conf()?;
    match Topology::resolve(&TopologySpec::Slurm(Some(path)), nodes, around) {
        Ok(found) => Some(found),
        Err(error) => {
            log::warn!("{error}; it is left out");
            None
        }
    }
}

/// The positions of the job's nodes in a synthetic network.
fn place(spec: &TopologySpec, network: &Synthetic, nodes: usize) -> Result<Vec<u32>, TopologyError> {
    let positions = network.at.as_ref().map_or(network.positions(), |at| at.len() as u64);
    if (nodes as u64) > positions {
        return Err(TopologyError::TooSmall { text: spec.to_string(), positions, nodes });
    }
    let in_order = || (0..nodes).map(|node| NodeId::from_index(node).0).collect();
    Ok(network.at.as_ref().map_or_else(in_order, |at| at[..nodes].to_vec()))
}

/// Surroundings in which there is nothing but files.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilesOnly;

impl Surroundings for FilesOnly {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(Path::new(path))
    }

    fn ibnetdiscover(&self) -> Result<String, String> {
        Err("ibnetdiscover is not run here: pass its saved output as infiniband:PATH".into())
    }

    fn has_infiniband(&self) -> bool {
        false
    }

    fn slurm_address(&self, _: NodeId) -> Option<String> {
        None
    }

    fn topology_conf(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, HopBytes, Hops};

    fn resolve(spec: &str, nodes: u32) -> Topology {
        let nodes = NodeMap::emulated(nodes, 1);
        let found = Topology::resolve(&spec.parse().unwrap(), &nodes, &FilesOnly).unwrap();
        assert!(found.warnings.is_empty(), "{spec}: {:?}", found.warnings);
        found.topology
    }

    fn hops(topology: &Topology, a: usize, b: usize) -> u32 {
        let distance = topology.distance(NodeId::from_index(a), NodeId::from_index(b));
        assert_eq!(distance.0 % Hops::PER_HOP, 0);
        distance.0 / Hops::PER_HOP
    }

    #[test]
    fn synthetic_distances() {
        for (spec, row) in [
            ("automatic", vec![0, 1, 1, 1]),
            ("flat", vec![0, 1, 1, 1]),
            ("tree:4", vec![0, 2, 2, 2]),
            ("tree:2,2", vec![0, 2, 4, 4]),
            ("tree:2,2,2", vec![0, 2, 4, 4, 6, 6, 6, 6]),
            ("tree:3,1,2", vec![0, 2, 6, 6, 6, 6]),
            ("tree:2,2@0,3,1,2", vec![0, 4, 2, 4]),
            ("fat-tree:2", vec![0, 6]),
            ("fat-tree:4", vec![0, 2, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]),
            ("fat-tree:2,1,3", vec![0, 2, 2, 6, 6, 6]),
            ("torus:5", vec![0, 1, 2, 2, 1]),
            ("torus:2,4", vec![0, 1, 2, 1, 1, 2, 3, 2]),
            ("torus:4,4@5,0-3", vec![0, 2, 1, 2, 3]),
            ("torus:1,1,3", vec![0, 1, 1]),
        ] {
            let topology = resolve(spec, u32::try_from(row.len()).unwrap());
            let found: Vec<u32> = (0..row.len()).map(|node| hops(&topology, 0, node)).collect();
            assert_eq!(found, row, "{spec}");
        }
    }

    #[test]
    fn the_racks_of_the_paper() {
        // The Inspur cluster of section 5.1: 4 racks of 20 nodes.
        let topology = resolve("tree:4,20", 80);
        assert_eq!(hops(&topology, 0, 19), 2);
        assert_eq!(hops(&topology, 0, 20), 4);
        assert_eq!(hops(&topology, 20, 39), 2);
        assert_eq!(hops(&topology, 60, 19), 4);
    }

    #[test]
    fn distances_are_symmetric_whole_and_at_least_one_hop() {
        for spec in
            ["flat", "tree:3,2,5", "fat-tree:4@1,2,3,5,7,11,13,8,0", "torus:3,4,2", "torus:9@8,7,6,5,0-4"]
        {
            let topology = resolve(spec, 9);
            for a in 0..9 {
                for b in 0..9 {
                    assert_eq!(hops(&topology, a, b), hops(&topology, b, a), "{spec}: {a} {b}");
                    assert_eq!(hops(&topology, a, b) == 0, a == b, "{spec}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn gather_costs_are_the_inner_products() {
        // Different volumes, some empty, one that overflows 64 bits when multiplied.
        let volume: Vec<Bytes> =
            (0..12).map(|node| [0, 7, u64::MAX, 1, 4096][node % 5].wrapping_add(node as u64 / 5)).collect();
        for spec in [
            "flat",
            "tree:12",
            "tree:2,3,2",
            "fat-tree:4@3,1,0,2,9,8,7,15,12,13,4,5",
            "torus:3,2,2",
            "torus:4,5",
        ] {
            let topology = resolve(spec, 12);
            let naive = |n: usize| {
                let cost = |(m, &bytes): (usize, &Bytes)| {
                    bytes * topology.distance(NodeId::from_index(m), NodeId::from_index(n))
                };
                volume.iter().enumerate().map(cost).sum::<HopBytes>()
            };
            assert_eq!(topology.gather_costs(&volume), (0..12).map(naive).collect::<Vec<_>>(), "{spec}");
        }
    }

    #[test]
    fn any_table_of_hops() {
        let topology = Topology::from_hops(4, |a, b| u16::try_from(a.0 * b.0).unwrap());
        assert_eq!((0..4).map(|b| hops(&topology, 2, b)).collect::<Vec<_>>(), [1, 2, 0, 6]);
        assert!(Topology::from_hops(0, |_, _| 1).is_empty());
        assert!(Topology::flat(0).gather_costs(&[]).is_empty());
    }

    #[test]
    fn a_network_too_small_says_how_to_mend_it() {
        for spec in ["tree:2,2", "torus:2,2", "fat-tree:2,2,1", "torus:9@0,1,2,3"] {
            let nodes = NodeMap::emulated(10, 2);
            let error =
                Topology::resolve(&spec.parse().unwrap(), &nodes, &FilesOnly).unwrap_err().to_string();
            assert!(error.contains("places 4 nodes and the job has 5: give it larger sizes"), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let spec = "file:/no/such/racks".parse().unwrap();
        let error = Topology::resolve(&spec, &NodeMap::emulated(2, 1), &FilesOnly).unwrap_err().to_string();
        assert!(
            error.starts_with("/no/such/racks, which was to describe the network, could not be read: "),
            "{error}"
        );
    }
}
