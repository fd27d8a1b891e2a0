//! The hints: ROMIO's with ROMIO's meaning and defaults, and tatpio's own, parsed once.
//!
//! | Hint | Values, default first | Meaning |
//! |---|---|---|
//! | `tatpio` | `disable`, `enable`, `automatic` | whether collective reads and writes go through tatpio; `automatic` when more than one rank opens the file |
//! | `tatpio_assign` | `hop_bytes`, `locality`, `rank_order`, `bottleneck`, `stripes`, `automatic` | how the accessed range is assigned to aggregators ([`Strategy`]) |
//! | `tatpio_topology` | `automatic`, `flat`, `file:PATH`, `infiniband`, `slurm`, `tree:`, `fat-tree:`, `torus:`, `dragonfly:` | the distances and links between nodes ([`TopologySpec`]) |
//! | `tatpio_stats` | `disable`, `enable`, a path | what each call did: text on standard error, or JSON lines appended to a file, from rank 0 |
//! | `tatpio_domains` | `even`, `cyclic` | file domains as ranges, or stripes of `striping_unit` dealt in turn (as for Lustre) |
//! | `tatpio_node_ranks` | unset, a number | pretend that each so many successive ranks are a node: to try a cluster on one machine |
//! | `cb_nodes` | unset, a number | at most so many aggregators |
//! | `cb_config_list` | `*:1` | how many aggregators a node may hold |
//! | `cb_buffer_size` | 2097152 on one node, 16777216 on several | bytes an aggregator reads or writes in a round (ROMIO: 16777216; on one node a smaller buffer stays in the cache between the shuffle and the write, and the next one is filled meanwhile; between nodes every round waits for its busiest link) |
//! | `romio_cb_read`, `romio_cb_write` | `automatic`, `enable`, `disable` | two-phase I/O; `automatic` when the ranks' requests interleave |
//! | `romio_ds_read`, `romio_ds_write` | `automatic`, `enable`, `disable` | data sieving: reading and writing across holes (a rank that writes by itself never does it across other ranks' requests) |
//! | `ind_rd_buffer_size`, `ind_wr_buffer_size` | 4194304, 524288 | the sieving buffers of a rank that reads or writes by itself |
//! | `striping_unit` | the file system's block | bytes no two file domains share |
//! | `striping_factor` | unset, a number | storage targets of the file; passed on, and listed |
//! | `romio_min_fdomain_size` | 0 | no file domain smaller than this |

use crate::placement::{ConfigList, Strategy};
use crate::plan::Partition;
use crate::topology::TopologySpec;
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A choice that may be left to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Switch {
    Enable,
    Disable,
    Automatic,
}

/// Where statistics go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsSink {
    /// Nowhere.
    Off,
    /// A line a call on standard error of rank 0.
    Text,
    /// JSON lines appended to a file by rank 0.
    Json(PathBuf),
}

/// All hints of a file, each with a value.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the module's table says what each means
pub struct Hints {
    pub tatpio: Switch,
    pub assign: Strategy,
    pub topology: TopologySpec,
    pub stats: StatsSink,
    pub domains: Partition,
    pub node_ranks: Option<u32>,
    pub cb_nodes: Option<u32>,
    pub cb_config_list: ConfigList,
    pub cb_buffer_bytes: Bytes,
    pub cb_read: Switch,
    pub cb_write: Switch,
    pub ds_read: Switch,
    pub ds_write: Switch,
    pub ind_read_buffer_bytes: Bytes,
    pub ind_write_buffer_bytes: Bytes,
    pub striping_unit_bytes: Option<Bytes>,
    pub striping_factor: Option<u32>,
    pub domain_bytes_min: Bytes,
    /// The text of every hint that was set, for MPI_File_get_info and for other ranks.
    set: BTreeMap<String, String>,
}

/// A hint whose value could not be used; the value before it stays in force, as MPI asks (MPI-4.1, section 14.2.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHint {
    /// The hint's name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it should have been.
    pub expected: String,
}

impl fmt::Display for BadHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hint {}={:?} is ignored: expected {}", self.key, self.value, self.expected)
    }
}

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            tatpio: Switch::Disable,
            assign: Strategy::HopBytes,
            topology: TopologySpec::Automatic,
            stats: StatsSink::Off,
            domains: Partition::Even,
            node_ranks: None,
            cb_nodes: None,
            cb_config_list: ConfigList::default(),
            cb_buffer_bytes: 2 << 20,
            cb_read: Switch::Automatic,
            cb_write: Switch::Automatic,
            ds_read: Switch::Automatic,
            ds_write: Switch::Automatic,
            ind_read_buffer_bytes: 4 << 20,
            ind_write_buffer_bytes: 512 << 10,
            striping_unit_bytes: None,
            striping_factor: None,
            domain_bytes_min: 0,
            set: BTreeMap::new(),
        }
    }
}

/// The collective buffer where several nodes take part, unless a hint says otherwise.
const BUFFER_BETWEEN_NODES: Bytes = 16 << 20;

impl Hints {
    /// Settles what depends on the number of nodes: the collective buffer, when no hint gives it. On one node it stays in
    /// the cache; between nodes every round waits for the link that is busiest in it, so fewer rounds are faster.
    pub fn settle(&mut self, nodes: usize) {
        if !self.set.contains_key("cb_buffer_size") {
            self.cb_buffer_bytes =
                if nodes > 1 { BUFFER_BETWEEN_NODES } else { Hints::default().cb_buffer_bytes };
        }
    }

    /// Sets one hint. Hints that are not tatpio's concern are ignored, except unknown ones that begin with `tatpio`:
    /// those are typing errors.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), BadHint> {
        let value = value.trim();
        match self.apply(key, value) {
            Ok(true) => {
                self.set.insert(key.into(), value.into());
                Ok(())
            }
            Ok(false) if key.starts_with("tatpio") => {
                Err(bad(key, value, &format!("one of {}", OWN.join(", "))))
            }
            Ok(false) => Ok(()),
            Err(expected) => Err(bad(key, value, &expected)),
        }
    }

    /// Whether the hint exists, or what was expected of its value.
    fn apply(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "tatpio" => self.tatpio = switch(value)?,
            "tatpio_assign" => self.assign = parsed(value)?,
            "tatpio_topology" => self.topology = parsed(value)?,
            "tatpio_stats" => self.stats = stats_sink(value)?,
            "tatpio_domains" => self.domains = parsed(value)?,
            "tatpio_node_ranks" => self.node_ranks = Some(count(value)?),
            "cb_nodes" => self.cb_nodes = Some(count(value)?),
            "cb_config_list" => self.cb_config_list = parsed(value)?,
            "cb_buffer_size" => self.cb_buffer_bytes = size(value)?,
            "romio_cb_read" => self.cb_read = switch(value)?,
            "romio_cb_write" => self.cb_write = switch(value)?,
            "romio_ds_read" => self.ds_read = switch(value)?,
            "romio_ds_write" => self.ds_write = switch(value)?,
            "ind_rd_buffer_size" => self.ind_read_buffer_bytes = size(value)?,
            "ind_wr_buffer_size" => self.ind_write_buffer_bytes = size(value)?,
            "striping_unit" => self.striping_unit_bytes = Some(size(value)?),
            "striping_factor" => self.striping_factor = Some(count(value)?),
            "romio_min_fdomain_size" => self.domain_bytes_min = size_or_zero(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Every hint in use with its value: what MPI_File_get_info lists beside the MPI library's own.
    pub fn in_use(&self) -> Vec<(String, String)> {
        let text = |value: Switch| match value {
            Switch::Enable => "enable",
            Switch::Disable => "disable",
            Switch::Automatic => "automatic",
        };
        let stats = match &self.stats {
            StatsSink::Off => "disable".into(),
            StatsSink::Text => "enable".into(),
            StatsSink::Json(path) => path.display().to_string(),
        };
        let mut list: Vec<(&str, String)> = vec![
            ("tatpio", text(self.tatpio).into()),
            ("tatpio_assign", self.assign.to_string()),
            ("tatpio_topology", self.topology.to_string()),
            ("tatpio_stats", stats),
            ("tatpio_domains", self.domains.to_string()),
            ("cb_config_list", self.cb_config_list.to_string()),
            ("cb_buffer_size", self.cb_buffer_bytes.to_string()),
            ("romio_cb_read", text(self.cb_read).into()),
            ("romio_cb_write", text(self.cb_write).into()),
            ("romio_ds_read", text(self.ds_read).into()),
            ("romio_ds_write", text(self.ds_write).into()),
            ("ind_rd_buffer_size", self.ind_read_buffer_bytes.to_string()),
            ("ind_wr_buffer_size", self.ind_write_buffer_bytes.to_string()),
            ("romio_min_fdomain_size", self.domain_bytes_min.to_string()),
        ];
        let optional = [
            ("tatpio_node_ranks", self.node_ranks.map(u64::from)),
            ("cb_nodes", self.cb_nodes.map(u64::from)),
            ("striping_unit", self.striping_unit_bytes),
            ("striping_factor", self.striping_factor.map(u64::from)),
        ];
        list.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?.to_string()))));
        list.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }

    /// The hints that were set, in an order and a form that is equal when they are: to compare and agree over ranks.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(&self.set).expect("a map of strings is JSON")
    }

    /// The hints another rank encoded.
    pub fn decode(bytes: &[u8]) -> Hints {
        let set: BTreeMap<String, String> =
            serde_json::from_slice(bytes).expect("all ranks run the same tatpio");
        let mut hints = Hints::default();
        for (key, value) in &set {
            hints.set(key, value).expect("a hint that another rank accepted");
        }
        hints
    }
}

const OWN: [&str; 6] =
    ["tatpio", "tatpio_assign", "tatpio_topology", "tatpio_stats", "tatpio_domains", "tatpio_node_ranks"];

/// Splits the text of `TATPIO_HINTS`, or of the file it names: `key=value` or `key value`, separated by semicolons or
/// line ends; `#` begins a comment line. Errors name the part that is neither.
pub fn split_pairs(text: &str) -> (Vec<(String, String)>, Vec<BadHint>) {
    let (mut pairs, mut wrong) = (Vec::new(), Vec::new());
    for part in
        text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty() && !part.starts_with('#'))
    {
        match part.split_once('=').or_else(|| part.split_once(char::is_whitespace)) {
            Some((key, value)) => pairs.push((key.trim().into(), value.trim().into())),
            None => wrong.push(bad(part, "", "key=value pairs separated by semicolons")),
        }
    }
    (pairs, wrong)
}

fn bad(key: &str, value: &str, expected: &str) -> BadHint {
    BadHint { key: key.into(), value: value.into(), expected: expected.into() }
}

fn switch(value: &str) -> Result<Switch, String> {
    match value {
        "enable" | "true" => Ok(Switch::Enable),
        "disable" | "false" => Ok(Switch::Disable),
        "automatic" => Ok(Switch::Automatic),
        _ => Err("enable, disable or automatic".into()),
    }
}

fn stats_sink(value: &str) -> Result<StatsSink, String> {
    match value {
        "disable" => Ok(StatsSink::Off),
        "enable" => Ok(StatsSink::Text),
        path if path.contains(['/', '.']) => Ok(StatsSink::Json(path.into())),
        _ => Err("enable, disable or the path of a file (with a / or a . in it)".into()),
    }
}

fn count(value: &str) -> Result<u32, String> {
    value.parse().ok().filter(|&n| n > 0).ok_or_else(|| "a whole number from 1 to 4294967295".into())
}

fn size(value: &str) -> Result<Bytes, String> {
    size_or_zero(value).ok().filter(|&n| n > 0).ok_or_else(|| "a number of bytes, at least 1".into())
}

fn size_or_zero(value: &str) -> Result<Bytes, String> {
    value.parse().ok().filter(|&n| n <= 1 << 62).ok_or_else(|| "a number of bytes".into())
}

fn parsed<T: FromStr<Err: fmt::Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_named() {
        let check = |key: &str, value: &str, expected: Option<&str>| {
            let outcome = Hints::default().set(key, value).map_err(|bad| bad.to_string());
            match (outcome, expected) {
                (Ok(()), None) => {}
                (Err(text), Some(part)) => assert!(text.contains(part) && text.contains(key), "{text}"),
                (outcome, _) => panic!("{key}={value}: {outcome:?}"),
            }
        };
        check("tatpio", "enable", None);
        check("tatpio", "perhaps", Some("enable, disable or automatic"));
        check("tatpio_asign", "hop_bytes", Some("tatpio_assign"));
        check("tatpio_assign", "best", Some("hop_bytes"));
        check("tatpio_topology", "tree:2,x", Some("tree:"));
        check("tatpio_domains", "odd", Some("even"));
        check("tatpio_stats", "yes", Some("path"));
        check("cb_buffer_size", "0", Some("at least 1"));
        check("cb_buffer_size", "-4", Some("bytes"));
        check("cb_nodes", "4294967296", Some("whole number"));
        check("cb_config_list", "*:x", Some("*:"));
        check("access_style", "anything", None);
    }

    #[test]
    fn a_bad_value_leaves_the_one_before() {
        let mut hints = Hints::default();
        hints.set("cb_buffer_size", "4096").unwrap();
        hints.set("cb_buffer_size", "many").unwrap_err();
        assert_eq!(hints.cb_buffer_bytes, 4096);
    }

    #[test]
    fn the_buffer_depends_on_the_nodes_unless_it_is_given() {
        let mut hints = Hints::default();
        for (nodes, expected) in [(1, 2 << 20), (2, 16 << 20), (1, 2 << 20)] {
            hints.settle(nodes);
            assert_eq!(hints.cb_buffer_bytes, expected);
        }
        hints.set("cb_buffer_size", "4096").unwrap();
        hints.settle(7);
        assert_eq!(hints.cb_buffer_bytes, 4096);
    }

    #[test]
    fn hints_travel() {
        let mut hints = Hints::default();
        for (key, value) in [("tatpio_assign", "locality"), ("cb_nodes", "3"), ("striping_unit", "65536")] {
            hints.set(key, value).unwrap();
        }
        let there = Hints::decode(&hints.encode());
        assert_eq!(there.in_use(), hints.in_use());
        assert_ne!(there.encode(), Hints::default().encode());
    }

    #[test]
    fn the_environment_takes_several_forms() {
        let (pairs, wrong) = split_pairs("tatpio=enable; cb_config_list=*:2,a:1\n# no\ncb_nodes 3\nnonsense");
        let expected = [("tatpio", "enable"), ("cb_config_list", "*:2,a:1"), ("cb_nodes", "3")];
        assert_eq!(pairs, expected.map(|(k, v)| (k.to_string(), v.to_string())));
        assert_eq!(wrong.len(), 1);
    }
}
