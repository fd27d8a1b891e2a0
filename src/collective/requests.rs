//! The second exchange of a call: aggregators learn what ranks of other nodes ask of their domains, in compact form.
//! Ranks of their own node reach the collective buffers themselves and say nothing.

use super::buffers::Seat;
use crate::comm::Communicator;
use crate::plan::{Access, Domains};
use crate::units::{DomainId, Rank};

/// What the ranks of other nodes ask of the domain that this rank serves, by rank. Collective.
pub(super) fn exchange<C: Communicator>(
    comm: &C,
    access: &Access,
    domains: &Domains,
    seats: &[Seat],
) -> Vec<(Rank, Access)> {
    let mut sizes = vec![0; Rank(comm.size()).index()];
    let mut outgoing = Vec::new();
    for (index, seat) in seats.iter().enumerate() {
        let Seat::Far(aggregator) = *seat else { continue };
        let domain = DomainId::from_index(index);
        if domains.bytes_of(access, domain) > 0 {
            let encoded = access.encode_for(domains.reach(domain));
            sizes[aggregator.index()] = encoded.len() as u64;
            outgoing.push((aggregator, encoded));
        }
    }
    let incoming: Vec<(Rank, Vec<u8>)> = (comm.all_to_all(&sizes).into_iter().enumerate())
        .filter(|&(_, size)| size > 0)
        .map(|(rank, size)| {
            let size = usize::try_from(size).expect("a description fits memory");
            (Rank::from_index(rank), vec![0; size])
        })
        .collect();
    let mut incoming = incoming;
    let sends: Vec<(Rank, &[u8])> = outgoing.iter().map(|(rank, bytes)| (*rank, bytes.as_slice())).collect();
    let mut receives: Vec<(Rank, &mut [u8])> =
        incoming.iter_mut().map(|(rank, bytes)| (*rank, bytes.as_mut_slice())).collect();
    comm.exchange(&sends, &mut receives);
    incoming.into_iter().map(|(rank, bytes)| (rank, Access::decode(&bytes))).collect()
}
