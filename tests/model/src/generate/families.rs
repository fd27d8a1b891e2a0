//! The views of a case, family by family, and where in the file they start.

use super::arrays::{self, int};
use super::builder::{Builder, Place};
use super::etypes::Etypes;
use super::portable::settle;
use crate::case::Family;
use crate::limits::Limits;
use crate::rng::Rng;
use crate::spec::{Block, Dimension, Field, Order, TypeSpec};
use crate::typemap::signed;
use crate::view::View;
use std::collections::BTreeSet;

/// The views of a case, and what the choice of accesses needs to know of them. All `disp` are relative until
/// [`place`](super::place::place) moves them.
pub(super) struct Views {
    /// By rank.
    pub(super) ranks: Vec<View>,
    /// By rank: bytes of data in an etype.
    pub(super) etype_sizes: Vec<u64>,
    /// By rank: etypes in a tile; 0 for a rank that has nothing.
    pub(super) tile_etypes: Vec<u64>,
    /// Etypes in a tile that is neither small nor large; at least 1.
    pub(super) tile_mean: u64,
    /// Whether the tiles of all ranks belong together.
    pub(super) aligned: bool,
    /// Whether all ranks have one view.
    pub(super) same: bool,
}

/// What the families draw from.
struct Drawer<'a> {
    rng: &'a mut Rng,
    limits: &'a Limits,
    etypes: &'a Etypes,
    /// Etypes that a rank's access should have, more or less.
    target: u64,
    /// The ranks that have nothing, whatever their view.
    idle: BTreeSet<usize>,
}

/// The views of a family; `share` is the data in bytes that one access should have.
pub(super) fn views(rng: &mut Rng, limits: &Limits, family: Family, etypes: &Etypes, share: u64) -> Views {
    let target = (share / etypes.ranks[0].size()).max(1);
    let mut drawer = Drawer { rng, limits, etypes, target, idle: BTreeSet::new() };
    let ranks = match family {
        Family::Independent => drawer.independent(),
        Family::Dealt => drawer.dealt(),
        Family::Array => drawer.array(),
        Family::Strided => drawer.strided(),
        Family::Blocks => drawer.blocks(),
        Family::Same => drawer.same(),
    };
    let etype_sizes: Vec<u64> = ranks.iter().map(|view| view.etype.size()).collect();
    let tile = |(rank, view): (usize, &View)| match drawer.idle.contains(&rank) {
        true => 0,
        false => view.filetype.size() / etype_sizes[rank],
    };
    let tile_etypes: Vec<u64> = ranks.iter().enumerate().map(tile).collect();
    let tile_mean = (tile_etypes.iter().sum::<u64>() / ranks.len() as u64).max(1);
    let aligned = !matches!(family, Family::Independent | Family::Blocks);
    Views { ranks, etype_sizes, tile_etypes, tile_mean, aligned, same: family == Family::Same }
}

impl Drawer<'_> {
    fn ranks(&self) -> usize {
        self.etypes.ranks.len()
    }

    fn view(&self, rank: usize, disp: i64, filetype: TypeSpec) -> View {
        let disp = u64::try_from(disp).expect("a view starts at or after byte 0");
        View { disp, etype: self.etypes.ranks[rank].clone(), filetype }
    }

    /// The view of a rank that has nothing.
    fn nothing(&mut self, rank: usize) -> View {
        self.idle.insert(rank);
        let etype = &self.etypes.ranks[rank];
        let empty = self.limits.empty;
        let filetype = if empty {
            Builder::new(self.rng, self.limits, Place::File, etype).empty()
        } else {
            etype.clone()
        };
        self.view(rank, 0, filetype)
    }

    /// A random nested filetype.
    fn nested(&mut self, rank: usize) -> TypeSpec {
        let etype = &self.etypes.ranks[rank];
        if self.limits.tiles && self.rng.chance(4) {
            // Each tile has a block in its own first half and one in the second half of a later tile.
            let width = self.rng.int(1, 3);
            let later = self.rng.int(1, 4);
            let displacements = vec![0, width * (1 + 2 * later)];
            let inner = Box::new(etype.clone());
            let blocks = TypeSpec::IndexedBlock { blocklength: width, displacements, inner };
            return TypeSpec::resized(0, 2 * i64::from(width) * self.etypes.unit, blocks);
        }
        let elements = self.rng.below((4 * self.target).clamp(1, 48)) + 1;
        let depth = self.rng.below(5) as u32;
        let span = 512 + 16 * signed(elements) * self.etypes.unit;
        Builder::new(self.rng, self.limits, Place::File, etype).build(elements, depth, span)
    }

    fn independent(&mut self) -> Vec<View> {
        let far = (self.limits.large && self.rng.chance(10)).then(|| self.rng.index(self.ranks()));
        let mut views = Vec::new();
        for rank in 0..self.ranks() {
            let mut filetype = self.nested(rank);
            if far == Some(rank) && filetype.true_extent() <= filetype.extent() {
                // A hole that 32 bits cannot count, after so many elements that few accesses reach a third tile.
                let hole = self.rng.range(1 << 30, 1 << 31) / self.etypes.unit * self.etypes.unit;
                let before = int((4 * self.target).min(2000)) + 1;
                let block = |length, displacement| Block { length, displacement };
                let blocks = vec![block(before, 0), block(1, hole)];
                filetype =
                    settle(TypeSpec::Hindexed { blocks, inner: Box::new(filetype) }, self.limits.padding);
            }
            views.push(self.view(rank, 0, filetype));
        }
        views
    }

    fn same(&mut self) -> Vec<View> {
        let filetype = self.nested(0);
        let view = self.view(0, 0, filetype);
        vec![view; self.ranks()]
    }

    /// Each rank one contiguous block: its view is a run of etypes.
    fn blocks(&mut self) -> Vec<View> {
        let count = self.rng.int(1, 9);
        let way = self.rng.below(3);
        let filetype = |etype: &TypeSpec| match way {
            0 => etype.clone(),
            1 => TypeSpec::Dup(Box::new(etype.clone())),
            _ => TypeSpec::contiguous(count, etype.clone()),
        };
        (0..self.ranks()).map(|rank| self.view(rank, 0, filetype(&self.etypes.ranks[rank]))).collect()
    }

    /// Ranks in turn, in any order.
    fn shuffled(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ranks()).collect();
        if self.rng.chance(40) {
            self.rng.shuffle(&mut order);
        }
        order
    }

    /// Blocks of equal length go round the ranks.
    fn strided(&mut self) -> Vec<View> {
        let ranks = int(self.ranks() as u64);
        let blocklength = self.rng.int(1, int(self.target.clamp(1, 64)));
        let count = self.rng.int(1, int((self.target / u64::from(blocklength.unsigned_abs())).clamp(1, 40)));
        let stride = blocklength * ranks + self.rng.int(0, 3) * self.rng.int(0, 1);
        let unit = self.etypes.unit;
        let way = self.rng.below(3);
        let order = self.shuffled();
        let mut views = Vec::new();
        for (rank, place) in order.into_iter().enumerate() {
            let inner = Box::new(self.etypes.ranks[rank].clone());
            let round = i64::from(stride) * unit;
            let filetype = match way {
                0 => {
                    let vector = TypeSpec::Vector { count, blocklength, stride, inner };
                    TypeSpec::resized(0, i64::from(count) * round, vector)
                }
                1 => {
                    let vector = TypeSpec::Hvector { count, blocklength, stride: round, inner };
                    TypeSpec::resized(0, i64::from(count) * round, vector)
                }
                _ => TypeSpec::resized(0, round, TypeSpec::contiguous(blocklength, *inner)),
            };
            views.push(self.view(rank, place as i64 * i64::from(blocklength) * unit, filetype));
        }
        views
    }

    /// The segments of a tile, dealt to the ranks; some perhaps to nobody, or to two.
    fn dealt(&mut self) -> Vec<View> {
        let ranks = self.ranks();
        let segments = self.rng.index(4 * ranks + 4) + 1;
        let longest = (2 * self.target * ranks as u64 / segments as u64).clamp(1, 256);
        let nobody = *self.rng.weighted(&[(50, 0), (40, 20), (10, 60)]);
        let twice = if self.limits.overlap { *self.rng.weighted(&[(85, 0), (15, 10)]) } else { 0 };
        let in_turn = self.rng.chance(30);
        let equal = self.rng.chance(25).then(|| self.rng.below(longest) + 1);
        let mut owned: Vec<Vec<(i64, u64)>> = vec![Vec::new(); ranks];
        let mut end = 0;
        for segment in 0..segments {
            let length = equal.unwrap_or_else(|| self.rng.below(longest) + 1);
            let owner = if in_turn { segment % ranks } else { self.rng.index(ranks) };
            if !self.rng.chance(nobody) {
                owned[owner].push((end, length));
            }
            let other = self.rng.index(ranks);
            if other != owner && self.rng.chance(twice) {
                owned[other].push((end, length));
            }
            end += signed(length);
        }
        let tile = end * self.etypes.unit;
        let mut views = Vec::new();
        for (rank, segments) in owned.iter().enumerate() {
            views.push(if segments.is_empty() {
                self.nothing(rank)
            } else {
                let filetype = TypeSpec::resized(0, tile, self.segments(rank, segments));
                self.view(rank, 0, filetype)
            });
        }
        views
    }

    /// A type of (start, length) segments, in etypes.
    fn segments(&mut self, rank: usize, segments: &[(i64, u64)]) -> TypeSpec {
        let etype = self.etypes.ranks[rank].clone();
        let unit = self.etypes.unit;
        let length = segments[0].1;
        let equal = segments.iter().all(|segment| segment.1 == length);
        let blocks = |unit| -> Vec<Block> {
            segments
                .iter()
                .map(|&(at, length)| Block { length: int(length), displacement: at * unit })
                .collect()
        };
        let inner = Box::new(etype.clone());
        let blocklength = int(length);
        let spec = match self.rng.below(5) {
            0 if equal => {
                let small = |&(at, _): &(i64, u64)| i32::try_from(at).expect("tiles are small");
                TypeSpec::IndexedBlock {
                    blocklength,
                    displacements: segments.iter().map(small).collect(),
                    inner,
                }
            }
            1 if equal => {
                let displacements = segments.iter().map(|&(at, _)| at * unit).collect();
                TypeSpec::HindexedBlock { blocklength, displacements, inner }
            }
            0 | 2 => TypeSpec::Indexed { blocks: blocks(1), inner },
            1 | 3 => TypeSpec::Hindexed { blocks: blocks(unit), inner },
            _ => {
                let field = |&(at, length): &(i64, u64)| {
                    // A segment as one type, or as so many etypes.
                    let (length, inner) = match self.rng.chance(50) {
                        true => (1, TypeSpec::contiguous(int(length), etype.clone())),
                        false => (int(length), etype.clone()),
                    };
                    Field { length, displacement: at * unit, inner }
                };
                TypeSpec::Struct { fields: segments.iter().map(field).collect() }
            }
        };
        settle(spec, self.limits.padding)
    }

    /// An array distributed over a grid of processes; ranks that the grid does not need have nothing.
    fn array(&mut self) -> Vec<View> {
        let ranks = self.ranks();
        let used = if self.rng.chance(70) { ranks } else { self.rng.index(ranks) + 1 };
        let parts = self.rng.index(4) + 1;
        let grid: Vec<i32> = arrays::product(self.rng, used as u64, parts).into_iter().map(int).collect();
        // A side of the local arrays: about the root of the target, so that their volume is about the target.
        let volume = self.target.min(4096) as f64;
        let side = (volume.powf(1.0 / parts as f64) as i32).max(1);
        let sizes: Vec<i32> = grid
            .iter()
            .map(|&processes| processes * self.rng.int(1, side) + self.rng.int(0, processes.min(side) - 1))
            .collect();
        let order = *self.rng.pick(&[Order::C, Order::Fortran]);
        let pieces = if self.rng.chance(60) {
            self.subarrays(&grid, &sizes, order)
        } else {
            self.darrays(&grid, &sizes, order)
        };
        let cell = if self.rng.chance(75) { 1 } else { self.rng.int(2, 4) };
        let places = self.shuffled();
        let mut views = Vec::new();
        for (rank, place) in places.into_iter().enumerate() {
            let etype = self.etypes.ranks[rank].clone();
            let element = if cell == 1 { etype } else { TypeSpec::contiguous(cell, etype) };
            let filetype = pieces.get(place).map(|piece| piece(element));
            views.push(match filetype.filter(|spec| self.limits.empty || spec.size() > 0) {
                Some(filetype) => self.view(rank, 0, filetype),
                None => self.nothing(rank),
            });
        }
        views
    }

    /// Every process's part of an array cut along each dimension, as a subarray.
    fn subarrays(&mut self, grid: &[i32], sizes: &[i32], order: Order) -> Vec<Piece> {
        let cuts: Vec<Vec<u64>> = grid
            .iter()
            .zip(sizes)
            .map(|(&processes, &size)| self.rng.composition(as_u64(size), as_u64(processes)))
            .collect();
        let processes: i32 = grid.iter().product();
        (0..processes)
            .map(|process| {
                let (mut subsizes, mut starts) = (Vec::new(), Vec::new());
                for (place, cuts) in places(process, grid).into_iter().zip(&cuts) {
                    subsizes.push(int(cuts[place]));
                    starts.push(int(cuts[..place].iter().sum()));
                }
                let sizes = sizes.to_vec();
                let piece = move |inner| {
                    let (sizes, subsizes, starts) = (sizes.clone(), subsizes.clone(), starts.clone());
                    TypeSpec::Subarray { sizes, subsizes, starts, order, inner: Box::new(inner) }
                };
                Box::new(piece) as Piece
            })
            .collect()
    }

    /// Every process's part of a distributed array.
    fn darrays(&mut self, grid: &[i32], sizes: &[i32], order: Order) -> Vec<Piece> {
        let dimensions: Vec<Dimension> = grid
            .iter()
            .zip(sizes)
            .map(|(&processes, &size)| arrays::dealt(self.rng, size, processes))
            .collect();
        let size: i32 = grid.iter().product();
        (0..size)
            .map(|rank| {
                let dimensions = dimensions.clone();
                let piece = move |inner| {
                    let dimensions = dimensions.clone();
                    TypeSpec::Darray { size, rank, dimensions, order, inner: Box::new(inner) }
                };
                Box::new(piece) as Piece
            })
            .collect()
    }
}

/// A process's part of an array, for a type of element.
type Piece = Box<dyn Fn(TypeSpec) -> TypeSpec>;

/// The place of a process in a grid numbered in C order.
fn places(process: i32, grid: &[i32]) -> Vec<usize> {
    let mut rest = process as usize;
    let mut places = vec![0; grid.len()];
    for (place, &processes) in places.iter_mut().zip(grid).rev() {
        *place = rest % processes as usize;
        rest /= processes as usize;
    }
    places
}

fn as_u64(count: i32) -> u64 {
    u64::try_from(count).expect("counts are not negative")
}
