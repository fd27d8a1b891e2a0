//! The MPI-IO calls of the benchmarks: every `unsafe` of this crate, each return code checked.
//!
//! Names follow the MPI standard; MPI-4.1, chapter 14 is the reference. Calls marked *collective* must be
//! made by all ranks of the file's communicator. MPI must stay initialized while any value of this module
//! lives.

use crate::partition::Block;
use mpi::ffi;
use mpi::topology::Communicator;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::mem::MaybeUninit;

/// An MPI call that failed on this rank.
#[derive(Debug)]
pub struct MpiError {
    call: &'static str,
    subject: String,
    text: String,
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}): {}", self.call, self.subject, self.text)
    }
}

impl std::error::Error for MpiError {}

/// The outcome of an MPI call.
pub type Result<T> = std::result::Result<T, MpiError>;

/// Turns a return code into a result; `subject` says what the call was about.
fn check(code: c_int, call: &'static str, subject: &str) -> Result<()> {
    if u32::try_from(code) == Ok(ffi::MPI_SUCCESS) {
        return Ok(());
    }
    Err(MpiError { call, subject: subject.to_owned(), text: error_text(code) })
}

fn error_text(code: c_int) -> String {
    let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut len = 0;
    // SAFETY: MPI_Error_string writes at most MPI_MAX_ERROR_STRING characters and a final zero; `text` has
    // that room.
    let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut len) };
    if u32::try_from(known) == Ok(ffi::MPI_SUCCESS) { text_of(&text) } else { format!("error code {code}") }
}

/// The text up to the first zero; `buffer` must hold one, which the callers' spare last element guarantees.
fn text_of(buffer: &[c_char]) -> String {
    // SAFETY: every caller passes a zeroed array one longer than MPI may fill, so a zero lies inside it; the
    // slice keeps it alive and unchanged through this call.
    unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned()
}

fn c_string(text: &str, call: &'static str) -> Result<CString> {
    CString::new(text).map_err(|_| MpiError {
        call,
        subject: format!("{text:?}"),
        text: "a zero byte inside the text".to_owned(),
    })
}

fn mode(flags: u32) -> c_int {
    c_int::try_from(flags).expect("MPI_MODE_* are small")
}

/// How to cut `ranks` parts out of three dimensions, largest first (MPI_Dims_create). Local.
pub fn dims_create(ranks: i32) -> Result<[u64; 3]> {
    let mut dims: [c_int; 3] = [0; 3];
    // SAFETY: `dims` has the three elements announced, and zeros mean that MPI chooses them.
    let code = unsafe { ffi::MPI_Dims_create(ranks, 3, dims.as_mut_ptr()) };
    check(code, "MPI_Dims_create", &format!("{ranks} ranks"))?;
    Ok(dims.map(|dim| u64::try_from(dim).expect("MPI_Dims_create gives positive numbers")))
}

/// Hints for MPI_File_open. Local.
pub struct Info(ffi::MPI_Info);

impl Info {
    /// An info object with these keys and values.
    pub fn new(hints: &[(String, String)]) -> Result<Info> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: MPI_Info_create writes the handle it is given a place for; it is read only after success.
        let info = unsafe {
            check(ffi::MPI_Info_create(raw.as_mut_ptr()), "MPI_Info_create", "")?;
            Info(raw.assume_init())
        };
        for (key, value) in hints {
            let (c_key, c_value) = (c_string(key, "MPI_Info_set")?, c_string(value, "MPI_Info_set")?);
            // SAFETY: the handle is live until drop; both strings end in zero and outlive the call.
            let code = unsafe { ffi::MPI_Info_set(info.0, c_key.as_ptr(), c_value.as_ptr()) };
            check(code, "MPI_Info_set", &format!("{key}={value}"))?;
        }
        Ok(info)
    }

    /// All keys with their values.
    fn entries(&self) -> Result<BTreeMap<String, String>> {
        const KEY: usize = ffi::MPI_MAX_INFO_KEY as usize;
        const VALUE: usize = ffi::MPI_MAX_INFO_VAL as usize;
        let mut count = 0;
        // SAFETY: the handle is live until drop and `count` is a place for one int.
        let code = unsafe { ffi::MPI_Info_get_nkeys(self.0, &mut count) };
        check(code, "MPI_Info_get_nkeys", "")?;
        let mut entries = BTreeMap::new();
        for nth in 0..count {
            let (mut key, mut value, mut found) = ([0; KEY + 1], [0; VALUE + 1], 0);
            let room = c_int::try_from(VALUE).expect("MPI_MAX_INFO_VAL is small");
            // SAFETY: `key` has room for MPI_MAX_INFO_KEY characters and a zero, `value` for `room`
            // characters and a zero, as the two calls require; the first call wrote the key that the second
            // reads.
            unsafe {
                let code = ffi::MPI_Info_get_nthkey(self.0, nth, key.as_mut_ptr());
                check(code, "MPI_Info_get_nthkey", &nth.to_string())?;
                let code = ffi::MPI_Info_get(self.0, key.as_ptr(), room, value.as_mut_ptr(), &mut found);
                check(code, "MPI_Info_get", &text_of(&key))?;
            }
            if found != 0 {
                entries.insert(text_of(&key), text_of(&value));
            }
        }
        Ok(entries)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: the handle came from MPI and is freed once, here. A failure leaks a few bytes: nothing to
        // be done.
        let _ = unsafe { ffi::MPI_Info_free(&mut self.0) };
    }
}

/// A derived datatype, freed on drop.
struct Derived(ffi::MPI_Datatype);

impl Derived {
    /// The type that `create`, a call to the MPI constructor of this name, writes into the place it is given.
    ///
    /// # Safety
    /// `create` must write a new derived datatype whenever it returns MPI_SUCCESS.
    unsafe fn new(
        call: &'static str,
        subject: &str,
        create: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int,
    ) -> Result<Derived> {
        let mut raw = MaybeUninit::uninit();
        check(create(raw.as_mut_ptr()), call, subject)?;
        // SAFETY: `create` succeeded, so it wrote the handle (this function's contract).
        Ok(Derived(unsafe { raw.assume_init() }))
    }

    /// One block of an array of edge `n` of doubles.
    fn subarray(n: u64, block: &Block) -> Result<Derived> {
        let call = "MPI_Type_create_subarray";
        let subject = format!("{block:?} of edge {n}");
        let int = |value| {
            let text = "does not fit MPI's 32-bit counts".to_owned();
            c_int::try_from(value).map_err(|_| MpiError { call, subject: format!("{value}"), text })
        };
        let [z, y, x] = block.count;
        let [z0, y0, x0] = block.start;
        let sizes = [int(n)?; 3];
        let (counts, starts) = ([int(z)?, int(y)?, int(x)?], [int(z0)?, int(y0)?, int(x0)?]);
        let order = c_int::try_from(ffi::MPI_ORDER_C).expect("MPI_ORDER_C is small");
        // SAFETY: the three arrays have the three elements announced, and the constructor writes the new
        // handle.
        unsafe {
            Derived::new(call, &subject, |raw| {
                let (sizes, counts, starts) = (sizes.as_ptr(), counts.as_ptr(), starts.as_ptr());
                ffi::MPI_Type_create_subarray(3, sizes, counts, starts, order, ffi::RSMPI_DOUBLE, raw)
            })
        }
    }

    /// All of `parts`, each at displacement 0.
    fn overlay(parts: &[Derived]) -> Result<Derived> {
        let count = c_int::try_from(parts.len()).expect("as many cells as the root of the rank count");
        let (lengths, displacements) = (vec![1; parts.len()], vec![0; parts.len()]);
        let types: Vec<ffi::MPI_Datatype> = parts.iter().map(|part| part.0).collect();
        // SAFETY: the three arrays have `count` elements, the types are live, and the constructor writes the
        // new handle.
        unsafe {
            Derived::new("MPI_Type_create_struct", &format!("{count} subarrays"), |raw| {
                let (lengths, displacements) = (lengths.as_ptr(), displacements.as_ptr());
                ffi::MPI_Type_create_struct(count, lengths, displacements, types.as_ptr(), raw)
            })
        }
    }
}

impl Drop for Derived {
    fn drop(&mut self) {
        // SAFETY: the handle came from an MPI constructor and is freed once, here; MPI keeps what files still
        // need.
        let _ = unsafe { ffi::MPI_Type_free(&mut self.0) };
    }
}

/// The filetype of a view: the doubles of some blocks of an array. Local.
pub struct FileType(Option<Derived>);

impl FileType {
    /// The doubles of `blocks`, which must be in file order, within an array of edge `n`. Successive passes
    /// over the view move on to the next array in the file.
    ///
    /// A block without elements is left out, because MPI knows no empty subarray; without any block the view
    /// is of plain doubles, of which the rank then transfers none.
    pub fn new(n: u64, blocks: &[Block]) -> Result<FileType> {
        let full = blocks.iter().filter(|block| block.volume() > 0);
        let mut parts = full.map(|block| Derived::subarray(n, block)).collect::<Result<Vec<_>>>()?;
        let filetype = match parts.len() {
            0 => return Ok(FileType(None)),
            1 => parts.remove(0),
            _ => Derived::overlay(&parts)?,
        };
        let mut raw = filetype.0;
        // SAFETY: the handle is live; committing does not change it.
        check(unsafe { ffi::MPI_Type_commit(&mut raw) }, "MPI_Type_commit", "")?;
        Ok(FileType(Some(filetype)))
    }

    /// All doubles of the file. Local.
    pub fn everything() -> FileType {
        FileType(None)
    }

    fn raw(&self) -> ffi::MPI_Datatype {
        // SAFETY: RSMPI_DOUBLE is a constant that rsmpi's shim initializes at load time.
        self.0.as_ref().map_or(unsafe { ffi::RSMPI_DOUBLE }, |derived| derived.0)
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Created if missing, kept as it is otherwise; readable too, as data sieving needs it.
    Write,
    /// Must exist.
    Read,
}

/// An open file. Closing is collective, so it is never implied: a file that is dropped stays open.
pub struct File {
    raw: ffi::MPI_File,
    path: String,
}

impl File {
    /// Opens a file. Collective over `comm`.
    pub fn open(comm: &impl Communicator, path: &str, open_for: Mode, info: &Info) -> Result<File> {
        let c_path = c_string(path, "MPI_File_open")?;
        let flags = match open_for {
            Mode::Write => ffi::MPI_MODE_RDWR | ffi::MPI_MODE_CREATE,
            Mode::Read => ffi::MPI_MODE_RDONLY,
        };
        let mut raw = MaybeUninit::uninit();
        // SAFETY: communicator and info are live, the path ends in zero, and the handle is read only after
        // success.
        unsafe {
            let code =
                ffi::MPI_File_open(comm.as_raw(), c_path.as_ptr(), mode(flags), info.0, raw.as_mut_ptr());
            check(code, "MPI_File_open", path)?;
            Ok(File { raw: raw.assume_init(), path: path.to_owned() })
        }
    }

    /// Shows the doubles of `filetype` and nothing else. Collective.
    pub fn set_view(&self, filetype: &FileType) -> Result<()> {
        // SAFETY: the file is open, both datatypes are committed, the data representation is a C string, and
        // MPI_INFO_NULL means no hints.
        let code = unsafe {
            let (etype, native) = (ffi::RSMPI_DOUBLE, c"native".as_ptr());
            ffi::MPI_File_set_view(self.raw, 0, etype, filetype.raw(), native, ffi::RSMPI_INFO_NULL)
        };
        check(code, "MPI_File_set_view", &self.path)
    }

    /// Writes `buffer` where the view's file pointer stands. Collective. A short write is an error.
    pub fn write_all(&self, buffer: &[f64]) -> Result<()> {
        let call = "MPI_File_write_all";
        let count = self.count(buffer, call)?;
        let mut status = MaybeUninit::uninit();
        // SAFETY: `buffer` holds `count` doubles through the call, and the status is a place for one.
        let code = unsafe {
            let buffer = buffer.as_ptr().cast();
            ffi::MPI_File_write_all(self.raw, buffer, count, ffi::RSMPI_DOUBLE, status.as_mut_ptr())
        };
        check(code, call, &self.path)?;
        self.transferred(&status, count, call)
    }

    /// Reads into `buffer` from where the view's file pointer stands. Collective. A short read is an error.
    pub fn read_all(&self, buffer: &mut [f64]) -> Result<()> {
        let call = "MPI_File_read_all";
        let count = self.count(buffer, call)?;
        let mut status = MaybeUninit::uninit();
        // SAFETY: `buffer` has room for `count` doubles, any bytes are a double, and the status is a place
        // for one.
        let code = unsafe {
            let buffer = buffer.as_mut_ptr().cast();
            ffi::MPI_File_read_all(self.raw, buffer, count, ffi::RSMPI_DOUBLE, status.as_mut_ptr())
        };
        check(code, call, &self.path)?;
        self.transferred(&status, count, call)
    }

    /// Reads into `buffer` from a double of the view on, leaving the file pointer alone. Local. A short read
    /// is an error.
    pub fn read_at(&self, first: u64, buffer: &mut [f64]) -> Result<()> {
        let call = "MPI_File_read_at";
        let count = self.count(buffer, call)?;
        let offset = ffi::MPI_Offset::try_from(first).expect("within a file");
        let mut status = MaybeUninit::uninit();
        // SAFETY: `buffer` has room for `count` doubles, any bytes are a double, and the status is a place
        // for one.
        let code = unsafe {
            let buffer = buffer.as_mut_ptr().cast();
            ffi::MPI_File_read_at(self.raw, offset, buffer, count, ffi::RSMPI_DOUBLE, status.as_mut_ptr())
        };
        check(code, call, &self.path)?;
        self.transferred(&status, count, call)
    }

    /// Moves this rank's file pointer back to the start of its view. Local.
    pub fn rewind(&self) -> Result<()> {
        // SAFETY: the file is open.
        let code = unsafe { ffi::MPI_File_seek(self.raw, 0, mode(ffi::MPI_SEEK_SET)) };
        check(code, "MPI_File_seek", &self.path)
    }

    /// Sends what was written to the storage device. Collective.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the file is open.
        check(unsafe { ffi::MPI_File_sync(self.raw) }, "MPI_File_sync", &self.path)
    }

    /// The size in bytes. Local.
    pub fn size(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: the file is open and `size` is a place for one offset.
        let code = unsafe { ffi::MPI_File_get_size(self.raw, &mut size) };
        check(code, "MPI_File_get_size", &self.path)?;
        Ok(u64::try_from(size).expect("a file size is not negative"))
    }

    /// The hints that the implementation says are in use. Local.
    pub fn hints_in_use(&self) -> Result<BTreeMap<String, String>> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the file is open; the handle is read only after success, and `Info` frees it.
        let info = unsafe {
            check(ffi::MPI_File_get_info(self.raw, raw.as_mut_ptr()), "MPI_File_get_info", &self.path)?;
            Info(raw.assume_init())
        };
        info.entries()
    }

    /// Closes the file. Collective.
    pub fn close(mut self) -> Result<()> {
        // SAFETY: the file is open, and `self` is consumed, so nobody uses the handle again.
        check(unsafe { ffi::MPI_File_close(&mut self.raw) }, "MPI_File_close", &self.path)
    }

    fn count(&self, buffer: &[f64], call: &'static str) -> Result<c_int> {
        let text = format!("{} doubles do not fit MPI's 32-bit counts: use more ranks", buffer.len());
        c_int::try_from(buffer.len()).map_err(|_| MpiError { call, subject: self.path.clone(), text })
    }

    /// Compares the count in a status with the one asked for.
    fn transferred(
        &self,
        status: &MaybeUninit<ffi::MPI_Status>,
        count: c_int,
        call: &'static str,
    ) -> Result<()> {
        let mut done = 0;
        // SAFETY: the call that succeeded before filled in the status.
        let code = unsafe { ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_DOUBLE, &mut done) };
        check(code, "MPI_Get_count", &self.path)?;
        if done == count {
            return Ok(());
        }
        let text = format!("transferred {done} of {count} doubles");
        Err(MpiError { call, subject: self.path.clone(), text })
    }
}

/// Deletes a file. Local: one rank does it, between barriers.
pub fn delete(path: &str) -> Result<()> {
    let c_path = c_string(path, "MPI_File_delete")?;
    // SAFETY: the path ends in zero, and MPI_INFO_NULL means no hints.
    let code = unsafe { ffi::MPI_File_delete(c_path.as_ptr(), ffi::RSMPI_INFO_NULL) };
    check(code, "MPI_File_delete", path)
}
