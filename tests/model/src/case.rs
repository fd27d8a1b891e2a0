//! A case: one file, one view a rank, and a few collective operations on it.

use crate::limits::Limits;
use crate::spec::TypeSpec;
use crate::typemap::TypeMap;
use crate::view::View;
use serde::{Deserialize, Serialize};

/// What buffers hold where no data is. Data is never this, and never 0.
pub const POISON: u8 = 0xA5;

/// The collective calls of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OpKind {
    /// `MPI_File_write_at_all`.
    WriteAtAll,
    /// `MPI_File_read_at_all`.
    ReadAtAll,
    /// `MPI_File_write_all`, at the individual file pointer.
    WriteAll,
    /// `MPI_File_read_all`, at the individual file pointer.
    ReadAll,
}

impl OpKind {
    /// All of them.
    pub const ALL: [OpKind; 4] = [OpKind::WriteAtAll, OpKind::ReadAtAll, OpKind::WriteAll, OpKind::ReadAll];

    /// Whether it takes an offset, instead of the individual file pointer's.
    pub fn is_at(self) -> bool {
        matches!(self, OpKind::WriteAtAll | OpKind::ReadAtAll)
    }

    /// Whether it writes.
    pub fn is_write(self) -> bool {
        matches!(self, OpKind::WriteAtAll | OpKind::WriteAll)
    }
}

/// The arguments of one rank in one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// In etypes of the rank's view; without meaning where the individual file pointer is used.
    pub offset: u64,
    /// Elements of `memtype`.
    pub count: i32,
    /// The datatype of the buffer.
    pub memtype: TypeSpec,
    /// Where in the rank's allocation the buffer address is, so that negative displacements stay inside.
    pub base: usize,
    /// Bytes of the rank's allocation.
    pub buffer_len: usize,
}

impl Access {
    /// The place in the rank's allocation of each byte of the stream, in stream order.
    pub fn memory_bytes(&self) -> Vec<usize> {
        memory_bytes(&TypeMap::of(&self.memtype), self.count, self.base)
    }

    /// Bytes of data: whole etypes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count.unsigned_abs()) * self.memtype.size()
    }
}

/// The places of the bytes of `count` elements of a type at buffer address `base`. Panics when one is before 0.
pub fn memory_bytes(map: &TypeMap, count: i32, base: usize) -> Vec<usize> {
    let base = i64::try_from(base).expect("a buffer fits 63 bits");
    let extent = map.extent();
    let element = map.bytes();
    (0..i64::from(count))
        .flat_map(|i| element.iter().map(move |displacement| base + i * extent + displacement))
        .map(|place| usize::try_from(place).expect("the memory type stays inside the buffer"))
        .collect()
}

/// One collective call: every rank's part of it, by rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Op {
    /// Which call.
    pub kind: OpKind,
    /// One a rank.
    pub ranks: Vec<Access>,
}

/// What a rank keeps through the case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RankCase {
    /// Its view. The extents of all ranks' etypes are equal, as MPI asks; the etypes may differ.
    pub view: View,
}

/// How the ranks' views relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Family {
    /// Every rank has a random view of its own.
    Independent,
    /// The segments of a tile are dealt to the ranks, some perhaps to nobody.
    Dealt,
    /// An array is distributed over a grid of processes.
    Array,
    /// Equal blocks go round the ranks.
    Strided,
    /// Every rank has one contiguous block.
    Blocks,
    /// All ranks read the same bytes.
    Same,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 6] =
        [Family::Independent, Family::Dealt, Family::Array, Family::Strided, Family::Blocks, Family::Same];
}

/// A whole test: a valid MPI program on one file.
///
/// The program: open a file that holds `initial` at `initial_offset` (zeros before it) with `hints`; every rank sets
/// its view; then the operations in order, with sync, barrier, sync between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// What it was generated from; data depends on it too.
    pub seed: u64,
    /// What it was generated within.
    pub limits: Limits,
    /// How the views relate.
    pub family: Family,
    /// One a rank.
    pub ranks: Vec<RankCase>,
    /// The info object, the same on every rank.
    pub hints: Vec<(String, String)>,
    /// Where `initial` starts in the file; 0 except when displacements are large.
    pub initial_offset: u64,
    /// The file's content before the case. Empty: an empty file, whatever `initial_offset`.
    pub initial: Vec<u8>,
    /// The calls.
    pub ops: Vec<Op>,
}

impl Case {
    /// The allocation of a rank before an operation: poison, and for a write data in the bytes that the memory type
    /// covers. The data depends on seed, operation, rank and place, and is never 0 or poison.
    pub fn buffer(&self, op: usize, rank: usize) -> Vec<u8> {
        let access = &self.ops[op].ranks[rank];
        let mut buffer = vec![POISON; access.buffer_len];
        if self.ops[op].kind.is_write() {
            for place in access.memory_bytes() {
                buffer[place] = data_byte(self.seed, op as u64, rank as u64, place as u64);
            }
        }
        buffer
    }

    /// The file before the case, from byte 0. For cases without large displacements.
    pub fn initial_file(&self) -> Vec<u8> {
        if self.initial.is_empty() {
            return Vec::new();
        }
        let zeros = usize::try_from(self.initial_offset).expect("the file fits memory");
        [vec![0; zeros].as_slice(), &self.initial].concat()
    }

    /// A rough measure for shrinking and for humans: bytes of data in all operations.
    pub fn bytes(&self) -> u64 {
        self.ops.iter().flat_map(|op| &op.ranks).map(Access::bytes).sum()
    }
}

/// A byte of data, never 0 or [`POISON`].
pub(crate) fn data_byte(seed: u64, op: u64, rank: u64, place: u64) -> u8 {
    let mut bits = seed;
    for part in [op, rank, place] {
        // The step of SplitMix64: neighbours differ in every bit with even odds.
        bits = (bits ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
    }
    let value = (bits % 254) as u8 + 1;
    if value >= POISON { value + 1 } else { value }
}
