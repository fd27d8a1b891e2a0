//! The queue of events.

use crate::sharing::{JobTable, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// A rank issues its next request.
    Issue { rank: usize },
    /// A server has finished the request that it worked on.
    Finish { server: usize },
    /// A server that was told to wait looks again.
    Look { server: usize },
    /// All servers send each other their tables.
    Exchange,
    /// A table arrives at a server.
    Deliver { server: usize, table: Rc<JobTable> },
}

/// Events by time; those of one time in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Events {
    order: BinaryHeap<Reverse<(Nanos, u64)>>,
    events: BTreeMap<u64, Event>,
    sequence: u64,
}

impl Events {
    pub fn add(&mut self, at: Nanos, event: Event) {
        self.order.push(Reverse((at, self.sequence)));
        self.events.insert(self.sequence, event);
        self.sequence += 1;
    }

    pub fn next(&mut self) -> Option<(Nanos, Event)> {
        let Reverse((at, sequence)) = self.order.pop()?;
        Some((at, self.events.remove(&sequence).expect("every number in the order has its event")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_sequence() {
        let mut events = Events::default();
        for (at, rank) in [(5, 0), (3, 1), (5, 2), (0, 3), (3, 4)] {
            events.add(at, Event::Issue { rank });
        }
        let order: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        let expected = [(0, 3), (3, 1), (3, 4), (5, 0), (5, 2)];
        assert_eq!(order, expected.map(|(at, rank)| (at, Event::Issue { rank })));
    }
}
