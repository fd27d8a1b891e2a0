//! `tatpio simulate hops`: hop-bytes over sweeps of jobs.

use super::sweep::{self, Case, Common, Orders, Row, Seats};
use crate::charts::{Axis, BarChart, LineChart, Series, Spread};
use crate::failure::Failure;
use crate::job;
use crate::output;
use crate::pattern::{Pattern, PatternName};
use crate::picture::{self, Drawing};
use crate::{format, picture::format_of};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tatpio::placement::{Flow, Strategy};
use tatpio::topology::TopologySpec;

const EXAMPLES: &str = "\
Examples:
  tatpio simulate hops cube:512 --ranks 64,125,216,512 --per-node 12 --topology tree:4,20 --plot hops.svg
      hop-bytes by the number of ranks, a line an assignment
  tatpio simulate hops cube:512 btio:512 --ranks 64 --topology fat-tree:8 --positions scattered:1-20 --csv hops.csv
      twenty draws of the job's hosts; the plot shows medians and extremes
  tatpio simulate hops cube:1000 --ranks 512 --per-node 16 --topology tree:8,8 --aggregators 1,2,4
  tatpio simulate hops cube:2000 --ranks 100000 --per-node 64 --topology tree:50,32 --assign hop_bytes --no-links --progress";

/// Hop-bytes over sweeps of ranks, networks, orders and aggregators
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// cube:N, btio:N or file:PATH
    #[arg(required = true)]
    pattern: Vec<PatternName>,
    /// Numbers of ranks
    #[arg(long, required = true, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    ranks: Vec<u32>,
    /// Numbers of ranks on a host
    #[arg(long, default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    per_node: Vec<u32>,
    /// A network, as in the hint tatpio_topology; may be repeated
    #[arg(long, required = true, value_name = "SPEC")]
    topology: Vec<TopologySpec>,
    /// Which part of the pattern each rank takes: in-order, scattered:SEED or scattered:FIRST-LAST; may be repeated
    #[arg(long, default_value = "in-order")]
    order: Vec<Orders>,
    /// Where the hosts sit: in-order, scattered:FIRST-LAST or sorted:FIRST-LAST; may be repeated
    #[arg(long, default_value = "in-order", value_name = "ORDER")]
    positions: Vec<Orders>,
    /// Numbers of aggregators on a host [default: what the hints say, else 1]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    aggregators: Vec<u32>,
    /// Hints as in TATPIO_HINTS
    #[arg(long, value_name = "HINTS")]
    hints: Option<String>,
    /// An assignment; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    assign: Vec<Strategy>,
    /// Reads: data goes from the aggregators to the ranks
    #[arg(long)]
    read: bool,
    /// Leave out the links' loads: much faster for thousands of hosts
    #[arg(long)]
    no_links: bool,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
    /// Write the rows as CSV; - for standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw hop-bytes in part of rank order's, as .svg or .png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Show progress on standard error although it is no terminal
    #[arg(long)]
    progress: bool,
    /// How many jobs to work on at a time [default: as many as there are processors]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
}

/// Runs `tatpio simulate hops`.
pub fn run(options: &Options) -> Result<(), Failure> {
    options.plot.as_deref().map(format_of).transpose()?;
    let common = Common {
        hints: job::hints(options.hints.as_deref())?,
        flow: if options.read { Flow::Scatter } else { Flow::Gather },
        strategies: if options.assign.is_empty() { Strategy::ALL.to_vec() } else { options.assign.clone() },
        with_loads: !options.no_links,
        progress: options.progress,
        threads: options.threads,
    };
    let cases = cases(options)?;
    let rows = sweep::run(&cases, &common)?;
    if let Some(path) = &options.plot {
        plot(&rows, &common.strategies).save(path)?;
    }
    if let Some(path) = &options.csv {
        output::write_csv(path, &Row::HEADER, &rows.iter().map(Row::cells).collect::<Vec<_>>())?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    if options.json { output::print_json(&rows) } else { output::print(&table(&rows)) }
}

/// Every combination. Numbers of ranks that a pattern cannot have are left out with a warning.
fn cases(options: &Options) -> Result<Vec<Case>, Failure> {
    let seats: Vec<Seats> = match &options.aggregators[..] {
        [] => vec![Seats::Hints],
        counts => counts.iter().copied().map(Seats::PerHost).collect(),
    };
    let mut cases = Vec::new();
    for pattern in &options.pattern {
        let (loaded, _) = Pattern::load(pattern)?;
        for &ranks in &options.ranks {
            if let Err(Failure::Usage(what)) = loaded.fits(ranks) {
                output::warn(&format!("{pattern} on {ranks} ranks is left out: {what}"));
                continue;
            }
            for &per_node in &options.per_node {
                for topology in &options.topology {
                    for order in options.order.iter().flat_map(|orders| orders.0.iter().copied()) {
                        for positions in options.positions.iter().flat_map(|orders| orders.0.iter().copied())
                        {
                            cases.extend(seats.iter().map(|&seats| Case {
                                pattern: pattern.clone(),
                                ranks,
                                per_node,
                                topology: topology.clone(),
                                order,
                                positions,
                                seats,
                            }));
                        }
                    }
                }
            }
        }
    }
    if cases.is_empty() { Err(Failure::usage("no number of ranks fits a pattern")) } else { Ok(cases) }
}

fn table(rows: &[Row]) -> String {
    let header = [
        "pattern",
        "ranks",
        "per node",
        "topology",
        "order",
        "positions",
        "per host",
        "assignment",
        "hop-bytes",
        "of rank_order",
        "busiest link",
    ];
    let row = |row: &Row| {
        vec![
            row.pattern.clone(),
            row.ranks.to_string(),
            row.per_node.to_string(),
            row.topology.clone(),
            row.order.clone(),
            row.positions.clone(),
            row.aggregators_per_node.map_or_else(|| "-".into(), |count| count.to_string()),
            row.assign.to_string(),
            format::bytes(row.hop_bytes_sixteenths / 16),
            format::ratio(row.ratio_to_rank_order),
            row.busiest_seconds.map_or_else(|| "-".into(), format::seconds),
        ]
    };
    output::table(&header, &rows.iter().map(row).collect::<Vec<_>>())
}

/// Medians over orders and positions: lines over the number of ranks where there are several, else bars.
fn plot(rows: &[Row], strategies: &[Strategy]) -> Drawing {
    const LABEL: &str = "hop-bytes in part of rank_order's";
    let ranks: BTreeSet<u32> = rows.iter().map(|row| row.ranks).collect();
    let several = |count: usize| count > 1;
    let with_per_node = several(rows.iter().map(|row| row.per_node).collect::<BTreeSet<_>>().len());
    let with_aggregators =
        several(rows.iter().map(|row| row.aggregators_per_node).collect::<BTreeSet<_>>().len());
    // What sets one panel, or one group of bars, apart from another.
    let name = |row: &Row| {
        let mut name = format!("{}\n{}", row.pattern, row.topology);
        if with_per_node {
            name += &format!("\n{} ranks a host", row.per_node);
        }
        if let Some(count) = row.aggregators_per_node.filter(|_| with_aggregators) {
            name += &format!("\n{count} aggregator{} a host", if count == 1 { "" } else { "s" });
        }
        name
    };
    let mut groups: Vec<String> = Vec::new();
    let mut values: BTreeMap<(usize, &str, u32), Vec<f64>> = BTreeMap::new();
    for row in rows {
        let name = name(row);
        let group = groups.iter().position(|known| *known == name).unwrap_or_else(|| {
            groups.push(name);
            groups.len() - 1
        });
        values.entry((group, row.assign, row.ranks)).or_default().extend(row.ratio_to_rank_order);
    }
    let spread =
        |group: usize, assign: &'static str, ranks: u32| Spread::of(values.get(&(group, assign, ranks))?);
    if ranks.len() > 1 {
        let panel = |(group, name): (usize, &String)| LineChart {
            title: name.replace('\n', ", "),
            x: Axis::log("ranks"),
            y: Axis::linear(LABEL),
            series: (strategies.iter())
                .map(|strategy| {
                    let points = ranks.iter().filter_map(|&ranks| {
                        Some((f64::from(ranks), spread(group, strategy.name(), ranks)?))
                    });
                    Series { name: strategy.name().into(), points: points.collect() }
                })
                .collect(),
            steps: false,
            size: (560.0, 380.0),
        };
        let panels: Vec<Drawing> = groups.iter().enumerate().map(|group| panel(group).draw()).collect();
        return Drawing::grid("", &panels, 2);
    }
    let ranks = ranks.first().copied().unwrap_or(0);
    let lines = groups.iter().map(|name| name.lines().count()).max().unwrap_or(1) as f64;
    let widest = groups
        .iter()
        .flat_map(|name| name.lines())
        .map(|line| picture::text_width(line, 12.0))
        .fold(0.0, f64::max);
    let group_width = (widest + 16.0).max(44.0 * strategies.len() as f64);
    let chart = BarChart {
        title: format!("{ranks} ranks"),
        y: Axis::linear(LABEL),
        series: (strategies.iter())
            .map(|strategy| {
                let values = (0..groups.len()).map(|group| spread(group, strategy.name(), ranks));
                (strategy.name().to_string(), values.collect())
            })
            .collect(),
        label: |value| format!("{value:.2}"),
        size: ((group_width * groups.len() as f64 + 90.0).max(480.0), 360.0 + 15.0 * lines),
        groups,
    };
    Drawing::grid("", &[chart.draw()], 1)
}
