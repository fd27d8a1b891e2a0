//! The first exchange of a call: what every rank asks for, and whether anybody cannot.

use super::Request;
use crate::backend::Backend;
use crate::comm::Communicator;
use crate::error::{Error, ErrorClass};
use crate::units::{ByteRange, Bytes, Offset, Rank};

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
}

/// What one rank tells the others.
struct Card {
    range: ByteRange,
    bytes: Bytes,
    /// 0, or the class of a local error.
    error: u64,
    file_bytes: Bytes,
    readable: u64,
}

impl Card {
    const WORDS: usize = 6;

    fn encode(&self) -> Vec<u8> {
        let words =
            [self.range.start, self.range.end, self.bytes, self.error, self.file_bytes, self.readable];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Card {
        let mut words = [0; Card::WORDS];
        for (word, raw) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(raw.try_into().expect("chunks of eight"));
        }
        let [start, end, bytes, error, file_bytes, readable] = words;
        Card { range: ByteRange::new(start, end), bytes, error, file_bytes, readable }
    }
}

impl Survey {
    /// Collective. Errors: the local error of the lowest rank that has one, of one class on every rank.
    pub fn take<C: Communicator, B: Backend>(
        comm: &C,
        backend: &B,
        request: &Result<Request<'_>, Error>,
    ) -> Result<Survey, Error> {
        let mine = card(comm.rank(), backend, request);
        let cards: Vec<Card> =
            comm.all_gather(&mine.encode()).iter().map(|bytes| Card::decode(bytes)).collect();
        if let Some((index, failed)) = cards.iter().enumerate().find(|(_, card)| card.error != 0) {
            return Err(Error::Remote {
                rank: Rank::from_index(index),
                class: ErrorClass::from_code(failed.error),
            });
        }
        Ok(Survey {
            range: cards.iter().fold(ByteRange::EMPTY, |hull, card| hull.hull(card.range)),
            bytes: cards.iter().map(|card| card.bytes).sum(),
            interleaved: interleaved(cards.iter().map(|card| card.range).collect()),
            file_bytes: cards[0].file_bytes,
            readable: cards.iter().all(|card| card.readable != 0),
        })
    }
}

fn card<B: Backend>(rank: Rank, backend: &B, request: &Result<Request<'_>, Error>) -> Card {
    let (access, mut error) = match request {
        Ok(request) => (Some(&request.access), None),
        Err(error) => (None, Some(error.class())),
    };
    let mut file_bytes: Offset = 0;
    if rank == Rank(0) {
        match backend.size() {
            Ok(size) => file_bytes = size,
            Err(failed) => error = error.or(Some(ErrorClass::of(&failed))),
        }
    }
    Card {
        range: access.map_or(ByteRange::EMPTY, |access| access.hull()),
        bytes: access.map_or(0, |access| access.bytes()),
        error: error.map_or(0, |class| class as u64),
        file_bytes,
        readable: u64::from(backend.readable()),
    }
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
