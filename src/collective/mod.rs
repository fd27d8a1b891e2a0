//! The main path: collective writes and reads of one file, as alternating pure stages and communication.
//!
//! ```text
//! survey      every rank's range, bytes, errors          survey.rs
//! domains     the range cut into file domains            plan::Domains
//! placement   matrix, hop-bytes, assignment              placement.rs
//! requests    remote ranks' accesses, in compact form    requests.rs
//! rounds      windows, and which of them have holes      plan::plan_rounds
//! shuffle,io  round by round                             write.rs, read.rs, shuffle.rs
//! agree       one outcome for every rank                 outcome.rs
//! ```
//!
//! No rank leaves early: between the survey and the agreement nothing returns because of an error; errors are recorded
//! and every rank goes on to the end.

mod buffers;
mod direct;
mod outcome;
mod placement;
mod read;
mod requests;
mod rounds;
mod shuffle;
mod survey;
mod wire;
mod write;

use crate::backend::Backend;
use crate::comm::Communicator;
use crate::error::Error;
use crate::hints::{Hints, StatsSink, Switch};
use crate::memory::Memory;
use crate::placement::Candidates;
use crate::plan::{Access, Domains};
use crate::stats::CallStats;
use crate::topology::{NodeMap, NodePlaces, Resolved, System, sources};
use crate::units::{ByteRange, Bytes, NodeId, Offset, Rank};
use outcome::Outcome;
use placement::Kept;
use std::sync::Arc;
use survey::Survey;

/// What one rank asks for in one collective call.
#[derive(Debug)]
pub struct Request<'a> {
    /// The file bytes.
    pub access: Access,
    /// Where they come from or go to: as many bytes as the access has.
    pub memory: Memory<'a>,
}

/// What a file is opened with. `name`, `hints` and `block_bytes` are taken from rank 0.
#[derive(Clone, Debug)]
pub struct FileSetup {
    /// For messages and statistics.
    pub name: String,
    /// The hints in force; every rank passes the same.
    pub hints: Hints,
    /// By rank: the host's name and a number that ranks share just when they can share memory. The same on every rank.
    pub hosts: Vec<(String, u64)>,
    /// The processors this rank may run on.
    pub processors: Vec<usize>,
    /// `SLURM_TOPOLOGY_ADDR` of this rank.
    pub slurm_address: Option<String>,
    /// The file system's lock block: no two file domains share one, unless `striping_unit` says otherwise.
    pub block_bytes: Bytes,
}

impl FileSetup {
    /// Default hints, all ranks on one host, blocks of 4096 bytes.
    pub fn new(name: &str, ranks: u32) -> FileSetup {
        FileSetup {
            name: name.into(),
            hints: Hints::default(),
            hosts: vec![("localhost".into(), 0); Rank(ranks).index()],
            processors: Vec::new(),
            slurm_address: None,
            block_bytes: 4096,
        }
    }
}

/// An open file and everything that outlives a call: groups of ranks, distances, buffers.
pub struct CollectiveFile<C, B> {
    name: String,
    comm: C,
    /// The ranks of this node.
    node: C,
    /// The first rank of each node, in node order, on those ranks; the others, which never use it, elsewhere.
    leaders: C,
    nodes: NodeMap,
    candidates: Candidates,
    /// On rank 0, which solves the assignment.
    topology: Option<Arc<Resolved>>,
    /// What the distances come from.
    topology_source: String,
    slurm_address: Option<String>,
    /// Of this node's ranks, on its leader; asked for at the first placement.
    places: NodePlaces,
    hosts: Vec<(String, u64)>,
    processors: Vec<usize>,
    block_bytes: Bytes,
    hints: Hints,
    /// Of the last two-phase call.
    kept: Option<Kept>,
    backend: B,
    last_call: Option<CallStats>,
}

impl<C: Communicator, B: Backend> CollectiveFile<C, B> {
    /// Takes a communicator, private to this file, and this rank's back end. Collective.
    pub fn open(comm: C, backend: B, setup: FileSetup) -> CollectiveFile<C, B> {
        let block_bytes = {
            let mut block = setup.block_bytes.max(1).to_le_bytes().to_vec();
            comm.broadcast(Rank(0), &mut block);
            Bytes::from_le_bytes(block.try_into().expect("rank 0 sends eight bytes"))
        };
        let nodes = node_map(&setup.hints, &setup.hosts, comm.size());
        let mut hints = setup.hints;
        hints.settle(nodes.len());
        let (node, leaders) = groups(&comm, &nodes);
        let mut file = CollectiveFile {
            candidates: candidates(&comm, &nodes, &hints),
            name: setup.name,
            comm,
            node,
            leaders,
            nodes,
            topology: None,
            topology_source: String::new(),
            slurm_address: setup.slurm_address,
            places: NodePlaces::default(),
            hosts: setup.hosts,
            processors: setup.processors,
            block_bytes,
            hints,
            kept: None,
            backend,
            last_call: None,
        };
        file.learn_places();
        file.resolve_topology();
        file
    }

    /// The hints in force.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// The ranks this file was opened by.
    pub fn comm(&self) -> &C {
        &self.comm
    }

    /// This rank's back end.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The statistics of the last call, complete only with the hint `tatpio_stats`.
    pub fn last_call(&self) -> Option<&CallStats> {
        self.last_call.as_ref()
    }

    /// Puts other hints in force; every rank passes the same. Collective.
    pub fn set_hints(&mut self, hints: Hints) {
        let regroup = hints.node_ranks != self.hints.node_ranks;
        self.hints = hints;
        if regroup {
            self.nodes = node_map(&self.hints, &self.hosts, self.comm.size());
            (self.node, self.leaders) = groups(&self.comm, &self.nodes);
            self.learn_places();
        }
        self.hints.settle(self.nodes.len());
        self.candidates = candidates(&self.comm, &self.nodes, &self.hints);
        self.kept = None;
        self.resolve_topology();
    }

    /// The distances between nodes, on the rank that solves with them; where they come from, on all. Collective.
    fn resolve_topology(&mut self) {
        let addresses =
            self.comm.gather(Rank(0), self.slurm_address.as_deref().unwrap_or_default().as_bytes());
        let mut source = Vec::new();
        if self.comm.rank() == Rank(0) {
            let address = |node: NodeId| {
                let bytes = &addresses[self.nodes.ranks_of(node)[0].index()];
                Some(String::from_utf8_lossy(bytes).into_owned()).filter(|text| !text.is_empty())
            };
            let around = System { slurm_addresses: self.nodes.nodes().map(address).collect() };
            let resolved = sources::resolve_once(&self.hints.topology, &self.nodes, around);
            source = resolved.source.clone().into_bytes();
            self.topology = Some(resolved);
        }
        self.comm.broadcast(Rank(0), &mut source);
        self.topology_source = String::from_utf8_lossy(&source).into_owned();
    }

    /// Where this node's ranks sit, on its leader.
    fn learn_places(&mut self) {
        let mine: Vec<u8> = (self.processors.iter())
            .flat_map(|&processor| u32::try_from(processor).unwrap_or(u32::MAX).to_le_bytes())
            .collect();
        let sets = self.node.gather(Rank(0), &mine);
        self.places = crate::topology::node_places(&sets);
    }

    /// What all ranks want, and this rank's request; or the error of the lowest rank that has one. Collective.
    fn survey<'a>(&self, request: Result<Request<'a>, Error>) -> Result<(Survey, Request<'a>), Error> {
        let before = self.kept.as_ref().map(Kept::access);
        let survey = Survey::take(&self.comm, &self.backend, &request, before, self.unit_bytes());
        match (survey, request) {
            (Ok(survey), Ok(request)) => Ok((survey, request)),
            (Err(agreed), Err(own)) if own.class() == agreed.class() => Err(own),
            (Err(agreed), _) => Err(agreed),
            (Ok(_), Err(own)) => unreachable!("the survey finds every error: {own}"),
        }
    }

    /// Bytes that no two file domains share: a stripe, or the file system's lock block.
    fn unit_bytes(&self) -> Bytes {
        self.hints.striping_unit_bytes.unwrap_or(self.block_bytes)
    }

    /// The accessed range cut into file domains, at most one for each aggregator.
    fn domains(&self, range: ByteRange) -> Domains {
        let wanted = u32::try_from(self.candidates.list.len()).expect("aggregators are ranks");
        Domains::new(range, wanted, self.unit_bytes(), self.hints.domain_bytes_min, self.hints.domains)
    }

    /// Whether each rank reads or writes by itself: told so, or nothing interleaves and nothing was said.
    fn goes_direct(&self, switch: Switch, survey: &Survey) -> bool {
        match switch {
            Switch::Enable => false,
            Switch::Disable => true,
            Switch::Automatic => !survey.interleaved,
        }
    }

    /// Ends a call: one outcome for every rank (where a read found the file to end), and the statistics. Collective.
    fn finish(&mut self, mut outcome: Outcome) -> Result<Offset, Error> {
        let with_stats = self.hints.stats != StatsSink::Off;
        let result = outcome.agree(&self.comm, with_stats);
        let mut stats = outcome.stats;
        stats.file.clone_from(&self.name);
        stats.ranks = self.comm.size();
        stats.nodes = self.nodes.len();
        stats.assign = self.hints.assign.to_string();
        stats.topology.clone_from(&self.topology_source);
        if self.comm.rank() == Rank(0) {
            outcome::report(&self.hints.stats, &stats);
        }
        self.last_call = Some(stats);
        result
    }
}

fn node_map(hints: &Hints, hosts: &[(String, u64)], ranks: u32) -> NodeMap {
    match hints.node_ranks {
        Some(ranks_per_node) => NodeMap::emulated(ranks, ranks_per_node),
        None => NodeMap::new(hosts.to_vec()),
    }
}

fn candidates<C: Communicator>(comm: &C, nodes: &NodeMap, hints: &Hints) -> Candidates {
    let found = Candidates::new(nodes, hints.cb_nodes, &hints.cb_config_list);
    if found.fell_back && comm.rank() == Rank(0) {
        log::warn!(
            "hint cb_config_list={} names no host of the job: rank 0 aggregates alone",
            hints.cb_config_list
        );
    }
    found
}

/// The group of this rank's node, and the group of the nodes' first ranks. Collective.
fn groups<C: Communicator>(comm: &C, nodes: &NodeMap) -> (C, C) {
    let mine = nodes.node_of(comm.rank());
    let node = comm.split(mine.0);
    let leader = nodes.ranks_of(mine).first() == Some(&comm.rank());
    let leaders = comm.split(u32::from(!leader));
    (node, leaders)
}
