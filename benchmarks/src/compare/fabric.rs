//! Runs on the hosts of `ci/fabric`: which rank sits where, and how mpirun gets there.

use crate::partition;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// The order in which hosts get ranks: with it, we choose the place of every rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum Order {
    /// `in-order`: host after host.
    Natural,
    /// `scattered:SEED`: hosts in an order drawn from the seed, as when the scheduler takes nodes from all over
    /// the machine.
    Scattered(u64),
    /// `hosts:5,0,..`: by number, each once.
    Hosts(Vec<usize>),
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let order = match text.split_once(':') {
            None if text == "in-order" => Some(Order::Natural),
            Some(("scattered", seed)) => seed.parse().ok().map(Order::Scattered),
            Some(("hosts", list)) => {
                list.split(',').map(|host| host.parse().ok()).collect::<Option<_>>().map(Order::Hosts)
            }
            _ => None,
        };
        order.ok_or_else(|| format!("expected in-order, scattered:SEED or hosts:N,N.., found {text:?}"))
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Natural => f.write_str("in-order"),
            Order::Scattered(seed) => write!(f, "scattered:{seed}"),
            Order::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(usize::to_string).collect();
                write!(f, "hosts:{}", hosts.join(","))
            }
        }
    }
}

impl From<Order> for String {
    fn from(order: Order) -> String {
        order.to_string()
    }
}

impl Order {
    /// The numbers of the hosts that `ranks` ranks take, `per_host` successive ones each (the last host may
    /// get fewer), in rank order. `available` is how many hosts there are.
    ///
    /// Errors: too few hosts, or a list that names one that is missing, or one twice.
    fn hosts(&self, ranks: usize, per_host: usize, available: usize) -> Result<Vec<usize>, String> {
        let needed = ranks.div_ceil(per_host);
        let mut hosts: Vec<usize> = match self {
            Order::Natural => (0..available).collect(),
            Order::Scattered(seed) => {
                let count = u64::try_from(available).expect("a length fits 64 bits");
                let hosts = partition::scatter(count, *seed).into_iter();
                hosts.map(|host| usize::try_from(host).expect("below a length")).collect()
            }
            Order::Hosts(hosts) => hosts.clone(),
        };
        let mut sorted = hosts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < hosts.len() || sorted.last().is_some_and(|&host| host >= available) {
            return Err(format!(
                "{self}: expected different hosts from 0 to {}",
                available.saturating_sub(1)
            ));
        }
        if hosts.len() < needed {
            let found = hosts.len();
            return Err(format!("{ranks} ranks, {per_host} a host, need {needed} hosts; {self} has {found}"));
        }
        hosts.truncate(needed);
        Ok(hosts)
    }
}

/// A host.
#[derive(Clone, Debug)]
struct Host {
    name: String,
    address: String,
}

/// A fabric that is up.
#[derive(Debug)]
pub struct Fabric {
    script: PathBuf,
    hosts: Vec<Host>,
    per_host: Option<usize>,
    /// The topology file, for tatpio.
    topology: PathBuf,
    /// What it is, for people.
    pub about: String,
}

impl Fabric {
    /// Asks `ci/fabric` (`script`) what there is, and has it describe the network in a file in `directory`,
    /// unless `topology` is a file that does. `per_host` is how many ranks a host gets; as few as fit if none.
    ///
    /// Errors: what the script says, for instance that no fabric is up.
    pub fn look(
        script: &Path,
        per_host: Option<u32>,
        topology: Option<&Path>,
        directory: &Path,
    ) -> Result<Fabric, String> {
        let script = fs::canonicalize(script).map_err(|error| format!("{}: {error}", script.display()))?;
        let host = |line: &str| {
            let mut words = line.split_whitespace();
            Some(Host { name: words.next()?.to_owned(), address: words.next()?.to_owned() })
        };
        let hosts: Vec<Host> = ask(&script, "hosts")?.lines().filter_map(host).collect();
        if hosts.is_empty() {
            return Err(format!("{} knows no hosts", script.display()));
        }
        let description = ask(&script, "topology")?;
        let about = description.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']).to_owned();
        // The status needs root, as all that follows: it had better be missed now.
        ask(&script, "status")?;
        let topology = match topology {
            Some(given) => {
                fs::canonicalize(given).map_err(|error| format!("{}: {error}", given.display()))?
            }
            None => {
                let path = directory.join("topology");
                fs::write(&path, description).map_err(|error| format!("{}: {error}", path.display()))?;
                path
            }
        };
        let per_host = per_host.and_then(|per_host| usize::try_from(per_host).ok());
        Ok(Fabric { script, hosts, per_host, topology, about })
    }

    fn chosen(&self, order: &Order, ranks: u32) -> Result<(Vec<&Host>, usize), String> {
        let ranks = usize::try_from(ranks).map_err(|error| error.to_string())?;
        let per_host = self.per_host.unwrap_or_else(|| ranks.div_ceil(self.hosts.len()));
        let hosts = order.hosts(ranks, per_host, self.hosts.len())?;
        Ok((hosts.into_iter().map(|host| &self.hosts[host]).collect(), per_host))
    }

    /// Who gets the ranks, for people.
    ///
    /// Errors: the order does not fit the ranks or the fabric.
    pub fn places(&self, order: &Order, ranks: u32) -> Result<String, String> {
        let (hosts, per_host) = self.chosen(order, ranks)?;
        let names: Vec<&str> = hosts.iter().map(|host| &host.name[..]).collect();
        Ok(format!("{ranks} ranks {order}, {per_host} a host: {}", names.join(" ")))
    }

    /// What stands before mpirun: it runs on the host of rank 0.
    ///
    /// Panics for an order that [`Fabric::places`] refuses.
    pub fn enter(&self, order: &Order, ranks: u32) -> Vec<String> {
        let (hosts, _) = self.chosen(order, ranks).expect("checked before the first run");
        let own = named().into_iter().chain([self.script(), "exec".to_owned(), hosts[0].name.clone()]);
        own.collect()
    }

    /// The arguments of MPICH's mpirun. Panics as [`Fabric::enter`].
    pub fn launch_arguments(&self, order: &Order, ranks: u32) -> Vec<String> {
        let (hosts, per_host) = self.chosen(order, ranks).expect("checked before the first run");
        let addresses: Vec<String> =
            hosts.iter().map(|host| format!("{}:{per_host}", host.address)).collect();
        let launch = format!("{}.d/launch", self.script());
        let words = ["-localhost", &hosts[0].address, "-launcher", "ssh", "-launcher-exec", &launch];
        let hosts = ["-hosts", &addresses.join(",")];
        words.iter().chain(&hosts).map(|word| (*word).to_owned()).collect()
    }

    /// What the ranks need: UCX would find that all hosts share one memory, and pass the network by.
    pub fn variables(&self) -> [(String, String); 2] {
        [("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "eth0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// The hint that tells tatpio of the network.
    pub fn topology_hint(&self) -> String {
        format!("tatpio_topology=file:{}", self.topology.display())
    }

    /// The command that counts the bytes of every link.
    pub fn probe(&self) -> String {
        shell_words::join(named().into_iter().chain([self.script(), "counters".to_owned()]))
    }

    fn script(&self) -> String {
        self.script.to_string_lossy().into_owned()
    }
}

/// What makes a command concern the fabric that this program was told to use, wherever it runs.
fn named() -> Vec<String> {
    let name = std::env::var("TATPIO_FABRIC").ok();
    name.map_or(Vec::new(), |name| vec!["env".to_owned(), format!("TATPIO_FABRIC={name}")])
}

fn ask(script: &Path, question: &str) -> Result<String, String> {
    let output = Command::new(script).arg(question).output();
    let output = output.map_err(|error| format!("{}: {error}", script.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_parse_and_print_back() {
        for text in ["in-order", "scattered:7", "hosts:3,0"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        for text in ["", "in-order:1", "scattered", "scattered:x", "hosts:", "hosts:1,,2", "random"] {
            let error = text.parse::<Order>().unwrap_err();
            assert!(error.contains("in-order") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn ranks_take_hosts_in_order() {
        let check = |order: &str, ranks, per_host, expected: Option<&[usize]>| {
            let found = order.parse::<Order>().unwrap().hosts(ranks, per_host, 4);
            assert_eq!(found.as_deref().ok(), expected, "{order}: {found:?}");
        };
        check("in-order", 4, 1, Some(&[0, 1, 2, 3]));
        check("in-order", 3, 2, Some(&[0, 1]));
        check("in-order", 5, 1, None);
        check("hosts:3,1", 2, 1, Some(&[3, 1]));
        check("hosts:3,1,0", 2, 1, Some(&[3, 1]));
        check("hosts:3,1", 3, 1, None);
        check("hosts:3,3", 2, 1, None);
        check("hosts:4,1", 2, 1, None);
    }

    #[test]
    fn a_seed_is_a_permutation() {
        let mut hosts = Order::Scattered(3).hosts(8, 1, 8).unwrap();
        assert_eq!(Order::Scattered(3).hosts(8, 1, 8).unwrap(), hosts);
        assert_ne!(hosts, (0..8).collect::<Vec<_>>());
        hosts.sort_unstable();
        assert_eq!(hosts, (0..8).collect::<Vec<_>>());
    }
}
