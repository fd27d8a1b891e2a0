//! A rank's view of the file: from bytes of the stream to bytes of the file.

use crate::spec::TypeSpec;
use crate::typemap::TypeMap;
use serde::{Deserialize, Serialize};

/// The arguments of `MPI_File_set_view`; the data representation is native.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    /// Where the first tile starts, in bytes.
    pub disp: u64,
    /// The unit of offsets.
    pub etype: TypeSpec,
    /// The tile; its size may be 0, and then nothing can be read or written through the view.
    pub filetype: TypeSpec,
}

impl View {
    /// The file byte of each of `bytes` bytes of the stream, from `offset` etypes on. See [`Tiling::file_bytes`].
    pub fn file_bytes(&self, offset: u64, bytes: u64) -> Vec<u64> {
        Tiling::new(self).file_bytes(offset, bytes)
    }
}

/// A view with its types worked out once.
#[derive(Clone, Debug)]
pub struct Tiling {
    disp: i64,
    etype_size: u64,
    extent: i64,
    tile: Vec<i64>,
}

impl Tiling {
    /// Works out a view.
    pub fn new(view: &View) -> Tiling {
        let filetype = TypeMap::of(&view.filetype);
        Tiling {
            disp: crate::typemap::signed(view.disp),
            etype_size: view.etype.size(),
            extent: filetype.extent(),
            tile: filetype.bytes(),
        }
    }

    /// Bytes of data in an etype.
    pub fn etype_size(&self) -> u64 {
        self.etype_size
    }

    /// Bytes of data in a tile.
    pub fn size(&self) -> u64 {
        self.tile.len() as u64
    }

    /// The file byte of each of `bytes` bytes of the stream, from `offset` etypes on: the stream runs through the
    /// filetype's bytes in type-map order, tile after tile, one extent apart (MPI-4.1, section 14.1.1).
    ///
    /// Panics when a byte is before the start of the file, and when bytes are asked of an empty filetype.
    pub fn file_bytes(&self, offset: u64, bytes: u64) -> Vec<u64> {
        let first = offset * self.etype_size;
        (first..first + bytes)
            .map(|stream| {
                let tile = crate::typemap::signed(stream / self.size());
                let within = self.tile[(stream % self.size()) as usize];
                u64::try_from(self.disp + tile * self.extent + within).expect("no byte is before the file")
            })
            .collect()
    }
}
