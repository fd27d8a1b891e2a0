//! Random nested types of a given number of elements.

use super::arrays::{self, int};
use super::portable::settle;
use crate::limits::Limits;
use crate::rng::Rng;
use crate::spec::{Block, Field, Named, Order, TypeSpec};
use crate::typemap::{TypeMap, signed};

/// What the displacements of a type may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// For a view: nonnegative, monotonic, whole etypes apart.
    File,
    /// For a buffer: anything, in multiples of the strictest alignment.
    Memory {
        /// Whether bytes may occur twice, as they may in the source of a write.
        overlap: bool,
    },
}

/// Grows types from copies of one element.
pub(super) struct Builder<'a> {
    rng: &'a mut Rng,
    limits: Limits,
    place: Place,
    leaf: &'a TypeSpec,
    /// The lowest byte of data of the element.
    leaf_lb: i64,
    /// Displacements in bytes are multiples of this.
    grain: i64,
}

/// A type with its bounds.
#[derive(Clone)]
struct Node {
    spec: TypeSpec,
    lb: i64,
    extent: i64,
    true_lb: i64,
    true_ub: i64,
}

impl<'a> Builder<'a> {
    pub(super) fn new(rng: &'a mut Rng, limits: &Limits, place: Place, leaf: &'a TypeSpec) -> Builder<'a> {
        let map = TypeMap::of(leaf);
        let grain = match place {
            Place::File => map.extent(),
            Place::Memory { .. } => map.alignment(),
        };
        Builder { rng, limits: *limits, place, leaf, leaf_lb: map.true_lb(), grain }
    }

    /// A type of exactly `elements` elements, at most `depth` constructors deep, whose span is at most `span` bytes;
    /// shallower types are tried when it is larger.
    pub(super) fn build(&mut self, elements: u64, depth: u32, span: i64) -> TypeSpec {
        for depth in (1..=depth).rev() {
            let node = self.node(elements, depth);
            if node.true_ub - node.true_lb <= span && node.extent <= span {
                return node.spec;
            }
        }
        self.node(elements, 0).spec
    }

    /// A type without data, of any of the ways to have none.
    pub(super) fn empty(&mut self) -> TypeSpec {
        let inner = Box::new(self.leaf.clone());
        let far = self.rng.range(-3, 9);
        match self.rng.below(8) {
            0 => TypeSpec::Contiguous { count: 0, inner },
            1 => TypeSpec::Vector { count: 0, blocklength: 3, stride: 4, inner },
            2 => TypeSpec::Hvector { count: 3, blocklength: 0, stride: 16, inner },
            3 => TypeSpec::Indexed { blocks: Vec::new(), inner },
            4 => TypeSpec::Hindexed {
                blocks: vec![Block { length: 0, displacement: far * self.grain }],
                inner,
            },
            5 => TypeSpec::IndexedBlock { blocklength: 0, displacements: vec![0, 2], inner },
            6 => TypeSpec::HindexedBlock { blocklength: 2, displacements: Vec::new(), inner },
            _ => TypeSpec::Struct { fields: Vec::new() },
        }
    }

    fn node(&mut self, n: u64, depth: u32) -> Node {
        if depth == 0 {
            let leaf = self.leaf.clone();
            return self.finish(if n == 1 { leaf } else { TypeSpec::contiguous(int(n), leaf) });
        }
        let columns = if matches!(self.place, Place::File) { 0 } else { 6 };
        let make: fn(&mut Self, u64, u32) -> TypeSpec = *self.rng.weighted(&[
            (5, Self::dup as fn(&mut Self, u64, u32) -> TypeSpec),
            (8, Self::contiguous),
            (12, Self::vector),
            (10, Self::hvector),
            (12, Self::indexed),
            (10, Self::hindexed),
            (8, Self::indexed_block),
            (8, Self::hindexed_block),
            (14, Self::structure),
            (12, Self::subarray),
            (12, Self::darray),
            (10, Self::resized),
            (columns, Self::columns),
        ]);
        let spec = make(self, n, depth);
        self.finish(spec)
    }

    /// Makes bounds explicit where they must be: where libraries differ, and where copies one extent apart would
    /// overlap or go back.
    fn finish(&self, mut spec: TypeSpec) -> Node {
        let mut map = TypeMap::of(&spec);
        if self.careful() && !(0..=map.true_lb() - self.leaf_lb).contains(&map.lb()) {
            spec = TypeSpec::resized(0, round_up(map.true_ub(), self.grain), spec);
        }
        spec = settle(spec, self.limits.padding);
        map = TypeMap::of(&spec);
        let span = map.true_ub() - map.true_lb();
        if map.extent() < span && !matches!(self.place, Place::Memory { overlap: true }) {
            let lb = if self.careful() { 0 } else { map.true_lb() - self.leaf_lb };
            spec = TypeSpec::resized(lb, round_up(map.true_ub() - lb, self.grain), spec);
            map = TypeMap::of(&spec);
        }
        Node { spec, lb: map.lb(), extent: map.extent(), true_lb: map.true_lb(), true_ub: map.true_ub() }
    }

    /// `n` elements as a number of inner types, and one of those.
    fn inner(&mut self, n: u64, depth: u32) -> (u64, Node) {
        let (outer, inner) = self.rng.factors(n);
        (outer, self.node(inner, depth - 1))
    }

    /// Whether views must do without what some library refuses or misplaces: see [`Limits::quirks`].
    fn careful(&self) -> bool {
        matches!(self.place, Place::File) && !self.limits.quirks
    }

    fn gap(&mut self) -> i64 {
        if self.rng.chance(45) { 0 } else { self.rng.range(1, 3) }
    }

    /// Starts of blocks of the given widths, in units: in order for a view, shuffled in memory, never below `lowest`.
    fn starts(&mut self, widths: &[i64], lowest: i64) -> Vec<i64> {
        let total: i64 = widths.iter().sum();
        if matches!(self.place, Place::Memory { overlap: true }) && self.rng.chance(40) {
            return widths.iter().map(|_| self.rng.range(-total - 2, total + 4)).collect();
        }
        let mut order: Vec<usize> = (0..widths.len()).collect();
        let mut at = if self.rng.chance(60) { 0 } else { self.rng.range(lowest.max(-total), 4) };
        if matches!(self.place, Place::Memory { .. }) {
            if self.rng.chance(60) {
                self.rng.shuffle(&mut order);
            }
            if self.rng.chance(30) {
                at = -self.rng.range(0, total + 2);
            }
        }
        let mut starts = vec![0; widths.len()];
        for block in order {
            at += self.gap();
            starts[block] = at;
            at += widths[block];
        }
        starts
    }

    /// The displacement that blocks of a type are placed by: of its first element; in careful views of its lower
    /// bound, which must not become negative either.
    fn first(&self, inner: &Node) -> i64 {
        let first = inner.true_lb - self.leaf_lb;
        if self.careful() { first.min(inner.lb) } else { first }
    }

    /// The lowest displacement, in units of `unit` bytes, that keeps a view's data after the start of the tile.
    fn lowest(&self, inner: &Node, unit: i64) -> i64 {
        match self.place {
            Place::File => -(self.first(inner) / unit),
            Place::Memory { .. } => i64::MIN / 2,
        }
    }

    /// A stride for blocks of `width` units.
    fn stride(&mut self, count: u64, width: i64) -> i64 {
        let forward = width + self.gap();
        let backward = if self.limits.quirks { -forward } else { -forward.max(width + 1) };
        match self.place {
            Place::File if count == 1 => self.rng.range(-3, 6),
            Place::File => forward,
            Place::Memory { overlap: true } if self.rng.chance(40) => {
                let least = if self.limits.quirks { -forward } else { 0 };
                self.rng.range(least, forward)
            }
            Place::Memory { .. } => *self.rng.pick(&[forward, forward, backward]),
        }
    }

    fn dup(&mut self, n: u64, depth: u32) -> TypeSpec {
        TypeSpec::Dup(Box::new(self.node(n, depth - 1).spec))
    }

    fn contiguous(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        TypeSpec::contiguous(int(outer), inner.spec)
    }

    fn vector(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let (count, blocklength) = self.rng.factors(outer);
        let stride = i32::try_from(self.stride(count, signed(blocklength))).expect("strides are small");
        TypeSpec::Vector {
            count: int(count),
            blocklength: int(blocklength),
            stride,
            inner: Box::new(inner.spec),
        }
    }

    fn hvector(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let (count, blocklength) = self.rng.factors(outer);
        let width = round_up(signed(blocklength) * inner.extent, self.grain) / self.grain;
        let stride = self.stride(count, width) * self.grain;
        TypeSpec::Hvector {
            count: int(count),
            blocklength: int(blocklength),
            stride,
            inner: Box::new(inner.spec),
        }
    }

    /// Lengths of up to six blocks.
    fn lengths(&mut self, outer: u64) -> Vec<u64> {
        let parts = self.rng.below(6) + 1;
        self.rng.composition(outer, parts)
    }

    /// Blocks at displacements of `unit` bytes each, of elements `width` units wide; some blocks are empty.
    fn blocks(&mut self, outer: u64, inner: &Node, unit: i64, width: i64) -> Vec<Block> {
        let lengths = self.lengths(outer);
        let widths: Vec<i64> = lengths.iter().map(|&length| signed(length) * width).collect();
        let lowest = self.lowest(inner, unit);
        let starts = self.starts(&widths, lowest);
        let block = |(&length, displacement)| Block { length: int(length), displacement };
        let mut blocks: Vec<Block> = lengths.iter().zip(starts).map(block).collect();
        if self.rng.chance(15) && !self.careful() {
            let at = self.rng.index(blocks.len() + 1);
            blocks.insert(at, Block { length: 0, displacement: self.rng.range(-5, 20) });
        }
        blocks
    }

    fn indexed(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let unit = inner.extent.max(1);
        TypeSpec::Indexed { blocks: self.blocks(outer, &inner, unit, 1), inner: Box::new(inner.spec) }
    }

    fn hindexed(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let width = round_up(inner.extent, self.grain) / self.grain;
        let mut blocks = self.blocks(outer, &inner, self.grain, width);
        blocks.iter_mut().for_each(|block| block.displacement *= self.grain);
        TypeSpec::Hindexed { blocks, inner: Box::new(inner.spec) }
    }

    /// Equal blocks: their length, and displacements in units of `unit` bytes.
    fn equal_blocks(&mut self, outer: u64, inner: &Node, unit: i64, width: i64) -> (i32, Vec<i64>) {
        let (count, length) = self.rng.factors(outer);
        let widths = vec![signed(length) * width; usize::try_from(count).expect("few blocks")];
        let lowest = self.lowest(inner, unit);
        (int(length), self.starts(&widths, lowest))
    }

    fn indexed_block(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let unit = inner.extent.max(1);
        let (blocklength, starts) = self.equal_blocks(outer, &inner, unit, 1);
        let displacements =
            starts.iter().map(|&d| i32::try_from(d).expect("displacements are small")).collect();
        TypeSpec::IndexedBlock { blocklength, displacements, inner: Box::new(inner.spec) }
    }

    fn hindexed_block(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let width = round_up(inner.extent, self.grain) / self.grain;
        let (blocklength, starts) = self.equal_blocks(outer, &inner, self.grain, width);
        let displacements = starts.iter().map(|d| d * self.grain).collect();
        TypeSpec::HindexedBlock { blocklength, displacements, inner: Box::new(inner.spec) }
    }

    fn structure(&mut self, n: u64, depth: u32) -> TypeSpec {
        let parts = self.rng.below(4) + 1;
        let parts: Vec<(u64, Node)> =
            self.rng.composition(n, parts).into_iter().map(|part| self.inner(part, depth)).collect();
        // From the first byte of a part's data: parts may have been moved off 0.
        let width = |(length, inner): &(u64, Node)| {
            let span = signed(length - 1) * inner.extent + inner.true_ub - self.first(inner);
            round_up(span, self.grain) / self.grain
        };
        let widths: Vec<i64> = parts.iter().map(width).collect();
        let starts = self.starts(&widths, 0);
        let field = |((length, inner), start): ((u64, Node), i64)| Field {
            length: int(length),
            displacement: start * self.grain - self.first(&inner),
            inner: inner.spec,
        };
        let mut fields: Vec<Field> = parts.into_iter().zip(starts).map(field).collect();
        if self.rng.chance(15) && !self.careful() {
            let at = self.rng.index(fields.len() + 1);
            let displacement = self.rng.range(-5, 20);
            let inner = TypeSpec::Named(*self.rng.pick(&Named::ALL));
            fields.insert(at, Field { length: 0, displacement, inner });
        }
        TypeSpec::Struct { fields }
    }

    /// A type whose copies make an array: bounds around the data, from 0.
    fn cell(&mut self, n: u64, depth: u32) -> TypeSpec {
        let node = self.node(n, depth);
        if node.lb == 0 && node.true_lb >= 0 && node.extent >= node.true_ub {
            return node.spec;
        }
        let back = (node.true_lb - self.leaf_lb).min(0);
        if back == 0 {
            return TypeSpec::resized(0, round_up(node.true_ub, self.grain), node.spec);
        }
        let moved = TypeSpec::HindexedBlock {
            blocklength: 1,
            displacements: vec![-back],
            inner: Box::new(node.spec),
        };
        TypeSpec::resized(0, round_up(node.true_ub - back, self.grain), moved)
    }

    fn order(&mut self) -> Order {
        *self.rng.pick(&[Order::C, Order::Fortran])
    }

    fn subarray(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.rng.factors(n);
        let inner = Box::new(self.cell(inner, depth - 1));
        let [sizes, subsizes, starts] = arrays::subarray(self.rng, outer);
        TypeSpec::Subarray { sizes, subsizes, starts, order: self.order(), inner }
    }

    fn darray(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.rng.factors(n);
        let inner = Box::new(self.cell(inner, depth - 1));
        let (size, rank, dimensions) = arrays::darray(self.rng, outer);
        TypeSpec::Darray { size, rank, dimensions, order: self.order(), inner }
    }

    fn resized(&mut self, n: u64, depth: u32) -> TypeSpec {
        let node = self.node(n, depth - 1);
        let first = node.true_lb - self.leaf_lb;
        let lb = match self.rng.below(4) {
            0 => 0,
            _ if self.careful() => 0,
            1 => first,
            2 => first - self.gap() * self.grain,
            _ => first + self.rng.range(-4, 4) * self.grain,
        };
        let span = round_up(node.true_ub - first, self.grain);
        let extent = match self.place {
            Place::Memory { overlap: true } if self.rng.chance(30) => {
                self.rng.range(0, span / self.grain) * self.grain
            }
            _ => span + self.gap() * self.grain,
        };
        TypeSpec::resized(lb, extent, node.spec)
    }

    /// The columns of a matrix one after the other: a transposition in memory.
    fn columns(&mut self, n: u64, depth: u32) -> TypeSpec {
        let (outer, inner) = self.inner(n, depth);
        let (rows, columns) = self.rng.factors(outer);
        let stride = inner.extent;
        let column = TypeSpec::Vector {
            count: int(rows),
            blocklength: 1,
            stride: int(columns),
            inner: Box::new(inner.spec),
        };
        let column = settle(column, self.limits.padding);
        TypeSpec::Hvector { count: int(columns), blocklength: 1, stride, inner: Box::new(column) }
    }
}

/// The next multiple of `unit` from `value` on.
fn round_up(value: i64, unit: i64) -> i64 {
    (value + unit - 1).div_euclid(unit) * unit
}
