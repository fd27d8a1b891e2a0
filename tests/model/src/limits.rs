//! What the generator may use.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Switches of the generator. As text:
/// `ranks:1-64,large:no,overlap:yes,tiles:yes,padding:yes,empty:yes,quirks:yes,bytes:1048576`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// The fewest ranks.
    pub ranks_min: u32,
    /// The most ranks.
    pub ranks_max: u32,
    /// Displacements and offsets up to 2^33 in some cases; the file is sparse then.
    pub large: bool,
    /// Two ranks may write the same byte in one operation.
    pub overlap: bool,
    /// Filetypes whose extent is smaller than their span, so that tiles interleave. The standard allows them, but a
    /// library that takes the stream to run forward in the file does not survive them.
    pub tiles: bool,
    /// Structs whose extent the standard pads to alignment. Without, a `Resized` around them says the same.
    pub padding: bool,
    /// Views whose filetype is empty, for ranks that have nothing.
    pub empty: bool,
    /// What an MPI library that tatpio supports gets wrong by itself, before any data moves: in memory types, blocks at
    /// negative strides that touch or overlap (Open MPI 4.1.4 takes some for contiguous); in views, empty blocks and
    /// lower bounds that are negative or past the first byte (MPICH 4.0.2 refuses some); and the individual file pointer on views with
    /// pair types, interleaving tiles or nested types (MPICH 4.0.2 misplaces it). Without, both libraries were seen to
    /// build the types and keep the pointers of thousands of cases as the standard says; only the extent of some types
    /// without data differs in MPICH.
    pub quirks: bool,
    /// The most bytes of data in a case, all operations together.
    pub bytes_max: u64,
}

impl Default for Limits {
    /// For simulated communicators: 1 to 64 ranks, everything but large displacements.
    fn default() -> Limits {
        Limits {
            ranks_min: 1,
            ranks_max: 64,
            large: false,
            overlap: true,
            tiles: true,
            padding: true,
            empty: true,
            quirks: true,
            bytes_max: 1 << 20,
        }
    }
}

impl Limits {
    /// For a program under `mpirun`, which has a fixed number of ranks: small cases, large displacements too.
    pub fn mpi(ranks: u32) -> Limits {
        Limits {
            ranks_min: ranks,
            ranks_max: ranks,
            large: true,
            quirks: false,
            bytes_max: 1 << 17,
            ..Limits::default()
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switch = |on| if on { "yes" } else { "no" };
        write!(f, "ranks:{}-{},large:{},", self.ranks_min, self.ranks_max, switch(self.large))?;
        write!(f, "overlap:{},tiles:{},", switch(self.overlap), switch(self.tiles))?;
        write!(f, "padding:{},empty:{},", switch(self.padding), switch(self.empty))?;
        write!(f, "quirks:{},", switch(self.quirks))?;
        write!(f, "bytes:{}", self.bytes_max)
    }
}

impl FromStr for Limits {
    type Err = String;

    /// Reads the text form; what it leaves out is the default.
    fn from_str(text: &str) -> Result<Limits, String> {
        let mut limits = Limits::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) =
                part.split_once(':').ok_or_else(|| format!("limits: {part:?} is not key:value"))?;
            let number =
                |text: &str| text.parse().map_err(|_| format!("limits: {part:?}: {text:?} is not a number"));
            let switch = || match value {
                "yes" => Ok(true),
                "no" => Ok(false),
                _ => Err(format!("limits: {part:?}: yes or no expected")),
            };
            match key {
                "ranks" => {
                    let (min, max) = value.split_once('-').unwrap_or((value, value));
                    limits.ranks_min = number(min)?;
                    limits.ranks_max = number(max)?;
                    if limits.ranks_min == 0 || limits.ranks_max < limits.ranks_min {
                        return Err(format!("limits: {part:?} is not a range of ranks"));
                    }
                }
                "large" => limits.large = switch()?,
                "overlap" => limits.overlap = switch()?,
                "tiles" => limits.tiles = switch()?,
                "padding" => limits.padding = switch()?,
                "empty" => limits.empty = switch()?,
                "quirks" => limits.quirks = switch()?,
                "bytes" => {
                    limits.bytes_max =
                        value.parse().map_err(|_| format!("limits: {part:?} is not a number"))?;
                }
                _ => return Err(format!("limits: {key:?} is not known")),
            }
        }
        Ok(limits)
    }
}
