//! Rounds: which windows of a domain share the collective buffer, and which of them have holes. Planned before data
//! moves, equally on every rank.

use super::coverage::Coverage;
use super::domains::Domains;
use crate::units::{ByteRange, Bytes, DomainId, Offset};

/// A contiguous part of a file domain that is read or written in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The file bytes.
    pub range: ByteRange,
    /// Where they lie in the collective buffer.
    pub at: usize,
    /// Whether the ranks together fill all of it. Meaningless for a read.
    pub filled: bool,
}

impl Window {
    /// Where a file byte of the window lies in the collective buffer.
    pub fn place(&self, offset: Offset) -> usize {
        self.at + usize::try_from(offset - self.range.start).expect("windows fit memory")
    }
}

/// The windows of one domain that are in the collective buffer together.
pub type Round = Vec<Window>;

/// The windows that are planned together, and where each domain goes on afterwards.
#[derive(Debug)]
pub struct WindowPlan {
    /// By domain, then in file order.
    pub windows: Vec<(DomainId, ByteRange)>,
    /// Where each domain goes on; `None` when it is at its end.
    pub next: Vec<Option<Offset>>,
}

impl WindowPlan {
    /// The next windows of every domain from its cursor on, at most `windows_max` (at least 1) a domain. The limit
    /// bounds what an exchange about them costs, however large the accessed range is.
    pub fn new(
        domains: &Domains,
        cursors: &[Option<Offset>],
        buffer: Bytes,
        windows_max: usize,
    ) -> WindowPlan {
        let mut plan = WindowPlan { windows: Vec::new(), next: Vec::new() };
        for (domain, &cursor) in domains.ids().zip(cursors) {
            let mut following = cursor.map(|from| domains.windows(domain, from, buffer));
            let mut some = following.iter_mut().flatten();
            plan.windows.extend(some.by_ref().take(windows_max).map(|range| (domain, range)));
            plan.next.push(some.next().map(|range| range.start));
        }
        plan
    }
}

/// Groups windows into rounds of at most `buffer` bytes, by domain. `totals` holds what all ranks together put into
/// each window; one that nobody touches is left out.
pub fn plan_rounds(
    domain_count: u32,
    windows: &[(DomainId, ByteRange)],
    totals: &[Coverage],
    buffer: Bytes,
) -> Vec<Vec<Round>> {
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); DomainId(domain_count).index()];
    let mut used = vec![buffer; rounds.len()];
    for (&(domain, range), total) in windows.iter().zip(totals).filter(|(_, total)| total.bytes > 0) {
        let (mine, used) = (&mut rounds[domain.index()], &mut used[domain.index()]);
        if *used + range.len() > buffer {
            mine.push(Round::new());
            *used = 0;
        }
        let at = usize::try_from(*used).expect("the collective buffer is in memory");
        let filled = total.fills(range.len());
        mine.last_mut().expect("a round was opened").push(Window { range, at, filled });
        *used += range.len();
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Partition;

    #[test]
    fn rounds_fill_the_buffer_and_skip_what_nobody_touches() {
        let domains = Domains::new(ByteRange::new(0, 80), 2, 10, 0, Partition::Cyclic);
        let plan = WindowPlan::new(&domains, &[Some(0), Some(0)], 25, 100);
        assert_eq!((plan.windows.len(), plan.next), (8, vec![None, None]));
        let totals: Vec<Coverage> = (plan.windows.iter())
            .map(|(_, range)| if range.start == 20 { Coverage::default() } else { Coverage::run(0, 10) })
            .collect();
        let rounds = plan_rounds(2, &plan.windows, &totals, 25);
        let starts = |d: usize| -> Vec<Vec<(u64, usize)>> {
            rounds[d].iter().map(|round| round.iter().map(|w| (w.range.start, w.at)).collect()).collect()
        };
        assert_eq!(starts(0), [vec![(0, 0), (40, 10)], vec![(60, 0)]]);
        assert_eq!(starts(1), [vec![(10, 0), (30, 10)], vec![(50, 0), (70, 10)]]);
    }

    #[test]
    fn planning_goes_on_where_it_stopped() {
        let domains = Domains::new(ByteRange::new(3, 1000), 3, 7, 0, Partition::Even);
        let whole = WindowPlan::new(&domains, &[Some(0); 3], 50, usize::MAX);
        let (mut cursors, mut pieces) = (vec![Some(0); 3], Vec::new());
        while cursors.iter().any(Option::is_some) {
            let part = WindowPlan::new(&domains, &cursors, 50, 2);
            pieces.extend(part.windows);
            cursors = part.next;
        }
        pieces.sort_by_key(|&(domain, range)| (domain, range.start));
        assert_eq!(pieces, whole.windows);
    }
}
