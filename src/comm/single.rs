//! A group of one: what a serial program has, and MPI_COMM_SELF.

use super::{Communicator, Reduce, Segment};
use crate::units::Rank;

/// The communicator of a single rank. Every collective returns what went in.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleComm;

impl Communicator for SingleComm {
    fn rank(&self) -> Rank {
        Rank(0)
    }

    fn size(&self) -> u32 {
        1
    }

    fn barrier(&self) {}

    fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        vec![mine.to_vec()]
    }

    fn gather(&self, root: Rank, mine: &[u8]) -> Vec<Vec<u8>> {
        assert_only_rank(root);
        vec![mine.to_vec()]
    }

    fn broadcast(&self, root: Rank, _bytes: &mut Vec<u8>) {
        assert_only_rank(root);
    }

    fn all_reduce(&self, _op: Reduce, _values: &mut [u64]) {}

    fn all_to_all(&self, values: &[u64]) -> Vec<u64> {
        assert_eq!(values.len(), 1, "all_to_all takes one value a rank");
        values.to_vec()
    }

    /// Panics when what the rank sends itself is not what it receives from itself.
    fn exchange(&self, sends: &[(Rank, &[u8])], receives: &mut [(Rank, &mut [u8])]) {
        let mut sent = sends.iter().filter(|(_, bytes)| !bytes.is_empty());
        for (from, into) in receives.iter_mut().filter(|(_, into)| !into.is_empty()) {
            assert_only_rank(*from);
            let &(to, bytes) = sent.next().expect("a receive from oneself has its send in the same exchange");
            assert_only_rank(to);
            assert_eq!(bytes.len(), into.len(), "both sides of a message know its size");
            into.copy_from_slice(bytes);
        }
        assert!(sent.next().is_none(), "a send to oneself has its receive in the same exchange");
    }

    fn split(&self, _color: u32) -> Self {
        SingleComm
    }

    fn share(&self, bytes: usize) -> Option<Vec<Segment>> {
        Some(vec![Segment::heap(bytes)])
    }
}

fn assert_only_rank(rank: Rank) {
    assert_eq!(rank, Rank(0), "a group of one has only rank 0");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_return_what_went_in() {
        let comm = SingleComm.split(9);
        assert_eq!((comm.rank(), comm.size()), (Rank(0), 1));
        comm.barrier();
        assert_eq!(comm.all_gather(b"abc"), [b"abc"]);
        assert_eq!(comm.gather(Rank(0), b""), [b""]);
        let mut bytes = b"xy".to_vec();
        comm.broadcast(Rank(0), &mut bytes);
        assert_eq!(bytes, b"xy");
        let mut values = [3, u64::MAX];
        comm.all_reduce(Reduce::Sum, &mut values);
        assert_eq!(values, [3, u64::MAX]);
        assert_eq!(comm.all_to_all(&[5]), [5]);
        assert_eq!(comm.share(7).expect("heap")[0].len(), 7);
    }

    #[test]
    fn messages_to_oneself_arrive_in_order() {
        let (mut first, mut second) = ([0; 1], [0; 3]);
        SingleComm.exchange(
            &[(Rank(0), b"a"), (Rank(0), b""), (Rank(0), b"bcd")],
            &mut [(Rank(0), &mut first), (Rank(0), &mut second), (Rank(0), &mut [])],
        );
        assert_eq!((&first, &second), (b"a", b"bcd"));
    }

    #[test]
    #[should_panic(expected = "has its receive")]
    fn a_message_that_nobody_receives_is_a_mistake() {
        SingleComm.exchange(&[(Rank(0), b"a")], &mut []);
    }
}
