//! What a case exercises, as words: for coverage tables.

use crate::case::{Access, Case};
use crate::spec::TypeSpec;
use crate::typemap::TypeMap;
use crate::view::Tiling;
use std::collections::BTreeSet;

impl Case {
    /// Words for everything a case exercises: `family ...`, `op ...`, `file ...` and `memory ...` with constructors,
    /// `hint key` and, where a hint has few values, `hint key=value`, and single properties such as `short read`.
    pub fn features(&self) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        words.insert(format!("family {:?}", self.family));
        for (key, value) in &self.hints {
            words.insert(format!("hint {key}"));
            if value.parse::<u64>().is_err() {
                words.insert(format!("hint {key}={}", value.split(':').next().unwrap_or_default()));
            }
        }
        for rank in &self.ranks {
            rank.view.filetype.walk(&mut |spec| note_type(&mut words, "file", spec));
            rank.view.etype.walk(&mut |spec| note_type(&mut words, "etype", spec));
            let map = TypeMap::of(&rank.view.filetype);
            let span = map.true_ub() - map.true_lb();
            note(&mut words, "empty view", map.size() == 0);
            note(&mut words, "tiles interleave", span > map.extent());
            note(&mut words, "filetype does not start at its lower bound", map.lb() != map.true_lb());
        }
        note(&mut words, "one rank", self.ranks.len() == 1);
        note(&mut words, "empty file", self.initial.is_empty());
        for index in 0..self.ops.len() {
            self.note_op(&mut words, index);
        }
        words
    }

    fn note_op(&self, words: &mut BTreeSet<String>, index: usize) {
        let op = &self.ops[index];
        words.insert(format!("op {:?}", op.kind));
        for access in op.ranks.iter().filter(|access| access.count > 0) {
            note_memory(words, access);
        }
        let idle = op.ranks.iter().filter(|access| access.bytes() == 0).count();
        note(words, "all ranks idle", idle == op.ranks.len());
        note(words, "some ranks idle", idle > 0 && idle < op.ranks.len());
        let mut bytes: Vec<u64> = self.file_bytes(index).concat();
        bytes.sort_unstable();
        let shared = bytes.windows(2).any(|pair| pair[0] == pair[1]);
        note(words, if op.kind.is_write() { "ranks write one byte" } else { "ranks read one byte" }, shared);
        note(words, "bytes past 2^31", bytes.last().is_some_and(|&byte| byte >= 1 << 31));
        note(words, "bytes past 2^32", bytes.last().is_some_and(|&byte| byte >= 1 << 32));
        if let (false, Some(first), Some(last)) = (shared, bytes.first(), bytes.last()) {
            let dense = last - first + 1 == bytes.len() as u64;
            note(words, if dense { "no holes" } else { "holes" }, true);
        }
        for (rank, access) in op.ranks.iter().enumerate().filter(|(_, access)| access.bytes() > 0) {
            let tiling = Tiling::new(&self.ranks[rank].view);
            note(words, "access within one tile", access.bytes() < tiling.size());
            note(words, "access of several tiles", access.bytes() > tiling.size());
        }
    }
}

fn note(words: &mut BTreeSet<String>, word: &str, is: bool) {
    if is {
        words.insert(String::from(word));
    }
}

fn note_type(words: &mut BTreeSet<String>, place: &str, spec: &TypeSpec) {
    words.insert(format!("{place} {}", spec.constructor()));
    if let TypeSpec::Named(named) = spec {
        words.insert(format!("{place} {named:?}"));
    }
    if let TypeSpec::Darray { dimensions, order, .. } = spec {
        words.insert(format!("{place} darray in {order} order"));
        for dimension in dimensions {
            words.insert(format!("{place} darray {:?}", dimension.distribution));
        }
    }
    if let TypeSpec::Subarray { order, .. } = spec {
        words.insert(format!("{place} subarray in {order} order"));
    }
    if let TypeSpec::Struct { .. } = spec {
        let map = TypeMap::of(spec);
        note(words, "padded struct", map.ub() > map.true_ub() && map.alignment() > 1);
    }
}

fn note_memory(words: &mut BTreeSet<String>, access: &Access) {
    access.memtype.walk(&mut |spec| note_type(words, "memory", spec));
    let map = TypeMap::of(&access.memtype);
    note(words, "memory not sorted", !map.is_monotonic());
    note(words, "memory at negative displacements", map.true_lb() < 0);
    note(words, "memory type with negative lower bound", map.lb() < 0);
    note(words, "memory overlaps", map.overlaps());
    note(words, "memory type without data", map.size() == 0);
    note(
        words,
        "memory elements interleave",
        map.true_ub() - map.true_lb() > map.extent() && access.count > 1,
    );
}
