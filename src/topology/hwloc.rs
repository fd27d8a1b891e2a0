//! Where this process and the network card sit in their node, asked of hwloc (feature `hwloc`).
//!
//! Of the two bindings, crate `hwloc2` 2.2.0 builds and runs here, but its last release is of 2020 and it
//! offers no search for the object that covers a CPU set, no common ancestors and no distances. `hwlocality`
//! 1.0.0-alpha.13 builds on Debian 12, is maintained and has all of them behind safe calls; being an alpha,
//! its version is pinned.
//!
//! Loading the topology takes 5 to 10 ms on an idle machine of 2 processors, so it is done once a process,
//! when first asked for. hwloc's `x86` component is left out: it binds the calling thread to every processor
//! in turn, which on a machine full of ranks that poll waited 320 ms for its turns, and the kernel's files
//! tell the same without it.
//!
//! Of devices only those are asked for that the system names: a network card has its place without the PCI
//! devices and bridges above it. That adds 0.4 ms to 3.2, where these devices and bridges would add 22 (fastest
//! of 60 loads each, on a machine of 2 processors that others used). The components that ask drivers for
//! accelerators and displays, which can take seconds, are left out.

use super::inside::{Level, Place};
use hwlocality::Topology;
use hwlocality::cpu::binding::CpuBindingFlags;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::{OSDeviceType, ObjectType};
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder, TypeFilter};
use serde::Serialize;
use std::ffi::CStr;
use std::fmt;
use std::iter::successors;
use std::sync::OnceLock;

/// What hwloc can do without: see the head of this file. `opencl` and those after it look for accelerators and
/// displays.
const SKIPPED: [&str; 7] = ["x86", "opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"];

/// A machine as hwloc sees it.
#[derive(Debug)]
pub struct Machine {
    topology: Topology,
}

/// The place of this process on this machine, by the processors it may run on now. Local. Loads the machine's
/// topology at the first call; [`Place::UNKNOWN`] when hwloc fails, because a place is only ever an
/// improvement.
pub fn place_of_this_process() -> Place {
    let Some(machine) = Machine::this() else { return Place::UNKNOWN };
    let bound = machine.topology.cpu_binding(CpuBindingFlags::PROCESS);
    bound.map_or(Place::UNKNOWN, |cpus| machine.place_of_set(&cpus))
}

impl Machine {
    /// This machine, loaded once a process; `None` when hwloc fails.
    pub fn this() -> Option<&'static Machine> {
        static MACHINE: OnceLock<Option<Machine>> = OnceLock::new();
        let load = || {
            // A batch system may keep this process off the processors of its neighbours, whose places are
            // asked for too.
            let mut builder = builder().ok()?.with_flags(BuildFlags::INCLUDE_DISALLOWED).ok()?;
            for name in SKIPPED {
                // hwloc refuses to skip what is not installed, and the builder is gone then: another one asks.
                if TopologyBuilder::new().without_component(name).is_ok() {
                    builder = builder.without_component(name).ok()?;
                }
            }
            Some(Machine { topology: builder.build().ok()? })
        };
        MACHINE.get_or_init(load).as_ref()
    }

    /// A machine described in hwloc's synthetic form, such as `pack:2 core:5 pu:6`; it has no network card. The
    /// error says what was expected.
    pub fn from_synthetic(description: &str) -> Result<Machine, String> {
        let wrong = |error: &dyn fmt::Display| {
            format!("expected a machine like \"pack:2 core:5 pu:6\", found {}: {error}", start(description))
        };
        let builder = builder()
            .and_then(|builder| builder.from_synthetic(description).map_err(|error| wrong(&error)))?;
        Ok(Machine { topology: builder.build().map_err(|_| wrong(&"hwloc cannot load it"))? })
    }

    /// A machine captured as XML (`lstopo --of xml`), with its network cards. The error says what was expected.
    ///
    /// hwloc believes XML whose parts contradict each other, such as a file edited by hand; in a build with debug
    /// assertions hwlocality has it checked, and hwloc ends the process.
    pub fn from_xml(xml: &str) -> Result<Machine, String> {
        let wrong = |error: &dyn fmt::Display| {
            format!("expected XML of hwloc 2, as lstopo --of xml writes it, found {}: {error}", start(xml))
        };
        let builder = builder().and_then(|builder| builder.from_xml(xml).map_err(|error| wrong(&error)))?;
        Ok(Machine { topology: builder.build().map_err(|_| wrong(&"hwloc cannot load it"))? })
    }

    /// The place of the network card: the NUMA node next to it, or the package when it is next to several.
    ///
    /// Of several cards those count that are best, by these questions in turn:
    ///
    /// 1. Is it not known to be down?
    /// 2. Is it what hwloc calls OpenFabrics (InfiniBand, Omni-Path, RoCE), and not just a network interface? Where
    ///    there is such a card MPI uses it, and the interfaces are those of IP over it and of the administration.
    /// 3. Is it known to be up? Only the ports of OpenFabrics cards tell.
    ///
    /// [`Place::UNKNOWN`] without a card, for one that is next to all processors of a machine of several packages, and
    /// when the best cards are in different places: with a card in each package there is no reason to favour a rank.
    pub fn network_place(&self) -> Place {
        let mut places = self.best_cards().into_iter().map(|card| self.card_place(card));
        let first = places.next().unwrap_or(Place::UNKNOWN);
        if places.all(|place| place == first) { first } else { Place::UNKNOWN }
    }

    /// The machine as a tree, for people and for pictures: all that computes or remembers, and its network cards.
    pub fn describe(&self) -> Part {
        let in_use = if self.network_place() == Place::UNKNOWN { Vec::new() } else { self.best_cards() };
        let in_use: Vec<_> = in_use.into_iter().map(TopologyObject::global_persistent_index).collect();
        part(self.topology.root_object(), &|card| in_use.contains(&card.global_persistent_index()))
    }

    /// The network cards that are as good as any.
    fn best_cards(&self) -> Vec<&TopologyObject> {
        let cards = || self.topology.objects_with_type(ObjectType::OSDevice);
        let best = cards().filter_map(standing).max();
        cards().filter(|card| best.is_some() && standing(card) == best).collect()
    }

    fn card_place(&self, card: &TopologyObject) -> Place {
        let next_to = card.first_non_io_ancestor().and_then(TopologyObject::cpuset);
        let around = next_to.map_or(Place::UNKNOWN, |cpus| self.place_of_set(&cpus));
        // A card is next to memory; that a cache lies around all of it says nothing more.
        let levels = [Level::Package, Level::Numa].into_iter();
        levels.fold(Place::UNKNOWN, |place, level| match around.part(level) {
            Some(number) => place.with(level, number),
            None => place,
        })
    }

    /// The place of a process of this machine that may run on these processors, by their numbers in the
    /// operating system; [`Place::UNKNOWN`] for none of them, or for one that the machine does not have.
    pub fn place_of(&self, cpus: &[usize]) -> Place {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            // hwloc numbers processors with C integers; no machine comes near.
            let Ok(index) = hwlocality::bitmap::BitmapIndex::try_from(cpu) else { return Place::UNKNOWN };
            set.set(index);
        }
        self.place_of_set(&set)
    }

    fn place_of_set(&self, cpus: &CpuSet) -> Place {
        let covering = self.topology.smallest_object_covering_cpuset(cpus);
        let around: Vec<&TopologyObject> = successors(covering, |object| object.parent()).collect();
        let mut place = Place::UNKNOWN;
        for object in &around {
            let level = match object.object_type() {
                ObjectType::Package => Level::Package,
                ObjectType::L3Cache => Level::L3,
                ObjectType::L2Cache => Level::L2,
                ObjectType::Core => Level::Core,
                ObjectType::PU => Level::Pu,
                _ => continue,
            };
            place = number(object).map_or(place, |number| place.with(level, number));
        }
        // Memory hangs beside the tree of processors. A set of processors next to several memories has no
        // NUMA node.
        let memories = around.first().and_then(|object| object.nodeset());
        if let Some(memories) = memories.filter(|memories| memories.weight() == Some(1)) {
            let numa = memories.first_set().and_then(|index| u16::try_from(usize::from(index)).ok());
            place = numa.map_or(place, |number| place.with(Level::Numa, number));
        }
        place
    }
}

/// A topology to be loaded, with the devices that the system names and without what they are plugged into.
fn builder() -> Result<TopologyBuilder, String> {
    let builder = TopologyBuilder::new().with_type_filter(ObjectType::OSDevice, TypeFilter::KeepImportant);
    builder.map_err(|error| error.to_string())
}

/// The first words of a text, for messages.
fn start(text: &str) -> String {
    const SHOWN: usize = 60;
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = words.chars().take(SHOWN).collect();
    let more = if shown.len() < words.len() { "..." } else { "" };
    format!("\"{shown}{more}\"")
}

/// What speaks for a network card, in this order; `None` for any other device.
fn standing(device: &TopologyObject) -> Option<(bool, bool, bool)> {
    let Some(ObjectAttributes::OSDevice(attributes)) = device.attributes() else { return None };
    let open_fabrics = match attributes.device_type() {
        OSDeviceType::OpenFabrics => true,
        OSDeviceType::Network => false,
        _ => return None,
    };
    let text = |text: &CStr| text.to_string_lossy().into_owned();
    let is_state = |name: &str| name.starts_with("Port") && name.ends_with("State");
    // The states of its ports as the kernel numbers them: 4 is active.
    let mut states = (device.infos().iter())
        .filter(|info| is_state(&text(info.name())))
        .map(|info| text(info.value()).trim_start().starts_with('4'))
        .peekable();
    let told = states.peek().is_some();
    let up = states.any(|active| active);
    Some((up || !told, open_fabrics, up))
}

/// A part of a machine, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// hwloc's word for what it is: `Machine`, `Package`, `NUMANode`, `L3Cache`, `Core`, `PU`, `Group` and so on;
    /// `Network` or `OpenFabrics` for a network card.
    #[serde(rename = "type")]
    pub kind: String,
    /// What tells it from others of its kind: the name of a card, the system's number of a NUMA node or a processing
    /// unit, hwloc's logical number of anything else.
    pub label: String,
    /// The processors in it or next to it, by their numbers in the system: `0-3,8`.
    pub cpus: String,
    /// Whether [`Machine::network_place`] is the place of this card.
    pub chosen: bool,
    /// Memory first, then what computes, then network cards.
    pub children: Vec<Part>,
}

impl fmt::Display for Part {
    /// A line a part, indented by two blanks a level.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = f.width().unwrap_or_default();
        let chosen = if self.chosen { ", chosen" } else { "" };
        writeln!(f, "{:indent$}{} {} (cpus {}{chosen})", "", self.kind, self.label, self.cpus)?;
        self.children.iter().try_for_each(|child| write!(f, "{child:0$}", indent + 2))
    }
}

fn part(object: &TopologyObject, is_chosen: &dyn Fn(&TopologyObject) -> bool) -> Part {
    let kind = match (standing(object), object.object_type()) {
        (Some((_, true, _)), _) => "OpenFabrics".to_string(),
        (Some(_), _) => "Network".to_string(),
        (None, other) => other.to_string(),
    };
    let index = match object.object_type() {
        ObjectType::NUMANode | ObjectType::PU => object.os_index().unwrap_or(object.logical_index()),
        _ => object.logical_index(),
    };
    let name = object.name().filter(|_| object.object_type() == ObjectType::OSDevice);
    let next_to = object.cpuset().or_else(|| object.first_non_io_ancestor()?.cpuset());
    let cpus = next_to.map(|cpus| cpus.iter_set().map(usize::from).collect::<Vec<_>>());
    let inner = object.memory_children().chain(object.normal_children());
    let cards = object.io_children().filter(|device| standing(device).is_some());
    Part {
        kind,
        label: name.map_or_else(|| index.to_string(), |name| name.to_string_lossy().into_owned()),
        cpus: ranges(&cpus.unwrap_or_default()),
        chosen: is_chosen(object),
        children: inner.chain(cards).map(|child| part(child, is_chosen)).collect(),
    }
}

/// Ascending numbers as Linux writes lists of processors: `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => unreachable!("chunks are not empty"),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// A number that tells this part of the machine from every other of its level: its lowest processor. hwloc's
/// own numbers differ between processes that a container or a batch system confined to different processors.
fn number(object: &TopologyObject) -> Option<u16> {
    let first = object.complete_cpuset()?.first_set()?;
    u16::try_from(usize::from(first)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::inside::distance;
    use crate::topology::places::NodePlaces;
    use crate::units::Hops;

    /// The places of two processes on a machine, by the processors each is bound to, and their distance.
    fn check(machine: &str, a: &[usize], b: &[usize], sixteenths: u32) {
        let found = Machine::from_synthetic(machine).unwrap();
        let (here, there) = (found.place_of(a), found.place_of(b));
        assert_eq!(distance(&here, &there), Hops(sixteenths), "{machine}: {a:?} {here:?}, {b:?} {there:?}");
    }

    #[test]
    fn synthetic_machines() {
        // 32 processors: 2 packages of 2 NUMA nodes, one L3 with 2 L2 of one core of 2 hardware threads in
        // each.
        let big = "pack:2 numa:2 l3:2 l2:2 core:1 pu:2";
        for (a, b, sixteenths) in [
            (vec![0], vec![0], 1),
            (vec![0], vec![1], 1),
            (vec![0, 1], vec![0, 1], 1),
            (vec![0], vec![2], 4),
            (vec![0], vec![4], 6),
            (vec![0], vec![8], 10),
            (vec![0], vec![16], 16),
            // Bound to an L3, a NUMA node, a package, the machine.
            (vec![0, 1, 2, 3], vec![0], 4),
            ((0..8).collect(), vec![0], 6),
            ((0..16).collect(), vec![0], 10),
            ((0..32).collect(), vec![0], 16),
            ((0..32).collect(), (0..32).collect(), 16),
            // A set across two packages, as a rank of scattered threads has.
            (vec![0, 16], vec![0], 16),
            // No processor, and one that is not there.
            (vec![], vec![0], 16),
            (vec![99], vec![0], 16),
            (vec![usize::MAX], vec![0], 16),
        ] {
            check(big, &a, &b, sixteenths);
        }
        // Two cores on one L2.
        check("pack:1 l2:2 core:2 pu:1", &[0], &[1], 2);
        // One package with one memory and no caches: unbound ranks share both.
        check("pack:1 core:4 pu:1", &[0, 1, 2, 3], &[0, 1, 2, 3], 6);
    }

    #[test]
    fn parts_are_numbered_by_their_lowest_processor() {
        let machine = Machine::from_synthetic("pack:2 numa:1 l3:1 l2:2 core:2 pu:1").unwrap();
        let place = machine.place_of(&[7]);
        let numbers: Vec<Option<u16>> = Level::ALL.iter().map(|&level| place.part(level)).collect();
        assert_eq!(numbers, [Some(4), Some(1), Some(4), Some(6), Some(7), Some(7)]);
    }

    #[test]
    fn machines_can_be_captured() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="4" local_memory="1024"/>
    <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3"/>
      <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="5"/>
    </object>
  </object>
</topology>"#;
        let machine = Machine::from_xml(xml).unwrap();
        assert_eq!(machine.place_of(&[1]).part(Level::Pu), Some(1));
        assert_eq!(distance(&machine.place_of(&[0]), &machine.place_of(&[1])), Hops(6));
    }

    #[test]
    fn what_is_no_machine_is_refused() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">"#;
        for text in
            ["", "no machine", "<a/>", "<topology", "a\0b", xml, &format!("{xml}<topology version=\"2.0\"/>")]
        {
            let error = Machine::from_xml(text).unwrap_err();
            let found = format!("found \"{}", &text[..text.len().min(10)]);
            assert!(error.starts_with("expected XML of hwloc 2, as lstopo --of xml writes it, "), "{error}");
            assert!(error.contains(&found), "{error}");
        }
        let cut = &ONE_CARD[..ONE_CARD.len() / 2];
        assert!(Machine::from_xml(cut).unwrap_err().contains("...\": hwloc "));
        for text in ["", "no machine", "pack:", "core:0"] {
            let error = Machine::from_synthetic(text).unwrap_err();
            assert!(error.starts_with("expected a machine like \"pack:2 core:5 pu:6\", found "), "{error}");
        }
    }

    const ONE_CARD: &str = include_str!("../../tests/golden/hwloc/one_card.xml");
    const TWO_CARDS: &str = include_str!("../../tests/golden/hwloc/two_cards.xml");
    const CARD_OF_THE_MACHINE: &str = include_str!("../../tests/golden/hwloc/card_of_the_machine.xml");

    /// The names of the cards that are chosen.
    fn chosen(part: &Part) -> Vec<String> {
        let own = part.chosen.then(|| part.label.clone());
        own.into_iter().chain(part.children.iter().flat_map(chosen)).collect()
    }

    #[test]
    fn the_place_of_the_network_card() {
        let down = |card: &str, xml: &str| {
            let (before, after) = xml.split_once(&format!("\"{card}\"")).unwrap();
            let after = after.replacen("Port1State\" value=\"4\"", "Port1State\" value=\"1\"", 1);
            format!("{before}\"{card}\"{after}")
        };
        let silent = |xml: &str| xml.replacen("Port1State", "Port1Mood", 1);
        let numa = |package, numa| Place::UNKNOWN.with(Level::Package, package).with(Level::Numa, numa);
        for (xml, place, cards) in [
            (ONE_CARD.to_string(), numa(0, 1), "mlx5_0"),
            // An InfiniBand card of which nothing is known is preferred to Ethernet; one that is down is not.
            (silent(ONE_CARD), numa(0, 1), "mlx5_0"),
            (down("mlx5_0", ONE_CARD), Place::UNKNOWN, ""),
            // Without the interface of the card that is down there is Ethernet, next to both NUMA nodes of a package.
            (
                down(
                    "mlx5_0",
                    &ONE_CARD.replace("name=\"ib0\" osdev_type=\"2\"", "name=\"ib0\" osdev_type=\"4\""),
                ),
                Place::UNKNOWN.with(Level::Package, 4),
                "eno1",
            ),
            // One card a package, until something sets them apart.
            (TWO_CARDS.to_string(), Place::UNKNOWN, ""),
            (down("mlx5_0", TWO_CARDS), numa(4, 3), "mlx5_1"),
            (down("mlx5_1", TWO_CARDS), numa(0, 0), "mlx5_0"),
            (silent(TWO_CARDS), numa(4, 3), "mlx5_1"),
            // Two ports, of which one is in use, and two cards in one place.
            (
                down("mlx5_0", &TWO_CARDS.replace("Port1LMC\" value=\"0", "Port2State\" value=\"4")),
                Place::UNKNOWN,
                "",
            ),
            (
                ONE_CARD
                    .replace("name=\"ib0\" osdev_type=\"2\"", "name=\"mlx5_9\" osdev_type=\"3\"")
                    .replace("name=\"Port\" value=\"1\"", "name=\"Port1State\" value=\"4\""),
                numa(0, 1),
                "mlx5_9 mlx5_0",
            ),
            // Next to no package.
            (CARD_OF_THE_MACHINE.to_string(), Place::UNKNOWN, ""),
        ] {
            let machine = Machine::from_xml(&xml).unwrap();
            assert_eq!(machine.network_place(), place, "{}", machine.describe());
            assert_eq!(chosen(&machine.describe()).join(" "), cards, "{}", machine.describe());
        }
        assert_eq!(Machine::from_synthetic("pack:2 core:2 pu:1").unwrap().network_place(), Place::UNKNOWN);
    }

    #[test]
    fn ranks_near_the_card_of_a_machine() {
        let machine = Machine::from_xml(ONE_CARD).unwrap();
        let sets: [&[usize]; 6] = [&[0], &[2], &[2, 3], &[0, 1, 2, 3], &[4], &[0, 4]];
        let ranks = sets.map(|cpus| machine.place_of(cpus)).to_vec();
        let node = NodePlaces { ranks, network: machine.network_place() };
        let found: Vec<u32> = (0..sets.len()).map(|rank| node.to_network(rank).0).collect();
        assert_eq!(found, [10, 6, 6, 10, 16, 16]);
    }

    #[test]
    fn a_machine_described() {
        let machine = Machine::from_xml(ONE_CARD).unwrap().describe();
        let text = machine.to_string();
        let expected = "\
Machine 0 (cpus 0-7)
  Package 0 (cpus 0-3)
    L3Cache 0 (cpus 0-1)
      NUMANode 0 (cpus 0-1)
      Core 0 (cpus 0)
        PU 0 (cpus 0)
      Core 1 (cpus 1)
        PU 1 (cpus 1)
    L3Cache 1 (cpus 2-3)
      NUMANode 1 (cpus 2-3)
      Core 2 (cpus 2)
        PU 2 (cpus 2)
      Core 3 (cpus 3)
        PU 3 (cpus 3)
      Network ib0 (cpus 2-3)
      OpenFabrics mlx5_0 (cpus 2-3, chosen)
  Package 1 (cpus 4-7)
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("\n    Network eno1 (cpus 4-7)\n"), "{text}");
        let json = serde_json::to_value(&machine).unwrap();
        assert_eq!(json["children"][0]["children"][1]["children"][4]["label"], "mlx5_0");
        assert_eq!((&json["type"], &json["cpus"]), (&"Machine".into(), &"0-7".into()));
        assert_eq!(ranges(&[0, 2, 3, 5, 6, 7, 9]), "0,2-3,5-7,9");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn this_machine_described() {
        let machine = Machine::this().expect("hwloc knows this machine");
        let (place, machine) = (machine.network_place(), machine.describe());
        assert_eq!(machine.kind, "Machine");
        assert!(place.part(Level::L3).is_none() && place.part(Level::Core).is_none());
        assert_eq!(chosen(&machine).is_empty(), place == Place::UNKNOWN, "{machine}");
    }

    #[test]
    fn this_process_sits_somewhere() {
        let first = place_of_this_process();
        assert_eq!(place_of_this_process(), first);
        assert_eq!(Place::decode(&first.encode()), Some(first));
    }
}
