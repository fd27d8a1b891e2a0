//! What ranks tell each other of a placement, as bytes. Rows and assignments repeat themselves as the access pattern does,
//! so they are compressed: a thousandth of a second's computing saves tens on a slow network.

use serde::{Deserialize, Serialize};

/// The value as bytes for other ranks.
pub(super) fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let plain = postcard::to_stdvec(value).expect("serialising to memory cannot fail");
    lz4_flex::compress_prepend_size(&plain)
}

/// Panics on bytes that [`to_bytes`] of the same library did not make.
pub(super) fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> T {
    let plain = lz4_flex::decompress_size_prepended(bytes).expect("all ranks run the same tatpio");
    postcard::from_bytes(&plain).expect("all ranks run the same tatpio")
}
