//! MPI as the programs use it: every `unsafe` of this crate's programs, each return code checked.
//!
//! Names follow the MPI standard (MPI-4.1, chapter 14 for files). Calls on a [`File`] and a [`Comm`] are
//! collective unless they say otherwise. MPI must stay initialized while any value of this module lives.

mod comm;
mod data;
mod datatype;
mod file;
mod info;

pub use comm::Comm;
pub use data::{Data, Form, Status};
pub use datatype::Datatype;
pub use file::File;
pub use info::Info;

use pmpi_sys::{self as ffi, consts};
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::ptr::null_mut;

/// An MPI call that failed on this rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiError {
    /// Which call.
    pub call: &'static str,
    /// The error class.
    pub class: c_int,
    /// The MPI library's text.
    pub text: String,
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: class {}: {}", self.call, self.class, self.text.replace('\n', " "))
    }
}

impl std::error::Error for MpiError {}

/// The outcome of an MPI call.
pub type Result<T> = std::result::Result<T, MpiError>;

fn check(code: c_int, call: &'static str) -> Result<()> {
    if code == ffi::MPI_SUCCESS {
        return Ok(());
    }
    let (mut class, mut length) = (0, 0);
    let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    // SAFETY: places for two ints; the text has room for MPI_MAX_ERROR_STRING characters and a final zero.
    let known = unsafe {
        ffi::PMPI_Error_class(code, &raw mut class);
        ffi::PMPI_Error_string(code, text.as_mut_ptr(), &raw mut length)
    };
    let text = if known == ffi::MPI_SUCCESS { text_of(&text) } else { format!("error code {code}") };
    Err(MpiError { call, class, text })
}

/// The text up to the first zero, which every caller's spare last element guarantees.
fn text_of(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).expect("a final zero").to_string_lossy().into_owned()
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("no zero bytes in a test's strings")
}

/// MPI, initialized; finalized when dropped. A panic on any rank ends the job.
pub struct Mpi(());

impl Mpi {
    /// Initializes MPI for several threads. Once a program.
    pub fn init() -> Mpi {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            // SAFETY: MPI is initialized right below, before anything that can panic but a broken library.
            unsafe { ffi::PMPI_Abort(consts::comm_world(), 1) };
        }));
        let mut level = 0;
        // SAFETY: the first MPI call; C programs may pass no arguments (MPI-4.1, section 11.2.1).
        let code = unsafe {
            ffi::PMPI_Init_thread(null_mut(), null_mut(), ffi::MPI_THREAD_MULTIPLE, &raw mut level)
        };
        assert_eq!(code, ffi::MPI_SUCCESS);
        Mpi(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: no MPI call follows: values of this module do not outlive this one (module contract).
        assert_eq!(unsafe { ffi::PMPI_Finalize() }, ffi::MPI_SUCCESS);
    }
}

/// How a file is opened: MPI_MODE_*.
pub mod mode {
    pub use pmpi_sys::{
        MPI_MODE_APPEND as APPEND, MPI_MODE_CREATE as CREATE, MPI_MODE_DELETE_ON_CLOSE as DELETE_ON_CLOSE,
        MPI_MODE_EXCL as EXCL, MPI_MODE_RDONLY as RDONLY, MPI_MODE_RDWR as RDWR,
        MPI_MODE_SEQUENTIAL as SEQUENTIAL, MPI_MODE_WRONLY as WRONLY,
    };
}

/// MPI's error classes that the programs compare with.
pub mod class {
    pub use pmpi_sys::{
        MPI_ERR_ACCESS as ACCESS, MPI_ERR_ARG as ARG, MPI_ERR_COUNT as COUNT, MPI_ERR_IO as IO,
        MPI_ERR_NO_SPACE as NO_SPACE, MPI_ERR_READ_ONLY as READ_ONLY, MPI_ERR_TYPE as TYPE,
    };
}
