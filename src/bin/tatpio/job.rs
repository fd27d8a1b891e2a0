//! A job to study: which ranks sit where, what they ask for, and who may aggregate.

use crate::failure::Failure;
use crate::hosts::{self, Host};
use crate::pattern::Pattern;
use crate::{output, random};
use std::fmt;
use std::str::FromStr;
use tatpio::hints::{self, Hints};
use tatpio::placement::{Candidates, Flow};
use tatpio::plan::Access;
use tatpio::topology::{NodeMap, Resolved, Synthetic, System, Topology, TopologySpec};
use tatpio::units::ByteRange;

/// In which order something is dealt out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2 and so on.
    #[default]
    Natural,
    /// A random order.
    Scattered(u64),
    /// A random choice, in ascending order: for positions, what a batch system that sorts its hosts gives.
    Sorted(u64),
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let expected = || format!("expected in-order, scattered:SEED or sorted:SEED, found \"{text}\"");
        let (kind, seed) = match text.split_once(':') {
            Some((kind, seed)) => (kind, Some(seed.parse::<u64>().map_err(|_| expected())?)),
            None => (text, None),
        };
        match (kind, seed) {
            ("in-order", None) => Ok(Order::Natural),
            ("scattered", Some(seed)) => Ok(Order::Scattered(seed)),
            ("sorted", Some(seed)) => Ok(Order::Sorted(seed)),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Natural => f.write_str("in-order"),
            Order::Scattered(seed) => write!(f, "scattered:{seed}"),
            Order::Sorted(seed) => write!(f, "sorted:{seed}"),
        }
    }
}

/// What a job is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which part of the pattern each rank takes.
    pub order: Order,
    /// Which positions of a synthetic network its nodes take.
    pub positions: Order,
    /// Where distances come from.
    pub topology: TopologySpec,
    /// The hints of the file.
    pub hints: Hints,
    /// Write or read.
    pub flow: Flow,
}

/// A job and its pattern.
pub struct Job {
    /// Which rank is where.
    pub map: NodeMap,
    /// By rank.
    pub accesses: Vec<Access>,
    /// From the first to the last byte of all.
    pub hull: ByteRange,
    /// Distances and links.
    pub resolved: Resolved,
    /// Who may aggregate.
    pub candidates: Candidates,
    /// Write or read.
    pub flow: Flow,
    /// The hints of the file.
    pub hints: Hints,
}

/// The block of a file system of which nothing is said (`striping_unit` says otherwise).
pub const BLOCK_BYTES: u64 = 4096;

impl Job {
    /// The job on these nodes. Warnings go to standard error.
    pub fn new(map: NodeMap, pattern: &Pattern, setup: &Setup) -> Result<Job, Failure> {
        let ranks = u32::try_from(map.rank_count()).map_err(|_| Failure::usage("at most 2^32 ranks"))?;
        let mut parts: Vec<Option<Access>> = pattern.accesses(ranks)?.into_iter().map(Some).collect();
        let order = match setup.order {
            Order::Natural => (0..u64::from(ranks)).collect(),
            Order::Scattered(seed) => random::permutation(u64::from(ranks), seed),
            Order::Sorted(_) => return Err(Failure::usage("--order: expected in-order or scattered:SEED")),
        };
        let part = |part: u64| {
            let part = usize::try_from(part).expect("a part is a rank's number");
            parts[part].take().expect("a permutation names each part once")
        };
        let accesses: Vec<Access> = order.into_iter().map(part).collect();
        let spec = placed(&setup.topology, setup.positions, map.len())?;
        let resolved = Topology::resolve(&spec, &map, &System::default()).map_err(Failure::failed)?;
        let candidates = Candidates::new(&map, setup.hints.cb_nodes, &setup.hints.cb_config_list);
        Ok(Job {
            hull: accesses.iter().fold(ByteRange::EMPTY, |hull, access| hull.hull(access.hull())),
            accesses,
            resolved,
            candidates,
            flow: setup.flow,
            hints: setup.hints.clone(),
            map,
        })
    }

    /// Prints what is doubtful about it, a line each.
    pub fn warn(&self) {
        self.warnings().iter().for_each(|warning| output::warn(warning));
    }

    /// What is doubtful about it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.resolved.warnings.clone();
        if self.candidates.fell_back {
            warnings.push(format!(
                "cb_config_list={} names no host of the job: rank 0 aggregates alone",
                self.hints.cb_config_list
            ));
        }
        if self.hull.is_empty() {
            warnings.push("no rank asks for a byte".into());
        }
        warnings
    }

    /// All bytes that the ranks ask for.
    pub fn bytes(&self) -> u128 {
        self.accesses.iter().map(|access| u128::from(access.bytes())).sum()
    }
}

/// The network with the job's nodes at these positions.
pub fn placed(spec: &TopologySpec, positions: Order, nodes: usize) -> Result<TopologySpec, Failure> {
    let (seed, sorted) = match positions {
        Order::Natural => return Ok(spec.clone()),
        Order::Scattered(seed) => (seed, false),
        Order::Sorted(seed) => (seed, true),
    };
    let TopologySpec::Synthetic(network) = spec else {
        return Err(Failure::usage(format!(
            "--positions {positions} needs a synthetic topology such as tree:4,20; for {spec} give the hosts in the \
             order you want with --hosts"
        )));
    };
    if network.at.is_some() {
        return Err(Failure::usage(format!(
            "--positions {positions} and the positions after @ in {spec}: give one"
        )));
    }
    let count = nodes as u64;
    if count > network.positions() {
        // The library says what is wrong, and how to mend it.
        return Ok(spec.clone());
    }
    let drawn = random::sample(count, network.positions(), seed);
    let mut at: Vec<u32> =
        drawn.into_iter().map(|position| u32::try_from(position).expect("positions fit 32 bits")).collect();
    if sorted {
        at.sort_unstable();
    }
    Ok(TopologySpec::Synthetic(Synthetic { at: Some(at), ..network.clone() }))
}

/// Which rank is where: from a list of hosts, or on so many nodes as are needed.
pub fn seat(
    list: Option<&str>,
    ranks: Option<u32>,
    per_node: Option<u32>,
    pattern_ranks: Option<u32>,
) -> Result<NodeMap, Failure> {
    let Some(list) = list else {
        let ranks = ranks
            .or(pattern_ranks)
            .ok_or_else(|| Failure::usage("how many ranks? Give --ranks or --hosts"))?;
        return Ok(NodeMap::emulated(ranks, per_node.unwrap_or(1)));
    };
    let hosts = hosts::parse(list)?;
    let count = |host: &Host| host.1.or(per_node).unwrap_or(1);
    let places: u64 = hosts.iter().map(|host| u64::from(count(host))).sum();
    let wanted = ranks.map_or(places, u64::from);
    if wanted > places || wanted > u64::from(u32::MAX) {
        return Err(Failure::usage(format!(
            "--hosts has places for {places} ranks and --ranks asks for {wanted}: name more hosts, or more ranks on each \
             (HOST:COUNT, or --per-node)"
        )));
    }
    let of_host = |host: &Host| std::iter::repeat_n((host.0.clone(), 0), count(host) as usize);
    let seats = hosts.iter().flat_map(of_host).take(usize::try_from(wanted).expect("ranks fit"));
    Ok(NodeMap::new(seats.collect()))
}

/// The hints of `--hints`.
pub fn hints(text: Option<&str>) -> Result<Hints, Failure> {
    let mut hints = Hints::default();
    let (pairs, mut wrong) = hints::split_pairs(text.unwrap_or_default());
    for (key, value) in pairs {
        wrong.extend(hints.set(&key, &value).err());
    }
    match &wrong[..] {
        [] => Ok(hints),
        [bad, ..] => {
            Err(Failure::usage(format!("--hints: {}={:?}: expected {}", bad.key, bad.value, bad.expected)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatpio::units::NodeId;

    #[test]
    fn orders_parse_and_print_back() {
        for text in ["in-order", "scattered:7", "sorted:0"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        for text in ["", "scattered", "in-order:1", "scattered:x"] {
            assert!(text.parse::<Order>().is_err(), "{text}");
        }
    }

    #[test]
    fn seats() {
        let show = |map: NodeMap| -> Vec<String> {
            map.nodes()
                .map(|node: NodeId| format!("{}:{}", map.host(node), map.ranks_of(node).len()))
                .collect()
        };
        assert_eq!(show(seat(Some("a:2,b"), None, None, None).unwrap()), ["a:2", "b:1"]);
        assert_eq!(show(seat(Some("a:2,b"), None, Some(3), None).unwrap()), ["a:2", "b:3"]);
        assert_eq!(show(seat(Some("n[1-4]:2"), Some(5), None, None).unwrap()), ["n1:2", "n2:2", "n3:1"]);
        assert_eq!(show(seat(None, None, Some(2), Some(3)).unwrap()), ["node0:2", "node1:1"]);
        let text = |result: Result<NodeMap, Failure>| match result {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(
            text(seat(Some("a:2,b:2"), Some(8), None, None))
                .contains("places for 4 ranks and --ranks asks for 8")
        );
        assert!(text(seat(None, None, None, None)).contains("--ranks"));
    }
}
