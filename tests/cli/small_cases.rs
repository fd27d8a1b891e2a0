//! Small jobs, whose hop-bytes are known exactly.

use crate::json;
use crate::naive::Job;
use serde_json::Value;
use std::collections::BTreeMap;

/// A job, and its hop-bytes in sixteenths under rank_order, locality and hop_bytes.
const CASES: [(Job, [u64; 3]); 7] = [
    (
        Job { pattern: "cube", edge: 4, ranks: 8, per_node: 2, tree: &[2, 2], at: &[0, 1, 2, 3] },
        [10_240, 10_240, 10_240],
    ),
    (
        Job { pattern: "cube", edge: 4, ranks: 8, per_node: 2, tree: &[2, 2], at: &[2, 0, 3, 1] },
        [18_432, 18_432, 18_432],
    ),
    (
        Job { pattern: "cube", edge: 6, ranks: 8, per_node: 1, tree: &[4, 2], at: &[5, 0, 3, 6, 1, 7, 2, 4] },
        [73_728, 73_728, 73_728],
    ),
    (
        Job {
            pattern: "cube",
            edge: 6,
            ranks: 27,
            per_node: 3,
            tree: &[3, 3],
            at: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        },
        [43_008, 36_864, 36_864],
    ),
    (
        Job { pattern: "cube", edge: 7, ranks: 27, per_node: 4, tree: &[3, 3], at: &[8, 2, 4, 0, 6, 1, 5] },
        [128_000, 122_368, 117_248],
    ),
    (
        Job { pattern: "btio", edge: 6, ranks: 9, per_node: 3, tree: &[2, 2], at: &[0, 1, 2] },
        [67_584, 67_584, 67_584],
    ),
    (
        Job { pattern: "btio", edge: 7, ranks: 9, per_node: 2, tree: &[3, 2], at: &[4, 1, 0, 5, 2] },
        [116_608, 113_920, 113_920],
    ),
];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a whole number"))
}

/// By name: those assignments that serve file domains.
fn of_domains(report: &Value) -> BTreeMap<String, &Value> {
    let assignments = report["assignments"].as_array().unwrap();
    let domains = assignments.iter().filter(|assignment| assignment["granularity"] == "domains");
    domains.map(|assignment| (assignment["assign"].as_str().unwrap().to_string(), assignment)).collect()
}

fn serving(assignment: &Value) -> Vec<usize> {
    let ranks = assignment["served_by"].as_array().unwrap().iter();
    ranks.map(|rank| usize::try_from(number(rank)).unwrap()).collect()
}

#[test]
fn hop_bytes_are_exact() {
    let mut found = Vec::new();
    for (job, expected) in &CASES {
        let arguments = job.arguments();
        let report = json(&arguments);
        let by_name = of_domains(&report);
        for (name, assignment) in &by_name {
            let claimed = number(&assignment["hop_bytes_sixteenths"]);
            assert_eq!(claimed, job.cost(&serving(assignment)), "{name}: tatpio {arguments}");
        }
        assert_eq!(serving(by_name["rank_order"]), job.rank_order(), "tatpio {arguments}");
        assert_eq!(
            number(&by_name["hop_bytes"]["hop_bytes_sixteenths"]),
            job.least_cost(),
            "tatpio {arguments}"
        );
        let matrix = job.matrix();
        let local = serving(by_name["locality"]);
        let held: u64 = local
            .iter()
            .enumerate()
            .map(|(domain, rank)| job.held(&matrix, rank / job.per_node, domain))
            .sum();
        assert_eq!(held, job.most_held(), "tatpio {arguments}");
        let of = |name: &str| number(&by_name[name]["hop_bytes_sixteenths"]);
        found.push((["rank_order", "locality", "hop_bytes"].map(of), *expected));
    }
    assert!(found.iter().all(|(found, expected)| found == expected), "found and expected: {found:?}");
}

#[test]
fn loads_are_exact() {
    for (job, _) in CASES.iter().filter(|(job, _)| job.tree.len() == 2) {
        let arguments = job.arguments();
        let report = json(&arguments);
        for (name, assignment) in of_domains(&report) {
            let links = assignment["links"].as_array().unwrap().iter();
            let text = |value: &Value| value.as_str().unwrap().to_string();
            let claimed: BTreeMap<String, u64> = links
                .map(|link| {
                    (format!("{} > {}", text(&link["from"]), text(&link["to"])), number(&link["bytes"]))
                })
                .collect();
            assert_eq!(claimed, job.loads(&serving(assignment)), "{name}: tatpio {arguments}");
            let most = claimed.values().max().unwrap();
            assert_eq!(number(&assignment["busiest"]["bytes"]), *most, "{name}: tatpio {arguments}");
        }
    }
}

/// A read takes every way in the other direction.
#[test]
fn reads_are_writes_backwards() {
    let (job, _) = &CASES[1];
    let loads = |arguments: &str| -> BTreeMap<(String, String), u64> {
        let report = json(arguments);
        let links = report["assignments"][0]["links"].as_array().unwrap().iter();
        let end = |link: &Value, end: &str| link[end].as_str().unwrap().to_string();
        links.map(|link| ((end(link, "from"), end(link, "to")), number(&link["bytes"]))).collect()
    };
    let arguments = format!("{} --assign rank_order", job.arguments());
    let write = loads(&arguments);
    let read = loads(&format!("{arguments} --read"));
    let turned: BTreeMap<_, _> = read.into_iter().map(|((from, to), bytes)| ((to, from), bytes)).collect();
    assert_eq!(write, turned);
}

/// Whatever is assigned, each byte has one aggregator.
#[test]
fn every_assignment_serves_every_byte() {
    let report =
        json("plan cube:16 --ranks 8 --topology tree:4,2@5,0,3,6,1,7,2,4 --hints striping_unit=256 --json");
    let bytes = number(&report["bytes"]);
    assert_eq!(bytes, 16 * 16 * 16 * 8);
    for assignment in report["assignments"].as_array().unwrap() {
        let aggregators = assignment["aggregators"].as_array().unwrap();
        let served: u64 = aggregators.iter().map(|aggregator| number(&aggregator["bytes"])).sum();
        let units: u64 = aggregators.iter().map(|aggregator| number(&aggregator["units"])).sum();
        assert_eq!((served, units), (bytes, number(&assignment["units"])), "{}", assignment["assign"]);
    }
}
