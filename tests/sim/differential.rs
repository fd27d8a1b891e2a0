//! Random programs: every byte of the file and of the buffers must be what the model says.

use crate::types::layout;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tatpio::backend::{Backend, MemoryFile};
use tatpio::collective::{CollectiveFile, FileSetup, Request};
use tatpio::comm::{Communicator, SimComm, SimSetup, simulate};
use tatpio::error::Error;
use tatpio::hints::Hints;
use tatpio::memory::Memory;
use tatpio::plan::{Access, View};
use tatpio::stats::{CallStats, Path, Plan};
use tatpio::units::{ByteRange, Rank};
use tatpio_model::{Case, Limits, Model, OpKind, from_env, generate, simplify};

/// How many cases a run checks, unless `TATPIO_CASES` says otherwise.
const CASES: u64 = 10_000;

/// The assignments of stripes.
const STRIPED: [&str; 2] = ["stripes", "automatic"];

/// What the cases of a run went through, so that a generator which stops reaching a part of the engine is noticed.
#[derive(Default)]
struct Reached {
    direct: AtomicU64,
    two_phase: AtomicU64,
    several_domains: AtomicU64,
    several_nodes: AtomicU64,
    several_rounds: AtomicU64,
    holes: AtomicU64,
    kept: AtomicU64,
    same_matrix: AtomicU64,
    stripes: AtomicU64,
}

impl Reached {
    fn note(&self, stats: &CallStats) {
        let two_phase = stats.path == Path::TwoPhase;
        let reached = [
            (&self.direct, stats.path == Path::Direct),
            (&self.two_phase, two_phase),
            (&self.several_domains, stats.domains > 1),
            (&self.several_nodes, two_phase && stats.nodes > 1),
            (&self.several_rounds, stats.rounds > 2),
            (&self.holes, two_phase && stats.holes > 0),
            (&self.kept, stats.plan == Some(Plan::Kept)),
            (&self.same_matrix, stats.plan == Some(Plan::SameMatrix)),
            (&self.stripes, two_phase && stats.nodes > 1 && STRIPED.contains(&stats.assign.as_str())),
        ];
        for (counter, _) in reached.into_iter().filter(|(_, reached)| *reached) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Each part at least once in so many cases.
    fn demand(&self, cases: u64) {
        let parts = [
            ("direct", &self.direct, 10),
            ("two-phase", &self.two_phase, 5),
            ("several domains", &self.several_domains, 10),
            ("several nodes", &self.several_nodes, 20),
            ("several rounds", &self.several_rounds, 20),
            ("holes", &self.holes, 20),
            ("kept plans", &self.kept, 20),
            ("kept assignments", &self.same_matrix, 200),
            ("stripes", &self.stripes, 20),
        ];
        for (name, counter, one_in) in parts {
            let count = counter.load(Ordering::Relaxed);
            println!("{name}: {count} calls");
            assert!(count >= cases / one_in, "{name} was reached by {count} calls in {cases} cases only");
        }
    }
}

#[test]
fn random_programs_do_what_the_model_says() {
    if let Some(case) = from_env().unwrap() {
        let reached = Reached::default();
        check(&case, &reached).unwrap_or_else(|failure| panic!("{case}\n{failure}"));
        return;
    }
    let cases =
        std::env::var("TATPIO_CASES").map_or(CASES, |text| text.parse().expect("TATPIO_CASES is a number"));
    let (next, failure, reached) = (AtomicU64::new(0), Mutex::new(None), Reached::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while failure.lock().unwrap().is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cases {
                        return;
                    }
                    let case = generate(seed, &limits(seed));
                    if let Err(text) = check(&case, &reached) {
                        failure.lock().unwrap().get_or_insert((case, text));
                    }
                }
            });
        }
    });
    if let Some((case, text)) = failure.into_inner().unwrap() {
        let small = simplify(&case, |candidate| check(candidate, &reached).is_err());
        let Err(again) = check(&small, &reached) else { panic!("fails now and then: {text}\n{case}") };
        let path = std::env::temp_dir().join(format!("tatpio-case-{}.json", small.seed));
        std::fs::write(&path, small.to_json()).expect("the simplified case can be kept");
        let variable = tatpio_model::REPLAY_VARIABLE;
        panic!("{text}\n\nsimplified:\n{small}\n{again}\nreplay it: {variable}='file={}'", path.display());
    }
    reached.demand(cases);
}

/// Mostly few ranks; every 50th case up to 64; every 7th with offsets up to 2^33.
fn limits(seed: u64) -> Limits {
    let ranks_max = if seed.is_multiple_of(50) { 64 } else { 12 };
    Limits { ranks_max, large: seed.is_multiple_of(7), bytes_max: 1 << 16, ..Limits::default() }
}

/// Runs a case; `Err` says what was wrong, with the line that replays it.
fn check(case: &Case, reached: &Reached) -> Result<(), String> {
    let file = MemoryFile::new();
    if !case.initial.is_empty() {
        file.write_at(case.initial_offset, &case.initial).expect("memory takes all writes");
    }
    let mut setup = SimSetup::new(u32::try_from(case.ranks.len()).expect("few ranks"));
    // Every fifth case runs on a system without shared memory.
    setup.share_fails_on = (case.seed % 5 == 4).then_some(Rank(0));
    let referee = Mutex::new(Referee { model: Model::new(case), done: Vec::new(), verdict: Ok(()) });
    simulate(&setup, |comm| run_rank(case, comm, &file, &referee, reached))
        .map_err(|text| format!("{text}; {}", case.replay_line()))?;
    referee.into_inner().unwrap().verdict
}

/// Compares what the ranks did with the model, operation by operation: where several ranks wrote a byte, the model
/// takes over which of them came last.
struct Referee<'c> {
    model: Model<'c>,
    /// This operation's buffers and transferred bytes, by rank.
    done: Vec<(Rank, Vec<u8>, u64)>,
    verdict: Result<(), String>,
}

impl Referee<'_> {
    fn judge(&mut self, case: &Case, file: &MemoryFile) {
        let step = self.model.step().expect("one step an operation");
        let done = std::mem::take(&mut self.done);
        for (rank, buffer, transferred) in done {
            let expect = &step.ranks[rank.index()];
            let verdict = expect.check(case, &buffer, transferred);
            self.verdict = std::mem::replace(&mut self.verdict, Ok(())).and(verdict);
        }
        let size = file.size().expect("memory has a size");
        let verdict = self.model.check_file(size, |at, bytes| {
            bytes.copy_from_slice(&file.contents(ByteRange::new(at, at + bytes.len() as u64)));
        });
        self.verdict = std::mem::replace(&mut self.verdict, Ok(())).and(verdict);
    }
}

fn run_rank(
    case: &Case,
    comm: SimComm,
    shared: &MemoryFile,
    referee: &Mutex<Referee<'_>>,
    reached: &Reached,
) {
    let rank = comm.rank();
    let control = comm.split(0);
    let mut setup = FileSetup::new("case", comm.size());
    setup.hints = hints(case);
    let mut file = CollectiveFile::open(comm, shared.handle(), setup);
    let view = &case.ranks[rank.index()].view;
    let etype_bytes = view.etype.size();
    let view = View { displacement: view.disp, filetype: layout(&view.filetype), etype_bytes };
    let mut position = 0;
    for (index, op) in case.ops.iter().enumerate() {
        let mine = &op.ranks[rank.index()];
        let mut buffer = case.buffer(index, rank.index());
        let offset = if op.kind.is_at() { mine.offset } else { position };
        let transferred = {
            let request = request(&view, offset, mine, &mut buffer);
            let result = match op.kind {
                OpKind::WriteAtAll | OpKind::WriteAll => file.write_all(request),
                OpKind::ReadAtAll | OpKind::ReadAll => file.read_all(request),
            };
            result.unwrap_or_else(|error| panic!("operation {index} failed: {error}"))
        };
        if !op.kind.is_at() {
            position += mine.bytes() / etype_bytes;
        }
        referee.lock().unwrap().done.push((rank, buffer, transferred));
        control.barrier();
        if rank == Rank(0) {
            referee.lock().unwrap().judge(case, shared);
            file.last_call().iter().for_each(|stats| reached.note(stats));
        }
        control.barrier();
    }
}

fn request<'a>(
    view: &View,
    offset: u64,
    mine: &tatpio_model::Access,
    buffer: &'a mut [u8],
) -> Result<Request<'a>, Error> {
    let count = u64::try_from(mine.count).expect("counts are not negative");
    let memory_layout = layout(&mine.memtype);
    let access = Access::new(view, offset * view.etype_bytes, count * memory_layout.size())?;
    // SAFETY: the model made the buffer large enough for the datatype at this base, and nobody else has it.
    let memory = unsafe { Memory::new(buffer.as_mut_ptr().add(mine.base), &memory_layout, count) }?;
    Ok(Request { access, memory })
}

fn hints(case: &Case) -> Hints {
    let mut hints = Hints::default();
    for (key, value) in &case.hints {
        hints.set(key, value).unwrap_or_else(|bad| panic!("{bad}"));
    }
    hints
}
