//! Who reads or writes which bytes: the access patterns that commands study.
//!
//! `cube:N` and `btio:N` are the two benchmarks of TATP (section 5.2, figure 8): an array of N x N x N doubles in row-major
//! order, whose coordinates are `[z, y, x]`. A part of the array belongs to a rank; ranks may be given the parts in
//! another order.

use crate::failure::Failure;
use crate::output;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use tatpio::plan::{Access, Layout, LayoutError, Order, View};
use tatpio::units::{Bytes, Offset};

/// How a pattern is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternName {
    /// Blocks.
    Cube(u64),
    /// Block-tridiagonal.
    Btio(u64),
    /// A list in a file.
    File(String),
}

const DOUBLE_BYTES: u64 = 8;

/// An array of so many doubles along an edge has fewer than 2^63 bytes.
const EDGE_MAX: u64 = 1 << 20;

impl FromStr for PatternName {
    type Err = String;

    fn from_str(text: &str) -> Result<PatternName, String> {
        let expected = || {
            format!(
                "expected cube:N or btio:N, N the doubles along an edge (1 to {EDGE_MAX}), or file:PATH, found \"{text}\""
            )
        };
        let (kind, rest) = text.split_once(':').ok_or_else(expected)?;
        let edge = || rest.parse().ok().filter(|edge| (1..=EDGE_MAX).contains(edge)).ok_or_else(expected);
        match kind {
            "cube" => Ok(PatternName::Cube(edge()?)),
            "btio" => Ok(PatternName::Btio(edge()?)),
            "file" if !rest.is_empty() => Ok(PatternName::File(rest.to_string())),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for PatternName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternName::Cube(edge) => write!(f, "cube:{edge}"),
            PatternName::Btio(edge) => write!(f, "btio:{edge}"),
            PatternName::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// A pattern that can be asked.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Blocks of a cube of this edge.
    Cube(u64),
    /// Cells of a cube of this edge.
    Btio(u64),
    /// By rank: ranges in file order.
    Ranges(Vec<Vec<Range<Offset>>>),
}

impl Pattern {
    /// Reads the file, if it is one. Also: what to warn of when ranks write.
    pub fn load(name: &PatternName) -> Result<(Pattern, Option<String>), Failure> {
        match name {
            PatternName::Cube(edge) => Ok((Pattern::Cube(*edge), None)),
            PatternName::Btio(edge) => Ok((Pattern::Btio(*edge), None)),
            PatternName::File(path) => {
                of_text(path, &output::read("access pattern", path)?).map_err(Failure::failed)
            }
        }
    }

    /// How many ranks it speaks of, when it does.
    pub fn ranks(&self) -> Option<u32> {
        match self {
            Pattern::Ranges(parts) => u32::try_from(parts.len()).ok(),
            _ => None,
        }
    }

    /// What each of `ranks` ranks reads or writes, by part.
    pub fn accesses(&self, ranks: u32) -> Result<Vec<Access>, Failure> {
        let layouts = (0..u64::from(ranks)).map(|part| self.layout(u64::from(ranks), part));
        let place = |layout: Layout| {
            let bytes = layout.size();
            Access::new(&View { displacement: 0, filetype: layout, etype_bytes: 1 }, 0, bytes)
                .map_err(Failure::failed)
        };
        self.fits(ranks)?;
        layouts
            .map(|layout| place(layout.map_err(|_| Failure::failed("the pattern reaches past offset 2^63"))?))
            .collect()
    }

    /// Whether so many ranks can have the pattern.
    pub fn fits(&self, ranks: u32) -> Result<(), Failure> {
        let root = ranks.isqrt();
        match self {
            Pattern::Btio(_) if root * root != ranks => Err(Failure::usage(format!(
                "btio needs a square number of ranks, not {ranks}: take {} or {}",
                root.max(1) * root.max(1),
                u64::from(root + 1) * u64::from(root + 1)
            ))),
            Pattern::Ranges(parts) if parts.len() > ranks as usize => Err(Failure::usage(format!(
                "the pattern's file names rank {}, and the job has {ranks} ranks: give it more with --ranks or --hosts",
                parts.len() - 1
            ))),
            _ => Ok(()),
        }
    }

    fn layout(&self, ranks: u64, part: u64) -> Result<Layout, LayoutError> {
        match self {
            Pattern::Cube(edge) => block(*edge, &cube(*edge, cuts(ranks), part)),
            Pattern::Btio(edge) => {
                let cells: Result<Vec<_>, LayoutError> =
                    btio(*edge, ranks.isqrt(), part).map(|cell| Ok((1, 0, block(*edge, &cell)?))).collect();
                Layout::structure(&cells?)
            }
            Pattern::Ranges(parts) => {
                let ranges = usize::try_from(part).ok().and_then(|part| parts.get(part));
                let blocks: Result<Vec<(u64, i64)>, LayoutError> = (ranges.into_iter().flatten())
                    .map(|range| {
                        Ok((range.end - range.start, i64::try_from(range.start).map_err(|_| LayoutError)?))
                    })
                    .collect();
                Layout::hindexed(&blocks?, &Layout::bytes(1)?)
            }
        }
    }
}

/// A box of the array, `[z, y, x]`.
type Block = [Range<u64>; 3];

fn block(edge: u64, block: &Block) -> Result<Layout, LayoutError> {
    let counts = block.each_ref().map(|range| range.end - range.start);
    let starts = block.each_ref().map(|range| range.start);
    Layout::subarray(&[edge; 3], &counts, &starts, Order::C, &Layout::bytes(DOUBLE_BYTES)?)
}

/// The elements `0..n` dealt to `parts` neighbours as evenly as possible: the first `n % parts` get one more.
fn share(n: u64, parts: u64, part: u64) -> Range<u64> {
    let (least, more) = (n / parts, n % parts);
    let start = part * least + part.min(more);
    start..start + least + u64::from(part < more)
}

/// The block of a part when the array is cut `cuts[0]` x `cuts[1]` x `cuts[2]` times, parts in row-major order.
fn cube(edge: u64, cuts: [u64; 3], part: u64) -> Block {
    let at = [part / (cuts[1] * cuts[2]), part / cuts[2] % cuts[1], part % cuts[2]];
    [0, 1, 2].map(|axis| share(edge, cuts[axis], at[axis]))
}

/// The cells of a part, one in each of the q slices along z. In slice 0 part p holds row p / q, column p % q; from one
/// slice to the next it moves one row up and one column right, around the edges (figure 8b).
fn btio(edge: u64, q: u64, part: u64) -> impl Iterator<Item = Block> {
    (0..q).map(move |slice| {
        let (row, column) = ((part / q + q - slice) % q, (part % q + slice) % q);
        [share(edge, q, slice), share(edge, q, row), share(edge, q, column)]
    })
}

/// Three factors of a number, the largest first, as near to each other as can be: what `MPI_Dims_create` is asked for.
fn cuts(ranks: u64) -> [u64; 3] {
    let factors = |n: u64| (1..=n.isqrt()).filter(move |&factor| n.is_multiple_of(factor));
    let mut best = [ranks, 1, 1];
    for least in factors(ranks).take_while(|least| least * least * least <= ranks) {
        for middle in factors(ranks / least).filter(|&middle| middle >= least) {
            let found = [ranks / least / middle, middle, least];
            if (found.iter().sum::<u64>(), found[0]) < (best.iter().sum(), best[0]) {
                best = found;
            }
        }
    }
    best
}

/// One line of a pattern's file.
struct Line {
    number: usize,
    rank: usize,
    range: Range<Offset>,
}

/// A rank beyond is a typing error, or columns in another order.
const RANKS_MAX: usize = 1 << 20;

/// Lines `RANK OFFSET LENGTH`; `#` begins a comment.
fn of_text(path: &str, text: &str) -> Result<(Pattern, Option<String>), String> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        lines.push(parse_line(&words, index + 1).ok_or_else(|| {
            format!(
                "access pattern {path}, line {}: expected RANK OFFSET LENGTH in whole numbers (ranks below {RANKS_MAX}, \
                 ends below 2^63), found \"{}\"",
                index + 1,
                line.trim()
            )
        })?);
    }
    if lines.is_empty() {
        return Err(format!("access pattern {path}: expected lines RANK OFFSET LENGTH, found none"));
    }
    let mut parts = vec![Vec::new(); lines.iter().map(|line| line.rank + 1).max().unwrap_or(0)];
    lines.retain(|line| !line.range.is_empty());
    lines.sort_by_key(|line| (line.rank, line.range.start, line.number));
    if let Some(pair) =
        lines.windows(2).find(|pair| pair[0].rank == pair[1].rank && pair[0].range.end > pair[1].range.start)
    {
        let (a, b) = (pair[0].number.min(pair[1].number), pair[0].number.max(pair[1].number));
        let rank = pair[0].rank;
        return Err(format!(
            "access pattern {path}, lines {a} and {b}: rank {rank} asks for the same bytes twice; MPI \
                            does not allow that in a write, so take one of them out"
        ));
    }
    lines.iter().for_each(|line| parts[line.rank].push(line.range.clone()));
    Ok((Pattern::Ranges(parts), shared(path, &mut lines)))
}

fn parse_line(words: &[&str], number: usize) -> Option<Line> {
    let [rank, offset, length] = words else { return None };
    let rank = rank.parse().ok().filter(|&rank| rank < RANKS_MAX)?;
    let (start, length): (Offset, Bytes) = (offset.parse().ok()?, length.parse().ok()?);
    let end = start.checked_add(length).filter(|&end| i64::try_from(end).is_ok())?;
    Some(Line { number, rank, range: start..end })
}

/// A warning when two ranks ask for one byte.
fn shared(path: &str, lines: &mut [Line]) -> Option<String> {
    lines.sort_by_key(|line| (line.range.start, line.number));
    let mut furthest: Option<&Line> = None;
    for line in lines.iter() {
        if let Some(before) = furthest.filter(|before| before.range.end > line.range.start) {
            return Some(format!(
                "access pattern {path}, lines {} and {}: ranks {} and {} write the same bytes; which of them the file \
                 then holds is undefined",
                before.number.min(line.number),
                before.number.max(line.number),
                before.rank.min(line.rank),
                before.rank.max(line.rank),
            ));
        }
        furthest = Some(furthest.filter(|before| before.range.end >= line.range.end).unwrap_or(line));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print_back() {
        for text in ["cube:2000", "btio:1", "file:a/b:c"] {
            assert_eq!(text.parse::<PatternName>().unwrap().to_string(), text);
        }
        for text in ["cube", "cube:", "cube:0", "cube:-1", "btio:x", "file:", "ior:3", "cube:9999999"] {
            assert!(text.parse::<PatternName>().unwrap_err().contains("expected cube:N"), "{text}");
        }
    }

    #[test]
    fn cuts_are_near_each_other() {
        for (ranks, expected) in [
            (1, [1, 1, 1]),
            (2, [2, 1, 1]),
            (8, [2, 2, 2]),
            (12, [3, 2, 2]),
            (13, [13, 1, 1]),
            (16, [4, 2, 2]),
            (24, [4, 3, 2]),
            (27, [3, 3, 3]),
            (36, [4, 3, 3]),
            (100, [5, 5, 4]),
            (512, [8, 8, 8]),
            (100_000, [50, 50, 40]),
        ] {
            assert_eq!(cuts(ranks), expected, "{ranks}");
        }
    }

    /// Every byte of the array belongs to one rank.
    #[test]
    fn arrays_are_covered_once() {
        for (pattern, edge, ranks) in [
            (Pattern::Cube(5), 5, 12),
            (Pattern::Cube(4), 4, 8),
            (Pattern::Cube(2), 2, 27),
            (Pattern::Btio(7), 7, 9),
            (Pattern::Btio(2), 2, 16),
        ] {
            let mut holders = vec![0; edge * edge * edge * 8];
            for access in pattern.accesses(ranks).unwrap() {
                let all = tatpio::units::ByteRange::new(0, u64::MAX);
                access.visit(all, |offset, _, bytes| {
                    (offset..offset + bytes).for_each(|byte| holders[byte as usize] += 1);
                });
            }
            assert!(holders.iter().all(|&count| count == 1), "{pattern:?} on {ranks}");
        }
    }

    #[test]
    fn btio_is_figure_8b() {
        // Of nine processes, process 6 holds row 2, column 0 of slice 0; row 1, column 1 of slice 1.
        let starts: Vec<_> = btio(9, 3, 6).map(|cell| cell.map(|range| range.start)).collect();
        assert_eq!(starts, [[0, 6, 0], [3, 3, 3], [6, 0, 6]]);
    }

    #[test]
    fn files() {
        let check = |text: &str, expected: &str| {
            let found = match of_text("p", text) {
                Ok((Pattern::Ranges(parts), warning)) => format!("{parts:?} {}", warning.unwrap_or_default()),
                Ok(other) => panic!("{other:?}"),
                Err(error) => error,
            };
            assert!(found.contains(expected), "{text:?}: {found}");
        };
        check("# none\n0 0 4\n\n1 4 4 # tail\n0 8 4\n", "[[0..4, 8..12], [4..8]] ");
        check("0 0 4\n2 4 0", "[[0..4], [], []] ");
        check("0 4 4\n0 0 5\n", "lines 1 and 2: rank 0 asks for the same bytes twice");
        check("0 0 9\n1 9 1\n2 10 3\n3 12 1", "lines 3 and 4: ranks 2 and 3 write the same bytes");
        check("0 0 100\n1 10 1\n2 50 1\n", "lines 1 and 2: ranks 0 and 1");
        check("0 0\n", "line 1: expected RANK OFFSET LENGTH");
        check("0 0 4\n-1 0 4\n", "line 2: expected RANK");
        check("0 9223372036854775807 1\n", "line 1: expected RANK");
        check("", "found none");
    }
}
