//! What a datatype means: its type map, by the definitions of MPI-4.1, chapter 5.

use crate::arrays;
use crate::spec::{Named, TypeSpec};

/// A basic element, as signatures list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Basic {
    Byte,
    Short,
    Int,
    Double,
}

impl Basic {
    /// Bytes; also the alignment that the usual C compilers give it.
    pub fn bytes(self) -> u64 {
        match self {
            Basic::Byte => 1,
            Basic::Short => 2,
            Basic::Int => 4,
            Basic::Double => 8,
        }
    }
}

/// One entry of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes from the buffer address or the start of the tile.
    pub displacement: i64,
    /// What is there.
    pub basic: Basic,
}

impl Entry {
    /// One past its last byte.
    pub fn end(self) -> i64 {
        self.displacement + signed(self.basic.bytes())
    }
}

/// A type map: basic elements in order, and the bound markers (the conceptual `lb_marker` and `ub_marker` of section
/// 5.1.7). Only the lowest `lb_marker` and the highest `ub_marker` ever count, so only those are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMap {
    entries: Vec<Entry>,
    lb_marker: Option<i64>,
    ub_marker: Option<i64>,
}

impl TypeMap {
    /// The type map of a type. Panics on arguments that no MPI call takes.
    pub fn of(spec: &TypeSpec) -> TypeMap {
        match spec {
            TypeSpec::Named(named) => TypeMap::named(*named),
            TypeSpec::Dup(inner) => TypeMap::of(inner),
            TypeSpec::Contiguous { count, inner } => TypeMap::of(inner).blocks([(*count, 0)]),
            TypeSpec::Vector { count, blocklength, stride, inner } => {
                let inner = TypeMap::of(inner);
                let step = i64::from(*stride) * inner.extent();
                inner.blocks((0..i64::from(*count)).map(|i| (*blocklength, i * step)))
            }
            TypeSpec::Hvector { count, blocklength, stride, inner } => {
                TypeMap::of(inner).blocks((0..i64::from(*count)).map(|i| (*blocklength, i * stride)))
            }
            TypeSpec::Indexed { blocks, inner } => {
                let inner = TypeMap::of(inner);
                let extent = inner.extent();
                inner.blocks(blocks.iter().map(|block| (block.length, block.displacement * extent)))
            }
            TypeSpec::Hindexed { blocks, inner } => {
                TypeMap::of(inner).blocks(blocks.iter().map(|block| (block.length, block.displacement)))
            }
            TypeSpec::IndexedBlock { blocklength, displacements, inner } => {
                let inner = TypeMap::of(inner);
                let extent = inner.extent();
                inner.blocks(displacements.iter().map(|&d| (*blocklength, i64::from(d) * extent)))
            }
            TypeSpec::HindexedBlock { blocklength, displacements, inner } => {
                TypeMap::of(inner).blocks(displacements.iter().map(|&d| (*blocklength, d)))
            }
            TypeSpec::Struct { fields } => {
                let mut map = TypeMap::default();
                for field in fields {
                    map.append(&TypeMap::of(&field.inner).blocks([(field.length, field.displacement)]), 0);
                }
                map
            }
            TypeSpec::Subarray { sizes, subsizes, starts, order, inner } => {
                let whole = sizes.iter().map(|&size| i64::from(size)).product();
                TypeMap::of(inner).array(&arrays::subarray(sizes, subsizes, starts, *order), whole)
            }
            TypeSpec::Darray { rank, dimensions, order, inner, size: _ } => {
                let whole = dimensions.iter().map(|dimension| i64::from(dimension.global)).product();
                TypeMap::of(inner).array(&arrays::darray(*rank, dimensions, *order), whole)
            }
            TypeSpec::Resized { lb, extent, inner } => TypeMap {
                entries: TypeMap::of(inner).entries,
                lb_marker: Some(*lb),
                ub_marker: Some(lb + extent),
            },
        }
    }

    fn named(named: Named) -> TypeMap {
        let entries = match named {
            Named::Byte => vec![(0, Basic::Byte)],
            Named::Short => vec![(0, Basic::Short)],
            Named::Int => vec![(0, Basic::Int)],
            Named::Double => vec![(0, Basic::Double)],
            Named::ShortInt => vec![(0, Basic::Short), (4, Basic::Int)],
            Named::DoubleInt => vec![(0, Basic::Double), (8, Basic::Int)],
        };
        let entries =
            entries.into_iter().map(|(displacement, basic)| Entry { displacement, basic }).collect();
        TypeMap { entries, lb_marker: None, ub_marker: None }
    }

    /// Adds a copy of `other`, moved by `displacement` bytes.
    fn append(&mut self, other: &TypeMap, displacement: i64) {
        self.entries.extend(
            other
                .entries
                .iter()
                .map(|entry| Entry { displacement: entry.displacement + displacement, basic: entry.basic }),
        );
        if let Some(marker) = other.lb_marker {
            let marker = marker + displacement;
            self.lb_marker = Some(self.lb_marker.map_or(marker, |lowest| lowest.min(marker)));
        }
        if let Some(marker) = other.ub_marker {
            let marker = marker + displacement;
            self.ub_marker = Some(self.ub_marker.map_or(marker, |highest| highest.max(marker)));
        }
    }

    /// Blocks of (length in elements of this type, displacement in bytes); within a block one extent apart.
    fn blocks(&self, blocks: impl IntoIterator<Item = (i32, i64)>) -> TypeMap {
        let mut map = TypeMap::default();
        let extent = self.extent();
        for (length, displacement) in blocks {
            for i in 0..i64::from(length) {
                map.append(self, displacement + i * extent);
            }
        }
        map
    }

    /// The chosen elements of an array of `whole` of this type; bounds are those of the whole array.
    fn array(&self, chosen: &[i64], whole: i64) -> TypeMap {
        let extent = self.extent();
        let mut map = self.blocks(chosen.iter().map(|&element| (1, element * extent)));
        map.lb_marker = Some(0);
        map.ub_marker = Some(whole * extent);
        map
    }

    /// The basic elements in type-map order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The displacement of every byte of data, in stream order.
    pub fn bytes(&self) -> Vec<i64> {
        self.entries.iter().flat_map(|entry| entry.displacement..entry.end()).collect()
    }

    /// Bytes of data.
    pub fn size(&self) -> u64 {
        self.entries.iter().map(|entry| entry.basic.bytes()).sum()
    }

    /// The lower bound; 0 for a type without entries.
    pub fn lb(&self) -> i64 {
        self.lb_marker.unwrap_or(self.true_lb())
    }

    /// The upper bound, padded so that the extent is a multiple of the strictest alignment unless set by a marker.
    pub fn ub(&self) -> i64 {
        if let Some(marker) = self.ub_marker {
            return marker;
        }
        let span = self.true_ub() - self.lb();
        let alignment = self.alignment();
        self.lb() + (span + alignment - 1).div_euclid(alignment) * alignment
    }

    /// From lower to upper bound: what successive copies are apart.
    pub fn extent(&self) -> i64 {
        self.ub() - self.lb()
    }

    /// The lowest displacement of data; 0 for a type without entries.
    pub fn true_lb(&self) -> i64 {
        self.entries.iter().map(|entry| entry.displacement).min().unwrap_or(0)
    }

    /// One past the highest byte of data; 0 for a type without entries.
    pub fn true_ub(&self) -> i64 {
        self.entries.iter().map(|entry| entry.end()).max().unwrap_or(0)
    }

    /// The strictest alignment of the basic elements, in bytes; 1 without any.
    pub fn alignment(&self) -> i64 {
        self.entries.iter().map(|entry| signed(entry.basic.bytes())).max().unwrap_or(1)
    }

    /// The basic elements without their places.
    pub fn signature(&self) -> Vec<Basic> {
        self.entries.iter().map(|entry| entry.basic).collect()
    }

    /// Whether displacements never go back, as views need.
    pub fn is_monotonic(&self) -> bool {
        self.entries.windows(2).all(|pair| pair[0].displacement <= pair[1].displacement)
    }

    /// Whether some byte occurs twice.
    pub fn overlaps(&self) -> bool {
        let mut bytes = self.bytes();
        bytes.sort_unstable();
        bytes.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The queries of MPI, each from the type map.
impl TypeSpec {
    /// Displacement and length of every basic element, in type-map order.
    pub fn type_map(&self) -> Vec<(i64, u64)> {
        TypeMap::of(self).entries().iter().map(|entry| (entry.displacement, entry.basic.bytes())).collect()
    }

    /// `MPI_Type_size`.
    pub fn size(&self) -> u64 {
        TypeMap::of(self).size()
    }

    /// The lower bound of `MPI_Type_get_extent`.
    pub fn lb(&self) -> i64 {
        TypeMap::of(self).lb()
    }

    /// The upper bound.
    pub fn ub(&self) -> i64 {
        TypeMap::of(self).ub()
    }

    /// The extent of `MPI_Type_get_extent`.
    pub fn extent(&self) -> i64 {
        TypeMap::of(self).extent()
    }

    /// The lower bound of `MPI_Type_get_true_extent`.
    pub fn true_lb(&self) -> i64 {
        TypeMap::of(self).true_lb()
    }

    /// The extent of `MPI_Type_get_true_extent`.
    pub fn true_extent(&self) -> i64 {
        let map = TypeMap::of(self);
        map.true_ub() - map.true_lb()
    }
}

/// A length as a difference of displacements. Panics past 63 bits.
pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("a length fits 63 bits")
}
