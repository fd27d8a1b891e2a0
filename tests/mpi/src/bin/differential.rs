//! Random cases through the MPI library with tatpio in front, compared with the model byte by byte.
//!
//! ```text
//! mpirun -n 4 -genv LD_PRELOAD .../libtatpio.so -genv TATPIO_HINTS tatpio=enable differential 0 300
//! ```
//!
//! Runs the cases of the seeds from the first number up to, and without, the second. `--limits TEXT` changes
//! what cases may hold (see tatpio_model::Limits), `--without` runs them on the MPI library alone, `--trace`
//! prints each case before it is run. A case that fails prints a line that replays it: the variable in it is
//! put before the command.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use tatpio_model::{Case, Expect, Limits, Model, OpKind, from_env, generate};
use tatpio_mpi_tests::mpi_io::{Comm, Data, Datatype, File, Form, Info, Mpi, MpiError, mode};
use tatpio_mpi_tests::{scratch, types};

/// After so many failing cases the rest would say nothing new.
const FAILURES_MAX: u32 = 5;

fn main() -> ExitCode {
    let _mpi = Mpi::init();
    let world = Comm::world();
    let options = match Options::parse(&world) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("differential: {error}");
            return ExitCode::FAILURE;
        }
    };
    let path = scratch::path(&world, "differential");
    let (mut done, mut failures) = (0, 0);
    for case in options.cases() {
        if options.trace && world.rank() == 0 {
            eprintln!("{case}");
        }
        let outcome = run(&world, &case, &path, !options.without);
        if let Err(text) = &outcome {
            eprintln!("rank {}: {text}", world.rank());
        }
        done += 1;
        failures += u32::from(!world.all_true(outcome.is_ok()));
        if failures == FAILURES_MAX {
            break;
        }
    }
    if world.rank() == 0 {
        let _ = fs::remove_file(&path);
        println!(
            "differential: {done} cases on {} ranks of {}, {failures} failed",
            world.size(),
            pmpi_sys::IMPLEMENTATION
        );
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Options {
    first: u64,
    last: u64,
    limits: Limits,
    without: bool,
    trace: bool,
    replay: Option<Case>,
}

impl Options {
    fn parse(world: &Comm) -> Result<Options, String> {
        let ranks = u32::try_from(world.size()).expect("ranks fit 32 bits");
        let limits = Limits::mpi(ranks);
        let replay = from_env()?;
        let mut options = Options { first: 0, last: 100, limits, without: false, trace: false, replay };
        let mut numbers = Vec::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--without" => options.without = true,
                "--trace" => options.trace = true,
                "--limits" => {
                    let text = arguments.next().ok_or("--limits takes a text")?;
                    options.limits = format!("{},{text}", options.limits).parse()?;
                }
                number => numbers.push(number.parse().map_err(|_| format!("{number:?} is not a seed"))?),
            }
        }
        if let [first, last] = numbers[..] {
            (options.first, options.last) = (first, last);
        }
        if options.replay.as_ref().is_some_and(|case| case.ranks.len() != world.size()) {
            return Err(format!("the case is for other than {ranks} ranks"));
        }
        Ok(options)
    }

    fn cases(&self) -> Box<dyn Iterator<Item = Case> + '_> {
        match &self.replay {
            Some(case) => Box::new([case.clone()].into_iter()),
            None => Box::new((self.first..self.last).map(|seed| generate(seed, &self.limits))),
        }
    }
}

/// Runs a case. Every rank goes on to the end whatever it finds, and returns all that it found. Collective.
fn run(world: &Comm, case: &Case, path: &str, with_tatpio: bool) -> Result<(), String> {
    let mut findings = String::new();
    let mut note = |text: String| {
        let _ = writeln!(findings, "{text}; {}", case.replay_line());
    };
    if world.rank() == 0 {
        prepare(case, path);
    }
    world.barrier();
    let info = Info::new(&case.hints);
    let opened = File::open(world, path, mode::RDWR, &info);
    if !world.all_true(opened.is_ok()) {
        return Err(format!("{:?}; {}", opened.err(), case.replay_line()));
    }
    let file = opened.expect("checked above");
    if with_tatpio {
        let serving = file.info().map(|info| info.get("tatpio"));
        if serving != Ok(Some("enable".into())) {
            note(format!("tatpio does not serve the file: {serving:?}"));
        }
    }
    let viewed = set_view(&file, case, world.rank());
    if world.all_true(viewed.is_ok()) {
        operate(world, &file, case, path, &mut note);
    } else if let Err(error) = viewed {
        note(error.to_string());
    }
    if let Err(error) = file.close() {
        note(error.to_string());
    }
    world.barrier();
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Writes the file that the case starts with.
fn prepare(case: &Case, path: &str) {
    let file = fs::File::create(path).expect("the scratch folder can be written");
    if !case.initial.is_empty() {
        file.write_all_at(&case.initial, case.initial_offset).expect("room for a small file");
    }
}

/// Whether a case's memory types are built by the constructors with large counts: half of the cases. Never
/// those of views, of which ROMIO of MPICH 4.0.2 aborts the job.
fn large_types(case: &Case) -> bool {
    case.seed % 2 == 1
}

fn set_view(file: &File, case: &Case, rank: usize) -> Result<(), MpiError> {
    let view = &case.ranks[rank].view;
    let etype = types::build(&view.etype, false)?.commit()?;
    let filetype = types::build(&view.filetype, false)?.commit()?;
    file.set_view(view.disp, &etype, &filetype, "native", &Info::null())
}

/// The operations in order, each checked on this rank; the ranks see each other's writes (MPI-4.1, section
/// 14.6.1).
fn operate(world: &Comm, file: &File, case: &Case, path: &str, note: &mut impl FnMut(String)) {
    let mut model = Model::new(case);
    while let Some(step) = model.step() {
        let form = Form::ALL[usize::try_from((case.seed + step.op as u64) % 4).expect("below 4")];
        if let Err(text) = operation(file, case, &step.ranks[world.rank()], form) {
            note(format!("{form:?}: {text}"));
        }
        for _ in 0..2 {
            if let Err(error) = file.sync() {
                note(error.to_string());
            }
            world.barrier();
        }
        if let Err(text) = check_file(&mut model, path) {
            note(text);
            // What later reads should find is not known any more.
            model.settle();
        }
        world.barrier();
    }
}

/// One rank's part of an operation. Collective.
fn operation(file: &File, case: &Case, expect: &Expect, form: Form) -> Result<(), String> {
    let (op, rank) = (&case.ops[expect.op], expect.rank);
    let access = &op.ranks[rank];
    let mut buffer = case.buffer(expect.op, rank);
    let describe = |error: MpiError| format!("rank {rank} in operation {}: {error}", expect.op);
    let datatype =
        types::build(&access.memtype, large_types(case)).and_then(Datatype::commit).map_err(describe)?;
    let offset = op.kind.is_at().then(|| i64::try_from(access.offset).expect("an offset"));
    let data =
        Data { buffer: &mut buffer, base: access.base, count: access.count.into(), datatype: &datatype };
    let status = match op.kind {
        OpKind::WriteAtAll | OpKind::WriteAll => file.write_all(form, offset, data),
        OpKind::ReadAtAll | OpKind::ReadAll => file.read_all(form, offset, data),
    };
    let status = status.map_err(describe)?;
    expect.check(case, &buffer, status.bytes())?;
    let size = access.memtype.size();
    let elements =
        if size == 0 { Some(0) } else { (status.bytes() % size == 0).then(|| status.bytes() / size) };
    if status.count(&datatype) != elements {
        return Err(format!("MPI_Get_count gives {:?}, not {elements:?} elements", status.count(&datatype)));
    }
    let position = file.position().map_err(describe)?;
    if position != expect.position {
        return Err(format!("the file pointer is at etype {position}, not {}", expect.position));
    }
    Ok(())
}

fn check_file(model: &mut Model<'_>, path: &str) -> Result<(), String> {
    let file = fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let size = file.metadata().map_err(|error| format!("{path}: {error}"))?.len();
    model.check_file(size, |at, bytes| file.read_exact_at(bytes, at).expect("the file can be read"))
}
