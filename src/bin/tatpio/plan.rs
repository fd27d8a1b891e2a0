//! `tatpio plan`: what each assignment would make of one collective call.

use crate::fabric::{self, Panel, natural};
use crate::failure::Failure;
use crate::job::{self, Job, Order, Setup};
use crate::output;
use crate::pattern::{Pattern, PatternName};
use crate::study::{Assigned, Study, verb};
use crate::{format, picture};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use tatpio::placement::{Flow, Granularity, Prediction, Strategy};
use tatpio::topology::{Network, TopologySpec};
use tatpio::units::{NodeId, Picoseconds, Rank};

const EXAMPLES: &str = "\
Examples:
  tatpio plan cube:160 --ranks 8 --topology tree:4,2/200mbit,1gbit
      cube on 8 hosts in 4 racks: every assignment side by side
  tatpio plan btio:64 --hosts 'n[1-3]:3' --topology file:racks --assign hop_bytes --links
      on the hosts of a topology file, with the load of every link
  tatpio plan file:requests --per-node 4 --hints 'cb_nodes=4;cb_config_list=*:2' --json
      a pattern of your own: lines RANK OFFSET LENGTH
  tatpio plan cube:160 --ranks 8 --topology tree:4,2 --order scattered:3 --picture fabric.png
      a picture of the network under each assignment

Hop-bytes are bytes times hops (TATP, section 2): 1 GB over 2 hops and 2 GB over 1 hop are both 2 GB. A link's time is
what its bytes take at its rate; shuffle and I/O are predicted with the library's cost model. Nothing is measured.";

/// What one collective call would move under each assignment
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Who asks for what: cube:N or btio:N (an array of N^3 doubles), or file:PATH (lines RANK OFFSET LENGTH)
    pattern: PatternName,
    /// How many ranks [default: those of --hosts or of the pattern's file]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// How many ranks a host holds, where --hosts does not say [default: 1]
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    per_node: Option<u32>,
    /// The hosts in rank order: a:2,b:2 or node[1-8]:4, or a file with one a line [default: node0, node1, ...]
    #[arg(long, value_name = "LIST|FILE")]
    hosts: Option<String>,
    /// Which part of the pattern each rank takes: in-order or scattered:SEED
    #[arg(long, default_value = "in-order")]
    order: Order,
    /// Where the hosts sit in a synthetic network: in-order, scattered:SEED or sorted:SEED
    #[arg(long, default_value = "in-order", value_name = "ORDER")]
    positions: Order,
    /// Where distances come from, as in the hint tatpio_topology [default: that hint, else automatic]
    #[arg(long, value_name = "SPEC")]
    topology: Option<TopologySpec>,
    /// Hints as in TATPIO_HINTS: 'cb_nodes=4;cb_config_list=*:2;striping_unit=1048576'
    #[arg(long, value_name = "HINTS")]
    hints: Option<String>,
    /// An assignment; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    assign: Vec<Strategy>,
    /// A read: data goes from the aggregators to the ranks
    #[arg(long)]
    read: bool,
    /// Also print the load of every link
    #[arg(long)]
    links: bool,
    /// Also print which rank serves what
    #[arg(long)]
    units: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Write the table as CSV (with --links, the links' loads); - for standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the network under each assignment, as .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

/// The whole answer, as JSON has it.
#[derive(Serialize)]
struct Report {
    pattern: String,
    flow: &'static str,
    ranks: usize,
    nodes: Vec<NodeReport>,
    topology: String,
    bytes: u128,
    hull: (u64, u64),
    warnings: Vec<String>,
    assignments: Vec<AssignmentReport>,
}

#[derive(Serialize)]
struct NodeReport {
    host: String,
    ranks: usize,
}

#[derive(Serialize)]
struct AssignmentReport {
    assign: &'static str,
    /// What is assigned: `domains` or `stripes`.
    granularity: &'static str,
    units: usize,
    unit_bytes_min: u64,
    unit_bytes_max: u64,
    aggregators: Vec<AggregatorReport>,
    hop_bytes: f64,
    /// The same exactly, in sixteenths.
    hop_bytes_sixteenths: u128,
    ratio_to_rank_order: Option<f64>,
    busiest: Option<LinkReport>,
    /// Predicted, with the library's cost model: the exchange, the file system, copies inside nodes, and all of them.
    shuffle_seconds: f64,
    io_seconds: f64,
    copies_seconds: f64,
    total_seconds: f64,
    /// By unit.
    served_by: Vec<Rank>,
    links: Vec<LinkReport>,
}

#[derive(Serialize)]
struct AggregatorReport {
    rank: Rank,
    host: String,
    units: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct LinkReport {
    from: String,
    to: String,
    bits_per_second: u64,
    bytes: u128,
    seconds: f64,
}

/// Runs `tatpio plan`.
pub fn run(options: &Options) -> Result<(), Failure> {
    options.picture.as_deref().map(picture::format_of).transpose()?;
    let hints = job::hints(options.hints.as_deref())?;
    let (pattern, shared) = Pattern::load(&options.pattern)?;
    let setup = Setup {
        order: options.order,
        positions: options.positions,
        topology: options.topology.clone().unwrap_or_else(|| hints.topology.clone()),
        flow: if options.read { Flow::Scatter } else { Flow::Gather },
        hints,
    };
    let per_node = options.per_node.or(setup.hints.node_ranks);
    let map = job::seat(options.hosts.as_deref(), options.ranks, per_node, pattern.ranks())?;
    let job = Job::new(map, &pattern, &setup)?;
    let mut warnings: Vec<String> = shared.into_iter().filter(|_| !options.read).collect();
    warnings.extend(job.warnings());
    warnings.iter().for_each(|warning| output::warn(warning));

    let study = Study::new(&job);
    let strategies = if options.assign.is_empty() { Strategy::ALL.to_vec() } else { options.assign.clone() };
    let baseline = study.assign(Strategy::RankOrder, false);
    let assigned: Vec<Assigned> =
        strategies.into_iter().map(|strategy| study.assign(strategy, true)).collect();
    let report = report(options, &job, warnings, &baseline, &assigned);
    if let Some(path) = &options.picture {
        draw(options, &job, &setup, &report, &assigned)?.save(path)?;
    }
    if let Some(path) = &options.csv {
        let (header, rows) = if options.links { link_rows(&report) } else { rows(&report) };
        output::write_csv(path, &header, &rows)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    if options.json { output::print_json(&report) } else { output::print(&text(options, &job, &report)) }
}

fn report(
    options: &Options,
    job: &Job,
    warnings: Vec<String>,
    baseline: &Assigned,
    assigned: &[Assigned],
) -> Report {
    let nodes = job
        .map
        .nodes()
        .map(|node| NodeReport { host: job.map.host(node).to_string(), ranks: job.map.ranks_of(node).len() });
    let assignment = |assigned: &Assigned| {
        let aggregator = |(&rank, &(units, bytes)): (&Rank, &(usize, u64))| AggregatorReport {
            rank,
            host: job.map.host(job.map.node_of(rank)).to_string(),
            units,
            bytes,
        };
        let network = job.resolved.topology.network();
        let prediction = assigned.prediction.as_ref();
        let seconds =
            |time: fn(&Prediction) -> Picoseconds| prediction.map_or(0.0, |found| time(found).as_seconds());
        let busiest = prediction.and_then(|prediction| prediction.busiest);
        let loaded = (0..assigned.loads().len()).filter(|&link| assigned.loads()[link] > 0);
        AssignmentReport {
            assign: assigned.strategy.name(),
            granularity: match assigned.granularity {
                Granularity::Domains => "domains",
                Granularity::Stripes => "stripes",
            },
            units: assigned.units,
            unit_bytes_min: assigned.unit_bytes.0,
            unit_bytes_max: assigned.unit_bytes.1,
            aggregators: assigned.aggregators.iter().map(aggregator).collect(),
            hop_bytes: assigned.hop_bytes.as_f64(),
            hop_bytes_sixteenths: assigned.hop_bytes.0,
            ratio_to_rank_order: assigned.ratio_to(baseline),
            busiest: busiest.map(|(link, _)| link_report(network, link, assigned.loads())),
            shuffle_seconds: seconds(|prediction| prediction.shuffle),
            io_seconds: seconds(|prediction| prediction.io),
            copies_seconds: seconds(|prediction| prediction.copies),
            total_seconds: seconds(Prediction::time),
            served_by: assigned.ranks.clone(),
            links: loaded.map(|link| link_report(network, link, assigned.loads())).collect(),
        }
    };
    Report {
        pattern: options.pattern.to_string(),
        flow: verb(job.flow),
        ranks: job.map.rank_count(),
        nodes: nodes.collect(),
        topology: job.resolved.source.clone(),
        bytes: job.bytes(),
        hull: (job.hull.start, job.hull.end),
        warnings,
        assignments: assigned.iter().map(assignment).collect(),
    }
}

fn link_report(network: &Network, link: usize, loads: &[u128]) -> LinkReport {
    let (from, to) = network.ends(link);
    LinkReport {
        from: network.name(from).to_string(),
        to: network.name(to).to_string(),
        bits_per_second: network.rate(link).0,
        bytes: loads[link],
        seconds: network.rate(link).time(loads[link]).as_seconds(),
    }
}

fn text(options: &Options, job: &Job, report: &Report) -> String {
    let mut text = format!(
        "{} on {} ranks of {} nodes, {} of {}; topology {}\n\n",
        report.pattern,
        report.ranks,
        report.nodes.len(),
        report.flow,
        format::bytes(report.bytes),
        network_name(options, report)
    );
    let rows: Vec<Vec<String>> = report.assignments.iter().map(summary).collect();
    let header = [
        "assignment",
        "aggregators",
        "cut into",
        "hop-bytes",
        "of rank_order",
        "busiest link",
        "its bytes",
        "its time",
        "shuffle",
        "I/O",
    ];
    text += &output::table(&header, &rows);
    if options.links {
        text += &links_text(report);
    }
    if options.units {
        text += &units_text(job, report);
    }
    text
}

/// Drawn positions are as good as the seed that draws them.
fn network_name(options: &Options, report: &Report) -> String {
    match (options.positions, report.topology.split_once('@')) {
        (Order::Natural, _) | (_, None) => report.topology.clone(),
        (positions, Some((network, _))) => format!("{network}, hosts {positions}"),
    }
}

fn summary(assignment: &AssignmentReport) -> Vec<String> {
    let (least, most) =
        (format::bytes(assignment.unit_bytes_min.into()), format::bytes(assignment.unit_bytes_max.into()));
    let sizes = if least == most { most } else { format!("{least} to {most}") };
    let busiest = assignment.busiest.as_ref();
    vec![
        assignment.assign.to_string(),
        assignment.aggregators.len().to_string(),
        format!("{} {} of {sizes}", assignment.units, assignment.granularity),
        format::bytes(assignment.hop_bytes_sixteenths / 16),
        format::ratio(assignment.ratio_to_rank_order),
        busiest.map_or_else(|| "none".into(), |link| format!("{} > {}", link.from, link.to)),
        busiest.map_or_else(|| "-".into(), |link| format::bytes(link.bytes)),
        busiest.map_or_else(|| "-".into(), |link| format::seconds(link.seconds)),
        format::seconds(assignment.shuffle_seconds),
        format::seconds(assignment.io_seconds),
    ]
}

/// Every loaded link, with a column an assignment.
fn links_text(report: &Report) -> String {
    let mut loads: BTreeMap<(&str, &str, u64), Vec<u128>> = BTreeMap::new();
    for (column, assignment) in report.assignments.iter().enumerate() {
        for link in &assignment.links {
            let row = loads.entry((&link.from, &link.to, link.bits_per_second)).or_default();
            row.resize(report.assignments.len(), 0);
            row[column] = link.bytes;
        }
    }
    let mut header = vec!["link", "rate"];
    header.extend(report.assignments.iter().map(|assignment| assignment.assign));
    let row = |((from, to, bits), loads): ((&str, &str, u64), Vec<u128>)| {
        let mut row = vec![format!("{from} > {to}"), tatpio::units::Rate(bits).to_string()];
        row.extend(loads.into_iter().map(format::bytes));
        row
    };
    let mut loads: Vec<_> = loads.into_iter().collect();
    loads.sort_by_cached_key(|&((from, to, _), _)| (natural(from), natural(to)));
    format!("\n{}", output::table(&header, &loads.into_iter().map(row).collect::<Vec<_>>()))
}

/// Which rank serves which units, runs put together.
fn units_text(job: &Job, report: &Report) -> String {
    let mut text = String::new();
    for assignment in &report.assignments {
        let mut by_rank: BTreeMap<Rank, Vec<usize>> = BTreeMap::new();
        assignment
            .served_by
            .iter()
            .enumerate()
            .for_each(|(unit, &rank)| by_rank.entry(rank).or_default().push(unit));
        let _ = writeln!(text, "\n{}: who serves which {}\n", assignment.assign, assignment.granularity);
        let rows: Vec<Vec<String>> = (by_rank.into_iter())
            .map(|(rank, units)| {
                vec![rank.to_string(), job.map.host(job.map.node_of(rank)).to_string(), runs(&units)]
            })
            .collect();
        text += &output::table(&["rank", "host", assignment.granularity], &rows);
    }
    text
}

/// `0-3 8 10-11`.
fn runs(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut().filter(|run| run.1 + 1 == number) {
            Some(run) => run.1 = number,
            None => runs.push((number, number)),
        }
    }
    let texts =
        runs.into_iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    texts.collect::<Vec<_>>().join(" ")
}

type Csv = (Vec<&'static str>, Vec<Vec<String>>);

fn rows(report: &Report) -> Csv {
    let header = vec![
        "pattern",
        "flow",
        "ranks",
        "nodes",
        "topology",
        "assign",
        "granularity",
        "units",
        "unit_bytes_min",
        "unit_bytes_max",
        "aggregators",
        "hop_bytes",
        "hop_bytes_sixteenths",
        "ratio_to_rank_order",
        "busiest_from",
        "busiest_to",
        "busiest_bytes",
        "busiest_seconds",
        "shuffle_seconds",
        "io_seconds",
        "copies_seconds",
        "total_seconds",
    ];
    let row = |assignment: &AssignmentReport| {
        let busiest = assignment.busiest.as_ref();
        vec![
            report.pattern.clone(),
            report.flow.to_string(),
            report.ranks.to_string(),
            report.nodes.len().to_string(),
            report.topology.clone(),
            assignment.assign.to_string(),
            assignment.granularity.to_string(),
            assignment.units.to_string(),
            assignment.unit_bytes_min.to_string(),
            assignment.unit_bytes_max.to_string(),
            assignment.aggregators.len().to_string(),
            assignment.hop_bytes.to_string(),
            assignment.hop_bytes_sixteenths.to_string(),
            assignment.ratio_to_rank_order.map_or_else(String::new, |ratio| ratio.to_string()),
            busiest.map_or_else(String::new, |link| link.from.clone()),
            busiest.map_or_else(String::new, |link| link.to.clone()),
            busiest.map_or(0, |link| link.bytes).to_string(),
            busiest.map_or(0.0, |link| link.seconds).to_string(),
            assignment.shuffle_seconds.to_string(),
            assignment.io_seconds.to_string(),
            assignment.copies_seconds.to_string(),
            assignment.total_seconds.to_string(),
        ]
    };
    (header, report.assignments.iter().map(row).collect())
}

fn link_rows(report: &Report) -> Csv {
    let header = vec!["assign", "from", "to", "bits_per_second", "bytes", "seconds"];
    let mut rows = Vec::new();
    for assignment in &report.assignments {
        rows.extend(assignment.links.iter().map(|link| {
            vec![
                assignment.assign.to_string(),
                link.from.clone(),
                link.to.clone(),
                link.bits_per_second.to_string(),
                link.bytes.to_string(),
                link.seconds.to_string(),
            ]
        }));
    }
    (header, rows)
}

fn draw(
    options: &Options,
    job: &Job,
    setup: &Setup,
    report: &Report,
    assigned: &[Assigned],
) -> Result<picture::Drawing, Failure> {
    let panel = |(assigned, report): (&Assigned, &AssignmentReport)| {
        let mut aggregators: BTreeMap<NodeId, usize> = BTreeMap::new();
        assigned
            .aggregators
            .keys()
            .for_each(|&rank| *aggregators.entry(job.map.node_of(rank)).or_default() += 1);
        let busiest = report.busiest.as_ref().map_or_else(
            || "nothing crosses the network".into(),
            |link| {
                let time = format::seconds(link.seconds);
                format!("busiest: {} > {}, {}, {time}", link.from, link.to, format::bytes(link.bytes))
            },
        );
        Panel {
            title: format!(
                "{}: {} hop-bytes",
                report.assign,
                format::bytes(report.hop_bytes_sixteenths / 16)
            ),
            subtitle: busiest,
            loads: assigned.loads().to_vec(),
            serving: aggregators.into_iter().map(|(node, count)| (node, count.to_string())).collect(),
        }
    };
    let panels: Vec<Panel> = assigned.iter().zip(&report.assignments).map(panel).collect();
    let network = network_name(options, report);
    let title = format!("{} on {} ranks, {}, {network}", report.pattern, report.ranks, report.flow);
    fabric::draw(job.resolved.topology.network(), &job.map, &setup.topology, &panels, &title)
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs_of_units() {
        assert_eq!(super::runs(&[0, 1, 2, 5, 7, 8]), "0-2 5 7-8");
        assert_eq!(super::runs(&[]), "");
    }
}
