//! What is read of captured and of generated fabrics, against a reading that shares no code with it.

use super::*;
use crate::topology::NodeMap;
use crate::units::{Hops, NodeId};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Captured by `ci/infiniband --capture`; that script also puts others in their place.
fn fabrics() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/infiniband");
    let directory = std::env::var_os("TATPIO_TEST_FABRICS").map_or(golden, PathBuf::from);
    let mut fabrics: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("net").exists())
        .collect();
    fabrics.sort();
    assert!(!fabrics.is_empty(), "no fabric in {}", directory.display());
    fabrics
}

fn read_file(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn hosts_map<S: ToString>(hosts: impl IntoIterator<Item = S>) -> NodeMap {
    let groups = hosts.into_iter().enumerate().map(|(rank, host)| (host.to_string(), rank as u64));
    NodeMap::new(groups.collect())
}

fn hops(topology: &Topology, a: usize, b: usize) -> u32 {
    topology.distance(NodeId::from_index(a), NodeId::from_index(b)).0 / Hops::PER_HOP
}

/// A naive reading of `ibnetdiscover`'s output: cables by quotes, hosts by a list of what is no host.
#[derive(Default)]
struct Twin {
    /// By identifier: what it is cabled to, once a cable end.
    peers: BTreeMap<String, Vec<String>>,
    /// By host: its adapters.
    adapters: BTreeMap<String, BTreeSet<String>>,
    /// By cable end: the nodes at this end and the other, and bits a second.
    cables: Vec<(String, String, u64)>,
}

impl Twin {
    fn read(text: &str) -> Twin {
        let mut twin = Twin::default();
        let mut current = String::new();
        for line in text.lines() {
            let quoted: Vec<&str> = line.split('"').collect();
            if line.starts_with('[') {
                twin.peers.get_mut(&current).unwrap().push(quoted[1].to_string());
                let last = line.split_whitespace().last().unwrap();
                let lanes: u64 = last[..1].parse().unwrap();
                let bits = lanes
                    * match &last[2..] {
                        "SDR" => 2_000_000_000,
                        "DDR" => 4_000_000_000,
                        "QDR" => 8_000_000_000,
                        "FDR" => 14_062_500_000 * 64 / 66,
                        "EDR" => 25_000_000_000,
                        "HDR" => 50_000_000_000,
                        other => panic!("{other}"),
                    };
                twin.cables.push((current.clone(), quoted[1].to_string(), bits));
            } else if ["Switch", "Ca"].iter().any(|kind| line.starts_with(kind)) {
                current = quoted[1].to_string();
                twin.peers.entry(current.clone()).or_default();
                if line.starts_with("Ca") && !quoted[3].contains("Mellanox") {
                    let host = quoted[3].split(' ').next().unwrap().to_string();
                    twin.adapters.entry(host).or_default().insert(current.clone());
                }
            }
        }
        twin
    }

    /// What all cables carry, cable ends together, without those that lead to switches at a dead end and to adapters
    /// in no host: no message takes them.
    fn bits(&self) -> u64 {
        let counts = |id: &String| match id.starts_with("S-") {
            true => self.peers[id].iter().collect::<BTreeSet<_>>().len() > 1,
            false => self.adapters.values().any(|adapters| adapters.contains(id)),
        };
        self.cables.iter().filter(|(a, b, _)| counts(a) && counts(b)).map(|(.., bits)| bits).sum()
    }

    /// Breadth first, through switches alone: an adapter passes nothing on.
    fn hops(&self, from: &str, to: &str) -> u32 {
        let mut best: BTreeMap<&str, u32> = BTreeMap::new();
        let mut queue: VecDeque<(&str, u32)> =
            self.adapters[from].iter().map(|adapter| (adapter.as_str(), 0)).collect();
        while let Some((at, hops)) = queue.pop_front() {
            if best.contains_key(at) {
                continue;
            }
            best.insert(at, hops);
            if hops == 0 || at.starts_with("S-") {
                queue.extend(self.peers[at].iter().map(|peer| (peer.as_str(), hops + 1)));
            }
        }
        self.adapters[to].iter().map(|adapter| best[adapter.as_str()]).min().unwrap()
    }
}

#[test]
fn fabrics_have_the_distances_of_their_cables() {
    for directory in fabrics() {
        let text = read_file(&directory, "net");
        let twin = Twin::read(&text);
        let fabric = parse("net", &text).unwrap();
        let hosts: Vec<&String> = twin.adapters.keys().collect();
        let (topology, warnings) = fabric.topology(&hosts_map(&hosts));
        assert!(warnings.is_empty(), "{}: {warnings:?}", directory.display());
        for (a, from) in hosts.iter().enumerate() {
            for (b, to) in hosts.iter().enumerate().filter(|&(b, _)| b != a) {
                assert_eq!(
                    hops(&topology, a, b),
                    twin.hops(from, to),
                    "{}: {from} {to}",
                    directory.display()
                );
            }
        }
        // Each cable once, with what it carries: the twin has both ends.
        let bits: u64 = topology.network().links().iter().map(|link| link.rate.0).sum();
        assert_eq!(bits, twin.bits() / 2, "{}", directory.display());
    }
}

#[test]
fn fabrics_have_the_routes_that_ibtracert_follows() {
    let mut traced = 0;
    for directory in fabrics() {
        let net = read_file(&directory, "net");
        let twin = Twin::read(&net);
        let nodes = hosts_map(twin.adapters.keys());
        let mut found = Vec::new();
        for name in ["lfts", "opensm-lfts.dump", "opensm.fdbs"] {
            let mut fabric = parse("net", &net).unwrap();
            fabric.add_routes(name, &read_file(&directory, name)).unwrap();
            let (topology, warnings) = fabric.topology(&nodes);
            assert!(warnings.is_empty(), "{}: {warnings:?}", directory.display());
            found.push(topology);
        }
        assert!(found[0] == found[1] && found[1] == found[2], "{}: three forms", directory.display());
        let mut said: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let index = |host: &str| twin.adapters.keys().position(|known| known == host).unwrap();
        for line in read_file(&directory, "traces").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (a, b, hops) = (index(words[0]), index(words[1]), words[2].parse().unwrap());
            // Of the two ways of a pair the longer one counts.
            let longer = said.entry((a.min(b), a.max(b))).or_default();
            *longer = (*longer).max(hops);
        }
        for (&(a, b), &expected) in &said {
            assert_eq!(hops(&found[0], a, b), expected, "{}: {a} {b}", directory.display());
        }
        traced += said.len();
    }
    assert!(traced > 0);
}

#[test]
fn a_ring_is_routed_around_a_detour() {
    if std::env::var_os("TATPIO_TEST_FABRICS").is_some() {
        return;
    }
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/infiniband/ring");
    let mut fabric = parse("net", &read_file(&ring, "net")).unwrap();
    let nodes = hosts_map((1..=7).map(|host| format!("node{host}")));
    let sum = |fabric: &Fabric| {
        let topology = fabric.topology(&nodes).0;
        (0..7).flat_map(|a| (0..7).map(move |b| (a, b))).map(|(a, b)| hops(&topology, a, b)).sum::<u32>()
    };
    let shortest = sum(&fabric);
    fabric.add_routes("lfts", &read_file(&ring, "lfts")).unwrap();
    assert!(sum(&fabric) > shortest, "{} and {shortest}", sum(&fabric));
}

/// By `ci/infiniband` the real command; else one that prints a captured fabric.
#[test]
fn a_fabric_that_answers() {
    let live = std::env::var_os("TATPIO_TEST_FABRIC").map(PathBuf::from);
    let saved = live.clone().unwrap_or_else(|| fabrics()[0].join("net"));
    let limit = Duration::from_secs(60);
    let text = match &live {
        Some(_) => discover("ibnetdiscover", limit).unwrap(),
        None => discover::run(&["cat", saved.to_str().unwrap()], limit).unwrap(),
    };
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("# Topology file")).map(str::to_string).collect()
    };
    let saved = std::fs::read_to_string(saved).unwrap();
    assert_eq!(lines(&text), lines(&saved));
    assert!(!parse("ibnetdiscover", &text).unwrap().graph().is_empty());
}

const LEAF: &str =
    "switchguid=0x1(1)\nSwitch\t36 \"S-0000000000000001\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n";

/// A leaf with adapters of these descriptions, one cable each.
fn leaf_with(descriptions: &[&str]) -> String {
    let mut leaf = LEAF.to_string();
    let mut adapters = String::new();
    for (index, description) in descriptions.iter().enumerate() {
        let (port, lid) = (index + 1, index + 2);
        leaf +=
            &format!("[{port}]\t\"H-{port:016x}\"[1]({port:x}) \t\t# \"{description}\" lid {lid} 4xEDR\n");
        adapters += &format!(
            "\ncaguid=0x{port:x}\nCa\t1 \"H-{port:016x}\"\t\t# \"{description}\"\n\
             [1]({port:x}) \t\"S-0000000000000001\"[{port}]\t\t# lid {lid} lmc 0 \"leaf\" lid 1 4xEDR\n"
        );
    }
    leaf + &adapters
}

#[test]
fn adapters_without_a_host_are_warned_of_when_a_host_is_missing() {
    let text = leaf_with(&[
        "node1 mlx5_0",
        "'node2 mlx5_0'",
        "node3.cluster mlx5_0",
        "MT4123 ConnectX6   Mellanox Technologies",
        "Mellanox Technologies Aggregation Node",
    ]);
    let fabric = parse("ibnetdiscover", &text).unwrap();
    let (topology, warnings) = fabric.topology(&hosts_map(["node1", "node2.cluster", "node3"]));
    assert_eq!((hops(&topology, 0, 1), hops(&topology, 0, 2), warnings.len()), (2, 2, 0));
    let (_, warnings) = fabric.topology(&hosts_map(["node1", "node4"]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("does not name these hosts of the job: node4"), "{warnings:?}");
    assert!(
        warnings[1].starts_with(
            "ibnetdiscover: these channel adapters do not say in which host they are: \
             H-0000000000000004 \"MT4123 ConnectX6   Mellanox Technologies\"; start rdma-ndd"
        ),
        "{warnings:?}"
    );
    // One word for dozens of adapters is a vendor's.
    let many = parse("ibnetdiscover", &leaf_with(&["Voltaire HCA410"; 33])).unwrap();
    assert_eq!((many.graph().len(), many.nameless.len()), (34, 33));
    let many = parse("ibnetdiscover", &leaf_with(&["storage HCA410"; 32])).unwrap();
    assert_eq!((many.graph().len(), many.nameless.len()), (2, 0));
}

#[test]
fn parallel_cables_rails_and_rates() {
    // a and b have two adapters on one leaf; the second of b is slower at one end, the last cable says nothing.
    let text = leaf_with(&["a mlx5_0", "a mlx5_1", "b mlx5_0", "b mlx5_1", "c mlx5_0"])
        .replacen("\"b mlx5_1\" lid 5 4xEDR", "\"b mlx5_1\" lid 5 4xFDR10", 1)
        .replace("\"c mlx5_0\" lid 6 4xEDR", "\"c mlx5_0\" lid 6 4x???")
        .replace("lid 6 lmc 0 \"leaf\" lid 1 4xEDR", "lid 6 lmc 0 \"leaf\" lid 1 9xLIGHT");
    let fabric = parse("fabric", &text).unwrap();
    let (topology, warnings) = fabric.topology(&hosts_map(["a", "b", "c"]));
    let rates: Vec<u64> = topology.network().links().iter().map(|link| link.rate.0 / 1_000_000_000).collect();
    assert_eq!(rates, [200, 140, 100]);
    assert_eq!(
        warnings,
        ["fabric: 1 cables are of no known speed (line 7); they are taken to carry 100gbit".to_string()]
    );
}

#[test]
fn a_cable_may_be_listed_from_one_end() {
    // As in the networks that ibsim reads; a cable from a switch to itself joins nothing.
    let text = "Switch 8 \"S1\"\n[1] \"Hca1\"[1]\n[2] \"Hca2\" [1] w=12\n[3] \"S1\"[4]\n[4] \"S1\"[3]\n[5] \"S1\"[5]\n\n\
                Hca 2 \"Hca1\"\nHca 2 \"Hca2\"\n";
    let (topology, warnings) = parse("net", text).unwrap().topology(&hosts_map(["Hca1", "Hca2"]));
    assert_eq!((hops(&topology, 0, 1), topology.network().links().len()), (2, 2));
    assert!(warnings[0].starts_with("net: 4 cables are of no known speed (line 2)"), "{warnings:?}");
}

#[test]
fn damaged_output_is_an_error_with_its_line() {
    let head = "Switch\t8 \"S-1\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n";
    let adapter = "Ca\t1 \"H-1\"\t\t# \"node1 HCA-1\"\n";
    let port = "[1]\t\"H-1\"[1](1) \t\t# \"node1 HCA-1\" lid 4 4xEDR\n";
    let long = "x".repeat(10_000);
    for (text, line, expected) in [
        ("".to_string(), 1, "given no options"),
        ("\n\n# nothing\n".to_string(), 3, "given no options"),
        ("<!DOCTYPE html>\n<html>\n".to_string(), 1, "given no options"),
        (long.clone(), 1, "given no options"),
        (format!("{head}\u{0}\u{1b}[31m\u{fffd}\n"), 2, "given no options"),
        (port.to_string(), 1, "a node, like"),
        (
            format!("{head}{port}"),
            2,
            "a description of H-1, to which this cable leads: the output is not complete",
        ),
        (head.to_string(), 1, "channel adapters, too"),
        (format!("{head}{port}{adapter}[1](1) \"S-1\"[1"), 4, "a cable, like"),
        (format!("{head}{port}{adapter}[1](1) \"S-1\"[1] # lid 4 lmc 0 \"le"), 4, "a closing quote"),
        (
            format!("{head}{port}{adapter}[1](1) \"S-1\"[1] # lid 4 lmc 0 \"leaf\" lid 1"),
            4,
            "an end of the line",
        ),
        (format!("{head}{port}{port}{adapter}"), 3, "one cable in port 1 of S-1, which line 2 gave"),
        (format!("{head}{port}{adapter}{head}"), 4, "one description of S-1, which line 1 gave"),
        (
            format!("{head}{port}[2] \"H-1\"[1](1)\n{adapter}[1](1) \"S-1\"[2]\n"),
            2,
            "one cable in port 1 of H-1, which has another in line 5",
        ),
        (
            format!("{head}{port}[2] \"H-1\"[1](1)\n{adapter}"),
            3,
            "one cable in port 1 of H-1, which has another in line 2",
        ),
    ] {
        let error = parse("ibnetdiscover output fabric.txt", &text).unwrap_err().to_string();
        let place = format!("ibnetdiscover output fabric.txt, line {line}: expected ");
        assert!(error.starts_with(&place) && error.contains(expected), "{text:?}: {error}");
        assert!(error.len() < 500 && !error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn a_cut_is_noticed_or_loses_nothing() {
    for directory in fabrics().iter().filter(|path| !path.ends_with("large")) {
        let text = read_file(directory, "net");
        let twin = Twin::read(&text);
        let nodes = hosts_map(twin.adapters.keys());
        let whole = parse("net", &text).unwrap().topology(&nodes);
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            match parse("net", &text[..end]) {
                Ok(part) => assert_eq!(part.topology(&nodes), whole, "{}: {end}", directory.display()),
                Err(TopologyError::Line { line, .. }) => assert!(line <= text[..end].lines().count().max(1)),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn tables_of_another_fabric_are_refused() {
    let text = leaf_with(&["a mlx5_0", "b mlx5_0"]);
    let head = "Unicast lids [0-3] of switch Lid 1 guid 0x0000000000000001 ('leaf'):\n";
    let try_routes = |net: &str, table: &str| {
        let mut fabric = parse("net", net).unwrap();
        let before = format!("{fabric:?}");
        let result = fabric.add_routes("tables", table);
        assert!(result.is_ok() || format!("{fabric:?}") == before, "a refused table changes nothing");
        result.map_err(|error| error.to_string())
    };
    assert_eq!(
        try_routes(&text, &format!("{head}0x0002 001\n0x0003 002\n0x0009 007\n3 lids dumped\n")),
        Ok(())
    );
    let no_lids = text.replace("lid 2 lmc", "lid 0 lmc").replace("lid 3 lmc", "lid 0 lmc");
    let twice = text.replace("lid 3 lmc", "lid 2 lmc");
    for (net, table, expected) in [
        (&text, "garbage".to_string(), "tables, line 1: expected forwarding tables as dump_lfts"),
        (
            &text,
            head.replace("0x0000000000000001", "0x07") + "0 lids dumped\n",
            "line 1: expected a switch that net",
        ),
        (&text, format!("{head}0x0002 003\n1 lids dumped\n"), "none in port 3 of S-0000000000000001"),
        (
            &text,
            format!("{head}0x0002 001 # Channel Adapter portguid 0x2: 'b'\n1 lids dumped\n"),
            "line 2: expected LID 2 at port guid 0x0000000000000001, where net has it",
        ),
        (
            &no_lids,
            format!("{head}0x0002 001\n1 lids dumped\n"),
            "net has none: was a subnet manager running?",
        ),
        (&twice, format!("{head}0x0002 001\n1 lids dumped\n"), "it must be of one subnet"),
    ] {
        let error = try_routes(net, &table).unwrap_err();
        assert!(error.contains(expected), "{table}: {error}");
    }
}

/// A tree of three levels as `ibnetdiscover` prints it: pods of `leaves` leaves with `below` hosts each, `middle`
/// switches a pod, and `cores` core switches for each of these.
fn fat_tree(pods: usize, leaves: usize, below: usize, middle: usize, cores: usize) -> String {
    let (leaf, mid, core, host) = (
        |n| format!("S-{n:015x}1"),
        |n| format!("S-{n:015x}2"),
        |n| format!("S-{n:015x}3"),
        |n| format!("H-{n:016x}"),
    );
    let mut text = String::from("#\n# Topology file: generated on Sat Nov 21 12:00:00 2026\n#\n");
    let head = |text: &mut String, id: &str, name: String, lid: usize| {
        *text += &format!(
            "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{}\nswitchguid=0x{}({})\n",
            &id[2..],
            &id[2..],
            &id[2..]
        );
        *text += &format!("Switch\t80 \"{id}\"\t\t# \"{name}\" enhanced port 0 lid {lid} lmc 0\n");
    };
    let cable = |text: &mut String, port: usize, peer: &str, peer_port: usize, what: &str| {
        *text += &format!("[{port}]\t\"{peer}\"[{peer_port}]{what} 4xHDR\n");
    };
    for pod in 0..pods {
        for l in 0..leaves {
            let number = pod * leaves + l;
            head(&mut text, &leaf(number), format!("MF0;leaf{number}:MQM8700/U1"), 20_000 + number);
            for h in 0..below {
                let node = number * below + h;
                let what = format!("({node:x}) \t\t# \"node{node} mlx5_0\" lid {}", node + 1);
                cable(&mut text, h + 1, &host(node), 1, &what);
            }
            for m in 0..middle {
                cable(&mut text, below + 1 + m, &mid(pod * middle + m), l + 1, "\t\t# \"mid\" lid 9");
            }
        }
        for m in 0..middle {
            let number = pod * middle + m;
            head(&mut text, &mid(number), format!("mid{number}"), 30_000 + number);
            (0..leaves).for_each(|l| {
                cable(&mut text, l + 1, &leaf(pod * leaves + l), below + 1 + m, "\t\t# \"leaf\" lid 9");
            });
            (0..cores).for_each(|c| {
                cable(&mut text, leaves + 1 + c, &core(m * cores + c), pod + 1, "\t\t# \"core\" lid 9");
            });
        }
    }
    for number in 0..middle * cores {
        head(&mut text, &core(number), format!("core{number}"), 40_000 + number);
        for pod in 0..pods {
            let (m, c) = (number / cores, number % cores);
            cable(&mut text, pod + 1, &mid(pod * middle + m), leaves + 1 + c, "\t\t# \"mid\" lid 9");
        }
    }
    for node in 0..pods * leaves * below {
        text += &format!("\nvendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{node:x}\ncaguid=0x{node:x}\n");
        text += &format!("Ca\t1 \"{}\"\t\t# \"node{node} mlx5_0\"\n", host(node));
        let what = format!("\t\t# lid {} lmc 0 \"leaf\" lid 9", node + 1);
        text += &format!("[1]({node:x}) \t\"{}\"[{}]{what} 4xHDR\n", leaf(node / below), node % below + 1);
    }
    text
}

/// `opensm.fdbs` of [`fat_tree`], which sends what goes to a host up through switches chosen by its number.
fn fat_tree_tables(pods: usize, leaves: usize, below: usize, middle: usize, cores: usize) -> String {
    let hosts = pods * leaves * below;
    let mut text = String::new();
    let mut table = |id: String, port_of: &dyn Fn(usize) -> usize| {
        text.push_str(&format!("dump_ucast_routes: Switch 0x{id}\nLID    : Port : Hops : Optimal\n"));
        for node in 0..hosts {
            text.push_str(&format!("0x{:04X} : {:03}  : 00   : yes\n", node + 1, port_of(node)));
        }
    };
    let (leaf_of, pod_of) = (|node: usize| node / below, |node: usize| node / below / leaves);
    for number in 0..pods * leaves {
        table(format!("{number:015x}1"), &|node| match leaf_of(node) == number {
            true => node % below + 1,
            false => below + 1 + node % middle,
        });
    }
    for number in 0..pods * middle {
        table(format!("{number:015x}2"), &|node| match pod_of(node) == number / middle {
            true => leaf_of(node) % leaves + 1,
            false => leaves + 1 + node / middle % cores,
        });
    }
    for number in 0..middle * cores {
        table(format!("{number:015x}3"), &|node| pod_of(node) + 1);
    }
    text
}

/// The hops between hosts of [`fat_tree`].
fn fat_tree_hops(leaves: usize, below: usize, a: usize, b: usize) -> u32 {
    match (a == b, a / below == b / below, a / below / leaves == b / below / leaves) {
        (true, ..) => 0,
        (_, true, _) => 2,
        (_, _, true) => 4,
        _ => 6,
    }
}

/// Prints its times with `--nocapture`.
#[test]
fn thousands_of_hosts() {
    let (pods, leaves, below, middle, cores) = (16, 16, 18, 16, 8);
    let text = fat_tree(pods, leaves, below, middle, cores);
    let started = Instant::now();
    let fabric = parse("ibnetdiscover", &text).unwrap();
    let parsed = started.elapsed();
    assert_eq!(fabric.graph().len(), 4608 + 256 + 256 + 128);
    // Every 4th host and some: all over the fabric.
    let job: Vec<usize> = (0..1000).map(|rank| rank * 4 + rank / 500).collect();
    let nodes = hosts_map(job.iter().map(|host| format!("node{host}")));
    let started = Instant::now();
    let (topology, warnings) = fabric.topology(&nodes);
    let resolved = started.elapsed();
    assert!(warnings.is_empty(), "{warnings:?}");
    for (a, &from) in job.iter().enumerate() {
        for (b, &to) in job.iter().enumerate() {
            assert_eq!(hops(&topology, a, b), fat_tree_hops(leaves, below, from, to), "{from} {to}");
        }
    }
    println!(
        "4608 hosts, {} bytes: parsed in {parsed:?}; distances of 1000 hosts in {resolved:?}",
        text.len()
    );
}

/// Prints its times with `--nocapture`.
#[test]
fn hundreds_of_hosts_with_routes() {
    let (pods, leaves, below, middle, cores) = (8, 8, 8, 8, 4);
    let mut fabric = parse("ibnetdiscover", &fat_tree(pods, leaves, below, middle, cores)).unwrap();
    let tables = fat_tree_tables(pods, leaves, below, middle, cores);
    let started = Instant::now();
    fabric.add_routes("opensm.fdbs", &tables).unwrap();
    let added = started.elapsed();
    let nodes = hosts_map((0..512).map(|host| format!("node{host}")));
    let started = Instant::now();
    let (topology, warnings) = fabric.topology(&nodes);
    let resolved = started.elapsed();
    assert!(warnings.is_empty(), "{warnings:?}");
    for a in 0..512 {
        for b in 0..512 {
            assert_eq!(hops(&topology, a, b), fat_tree_hops(leaves, below, a, b), "{a} {b}");
        }
    }
    println!("512 hosts, {} bytes of tables: added in {added:?}; distances in {resolved:?}", tables.len());
}

/// A text with pieces cut out, doubled, moved and changed.
fn mutated(text: &str, changes: &[(u8, u16, u16, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for &(kind, at, length, value) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = usize::from(at) % bytes.len();
        let end = (at + usize::from(length) % 200).min(bytes.len());
        match kind % 6 {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(end..end, piece);
            }
            3 => bytes[at] = value,
            4 => bytes[at..end].reverse(),
            _ => {
                bytes.splice(at..at, b"\"[#(\n0 S-:x"[..1 + usize::from(value) % 11].to_vec());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn nothing_panics(
        which in any::<usize>(),
        net in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 0..4),
        tables in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 0..4),
    ) {
        let fabrics = fabrics();
        let directory = &fabrics[which % fabrics.len()];
        let text = read_file(directory, "net");
        let nodes = hosts_map(Twin::read(&text).adapters.keys());
        if let Ok(mut fabric) = parse("net", &mutated(&text, &net)) {
            let form = ["lfts", "opensm-lfts.dump", "opensm.fdbs"][which / 7 % 3];
            let _ = fabric.add_routes(form, &mutated(&read_file(directory, form), &tables));
            let (topology, _) = fabric.topology(&nodes);
            prop_assert_eq!(topology.len(), nodes.len());
        }
    }
}
