//! What every choice of a node loads the links with: the ways between nodes, looked up once, and the bytes on them while
//! units move about.

use super::groups::{Groups, Shares};
use super::workload::costs_of_domain;
use super::{NodeMatrix, Problem, lap, transport};
use crate::topology::Topology;
use crate::units::{NodeId, Picoseconds, Rate};

/// The most pairs of nodes whose ways are looked up: with more nodes, links do not decide.
const PAIRS_MAX: usize = 1 << 22;

/// The most entries, groups times columns, of a [`Setting`].
pub(super) const ENTRIES_MAX: usize = 1 << 22;

/// Not a source or a target.
const NONE: u32 = u32::MAX;

/// The directed links on the ways from the nodes that hold something to those that may serve, and back for a read. Links
/// that no way crosses are left out; the others are numbered anew, in their order.
pub(super) struct Ways {
    /// By link.
    rates: Vec<Rate>,
    /// By node: its number among those that hold something, and among those that may serve.
    source_of: Vec<u32>,
    target_of: Vec<u32>,
    targets: usize,
    /// Source by source with one entry a target: where its links begin, and at last where they end.
    starts: Vec<usize>,
    links: Vec<u32>,
}

impl Ways {
    /// The ways of a problem; `None` when there are too many.
    pub fn new(problem: &Problem<'_>) -> Option<Ways> {
        let (nodes, network) = (problem.matrix.nodes(), problem.topology.network());
        let mut holds = vec![false; nodes];
        for unit in 0..problem.matrix.domains() {
            problem.matrix.held(unit).iter().for_each(|held| holds[held.node.index()] |= held.bytes > 0);
        }
        let (source_of, sources) = numbered(nodes, |node| holds[node]);
        let (target_of, targets) = numbered(nodes, |node| problem.candidates.slots[node] > 0);
        if sources.len() * targets.len() > PAIRS_MAX {
            return None;
        }
        let mut ways = vec![Vec::new(); sources.len() * targets.len()];
        let mut used = vec![NONE; network.directed()];
        for (number, &target) in targets.iter().enumerate() {
            let tree = network.ways_to(target);
            for (from, &source) in sources.iter().enumerate().filter(|&(_, &source)| source != target) {
                let vertex = network.vertex_of(source);
                let links = tree.from(network, vertex).map(|link| problem.flow.along(link));
                ways[from * targets.len() + number] = links.inspect(|&link| used[link] = 0).collect();
            }
        }
        let mut rates = Vec::new();
        for (link, number) in used.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = u32::try_from(rates.len()).expect("links fit 32 bits");
            rates.push(network.rate(link));
        }
        let (mut starts, mut links) = (vec![0], Vec::new());
        for way in &ways {
            links.extend(way.iter().map(|&link| used[link]));
            starts.push(links.len());
        }
        Some(Ways { rates, source_of, target_of, targets: targets.len(), starts, links })
    }

    /// The number of links.
    pub fn links(&self) -> usize {
        self.rates.len()
    }

    /// The sum of the lengths of all ways.
    pub fn ways(&self) -> usize {
        self.links.len()
    }

    /// The rate of a link.
    pub fn rate(&self, link: usize) -> Rate {
        self.rates[link]
    }

    /// The links from a node that holds something to one that may serve.
    pub fn between(&self, from: NodeId, to: NodeId) -> &[u32] {
        let (from, to) = (self.source_of[from.index()], self.target_of[to.index()]);
        debug_assert!(from != NONE && to != NONE, "a node that holds and one that serves");
        let index = from as usize * self.targets + to as usize;
        &self.links[self.starts[index]..self.starts[index + 1]]
    }

    /// The sum of the links' prices on every way.
    pub fn priced(&self, prices: &[u64]) -> Priced<'_> {
        let way =
            |pair: &[usize]| self.links[pair[0]..pair[1]].iter().map(|&link| prices[link as usize]).sum();
        Priced { ways: self, sums: self.starts.windows(2).map(way).collect() }
    }

    /// Which ways cross a link.
    pub fn crossing(&self, link: usize) -> Crossing<'_> {
        let crosses =
            |pair: &[usize]| self.links[pair[0]..pair[1]].iter().any(|&other| other as usize == link);
        Crossing { ways: self, crosses: self.starts.windows(2).map(crosses).collect() }
    }

    /// The time of the most loaded link.
    pub fn time(&self, loads: &[u128]) -> Picoseconds {
        let times = loads.iter().zip(&self.rates).map(|(&bytes, rate)| rate.time(bytes));
        times.max().unwrap_or_default()
    }

    /// The most bytes that each link carries within a time.
    pub fn limits(&self, time: Picoseconds) -> Vec<u128> {
        // `Rate::time` rounds up: bytes x 8 seconds' worth / rate <= time.
        let most = |rate: &Rate| match time.0.checked_mul(u128::from(rate.0.max(1))) {
            Some(product) => product / (8 * Picoseconds::PER_SECOND),
            None => u128::MAX,
        };
        self.rates.iter().map(most).collect()
    }
}

fn numbered(nodes: usize, is_one: impl Fn(usize) -> bool) -> (Vec<u32>, Vec<NodeId>) {
    let (mut number_of, mut found) = (vec![NONE; nodes], Vec::new());
    for node in (0..nodes).filter(|&node| is_one(node)) {
        number_of[node] = u32::try_from(found.len()).expect("nodes fit 32 bits");
        found.push(NodeId::from_index(node));
    }
    (number_of, found)
}

/// See [`Ways::priced`].
pub(super) struct Priced<'a> {
    ways: &'a Ways,
    sums: Vec<u64>,
}

impl Priced<'_> {
    /// The price of a byte from a node that holds something to one that may serve.
    pub fn between(&self, from: NodeId, to: NodeId) -> u64 {
        let (from, to) = (self.ways.source_of[from.index()], self.ways.target_of[to.index()]);
        self.sums[from as usize * self.ways.targets + to as usize]
    }
}

/// See [`Ways::crossing`].
pub(super) struct Crossing<'a> {
    ways: &'a Ways,
    crosses: Vec<bool>,
}

impl Crossing<'_> {
    /// The bytes that one unit of a group puts on the link when a column serves it.
    pub fn bytes(&self, setting: &Setting<'_>, group: usize, column: usize) -> i128 {
        let to = self.ways.target_of[setting.columns[column].index()] as usize;
        let held = setting.matrix.held(setting.groups.first[group]).iter().filter(|held| held.bytes > 0);
        let crossing = held.filter(|held| {
            self.crosses[self.ways.source_of[held.node.index()] as usize * self.ways.targets + to]
        });
        crossing.map(|held| i128::from(held.bytes)).sum()
    }
}

/// Groups of units, the columns (nodes with room) that may serve them, and what that costs.
pub(super) struct Setting<'a> {
    pub matrix: &'a NodeMatrix,
    pub ways: &'a Ways,
    pub groups: Groups,
    pub columns: Vec<NodeId>,
    /// By column.
    pub capacity: Vec<u32>,
    /// Hop-bytes, group by group with one entry a column.
    pub hops: Vec<u128>,
}

impl<'a> Setting<'a> {
    /// The setting of a matrix, when each node takes at most `capacity` units; `None` when it is too large.
    pub fn new(
        matrix: &'a NodeMatrix,
        topology: &Topology,
        ways: &'a Ways,
        capacity: &[u32],
    ) -> Option<Setting<'a>> {
        let groups = Groups::of_matrix(matrix);
        let nodes = (0..capacity.len()).filter(|&node| capacity[node] > 0);
        let columns: Vec<NodeId> = nodes.map(NodeId::from_index).collect();
        if groups.len() * columns.len() > ENTRIES_MAX {
            return None;
        }
        let row = |&unit: &usize| {
            let costs = costs_of_domain(matrix, topology, unit);
            columns.iter().map(|node| costs[node.index()].0).collect::<Vec<u128>>()
        };
        let hops = groups.first.iter().flat_map(row).collect();
        let capacity = columns.iter().map(|node| capacity[node.index()]).collect();
        Some(Setting { matrix, ways, groups, columns, capacity, hops })
    }

    /// The same units with other capacities, by node: columns without room are left out. None may have room that had none.
    pub fn narrowed(&self, capacity: &[u32]) -> Setting<'a> {
        let kept: Vec<usize> =
            (0..self.columns.len()).filter(|&column| capacity[self.columns[column].index()] > 0).collect();
        let columns: Vec<NodeId> = kept.iter().map(|&column| self.columns[column]).collect();
        let rows = self.hops.chunks(self.columns.len().max(1));
        Setting {
            matrix: self.matrix,
            ways: self.ways,
            groups: self.groups.clone(),
            capacity: columns.iter().map(|node| capacity[node.index()]).collect(),
            hops: rows.flat_map(|row| kept.iter().map(|&column| row[column])).collect(),
            columns,
        }
    }

    /// The sum of the times of all links that a unit loads, group by group with one entry a column, in units that are
    /// right among themselves.
    pub fn link_times(&self) -> Vec<u128> {
        let fastest = self.ways.rates.iter().map(|rate| rate.0).max().unwrap_or(1).max(1);
        // As of a link of the fastest rate, in sixteenths.
        let price = |rate: &Rate| fastest.saturating_mul(16) / rate.0.max(1);
        let prices: Vec<u64> = self.ways.rates.iter().map(|rate| price(rate).min(1 << 32)).collect();
        self.priced_rows(&self.ways.priced(&prices))
    }

    /// The price of a unit's bytes, group by group with one entry a column.
    fn priced_rows(&self, priced: &Priced<'_>) -> Vec<u128> {
        let mut costs = vec![0; self.groups.len() * self.columns.len()];
        for (group, row) in costs.chunks_mut(self.columns.len().max(1)).enumerate() {
            self.price_row(priced, group, row);
        }
        costs
    }

    /// The price of a unit's bytes in each column.
    pub fn price_row(&self, priced: &Priced<'_>, group: usize, row: &mut [u128]) {
        row.fill(0);
        for held in self.matrix.held(self.groups.first[group]).iter().filter(|held| held.bytes > 0) {
            for (cost, &to) in row.iter_mut().zip(&self.columns) {
                *cost += u128::from(held.bytes) * u128::from(priced.between(held.node, to));
            }
        }
    }

    /// The hop-bytes of a unit of a group in a column.
    pub fn hop_bytes(&self, group: usize, column: usize) -> u128 {
        self.hops[group * self.columns.len() + column]
    }

    /// The assignment with the fewest hop-bytes.
    pub fn fewest_hop_bytes(&self) -> Shares {
        cheapest(&self.groups.counts, &self.capacity, |group, costs| {
            costs.copy_from_slice(&self.hops[group * self.columns.len()..][..self.columns.len()]);
        })
    }

    /// Tells `each` the links that one unit of a group loads when a column serves it, and with how many bytes.
    pub fn loads_of(&self, group: usize, column: usize, mut each: impl FnMut(usize, u64)) {
        let to = self.columns[column];
        for held in self.matrix.held(self.groups.first[group]).iter().filter(|held| held.node != to) {
            if held.bytes > 0 {
                self.ways.between(held.node, to).iter().for_each(|&link| each(link as usize, held.bytes));
            }
        }
    }

    /// The node of each unit.
    pub fn nodes(&self, shares: &Shares) -> Vec<NodeId> {
        self.groups.spread(shares).into_iter().map(|column| self.columns[column]).collect()
    }
}

/// The cheapest shares, by the solver that suits the shape.
pub(super) fn cheapest(counts: &[u32], capacity: &[u32], mut fill: impl FnMut(usize, &mut [u128])) -> Shares {
    let units: usize = counts.iter().map(|&count| count as usize).sum();
    if units > capacity.len() {
        return transport::minimise(counts, capacity, fill);
    }
    let group_of: Vec<usize> =
        (counts.iter().enumerate()).flat_map(|(group, &count)| (0..count).map(move |_| group)).collect();
    let columns = lap::minimise(units, capacity, |unit, costs| fill(group_of[unit], costs));
    Groups::by_key(units, |unit| group_of[unit]).shares(&columns)
}

/// An assignment while it changes.
#[derive(Clone)]
pub(super) struct State {
    columns: usize,
    /// Units, group by group with one entry a column.
    units: Vec<u32>,
    /// By column: for how many more units there is room.
    pub free: Vec<u32>,
    /// By link.
    pub loads: Vec<u128>,
    pub hop_bytes: u128,
}

/// Units of a group that leave a column for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub group: usize,
    pub from: usize,
    pub to: usize,
}

impl State {
    /// The state of some shares.
    pub fn new(setting: &Setting<'_>, shares: &Shares) -> State {
        let columns = setting.columns.len();
        let mut state = State {
            columns,
            units: vec![0; setting.groups.len() * columns],
            free: setting.capacity.clone(),
            loads: vec![0; setting.ways.links()],
            hop_bytes: 0,
        };
        for (group, share) in shares.iter().enumerate() {
            for &(column, units) in share {
                state.units[group * columns + column] += units;
                state.free[column] -= units;
                state.hop_bytes += u128::from(units) * setting.hop_bytes(group, column);
                let loads = &mut state.loads;
                setting.loads_of(group, column, |link, bytes| {
                    loads[link] += u128::from(units) * u128::from(bytes);
                });
            }
        }
        state
    }

    /// How many units of a group a column serves.
    pub fn units(&self, group: usize, column: usize) -> u32 {
        self.units[group * self.columns + column]
    }

    /// Takes `units` steps of each kind. Panics when there are not so many units.
    pub fn take(&mut self, setting: &Setting<'_>, steps: &[Step], units: u32) {
        for &Step { group, from, to } in steps {
            self.units[group * self.columns + from] -= units;
            self.units[group * self.columns + to] += units;
            self.free[from] += units;
        }
        steps.iter().for_each(|step| self.free[step.to] -= units);
        let many = u128::from(units);
        for &Step { group, from, to } in steps {
            self.hop_bytes += many * setting.hop_bytes(group, to);
            self.hop_bytes -= many * setting.hop_bytes(group, from);
            let loads = &mut self.loads;
            setting.loads_of(group, to, |link, bytes| loads[link] += many * u128::from(bytes));
            setting.loads_of(group, from, |link, bytes| loads[link] -= many * u128::from(bytes));
        }
    }

    /// The shares that it stands for.
    pub fn shares(&self) -> Shares {
        let share = |row: &[u32]| row.iter().copied().enumerate().filter(|&(_, units)| units > 0).collect();
        self.units.chunks(self.columns.max(1)).map(share).collect()
    }
}

/// What some steps change on the links.
pub(super) struct Change {
    by_link: Vec<i128>,
    touched: Vec<u32>,
}

impl Change {
    /// Nothing yet, on so many links.
    pub fn new(links: usize) -> Change {
        Change { by_link: vec![0; links], touched: Vec::new() }
    }

    /// The most times that the steps can be taken, up to `most`, before a link that they load more holds more than its
    /// limit.
    pub fn room(
        &mut self,
        setting: &Setting<'_>,
        state: &State,
        steps: &[Step],
        limits: &[u128],
        most: u32,
    ) -> u32 {
        self.of(setting, steps);
        let mut most = u128::from(most);
        for &link in &self.touched {
            let link = link as usize;
            if let Ok(more @ 1..) = u128::try_from(self.by_link[link]) {
                most = most.min(limits[link].saturating_sub(state.loads[link]) / more);
            }
        }
        u32::try_from(most).expect("at most what it was")
    }

    /// What one of each step adds to a link; of the steps of the last [`Change::room`].
    pub fn on(&self, link: usize) -> i128 {
        self.by_link[link]
    }

    /// The links that those steps change.
    pub fn links(&self) -> impl Iterator<Item = usize> + '_ {
        self.touched.iter().map(|&link| link as usize)
    }

    fn of(&mut self, setting: &Setting<'_>, steps: &[Step]) {
        for link in self.touched.drain(..) {
            self.by_link[link as usize] = 0;
        }
        for &Step { group, from, to } in steps {
            for (column, sign) in [(from, -1), (to, 1)] {
                setting.loads_of(group, column, |link, bytes| {
                    if self.by_link[link] == 0 {
                        self.touched.push(u32::try_from(link).expect("links fit 32 bits"));
                    }
                    self.by_link[link] += sign * i128::from(bytes);
                });
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
    }
}
