//! The command line of `compare`.

use super::fabric::{Fabric, Order};
use super::peers::{self, Peer};
use crate::options::key_value;
use clap::{Parser, value_parser};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Runs cube and btio under several MPI-IO implementations in turn and compares them
///
/// Every figure is a median over repetitions, and a ratio is of medians of one invocation. The first peer is
/// what the others are compared with.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Options {
    /// What to run: PROGRAM:RANKS[,RANKS..]:N[:SEED], N doubles along each edge, SEED to scatter the parts of
    /// the array over the ranks; can be given several times [default: cube:1,2,4,8:256 btio:1,4,9:256]
    #[arg(long = "case", value_name = "CASE", value_parser = parse_cases)]
    cases: Vec<Cases>,

    /// Hints that every peer gets, as KEY=VALUE[;KEY=VALUE..]; each set given runs all the cases once more
    /// (`--hints ''` is the set without any)
    #[arg(long, value_name = "HINTS", value_parser = parse_hints)]
    hints: Vec<Hints>,

    /// The peers, the baseline first
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "romio,tatpio")]
    peers: Vec<String>,

    /// List the peers and stop
    #[arg(long)]
    pub list_peers: bool,

    /// Repetitions: each is one mpirun under every peer in turn
    #[arg(long, value_name = "TIMES", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Passes over the file within an mpirun, after one to warm up; their median counts (the first still runs
    /// a tenth or more slower than the others)
    #[arg(long, value_name = "TIMES", default_value_t = 3, value_parser = value_parser!(u32).range(1..))]
    pub passes: u32,

    /// A further argument for the programs, such as --program-argument=--cold; can be given several times
    #[arg(long = "program-argument", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub program_arguments: Vec<String>,

    /// Where the files are written, in a temporary directory that is removed at the end [default: /dev/shm,
    /// or else the directory for temporary files]
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,

    /// The directory with mpich/release and openmpi/release, as ci/build leaves it [default: the one this
    /// program is in]
    #[arg(long, value_name = "DIRECTORY")]
    pub target: Option<PathBuf>,

    /// Another mpirun for an MPI library, as mpich=PROGRAM or openmpi=PROGRAM
    #[arg(long = "mpirun", value_name = "MPI=PROGRAM", value_parser = key_value)]
    pub mpiruns: Vec<(String, String)>,

    /// Seconds after which a run counts as hung; it is ended and repeated once
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = value_parser!(u64).range(1..))]
    pub time_limit: u64,

    /// Also run the --emulated-case cases on ranks that pretend to sit on NODES nodes of a cluster that
    /// SPECIFICATION (as in the hint tatpio_topology) describes, and print the hop-bytes that tatpio counts;
    /// not timed
    #[arg(long, value_name = "NODES=SPECIFICATION", value_parser = parse_emulated)]
    emulate: Vec<Emulated>,

    /// What to run on the emulated cluster, as --case [default: cube:8:96 cube:8:96:1 btio:16:96
    /// btio:16:96:1]
    #[arg(long = "emulated-case", value_name = "CASE", value_parser = parse_cases)]
    emulated: Vec<Cases>,

    /// Run on the hosts of the fabric that SCRIPT (`ci/fabric up`) has made, and read the bytes of every link
    /// around the calls; needs root, MPICH's peers only
    #[arg(long, value_name = "SCRIPT", num_args = 0..=1, require_equals = true, conflicts_with = "emulate")]
    #[arg(default_missing_value = "ci/fabric")]
    pub fabric: Option<PathBuf>,

    /// On which hosts of the fabric the ranks sit: in-order, scattered:SEED, or hosts:N,N.. (by number, in rank
    /// order); each order given runs all the cases once more [default: in-order]
    #[arg(long = "order", value_name = "ORDER", requires = "fabric")]
    orders: Vec<Order>,

    /// Successive ranks that share a host of the fabric [default: as few as fit]
    #[arg(long, value_name = "COUNT", requires = "fabric", value_parser = value_parser!(u32).range(1..))]
    ranks_per_host: Option<u32>,

    /// What tatpio is told of the fabric [default: what `ci/fabric topology` prints]
    #[arg(long, value_name = "FILE", requires = "fabric")]
    fabric_topology: Option<PathBuf>,

    /// Run tatpio once with each of these values of its hint tatpio_assign; those that it refuses are skipped
    /// [default: rank_order,locality,hop_bytes,bottleneck,stripes,automatic with --fabric, else its own default]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    assign: Vec<String>,

    /// Print one JSON object, every run in it, instead of tables
    #[arg(long)]
    pub json: bool,

    /// Write every run as a line of CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// A remark for the head of the CSV and of the tables; can be given several times
    #[arg(long = "note", value_name = "TEXT")]
    pub notes: Vec<String>,

    /// Fail if a peer writes or reads at less than RATIO times the baseline's rate
    #[arg(long, value_name = "RATIO")]
    pub min_ratio: Option<f64>,
}

/// One benchmark in one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The program's name.
    pub program: &'static str,
    /// The number of ranks.
    pub ranks: u32,
    /// Doubles along each edge of the array.
    pub size: u64,
    /// The seed that scatters the parts over the ranks.
    pub scatter: Option<u64>,
    /// Hints that every peer gets.
    pub hints: Hints,
    /// The order of the hosts, on a fabric.
    pub order: Option<Order>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} N={} on {} ranks", self.program, self.size, self.ranks)?;
        if let Some(seed) = self.scatter {
            write!(f, " scattered by {seed}")?;
        }
        if let Some(order) = &self.order {
            write!(f, " {order}")?;
        }
        if self.hints.0.is_empty() { Ok(()) } else { write!(f, " with {}", self.hints) }
    }
}

/// MPI-IO hints in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hints(pub Vec<(String, String)>);

impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.write_str(&pairs.join(";"))
    }
}

/// Nodes to pretend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Emulated {
    /// How many nodes the ranks are spread over, each the same number of successive ranks.
    pub nodes: u32,
    /// What connects them, as the hint `tatpio_topology` says it.
    pub topology: String,
}

/// A case that stands for one on each of several rank counts.
#[derive(Clone, Debug)]
struct Cases(Vec<Case>);

fn parse_cases(text: &str) -> Result<Cases, String> {
    let expected =
        || format!("expected PROGRAM:RANKS[,RANKS..]:N[:SEED], as in cube:2,4:128, found {text:?}");
    let mut parts = text.split(':');
    let program = match parts.next() {
        Some("cube") => "cube",
        Some("btio") => "btio",
        _ => return Err(format!("{}; the programs are cube and btio", expected())),
    };
    let ranks = parts.next().ok_or_else(expected)?.split(',').map(str::parse::<u32>);
    let ranks = ranks.collect::<Result<Vec<_>, _>>().map_err(|_| expected())?;
    let size = parts.next().and_then(|part| part.parse().ok()).ok_or_else(expected)?;
    let scatter = parts.next().map(str::parse).transpose().map_err(|_| expected())?;
    if parts.next().is_some() || ranks.contains(&0) || size == 0 {
        return Err(expected());
    }
    for &count in ranks.iter().filter(|_| program == "btio") {
        crate::partition::btio(size, u64::from(count), 0).map_err(|error| error.to_string())?;
    }
    let case = |ranks| Case { program, ranks, size, scatter, hints: Hints::default(), order: None };
    Ok(Cases(ranks.into_iter().map(case).collect()))
}

fn parse_hints(text: &str) -> Result<Hints, String> {
    text.split(';').filter(|pair| !pair.is_empty()).map(key_value).collect::<Result<_, _>>().map(Hints)
}

fn parse_emulated(text: &str) -> Result<Emulated, String> {
    let expected = || format!("expected NODES=SPECIFICATION, as in 4=tree:2,2, found {text:?}");
    let (nodes, topology) = text.split_once('=').ok_or_else(expected)?;
    match nodes.parse() {
        Ok(nodes) if nodes > 0 && !topology.is_empty() => {
            Ok(Emulated { nodes, topology: topology.to_owned() })
        }
        _ => Err(expected()),
    }
}

/// The cases given, or those that `default` says.
fn given_or(given: &[Cases], default: &[&str]) -> Vec<Case> {
    let parse = |text: &&str| parse_cases(text).expect("the default is valid");
    let default: Vec<Cases> = default.iter().map(parse).collect();
    let cases = if given.is_empty() { &default } else { given };
    cases.iter().flat_map(|cases| cases.0.clone()).collect()
}

impl Options {
    /// Every case with every set of hints, in every order of the hosts.
    pub fn timed_cases(&self) -> Vec<Case> {
        let none = [Hints::default()];
        let sets = if self.hints.is_empty() { &none[..] } else { &self.hints };
        let cases = given_or(&self.cases, &["cube:1,2,4,8:256", "btio:1,4,9:256"]);
        let mut all = Vec::new();
        for order in self.orders() {
            for hints in sets {
                let case = |case: &Case| Case { hints: hints.clone(), order: order.clone(), ..case.clone() };
                all.extend(cases.iter().map(case));
            }
        }
        all
    }

    /// The orders of the hosts; one that is none without a fabric.
    fn orders(&self) -> Vec<Option<Order>> {
        match (&self.fabric, &self.orders[..]) {
            (None, _) => vec![None],
            (Some(_), []) => vec![Some(Order::Natural)],
            (Some(_), orders) => orders.iter().cloned().map(Some).collect(),
        }
    }

    /// The assignments that tatpio runs with; none for its own default.
    pub fn assignments(&self) -> Vec<String> {
        const ALL: [&str; 6] = ["rank_order", "locality", "hop_bytes", "bottleneck", "stripes", "automatic"];
        if self.assign.is_empty() && self.fabric.is_some() {
            return ALL.map(String::from).to_vec();
        }
        self.assign.clone()
    }

    /// The fabric, if one was asked for; it leaves a file in `directory`.
    ///
    /// Errors: see [`Fabric::look`].
    pub fn fabric(&self, directory: &Path) -> Result<Option<Fabric>, String> {
        let look = |script: &PathBuf| {
            Fabric::look(script, self.ranks_per_host, self.fabric_topology.as_deref(), directory)
        };
        self.fabric.as_ref().map(look).transpose()
    }

    /// Every emulated case on every emulated cluster; none without `--emulate`.
    ///
    /// Errors: ranks that cannot be spread evenly.
    pub fn emulated_cases(&self) -> Result<Vec<(Case, Emulated)>, String> {
        let default = ["cube:8:96", "cube:8:96:1", "btio:16:96", "btio:16:96:1"];
        let mut all = Vec::new();
        for emulated in &self.emulate {
            for case in given_or(&self.emulated, &default) {
                if case.ranks % emulated.nodes != 0 {
                    return Err(format!(
                        "{case}: the ranks do not spread evenly over {} nodes",
                        emulated.nodes
                    ));
                }
                all.push((case, emulated.clone()));
            }
        }
        Ok(all)
    }

    /// The peers by their names.
    ///
    /// Errors: an unknown name, named together with the known ones.
    pub fn chosen_peers(&self) -> Result<Vec<&'static Peer>, String> {
        self.peers.iter().map(|name| peers::by_name(name)).collect()
    }

    /// A new directory for the files, removed when dropped.
    ///
    /// Errors: it cannot be created.
    pub fn working_directory(&self) -> Result<TempDir, String> {
        let shared_memory = Path::new("/dev/shm");
        let parent = match &self.dir {
            Some(dir) => dir.clone(),
            None if shared_memory.is_dir() => shared_memory.to_owned(),
            None => std::env::temp_dir(),
        };
        let created = tempfile::Builder::new().prefix("tatpio-compare-").tempdir_in(&parent);
        created.map_err(|error| format!("no temporary directory in {}: {error}", parent.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn cases() {
        for (text, expected) in [
            ("cube:2,4:128", &["cube N=128 on 2 ranks", "cube N=128 on 4 ranks"][..]),
            ("btio:9:50:3", &["btio N=50 on 9 ranks scattered by 3"]),
        ] {
            let found: Vec<String> = parse_cases(text).unwrap().0.iter().map(Case::to_string).collect();
            assert_eq!(found, expected, "{text}");
        }
        for text in
            ["", "cube", "cube:2", "cube::8", "cube:2:8:1:1", "cube:0:8", "cube:2:0", "bt:1:8", "btio:8:64"]
        {
            assert!(parse_cases(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sets_of_hints_multiply_the_cases() {
        let command = ["compare", "--case=cube:1,2:8", "--hints=", "--hints=cb_nodes=2;cb_config_list=*:2"];
        let found: Vec<String> =
            Options::parse_from(command).timed_cases().iter().map(Case::to_string).collect();
        let with = "with cb_nodes=2;cb_config_list=*:2";
        let expected = [
            "cube N=8 on 1 ranks".to_owned(),
            "cube N=8 on 2 ranks".to_owned(),
            format!("cube N=8 on 1 ranks {with}"),
            format!("cube N=8 on 2 ranks {with}"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn orders_of_a_fabric_multiply_the_cases() {
        let case = "--case=cube:4:8";
        let found = |more: &[&str]| {
            let options = Options::parse_from(["compare", case].iter().chain(more));
            let cases: Vec<String> = options.timed_cases().iter().map(Case::to_string).collect();
            (cases, options.fabric, options.assign.len())
        };
        let script = Some(PathBuf::from("ci/fabric"));
        let expected = ["cube N=8 on 4 ranks in-order".to_owned()].to_vec();
        assert_eq!(found(&["--fabric"]), (expected, script, 0));
        let (cases, script, assignments) =
            found(&["--fabric=x", "--order=scattered:2", "--order=hosts:1,0,2,3", "--assign=a,b"]);
        let expected = ["cube N=8 on 4 ranks scattered:2", "cube N=8 on 4 ranks hosts:1,0,2,3"];
        assert_eq!((&cases[..], script, assignments), (&expected.map(String::from)[..], Some("x".into()), 2));
        assert!(Options::try_parse_from(["compare", "--order=in-order"]).is_err());
    }

    #[test]
    fn emulated_nodes_hold_equal_shares() {
        let cases = |case: &str| {
            let options = ["compare", "--emulate=4=tree:2,2", &format!("--emulated-case={case}")];
            Options::parse_from(options).emulated_cases()
        };
        assert_eq!(cases("cube:8:16").unwrap().len(), 1);
        assert!(cases("cube:6:16").is_err());
    }

    #[test]
    fn unknown_peers_are_named() {
        let error = Options::parse_from(["compare", "--peers=romio,nobody"]).chosen_peers().unwrap_err();
        assert!(error.contains("nobody") && error.contains("tatpio"), "{error}");
    }
}
