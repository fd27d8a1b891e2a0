//! The command `ibnetdiscover`, run from inside a rank of a job.
//!
//! A rank is a bad place to run commands from. What the job preloads must not reach the command, so `LD_PRELOAD` and
//! tatpio's own variables are left out of its environment. An MPI library may collect ended children, or have the system
//! discard them: then nobody can tell how the command ended, and its output has to speak for itself. And a fabric that
//! does not answer must not hold up a job: the command and all it started are killed when their time is over.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Holds a command line to run in place of the command, words parted by blanks: for tests against a simulated fabric,
/// as in `env LD_PRELOAD=libumad2sim.so ibnetdiscover`.
pub const REPLACEMENT: &str = "TATPIO_IBNETDISCOVER";

/// Far more than the largest fabrics print.
const OUTPUT_MAX: usize = 256 << 20;

/// How much of an error message is passed on.
const MESSAGE_MAX: usize = 300;

const REMEDY: &str = "it needs access to /dev/infiniband/umad*: run it as root once and pass its output as \
                      tatpio_topology=infiniband:FILE";

/// What `command` prints on standard output. It is searched on `PATH`, then in `/usr/sbin` and `/sbin`, where
/// ordinary users often do not look. The environment variable [`REPLACEMENT`] puts another command in its place.
///
/// Blocks for at most `time_limit` and a second. Starts no thread, installs no signal handler, and leaves no open
/// descriptor.
///
/// Errors, in words for people: a command that is not there, that fails, prints nothing or too much, or takes too long.
pub fn discover(command: &str, time_limit: Duration) -> Result<String, String> {
    let replacement = std::env::var(REPLACEMENT).unwrap_or_default();
    let words: Vec<&str> = replacement.split_whitespace().collect();
    run(if words.is_empty() { std::slice::from_ref(&command) } else { &words }, time_limit)
}

/// Runs a command line, which has at least one word.
pub(super) fn run(words: &[&str], time_limit: Duration) -> Result<String, String> {
    let deadline = Instant::now() + time_limit;
    let mut child = start(words)?;
    let output = collect(&mut child, deadline);
    let status = match &output {
        Ok(_) => wait(&mut child, deadline),
        Err(_) => Err(Stopped::Unfinished),
    };
    if matches!(status, Err(Stopped::Unfinished)) {
        kill(&mut child);
    }
    judge(words[0], time_limit, output, status)
}

/// What came out, by pipe.
struct Output {
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Why there is no output, or no status.
enum Stopped {
    /// The time is over, or there was too much output.
    Unfinished,
    Failed(io::Error),
}

fn start(words: &[&str]) -> Result<Child, String> {
    let name = words[0];
    let mut tried = io::Error::from(io::ErrorKind::NotFound);
    for directory in ["", "/usr/sbin/", "/sbin/"] {
        if !directory.is_empty() && name.contains('/') {
            break;
        }
        let mut command = Command::new(format!("{directory}{name}"));
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that all of it can be killed.
        command.process_group(0).env_remove("LD_PRELOAD");
        let ours = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"TATPIO_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tried = error;
                break;
            }
        }
    }
    Err(match tried.kind() {
        io::ErrorKind::NotFound => format!(
            "{name} was not found: install it (package infiniband-diags), or run it elsewhere and pass its output as \
             tatpio_topology=infiniband:FILE"
        ),
        _ => format!("{name} could not be started: {tried}; {REMEDY}"),
    })
}

/// Reads both pipes to their ends, whichever has something, so that the command never waits for a full one.
fn collect(child: &mut Child, deadline: Instant) -> Result<Output, Stopped> {
    let mut output = Output { out: Vec::new(), err: Vec::new() };
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    while out.is_some() || err.is_some() {
        let (ready_out, ready_err) = ready(out.as_ref(), err.as_ref(), deadline)?;
        if ready_out {
            read_some(&mut out, &mut output.out)?;
        }
        if ready_err {
            read_some(&mut err, &mut output.err)?;
        }
        if output.out.len() > OUTPUT_MAX || output.err.len() > OUTPUT_MAX {
            return Err(Stopped::Failed(io::Error::other("it printed more than any fabric needs")));
        }
    }
    Ok(output)
}

/// Waits until one of the pipes has something or has ended; which of them.
fn ready(
    out: Option<&impl AsFd>,
    err: Option<&impl AsFd>,
    deadline: Instant,
) -> Result<(bool, bool), Stopped> {
    let pipes = [out.map(AsFd::as_fd), err.map(AsFd::as_fd)];
    let mut open: Vec<PollFd<'_>> =
        pipes.iter().flatten().map(|&fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Stopped::Unfinished);
    }
    // A millisecond more than is left: a time rounded down would spin.
    let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
    match poll(&mut open, timeout) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(Stopped::Failed(errno.into())),
    }
    let mut answers = open.iter().map(|fd| fd.any().unwrap_or(true));
    let mut answer = |pipe: bool| pipe && answers.next().unwrap_or(false);
    Ok((answer(out.is_some()), answer(err.is_some())))
}

/// One read; at the end of the pipe it is closed.
fn read_some(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> Result<(), Stopped> {
    let Some(open) = pipe else { return Ok(()) };
    let mut buffer = [0; 65536];
    match open.read(&mut buffer) {
        Ok(0) => *pipe = None,
        Ok(bytes) => into.extend_from_slice(&buffer[..bytes]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(Stopped::Failed(error)),
    }
    Ok(())
}

/// How the command ended; `None` when somebody else collected it. It has closed its pipes and is about to end, so that
/// asking again and again is short.
fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>, Stopped> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if Instant::now() >= deadline => return Err(Stopped::Unfinished),
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) if error.raw_os_error() == Some(Errno::ECHILD as i32) => return Ok(None),
            Err(error) => return Err(Stopped::Failed(error)),
        }
    }
}

/// Ends the command and all that it started. A process that hangs in a driver cannot end: it is not waited for longer
/// than a second.
fn kill(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        // Not yet collected, so that the number is still its own. Whoever has ended already needs no signal.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = wait(child, Instant::now() + Duration::from_secs(1));
}

fn judge(
    name: &str,
    time_limit: Duration,
    output: Result<Output, Stopped>,
    status: Result<Option<ExitStatus>, Stopped>,
) -> Result<String, String> {
    let unfinished = || format!("{name} did not end within {time_limit:?} and was killed; {REMEDY}");
    let failed = |what: String| format!("{name} failed: {what}; {REMEDY}");
    let output = match output {
        Ok(output) => output,
        Err(Stopped::Unfinished) => return Err(unfinished()),
        Err(Stopped::Failed(error)) => return Err(failed(error.to_string())),
    };
    let said = || {
        let text = String::from_utf8_lossy(&output.err);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said: String = lines.join(" | ").chars().take(MESSAGE_MAX).collect();
        if said.is_empty() { String::new() } else { format!(", saying \"{said}\"") }
    };
    match status {
        Ok(Some(status)) if !status.success() => return Err(failed(format!("{status}{}", said()))),
        Ok(_) if output.out.is_empty() => return Err(failed(format!("it printed nothing{}", said()))),
        Ok(_) => {}
        Err(Stopped::Unfinished) => return Err(unfinished()),
        Err(Stopped::Failed(error)) => return Err(failed(error.to_string())),
    }
    // Descriptions are bytes that somebody chose.
    Ok(String::from_utf8(output.out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> Result<String, String> {
        run(&["sh", "-c", script], Duration::from_secs(seconds))
    }

    #[test]
    fn output_of_both_pipes_without_deadlock() {
        // Far more than a pipe holds, on both, in turns and at once.
        let script = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); \
                      echo out-$i-0123456789012345678901234567890123456789012345678901234567890123456789; \
                      echo err-$i-0123456789012345678901234567890123456789012345678901234567890123456789 >&2; done; \
                      yes 01234567 | head -c 300000 & yes 76543210 | head -c 300000 >&2; wait";
        let text = shell(script, 60).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("out-")).count(), 3000);
        assert_eq!(text.matches("01234567\n").count(), 300_000 / 9);
    }

    #[test]
    fn the_environment_is_ours_without_what_is_preloaded() {
        // A process must not change its own environment: this test runs itself again in another.
        if std::env::var("TATPIO_TEST_AGAIN").is_err() {
            let settings = [
                "LD_PRELOAD=libtatpio-is-not-here.so",
                "UNTOUCHED=yes",
                "TATPIO_IBNETDISCOVER=env   -u NOTHING",
            ];
            return again("the_environment_is_ours_without_what_is_preloaded", &settings);
        }
        let text = discover("no-such-command-of-tatpio", Duration::from_secs(60)).unwrap();
        assert!(text.lines().any(|line| line == "UNTOUCHED=yes"), "{text}");
        let hidden = |line: &str| line.starts_with("TATPIO_") || line.starts_with("LD_PRELOAD=");
        assert!(!text.lines().any(hidden), "{text}");
    }

    #[test]
    fn children_that_the_system_collects() {
        if std::env::var("TATPIO_TEST_AGAIN").is_err() {
            return again("children_that_the_system_collects", &["--ignore-signal=CHLD"]);
        }
        assert_eq!(shell("echo fabric", 60).unwrap(), "fabric\n");
        // Nobody knows how it ended, so that only its output can tell.
        let error = shell("exit 1", 60).unwrap_err();
        assert!(error.starts_with("sh failed: it printed nothing"), "{error}");
        let error = run(&["sleep", "1000"], Duration::from_millis(300)).unwrap_err();
        assert!(error.starts_with("sleep did not end within 300ms and was killed"), "{error}");
    }

    /// Runs a test of this module once more, with these arguments of `env`.
    fn again(test: &str, settings: &[&str]) {
        let module = module_path!().split_once("::").map_or("", |(_, path)| path);
        let mut command = Command::new("env");
        command.args(settings).arg("TATPIO_TEST_AGAIN=1").arg(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("{module}::{test}"), "--test-threads=1"]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_it_started() {
        let marker = tempfile::NamedTempFile::new().unwrap();
        let path = marker.path().display();
        for script in [
            // A child that outlives its parent and keeps the pipe.
            format!("(echo $$ > {path}; sleep 1000) & sleep 1000"),
            format!("echo $$ > {path}; (sleep 1000 &) ; exit 0"),
            // The pipes are closed, and it does not end.
            format!("echo $$ > {path}; exec >/dev/null 2>&1 </dev/null; sleep 1000"),
        ] {
            let started = Instant::now();
            let error = run(&["sh", "-c", &script], Duration::from_millis(700)).unwrap_err();
            assert!(error.starts_with("sh did not end within 700ms and was killed; it needs"), "{error}");
            assert!(started.elapsed() < Duration::from_secs(100), "{script}");
            let group: i32 = std::fs::read_to_string(marker.path()).unwrap().trim().parse().unwrap();
            // Orphans are collected by init, at a time of its own.
            let gone = || killpg(Pid::from_raw(group), None) == Err(Errno::ESRCH) || all_zombies(group);
            let until = Instant::now() + Duration::from_secs(60);
            while !gone() && Instant::now() < until {
                std::thread::yield_now();
            }
            assert!(gone(), "{script}");
        }
    }

    /// Whether every process of a group has ended, whoever will collect it.
    fn all_zombies(group: i32) -> bool {
        let stat = |entry: io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()
        };
        std::fs::read_dir("/proc").unwrap().filter_map(stat).all(|stat| {
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            fields.get(2) != Some(&group.to_string().as_str()) || fields.first() == Some(&"Z")
        })
    }

    #[test]
    fn failures_name_the_command_and_a_remedy() {
        let remedy = "/dev/infiniband/umad*: run it as root once and pass its output as tatpio_topology=infiniband:FILE";
        for (script, what) in [
            ("echo some; echo no umad >&2; exit 3", "sh failed: exit status: 3, saying \"no umad\"; "),
            ("kill -9 $$", "sh failed: signal: 9 (SIGKILL); "),
            ("exit 0", "sh failed: it printed nothing; "),
            ("echo trouble >&2", "sh failed: it printed nothing, saying \"trouble\"; "),
        ] {
            let error = shell(script, 60).unwrap_err();
            assert!(error.starts_with(what) && error.ends_with(remedy), "{script}: {error}");
        }
        for name in ["no-such-command-of-tatpio", "/no/such/ibnetdiscover"] {
            let error = run(&[name], Duration::from_secs(60)).unwrap_err();
            assert!(error.starts_with(&format!("{name} was not found: install it")), "{error}");
        }
        let error = run(&["/etc/passwd"], Duration::from_secs(60)).unwrap_err();
        assert!(error.starts_with("/etc/passwd could not be started: "), "{error}");
        let error = shell("while :; do echo 0123456789012345678901234567890123456789; done", 0).unwrap_err();
        assert!(error.contains("did not end"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(shell("printf 'a\\377b\\n'", 60).unwrap(), "a\u{fffd}b\n");
    }
}
