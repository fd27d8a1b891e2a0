//! MPI as the programs use it: every `unsafe` of this crate's programs, each return code checked.
//!
//! Names follow the MPI standard (MPI-4.1, chapter 14 for files). Calls on a [`File`] and a [`Comm`] are collective unless
//! they say otherwise. MPI must stay initialized while any value of this module lives.

use crate::interposed::*;
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

/// A communicator; one of our own is freed when dropped.
pub struct Comm {
    raw: ffi::MPI_Comm,
    own: bool,
}

impl Comm {
    /// MPI_COMM_WORLD.
    pub fn world() -> Comm {
        Comm { raw: consts::comm_world(), own: false }
    }

    /// MPI_COMM_SELF.
    pub fn itself() -> Comm {
        Comm { raw: consts::comm_self(), own: false }
    }

    /// This process's number. Local.
    pub fn rank(&self) -> usize {
        let mut rank = 0;
        // SAFETY: a live communicator; a place for one int.
        check(unsafe { ffi::PMPI_Comm_rank(self.raw, &raw mut rank) }, "MPI_Comm_rank").expect("a live communicator");
        usize::try_from(rank).expect("not negative")
    }

    /// How many processes there are. Local.
    pub fn size(&self) -> usize {
        let mut size = 0;
        // SAFETY: a live communicator; a place for one int.
        check(unsafe { ffi::PMPI_Comm_size(self.raw, &raw mut size) }, "MPI_Comm_size").expect("a live communicator");
        usize::try_from(size).expect("not negative")
    }

    /// Whether any thread may call MPI at any time. Local.
    pub fn threads_may_call() -> bool {
        let mut level = 0;
        // SAFETY: a place for one int.
        check(unsafe { ffi::PMPI_Query_thread(&raw mut level) }, "MPI_Query_thread").expect("MPI is initialized");
        level == ffi::MPI_THREAD_MULTIPLE
    }

    /// Waits for all.
    pub fn barrier(&self) {
        // SAFETY: a live communicator.
        check(unsafe { ffi::PMPI_Barrier(self.raw) }, "MPI_Barrier").expect("a live communicator");
    }

    /// The largest of the ranks' numbers.
    pub fn max(&self, mine: u64) -> u64 {
        let mut value = mine;
        // SAFETY: one 64-bit word, in place.
        let code = unsafe {
            let (kind, op) = (consts::uint64_t(), consts::op_max());
            ffi::PMPI_Allreduce(consts::in_place(), (&raw mut value).cast(), 1, kind, op, self.raw)
        };
        check(code, "MPI_Allreduce").expect("a live communicator");
        value
    }

    /// Every rank's number, by rank.
    pub fn all(&self, mine: u64) -> Vec<u64> {
        let mut values = vec![0; self.size()];
        // SAFETY: one 64-bit word from every rank, and room for all of them.
        let code = unsafe {
            let kind = consts::uint64_t();
            ffi::PMPI_Allgather((&raw const mine).cast(), 1, kind, values.as_mut_ptr().cast(), 1, kind, self.raw)
        };
        check(code, "MPI_Allgather").expect("a live communicator");
        values
    }

    /// Whether it is true on every rank.
    pub fn all_true(&self, mine: bool) -> bool {
        self.max(u64::from(!mine)) == 0
    }

    /// The ranks that pass the same color.
    pub fn split(&self, color: usize) -> Comm {
        let mut raw = consts::comm_null();
        let color = c_int::try_from(color).expect("a small number");
        // SAFETY: a live communicator; a place for one handle.
        check(unsafe { ffi::PMPI_Comm_split(self.raw, color, 0, &raw mut raw) }, "MPI_Comm_split")
            .expect("a live communicator");
        Comm { raw, own: true }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: our own communicator, freed once.
            check(unsafe { ffi::PMPI_Comm_free(&raw mut self.raw) }, "MPI_Comm_free").expect("freed once");
        }
    }
}

/// Hints.
pub struct Info(ffi::MPI_Info);

impl Info {
    /// MPI_INFO_NULL.
    pub fn null() -> Info {
        Info(consts::info_null())
    }

    /// These keys and values. Local.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> Info {
        let mut raw = consts::info_null();
        // SAFETY: a place for one handle.
        check(unsafe { ffi::PMPI_Info_create(&raw mut raw) }, "MPI_Info_create").expect("memory for an info object");
        for (key, value) in pairs {
            let (key, value) = (c_string(key.as_ref()), c_string(value.as_ref()));
            // SAFETY: a live handle; both strings end in zero and outlive the call.
            check(unsafe { ffi::PMPI_Info_set(raw, key.as_ptr(), value.as_ptr()) }, "MPI_Info_set")
                .expect("keys and values are short");
        }
        Info(raw)
    }

    /// The value of a key. Local.
    pub fn get(&self, key: &str) -> Option<String> {
        let (mut value, mut found) = ([0; ffi::MPI_MAX_INFO_VAL as usize + 1], 0);
        let key = c_string(key);
        // SAFETY: a live handle; the key ends in zero; the value has the announced room and a final zero.
        let code = unsafe {
            ffi::PMPI_Info_get(self.0, key.as_ptr(), ffi::MPI_MAX_INFO_VAL, value.as_mut_ptr(), &raw mut found)
        };
        check(code, "MPI_Info_get").expect("a live info object");
        (found != 0).then(|| text_of(&value))
    }

    /// All keys. Local.
    pub fn keys(&self) -> Vec<String> {
        let mut count = 0;
        // SAFETY: a live handle; a place for one int.
        check(unsafe { ffi::PMPI_Info_get_nkeys(self.0, &raw mut count) }, "MPI_Info_get_nkeys").expect("live");
        let nth = |index| {
            let mut key = [0; ffi::MPI_MAX_INFO_KEY as usize + 1];
            // SAFETY: a live handle; the key has room for MPI_MAX_INFO_KEY characters and a final zero.
            let code = unsafe { ffi::PMPI_Info_get_nthkey(self.0, index, key.as_mut_ptr()) };
            check(code, "MPI_Info_get_nthkey").expect("below the number of keys");
            text_of(&key)
        };
        (0..count).map(nth).collect()
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        if self.0 != consts::info_null() {
            // SAFETY: our own handle, freed once.
            check(unsafe { ffi::PMPI_Info_free(&raw mut self.0) }, "MPI_Info_free").expect("freed once");
        }
    }
}

/// A datatype; a derived one is freed when dropped.
pub struct Datatype {
    pub(crate) raw: ffi::MPI_Datatype,
    pub(crate) derived: bool,
}

impl Datatype {
    /// MPI_BYTE.
    pub fn byte() -> Datatype {
        Datatype { raw: consts::byte(), derived: false }
    }

    /// MPI_INT.
    pub fn int() -> Datatype {
        Datatype { raw: consts::int(), derived: false }
    }

    /// MPI_DOUBLE_INT.
    pub fn double_int() -> Datatype {
        Datatype { raw: consts::double_int(), derived: false }
    }

    /// Blocks of bytes as (length, displacement), tiling at an extent; committed.
    pub fn blocks(blocks: &[(usize, usize)], extent: usize) -> Result<Datatype> {
        let int = |number: usize| c_int::try_from(number).expect("a small number");
        let lengths: Vec<c_int> = blocks.iter().map(|block| int(block.0)).collect();
        let places: Vec<ffi::MPI_Aint> = blocks.iter().map(|block| int(block.1) as ffi::MPI_Aint).collect();
        // SAFETY: the lists have the announced lengths; the constructors write new types.
        let tile = unsafe {
            let list = Datatype::new("MPI_Type_create_hindexed", |new| {
                let (count, lengths, places) = (int(blocks.len()), lengths.as_ptr(), places.as_ptr());
                ffi::PMPI_Type_create_hindexed(count, lengths, places, consts::byte(), new)
            })?;
            Datatype::new("MPI_Type_create_resized", |new| {
                ffi::PMPI_Type_create_resized(list.raw, 0, int(extent) as ffi::MPI_Aint, new)
            })?
        };
        tile.commit()
    }

    /// MPI_Type_vector, committed.
    pub fn strided(count: c_int, block: c_int, stride: c_int, element: &Datatype) -> Result<Datatype> {
        let old = element.raw;
        // SAFETY: a live type; the constructor writes the new one.
        let vector = unsafe {
            Datatype::new("MPI_Type_vector", |new| ffi::PMPI_Type_vector(count, block, stride, old, new))?
        };
        vector.commit()
    }

    /// MPI_DATATYPE_NULL.
    pub fn null() -> Datatype {
        Datatype { raw: consts::datatype_null(), derived: false }
    }

    /// The type that `create`, a call to the constructor of this name, writes into the place it is given.
    ///
    /// # Safety
    ///
    /// `create` writes a new derived datatype whenever it returns MPI_SUCCESS.
    pub(crate) unsafe fn new(
        call: &'static str,
        create: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int,
    ) -> Result<Datatype> {
        let mut raw = consts::datatype_null();
        check(create(&raw mut raw), call)?;
        Ok(Datatype { raw, derived: true })
    }

    /// Makes it usable in I/O. Local.
    pub fn commit(mut self) -> Result<Datatype> {
        // SAFETY: a live handle, which committing does not change.
        check(unsafe { ffi::PMPI_Type_commit(&raw mut self.raw) }, "MPI_Type_commit")?;
        Ok(self)
    }

    /// Size, lower bound and extent, in bytes. Local.
    pub fn measures(&self) -> Result<(u64, i64, i64)> {
        let (mut size, mut lower, mut extent) = (0, 0, 0);
        // SAFETY: a live handle; places for one count each.
        unsafe {
            check(ffi::PMPI_Type_size_x(self.raw, &raw mut size), "MPI_Type_size_x")?;
            check(ffi::PMPI_Type_get_extent_x(self.raw, &raw mut lower, &raw mut extent), "MPI_Type_get_extent_x")?;
        }
        Ok((u64::try_from(size).expect("not negative"), lower, extent))
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if self.derived {
            // SAFETY: our own handle, freed once; MPI keeps what files and other types still need.
            check(unsafe { ffi::PMPI_Type_free(&raw mut self.raw) }, "MPI_Type_free").expect("freed once");
        }
    }
}

/// How a file is opened: MPI_MODE_*.
pub mod mode {
    pub use pmpi_sys::{
        MPI_MODE_APPEND as APPEND, MPI_MODE_CREATE as CREATE, MPI_MODE_DELETE_ON_CLOSE as DELETE_ON_CLOSE,
        MPI_MODE_EXCL as EXCL, MPI_MODE_RDONLY as RDONLY, MPI_MODE_RDWR as RDWR, MPI_MODE_SEQUENTIAL as SEQUENTIAL,
        MPI_MODE_WRONLY as WRONLY,
    };
}

/// MPI's error classes that the programs compare with.
pub mod class {
    pub use pmpi_sys::{
        MPI_ERR_ACCESS as ACCESS, MPI_ERR_ARG as ARG, MPI_ERR_COUNT as COUNT, MPI_ERR_IO as IO, MPI_ERR_NO_SPACE as NO_SPACE,
        MPI_ERR_READ_ONLY as READ_ONLY, MPI_ERR_TYPE as TYPE,
    };
}

/// Which form of a collective call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The plain one.
    Plain,
    /// The one with a large count, where the MPI library has it; else the plain one.
    Large,
    /// `_begin` and `_end`.
    Split,
    /// `_begin` with a large count, where the MPI library has it, and `_end`.
    LargeSplit,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 4] = [Form::Plain, Form::Large, Form::Split, Form::LargeSplit];

    fn is_large(self) -> bool {
        cfg!(large_count) && matches!(self, Form::Large | Form::LargeSplit)
    }

    fn is_split(self) -> bool {
        matches!(self, Form::Split | Form::LargeSplit)
    }
}

/// What a read or write says it did.
pub struct Status(ffi::MPI_Status);

impl Status {
    fn new() -> Status {
        // SAFETY: a status is integers, for which zeros are valid.
        Status(unsafe { std::mem::zeroed() })
    }

    /// Bytes transferred. Local.
    pub fn bytes(&self) -> u64 {
        let mut count = 0;
        // SAFETY: a status that a call filled in; a place for one count.
        let code = unsafe { ffi::PMPI_Get_elements_x(&raw const self.0, consts::byte(), &raw mut count) };
        check(code, "MPI_Get_elements_x").expect("a status of a call that succeeded");
        u64::try_from(count).expect("a number of bytes")
    }

    /// Whole elements transferred (MPI_Get_count); `None` when the last one is not whole. Local.
    pub fn count(&self, datatype: &Datatype) -> Option<u64> {
        let mut count = 0;
        // SAFETY: a status that a call filled in; a live type; a place for one int.
        let code = unsafe { ffi::PMPI_Get_count(&raw const self.0, datatype.raw, &raw mut count) };
        check(code, "MPI_Get_count").expect("a status of a call that succeeded");
        u64::try_from(count).ok().filter(|_| count != ffi::MPI_UNDEFINED)
    }
}

/// The data of a call: `count` elements of a datatype at byte `base` of an allocation.
pub struct Data<'a> {
    /// The allocation.
    pub buffer: &'a mut [u8],
    /// Where in it the buffer address is.
    pub base: usize,
    /// Elements.
    pub count: i64,
    /// Their type: stays inside the allocation.
    pub datatype: &'a Datatype,
}

impl<'a> Data<'a> {
    /// All of a buffer as bytes.
    pub fn bytes(buffer: &'a mut [u8], byte: &'a Datatype) -> Data<'a> {
        let count = i64::try_from(buffer.len()).expect("a buffer in memory");
        Data { buffer, base: 0, count, datatype: byte }
    }
}

/// An open file. It is closed by [`File::close`] only, because that is collective.
pub struct File {
    raw: ffi::MPI_File,
}

// SAFETY: MPI handles belong to the process; which threads may call is the thread level's business (see `Mpi::init`).
unsafe impl Send for File {}
// SAFETY: as above; the calls on one file that two threads make at once are for the MPI library to order.
unsafe impl Sync for File {}
// SAFETY: as for `File`.
unsafe impl Send for Comm {}
// SAFETY: as for `File`.
unsafe impl Sync for Comm {}

impl File {
    /// MPI_File_open.
    pub fn open(comm: &Comm, path: &str, amode: c_int, info: &Info) -> Result<File> {
        let path = c_string(path);
        let mut raw = consts::file_null();
        // SAFETY: live handles; the path ends in zero; a place for one handle.
        check(unsafe { MPI_File_open(comm.raw, path.as_ptr(), amode, info.0, &raw mut raw) }, "MPI_File_open")?;
        Ok(File { raw })
    }

    /// MPI_File_close.
    pub fn close(mut self) -> Result<()> {
        // SAFETY: an open file, whose handle nobody uses again.
        check(unsafe { MPI_File_close(&raw mut self.raw) }, "MPI_File_close")
    }

    /// MPI_File_set_view.
    pub fn set_view(&self, disp: u64, etype: &Datatype, filetype: &Datatype, datarep: &str, info: &Info) -> Result<()> {
        let disp = ffi::MPI_Offset::try_from(disp).expect("an offset");
        let datarep = c_string(datarep);
        // SAFETY: an open file, live types, a C string.
        let code =
            unsafe { MPI_File_set_view(self.raw, disp, etype.raw, filetype.raw, datarep.as_ptr(), info.0) };
        check(code, "MPI_File_set_view")
    }

    /// MPI_File_get_view: displacement, etype, filetype, data representation. Local.
    pub fn view(&self) -> Result<(u64, Datatype, Datatype, String)> {
        let (mut disp, mut datarep) = (0, [0; ffi::MPI_MAX_DATAREP_STRING as usize + 1]);
        let (mut etype, mut filetype) = (consts::datatype_null(), consts::datatype_null());
        // SAFETY: an open file; places for an offset and two handles, and room for MPI_MAX_DATAREP_STRING characters.
        let code = unsafe {
            let (etype, filetype) = (&raw mut etype, &raw mut filetype);
            MPI_File_get_view(self.raw, &raw mut disp, etype, filetype, datarep.as_mut_ptr())
        };
        check(code, "MPI_File_get_view")?;
        let ours = |raw| Datatype { raw, derived: raw != consts::byte() && raw != consts::double_int() };
        Ok((u64::try_from(disp).expect("not negative"), ours(etype), ours(filetype), text_of(&datarep)))
    }

    /// Gives the file an error handler that counts its calls and asks MPI about the file; returns how to read the count.
    /// Local.
    pub fn count_errors(&self) -> impl Fn() -> u32 + use<> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static CALLS: AtomicU32 = AtomicU32::new(0);
        unsafe extern "C" fn count(fh: *mut ffi::MPI_File, _code: *mut c_int) {
            CALLS.fetch_add(1, Ordering::Relaxed);
            // SAFETY: MPI passes the handle of an open file; it is not closed here.
            let file = File { raw: unsafe { *fh } };
            file.info().expect("an open file");
            file.position().expect("an open file");
        }
        let mut handler = consts::errhandler_null();
        // SAFETY: MPI's handlers are variadic, with two arguments that are always there; to take those alone is sound where
        // the caller clears the stack, as in the C calling conventions of Unix. The handle is freed once; the file keeps it.
        unsafe {
            let count: unsafe extern "C" fn(*mut ffi::MPI_File, *mut c_int) = count;
            let variadic: unsafe extern "C" fn(*mut ffi::MPI_File, *mut c_int, ...) = std::mem::transmute(count);
            check(ffi::PMPI_File_create_errhandler(Some(variadic), &raw mut handler), "MPI_File_create_errhandler")
                .expect("memory for a handler");
            check(ffi::PMPI_File_set_errhandler(self.raw, handler), "MPI_File_set_errhandler").expect("an open file");
            check(ffi::PMPI_Errhandler_free(&raw mut handler), "MPI_Errhandler_free").expect("freed once");
        }
        let before = CALLS.load(Ordering::Relaxed);
        move || CALLS.load(Ordering::Relaxed) - before
    }

    /// MPI_File_set_info.
    pub fn set_info(&self, info: &Info) -> Result<()> {
        // SAFETY: an open file and a live info object.
        check(unsafe { MPI_File_set_info(self.raw, info.0) }, "MPI_File_set_info")
    }

    /// MPI_File_get_info. Local.
    pub fn info(&self) -> Result<Info> {
        let mut raw = consts::info_null();
        // SAFETY: an open file; a place for one handle.
        check(unsafe { MPI_File_get_info(self.raw, &raw mut raw) }, "MPI_File_get_info")?;
        Ok(Info(raw))
    }

    /// MPI_File_set_atomicity.
    pub fn set_atomicity(&self, on: bool) -> Result<()> {
        // SAFETY: an open file.
        check(unsafe { MPI_File_set_atomicity(self.raw, c_int::from(on)) }, "MPI_File_set_atomicity")
    }

    /// MPI_File_sync.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: an open file.
        check(unsafe { MPI_File_sync(self.raw) }, "MPI_File_sync")
    }

    /// MPI_File_set_size.
    pub fn set_size(&self, size: u64) -> Result<()> {
        let size = ffi::MPI_Offset::try_from(size).expect("an offset");
        // SAFETY: an open file.
        check(unsafe { ffi::PMPI_File_set_size(self.raw, size) }, "MPI_File_set_size")
    }

    /// MPI_File_preallocate.
    pub fn preallocate(&self, size: u64) -> Result<()> {
        let size = ffi::MPI_Offset::try_from(size).expect("an offset");
        // SAFETY: an open file.
        check(unsafe { ffi::PMPI_File_preallocate(self.raw, size) }, "MPI_File_preallocate")
    }

    /// MPI_File_get_size. Local.
    pub fn size(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: an open file; a place for one offset.
        check(unsafe { ffi::PMPI_File_get_size(self.raw, &raw mut size) }, "MPI_File_get_size")?;
        Ok(u64::try_from(size).expect("not negative"))
    }

    /// MPI_File_get_position. Local.
    pub fn position(&self) -> Result<u64> {
        let mut offset = 0;
        // SAFETY: an open file; a place for one offset.
        check(unsafe { ffi::PMPI_File_get_position(self.raw, &raw mut offset) }, "MPI_File_get_position")?;
        Ok(u64::try_from(offset).expect("not negative"))
    }

    /// MPI_File_seek, from the beginning of the view. Local.
    pub fn seek(&self, offset: u64) -> Result<()> {
        let offset = ffi::MPI_Offset::try_from(offset).expect("an offset");
        // SAFETY: an open file.
        check(unsafe { ffi::PMPI_File_seek(self.raw, offset, ffi::MPI_SEEK_SET) }, "MPI_File_seek")
    }

    /// MPI_File_write, at the individual file pointer. Local.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let count = c_int::try_from(bytes.len()).expect("a small buffer");
        let mut status = Status::new();
        // SAFETY: an open file; the buffer is read for its length.
        let code = unsafe {
            ffi::PMPI_File_write(self.raw, bytes.as_ptr().cast(), count, consts::byte(), &raw mut status.0)
        };
        check(code, "MPI_File_write")
    }

    /// MPI_File_read_at. Local.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<u64> {
        let count = c_int::try_from(bytes.len()).expect("a small buffer");
        let offset = ffi::MPI_Offset::try_from(offset).expect("an offset");
        let mut status = Status::new();
        // SAFETY: an open file; the buffer is written for its length.
        let code = unsafe {
            ffi::PMPI_File_read_at(self.raw, offset, bytes.as_mut_ptr().cast(), count, consts::byte(), &raw mut status.0)
        };
        check(code, "MPI_File_read_at")?;
        Ok(status.bytes())
    }

    /// MPI_File_write_all, or MPI_File_write_at_all where an offset (in etypes) is given.
    pub fn write_all(&self, form: Form, offset: Option<i64>, data: Data<'_>) -> Result<Status> {
        self.transfer(true, form, offset, data)
    }

    /// MPI_File_read_all, or MPI_File_read_at_all where an offset (in etypes) is given.
    pub fn read_all(&self, form: Form, offset: Option<i64>, data: Data<'_>) -> Result<Status> {
        self.transfer(false, form, offset, data)
    }

    fn transfer(&self, write: bool, form: Form, offset: Option<i64>, data: Data<'_>) -> Result<Status> {
        if form.is_split() {
            self.begin(write, form, offset, &data)?;
            return self.end(write, offset.is_some(), &data);
        }
        let mut status = Status::new();
        let (out, place) = (data.place(), &raw mut status.0);
        let (fh, kind) = (self.raw, data.datatype.raw);
        if form.is_large() {
            let code = large::transfer(fh, write, offset, &data, place);
            return check(code, "MPI_File_*_all_c").map(|()| status);
        }
        let count = c_int::try_from(data.count).expect("a small count");
        // SAFETY: an open file; the elements stay inside the allocation (the contract of `Data`), which lives and is ours
        // alone until the call returns.
        let code = unsafe {
            match (write, offset) {
                (true, None) => MPI_File_write_all(fh, out, count, kind, place),
                (true, Some(at)) => MPI_File_write_at_all(fh, at, out, count, kind, place),
                (false, None) => MPI_File_read_all(fh, out, count, kind, place),
                (false, Some(at)) => MPI_File_read_at_all(fh, at, out, count, kind, place),
            }
        };
        check(code, "MPI_File_*_all").map(|()| status)
    }

    /// The `_begin` of a split collective. The data must stay until its end.
    pub fn begin(&self, write: bool, form: Form, offset: Option<i64>, data: &Data<'_>) -> Result<()> {
        let (fh, out, kind) = (self.raw, data.place(), data.datatype.raw);
        if form.is_large() {
            return check(large::begin(fh, write, offset, data), "MPI_File_*_all_begin_c");
        }
        let count = c_int::try_from(data.count).expect("a small count");
        // SAFETY: an open file; the elements stay inside the allocation (the contract of `Data`), which callers keep alone
        // until the matching end.
        let code = unsafe {
            match (write, offset) {
                (true, None) => MPI_File_write_all_begin(fh, out, count, kind),
                (true, Some(at)) => MPI_File_write_at_all_begin(fh, at, out, count, kind),
                (false, None) => MPI_File_read_all_begin(fh, out, count, kind),
                (false, Some(at)) => MPI_File_read_at_all_begin(fh, at, out, count, kind),
            }
        };
        check(code, "MPI_File_*_all_begin")
    }

    /// The `_end` of a split collective.
    pub fn end(&self, write: bool, at: bool, data: &Data<'_>) -> Result<Status> {
        let mut status = Status::new();
        let (fh, out, place) = (self.raw, data.place(), &raw mut status.0);
        // SAFETY: an open file; the data of the matching begin.
        let code = unsafe {
            match (write, at) {
                (true, false) => MPI_File_write_all_end(fh, out, place),
                (true, true) => MPI_File_write_at_all_end(fh, out, place),
                (false, false) => MPI_File_read_all_end(fh, out, place),
                (false, true) => MPI_File_read_at_all_end(fh, out, place),
            }
        };
        check(code, "MPI_File_*_all_end").map(|()| status)
    }
}

impl Data<'_> {
    /// The buffer address.
    fn place(&self) -> *mut std::ffi::c_void {
        self.buffer.as_ptr().wrapping_add(self.base).cast_mut().cast()
    }
}

/// The calls with large counts.
#[cfg(large_count)]
mod large {
    use super::*;

    pub fn transfer(
        fh: ffi::MPI_File,
        write: bool,
        offset: Option<i64>,
        data: &Data<'_>,
        status: *mut ffi::MPI_Status,
    ) -> c_int {
        let (out, count, kind) = (data.place(), data.count, data.datatype.raw);
        // SAFETY: as for the plain calls.
        unsafe {
            match (write, offset) {
                (true, None) => MPI_File_write_all_c(fh, out, count, kind, status),
                (true, Some(at)) => MPI_File_write_at_all_c(fh, at, out, count, kind, status),
                (false, None) => MPI_File_read_all_c(fh, out, count, kind, status),
                (false, Some(at)) => MPI_File_read_at_all_c(fh, at, out, count, kind, status),
            }
        }
    }

    pub fn begin(fh: ffi::MPI_File, write: bool, offset: Option<i64>, data: &Data<'_>) -> c_int {
        let (out, count, kind) = (data.place(), data.count, data.datatype.raw);
        // SAFETY: as for the plain calls.
        unsafe {
            match (write, offset) {
                (true, None) => MPI_File_write_all_begin_c(fh, out, count, kind),
                (true, Some(at)) => MPI_File_write_at_all_begin_c(fh, at, out, count, kind),
                (false, None) => MPI_File_read_all_begin_c(fh, out, count, kind),
                (false, Some(at)) => MPI_File_read_at_all_begin_c(fh, at, out, count, kind),
            }
        }
    }
}

/// Never asked for where the MPI library has none: see [`Form::is_large`].
#[cfg(not(large_count))]
mod large {
    use super::*;

    pub fn transfer(
        _: ffi::MPI_File,
        _: bool,
        _: Option<i64>,
        _: &Data<'_>,
        _: *mut ffi::MPI_Status,
    ) -> c_int {
        unreachable!("no large counts here")
    }

    pub fn begin(_: ffi::MPI_File, _: bool, _: Option<i64>, _: &Data<'_>) -> c_int {
        unreachable!("no large counts here")
    }
}
