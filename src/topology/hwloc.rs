//! Where this process sits in its node, asked of hwloc (feature `hwloc`).
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

use super::inside::{Level, Place};
use hwlocality::Topology;
use hwlocality::cpu::binding::CpuBindingFlags;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};
use std::iter::successors;
use std::sync::OnceLock;

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
            let builder = TopologyBuilder::new().with_flags(BuildFlags::INCLUDE_DISALLOWED).ok()?;
            let builder = builder.without_component("x86").ok()?;
            Some(Machine { topology: builder.build().ok()? })
        };
        MACHINE.get_or_init(load).as_ref()
    }

    /// A machine described in hwloc's synthetic form, such as `pack:2 core:5 pu:6`.
    pub fn from_synthetic(description: &str) -> Result<Machine, String> {
        let builder =
            TopologyBuilder::new().from_synthetic(description).map_err(|error| error.to_string())?;
        Ok(Machine { topology: builder.build().map_err(|error| error.to_string())? })
    }

    /// A machine captured as XML (`lstopo machine.xml`).
    pub fn from_xml(xml: &str) -> Result<Machine, String> {
        let builder = TopologyBuilder::new().from_xml(xml).map_err(|error| error.to_string())?;
        Ok(Machine { topology: builder.build().map_err(|error| error.to_string())? })
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
        assert!(Machine::from_xml("no machine").is_err());
        assert!(Machine::from_synthetic("no machine").is_err());
    }

    #[test]
    fn this_process_sits_somewhere() {
        let first = place_of_this_process();
        assert_eq!(place_of_this_process(), first);
        assert_eq!(Place::decode(&first.encode()), Some(first));
    }
}
