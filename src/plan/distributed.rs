//! Parts of a distributed array: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI-4.1, sections 5.1.3, 5.1.4).

use super::layout::{Bounds, Layout, LayoutError};
use super::node::{ListBuilder, Placed};

/// In which order an array's dimensions are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last dimension varies fastest.
    C,
    /// The first dimension varies fastest.
    Fortran,
}

/// How one dimension of an array is dealt to a dimension of the process grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Not distributed: the grid has one process here.
    None,
    /// One block a process; `None` is the default block, the size divided by the processes, rounded up.
    Block(Option<u64>),
    /// Blocks of this many indices, dealt in turn; `None` is 1.
    Cyclic(Option<u64>),
}

/// The indices of one dimension that a process holds: `whole` blocks of `block` from `first` on, `period` apart, and
/// then one of `rest`.
struct Share {
    first: u64,
    block: u64,
    period: u64,
    whole: u64,
    rest: u64,
}

impl Layout {
    /// A box out of an array of `sizes` elements: `subsizes` from `starts` on in each dimension. The extent is that of
    /// the whole array. Panics when the slices differ in length.
    pub fn subarray(
        sizes: &[u64],
        subsizes: &[u64],
        starts: &[u64],
        order: Order,
        element: &Layout,
    ) -> Result<Layout, LayoutError> {
        assert!(sizes.len() == subsizes.len() && sizes.len() == starts.len(), "one entry a dimension");
        let shares: Vec<Share> = (subsizes.iter().zip(starts))
            .map(|(&block, &first)| Share { first, block, period: 0, whole: u64::from(block > 0), rest: 0 })
            .collect();
        of_shares(sizes, &shares, order, element)
    }

    /// The part of an array of `sizes` elements that process `rank` of a grid of `grid` processes holds. Grid ranks are
    /// in row-major order whatever the array's order. Panics when the slices differ in length or `rank` is not in the
    /// grid.
    pub fn darray(
        rank: u64,
        sizes: &[u64],
        distributions: &[Distribution],
        grid: &[u64],
        order: Order,
        element: &Layout,
    ) -> Result<Layout, LayoutError> {
        assert!(sizes.len() == distributions.len() && sizes.len() == grid.len(), "one entry a dimension");
        assert!(rank < grid.iter().product(), "rank {rank} is in the process grid");
        let mut coordinates = vec![0; grid.len()];
        let mut rest = rank;
        for (coordinate, &processes) in coordinates.iter_mut().zip(grid).rev() {
            *coordinate = rest % processes;
            rest /= processes;
        }
        let shares: Vec<Share> = (0..sizes.len())
            .map(|d| share(sizes[d], distributions[d], grid[d], coordinates[d]))
            .collect::<Option<_>>()
            .ok_or(LayoutError)?;
        of_shares(sizes, &shares, order, element)
    }
}

/// What process `coordinate` of `processes` holds of `size` indices; `None` where a number leaves 64 bits.
fn share(size: u64, distribution: Distribution, processes: u64, coordinate: u64) -> Option<Share> {
    let block = match distribution {
        Distribution::None => size,
        Distribution::Block(None) => size.div_ceil(processes),
        Distribution::Block(Some(block)) | Distribution::Cyclic(Some(block)) => block,
        Distribution::Cyclic(None) => 1,
    };
    let first = block.checked_mul(coordinate)?;
    let period = block.checked_mul(processes)?;
    if first >= size || block == 0 {
        return Some(Share { first: 0, block, period, whole: 0, rest: 0 });
    }
    let mine = size - first;
    let whole = mine / period + u64::from(mine % period >= block);
    let rest = if mine % period >= block { 0 } else { mine % period };
    Some(Share { first, block, period, whole, rest })
}

/// Nests the dimensions' shares, the fastest one innermost.
fn of_shares(sizes: &[u64], shares: &[Share], order: Order, element: &Layout) -> Result<Layout, LayoutError> {
    let mut dimensions: Vec<usize> = (0..sizes.len()).collect();
    if order == Order::C {
        dimensions.reverse();
    }
    let mut body = element.body.clone();
    let mut stride = element.extent();
    for d in dimensions {
        if let Some(inner) = body {
            body = shares[d].apply(inner, stride).ok_or(LayoutError)?;
        }
        stride = i64::try_from(sizes[d]).ok().and_then(|size| stride.checked_mul(size)).ok_or(LayoutError)?;
    }
    Ok(Layout { body, bounds: Some(Bounds { lower: 0, upper: stride }) })
}

impl Share {
    /// `inner` at every index of the share, indices `stride` bytes apart. `None` outside on overflow, inside when empty.
    fn apply(&self, inner: Placed, stride: i64) -> Option<Option<Placed>> {
        let distance = |indices: u64| i64::try_from(indices).ok()?.checked_mul(stride);
        let mut list = ListBuilder::default();
        if self.whole > 0 {
            let block = inner.clone().every(self.block, stride)?;
            list.push(block.every(self.whole, distance(self.period)?)?.shifted(distance(self.first)?)?);
        }
        if self.rest > 0 {
            let at = self.period.checked_mul(self.whole)?.checked_add(self.first)?;
            list.push(inner.every(self.rest, stride)?.shifted(distance(at)?)?);
        }
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(layout: &Layout) -> Vec<i64> {
        let mut found = Vec::new();
        if let Some(body) = &layout.body {
            body.node.visit(body.at, 0, 0, body.node.bytes, &mut |at, _, bytes| {
                found.extend(at..at + bytes.cast_signed());
            });
        }
        found
    }

    #[test]
    fn subarray_in_both_orders() {
        let byte = Layout::bytes(1).unwrap();
        let c = Layout::subarray(&[3, 4], &[2, 2], &[1, 1], Order::C, &byte).unwrap();
        assert_eq!((indices(&c), c.extent()), (vec![5, 6, 9, 10], 12));
        let f = Layout::subarray(&[3, 4], &[2, 2], &[1, 1], Order::Fortran, &byte).unwrap();
        assert_eq!((indices(&f), f.extent()), (vec![4, 5, 7, 8], 12));
        assert_eq!(
            Layout::subarray(&[1 << 20, 1 << 20], &[1 << 10, 1 << 10], &[5, 7], Order::C, &byte)
                .unwrap()
                .entries(),
            2
        );
    }

    /// Every index of every small array belongs to just the process that MPI's rule names.
    #[test]
    fn darray_matches_the_rule_index_by_index() {
        let byte = Layout::bytes(1).unwrap();
        for size in 1..12u64 {
            for processes in 1..5u64 {
                for block in 1..5u64 {
                    for rank in 0..processes {
                        let cyclic = [Distribution::Cyclic(Some(block))];
                        let mine = Layout::darray(rank, &[size], &cyclic, &[processes], Order::C, &byte);
                        let expected: Vec<i64> = (0..size)
                            .filter(|i| i / block % processes == rank)
                            .map(u64::cast_signed)
                            .collect();
                        assert_eq!(indices(&mine.unwrap()), expected, "{size} {processes} {block} {rank}");
                    }
                }
            }
        }
    }
}
