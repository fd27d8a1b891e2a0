//! The same case again: from one line of text, or from a file that holds a case.

use crate::case::Case;
use crate::generate::generate;
use crate::limits::Limits;

/// The environment variable that [`from_env`] reads.
pub const REPLAY_VARIABLE: &str = "TATPIO_REPLAY";

impl Case {
    /// One line that makes the case again, to print when it fails; what follows `replay:` can be put before the command
    /// that runs the test. A simplified case is not the one that its seed generates: print [`Case::to_json`] for it.
    pub fn replay_line(&self) -> String {
        format!("replay: {REPLAY_VARIABLE}='seed={} limits={}'", self.seed, self.limits)
    }

    /// The case as text that [`from_text`] reads, independent of the generator.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a case has a JSON form")
    }
}

/// The case that the environment asks for, if it does.
///
/// # Errors
///
/// Says what is wrong with the variable's text.
pub fn from_env() -> Result<Option<Case>, String> {
    match std::env::var(REPLAY_VARIABLE) {
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(format!("{REPLAY_VARIABLE}: {error}")),
        Ok(text) => from_text(&text).map(Some).map_err(|error| format!("{REPLAY_VARIABLE}: {error}")),
    }
}

/// The case of `seed=1234 limits=...` (limits may be left out), of a whole replay line, of the JSON of a case, or of
/// `file=PATH`, a file that holds such JSON.
///
/// # Errors
///
/// Says what is wrong with the text.
pub fn from_text(text: &str) -> Result<Case, String> {
    let text = text.trim();
    if text.starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("not the JSON of a case: {error}"));
    }
    if let Some(path) = text.strip_prefix("file=") {
        let json = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        return from_text(&json);
    }
    let (mut seed, mut limits) = (None, Limits::default());
    for word in text.split(|c: char| c.is_whitespace() || c == '\'').filter(|word| !word.is_empty()) {
        if let Some(value) = word.strip_prefix("seed=") {
            seed = Some(value.parse().map_err(|_| format!("seed {value:?} is not a number"))?);
        } else if let Some(value) = word.strip_prefix("limits=") {
            limits = value.parse()?;
        } else if word != "replay:" && word != format!("{REPLAY_VARIABLE}=") {
            return Err(format!("{word:?} is not seed=..., limits=... or file=..."));
        }
    }
    let seed = seed.ok_or_else(|| String::from("no seed=... in it"))?;
    Ok(generate(seed, &limits))
}
