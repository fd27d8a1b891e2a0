//! What a file domain costs inside one node, by the rank that serves it.

use crate::units::{HopBytes, Hops};

/// The hop-bytes that bring a domain's data from this node's ranks to one of them.
///
/// `rows` has the bytes of each local rank in each domain; `distance` is that of two local ranks, at most one
/// hop and zero for a rank to itself.
pub fn served(
    rows: &[Vec<u64>],
    distance: &dyn Fn(usize, usize) -> Hops,
    domain: usize,
    rank: usize,
) -> HopBytes {
    rows.iter().enumerate().map(|(from, row)| row[domain] * distance(from, rank)).sum()
}

/// For each domain, the hop-bytes of [`served`] by the best of the `allowed` local ranks: this node's entries
/// in [`NodeRow::inside`](super::NodeRow::inside). Zero when no rank is allowed: such a node serves no
/// domain.
///
/// It is a lower bound for a node that serves several domains, whose best rank may be one and the same. A
/// value past 64 bits, 2^60 bytes on one node, counts as the largest there is.
pub fn inside(rows: &[Vec<u64>], distance: &dyn Fn(usize, usize) -> Hops, allowed: &[usize]) -> Vec<u64> {
    let domains = rows.first().map_or(0, Vec::len);
    // A node of many ranks asks for many domains: every distance is looked up once.
    let ways: Vec<Vec<Hops>> =
        allowed.iter().map(|&to| (0..rows.len()).map(|from| distance(from, to)).collect()).collect();
    let best = |domain| {
        let held: Vec<(usize, u64)> = rows
            .iter()
            .map(|row: &Vec<u64>| row[domain])
            .enumerate()
            .filter(|&(_, bytes)| bytes > 0)
            .collect();
        let cost = |ways: &Vec<Hops>| held.iter().map(|&(from, bytes)| bytes * ways[from]).sum::<HopBytes>();
        let least = ways.iter().map(cost).min().unwrap_or_default();
        u64::try_from(least.0).unwrap_or(u64::MAX)
    };
    (0..domains).map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on a line, 4 sixteenths of a hop from one to the next.
    fn line(a: usize, b: usize) -> Hops {
        Hops(4 * u32::try_from(a.abs_diff(b)).unwrap())
    }

    #[test]
    fn the_best_allowed_rank_counts() {
        let rows = [vec![10, 0, 1], vec![0, 0, 1], vec![5, 7, 1]];
        for (allowed, expected) in [
            // Domain 0 is best at rank 0 (5 bytes over 8), domain 1 at rank 2, domain 2 in the middle.
            (vec![0, 1, 2], vec![40, 0, 8]),
            (vec![1], vec![60, 28, 8]),
            (vec![2], vec![80, 0, 12]),
            (vec![], vec![0, 0, 0]),
        ] {
            assert_eq!(inside(&rows, &line, &allowed), expected, "{allowed:?}");
        }
        for domain in 0..3 {
            let least = (0..3).map(|rank| served(&rows, &line, domain, rank)).min().unwrap();
            assert_eq!(HopBytes(u128::from(inside(&rows, &line, &[0, 1, 2])[domain])), least);
        }
        assert_eq!(served(&rows, &line, 0, 1), HopBytes(60));
        assert!(inside(&[], &line, &[]).is_empty());
    }

    #[test]
    fn no_value_overflows() {
        let rows = [vec![u64::MAX], vec![u64::MAX]];
        assert_eq!(served(&rows, &line, 0, 0), HopBytes(4 * u128::from(u64::MAX)));
        assert_eq!(inside(&rows, &line, &[0, 1]), [u64::MAX]);
    }
}
