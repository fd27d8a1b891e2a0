//! A view in the plainest datatypes: what the MPI library gets in place of the program's.
//!
//! The MPI library needs the view for the individual file pointer and for the calls that pass through. It
//! needs the bytes, not the way the program put them together; and the libraries' own flattening of nested
//! types has faults: of a filetype with MPI_DOUBLE_INT in it, of one built by a large-count constructor,
//! ROMIO of MPICH 4.0.2 aborts the job, and indexed blocks of subarrays it misplaces (mpich issue 7169). Rows
//! of bytes every library gets right.

use crate::mpi::Datatype;
use tatpio::error::Error;
use tatpio::plan::{Access, View};
use tatpio::units::{Bytes, Offset};

/// Views that need more parts go to the MPI library as the program built them: lists of their pieces would
/// take the memory that compact views save.
const PARTS_MAX: usize = 1 << 16;

/// A view of more pieces than this is not even looked through, for the time that it takes.
const PIECES_MAX: u64 = 1 << 24;

/// Equal pieces at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where the first piece starts.
    pub at: Offset,
    /// The length of each.
    pub bytes: Bytes,
    /// From start to start; 0 for a single piece.
    pub stride: u64,
    /// How many.
    pub count: u64,
}

/// Etype and filetype of the same view, or `None` where the program's own will have to do.
///
/// The etype is as many bytes as the program's. A filetype without data, through which nothing can be read or
/// written, becomes the etype, because libraries divide by its size. Local.
pub(crate) fn types(view: &View) -> Result<Option<(Datatype, Datatype)>, Error> {
    let Some(parts) = parts(view) else { return Ok(None) };
    let etype = Datatype::of_bytes(view.etype_bytes)?;
    let (size, extent) = (view.filetype.size(), view.filetype.extent());
    let solid =
        parts == [Part { at: 0, bytes: size, stride: 0, count: 1 }] && u64::try_from(extent) == Ok(size);
    let filetype = if parts.is_empty() || solid {
        Datatype::of_bytes(view.etype_bytes)?
    } else {
        Datatype::of_parts(&parts, extent)?
    };
    Ok(Some((etype, filetype)))
}

/// What a tile holds, if it holds it in file order, from its start on, and in not too many parts.
fn parts(view: &View) -> Option<Vec<Part>> {
    let tile = View { displacement: 0, ..view.clone() };
    let access = Access::new(&tile, 0, view.filetype.size()).ok()?;
    let mut parts: Vec<Part> = Vec::new();
    let (mut next, mut expected, mut pieces) = (0, 0, 0);
    while let Some((at, stream, bytes)) = access.piece_from(next) {
        if stream != expected || parts.len() > PARTS_MAX || pieces == PIECES_MAX {
            return None;
        }
        if !parts.last_mut().is_some_and(|part| part.takes(at, bytes)) {
            parts.push(Part { at, bytes, stride: 0, count: 1 });
        }
        (next, expected, pieces) = (at + bytes, stream + bytes, pieces + 1);
    }
    (expected == view.filetype.size()).then_some(parts)
}

impl Part {
    /// Adds the piece that follows, if it continues the regularity.
    fn takes(&mut self, at: Offset, bytes: Bytes) -> bool {
        let fits = bytes == self.bytes && (self.count == 1 || at == self.at + self.stride * self.count);
        if fits {
            self.stride = if self.count == 1 { at - self.at } else { self.stride };
            self.count += 1;
        }
        fits
    }
}
