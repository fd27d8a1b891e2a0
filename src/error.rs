//! What can go wrong, as classes that all ranks can agree on and facts that a person can act on.

use crate::units::ByteRange;
use std::fmt;
use std::io;

/// The MPI error class an error belongs to (MPI-4.1, section 14.7). The number is what ranks exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
#[allow(missing_docs)] // each is the MPI class of its name
pub enum ErrorClass {
    Io = 1,
    NoSpace = 2,
    Quota = 3,
    ReadOnly = 4,
    Access = 5,
    NoSuchFile = 6,
    Type = 7,
    Count = 8,
    Arg = 9,
    NoMem = 10,
    Other = 11,
    UnsupportedOperation = 12,
    File = 13,
}

impl ErrorClass {
    /// Every class, for conversions.
    pub const ALL: [ErrorClass; 13] = [
        ErrorClass::Io,
        ErrorClass::NoSpace,
        ErrorClass::Quota,
        ErrorClass::ReadOnly,
        ErrorClass::Access,
        ErrorClass::NoSuchFile,
        ErrorClass::Type,
        ErrorClass::Count,
        ErrorClass::Arg,
        ErrorClass::NoMem,
        ErrorClass::Other,
        ErrorClass::UnsupportedOperation,
        ErrorClass::File,
    ];

    /// The class of a number that another rank sent; `Other` for one it does not know.
    pub fn from_code(code: u64) -> ErrorClass {
        ErrorClass::ALL.into_iter().find(|&class| class as u64 == code).unwrap_or(ErrorClass::Other)
    }

    /// The class of a system call's failure.
    pub fn of(error: &io::Error) -> ErrorClass {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EFBIG) => ErrorClass::NoSpace,
            Some(libc::EDQUOT) => ErrorClass::Quota,
            Some(libc::EROFS) => ErrorClass::ReadOnly,
            Some(libc::EACCES | libc::EPERM) => ErrorClass::Access,
            Some(libc::ENOENT | libc::ENOTDIR) => ErrorClass::NoSuchFile,
            Some(libc::ENOMEM) => ErrorClass::NoMem,
            _ => ErrorClass::Io,
        }
    }
}

/// A failure on this rank, or one that the ranks agreed on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The back end failed to read these bytes.
    Read {
        /// Where in the file.
        range: ByteRange,
        /// What the system said.
        source: io::Error,
    },
    /// The back end failed to write these bytes.
    Write {
        /// Where in the file.
        range: ByteRange,
        /// What the system said.
        source: io::Error,
    },
    /// The file's size could not be read.
    Size(io::Error),
    /// An argument of the call was wrong; the text says which and how.
    Invalid {
        /// The class that MPI gives it.
        class: ErrorClass,
        /// What was wrong.
        what: String,
    },
    /// Another rank failed; all ranks return its class.
    Remote {
        /// The lowest rank that failed.
        rank: crate::units::Rank,
        /// The class it reported.
        class: ErrorClass,
    },
}

impl Error {
    /// The class all ranks return when this is the error they agree on.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Read { source, .. } | Error::Write { source, .. } => ErrorClass::of(source),
            Error::Size(source) => ErrorClass::of(source),
            Error::Invalid { class, .. } | Error::Remote { class, .. } => *class,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { range, source } => write!(f, "reading bytes {range} of the file failed: {source}"),
            Error::Write { range, source } => write!(f, "writing bytes {range} of the file failed: {source}"),
            Error::Size(source) => write!(f, "the size of the file could not be read: {source}"),
            Error::Invalid { what, .. } => f.write_str(what),
            Error::Remote { rank, class } => write!(f, "rank {rank} failed with error class {class:?}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Write { source, .. } => Some(source),
            Error::Size(source) => Some(source),
            Error::Invalid { .. } | Error::Remote { .. } => None,
        }
    }
}
