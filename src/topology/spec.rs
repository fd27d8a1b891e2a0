//! The value of the hint `tatpio_topology`, parsed.
//!
//! | Value | Hops between two nodes |
//! |---|---|
//! | `automatic` | as the first of these says that can be had: Slurm's addresses, Slurm's `topology.conf`, InfiniBand; else one ([`sources`](super::sources)) |
//! | `flat` | one, whatever could be found out |
//! | `file:PATH`, or any other value with a `/` | as the [topology file](super::file) says |
//! | `infiniband` | cables on the shortest path, as `ibnetdiscover` finds them now ([`infiniband`](super::infiniband)) |
//! | `infiniband:PATH` | the same from saved output of `ibnetdiscover` |
//! | `infiniband:PATH,routes=PATH` | cables on the routes that saved forwarding tables give |
//! | `slurm` | as `SLURM_TOPOLOGY_ADDR` says, or else `topology.conf` where Slurm keeps it ([`slurm`](super::slurm)) |
//! | `slurm:PATH` | as this `topology.conf` says |
//! | `tree:A,B,C` | 2 for each level up to the switch that both share |
//! | `fat-tree:PODS,LEAVES,NODES` | 2 on one edge switch, 4 in one pod, 6 across |
//! | `fat-tree:K` | the same for the k-ary fat tree: K pods of K/2 edge switches of K/2 nodes |
//! | `torus:X,Y,Z` | the shortest walk along the dimensions, each of which wraps around |
//! | `dragonfly:GROUPS,ROUTERS,NODES` | 2 on one router, 3 in one group, 3 to 5 across, by the shortest way |
//!
//! A tree has A switches below its root, B below each of those, and C nodes on each of the last.
//!
//! A synthetic network has positions, numbered from 0 with the last number of the specification running
//! fastest: in `tree:4,20`, 4 racks of 20 nodes, position 23 is the fourth node of the second rack. The job's
//! nodes take positions 0, 1, 2 and so on, in the order of their lowest ranks; `@` places them elsewhere:
//! `torus:4,4@0,5,10-12` puts the first five nodes at 0, 5, 10, 11 and 12.
//!
//! Rates of the links may follow the sizes, one for each: `tree:4,20/20gbit,40gbit` has 20 Gbit/s from a rack to the
//! root and 40 Gbit/s from a node to its rack. They are, for a fat tree, those from core to spine switches, from there
//! to leaves, and to nodes; for a dragonfly between groups, inside one, and to nodes; for a torus along each dimension.
//! Without them all links are alike.

use super::TopologyError;
use crate::units::Rate;
use std::fmt;
use std::str::FromStr;

/// Where the distances between nodes come from. The module documentation lists the forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TopologySpec {
    /// What can be found out.
    #[default]
    Automatic,
    /// One hop between all nodes.
    Flat,
    /// A topology file.
    File(String),
    /// An InfiniBand fabric.
    Infiniband {
        /// Saved output of `ibnetdiscover`; the command is run without it.
        fabric: Option<String>,
        /// Saved forwarding tables.
        routes: Option<String>,
    },
    /// What Slurm knows: its addresses or its `topology.conf`, or the one at this path.
    Slurm(Option<String>),
    /// A network that a few numbers describe.
    Synthetic(Synthetic),
}

/// The kinds of synthetic networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A tree of switches.
    Tree,
    /// A fat tree of three levels, as wide at the top as at the bottom.
    FatTree,
    /// A torus.
    Torus,
    /// A dragonfly.
    Dragonfly,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Shape::Tree => "tree",
            Shape::FatTree => "fat-tree",
            Shape::Torus => "torus",
            Shape::Dragonfly => "dragonfly",
        }
    }
}

/// A synthetic network: its sizes, and where the job's nodes sit in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// What the sizes mean.
    pub shape: Shape,
    /// The sizes, the outermost first; each at least 1, their product at most 2^32.
    pub sizes: Vec<u32>,
    /// The rates of the links, one a size; or none, and all are alike.
    pub rates: Vec<Rate>,
    /// The position of each node of the job; node n sits at n without it.
    pub at: Option<Vec<u32>>,
}

/// Trees deeper and tori wider than any machine are typing errors; the limit keeps hop counts within 16 bits.
const SIZES_MAX: usize = 16;

/// The longest list of positions.
const POSITIONS_MAX: usize = 1 << 20;

impl Synthetic {
    /// How many positions there are.
    pub fn positions(&self) -> u64 {
        self.sizes.iter().map(|&size| u64::from(size)).product()
    }
}

impl FromStr for TopologySpec {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<TopologySpec, TopologyError> {
        let text = text.trim();
        let keyword = text.split(':').next().unwrap_or_default();
        let rest = text.strip_prefix(keyword).and_then(|rest| rest.strip_prefix(':'));
        match (keyword, rest) {
            ("automatic", None) => Ok(TopologySpec::Automatic),
            ("flat", None) => Ok(TopologySpec::Flat),
            ("file", Some(path)) if !path.is_empty() => Ok(TopologySpec::File(path.to_string())),
            ("file", _) => Err(expected(text, "a path after file:")),
            ("infiniband", rest) => infiniband(text, rest),
            ("slurm", None) => Ok(TopologySpec::Slurm(None)),
            ("slurm", Some(path)) if !path.is_empty() => Ok(TopologySpec::Slurm(Some(path.to_string()))),
            ("slurm", _) => Err(expected(text, "a path after slurm:, or slurm alone")),
            ("tree", rest) => {
                let what = "sizes from the top level down, like tree:4,20 for 4 racks of 20 nodes";
                synthetic(text, Shape::Tree, rest, what).map(TopologySpec::Synthetic)
            }
            ("fat-tree", rest) => fat_tree(text, rest).map(TopologySpec::Synthetic),
            ("torus", rest) => {
                let what = "the size of each dimension, like torus:4,4,2";
                synthetic(text, Shape::Torus, rest, what).map(TopologySpec::Synthetic)
            }
            ("dragonfly", rest) => {
                let what = "dragonfly:GROUPS,ROUTERS,NODES";
                let network = synthetic(text, Shape::Dragonfly, rest, what)?;
                match network.sizes.len() {
                    3 => Ok(TopologySpec::Synthetic(network)),
                    _ => Err(expected(text, what)),
                }
            }
            _ if text.contains('/') => Ok(TopologySpec::File(text.to_string())),
            _ => Err(expected(
                text,
                "automatic, flat, file:PATH, infiniband[:PATH[,routes=PATH]], slurm[:PATH], tree:SIZES, fat-tree:K, \
                 fat-tree:PODS,LEAVES,NODES, torus:SIZES or dragonfly:GROUPS,ROUTERS,NODES",
            )),
        }
    }
}

impl fmt::Display for TopologySpec {
    /// The form that parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = match self {
            TopologySpec::Automatic => return f.write_str("automatic"),
            TopologySpec::Flat => return f.write_str("flat"),
            TopologySpec::File(path) => return write!(f, "file:{path}"),
            TopologySpec::Infiniband { fabric, routes } => {
                f.write_str("infiniband")?;
                fabric.iter().try_for_each(|path| write!(f, ":{path}"))?;
                return routes.iter().try_for_each(|path| write!(f, ",routes={path}"));
            }
            TopologySpec::Slurm(path) => {
                f.write_str("slurm")?;
                return path.iter().try_for_each(|path| write!(f, ":{path}"));
            }
            TopologySpec::Synthetic(network) => network,
        };
        write!(f, "{}:{}", network.shape.name(), list(&network.sizes))?;
        if !network.rates.is_empty() {
            write!(f, "/{}", list(&network.rates))?;
        }
        network.at.iter().try_for_each(|at| write!(f, "@{}", list(at)))
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// Nothing, `PATH` or `PATH,routes=PATH`.
fn infiniband(text: &str, rest: Option<&str>) -> Result<TopologySpec, TopologyError> {
    let Some(rest) = rest else { return Ok(TopologySpec::Infiniband { fabric: None, routes: None }) };
    let (fabric, routes) = match rest.split_once(",routes=") {
        Some((fabric, routes)) => (fabric, Some(routes)),
        None => (rest, None),
    };
    if fabric.is_empty() || routes == Some("") {
        return Err(expected(text, "infiniband, infiniband:PATH or infiniband:PATH,routes=PATH"));
    }
    Ok(TopologySpec::Infiniband { fabric: Some(fabric.to_string()), routes: routes.map(str::to_string) })
}

fn expected(text: &str, what: impl Into<String>) -> TopologyError {
    TopologyError::Spec { text: text.to_string(), expected: what.into() }
}

/// `SIZES[/RATES][@POSITIONS]`.
fn synthetic(text: &str, shape: Shape, rest: Option<&str>, what: &str) -> Result<Synthetic, TopologyError> {
    let rest = rest.unwrap_or_default();
    let (rest, at) = match rest.split_once('@') {
        Some((rest, at)) => (rest, Some(at)),
        None => (rest, None),
    };
    let (sizes, rates) = match rest.split_once('/') {
        Some((sizes, rates)) => (sizes, Some(rates)),
        None => (rest, None),
    };
    let sizes: Option<Vec<u32>> =
        sizes.split(',').map(|size| number(size).filter(|&size| size > 0)).collect();
    let sizes = sizes.filter(|sizes| sizes.len() <= SIZES_MAX).ok_or_else(|| expected(text, what))?;
    let rates = rates.map_or(Ok(Vec::new()), |rates| link_rates(text, rates, sizes.len()))?;
    let small = sizes.iter().try_fold(1u64, |product, &size| {
        product.checked_mul(u64::from(size)).filter(|&product| product <= 1 << 32)
    });
    if small.is_none() || sizes.iter().map(|&size| u64::from(size)).sum::<u64>() > u64::from(u16::MAX) * 2 {
        return Err(expected(text, "a network of at most 2^32 positions and 65535 hops"));
    }
    let network = Synthetic { shape, sizes, rates, at: None };
    let at = at.map(|at| positions(text, at, network.positions())).transpose()?;
    Ok(Synthetic { at, ..network })
}

/// One rate a size.
fn link_rates(text: &str, rates: &str, sizes: usize) -> Result<Vec<Rate>, TopologyError> {
    let rates: Result<Vec<Rate>, String> = rates.split(',').map(|rate| rate.trim().parse()).collect();
    let rates = rates.map_err(|what| expected(text, what))?;
    if rates.len() == sizes {
        Ok(rates)
    } else {
        Err(expected(text, format!("{sizes} rates, one for each size")))
    }
}

/// `K` or `PODS,LEAVES,NODES`.
fn fat_tree(text: &str, rest: Option<&str>) -> Result<Synthetic, TopologyError> {
    let what = "an even K, like fat-tree:8, or fat-tree:PODS,LEAVES,NODES";
    let rest = rest.unwrap_or_default();
    let end = rest.find(['/', '@']).unwrap_or(rest.len());
    let network = match number(&rest[..end]) {
        Some(k) if k % 2 == 0 => {
            let half = k / 2;
            synthetic(text, Shape::FatTree, Some(&format!("{k},{half},{half}{}", &rest[end..])), what)?
        }
        _ => synthetic(text, Shape::FatTree, Some(rest), what)?,
    };
    if network.sizes.len() == 3 { Ok(network) } else { Err(expected(text, what)) }
}

/// `0,5,10-12`: distinct positions of the network.
fn positions(text: &str, list: &str, count: u64) -> Result<Vec<u32>, TopologyError> {
    let mut at = Vec::new();
    for item in list.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let what = || expected(text, format!("positions below {count} after @, like @0,5,10-12"));
        let (first, last) = number(first).zip(number(last)).ok_or_else(what)?;
        if first > last || u64::from(last) >= count || (last - first) as usize >= POSITIONS_MAX - at.len() {
            return Err(what());
        }
        at.extend(first..=last);
    }
    let mut sorted = at.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(expected(text, format!("every position once after @, not {} twice", pair[0]))),
        None => Ok(at),
    }
}

/// Digits alone: `parse` would take a plus sign.
fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_parse_and_print_back() {
        for (text, printed) in [
            ("automatic", "automatic"),
            (" flat ", "flat"),
            ("file:racks.txt", "file:racks.txt"),
            ("file:tree:4", "file:tree:4"),
            ("/etc/racks", "file:/etc/racks"),
            ("./flat", "file:./flat"),
            ("tree:4,20", "tree:4,20"),
            ("tree: 4 , 20", "tree:4,20"),
            ("tree:7", "tree:7"),
            ("fat-tree:4", "fat-tree:4,2,2"),
            ("fat-tree:4@15,0", "fat-tree:4,2,2@15,0"),
            ("fat-tree:2,3,4", "fat-tree:2,3,4"),
            ("torus:4,4@0,5,10-12", "torus:4,4@0,5,10,11,12"),
            ("torus:65535,65535", "torus:65535,65535"),
            ("tree:4,20/20gbit,40gbit@0,7", "tree:4,20/20gbit,40gbit@0,7"),
            ("fat-tree:4/1gbit,2gbit, 0.5gbit", "fat-tree:4,2,2/1gbit,2gbit,500mbit"),
            ("dragonfly:5,4,2", "dragonfly:5,4,2"),
            ("infiniband", "infiniband"),
            ("infiniband:/etc/fabric.txt", "infiniband:/etc/fabric.txt"),
            ("infiniband:a,b,routes=c", "infiniband:a,b,routes=c"),
            ("slurm", "slurm"),
            ("slurm:/etc/slurm/topology.conf", "slurm:/etc/slurm/topology.conf"),
        ] {
            let spec: TopologySpec = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(spec.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<TopologySpec>().unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn errors_say_what_was_expected_and_show_the_text() {
        for (text, expected) in [
            ("", "automatic, flat"),
            ("fla", "automatic, flat"),
            ("flat:2", "automatic, flat"),
            ("mesh:2,2", "automatic, flat"),
            ("file:", "a path"),
            ("file", "a path"),
            ("tree", "sizes from the top"),
            ("tree:", "sizes from the top"),
            ("tree:4,,2", "sizes from the top"),
            ("tree:4,0", "sizes from the top"),
            ("tree:+4", "sizes from the top"),
            ("tree:4,-1", "sizes from the top"),
            ("tree:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "sizes from the top"),
            ("torus:x", "the size of each dimension"),
            ("torus:65536,65537", "2^32 positions"),
            ("torus:200000", "65535 hops"),
            ("fat-tree:3", "an even K"),
            ("fat-tree:2,2", "an even K"),
            ("fat-tree:4@16", "positions below 16"),
            ("torus:4,4@", "positions below 16"),
            ("torus:4,4@16", "positions below 16"),
            ("torus:4,4@3-1", "positions below 16"),
            ("torus:4,4@0,1,0", "not 0 twice"),
            ("torus:4,4@0-3,2", "not 2 twice"),
            ("tree:4,20/40gbit", "2 rates, one for each size"),
            ("tree:4/fast", "a rate like 40gbit"),
            ("dragonfly:4,4", "dragonfly:GROUPS,ROUTERS,NODES"),
            ("infiniband:", "infiniband:PATH,routes=PATH"),
            ("infiniband:x,routes=", "infiniband:PATH,routes=PATH"),
            ("slurm:", "a path after slurm:"),
        ] {
            let error = text.parse::<TopologySpec>().expect_err(text).to_string();
            assert!(
                error.contains(expected) && error.contains(&format!("\"{}\"", text.trim())),
                "{text}: {error}"
            );
        }
    }
}
