//! A picture of a network: hosts below, switches above, the links coloured and widened by the time that their load takes.
//!
//! Every cable is two lines, one for each direction. Vertices stand in levels by their distance from the nearest host; a
//! network whose hosts are joined to each other (a torus) stands in a grid or a circle.

use crate::charts::colour;
use crate::failure::Failure;
use crate::format;
use crate::picture::{Anchor, Drawing, FAINT, INK, PLAIN, Text, text_width};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::f64::consts::TAU;
use tatpio::topology::{Network, NodeMap, Shape, TopologySpec};
use tatpio::units::{NodeId, Picoseconds, Rate};

/// A network with more hosts than this is a smear.
const HOSTS_MAX: usize = 512;

/// One picture of the network.
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Bytes by directed link; empty when nothing is loaded.
    pub loads: Vec<u128>,
    /// What each aggregating node serves, in a few letters.
    pub serving: BTreeMap<NodeId, String>,
}

/// Panels beside each other, with one scale for all.
pub fn draw(
    network: &Network,
    map: &NodeMap,
    spec: &TopologySpec,
    panels: &[Panel],
    title: &str,
) -> Result<Drawing, Failure> {
    if map.len() > HOSTS_MAX {
        return Err(Failure::failed(format!(
            "a picture of {} hosts would not be readable: name at most {HOSTS_MAX} with --hosts or --ranks; --json has \
             them all",
            map.len()
        )));
    }
    let used = used(network, map, panels);
    let layout = Layout::new(network, map, spec, &used);
    let time = |link: usize, loads: &[u128]| network.rate(link).time(loads.get(link).copied().unwrap_or(0));
    let most =
        panels.iter().flat_map(|panel| (0..panel.loads.len()).map(|link| time(link, &panel.loads))).max();
    let most = most.unwrap_or_default();
    let drawings: Vec<Drawing> =
        panels.iter().map(|panel| layout.draw(network, map, &used, panel, most, panels.len() > 1)).collect();
    let columns = match drawings.first().map_or(0.0, |drawing| drawing.width) {
        width if width > 1100.0 => 1,
        _ if drawings.len() <= 3 => drawings.len(),
        _ if drawings.len() == 4 => 2,
        _ => 3,
    };
    let grid = Drawing::grid(title, &drawings, columns);
    let mut whole = Drawing::new(grid.width.max(560.0), grid.height + 66.0);
    whole.put((0.0, 0.0), &grid);
    legend(&mut whole, network, &used, most, !panels.iter().all(|panel| panel.serving.is_empty()));
    Ok(whole)
}

/// The links to draw: those that carry something in some panel; without loads, those on the ways between the hosts. The
/// others of a large network would hide these.
fn used(network: &Network, map: &NodeMap, panels: &[Panel]) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    for panel in panels {
        used.extend(
            panel.loads.iter().enumerate().filter(|&(_, &bytes)| bytes > 0).map(|(link, _)| link / 2),
        );
    }
    // Hosts that nothing is sent to or from are joined by their ways to the first one.
    let loaded: BTreeSet<u32> =
        used.iter().flat_map(|&link| [network.links()[link].a, network.links()[link].b]).collect();
    for to in map.nodes().take(if used.is_empty() { map.len() } else { 1 }) {
        let ways = network.ways_to(to);
        let idle = map.nodes().map(|node| network.vertex_of(node)).filter(|vertex| !loaded.contains(vertex));
        idle.for_each(|from| used.extend(ways.from(network, from).map(|link| link / 2)));
    }
    used
}

/// Where everything stands.
struct Layout {
    /// By vertex, for those that are drawn.
    at: BTreeMap<u32, (f64, f64)>,
    /// How many links each is away from the nearest host.
    level: BTreeMap<u32, usize>,
    size: (f64, f64),
    /// Whether the names of hosts stand upright.
    turned: bool,
    /// Whether hosts are joined to each other, and not to switches.
    flat: bool,
}

/// What title and subtitle take.
const TOP: f64 = 64.0;
const MARGIN: f64 = 34.0;

impl Layout {
    fn new(network: &Network, map: &NodeMap, spec: &TopologySpec, used: &BTreeSet<usize>) -> Layout {
        let hosts: BTreeSet<u32> = map.nodes().map(|node| network.vertex_of(node)).collect();
        let mut around: BTreeMap<u32, Vec<u32>> = hosts.iter().map(|&host| (host, Vec::new())).collect();
        for &link in used {
            let link = network.links()[link];
            around.entry(link.a).or_default().push(link.b);
            around.entry(link.b).or_default().push(link.a);
        }
        let between_hosts = used.iter().any(|&link| {
            let link = network.links()[link];
            hosts.contains(&link.a) && hosts.contains(&link.b)
        });
        if between_hosts {
            return Layout::of_routers(network, map, spec, &around);
        }
        let level = levels(&hosts, &around);
        Layout::of_levels(network, &around, level)
    }

    fn of_levels(network: &Network, around: &BTreeMap<u32, Vec<u32>>, level: BTreeMap<u32, usize>) -> Layout {
        let top = level.values().copied().max().unwrap_or(0);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); top + 1];
        level.iter().for_each(|(&vertex, &level)| rows[level].push(vertex));
        sort_hosts(network, around, &level, &mut rows[0]);
        let name_width = |vertex: &u32| text_width(network.name(*vertex), 11.0);
        let widest = |row: &[u32]| row.iter().map(name_width).fold(8.0, f64::max);
        let gap = |row: &[u32]| 16.0 + if row.len() <= NAMED_MAX { widest(row) } else { 8.0 };
        let names = widest(&rows[0]);
        let turned = (names + 14.0) * rows[0].len() as f64 > 640.0;
        let least = if turned { 24.0 } else { (names + 14.0).max(46.0) };
        // As wide as the widest row.
        let count = rows[0].len().max(1) as f64;
        let width = rows[1..].iter().map(|row| gap(row) * row.len() as f64).fold(least * count, f64::max);
        let step = width / count;
        let mut at: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        let level_height = (width / 16.0).clamp(110.0, 220.0);
        let above = arcs_height(network, &level, width);
        let y = |level: usize| TOP + 26.0 + above + level_height * (top - level) as f64;
        for (place, &host) in rows[0].iter().enumerate() {
            at.insert(host, (MARGIN + step * (place as f64 + 0.5), y(0)));
        }
        let mut right = MARGIN + width;
        for (number, row) in rows.iter_mut().enumerate().skip(1) {
            // Above the middle of what is below, but not on top of each other.
            let wish = |vertex: &u32| {
                let below: Vec<f64> =
                    around[vertex].iter().filter_map(|next| at.get(next)).map(|at| at.0).collect();
                below.iter().sum::<f64>() / below.len().max(1) as f64
            };
            row.sort_by(|a, b| {
                wish(a).total_cmp(&wish(b)).then(natural(network.name(*a)).cmp(&natural(network.name(*b))))
            });
            let wishes: Vec<f64> = row.iter().map(wish).collect();
            let gap = gap(row);
            let mut places = spread(&wishes, gap);
            // What does not fit to the right moves back to the left.
            let over = places.last().map_or(0.0, |last| (last + gap / 2.0 - MARGIN - width).max(0.0));
            if over > 0.0 && gap * row.len() as f64 <= width {
                let mut limit = MARGIN + width - gap / 2.0;
                for place in places.iter_mut().rev() {
                    *place = place.min(limit);
                    limit = *place - gap;
                }
            }
            right = right.max(places.last().map_or(0.0, |last| last + gap / 2.0));
            row.iter().zip(places).for_each(|(&vertex, x)| {
                at.insert(vertex, (x, y(number)));
            });
        }
        let below = if turned { names } else { 16.0 };
        let size = ((right + MARGIN).max(380.0), y(0) + below + 30.0);
        let slack = (size.0 - right - MARGIN) / 2.0;
        at.values_mut().for_each(|at| at.0 += slack);
        Layout { at, level, size, turned, flat: false }
    }

    /// A grid for a torus, else a circle.
    fn of_routers(
        network: &Network,
        map: &NodeMap,
        spec: &TopologySpec,
        around: &BTreeMap<u32, Vec<u32>>,
    ) -> Layout {
        let level: BTreeMap<u32, usize> = around.keys().map(|&vertex| (vertex, 0)).collect();
        let names = around.keys().map(|&vertex| text_width(network.name(vertex), 10.0)).fold(0.0, f64::max);
        let step = (names + 26.0).clamp(62.0, 110.0);
        let (at, size) = match torus_positions(network, map, spec, around) {
            Some(positions) => {
                let most = |axis: usize| positions.values().map(|at| at[axis]).fold(0.0, f64::max);
                let place = |at: &[f64; 2]| (MARGIN + step * (at[0] + 0.6), TOP + step * (at[1] + 0.5));
                let size = (2.0 * MARGIN + step * (most(0) + 1.4), TOP + step * (most(1) + 1.4));
                (positions.iter().map(|(&vertex, at)| (vertex, place(at))).collect(), size)
            }
            None => {
                let radius = (step * around.len() as f64 / TAU).max(110.0);
                let side = 2.0 * (radius + MARGIN + names / 2.0);
                let turn = |place: usize| TAU * (place as f64 / around.len() as f64 - 0.25);
                let place = |place: usize| {
                    (side / 2.0 + radius * turn(place).cos(), TOP + side / 2.0 + radius * turn(place).sin())
                };
                (
                    around.keys().enumerate().map(|(number, &vertex)| (vertex, place(number))).collect(),
                    (side, TOP + side),
                )
            }
        };
        Layout { at, level, size: (size.0.max(380.0), size.1), turned: false, flat: true }
    }

    fn draw(
        &self,
        network: &Network,
        map: &NodeMap,
        used: &BTreeSet<usize>,
        panel: &Panel,
        most: Picoseconds,
        framed: bool,
    ) -> Drawing {
        let wanted =
            [(&panel.title, 14.0), (&panel.subtitle, 11.0)].map(|(text, size)| text_width(text, size) + 24.0);
        let width = wanted.into_iter().fold(self.size.0, f64::max);
        if panel.title.is_empty() {
            let drawing = self.draw_network(network, map, used, panel, most, width);
            let mut moved = Drawing::new(width, self.size.1 - TOP + 14.0);
            moved.put((0.0, 14.0 - TOP), &drawing);
            return moved;
        }
        let network = self.draw_network(network, map, used, panel, most, width);
        let mut drawing = Drawing::new(width, self.size.1);
        if framed {
            drawing.rectangle((0.5, 0.5), (width - 1.0, self.size.1 - 1.0), "white", FAINT);
        }
        drawing.text((12.0, 22.0), &panel.title, Text { size: 14.0, bold: true, ..PLAIN });
        drawing.text((12.0, 40.0), &panel.subtitle, Text { size: 11.0, colour: "#555555", ..PLAIN });
        drawing.put((0.0, 0.0), &network);
        drawing
    }

    fn draw_network(
        &self,
        network: &Network,
        map: &NodeMap,
        used: &BTreeSet<usize>,
        panel: &Panel,
        most: Picoseconds,
        width: f64,
    ) -> Drawing {
        let mut drawing = Drawing::new(width, self.size.1);
        // The heaviest last, so that nothing covers them.
        let time = |link: usize| network.rate(link).time(panel.loads.get(link).copied().unwrap_or(0));
        let mut links: Vec<usize> = used.iter().flat_map(|link| [2 * link, 2 * link + 1]).collect();
        links.sort_by_key(|&link| (time(link), link));
        if panel.loads.is_empty() {
            // Without loads one line a cable, in the colour of its rate.
            let rates = rates(network, used);
            let place = |link: usize| rates.iter().position(|&rate| rate == network.rate(link)).unwrap_or(0);
            used.iter().for_each(|link| {
                self.draw_cable(&mut drawing, network, 2 * link, colour(place(2 * link)), 1.5, 0.0)
            });
            links.clear();
        }
        for link in links {
            let share = if most.0 == 0 { 0.0 } else { time(link).as_seconds() / most.as_seconds() };
            self.draw_link(&mut drawing, network, link, share);
        }
        for (&vertex, &level) in &self.level {
            if level > 0 {
                self.draw_switch(&mut drawing, network, vertex);
            }
        }
        self.draw_hosts(&mut drawing, network, map, panel);
        drawing
    }

    fn draw_link(&self, drawing: &mut Drawing, network: &Network, link: usize, share: f64) {
        let (colour, width) =
            if share > 0.0 { (heat(share), 1.4 + 7.0 * share) } else { ("#dddddd".into(), 1.0) };
        // Each direction keeps to its right.
        self.draw_cable(drawing, network, link, &colour, width, width / 2.0 + 0.7);
    }

    /// A line along a directed link, so far aside of the middle.
    fn draw_cable(
        &self,
        drawing: &mut Drawing,
        network: &Network,
        link: usize,
        colour: &str,
        width: f64,
        aside: f64,
    ) {
        let (from, to) = network.ends(link);
        let (Some(&a), Some(&b)) = (self.at.get(&from), self.at.get(&to)) else { return };
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length = dx.hypot(dy).max(1e-9);
        let shift = (-dy / length * aside, dx / length * aside);
        let (a, b) = ((a.0 + shift.0, a.1 + shift.1), (b.0 + shift.0, b.1 + shift.1));
        let lateral = self.level.get(&from) == self.level.get(&to);
        if lateral && length > 130.0 {
            // Around what stands between: both directions bend to the same side.
            let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
            let bend =
                (length * BEND).min(BEND_MAX) / length * if (dx, dy) > (0.0, 0.0) { 1.0 } else { -1.0 };
            let pull = (middle.0 + dy * bend, middle.1 - dx * bend);
            drawing.curve(a, pull, b, colour, width);
        } else {
            drawing.line(a, b, colour, width);
        }
    }

    fn draw_switch(&self, drawing: &mut Drawing, network: &Network, vertex: u32) {
        let (Some(&(x, y)), name) = (self.at.get(&vertex), network.name(vertex)) else { return };
        let level = self.level[&vertex];
        let peers = self.level.values().filter(|&&other| other == level).count();
        if peers > NAMED_MAX {
            drawing.rectangle((x - 6.0, y - 6.0), (12.0, 12.0), "#eef2f7", "#5b6b7f");
            return;
        }
        let width = text_width(name, 11.0) + 10.0;
        drawing.rectangle((x - width / 2.0, y - 11.0), (width, 22.0), "#eef2f7", "#5b6b7f");
        drawing.text((x, y + 4.0), name, Text { size: 11.0, anchor: Anchor::Middle, ..PLAIN });
    }

    fn draw_hosts(&self, drawing: &mut Drawing, network: &Network, map: &NodeMap, panel: &Panel) {
        let mut nodes: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        map.nodes().for_each(|node| nodes.entry(network.vertex_of(node)).or_default().push(node));
        for (&vertex, &(x, y)) in &self.at {
            if self.level.get(&vertex) != Some(&0) {
                continue;
            }
            let here = nodes.get(&vertex);
            let serving = here.and_then(|nodes| nodes.iter().find_map(|node| panel.serving.get(node)));
            let (fill, stroke) = match (here, serving) {
                (_, Some(_)) => ("#1f4e79", "#1f4e79"),
                (Some(_), None) => ("white", INK),
                (None, None) => ("#f4f4f4", "#bbbbbb"),
            };
            let half = if self.flat { 12.0 } else { 9.0 };
            drawing.rectangle((x - half, y - half), (2.0 * half, 2.0 * half), fill, stroke);
            if let Some(text) = serving {
                let size = (17.0 / text_width(text, 1.0)).min(11.0);
                let look = Text { size, anchor: Anchor::Middle, colour: "white", bold: true, ..PLAIN };
                drawing.text((x, y + size * 0.36), text, look);
            }
            let name = network.name(vertex);
            if self.turned {
                let look = Text { size: 11.0, anchor: Anchor::End, turn: -90.0, ..PLAIN };
                drawing.text((x + 4.0, y + half + 6.0), name, look);
            } else if !self.flat || here.is_some() {
                let size = if self.flat { 10.0 } else { 11.0 };
                let look = Text { size, anchor: Anchor::Middle, halo: self.flat, ..PLAIN };
                drawing.text((x, y + half + 12.0), name, look);
            }
        }
    }
}

/// More vertices in a row are drawn without their names.
const NAMED_MAX: usize = 24;

/// Hosts below one switch stand together: by the chain of their first switches, from the top down.
fn sort_hosts(
    network: &Network,
    around: &BTreeMap<u32, Vec<u32>>,
    level: &BTreeMap<u32, usize>,
    hosts: &mut [u32],
) {
    let up = |vertex: u32| {
        let above = around[&vertex].iter().filter(|next| level[next] > level[&vertex]);
        above.copied().min_by_key(|&next| natural(network.name(next)))
    };
    let chain = |vertex: u32| {
        let ups = std::iter::successors(Some(vertex), |&at| up(at));
        let mut names: Vec<_> = ups.map(|at| natural(network.name(at))).collect();
        names.reverse();
        names
    };
    hosts.sort_by_cached_key(|&host| chain(host));
}

/// What the arcs between switches of the top level need above it.
fn arcs_height(network: &Network, level: &BTreeMap<u32, usize>, width: f64) -> f64 {
    let top = level.values().max();
    let lateral = network.links().iter().any(|link| {
        let (a, b) = (level.get(&link.a), level.get(&link.b));
        a.is_some() && a == b && a == top
    });
    if lateral { (width * BEND).min(BEND_MAX) / 2.0 } else { 0.0 }
}

/// How far an arc is pulled aside, in part of its length, and at most.
const BEND: f64 = 0.2;
const BEND_MAX: f64 = 220.0;

/// By vertex: the links to the nearest host; none for one that no link joins to a host.
pub fn levels(hosts: &BTreeSet<u32>, around: &BTreeMap<u32, Vec<u32>>) -> BTreeMap<u32, usize> {
    let mut level: BTreeMap<u32, usize> = hosts.iter().map(|&host| (host, 0)).collect();
    let mut open: VecDeque<u32> = hosts.iter().copied().collect();
    while let Some(vertex) = open.pop_front() {
        for &next in around.get(&vertex).into_iter().flatten() {
            if !level.contains_key(&next) {
                level.insert(next, level[&vertex] + 1);
                open.push_back(next);
            }
        }
    }
    level
}

/// Places near the ascending wishes, at least `gap` apart: runs that are too close move apart around their middle.
fn spread(wishes: &[f64], gap: f64) -> Vec<f64> {
    // Runs of vertices that stand side by side: their number and the middle of the first.
    let mut runs: Vec<(usize, f64)> = Vec::new();
    for &wish in wishes {
        let (mut count, mut first) = (1, wish.max(MARGIN + gap / 2.0));
        while let Some(&(before, at)) = runs.last() {
            if at + gap * before as f64 <= first {
                break;
            }
            runs.pop();
            // The middle of both, each weighed by its number.
            let middle = |first: f64, count: usize| first + gap * (count as f64 - 1.0) / 2.0;
            let sum = middle(at, before) * before as f64 + middle(first, count) * count as f64;
            count += before;
            first = (sum / count as f64 - gap * (count as f64 - 1.0) / 2.0).max(MARGIN + gap / 2.0);
        }
        runs.push((count, first));
    }
    runs.into_iter()
        .flat_map(|(count, first)| (0..count).map(move |number| first + gap * number as f64))
        .collect()
}

/// Columns and rows of a torus of at most three dimensions: planes stand beside each other.
fn torus_positions(
    network: &Network,
    map: &NodeMap,
    spec: &TopologySpec,
    around: &BTreeMap<u32, Vec<u32>>,
) -> Option<BTreeMap<u32, [f64; 2]>> {
    let TopologySpec::Synthetic(torus) = spec else { return None };
    let (planes, rows, columns) = match (torus.shape, &torus.sizes[..]) {
        (Shape::Torus, &[rows, columns]) => (1, rows, columns),
        (Shape::Torus, &[planes, rows, columns]) => (planes, rows, columns),
        _ => return None,
    };
    let of_node = |node: NodeId| torus.at.as_ref().map_or(node.0, |at| at[node.index()]);
    let mut position: BTreeMap<u32, u32> =
        map.nodes().map(|node| (network.vertex_of(node), of_node(node))).collect();
    for &vertex in around.keys() {
        if let Some(number) =
            network.name(vertex).strip_prefix("router ").and_then(|number| number.parse().ok())
        {
            position.entry(vertex).or_insert(number);
        }
    }
    let place = |position: u32| {
        let (plane, rest) = (position / (rows * columns) % planes, position % (rows * columns));
        let (row, column) = (rest / columns, rest % columns);
        [f64::from(plane) * (f64::from(columns) + 0.7) + f64::from(column), f64::from(row)]
    };
    Some(around.keys().filter_map(|vertex| Some((*vertex, place(*position.get(vertex)?)))).collect())
}

/// Names in the order in which people count: node2 before node10.
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits =
            rest[text..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| text + length);
        parts.push((rest[..text].to_string(), rest[text..digits].parse().unwrap_or(0)));
        rest = &rest[digits..];
    }
    parts
}

/// From pale yellow to dark red.
fn heat(share: f64) -> String {
    const STOPS: [[f64; 3]; 5] = [
        [250.0, 214.0, 120.0],
        [248.0, 170.0, 60.0],
        [236.0, 104.0, 36.0],
        [200.0, 36.0, 32.0],
        [122.0, 0.0, 30.0],
    ];
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let below = (at.floor() as usize).min(STOPS.len() - 2);
    let part = at - below as f64;
    let mix = |channel: usize| {
        (STOPS[below][channel] * (1.0 - part) + STOPS[below + 1][channel] * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

fn legend(
    drawing: &mut Drawing,
    network: &Network,
    used: &BTreeSet<usize>,
    most: Picoseconds,
    serving: bool,
) {
    let y = drawing.height - 40.0;
    let mut x = 20.0;
    if most.0 > 0 {
        drawing.text(
            (x, y - 8.0),
            "time that a link takes for its load, each direction by itself",
            Text { size: 11.0, ..PLAIN },
        );
        for part in 0..60 {
            let share = f64::from(part) / 59.0;
            drawing.line(
                (x + 4.0 * f64::from(part), y + 6.0),
                (x + 4.0 * f64::from(part) + 4.0, y + 6.0),
                &heat(share),
                1.4 + 7.0 * share,
            );
        }
        for (share, anchor) in [(0.0, Anchor::Start), (0.5, Anchor::Middle), (1.0, Anchor::End)] {
            let text = if share == 0.0 { "0".into() } else { format::seconds(most.as_seconds() * share) };
            drawing.text((x + 240.0 * share, y + 24.0), &text, Text { size: 11.0, anchor, ..PLAIN });
        }
        x += 390.0;
    }
    if serving {
        drawing.rectangle((x, y - 4.0), (18.0, 18.0), "#1f4e79", "#1f4e79");
        drawing.text(
            (x + 9.0, y + 9.0),
            "2",
            Text { size: 11.0, anchor: Anchor::Middle, colour: "white", bold: true, ..PLAIN },
        );
        drawing.text((x + 26.0, y + 9.0), "host with so many aggregators", Text { size: 11.0, ..PLAIN });
        return;
    }
    for (number, rate) in rates(network, used).into_iter().enumerate() {
        drawing.line((x, y + 5.0), (x + 24.0, y + 5.0), colour(number), 2.5);
        drawing.text((x + 32.0, y + 9.0), &rate.to_string(), Text { size: 11.0, ..PLAIN });
        x += 56.0 + text_width(&rate.to_string(), 11.0);
    }
}

/// The rates of the links, the highest first.
fn rates(network: &Network, used: &BTreeSet<usize>) -> Vec<Rate> {
    let rates: BTreeSet<Rate> = used.iter().map(|&link| network.rate(2 * link)).collect();
    rates.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_and_near_their_wishes() {
        let places = spread(&[100.0, 100.0, 100.0, 400.0], 50.0);
        assert_eq!(places, [59.0, 109.0, 159.0, 400.0]);
        for wishes in [vec![0.0; 5], vec![10.0, 300.0, 301.0, 302.0], vec![]] {
            let places = spread(&wishes, 20.0);
            assert_eq!(places.len(), wishes.len());
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 19.99), "{places:?}");
        }
    }

    #[test]
    fn names_are_sorted_as_people_count() {
        let mut names = vec!["node10", "node2", "a", "node2.b1"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a", "node2", "node2.b1", "node10"]);
    }

    #[test]
    fn heat_runs_from_pale_to_dark() {
        assert_eq!((heat(0.0), heat(1.0)), ("#fad678".into(), "#7a001e".into()));
    }
}
