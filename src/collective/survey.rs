//! The first exchange of a call: what every rank asks for, and whether anybody cannot.

use super::Request;
use crate::backend::Backend;
use crate::comm::Communicator;
use crate::error::{Error, ErrorClass};
use crate::plan::{Access, Coverage};
use crate::units::{ByteRange, Bytes, Offset, Rank};
use serde::{Deserialize, Serialize};

/// What all ranks of a call know of each other.
#[derive(Debug)]
pub(super) struct Survey {
    /// From the first to the last byte that anybody asks for.
    pub range: ByteRange,
    /// Bytes asked for, over all ranks.
    pub bytes: Bytes,
    /// Whether the ranges of any two ranks overlap. Ranges, not pieces, as in ROMIO; but any two ranks, not neighbours
    /// in rank order only.
    pub interleaved: bool,
    /// The size of the file when the call began, as rank 0 saw it.
    pub file_bytes: Bytes,
    /// Whether every rank can read the file.
    pub readable: bool,
    /// Whether the ranks together ask for every byte of the range exactly once (but for an error of probability 2^-62):
    /// no window then has holes, and nobody need be asked about any.
    pub tiled: bool,
    /// Whether every rank asks for what it asked for in the last two-phase call.
    pub repeated: bool,
    /// The distance at which all requests repeat, if there is one.
    pub period: Option<Bytes>,
}

/// What one rank tells the others.
#[derive(Serialize, Deserialize)]
struct Card {
    range: ByteRange,
    bytes: Bytes,
    /// 0, or the class of a local error.
    error: u64,
    file_bytes: Bytes,
    readable: bool,
    tiling: [u64; Coverage::WORDS],
    repeated: bool,
    period: Option<Bytes>,
}

impl Survey {
    /// `before` is what this rank asked for in the last two-phase call; strides below `unit` bytes are nobody's period.
    /// Collective. Errors: the local error of the lowest rank that has one, of one class on every rank.
    pub fn take<C: Communicator, B: Backend>(
        comm: &C,
        backend: &B,
        request: &Result<Request<'_>, Error>,
        before: Option<&Access>,
        unit: Bytes,
    ) -> Result<Survey, Error> {
        let mine = card(comm.rank(), backend, request, before, unit);
        let mine = postcard::to_stdvec(&mine).expect("serialising to memory cannot fail");
        let card = |bytes: &Vec<u8>| postcard::from_bytes(bytes).expect("all ranks run the same tatpio");
        let cards: Vec<Card> = comm.all_gather(&mine).iter().map(card).collect();
        if let Some((index, failed)) = cards.iter().enumerate().find(|(_, card)| card.error != 0) {
            return Err(Error::Remote {
                rank: Rank::from_index(index),
                class: ErrorClass::from_code(failed.error),
            });
        }
        let range = cards.iter().fold(ByteRange::EMPTY, |hull, card| hull.hull(card.range));
        let tiling =
            cards.iter().fold(Coverage::default(), |sum, card| sum + Coverage::from_words(&card.tiling));
        Ok(Survey {
            range,
            bytes: cards.iter().map(|card| card.bytes).sum(),
            interleaved: interleaved(cards.iter().map(|card| card.range).collect()),
            file_bytes: cards[0].file_bytes,
            readable: cards.iter().all(|card| card.readable),
            tiled: tiling == Coverage::run(range.start, range.len()),
            repeated: cards.iter().all(|card| card.repeated),
            period: cards.iter().filter_map(|card| card.period).reduce(gcd).filter(|&period| period >= unit),
        })
    }
}

fn card<B: Backend>(
    rank: Rank,
    backend: &B,
    request: &Result<Request<'_>, Error>,
    before: Option<&Access>,
    unit: Bytes,
) -> Card {
    let nothing = Access::empty();
    let (access, mut error) = match request {
        Ok(request) => (&request.access, None),
        Err(error) => (&nothing, Some(error.class())),
    };
    let mut file_bytes: Offset = 0;
    if rank == Rank(0) {
        match backend.size() {
            Ok(size) => file_bytes = size,
            Err(failed) => error = error.or(Some(ErrorClass::of(&failed))),
        }
    }
    Card {
        range: access.hull(),
        bytes: access.bytes(),
        error: error.map_or(0, |class| class as u64),
        file_bytes,
        readable: backend.readable(),
        tiling: access.tiling().to_words(),
        repeated: before == Some(access),
        period: access.period(unit),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn interleaved(mut ranges: Vec<ByteRange>) -> bool {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    ranges.windows(2).any(|pair| pair[1].start < pair[0].end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_overlapping_ranges_interleave() {
        let check = |ranges: &[(u64, u64)], expected| {
            let ranges = ranges.iter().map(|&(start, end)| ByteRange::new(start, end)).collect();
            assert_eq!(interleaved(ranges), expected);
        };
        check(&[], false);
        check(&[(0, 10), (10, 20), (20, 20), (5, 5)], false);
        check(&[(10, 20), (0, 10)], false);
        check(&[(0, 10), (20, 30), (9, 11)], true);
        check(&[(0, 100), (40, 50), (200, 300)], true);
    }
}
