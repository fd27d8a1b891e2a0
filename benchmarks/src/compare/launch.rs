//! One mpirun under a time limit, and what it reported.

use super::INTERRUPTED;
use super::fabric::Fabric;
use super::options::{Case, Emulated, Options};
use super::peers::{Mpi, Peer};
use super::statistics::{self, CallStatistics};
use crate::report::Report;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The program and its configuration.
    pub case: &'a Case,
    /// What it runs under.
    pub peer: &'static Peer,
    /// The value of tatpio's hint `tatpio_assign`, if any.
    pub assign: Option<&'a str>,
    /// The file it writes; one that is there is removed first.
    pub file: &'a Path,
    /// Whether the file stays.
    pub keep: bool,
    /// Measured passes.
    pub passes: u32,
    /// Further arguments of the program.
    pub arguments: &'a [String],
    /// The nodes to pretend, if any.
    pub emulated: Option<&'a Emulated>,
}

/// What a run found.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The command.
    pub command: String,
    /// What the program printed.
    pub report: Report,
    /// What tatpio says of the measured calls that wrote, in order; empty under another peer.
    pub write_calls: Vec<CallStatistics>,
    /// Likewise for the calls that read.
    pub read_calls: Vec<CallStatistics>,
    /// What tatpio warned of, each once.
    pub warnings: Vec<String>,
    /// Whether it had to be ended: it hung after its work, in MPI_Finalize.
    pub ended: bool,
}

/// Why a run found nothing.
#[derive(Debug)]
pub enum RunError {
    /// It was not done by the time limit.
    Hung {
        /// The command to try it again.
        command: String,
        /// The time limit.
        seconds: u64,
    },
    /// It failed, or what it printed makes no sense.
    Failed {
        /// The command to try it again.
        command: String,
        /// What went wrong.
        what: String,
    },
    /// The user stopped it.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Hung { command, seconds } => write!(f, "not done after {seconds} s: {command}"),
            RunError::Failed { command, what } => write!(f, "failed: {command}\n{what}"),
            RunError::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// How long a run on a fabric may take to end after it has reported. MPICH 4.0.2 over UCX's TCP hangs in
/// MPI_Finalize in up to half the runs there: ranks that are through wait in a barrier that does not move the
/// data of others. All files are closed by then.
const FINALIZE_LIMIT: Duration = Duration::from_secs(1);

/// Where the programs and libraries are, where they run, and how long a run may take.
#[derive(Debug)]
pub struct Launcher {
    target: PathBuf,
    mpiruns: Vec<(Mpi, PathBuf)>,
    time_limit: u64,
    fabric: Option<Fabric>,
}

impl Launcher {
    /// Looks for everything that the peers need.
    ///
    /// Errors: something is missing; the text says what, and what would make it.
    pub fn new(options: &Options, peers: &[&Peer], fabric: Option<Fabric>) -> Result<Launcher, String> {
        if let Some(peer) = peers.iter().find(|peer| fabric.is_some() && peer.mpi != Mpi::Mpich) {
            return Err(format!("{} does not run on a fabric: MPICH's peers do", peer.name));
        }
        let target = match &options.target {
            Some(target) => {
                fs::canonicalize(target).map_err(|error| format!("{}: {error}", target.display()))?
            }
            None => own_target_directory()?,
        };
        let mut launcher = Launcher { target, mpiruns: Vec::new(), time_limit: options.time_limit, fabric };
        for mpi in [Mpi::Mpich, Mpi::OpenMpi] {
            if peers.iter().any(|peer| peer.mpi == mpi) {
                launcher.mpiruns.push((mpi, find_mpirun(mpi, options)?));
            }
        }
        for peer in peers {
            for name in ["cube", "btio"].iter().chain(peer.preload) {
                let path = launcher.built(peer.mpi, name);
                if !path.is_file() {
                    let missing = path.display();
                    return Err(format!("{missing} is missing: run ci/build {}", peer.mpi.name()));
                }
            }
        }
        Ok(launcher)
    }

    fn built(&self, mpi: Mpi, name: &str) -> PathBuf {
        self.target.join(mpi.name()).join("release").join(name)
    }

    /// Runs a program to its end or its time limit.
    ///
    /// Errors: see [`RunError`].
    pub fn launch(&self, run: &Run<'_>) -> Result<Outcome, RunError> {
        let statistics = run.file.with_extension("statistics.jsonl");
        let words = self.words(run, &statistics);
        let command = Launcher::replay(&words, run.file);
        let failed = |what: String| RunError::Failed { command: command.clone(), what };
        for path in [run.file, &statistics] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(format!("{}: {error}", path.display())));
                }
                _ => (),
            }
        }
        let limits = Limits {
            whole: Duration::from_secs(self.time_limit),
            after_report: run.case.order.is_some().then_some(FINALIZE_LIMIT),
        };
        let finished = match run_under_limit(&words, &limits) {
            Ok(finished) => finished,
            Err(error) => return Err(failed(error.to_string())),
        };
        let Finished { status, output, errors } = match finished {
            End::Finished(finished) => finished,
            End::OverTime => return Err(RunError::Hung { command, seconds: self.time_limit }),
            End::Interrupted => return Err(RunError::Interrupted),
        };
        if status.is_some_and(|status| !status.success()) {
            let status = status.map(|status| status.to_string()).unwrap_or_default();
            return Err(failed(format!("{status}\n{}", last_lines(&errors, &output))));
        }
        let report = read_report(&output).map_err(failed)?;
        if report.doubles_wrong > 0 {
            return Err(failed(format!("{} doubles wrong\n{errors}", report.doubles_wrong)));
        }
        let calls = if run.peer.tatpio { statistics::read(&statistics).map_err(failed)? } else { Vec::new() };
        let (write_calls, read_calls) = statistics::measured(calls, run.passes, report.steps);
        let (warnings, ended) = (warnings(&errors), status.is_none());
        Ok(Outcome { command, report, write_calls, read_calls, warnings, ended })
    }

    /// The command as it can be given again after the temporary directory of `file` is gone: with the files
    /// beside it.
    fn replay(words: &[String], file: &Path) -> String {
        let command = shell_words::join(words);
        match file.parent().and_then(|directory| Some((directory, directory.parent()?))) {
            Some((directory, beside)) => command.replace(&path_text(directory), &path_text(beside)),
            None => command,
        }
    }

    /// The whole command.
    fn words(&self, run: &Run<'_>, statistics: &Path) -> Vec<String> {
        let Run { case, peer, .. } = run;
        let mpirun = self.mpiruns.iter().find(|(mpi, _)| *mpi == peer.mpi).map(|(_, path)| path);
        let mpirun = mpirun.expect("looked up for every peer");
        let fabric = self.fabric.as_ref().zip(case.order.as_ref());
        let mut words = fabric.map_or(Vec::new(), |(fabric, order)| fabric.enter(order, case.ranks));
        words.push(path_text(mpirun));
        words.extend(peer.mpi.launch_arguments(case.ranks));
        if let Some((fabric, order)) = fabric {
            words.extend(fabric.launch_arguments(order, case.ranks));
        }
        words.extend(peer.arguments.iter().map(|&argument| argument.to_owned()));
        for (name, value) in self.variables(run, statistics) {
            words.extend(peer.mpi.variable(&name, &value));
        }
        words.push(path_text(&self.built(peer.mpi, case.program)));
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--size", case.size.to_string());
        option("--repeat", run.passes.to_string());
        option("--file", path_text(run.file));
        case.hints.0.iter().for_each(|(key, value)| option("--hint", format!("{key}={value}")));
        peer.hints.iter().for_each(|(key, value)| option("--hint", format!("{key}={value}")));
        case.scatter.iter().for_each(|seed| option("--scatter", seed.to_string()));
        if let Some((fabric, _)) = fabric {
            words.extend(["--probe".to_owned(), fabric.probe()]);
        }
        words.extend(run.keep.then(|| "--keep".to_owned()));
        words.extend_from_slice(run.arguments);
        words.push("--json".to_owned());
        words
    }

    /// The program's variables.
    fn variables(&self, run: &Run<'_>, statistics: &Path) -> Vec<(String, String)> {
        let Run { case, peer, .. } = run;
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut variables: Vec<(String, String)> = peer.environment.iter().map(own).collect();
        let fabric = self.fabric.as_ref().filter(|_| case.order.is_some());
        variables.extend(fabric.into_iter().flat_map(Fabric::variables));
        if !peer.preload.is_empty() {
            let files: Vec<String> =
                peer.preload.iter().map(|name| path_text(&self.built(peer.mpi, name))).collect();
            variables.push(("LD_PRELOAD".to_owned(), files.join(":")));
        }
        if peer.tatpio {
            let mut hints = format!("tatpio=enable;tatpio_stats={}", path_text(statistics));
            if let Some(Emulated { nodes, topology }) = run.emulated {
                let ranks = case.ranks / nodes;
                hints.push_str(&format!(";tatpio_node_ranks={ranks};tatpio_topology={topology}"));
            }
            if let Some(assign) = run.assign {
                hints.push_str(&format!(";tatpio_assign={assign}"));
            }
            if let Some(fabric) = fabric {
                hints.push_str(&format!(";{}", fabric.topology_hint()));
            }
            variables.push(("TATPIO_HINTS".to_owned(), hints));
        }
        variables
    }
}

/// The directory three levels above this program: target/mpich/release/compare.
fn own_target_directory() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let target = program.ancestors().nth(3).map(Path::to_owned);
    target.ok_or_else(|| "this program is not in a target directory: give --target".to_owned())
}

fn find_mpirun(mpi: Mpi, options: &Options) -> Result<PathBuf, String> {
    if let Some((_, program)) = options.mpiruns.iter().find(|(name, _)| name == mpi.name()) {
        return Ok(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        |name: &str| std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    mpi.mpiruns().into_iter().find_map(in_path).ok_or_else(|| {
        let names = mpi.mpiruns().join(" or ");
        format!("no {names} in PATH: install {0}, or give --mpirun {0}=PROGRAM", mpi.name())
    })
}

/// Paths here are the temporary directory's and the target directory's; one that is no text could not be put
/// into a hint.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The report is the last line that begins an object: MPI libraries may print warnings before.
fn read_report(output: &str) -> Result<Report, String> {
    let line = output.lines().rev().find(|line| line.starts_with('{'));
    let line = line.ok_or_else(|| format!("no report in what it printed:\n{output}"))?;
    serde_json::from_str(line).map_err(|error| format!("{error} in the report:\n{line}"))
}

/// The end of what a failed run had to say.
fn last_lines(errors: &str, output: &str) -> String {
    const LINES: usize = 20;
    let text = if errors.trim().is_empty() { output } else { errors };
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// What tatpio warned of, each once: every rank may say it.
fn warnings(errors: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        errors.lines().filter(|line| line.starts_with("tatpio: ")).map(str::to_owned).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// How long a command may run.
struct Limits {
    whole: Duration,
    /// From its report on, if that has a limit of its own.
    after_report: Option<Duration>,
}

/// How a command ended.
enum End {
    Finished(Finished),
    OverTime,
    Interrupted,
}

struct Finished {
    /// None if it had reported and was then ended.
    status: Option<ExitStatus>,
    output: String,
    errors: String,
}

/// Runs a command with its output in files, so that no pipe can fill up, and in a process group of its own,
/// so that it can be ended with all its children.
fn run_under_limit(words: &[String], limits: &Limits) -> io::Result<End> {
    let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .env_remove("LD_PRELOAD")
        .env_remove("TATPIO_HINTS")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?)
        .process_group(0)
        .spawn()?;
    let start = Instant::now();
    let mut reported: Option<Instant> = None;
    loop {
        if let Some(status) = child.wait_timeout(Duration::from_millis(100))? {
            let (output, errors) = (text_of(&output)?, text_of(&errors)?);
            return Ok(End::Finished(Finished { status: Some(status), output, errors }));
        }
        let interrupted = INTERRUPTED.load(Ordering::Relaxed);
        if let (Some(limit), false) = (limits.after_report, interrupted) {
            if reported.is_none() && has_report(&text_of(&output)?) {
                reported = Some(Instant::now());
            }
            if reported.is_some_and(|reported| reported.elapsed() > limit) {
                let (output, errors) = (text_of(&output)?, text_of(&errors)?);
                end(&mut child)?;
                return Ok(End::Finished(Finished { status: None, output, errors }));
            }
        }
        if interrupted || start.elapsed() > limits.whole {
            end(&mut child)?;
            return Ok(if interrupted { End::Interrupted } else { End::OverTime });
        }
    }
}

/// Whether the last line is a report, and whole.
fn has_report(output: &str) -> bool {
    output.ends_with('\n') && read_report(output).is_ok()
}

/// All that is in the file now. The place where the command writes on, which it shares with us, stays.
fn text_of(file: &fs::File) -> io::Result<String> {
    let length = usize::try_from(file.metadata()?.len()).expect("an output fits in memory");
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ends mpirun and all it started: first politely, so that it tells its proxies on other hosts too.
fn end(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_raw(i32::try_from(child.id()).expect("process ids are positive ints"));
    // Either signal may find the group gone: that is what it is for.
    let _ = killpg(group, Signal::SIGTERM);
    let ended = child.wait_timeout(Duration::from_secs(3))?.is_some();
    let _ = killpg(group, Signal::SIGKILL);
    if !ended {
        child.wait()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> End {
        let limits = Limits { whole: limit, after_report: None };
        run_under_limit(&["sh", "-c", script].map(String::from), &limits).unwrap()
    }

    #[test]
    fn a_command_that_ends() {
        let End::Finished(finished) = run("echo out; echo err >&2; exit 3", Duration::from_secs(60)) else {
            panic!("not finished");
        };
        let Finished { status, output, errors } = finished;
        assert_eq!((status.unwrap().code(), &output[..], &errors[..]), (Some(3), "out\n", "err\n"));
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_its_children() {
        let start = Instant::now();
        let end = run("trap '' TERM; tail -f /dev/null & wait", Duration::ZERO);
        assert!(matches!(end, End::OverTime));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn warnings_are_said_once() {
        let errors = "tatpio: warning: b\nother\ntatpio: warning: a\ntatpio: warning: b\n";
        assert_eq!(warnings(errors), ["tatpio: warning: a", "tatpio: warning: b"]);
    }

    #[test]
    fn reports_come_after_warnings() {
        assert!(read_report("").unwrap_err().starts_with("no report"));
        assert!(read_report("warning\n{}\n").unwrap_err().contains("missing field"));
    }
}
