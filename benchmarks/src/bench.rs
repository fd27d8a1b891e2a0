//! The main path of `cube` and `btio`: warm up, then write and read repeatedly, and verify every double read.

use crate::mpi_io::{self, File, FileType, Info, Mode, MpiError};
use crate::options::Options;
use crate::partition::{self, Block};
use crate::probe::{self, Counts};
use crate::report::{Memory, Pass, Report, megabytes};
use crate::values::{self, Wrong};
use clap::{CommandFactory, FromArgMatches};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use nix::sys::resource::{UsageWho, getrusage};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The two access patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// One block a rank.
    Cube,
    /// sqrt(ranks) cells a rank, along a diagonal.
    Btio,
}

impl Program {
    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Program::Cube => "cube",
            Program::Btio => "btio",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Program::Cube => {
                "Writes and reads an N x N x N array of doubles, cut into one block a rank, by collective \
                 MPI-IO calls"
            }
            Program::Btio => {
                "Writes and reads an N x N x N array of doubles in the block-tridiagonal partition of BTIO \
                 (a square number of ranks), by collective MPI-IO calls"
            }
        }
    }

    /// The blocks of part `part` of `ranks`, and how the array is cut, for people.
    fn blocks(self, n: u64, dims: [u64; 3], ranks: u64, part: u64) -> Result<(Vec<Block>, String), Failure> {
        match self {
            Program::Cube => {
                let [z, y, x] = dims;
                Ok((vec![partition::cube(n, dims, part)], format!("in {z} x {y} x {x} blocks")))
            }
            Program::Btio => {
                let cells =
                    partition::btio(n, ranks, part).map_err(|error| Failure::Usage(error.to_string()))?;
                let text = format!("in {0} x {0} x {0} cells, {0} a rank", cells.len());
                Ok((cells, text))
            }
        }
    }
}

/// Why a run ended early.
enum Failure {
    /// The same on every rank: rank 0 says it, and all leave.
    Usage(String),
    /// On this rank only, as far as it knows: it takes the others down.
    Mpi(MpiError),
    /// The command of `--probe`, on rank 0: it takes the others down.
    Probe(String),
}

impl From<MpiError> for Failure {
    fn from(error: MpiError) -> Failure {
        Failure::Mpi(error)
    }
}

/// What `main` of both programs does: 0 if all went well, 1 if a double was wrong, 2 for a bad command line.
///
/// Collective over all ranks of the job. An MPI call that fails aborts the job with its text.
pub fn main(program: Program) -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        eprintln!("{}: MPI could not be initialized", program.name());
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let command = Options::command().name(program.name()).about(program.about());
    let parsed = command.try_get_matches().and_then(|matches| Options::from_arg_matches(&matches));
    let options = match parsed {
        Ok(options) => options,
        Err(error) => {
            if world.rank() == 0 {
                // A closed standard output is no reason to fail.
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run(program, &options, &world) {
        Ok(report) => {
            if world.rank() == 0 {
                print(&report, options.json);
            }
            if report.doubles_wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(Failure::Usage(text)) => {
            if world.rank() == 0 {
                eprintln!("{}: {text}", program.name());
            }
            ExitCode::from(2)
        }
        Err(Failure::Mpi(error)) => abort(program, &world, &error.to_string()),
        Err(Failure::Probe(text)) => abort(program, &world, &text),
    }
}

fn abort(program: Program, world: &SimpleCommunicator, text: &str) -> ! {
    eprintln!("{}: rank {}: {text}", program.name(), world.rank());
    world.abort(1)
}

fn print(report: &Report, json: bool) {
    if json {
        println!("{}", serde_json::to_string(report).expect("a report has nothing JSON lacks"));
    } else {
        println!("{report}");
    }
}

fn run(program: Program, options: &Options, world: &SimpleCommunicator) -> Result<Report, Failure> {
    let mut bench = Bench::new(program, options, world)?;
    bench.check_file()?;

    let baseline = peak_resident_bytes();
    let (mut write, mut read) = (Vec::new(), Vec::new());
    bench.warm_up()?;
    for _ in 0..options.repeat {
        if !options.read_only {
            write.push(bench.write_pass()?);
        }
        if !options.write_only {
            read.push(bench.read_pass()?);
        }
    }
    let hints_in_use = bench.hints_in_use()?;
    if !options.keep && !options.read_only {
        bench.delete()?;
    }

    let memory =
        Memory { baseline_bytes: gather(world, baseline), peak_bytes: gather(world, peak_resident_bytes()) };
    Ok(Report {
        program: program.name().to_owned(),
        mpi: library_name(),
        ranks: u32::try_from(world.size()).expect("a size is positive"),
        partition: bench.partition.clone(),
        size: options.size,
        steps: options.steps,
        scatter: options.scatter,
        bytes: bench.pass_bytes(),
        cold: options.cold,
        hints_in_use,
        write,
        read,
        memory,
        doubles_verified: sum(world, bench.verified),
        doubles_wrong: sum(world, bench.wrong),
    })
}

/// What every pass needs.
struct Bench<'a> {
    name: &'static str,
    options: &'a Options,
    world: &'a SimpleCommunicator,
    blocks: Vec<Block>,
    partition: String,
    filetype: FileType,
    info: Info,
    /// This rank's doubles of one array: written from, then poisoned and read into.
    buffer: Vec<f64>,
    verified: u64,
    wrong: u64,
}

impl<'a> Bench<'a> {
    fn new(program: Program, options: &'a Options, world: &'a SimpleCommunicator) -> Result<Self, Failure> {
        let n = options.size;
        let ranks = u64::try_from(world.size()).expect("a size is positive");
        let rank = usize::try_from(world.rank()).expect("a rank is not negative");
        let fits = n
            .pow(3)
            .checked_mul(8 * u64::from(options.steps))
            .is_some_and(|bytes| i64::try_from(bytes).is_ok());
        if !fits {
            return Err(Failure::Usage(format!(
                "{} arrays of edge {n} are larger than any file",
                options.steps
            )));
        }
        let dims = mpi_io::dims_create(world.size())?;
        let parts = match options.scatter {
            Some(seed) => partition::scatter(ranks, seed),
            None => (0..ranks).collect(),
        };
        let (blocks, partition) = program.blocks(n, dims, ranks, parts[rank])?;
        // Every rank looks at all parts, so that all of them refuse an array that one of them could not
        // transfer.
        for part in 0..ranks {
            let doubles: u64 = program.blocks(n, dims, ranks, part)?.0.iter().map(Block::volume).sum();
            if i32::try_from(doubles).is_err() {
                let text =
                    format!("{doubles} doubles on one rank do not fit MPI's 32-bit counts: use more ranks");
                return Err(Failure::Usage(text));
            }
        }
        let doubles: u64 = blocks.iter().map(Block::volume).sum();
        let mut buffer = vec![0.0; usize::try_from(doubles).expect("fits 31 bits")];
        values::fill(&blocks, n, 0, &mut buffer);
        connect(world);
        Ok(Bench {
            name: program.name(),
            options,
            world,
            filetype: FileType::new(n, &blocks)?,
            info: Info::new(&options.hints)?,
            blocks,
            partition,
            buffer,
            verified: 0,
            wrong: 0,
        })
    }

    fn array_doubles(&self) -> u64 {
        self.options.size.pow(3)
    }

    fn pass_bytes(&self) -> u64 {
        self.array_doubles() * 8 * u64::from(self.options.steps)
    }

    /// Refuses to destroy a file that was there before, and to read one that is not what an earlier run left.
    /// Collective.
    fn check_file(&self) -> Result<(), Failure> {
        let Options { file, overwrite, read_only, .. } = self.options;
        let found = Path::new(file).metadata().map(|metadata| metadata.len());
        let problem = match (read_only, found) {
            (true, Err(error)) => Some(format!("{file}: {error}")),
            (true, Ok(bytes)) if bytes != self.pass_bytes() => Some(format!(
                "{file} has {bytes} bytes, not {}: write it with the same --size and --steps, and --keep",
                self.pass_bytes()
            )),
            (false, Ok(_)) if !overwrite => {
                Some(format!("{file} exists: give --overwrite to replace it, or another --file"))
            }
            _ => None,
        };
        // What rank 0 sees counts: the others may look at the file before it has decided.
        let mut refused = [u8::from(problem.is_some())];
        self.world.process_at_rank(0).broadcast_into(&mut refused[..]);
        match (refused, problem) {
            ([0], _) => Ok(()),
            (_, Some(text)) => Err(Failure::Usage(text)),
            (_, None) => Err(Failure::Usage(format!("{file}: refused by rank 0"))),
        }
    }

    /// Writes and reads the whole file once, untimed: connections, code and (unless every pass starts cold)
    /// the file's pages are then in place. The read is through the handle that wrote. Collective.
    fn warm_up(&mut self) -> Result<(), Failure> {
        let Options { read_only, write_only, .. } = *self.options;
        if !read_only {
            self.delete()?;
        }
        let file = self.open(if read_only { Mode::Read } else { Mode::Write })?;
        if !read_only {
            self.write_steps(&file)?;
            file.rewind()?;
        }
        if !write_only {
            self.read_steps(&file)?;
        }
        file.close()?;
        self.verify_layout()?;
        Ok(())
    }

    /// Verifies the file in its own order, each rank a contiguous share of it, by independent reads without a
    /// view: a view that were understood wrongly, but alike in writing and in reading, would show here.
    /// Collective.
    fn verify_layout(&mut self) -> Result<(), MpiError> {
        const CHUNK: usize = 1 << 16;
        if self.options.no_verify {
            return Ok(());
        }
        let file = File::open(self.world, &self.options.file, Mode::Read, &self.info)?;
        file.set_view(&FileType::everything())?;
        let rank = u64::try_from(self.world.rank()).expect("a rank is not negative");
        let ranks = u64::try_from(self.world.size()).expect("a size is positive");
        let mut chunk = vec![0.0; CHUNK];
        let mut share = partition::share(self.pass_bytes() / 8, ranks, rank);
        let mut wrong = None;
        self.verified += share.end - share.start;
        while !share.is_empty() {
            let len = usize::try_from(share.end - share.start).map_or(CHUNK, |left| left.min(CHUNK));
            file.read_at(share.start, &mut chunk[..len])?;
            wrong = Wrong::sum(wrong, values::verify_run(share.start, &chunk[..len]));
            share.start += u64::try_from(len).expect("a length fits 64 bits");
        }
        self.record(wrong, "read in file order");
        file.close()
    }

    /// One timed pass that writes. Collective.
    fn write_pass(&mut self) -> Result<Pass, Failure> {
        if self.options.cold {
            self.delete()?;
        }
        let world = self.world;
        let (file, open_seconds) = timed(world, || self.open(Mode::Write))?;
        let (calls_seconds, counted) = self.probed(|bench| bench.write_steps(&file))?;
        let sync_seconds = if self.options.fsync { timed(world, || file.sync())?.1 } else { 0.0 };
        let ((), close_seconds) = timed(world, || file.close())?;
        Ok(self.pass([open_seconds, calls_seconds, sync_seconds, close_seconds], counted))
    }

    /// One timed pass that opens the file again, reads and verifies. Collective.
    fn read_pass(&mut self) -> Result<Pass, Failure> {
        let world = self.world;
        let (file, open_seconds) = timed(world, || self.open(Mode::Read))?;
        let (calls_seconds, counted) = self.probed(|bench| bench.read_steps(&file))?;
        let ((), close_seconds) = timed(world, || file.close())?;
        Ok(self.pass([open_seconds, calls_seconds, 0.0, close_seconds], counted))
    }

    /// Makes calls; what they return, and on rank 0 what the probe counted meanwhile. Collective.
    fn probed<T>(
        &mut self,
        calls: impl FnOnce(&mut Self) -> Result<T, MpiError>,
    ) -> Result<(T, Counts), Failure> {
        let before = self.probe()?;
        let value = calls(self)?;
        let after = self.probe()?;
        Ok((value, probe::growth(&before, &after)))
    }

    /// What the probe says now, while no rank communicates: on rank 0; empty on the others. Collective.
    fn probe(&self) -> Result<Counts, Failure> {
        let Some(command) = &self.options.probe else {
            return Ok(Counts::new());
        };
        self.world.barrier();
        let counts =
            if self.world.rank() == 0 { probe::run(command).map_err(Failure::Probe)? } else { Counts::new() };
        self.world.barrier();
        Ok(counts)
    }

    fn pass(
        &self,
        [open_seconds, calls_seconds, sync_seconds, close_seconds]: [f64; 4],
        counted: Counts,
    ) -> Pass {
        let mb_per_second = megabytes(self.pass_bytes()) / calls_seconds;
        Pass { open_seconds, calls_seconds, sync_seconds, close_seconds, mb_per_second, counted }
    }

    fn open(&self, mode: Mode) -> Result<File, MpiError> {
        let file = File::open(self.world, &self.options.file, mode, &self.info)?;
        file.set_view(&self.filetype)?;
        Ok(file)
    }

    /// Writes every array of the file; returns the seconds of the collective calls. Collective.
    fn write_steps(&mut self, file: &File) -> Result<f64, MpiError> {
        let mut seconds = 0.0;
        for step in 0..self.options.steps {
            let base = u64::from(step) * self.array_doubles();
            values::fill(&self.blocks, self.options.size, base, &mut self.buffer);
            seconds += timed(self.world, || file.write_all(&self.buffer))?.1;
        }
        Ok(seconds)
    }

    /// Reads and verifies every array of the file; returns the seconds of the collective calls. Collective.
    fn read_steps(&mut self, file: &File) -> Result<f64, MpiError> {
        let mut seconds = 0.0;
        for step in 0..self.options.steps {
            // No value is 0, so a double that the call did not fill is found.
            self.buffer.fill(0.0);
            seconds += timed(self.world, || file.read_all(&mut self.buffer))?.1;
            self.verify(step);
        }
        Ok(seconds)
    }

    /// Local.
    fn verify(&mut self, step: u32) {
        if self.options.no_verify {
            return;
        }
        let (n, array) = (self.options.size, self.array_doubles());
        self.verified += u64::try_from(self.buffer.len()).expect("a length fits 64 bits");
        let wrong = values::verify(&self.blocks, n, u64::from(step) * array, &self.buffer);
        self.record(wrong, "of the collective read");
    }

    /// Counts doubles that are wrong and says where the first is. Local.
    fn record(&mut self, wrong: Option<Wrong>, what: &str) {
        let Some(Wrong { count, index, expected, found }) = wrong else {
            return;
        };
        self.wrong += count;
        let (n, array) = (self.options.size, self.array_doubles());
        let (step, at) = (index / array, index % array);
        eprintln!(
            "{}: rank {}: {count} doubles {what} are wrong; the first, element [{}, {}, {}] of step {step}, \
             at byte {} of the file, is {found} and should be {expected}",
            self.name,
            self.world.rank(),
            at / (n * n),
            at / n % n,
            at % n,
            index * 8
        );
    }

    /// Collective. The file's hints are asked for in an open of their own, not to disturb what is timed.
    fn hints_in_use(&self) -> Result<std::collections::BTreeMap<String, String>, MpiError> {
        let file = self.open(Mode::Read)?;
        let hints = file.hints_in_use()?;
        file.close()?;
        Ok(hints)
    }

    /// Deletes the file if there is one. Collective.
    fn delete(&self) -> Result<(), MpiError> {
        self.world.barrier();
        if self.world.rank() == 0 && Path::new(&self.options.file).exists() {
            mpi_io::delete(&self.options.file)?;
        }
        self.world.barrier();
        Ok(())
    }
}

/// Exchanges a byte between all pairs, so that what MPI allocates for connections is there before memory is
/// measured.
fn connect(world: &SimpleCommunicator) {
    let send = vec![0_u8; usize::try_from(world.size()).expect("a size is positive")];
    let mut received = send.clone();
    world.all_to_all_into(&send[..], &mut received[..]);
}

/// Makes a collective call after a barrier: what it returns, and the longest time that it took on any rank,
/// in seconds.
fn timed<T>(
    world: &SimpleCommunicator,
    call: impl FnOnce() -> Result<T, MpiError>,
) -> Result<(T, f64), MpiError> {
    world.barrier();
    let start = Instant::now();
    let value = call()?;
    let mine = start.elapsed().as_secs_f64();
    let mut longest = 0.0;
    world.all_reduce_into(&mine, &mut longest, SystemOperation::max());
    Ok((value, longest))
}

fn sum(world: &SimpleCommunicator, mine: u64) -> u64 {
    let mut total = 0;
    world.all_reduce_into(&mine, &mut total, SystemOperation::sum());
    total
}

/// Every rank's value, on every rank.
fn gather(world: &SimpleCommunicator, mine: u64) -> Vec<u64> {
    let mut all = vec![0; usize::try_from(world.size()).expect("a size is positive")];
    world.all_gather_into(&mine, &mut all[..]);
    all
}

fn peak_resident_bytes() -> u64 {
    // getrusage(RUSAGE_SELF) cannot fail with valid arguments; Linux counts ru_maxrss in kibibytes.
    let kibibytes = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
    u64::try_from(kibibytes).unwrap_or(0) * 1024
}

/// The name and version of the MPI library, without the details of its build.
fn library_name() -> String {
    let text = mpi::environment::library_version().unwrap_or_default();
    let first = text.lines().next().unwrap_or_default().split(',').next().unwrap_or_default();
    first.replace("Version:", "").split_whitespace().collect::<Vec<_>>().join(" ")
}
