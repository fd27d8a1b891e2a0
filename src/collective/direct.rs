//! A rank that reads or writes by itself: large runs straight between memory and file, small pieces through a buffer,
//! across holes where that pays (data sieving, Thakur et al. 1999). Local: nothing here communicates.

use crate::backend::Backend;
use crate::error::Error;
use crate::hints::Switch;
use crate::memory::Memory;
use crate::plan::Access;
use crate::units::{ByteRange, Bytes, Offset};

/// Runs of at least this many bytes, in file and memory, need no buffer.
const RUN_BYTES_MIN: u64 = 64 << 10;

/// What a system call costs, as bytes that could be copied instead: sieving pays when the pieces' calls cost more than
/// the whole range.
const CALL_COST_BYTES: u64 = 16 << 10;

/// How small pieces are handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    /// Whether holes may be read, and for a write written back.
    pub switch: Switch,
    /// The buffer's size.
    pub buffer_bytes: Bytes,
}

/// The pieces of a buffer's worth of file, and what to do with them.
struct Batch {
    /// From the first piece's start to the last piece's end.
    range: ByteRange,
    /// All of it is asked for.
    dense: bool,
    /// Read or written as a whole, holes included.
    sieved: bool,
}

impl Batch {
    fn new(access: &Access, window: ByteRange, sieve: Sieve) -> Batch {
        let (mut pieces, mut covered, mut end) = (0u64, 0, window.start);
        access.visit(window, |offset, _, bytes| {
            pieces += 1;
            covered += bytes;
            end = end.max(offset + bytes);
        });
        let range = ByteRange::new(window.start, end);
        let pays = pieces.saturating_mul(CALL_COST_BYTES) > range.len();
        let sieved = match sieve.switch {
            Switch::Enable => true,
            Switch::Disable => false,
            Switch::Automatic => pays,
        };
        Batch { range, dense: covered == range.len() && access.disjoint(), sieved }
    }
}

/// Writes the pieces of `access` that lie in `range`. Returns how many read-modify-writes that took.
pub(super) fn write<B: Backend>(
    backend: &B,
    access: &Access,
    range: ByteRange,
    memory: &Memory<'_>,
    sieve: Sieve,
) -> Result<usize, Error> {
    let mut buffer = Vec::new();
    let mut holes = 0;
    if !access.disjoint() {
        // MPI forbids it; piece by piece there is at least no byte touched that was not asked for.
        return write_pieces(backend, access, range, memory, &mut buffer).map(|()| 0);
    }
    let mut at = range.start;
    while let Some((offset, stream, bytes)) = access.piece_from(at).filter(|piece| piece.0 < range.end) {
        let run = memory.run(stream, bytes.min(range.end - offset));
        if run.len() as u64 >= RUN_BYTES_MIN {
            write_at(backend, offset, run)?;
            at = offset + run.len() as u64;
            continue;
        }
        let window = ByteRange::new(offset, range.end.min(offset.saturating_add(sieve.buffer_bytes)));
        let batch = Batch::new(access, window, sieve);
        if batch.dense {
            fill(&mut buffer, batch.range, access, memory);
            write_at(backend, batch.range.start, &buffer)?;
        } else if batch.sieved
            && backend.readable()
            && modify(backend, batch.range, &mut buffer, |buffer| {
                overlay(buffer, batch.range, access, memory)
            })?
        {
            holes += 1;
        } else {
            write_pieces(backend, access, batch.range, memory, &mut buffer)?;
        }
        at = window.end;
    }
    Ok(holes)
}

/// Reads the pieces of `access` that lie in `range`. Returns where the file was found to end, if it was.
pub(super) fn read<B: Backend>(
    backend: &B,
    access: &Access,
    range: ByteRange,
    memory: &mut Memory<'_>,
    sieve: Sieve,
) -> Result<Option<Offset>, Error> {
    let mut buffer = Vec::new();
    let straight = access.disjoint();
    let mut at = range.start;
    while let Some((offset, stream, bytes)) = access.piece_from(at).filter(|piece| piece.0 < range.end) {
        let limit = bytes.min(range.end - offset);
        let run_bytes = memory.run(stream, limit).len() as u64;
        let found = if straight && run_bytes >= RUN_BYTES_MIN {
            at = offset + run_bytes;
            read_at(backend, offset, memory.run_mut(stream, limit))?
        } else {
            let window = ByteRange::new(offset, range.end.min(offset.saturating_add(sieve.buffer_bytes)));
            let batch = Batch::new(access, window, sieve);
            at = window.end;
            if batch.dense || batch.sieved {
                read_range(backend, access, batch.range, memory, &mut buffer)?
            } else {
                read_pieces(backend, access, batch.range, memory, &mut buffer)?
            }
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Reads `range` into `buffer` under a lock, lets `change` work on it, and writes it back. What lies past the end of
/// the file reads as zeros. Says whether it was done: a file system without locks can only be written around.
fn modify<B: Backend>(
    backend: &B,
    range: ByteRange,
    buffer: &mut Vec<u8>,
    change: impl FnOnce(&mut [u8]),
) -> Result<bool, Error> {
    if backend.lock(range).is_err() {
        return Ok(false);
    }
    buffer.clear();
    buffer.resize(length(range), 0);
    let result = read_at(backend, range.start, buffer).and_then(|_| {
        change(buffer);
        write_at(backend, range.start, buffer)
    });
    backend.unlock(range);
    result.map(|()| true)
}

/// All of the bytes, or an error that says where.
pub(super) fn write_at<B: Backend>(backend: &B, offset: Offset, bytes: &[u8]) -> Result<(), Error> {
    let range = ByteRange::new(offset, offset + bytes.len() as u64);
    backend.write_at(offset, bytes).map_err(|source| Error::Write { range, source })
}

/// Fills the buffer; returns where the file ends if it ends before that.
pub(super) fn read_at<B: Backend>(
    backend: &B,
    offset: Offset,
    buffer: &mut [u8],
) -> Result<Option<Offset>, Error> {
    let range = ByteRange::new(offset, offset + buffer.len() as u64);
    let found = backend.read_at(offset, buffer).map_err(|source| Error::Read { range, source })?;
    Ok((found < buffer.len()).then(|| offset + found as u64))
}

/// The number of bytes of a range that was chosen to fit memory.
pub(super) fn length(range: ByteRange) -> usize {
    usize::try_from(range.len()).expect("a range that fits memory")
}

/// All of `range`, every byte of which is asked for, from memory into `buffer`.
fn fill(buffer: &mut Vec<u8>, range: ByteRange, access: &Access, memory: &Memory<'_>) {
    buffer.resize(length(range), 0);
    overlay(buffer, range, access, memory);
}

fn overlay(buffer: &mut [u8], range: ByteRange, access: &Access, memory: &Memory<'_>) {
    access.visit(range, |offset, stream, bytes| {
        memory.gather(stream, &mut buffer[inside(range, offset, bytes)]);
    });
}

fn write_pieces<B: Backend>(
    backend: &B,
    access: &Access,
    range: ByteRange,
    memory: &Memory<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut result = Ok(());
    access.visit(range, |offset, stream, bytes| {
        if result.is_err() {
            return;
        }
        let run = memory.run(stream, bytes);
        result = if run.len() as u64 == bytes {
            write_at(backend, offset, run)
        } else {
            buffer.resize(length(ByteRange::new(0, bytes)), 0);
            memory.gather(stream, buffer);
            write_at(backend, offset, buffer)
        };
    });
    result
}

fn read_range<B: Backend>(
    backend: &B,
    access: &Access,
    range: ByteRange,
    memory: &mut Memory<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Offset>, Error> {
    buffer.resize(length(range), 0);
    let end = read_at(backend, range.start, buffer)?;
    let valid = ByteRange::new(range.start, end.unwrap_or(range.end));
    access.visit(valid, |offset, stream, bytes| {
        memory.scatter(stream, &buffer[inside(range, offset, bytes)]);
    });
    Ok(end)
}

fn read_pieces<B: Backend>(
    backend: &B,
    access: &Access,
    range: ByteRange,
    memory: &mut Memory<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Offset>, Error> {
    let mut result = Ok(None);
    access.visit(range, |offset, stream, bytes| {
        if !matches!(result, Ok(None)) {
            return;
        }
        buffer.resize(length(ByteRange::new(0, bytes)), 0);
        result = read_at(backend, offset, buffer).inspect(|end| {
            let found = end.map_or(bytes, |end| end - offset);
            memory.scatter(stream, &buffer[inside(ByteRange::new(offset, offset + bytes), offset, found)]);
        });
    });
    result
}

/// Where `bytes` bytes from `offset` on lie in a buffer that holds `range`.
fn inside(range: ByteRange, offset: Offset, bytes: Bytes) -> std::ops::Range<usize> {
    let at = |position: Bytes| usize::try_from(position).expect("an offset inside a buffer");
    at(offset - range.start)..at(offset - range.start + bytes)
}
