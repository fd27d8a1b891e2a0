//! What the command prints and writes.

use crate::{golden, json, out, tatpio};

#[test]
fn every_subcommand_has_examples() {
    for arguments in [
        "--help",
        "topology --help",
        "plan --help",
        "simulate --help",
        "simulate hops --help",
        "simulate paper --help",
    ] {
        let text = out(arguments);
        assert!(text.contains("Examples:\n  tatpio "), "tatpio {arguments}: {text}");
    }
    assert_eq!(out("--version"), format!("tatpio {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_tree_as_text() {
    let expected = "\
tree:2,2/200mbit,1gbit: 4 hosts, 3 switches, 6 links

root
  switch1.0  (200mbit)
    node[0-1]  (1gbit)
  switch1.1  (200mbit)
    node[2-3]  (1gbit)

Rates: 4 links of 1gbit, 2 links of 200mbit

Pairs of hosts by hops: 2: 2, 4: 4

 hops   node0  node1  node2  node3
 node0      0      2      4      4
 node1      2      0      4      4
 node2      4      4      0      2
 node3      4      4      2      0
";
    assert_eq!(out("topology tree:2,2/200mbit,1gbit"), expected);
}

#[test]
fn a_plan_as_text() {
    let text = out(
        "plan cube:64 --ranks 8 --topology tree:4,2/200mbit,1gbit --assign rank_order --assign hop_bytes",
    );
    let expected = "\
cube:64 on 8 ranks of 8 nodes, write of 2.10 MB; topology tree:4,2/200mbit,1gbit

 assignment  aggregators             cut into  hop-bytes  of rank_order  busiest link      its bytes  its time
 rank_order            8  8 domains of 262 kB    5.24 MB          1.000  switch1.0 > root     262 kB   10.5 ms
 hop_bytes             8  8 domains of 262 kB    5.24 MB          1.000  switch1.0 > root     262 kB   10.5 ms
";
    // Predicted times follow; the library's cost model has tests of its own.
    assert_eq!(text.lines().count(), expected.lines().count(), "{text}");
    for (line, expected) in text.lines().zip(expected.lines()) {
        assert!(line.starts_with(expected), "{text}");
    }
}

#[test]
fn networks_as_json() {
    let report = json("topology torus:3,3 --hosts n[0-3] --json");
    let network = &report["network"];
    assert_eq!(network["hosts"], serde_json::json!(["n0", "n1", "n2", "n3"]));
    assert_eq!(network["hops"][0], serde_json::json!([0, 1, 1, 1]));
    assert_eq!(network["links"].as_array().unwrap().len(), 18);
    assert_eq!(network["pairs_by_hops"], serde_json::json!({"1": 4, "2": 2}));
}

/// Hosts are found in the file itself.
#[test]
fn saved_networks_name_their_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let conf = directory.path().join("topology.conf");
    std::fs::write(
        &conf,
        "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4],x\nSwitchName=s2 Switches=s[0-1]\n",
    )
    .unwrap();
    let report = json(&format!("topology slurm:{} --json", conf.display()));
    assert_eq!(report["network"]["hosts"], serde_json::json!(["n1", "n2", "n3", "n4", "x"]));
    assert_eq!(report["network"]["pairs_by_hops"], serde_json::json!({"2": 4, "4": 6}));
    let fabrics = golden("infiniband");
    let mut seen = 0;
    for entry in std::fs::read_dir(&fabrics).into_iter().flatten().flatten() {
        let net = entry.path().join("net");
        if net.is_file() {
            let report = json(&format!("topology infiniband:{} --json", net.display()));
            assert!(report["network"]["hosts"].as_array().unwrap().len() > 1, "{}", net.display());
            assert_eq!(report["network"]["warnings"], serde_json::json!([]), "{}", net.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "no fabric in {}", fabrics.display());
}

/// The same arguments give the same bytes, whatever order threads finish in.
#[test]
fn runs_are_repeated_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let sweep = "simulate hops cube:32 btio:32 --ranks 8,9,16 --per-node 2 --topology tree:4,8 --topology torus:4,4 \
                 --positions scattered:1-3 --aggregators 1,2 --json";
    let contents = |name: &str, threads: u32| {
        let at = |end: &str| directory.path().join(format!("{name}.{end}"));
        let plot = at("svg");
        let text = out(&format!(
            "{sweep} --threads {threads} --plot {} --csv {}",
            plot.display(),
            at("csv").display()
        ));
        (text, std::fs::read(plot).unwrap(), std::fs::read(at("csv")).unwrap())
    };
    let first = contents("first", 1);
    assert_eq!(first, contents("second", 3));
    // Cube on three numbers of ranks, BTIO on two; two networks, three draws, two counts, all assignments.
    let rows: Vec<serde_json::Value> = serde_json::from_str(&first.0).unwrap();
    assert_eq!(rows.len() % (5 * 2 * 3 * 2), 0);
    assert_eq!(String::from_utf8(first.2).unwrap().lines().count(), rows.len() + 1);
}

#[test]
fn numbers_of_ranks_that_do_not_fit_are_left_out() {
    let run = tatpio("simulate hops btio:16 --ranks 8,9 --topology tree:16 --csv -");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("warning: btio:16 on 8 ranks is left out"), "{}", run.err);
    assert!(run.out.starts_with("pattern,ranks,per_node,"), "{}", run.out);
    assert!(run.out.lines().skip(1).all(|line| line.starts_with("btio:16,9,1,9,tree:16,")), "{}", run.out);
}

#[test]
fn progress_is_shown_on_request() {
    let run = tatpio("simulate hops cube:16 --ranks 8 --topology tree:8 --progress --csv -");
    assert!(run.err.starts_with("1/1 after "), "{}", run.err);
    let quiet = tatpio("simulate hops cube:16 --ranks 8 --topology tree:8 --csv -");
    assert_eq!((quiet.err.as_str(), quiet.out), ("", run.out));
}

#[test]
fn the_papers_figures_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("new/results");
    let page = out(&format!("simulate paper --size 40 --seeds 1 --out {}", target.display()));
    assert!(page.contains("bars without numbers") && page.contains("TATP (hop_bytes)"), "{page}");
    assert_eq!(std::fs::read_to_string(target.join("paper.md")).unwrap(), page);
    for name in ["figure9", "figure13"] {
        let svg = std::fs::read_to_string(target.join(format!("{name}.svg"))).unwrap();
        assert!(
            svg.starts_with("<svg ") && svg.contains("LATP (locality)") && !svg.contains("NaN"),
            "{name}"
        );
        let png = std::fs::read(target.join(format!("{name}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n"), "{name}");
    }
    // Two patterns, two clusters; in figure 9 three draws of hosts, in figure 13 two more counts with two of them.
    let csv = std::fs::read_to_string(target.join("paper.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",rank_order,")).count(), 2 * 2 * (3 + 2 * 2));
}

#[test]
fn pictures_name_hosts_and_assignments() {
    let directory = tempfile::tempdir().unwrap();
    for topology in ["tree:4,2", "fat-tree:4", "torus:3,3", "torus:8", "dragonfly:3,2,2", "flat"] {
        let picture = directory.path().join("p.svg");
        out(&format!("plan cube:32 --ranks 8 --topology {topology} --picture {}", picture.display()));
        let svg = std::fs::read_to_string(&picture).unwrap();
        for part in ["node0<", "node7<", "rank_order: ", "hop_bytes: ", "time that a link takes"] {
            assert!(svg.contains(part), "{topology}: no {part}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("\"inf"), "{topology}");
    }
}
