//! One job under several assignments: what each would move, and over which links. Nothing is moved.

use crate::job::{BLOCK_BYTES, Job};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use tatpio::placement::{
    self, Chosen, CostModel, Flow, Granularity, Held, Inside, NodeMatrix, Prediction, Problem, Strategy,
    assign_nodes, assign_ranks,
};
use tatpio::plan::{Access, Domains, Partition, Stripes};
use tatpio::units::{ByteRange, Bytes, DomainId, HopBytes, Hops, NodeId, Rank};

/// What is assigned: file domains or stripes.
enum Units {
    /// Ranges one after the other.
    Ranges(Vec<ByteRange>),
    /// Domains whose stripes take turns.
    Cyclic(Domains),
}

impl Units {
    fn domains(job: &Job) -> Units {
        let wanted = u32::try_from(job.candidates.list.len()).expect("aggregators are ranks");
        let domains =
            Domains::new(job.hull, wanted, block(job), job.hints.domain_bytes_min, job.hints.domains);
        match job.hints.domains {
            Partition::Even => Units::Ranges(domains.ids().map(|domain| domains.reach(domain)).collect()),
            Partition::Cyclic => Units::Cyclic(domains),
        }
    }

    fn stripes(job: &Job) -> Units {
        let periods = job.accesses.iter().filter_map(|access| access.period(block(job)));
        let period = periods.reduce(greatest_common_divisor).filter(|&period| period >= block(job));
        Units::Ranges(Stripes::new(job.hull, block(job), STRIPES_MAX, period).iter().collect())
    }

    fn len(&self) -> usize {
        match self {
            Units::Ranges(ranges) => ranges.len(),
            Units::Cyclic(domains) => DomainId(domains.len()).index(),
        }
    }

    fn size(&self, unit: usize) -> Bytes {
        match self {
            Units::Ranges(ranges) => ranges[unit].len(),
            Units::Cyclic(domains) => domains.bytes(DomainId::from_index(unit)),
        }
    }

    /// How many of an access's bytes lie in a unit.
    fn bytes_of(&self, access: &Access, unit: usize) -> Bytes {
        match self {
            Units::Ranges(ranges) => access.bytes_in(ranges[unit]),
            Units::Cyclic(domains) => domains.bytes_of(access, DomainId::from_index(unit)),
        }
    }

    /// The units that an access reaches, and its bytes there. Other units are not looked at.
    fn of<'a>(&'a self, access: &'a Access) -> impl Iterator<Item = (usize, Bytes)> + 'a {
        let units = match self {
            Units::Ranges(ranges) => {
                let first = ranges.partition_point(|range| range.end <= access.hull().start);
                let end = ranges.partition_point(|range| range.start < access.hull().end);
                first..end.max(first)
            }
            Units::Cyclic(_) => 0..self.len(),
        };
        units.map(|unit| (unit, self.bytes_of(access, unit))).filter(|&(_, bytes)| bytes > 0)
    }
}

/// Stripes are made so large that there are no more.
const STRIPES_MAX: u32 = 8192;

fn greatest_common_divisor(a: Bytes, b: Bytes) -> Bytes {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn block(job: &Job) -> Bytes {
    job.hints.striping_unit_bytes.unwrap_or(BLOCK_BYTES)
}

/// Units and the communication matrix over them.
struct Table {
    units: Units,
    matrix: NodeMatrix,
}

impl Table {
    /// Takes memory in the units that each node reaches, never in ranks times units.
    fn new(job: &Job, units: Units) -> Table {
        let mut by_unit: Vec<Vec<Held>> = vec![Vec::new(); units.len()];
        for node in job.map.nodes() {
            // By unit: the node's bytes, and the most that one of its ranks has.
            let mut sums: BTreeMap<usize, (Bytes, Bytes)> = BTreeMap::new();
            for rank in job.map.ranks_of(node) {
                for (unit, bytes) in units.of(&job.accesses[rank.index()]) {
                    let (sum, most) = sums.entry(unit).or_default();
                    (*sum, *most) = (*sum + bytes, bytes.max(*most));
                }
            }
            let serves = job.candidates.slots[node.index()] > 0;
            for (unit, (bytes, most)) in sums {
                let moved = (bytes - most) * between_ranks(0, 1);
                let inside = if serves { u64::try_from(moved.0).unwrap_or(u64::MAX) } else { 0 };
                by_unit[unit].push(Held { node, bytes, inside });
            }
        }
        Table { matrix: NodeMatrix::from_units(job.map.len(), by_unit), units }
    }
}

/// Nothing is known of the inside of the nodes.
fn between_ranks(a: usize, b: usize) -> Hops {
    if a == b { Hops::ZERO } else { Hops::ONE }
}

/// A job and what its assignments are computed from, each when it is first needed.
pub struct Study<'a> {
    /// The job.
    pub job: &'a Job,
    domains: OnceCell<Table>,
    stripes: OnceCell<Table>,
}

/// What one assignment comes to.
pub struct Assigned {
    /// Which.
    pub strategy: Strategy,
    /// Whether units are file domains or stripes.
    pub granularity: Granularity,
    /// The number of units.
    pub units: usize,
    /// The sizes of the smallest and the largest unit.
    pub unit_bytes: (Bytes, Bytes),
    /// By unit: the rank that serves it.
    pub ranks: Vec<Rank>,
    /// Each rank that aggregates, ascending: its units and their bytes.
    pub aggregators: BTreeMap<Rank, (usize, Bytes)>,
    /// Over the network and inside the nodes.
    pub hop_bytes: HopBytes,
    /// Loads of the links and times; nothing unless asked for.
    pub prediction: Option<Prediction>,
}

impl Assigned {
    /// The bytes on each directed link; empty unless asked for.
    pub fn loads(&self) -> &[u128] {
        self.prediction.as_ref().map_or(&[], |prediction| &prediction.loads)
    }

    /// Hop-bytes in those of another assignment.
    pub fn ratio_to(&self, other: &Assigned) -> Option<f64> {
        (other.hop_bytes.0 > 0).then(|| self.hop_bytes.as_f64() / other.hop_bytes.as_f64())
    }
}

impl<'a> Study<'a> {
    /// Nothing is computed yet.
    pub fn new(job: &'a Job) -> Study<'a> {
        Study { job, domains: OnceCell::new(), stripes: OnceCell::new() }
    }

    fn table(&self, granularity: Granularity) -> &Table {
        match granularity {
            Granularity::Domains => {
                self.domains.get_or_init(|| Table::new(self.job, Units::domains(self.job)))
            }
            Granularity::Stripes => {
                self.stripes.get_or_init(|| Table::new(self.job, Units::stripes(self.job)))
            }
        }
    }

    /// The job under one assignment; the links' loads on request, because they take a search through the network for
    /// each node that serves.
    pub fn assign(&self, strategy: Strategy, with_loads: bool) -> Assigned {
        let Study { job, .. } = *self;
        // As in a collective call: on one node there is no network to spare.
        let solver = match strategy.granularity() {
            Granularity::Stripes if job.map.len() == 1 => Strategy::HopBytes,
            _ => strategy,
        };
        let Table { units, matrix } = self.table(solver.granularity());
        let topology = &job.resolved.topology;
        let count_fixed = job.hints.cb_nodes.is_some();
        let problem = Problem { matrix, topology, candidates: &job.candidates, flow: job.flow, count_fixed };
        let chosen = assign_nodes(solver, &problem);
        let (ranks, inside) = self.seat(solver, units, matrix, &chosen);
        let mut aggregators: BTreeMap<Rank, (usize, Bytes)> = BTreeMap::new();
        for (unit, &rank) in ranks.iter().enumerate() {
            let (count, bytes) = aggregators.entry(rank).or_default();
            (*count, *bytes) = (*count + 1, *bytes + units.size(unit));
        }
        let model = CostModel { round_bytes: job.hints.cb_buffer_bytes, ..CostModel::default() };
        let sizes = || (0..units.len()).map(|unit| units.size(unit));
        Assigned {
            strategy,
            granularity: solver.granularity(),
            units: units.len(),
            unit_bytes: (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)),
            ranks,
            aggregators,
            hop_bytes: placement::between(matrix, topology, &chosen.nodes) + inside,
            prediction: with_loads.then(|| placement::predict_with(&model, &problem, &chosen)),
        }
    }

    /// A rank for each unit, and the hop-bytes inside the nodes.
    fn seat(
        &self,
        strategy: Strategy,
        units: &Units,
        matrix: &NodeMatrix,
        chosen: &Chosen,
    ) -> (Vec<Rank>, HopBytes) {
        let job = self.job;
        let mut here: Vec<Vec<usize>> = vec![Vec::new(); job.map.len()];
        chosen.nodes.iter().enumerate().for_each(|(unit, node)| here[node.index()].push(unit));
        let mut listed: Vec<Vec<usize>> = vec![Vec::new(); job.map.len()];
        for (&rank, node) in job.candidates.list.iter().zip(&job.candidates.list_nodes) {
            listed[node.index()].push(job.map.local_index(rank));
        }
        let mut ranks = vec![Rank(0); units.len()];
        let mut inside = HopBytes(0);
        for node in job.map.nodes().filter(|node| !here[node.index()].is_empty()) {
            let here = &here[node.index()];
            let own = job.map.ranks_of(node);
            let rows: Vec<Vec<Bytes>> = (own.iter())
                .map(|rank| {
                    here.iter().map(|&unit| units.bytes_of(&job.accesses[rank.index()], unit)).collect()
                })
                .collect();
            let allowed: Vec<usize> = match strategy {
                Strategy::RankOrder => listed[node.index()].clone(),
                _ => job.candidates.allowed[node.index()]
                    .iter()
                    .map(|&rank| job.map.local_index(rank))
                    .collect(),
            };
            let arriving: Vec<Bytes> = here.iter().map(|&unit| arriving(matrix, unit, node)).collect();
            let seated = assign_ranks(
                strategy,
                &Inside {
                    rows: &rows,
                    distance: &between_ranks,
                    arriving: &arriving,
                    to_network: &|_| Hops::ONE,
                    allowed: &allowed,
                    seats: chosen.seats[node.index()],
                },
            );
            for (at, (&unit, local)) in here.iter().zip(seated).enumerate() {
                ranks[unit] = own[local];
                inside += placement::served(&rows, &between_ranks, at, local);
            }
        }
        (ranks, inside)
    }
}

/// The bytes of a unit that other nodes hold.
fn arriving(matrix: &NodeMatrix, unit: usize, node: NodeId) -> Bytes {
    matrix.held(unit).iter().filter(|held| held.node != node).map(|held| held.bytes).sum()
}

/// What the direction is called.
pub fn verb(flow: Flow) -> &'static str {
    match flow {
        Flow::Gather => "write",
        Flow::Scatter => "read",
    }
}
