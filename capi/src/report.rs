//! What is printed: warnings, each once a process, and errors.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{LazyLock, Mutex, Once, PoisonError};

/// Prints a warning to standard error, unless the process has printed the same before: a program that opens a
/// thousand files with one bad hint is told once.
pub(crate) fn warn(text: &str) {
    static PRINTED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.insert(text.to_owned()) {
        print(&format!("tatpio: warning: {text}\n"));
    }
}

/// Prints what went wrong in a call, on the rank where it did.
pub(crate) fn error(rank: u32, call: &str, file: &str, text: &str) {
    print(&format!("tatpio: error: rank {rank}: {call} on {file}: {text}\n"));
}

/// One write a line, so that the lines of several ranks do not mix. A message that cannot be printed is lost.
fn print(line: &str) {
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Sends the engine's log, which holds warnings, the same way.
pub(crate) fn install_log() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Only this library's copy of `log` is concerned, so nobody else can have set one.
        if log::set_logger(&Log).is_ok() {
            log::set_max_level(log::LevelFilter::Warn);
        }
    });
}

struct Log;

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            warn(&record.args().to_string());
        }
    }

    fn flush(&self) {}
}
