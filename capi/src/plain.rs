//! A view in the plainest datatypes: what the MPI library gets in place of the program's.
//!
//! The MPI library needs the view for the individual file pointer and for the calls that pass through. It
//! needs the bytes, not the way the program put them together; and the libraries' own flattening of nested
//! types has faults: of a filetype with MPI_DOUBLE_INT in it, of one built by a large-count constructor,
//! ROMIO of MPICH 4.0.2 aborts the job, and indexed blocks of subarrays it misplaces (mpich issue 7169). A
//! list of byte blocks, resized, every library gets right.

use crate::mpi::Datatype;
use tatpio::error::Error;
use tatpio::plan::{Access, View};
use tatpio::units::{Bytes, Offset};

/// Views with more pieces go to the MPI library as the program built them: large views are regular in
/// practice, and lists of their pieces would take the memory that compact views save.
const PIECES_MAX: usize = 1 << 16;

/// Etype and filetype of the same view, or `None` where the program's own will have to do.
///
/// The etype is as many bytes as the program's. A filetype without data, through which nothing can be read or
/// written, becomes the etype, because libraries divide by its size. Local.
pub(crate) fn types(view: &View) -> Result<Option<(Datatype, Datatype)>, Error> {
    let Some(pieces) = pieces(view) else { return Ok(None) };
    let etype = Datatype::of_bytes(view.etype_bytes)?;
    let (size, extent) = (view.filetype.size(), view.filetype.extent());
    let solid = pieces == [(0, size)] && u64::try_from(extent) == Ok(size);
    let filetype = if pieces.is_empty() || solid {
        Datatype::of_bytes(view.etype_bytes)?
    } else {
        Datatype::of_blocks(&pieces, extent)?
    };
    Ok(Some((etype, filetype)))
}

/// Where a tile has data, if it has it in file order, from its start on, and in not too many pieces.
fn pieces(view: &View) -> Option<Vec<(Offset, Bytes)>> {
    let tile = View { displacement: 0, ..view.clone() };
    let access = Access::new(&tile, 0, view.filetype.size()).ok()?;
    let mut pieces = Vec::new();
    let (mut next, mut expected) = (0, 0);
    while let Some((offset, stream, bytes)) = access.piece_from(next) {
        if stream != expected || pieces.len() == PIECES_MAX {
            return None;
        }
        pieces.push((offset, bytes));
        next = offset + bytes;
        expected = stream + bytes;
    }
    (expected == view.filetype.size()).then_some(pieces)
}
