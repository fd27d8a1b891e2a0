//! What all commands write with: text tables, JSON, CSV, and messages on standard error.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Prints to standard output. A reader that went away is [`Failure::Closed`], not a panic.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| closed("standard output", &error))
}

/// Prints a value as indented JSON.
pub fn print_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::failed(format!("JSON: {error}")))?;
    print(&(text + "\n"))
}

/// Prints to standard error; where even that is closed there is nobody to tell.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A warning: the command goes on.
pub fn warn(text: &str) {
    complain(&format!("tatpio: warning: {text}"));
}

fn closed(what: &str, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::failed(format!("{what} could not be written: {error}")),
    }
}

/// The text of a file that the user named; `what` it is comes into the error.
pub fn read(what: &str, path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::failed(format!("the {what} {path} could not be read: {error}")))
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes)
        .map_err(|error| Failure::failed(format!("{} could not be written: {error}", path.display())))
}

/// Writes rows as CSV; `-` is standard output.
pub fn write_csv(path: &Path, header: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(Failure::failed)?;
    for row in rows {
        writer.write_record(row).map_err(Failure::failed)?;
    }
    let bytes = writer.into_inner().map_err(Failure::failed)?;
    if path == Path::new("-") { print(&String::from_utf8_lossy(&bytes)) } else { write(path, &bytes) }
}

/// A text table: names to the left, numbers to the right (a column is one of numbers when all its cells begin with a
/// digit or are dashes).
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    let mut numbers = vec![!rows.is_empty(); header.len()];
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = widths[column].max(cell.chars().count());
            numbers[column] &= cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit());
        }
    }
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for ((cell, &width), &number) in cells.zip(&widths).zip(&numbers) {
            line += if line.is_empty() { " " } else { "  " };
            line += &if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    };
    line(&mut header.iter().copied());
    rows.iter().for_each(|row| line(&mut row.iter().map(String::as_str)));
    text
}

/// The library's warnings, on standard error.
pub struct Messages;

impl log::Log for Messages {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("tatpio")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            warn(&record.args().to_string());
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right() {
        let rows = [vec!["a".into(), "7".into()], vec!["bcd".into(), "1,000".into()]];
        let text = table(&["name", "bytes"], &rows);
        assert_eq!(text, " name  bytes\n a         7\n bcd   1,000\n");
    }
}
