//! Networks that a few numbers describe: trees, fat trees, tori, dragonflies. Distances in closed form, and the links.

use super::distances::Model;
use super::graph::Cable;
use super::network::{Network, Ties};
use super::spec::Shape;
use super::{NodeMap, Synthetic, Topology};
use crate::units::Rate;

/// A torus with more positions gets its distances, and a switch that never gets in the way in place of its links.
const TORUS_POSITIONS_MAX: u64 = 1 << 20;

/// The distances and links of the job's nodes at distinct `positions` of a synthetic network.
pub(super) fn topology(network: &Synthetic, positions: &[u32], nodes: &NodeMap) -> Topology {
    let hosts: Vec<&str> = nodes.nodes().map(|node| nodes.host(node)).collect();
    match network.shape {
        Shape::Tree => tree(network, positions, &hosts),
        Shape::FatTree => fat_tree(network, positions, &hosts),
        Shape::Torus => torus(network, positions, &hosts),
        Shape::Dragonfly => dragonfly(network, positions, &hosts),
    }
}

/// The links being built; switches come to be when they are first named.
struct Builder<'a> {
    network: Network,
    spec: &'a Synthetic,
}

impl Builder<'_> {
    fn new(spec: &Synthetic, ties: Ties) -> Builder<'_> {
        Builder { network: Network::new(ties), spec }
    }

    /// A cable of one hop, of the rate of its level.
    fn cable(&self, level: usize) -> Cable {
        Cable { hops: 1, rate: self.spec.rates.get(level).copied().unwrap_or(Rate::DEFAULT) }
    }

    /// The vertex of a switch, and whether it is new.
    fn switch(&mut self, name: &str) -> (u32, bool) {
        let before = self.network.vertices();
        let vertex = self.network.vertex(name);
        (vertex, self.network.vertices() > before)
    }

    /// A vertex for each host below its switch. Two nodes may bear one host name: each gets its vertex.
    fn hosts(mut self, hosts: &[&str], switches: &[u32]) -> Network {
        let cable = self.cable(self.spec.sizes.len() - 1);
        let mut seats = Vec::with_capacity(hosts.len());
        for (host, &switch) in hosts.iter().zip(switches) {
            let vertex = host_vertex(&mut self.network, host);
            self.network.link(vertex, switch, cable);
            seats.push(vertex);
        }
        self.network.seat(seats)
    }
}

/// A vertex of its own for a node, by its host's name, with a number when that is taken.
fn host_vertex(network: &mut Network, host: &str) -> u32 {
    let mut name = host.to_string();
    for number in 2.. {
        let before = network.vertices();
        let vertex = network.vertex(&name);
        if network.vertices() > before {
            return vertex;
        }
        name = format!("{host}#{number}");
    }
    unreachable!("there are fewer vertices than numbers")
}

fn tree(spec: &Synthetic, positions: &[u32], hosts: &[&str]) -> Topology {
    let (&leaf, above) = spec.sizes.split_last().expect("a tree has a level");
    let switches: Vec<u32> = positions.iter().map(|position| position / leaf).collect();
    let mut builder = Builder::new(spec, Ties::First);
    let mut vertices = Vec::with_capacity(hosts.len());
    for &number in &switches {
        // From the switch of the host up to the root, as far as they are new.
        let (bottom, mut new) = builder.switch(&tree_switch(above.len(), number));
        vertices.push(bottom);
        let (mut below, mut number) = (bottom, number);
        for level in (0..above.len()).rev() {
            if !new {
                break;
            }
            number /= above[level];
            let up;
            (up, new) = builder.switch(&tree_switch(level, number));
            let cable = builder.cable(level);
            builder.network.link(below, up, cable);
            below = up;
        }
    }
    let network = builder.hosts(hosts, &vertices);
    Topology::from_classes(&switches, network, |&a, &b| {
        let (mut a, mut b, mut levels_up) = (a, b, 1);
        for size in above.iter().rev() {
            if a == b {
                break;
            }
            (a, b, levels_up) = (a / size, b / size, levels_up + 1);
        }
        2 * levels_up
    })
}

/// The root is at level 0.
fn tree_switch(level: usize, number: u32) -> String {
    if level == 0 { "root".into() } else { format!("switch{level}.{number}") }
}

/// Pods of leaf switches, each joined to every spine switch of its pod; spine switches of one number in their pods are
/// joined through core switches of their own. As many ways up as down: no level is narrower than the one below.
fn fat_tree(spec: &Synthetic, positions: &[u32], hosts: &[&str]) -> Topology {
    let [_, leaves, width] = spec.sizes[..] else { unreachable!("a fat tree has three sizes") };
    let switches: Vec<u32> = positions.iter().map(|position| position / width).collect();
    let mut builder = Builder::new(spec, Ties::Spread);
    let mut vertices = Vec::with_capacity(hosts.len());
    for &number in &switches {
        let pod = number / leaves;
        let (leaf, new) = builder.switch(&format!("pod{pod}.leaf{}", number % leaves));
        vertices.push(leaf);
        for spine in (0..width).filter(|_| new) {
            let (middle, fresh) = builder.switch(&format!("pod{pod}.spine{spine}"));
            let cable = builder.cable(1);
            builder.network.link(leaf, middle, cable);
            for core in (0..leaves).filter(|_| fresh) {
                let (top, _) = builder.switch(&format!("core{spine}.{core}"));
                let cable = builder.cable(0);
                builder.network.link(middle, top, cable);
            }
        }
    }
    let network = builder.hosts(hosts, &vertices);
    Topology::from_classes(&switches, network, |&a, &b| match (a == b, a / leaves == b / leaves) {
        (true, _) => 2,
        (_, true) => 4,
        _ => 6,
    })
}

fn torus(spec: &Synthetic, positions: &[u32], hosts: &[&str]) -> Topology {
    let sizes = &spec.sizes;
    let mut coordinates = vec![0; positions.len() * sizes.len()];
    for (node, &position) in coordinates.chunks_mut(sizes.len()).zip(positions) {
        let mut rest = position;
        for (coordinate, size) in node.iter_mut().zip(sizes).rev() {
            (*coordinate, rest) = (rest % size, rest / size);
        }
    }
    let model = Model::Torus { sizes: sizes.clone(), coordinates };
    if spec.positions() > TORUS_POSITIONS_MAX {
        return Topology::new(model, Network::crossbar(positions.len()));
    }
    Topology::new(model, torus_links(spec, positions, hosts))
}

/// Every position is a router, which the job's hosts are. Links dimension by dimension: with [`Ties::First`] a path
/// finishes the first dimension before it enters the second.
fn torus_links(spec: &Synthetic, positions: &[u32], hosts: &[&str]) -> Network {
    let mut builder = Builder::new(spec, Ties::First);
    let count = u32::try_from(spec.positions()).expect("few enough to have links");
    let mut router = vec![None; positions.len().max(count as usize)];
    let seats: Vec<u32> = (positions.iter().zip(hosts))
        .map(|(&position, host)| {
            let vertex = host_vertex(&mut builder.network, host);
            router[position as usize] = Some(vertex);
            vertex
        })
        .collect();
    let routers: Vec<u32> = (0..count)
        .map(|position| {
            router[position as usize].unwrap_or_else(|| builder.switch(&format!("router {position}")).0)
        })
        .collect();
    let mut stride = count;
    for (dimension, &size) in spec.sizes.iter().enumerate() {
        stride /= size;
        let cable = builder.cable(dimension);
        for position in 0..count {
            let at = position / stride % size;
            let next = position - at * stride + (at + 1) % size * stride;
            // A ring of two has one cable, a ring of one none.
            if size > 2 || size == 2 && at == 0 {
                builder.network.link(routers[position as usize], routers[next as usize], cable);
            }
        }
    }
    builder.network.seat(seats)
}

/// Groups whose routers are all joined to each other, and one cable between any two groups, between the routers that
/// [`gateway`] names.
fn dragonfly(spec: &Synthetic, positions: &[u32], hosts: &[&str]) -> Topology {
    let [groups, per_group, width] = spec.sizes[..] else { unreachable!("a dragonfly has three sizes") };
    let switches: Vec<u32> = positions.iter().map(|position| position / width).collect();
    let mut builder = Builder::new(spec, Ties::First);
    let mut used: Vec<u32> = switches.iter().map(|switch| switch / per_group).collect();
    used.sort_unstable();
    used.dedup();
    let name = |group: u32, router: u32| format!("group{group}.router{router}");
    for (index, &group) in used.iter().enumerate() {
        let routers: Vec<u32> = (0..per_group).map(|router| builder.switch(&name(group, router)).0).collect();
        let local = builder.cable(1);
        for (a, &from) in routers.iter().enumerate() {
            routers[a + 1..].iter().for_each(|&to| builder.network.link(from, to, local));
        }
        let global = builder.cable(0);
        for &other in &used[..index] {
            let (from, _) = builder.switch(&name(group, gateway(groups, per_group, group, other)));
            let (to, _) = builder.switch(&name(other, gateway(groups, per_group, other, group)));
            builder.network.link(from, to, global);
        }
    }
    let vertices: Vec<u32> = (switches.iter())
        .map(|switch| builder.switch(&name(switch / per_group, switch % per_group)).0)
        .collect();
    let network = builder.hosts(hosts, &vertices);
    Topology::from_classes(&switches, network, |&a, &b| {
        let (from, to) = (a / per_group, b / per_group);
        if a == b {
            2
        } else if from == to {
            3
        } else {
            let leave = u16::from(gateway(groups, per_group, from, to) != a % per_group);
            let arrive = u16::from(gateway(groups, per_group, to, from) != b % per_group);
            3 + leave + arrive
        }
    })
}

/// The router of a group whose cable leads to another group: dealt out in turn, from the next group on.
fn gateway(groups: u32, per_group: u32, from: u32, to: u32) -> u32 {
    (to + groups - from - 1) % groups % per_group
}
