//! The main path of `compare`: runs the same benchmark under several MPI-IO implementations (peers), in turn,
//! and compares.
//!
//! ```text
//! options     the command line: cases, hints, peers
//! peers       the peers, as a table
//! fabric      which hosts of a fabric of ci/fabric get which ranks
//! launch      one mpirun under a time limit
//! links       what crossed the links of a fabric
//! statistics  what tatpio says of its collective calls
//! results     runs -> medians, ratios, shares
//! tables      results as text
//! network     the tables of a fabric
//! raw         every run as a line of CSV
//! machine     what the figures were measured on
//! ```

mod fabric;
mod launch;
mod links;
mod machine;
mod network;
mod options;
mod peers;
mod raw;
mod results;
mod statistics;
mod tables;

use clap::Parser;
use fabric::Fabric;
use indicatif::{ProgressBar, ProgressStyle};
use launch::{Launcher, Run, RunError};
use machine::{Machine, Moment};
use options::{Case, Hints, Options};
use peers::Contender;
use results::{Agreement, CaseResult, Comparison, PeerResult};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C and by a request to terminate: the run under way is ended, and the temporary files are
/// removed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What `main` of `compare` does: 0 if every run succeeded, all files agree and every ratio is high enough;
/// else 1, and 2 for a bad command line.
pub fn main() -> ExitCode {
    let options = Options::parse();
    if options.list_peers {
        print!("{}", peers::list());
        return ExitCode::SUCCESS;
    }
    if let Err(error) = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed)) {
        eprintln!("compare: no handler for Ctrl-C ({error}): temporary files may stay");
    }
    match compare(&options) {
        Ok(comparison) => report(&options, &comparison),
        Err(text) => {
            eprintln!("compare: {text}");
            ExitCode::from(2)
        }
    }
}

fn compare(options: &Options) -> Result<Comparison, String> {
    let peers = options.chosen_peers()?;
    let directory = options.working_directory()?;
    let fabric = options.fabric(directory.path())?;
    let (cases, emulated) = (options.timed_cases(), options.emulated_cases()?);
    let mut notes = options.notes.clone();
    if let Some(fabric) = &fabric {
        notes.extend(fabric_notes(fabric, &cases)?);
    }
    let launcher = Launcher::new(options, &peers, fabric)?;
    let machine = Machine::look(directory.path());
    let contenders = Contender::all(&peers, &options.assignments());
    let mut session =
        Session { options, contenders, launcher, directory: directory.path(), bar: ProgressBar::hidden() };
    notes.extend(session.skip_refused()?);
    session.bar = progress_bar(session.steps(cases.len(), emulated.len()));
    let session = session;
    let cases = cases.into_iter().map(|case| session.run_case(case)).collect();
    let emulated = emulated.into_iter().flat_map(|case| session.run_emulated(&case)).collect();
    session.bar.finish_and_clear();
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err("interrupted".to_owned());
    }
    let command = shell_words::join(std::env::args());
    Ok(Comparison { machine, command, notes, cases, emulated })
}

/// What the fabric is, and who sits where on it.
///
/// Errors: a case that does not fit.
fn fabric_notes(fabric: &Fabric, cases: &[Case]) -> Result<Vec<String>, String> {
    let mut notes = vec![format!("fabric: {}", fabric.about)];
    for case in cases {
        let order = case.order.as_ref().expect("every case on a fabric has an order");
        let places = fabric.places(order, case.ranks).map_err(|error| format!("{case}: {error}"))?;
        if !notes.contains(&places) {
            notes.push(places);
        }
    }
    Ok(notes)
}

fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left: {wide_msg}");
    ProgressBar::new(steps).with_style(style.expect("the template is valid"))
}

/// Prints the tables or the JSON object, writes the CSV, and decides on the exit code.
fn report(options: &Options, comparison: &Comparison) -> ExitCode {
    if options.json {
        println!("{}", serde_json::to_string_pretty(comparison).expect("results have nothing JSON lacks"));
    } else {
        println!("{}", tables::text(comparison));
    }
    let mut problems = comparison.problems(options.min_ratio);
    if let Some(path) = &options.csv
        && let Err(error) = raw::write(path, comparison)
    {
        problems.push(format!("{}: {error}", path.display()));
    }
    for problem in &problems {
        eprintln!("compare: {problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What every case needs.
struct Session<'a> {
    options: &'a Options,
    contenders: Vec<Contender>,
    launcher: Launcher,
    directory: &'a Path,
    bar: ProgressBar,
}

impl Session<'_> {
    /// How many runs the bar counts.
    fn steps(&self, cases: usize, emulated: usize) -> u64 {
        let repeat = usize::try_from(self.options.repeat).unwrap_or(0);
        let warming = usize::from(self.options.fabric.is_none());
        let measured = cases * self.contenders.len() * (warming + repeat);
        let counted = emulated * self.contenders.iter().filter(|contender| contender.peer.tatpio).count();
        u64::try_from(measured + counted).unwrap_or(u64::MAX)
    }

    /// Leaves out the assignments that the library does not know, and says so: it would warn, and use its
    /// default, and the figures would bear the wrong name.
    ///
    /// Errors: a run that says what hints are in use failed, or no contender is left to compare with.
    fn skip_refused(&mut self) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        let case =
            Case { program: "cube", ranks: 1, size: 2, scatter: None, hints: Hints::default(), order: None };
        let mut kept = Vec::new();
        for (at, contender) in self.contenders.iter().enumerate() {
            let mut refused = None;
            if let Some(assign) = &contender.assign {
                let file = self.file(contender);
                let run = Run { file: &file, keep: false, arguments: &[], ..self.run(&case, at) };
                let outcome = self.launcher.launch(&run).map_err(|error| error.to_string())?;
                let used = outcome.report.hints_in_use.get("tatpio_assign").cloned().unwrap_or_default();
                refused = (used != *assign).then_some(used);
            }
            match refused {
                None => kept.push(contender.clone()),
                Some(used) => {
                    let name = contender.name();
                    let note = format!("skipped: {name}: the library refuses it and would use {used:?}");
                    eprintln!("compare: {note}");
                    notes.push(note);
                }
            }
        }
        if kept.is_empty() {
            return Err("every assignment was refused".to_owned());
        }
        self.contenders = kept;
        Ok(notes)
    }

    /// Compares the files of all peers, then measures the peers in turn, each repetition in the opposite
    /// order of the one before, so that a machine that slows down or speeds up favours nobody.
    fn run_case(&self, case: Case) -> CaseResult {
        let begin = Moment::now();
        let mut results: Vec<PeerResult> =
            self.contenders.iter().map(|one| PeerResult::new(&one.name())).collect();
        // On a fabric a run takes seconds and a warm machine changes little: there the first repetition counts.
        let first_counts = case.order.is_some();
        let agreement = self.compare_files(&case, &mut results, first_counts);
        for repetition in u32::from(first_counts)..self.options.repeat {
            let forwards = 0..self.contenders.len();
            let order: Vec<usize> =
                if repetition % 2 == 0 { forwards.collect() } else { forwards.rev().collect() };
            for at in order {
                let file = self.file(&self.contenders[at]);
                let run =
                    Run { file: &file, keep: false, passes: self.options.passes, ..self.run(&case, at) };
                self.launch(&run, &mut results[at], true);
            }
        }
        let mut result = CaseResult::new(case, agreement, results);
        result.others_cpu_share = begin.and_then(Moment::others_share_since);
        if self.bar.is_hidden() {
            // Not on a terminal: a line a case shows that it goes on.
            eprintln!("{}", result.line());
        }
        result
    }

    /// What all runs of a case under a contender have in common.
    fn run<'a>(&'a self, case: &'a Case, contender: usize) -> Run<'a> {
        let arguments = &self.options.program_arguments[..];
        let contender = &self.contenders[contender];
        Run {
            case,
            peer: contender.peer,
            assign: contender.assign.as_deref(),
            file: Path::new(""),
            keep: true,
            passes: 1,
            arguments,
            emulated: None,
        }
    }

    fn file(&self, contender: &Contender) -> PathBuf {
        self.directory.join(format!("{}.dat", contender.name().replace(' ', "-")))
    }

    /// Has every peer write the file once, and compares all with the first, byte by byte. Unless `measured`
    /// the machine only warms up.
    fn compare_files(&self, case: &Case, results: &mut [PeerResult], measured: bool) -> Agreement {
        let passes = if measured { self.options.passes } else { 1 };
        let mut written: Vec<(String, PathBuf)> = Vec::new();
        for (at, result) in results.iter_mut().enumerate() {
            let file = self.file(&self.contenders[at]);
            if self.launch(&Run { file: &file, passes, ..self.run(case, at) }, result, measured) {
                written.push((self.contenders[at].name(), file));
            }
        }
        let agreement = agreement(&written, self.contenders.len());
        for (_, file) in written {
            // It may be gone already; what matters is that the next run finds none, and that one says so if
            // it does.
            let _ = std::fs::remove_file(file);
        }
        agreement
    }

    /// Runs a case over pretended nodes under every tatpio peer, once, for the hop-bytes it counts.
    fn run_emulated(&self, (case, emulated): &(Case, options::Emulated)) -> Vec<CaseResult> {
        let mut all = Vec::new();
        for at in (0..self.contenders.len()).filter(|&at| self.contenders[at].peer.tatpio) {
            let mut result = PeerResult::new(&self.contenders[at].name());
            let file = self.file(&self.contenders[at]);
            let run = Run { file: &file, keep: false, emulated: Some(emulated), ..self.run(case, at) };
            self.launch(&run, &mut result, true);
            all.push(CaseResult::new(case.clone(), Agreement::Single, vec![result]));
        }
        all
    }

    /// One run; whether it succeeded. `measured` runs are kept, failures and hangs always.
    fn launch(&self, run: &Run<'_>, result: &mut PeerResult, measured: bool) -> bool {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return false;
        }
        let assign = run.assign.unwrap_or_default();
        self.bar.set_message(format!("{} under {} {assign}", run.case, run.peer.name));
        let mut attempt = self.launcher.launch(run);
        if let Err(error @ RunError::Hung { .. }) = &attempt {
            // MPICH over UCX hangs in MPI_Init or MPI_Finalize now and then; once is put down to that, and
            // reported.
            self.bar.suspend(|| eprintln!("compare: {error}; repeated"));
            result.hung.push(error.to_string());
            attempt = self.launcher.launch(run);
        }
        self.bar.inc(1);
        match attempt {
            Ok(outcome) => {
                result.warnings.extend_from_slice(&outcome.warnings);
                result.warnings.sort_unstable();
                result.warnings.dedup();
                if measured {
                    result.runs.push(outcome);
                }
                true
            }
            Err(error) => {
                self.bar.suspend(|| eprintln!("compare: {error}"));
                result.failures.push(error.to_string());
                false
            }
        }
    }
}

/// Whether all files hold the same bytes; `expected` is how many files there should be.
fn agreement(written: &[(String, PathBuf)], expected: usize) -> Agreement {
    let Some(((first_name, first), others)) = written.split_first() else {
        return Agreement::Missing;
    };
    for (name, other) in others {
        match first_difference(first, other) {
            Ok(None) => (),
            Ok(Some(byte)) => {
                return Agreement::Differ { peers: [first_name.clone(), name.clone()], byte };
            }
            Err(error) => {
                eprintln!("compare: the files of {first_name} and {name} could not be compared: {error}");
                return Agreement::Missing;
            }
        }
    }
    match (written.len(), expected) {
        (_, 1) => Agreement::Single,
        (some, all) if some < all => Agreement::Missing,
        _ => Agreement::Equal,
    }
}

/// The position of the first byte in which two files differ; one that ends early differs where it ends.
fn first_difference(left: &Path, right: &Path) -> io::Result<Option<u64>> {
    const CHUNK: u64 = 1 << 20;
    let (mut left, mut right) = (BufReader::new(File::open(left)?), BufReader::new(File::open(right)?));
    let (mut from_left, mut from_right) = (Vec::new(), Vec::new());
    let mut start = 0;
    loop {
        from_left.clear();
        from_right.clear();
        left.by_ref().take(CHUNK).read_to_end(&mut from_left)?;
        right.by_ref().take(CHUNK).read_to_end(&mut from_right)?;
        if from_left != from_right {
            let equal = from_left.iter().zip(&from_right).take_while(|(a, b)| a == b).count();
            return Ok(Some(start + u64::try_from(equal).expect("within a chunk")));
        }
        if from_left.is_empty() {
            return Ok(None);
        }
        start += u64::try_from(from_left.len()).expect("within a chunk");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_differ_where_they_differ() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let long = vec![7_u8; 3 << 20];
        let mut changed = long.clone();
        changed[(2 << 20) + 5] = 8;
        let a = write("a", &long);
        for (bytes, expected) in [
            (&long[..], None),
            (&changed[..], Some((2 << 20) + 5)),
            (&long[..1 << 20], Some(1 << 20)),
            (&long[..100], Some(100)),
            (&[][..], Some(0)),
        ] {
            let b = write("b", bytes);
            assert_eq!(first_difference(&a, &b).unwrap(), expected, "{} bytes", bytes.len());
            assert_eq!(first_difference(&b, &a).unwrap(), expected, "{} bytes", bytes.len());
        }
    }
}
