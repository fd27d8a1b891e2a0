//! A command that counts something, run before and after what is measured.
//!
//! It prints lines NAME.. NUMBER (the last word is the number, the words before it are the name; lines that
//! begin with `#` say nothing), as `ci/fabric counters` does with the bytes of every link. What a number grew
//! by belongs to what happened in between.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Numbers by name.
pub type Counts = BTreeMap<String, u64>;

/// Runs the command.
///
/// Errors: it cannot be run, fails, or prints something else; the text says which.
pub fn run(command: &str) -> Result<Counts, String> {
    let words = shell_words::split(command).map_err(|error| format!("{command}: {error}"))?;
    let (program, arguments) = words.split_first().ok_or("a probe without a command")?;
    let output = Command::new(program)
        .args(arguments)
        // What is preloaded is meant for the ranks.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command}: {}: {}", output.status, errors.trim()));
    }
    parse(&String::from_utf8_lossy(&output.stdout)).map_err(|error| format!("{command}: {error}"))
}

fn parse(text: &str) -> Result<Counts, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let count = |line: &str| {
        let (name, number) = line.rsplit_once(' ')?;
        Some((name.trim_end().to_owned(), number.parse().ok()?))
    };
    lines.map(|line| count(line).ok_or_else(|| format!("expected NAME.. NUMBER, found {line:?}"))).collect()
}

/// What each number grew by. One that was not there before counts from 0; one that shrank was reset, and
/// counts as 0.
pub fn growth(before: &Counts, after: &Counts) -> Counts {
    let grown = |(name, &now): (&String, &u64)| {
        (name.clone(), now.saturating_sub(before.get(name).copied().unwrap_or(0)))
    };
    after.iter().map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        parse(text).unwrap()
    }

    #[test]
    fn names_have_words() {
        let expected = Counts::from([("a b 10".to_owned(), 5), ("c".to_owned(), 0)]);
        assert_eq!(counts("a b 10 5\n\n# busiest: 7\nc 0\n"), expected);
        for text in ["7", "a b", "a -1"] {
            assert!(parse(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn numbers_grow() {
        let (before, after) = (counts("a 5\nb 9\ngone 1"), counts("a 7\nb 2\nnew 3"));
        assert_eq!(growth(&before, &after), counts("a 2\nb 0\nnew 3"));
    }

    #[test]
    fn commands_that_fail_are_named() {
        assert_eq!(run("echo x 3"), Ok(counts("x 3")));
        for (command, why) in [
            ("sh -c 'echo no >&2; exit 3'", "no"),
            ("echo nothing", "NUMBER"),
            ("/no/such/command", "No such file"),
            ("'", "missing"),
        ] {
            let error = run(command).unwrap_err();
            assert!(error.contains(command) && error.contains(why), "{error}");
        }
        assert!(run("").is_err());
    }
}
