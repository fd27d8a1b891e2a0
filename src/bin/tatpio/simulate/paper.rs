//! `tatpio simulate paper`: the hop-bytes of TATP, sections 5.1 to 5.3, figures 9 and 13, computed anew.
//!
//! The paper prints these figures as bars without numbers; what can be held against it is the order of the bars and
//! where the gain is larger. The page that is written says so.

use super::sweep::{self, Case, Common, Row, Seats};
use crate::charts::{Axis, BarChart, Spread};
use crate::failure::Failure;
use crate::job::Order;
use crate::output;
use crate::pattern::PatternName;
use crate::picture::Drawing;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tatpio::hints::Hints;
use tatpio::placement::{Flow, Strategy};
use tatpio::topology::TopologySpec;

const EXAMPLES: &str = "\
Examples:
  tatpio simulate paper --out results
      writes paper.md, paper.csv, figure9.svg, figure9.png, figure13.svg and figure13.png into results
  tatpio simulate paper --seeds 21 --out results
  tatpio simulate paper --json > rows.json
      only computes";

/// The hop-bytes of the paper: cube on 512 and BTIO on 625 ranks, on networks like its two clusters
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Where tables and pictures go; the directory is made [default: only print]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many draws of scattered hosts
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Doubles along an edge of the array
    #[arg(long, default_value = "2000", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    size: u64,
    /// An assignment; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    assign: Vec<Strategy>,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
    /// Show progress on standard error although it is no terminal
    #[arg(long)]
    progress: bool,
    /// How many jobs to work on at a time [default: as many as there are processors]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
}

/// A cluster of section 5.1.
struct Cluster {
    name: &'static str,
    spec: &'static str,
    per_node: u32,
    what: &'static str,
}

/// Inspur: 4 racks of 20 nodes with two six-core processors, 40 Gbit/s in a rack and 20 above. BlueLight: 34 super nodes
/// of 256 processors with 16 cores; the paper does not give the shape inside a super node nor rates.
const CLUSTERS: [Cluster; 2] = [
    Cluster {
        name: "Inspur",
        spec: "tree:4,20/20gbit,40gbit",
        per_node: 12,
        what: "4 racks of 20 nodes, 12 ranks a node",
    },
    Cluster {
        name: "BlueLight",
        spec: "fat-tree:34,16,16/40gbit,40gbit,40gbit",
        per_node: 16,
        what: "34 super nodes of 16 leaf switches of 16 nodes, 16 ranks a node",
    },
];

/// How many aggregators a node has: 1 in figure 9, all in figure 13.
const AGGREGATORS: [u32; 3] = [1, 2, 4];

/// How a cluster's hosts are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draw {
    InOrder,
    Sorted,
    Scattered,
}

impl Draw {
    const ALL: [Draw; 3] = [Draw::InOrder, Draw::Sorted, Draw::Scattered];

    fn name(self) -> &'static str {
        match self {
            Draw::InOrder => "in order",
            Draw::Sorted => "sorted",
            Draw::Scattered => "scattered",
        }
    }

    fn orders(self, seeds: u64) -> Vec<Order> {
        match self {
            Draw::InOrder => vec![Order::Natural],
            Draw::Sorted => (1..=seeds).map(Order::Sorted).collect(),
            Draw::Scattered => (1..=seeds).map(Order::Scattered).collect(),
        }
    }

    fn of(row: &Row) -> Option<Draw> {
        match row.positions.split(':').next()? {
            "in-order" => Some(Draw::InOrder),
            "sorted" => Some(Draw::Sorted),
            _ => Some(Draw::Scattered),
        }
    }
}

/// Runs `tatpio simulate paper`.
pub fn run(options: &Options) -> Result<(), Failure> {
    if let Some(directory) = &options.out {
        std::fs::create_dir_all(directory).map_err(|error| {
            Failure::failed(format!("{} could not be made: {error}", directory.display()))
        })?;
    }
    let strategies = if options.assign.is_empty() { Strategy::ALL.to_vec() } else { options.assign.clone() };
    let patterns = [(PatternName::Cube(options.size), 512), (PatternName::Btio(options.size), 625)];
    let common = Common {
        hints: Hints::default(),
        flow: Flow::Gather,
        strategies: strategies.clone(),
        with_loads: true,
        progress: options.progress,
        threads: options.threads,
    };
    let mut rows = sweep::run(&cases(&patterns, options.seeds, Seats::PerHost)?, &common)?;
    let anywhere = Common { strategies: vec![Strategy::HopBytes], ..common };
    let mut more = sweep::run(&cases(&patterns, options.seeds, Seats::Anywhere)?, &anywhere)?;
    more.iter_mut().for_each(|row| row.ratio_to_rank_order = ratio_to_original(row, &rows));
    rows.extend(more);
    let series =
        (strategies.iter().map(|&strategy| (strategy, false))).chain([(Strategy::HopBytes, true)]).collect();
    let study = Results { patterns: &patterns, series, rows: &rows, seeds: options.seeds };
    let page = study.page(options.size);
    if let Some(directory) = &options.out {
        study.write(directory, &page)?;
    }
    if options.json { output::print_json(&rows) } else { output::print(&page) }
}

/// Where any rank may aggregate, the original two-phase I/O would crowd the first hosts: what counts is the original with
/// as many on each host.
fn ratio_to_original(row: &Row, rows: &[Row]) -> Option<f64> {
    let same = |other: &&Row| {
        other.assign == Strategy::RankOrder.name()
            && (&other.pattern, &other.topology, &other.positions, other.aggregators_per_node)
                == (&row.pattern, &row.topology, &row.positions, row.aggregators_per_node)
    };
    let original = rows.iter().find(same).map(|row| row.hop_bytes).filter(|&hop_bytes| hop_bytes > 0.0)?;
    Some(row.hop_bytes / original)
}

fn cases(patterns: &[(PatternName, u32)], seeds: u64, seats: fn(u32) -> Seats) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (pattern, ranks) in patterns {
        for cluster in &CLUSTERS {
            let topology: TopologySpec = cluster.spec.parse().map_err(Failure::failed)?;
            for aggregators in AGGREGATORS {
                // Figure 13 needs one way to draw hosts.
                for draw in Draw::ALL.into_iter().filter(|&draw| aggregators == 1 || draw != Draw::Sorted) {
                    cases.extend(draw.orders(seeds).into_iter().map(|positions| Case {
                        pattern: pattern.clone(),
                        ranks: *ranks,
                        per_node: cluster.per_node,
                        topology: topology.clone(),
                        order: Order::Natural,
                        positions,
                        seats: seats(aggregators),
                    }));
                }
            }
        }
    }
    Ok(cases)
}

/// All rows, and what is asked of them.
struct Results<'a> {
    patterns: &'a [(PatternName, u32)],
    /// Each assignment, and whether any rank may aggregate.
    series: Vec<(Strategy, bool)>,
    rows: &'a [Row],
    seeds: u64,
}

impl Results<'_> {
    /// The median and extremes of a value over the draws.
    fn spread(
        &self,
        pattern: &PatternName,
        cluster: &Cluster,
        draw: Draw,
        aggregators: u32,
        series: (Strategy, bool),
        value: impl Fn(&Row) -> Option<f64>,
    ) -> Option<Spread> {
        let pattern = pattern.to_string();
        let wanted = |row: &&Row| {
            row.pattern == pattern
                && row.topology == cluster.spec
                && Draw::of(row) == Some(draw)
                && row.aggregators_per_node == Some(aggregators)
                && (row.assign, row.anywhere) == (series.0.name(), series.1)
        };
        Spread::of(&self.rows.iter().filter(wanted).filter_map(value).collect::<Vec<_>>())
    }

    /// Figure 9: a panel a pattern, a group a cluster and draw, hop-bytes in part of the original two-phase I/O's.
    fn figure9(&self) -> Drawing {
        let groups: Vec<(&Cluster, Draw)> =
            CLUSTERS.iter().flat_map(|cluster| Draw::ALL.map(|draw| (cluster, draw))).collect();
        let panel = |(pattern, ranks): &(PatternName, u32)| {
            let of_strategy = |&series: &(Strategy, bool)| {
                let values = groups.iter().map(|&(cluster, draw)| {
                    self.spread(pattern, cluster, draw, 1, series, |row| row.ratio_to_rank_order)
                });
                (title(series).to_string(), values.collect())
            };
            let chart = BarChart {
                title: format!("{pattern} on {ranks} ranks"),
                y: Axis::linear("hop-bytes in part of OTP's"),
                groups: groups
                    .iter()
                    .map(|(cluster, draw)| format!("{}\n{}", cluster.name, draw.name()))
                    .collect(),
                series: self.series.iter().map(of_strategy).collect(),
                label: |value| format!("{value:.2}"),
                size: (1080.0, 350.0),
            };
            chart.draw()
        };
        let panels: Vec<Drawing> = self.patterns.iter().map(panel).collect();
        Drawing::grid("Hop-bytes of the shuffle, as in figure 9 (one aggregator a node)", &panels, 1)
    }

    /// Figure 13(b): a panel a pattern and cluster, a group a number of aggregators, hop-bytes in TB.
    fn figure13(&self) -> Drawing {
        let mut panels = Vec::new();
        for (pattern, ranks) in self.patterns {
            for cluster in &CLUSTERS {
                let draw = figure13_draw(cluster);
                let of_strategy = |&series: &(Strategy, bool)| {
                    let value = |row: &Row| Some(row.hop_bytes / 1e12);
                    let values =
                        AGGREGATORS.map(|count| self.spread(pattern, cluster, draw, count, series, value));
                    (title(series).to_string(), values.to_vec())
                };
                let chart = BarChart {
                    title: format!("{pattern} on {ranks} ranks, {}, {}", cluster.name, draw.name()),
                    y: Axis::linear("hop-bytes (TB x hops)"),
                    groups: AGGREGATORS.map(|count| format!("{count} a node")).to_vec(),
                    series: self.series.iter().map(of_strategy).collect(),
                    label: |value| format!("{value:.3}"),
                    size: (640.0, 340.0),
                };
                panels.push(chart.draw());
            }
        }
        Drawing::grid("Hop-bytes by the number of aggregators, as in figure 13(b)", &panels, 2)
    }

    fn page(&self, size: u64) -> String {
        let mut page = format!(
            "# Hop-bytes of the paper, computed anew\n\n\
             TATP, sections 5.1 to 5.3: an array of {size} x {size} x {size} doubles, written collectively by cube on 512\n\
             ranks and by BTIO on 625. Ranks fill the nodes one after the other. Hosts are the first of the cluster (in\n\
             order), or drawn at random, {} times: in the order of the cluster (sorted), or in any (scattered). Values are\n\
             medians, with the least and the most in brackets.\n\n",
            self.seeds
        );
        for cluster in &CLUSTERS {
            let _ = writeln!(page, "- {}: `{}`, {}.", cluster.name, cluster.spec, cluster.what);
        }
        page += "\nThe paper shows figures 9 and 13 as bars without numbers, and does not say on which hosts its jobs ran,\n\
                 nor how BlueLight is wired inside a super node. So these numbers are not the paper's: what can be\n\
                 compared is which assignment has fewer hop-bytes, and where the gain is larger. They are counted, not\n\
                 measured, and hop-bytes are no time.\n\n";
        page += "OTP is the original two-phase I/O (rank_order), LATP the locality-aware one (locality), TATP the\n\
                 topology-aware one (hop_bytes). In these each node has as many aggregators as in OTP. \"TATP, any rank\" has as\n\
                 many in all, but lets any rank be one, as in the paper's figure 6 (cb_config_list=*:*, and cb_nodes). Other names\n\
                 are assignments that the paper does not have.\n\n";
        page += "## Figure 9: hop-bytes in part of OTP's, one aggregator a node\n\n";
        page += &self.table9(|row| row.ratio_to_rank_order, |value| format!("{value:.3}"));
        page += "\n## The same: seconds that the busiest link takes for its load, at its rate\n\n";
        page += &self.table9(|row| row.busiest_seconds, |value| format!("{value:.2}"));
        page += "\n## Figure 13(b): hop-bytes (TB x hops) with 1, 2 and 4 aggregators a node\n\n";
        page += &self.table13();
        page
    }

    fn header(&self, first: &str) -> String {
        let names: Vec<&str> = self.series.iter().map(|&series| title(series)).collect();
        format!("| {first} | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()))
    }

    fn table9(&self, value: impl Fn(&Row) -> Option<f64>, show: impl Fn(f64) -> String) -> String {
        let mut text = self.header("job");
        for (pattern, ranks) in self.patterns {
            for cluster in &CLUSTERS {
                for draw in Draw::ALL {
                    let cells = self.series.iter().map(|&series| {
                        let spread = self.spread(pattern, cluster, draw, 1, series, &value);
                        cell(spread, &show)
                    });
                    let cells: Vec<String> = cells.collect();
                    let _ = writeln!(
                        text,
                        "| {pattern}, {ranks} ranks, {}, {} | {} |",
                        cluster.name,
                        draw.name(),
                        cells.join(" | ")
                    );
                }
            }
        }
        text
    }

    fn table13(&self) -> String {
        let mut text = self.header("job, aggregators a node");
        for (pattern, ranks) in self.patterns {
            for cluster in &CLUSTERS {
                let draw = figure13_draw(cluster);
                for count in AGGREGATORS {
                    let cells = self.series.iter().map(|&series| {
                        let value = |row: &Row| Some(row.hop_bytes / 1e12);
                        let spread = self.spread(pattern, cluster, draw, count, series, value);
                        cell(spread, &|value| format!("{value:.4}"))
                    });
                    let cells: Vec<String> = cells.collect();
                    let _ = writeln!(
                        text,
                        "| {pattern}, {ranks} ranks, {}, {}: {count} | {} |",
                        cluster.name,
                        draw.name(),
                        cells.join(" | ")
                    );
                }
            }
        }
        text
    }

    fn write(&self, directory: &Path, page: &str) -> Result<(), Failure> {
        output::write(&directory.join("paper.md"), page.as_bytes())?;
        let cells: Vec<Vec<String>> = self.rows.iter().map(Row::cells).collect();
        output::write_csv(&directory.join("paper.csv"), &Row::HEADER, &cells)?;
        for (name, picture) in [("figure9", self.figure9()), ("figure13", self.figure13())] {
            for extension in ["svg", "png"] {
                picture.save(&directory.join(format!("{name}.{extension}")))?;
            }
        }
        Ok(())
    }
}

/// The paper says that jobs on BlueLight run on very discrete nodes.
fn figure13_draw(cluster: &Cluster) -> Draw {
    if cluster.name == "BlueLight" { Draw::Scattered } else { Draw::InOrder }
}

fn cell(spread: Option<Spread>, show: &impl Fn(f64) -> String) -> String {
    match spread {
        None => "-".into(),
        Some(spread) if spread.low == spread.high => show(spread.value),
        Some(spread) => format!("{} ({} to {})", show(spread.value), show(spread.low), show(spread.high)),
    }
}

/// What the paper calls an assignment; the last is TATP as its figure 6 has it.
fn title((strategy, anywhere): (Strategy, bool)) -> &'static str {
    match strategy {
        Strategy::RankOrder => "OTP (rank_order)",
        Strategy::Locality => "LATP (locality)",
        Strategy::HopBytes if anywhere => "TATP, any rank",
        Strategy::HopBytes => "TATP (hop_bytes)",
        #[allow(unreachable_patterns)] // what the paper does not have
        other => other.name(),
    }
}
