//! What a case must do, worked out byte by byte.

use crate::case::{Access, Case, POISON, data_byte};
use crate::sparse::{PAGE, SparseFile, Writer};
use crate::view::Tiling;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Files up to this size are compared whole; of larger ones, the pages that hold something, the pages around them,
/// and the ends.
const WHOLE_MAX: u64 = 16 << 20;

/// Bytes compared at a time.
const CHUNK: u64 = 1 << 20;

/// Runs a case naively: the file and the ranks' file pointers after each operation.
#[derive(Clone, Debug)]
pub struct Model<'c> {
    case: &'c Case,
    tilings: Vec<Tiling>,
    file: SparseFile,
    /// Bytes that several ranks wrote in one operation, with the values that are right: any of the writers'.
    choices: BTreeMap<u64, Vec<u8>>,
    /// The individual file pointers, in etypes.
    positions: Vec<u64>,
    next: usize,
}

/// What one operation must do.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operation's index in the case.
    pub op: usize,
    /// What every rank must see, by rank.
    pub ranks: Vec<Expect>,
}

/// What one operation must do on one rank.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The operation's index in the case.
    pub op: usize,
    /// The rank.
    pub rank: usize,
    /// Where the access starts, in etypes: the offset argument, or the individual file pointer.
    pub offset: u64,
    /// The individual file pointer afterwards, in etypes: also after a short read, what was asked for counts.
    pub position: u64,
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes transferred, which the status must report: fewer than requested at the end of the file.
    pub transferred: u64,
    /// The rank's allocation afterwards.
    pub buffer: Vec<u8>,
    /// The place in the allocation and the byte of the file of every byte of the stream.
    pub stream: Vec<(usize, u64)>,
}

impl<'c> Model<'c> {
    /// Before the first operation.
    pub fn new(case: &'c Case) -> Model<'c> {
        let mut file = SparseFile::default();
        for (at, &value) in (case.initial_offset..).zip(&case.initial) {
            file.write(at, value, Writer::default());
        }
        Model {
            case,
            tilings: case.ranks.iter().map(|rank| Tiling::new(&rank.view)).collect(),
            file,
            choices: BTreeMap::new(),
            positions: vec![0; case.ranks.len()],
            next: 0,
        }
    }

    /// The next operation; `None` after the last.
    ///
    /// Panics on a read of bytes that several ranks wrote in one operation, unless [`Model::check_file`] was called
    /// since: which of the values is there is for the real file to say.
    pub fn step(&mut self) -> Option<Step> {
        let op = self.case.ops.get(self.next)?;
        let index = self.next;
        self.next += 1;
        let mut ranks = Vec::with_capacity(op.ranks.len());
        for (rank, access) in op.ranks.iter().enumerate() {
            let mut expect = self.locate(index, rank, access);
            if op.kind.is_write() {
                self.write(&expect);
            } else {
                self.read(&mut expect);
            }
            ranks.push(expect);
        }
        Some(Step { op: index, ranks })
    }

    /// Where an access goes, in memory and in the file; moves the file pointer when it is used.
    fn locate(&mut self, op: usize, rank: usize, access: &Access) -> Expect {
        let tiling = &self.tilings[rank];
        let is_at = self.case.ops[op].kind.is_at();
        let offset = if is_at { access.offset } else { self.positions[rank] };
        let memory = access.memory_bytes();
        let requested = memory.len() as u64;
        let file = if requested == 0 { Vec::new() } else { tiling.file_bytes(offset, requested) };
        if !is_at {
            self.positions[rank] += requested / tiling.etype_size();
        }
        Expect {
            op,
            rank,
            offset,
            position: self.positions[rank],
            requested,
            transferred: requested,
            buffer: self.case.buffer(op, rank),
            stream: memory.into_iter().zip(file).collect(),
        }
    }

    fn write(&mut self, expect: &Expect) {
        for &(place, at) in &expect.stream {
            let value = expect.buffer[place];
            let (before, writer) = self.file.write(at, value, Writer::new(expect.op, expect.rank));
            if writer.get().is_some_and(|(op, _)| op == expect.op) {
                self.choices.entry(at).or_insert_with(|| vec![before]).push(value);
            } else {
                self.choices.remove(&at);
            }
        }
    }

    /// Delivers the bytes of the stream up to the first one past the end of the file.
    fn read(&self, expect: &mut Expect) {
        let end =
            expect.stream.iter().position(|&(_, at)| at >= self.file.size).unwrap_or(expect.stream.len());
        expect.transferred = end as u64;
        for &(place, at) in &expect.stream[..end] {
            assert!(
                !self.choices.contains_key(&at),
                "check_file must settle byte {at}, which several ranks wrote"
            );
            expect.buffer[place] = self.file.read(at);
        }
    }

    /// The file's size now.
    pub fn file_size(&self) -> u64 {
        self.file.size
    }

    /// Whether [`Model::check_file`] compares every byte now: not when the file is sparse and larger than 16 MiB.
    pub fn checks_every_byte(&self) -> bool {
        self.file.size <= WHOLE_MAX
    }

    /// Compares the real file: its size, and its bytes through `read(at, bytes)`, which must fill `bytes` and is never
    /// asked for bytes past the end. Where several ranks wrote one byte, takes over what is really there, so that later
    /// reads have one answer.
    ///
    /// # Errors
    ///
    /// Says which byte is wrong, who wrote it last, and how many are.
    pub fn check_file(&mut self, size: u64, mut read: impl FnMut(u64, &mut [u8])) -> Result<(), String> {
        if size != self.file.size {
            return Err(format!(
                "the file has {size} bytes, not {}; {}",
                self.file.size,
                self.case.replay_line()
            ));
        }
        let mut wrong = Vec::new();
        for range in self.compared() {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            read(range.start, &mut bytes);
            for (at, &actual) in range.zip(&bytes) {
                self.check_byte(at, actual, &mut wrong);
            }
        }
        self.choices.clear();
        if wrong.is_empty() { Ok(()) } else { Err(self.describe(&wrong)) }
    }

    /// Forgets that bytes which several ranks wrote could hold another value than the last rank's: for tests that have
    /// no real file to ask.
    pub fn settle(&mut self) {
        self.choices.clear();
    }

    fn check_byte(&mut self, at: u64, actual: u8, wrong: &mut Vec<(u64, u8, Vec<u8>)>) {
        let expected = self.file.read(at);
        if actual == expected {
            return;
        }
        match self.choices.get(&at) {
            Some(values) if values.contains(&actual) => self.file.adopt(at, actual),
            Some(values) => wrong.push((at, actual, values.clone())),
            None => wrong.push((at, actual, vec![expected])),
        }
    }

    /// The ranges of the file that are compared, in file order.
    fn compared(&self) -> Vec<Range<u64>> {
        let pages = self.file.size.div_ceil(PAGE);
        let chosen: BTreeSet<u64> = if self.checks_every_byte() {
            (0..pages).collect()
        } else {
            let around = |&page: &u64| page.saturating_sub(1)..page + 2;
            let ends = [0, pages - 1];
            self.file.pages.keys().flat_map(around).chain(ends).filter(|&page| page < pages).collect()
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for page in chosen {
            let range = page * PAGE..((page + 1) * PAGE).min(self.file.size);
            match ranges.last_mut() {
                Some(last) if last.end == range.start && last.end - last.start < CHUNK => {
                    last.end = range.end
                }
                _ => ranges.push(range),
            }
        }
        ranges
    }

    fn describe(&self, wrong: &[(u64, u8, Vec<u8>)]) -> String {
        let (at, actual, expected) = &wrong[0];
        let writer = match self.file.writer(*at) {
            Some((op, rank)) => format!("written last by rank {rank} in operation {op}"),
            None => String::from("not written by any operation"),
        };
        let number = wrong.len();
        let last = wrong[number - 1].0;
        format!(
            "file byte {at} is {actual:#04x}, not {expected:02x?}, {writer}; {number} bytes up to {last} are wrong; {}",
            self.case.replay_line()
        )
    }
}

impl Expect {
    /// Compares what the operation left in the rank's allocation, and the bytes that its status reports. Bytes of the
    /// buffer that a short read could not deliver may hold anything: the standard does not say.
    ///
    /// # Errors
    ///
    /// Says which byte is wrong, and which byte of the file it should hold.
    pub fn check(&self, case: &Case, actual: &[u8], status_bytes: u64) -> Result<(), String> {
        self.check_but(case, actual, status_bytes, &self.undelivered())
    }

    /// As [`Expect::check`], and bytes that a short read could not deliver are unchanged.
    ///
    /// # Errors
    ///
    /// As [`Expect::check`].
    pub fn check_strictly(&self, case: &Case, actual: &[u8], status_bytes: u64) -> Result<(), String> {
        self.check_but(case, actual, status_bytes, &BTreeSet::new())
    }

    /// The places in the allocation that the operation asked for and could not get.
    pub fn undelivered(&self) -> BTreeSet<usize> {
        self.stream[self.transferred as usize..].iter().map(|&(place, _)| place).collect()
    }

    fn check_but(
        &self,
        case: &Case,
        actual: &[u8],
        status: u64,
        but: &BTreeSet<usize>,
    ) -> Result<(), String> {
        let who = format!("rank {} in operation {} ({:?})", self.rank, self.op, case.ops[self.op].kind);
        if status != self.transferred {
            return Err(format!(
                "{who}: the status says {status} bytes, not {} of {}; {}",
                self.transferred,
                self.requested,
                case.replay_line()
            ));
        }
        assert_eq!(actual.len(), self.buffer.len(), "the harness must pass the rank's whole allocation");
        let wrong: Vec<usize> =
            (0..actual.len()).filter(|i| actual[*i] != self.buffer[*i] && !but.contains(i)).collect();
        let Some(&first) = wrong.first() else { return Ok(()) };
        let source = match self.stream.iter().enumerate().find(|(_, (place, _))| *place == first) {
            Some((byte, (_, at))) => format!("byte {byte} of the stream, byte {at} of the file"),
            None => format!("outside the memory type, {POISON:#04x} before"),
        };
        Err(format!(
            "{who}: byte {first} of its allocation is {:#04x}, not {:#04x} ({source}); {} bytes up to {} are wrong; {}",
            actual[first],
            self.buffer[first],
            wrong.len(),
            wrong[wrong.len() - 1],
            case.replay_line()
        ))
    }

    /// Does the operation as this rank, on a file in memory: an independent write, or a copy of what the model read.
    /// For tests of harnesses: it shows what an implementation without faults does.
    pub fn perform(&self, case: &Case, file: &mut Vec<u8>, buffer: &mut [u8]) {
        if !case.ops[self.op].kind.is_write() {
            buffer.copy_from_slice(&self.buffer);
            return;
        }
        for &(place, at) in &self.stream {
            let at = usize::try_from(at).expect("the file fits memory");
            if file.len() <= at {
                file.resize(at + 1, 0);
            }
            file[at] = buffer[place];
        }
    }
}

/// The content of a file of `len` bytes from `offset` on, before a case.
pub(crate) fn initial_bytes(seed: u64, len: u64) -> Vec<u8> {
    (0..len).map(|place| data_byte(seed, u64::MAX, 0, place)).collect()
}
