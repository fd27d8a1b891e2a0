//! Files.

use super::{Comm, Data, Datatype, Form, Info, Result, Status, c_string, check, text_of};
use crate::interposed::*;
use pmpi_sys::{self as ffi, consts};
use std::ffi::c_int;

/// An open file. It is closed by [`File::close`] only, because that is collective.
pub struct File {
    raw: ffi::MPI_File,
}

// SAFETY: MPI handles belong to the process; which threads may call is the thread level's business (see
// `Mpi::init`).
unsafe impl Send for File {}
// SAFETY: as above; the calls on one file that two threads make at once are for the MPI library to order.
unsafe impl Sync for File {}

impl File {
    /// MPI_File_open.
    pub fn open(comm: &Comm, path: &str, amode: c_int, info: &Info) -> Result<File> {
        let path = c_string(path);
        let mut raw = consts::file_null();
        // SAFETY: live handles; the path ends in zero; a place for one handle.
        check(
            unsafe { MPI_File_open(comm.raw, path.as_ptr(), amode, info.0, &raw mut raw) },
            "MPI_File_open",
        )?;
        Ok(File { raw })
    }

    /// MPI_File_close.
    pub fn close(mut self) -> Result<()> {
        // SAFETY: an open file, whose handle nobody uses again.
        check(unsafe { MPI_File_close(&raw mut self.raw) }, "MPI_File_close")
    }

    /// MPI_File_set_view.
    pub fn set_view(
        &self,
        disp: u64,
        etype: &Datatype,
        filetype: &Datatype,
        datarep: &str,
        info: &Info,
    ) -> Result<()> {
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
        // SAFETY: an open file; places for an offset and two handles, and room for MPI_MAX_DATAREP_STRING
        // characters.
        let code = unsafe {
            let (etype, filetype) = (&raw mut etype, &raw mut filetype);
            MPI_File_get_view(self.raw, &raw mut disp, etype, filetype, datarep.as_mut_ptr())
        };
        check(code, "MPI_File_get_view")?;
        let ours = |raw| Datatype { raw, derived: raw != consts::byte() && raw != consts::double_int() };
        Ok((u64::try_from(disp).expect("not negative"), ours(etype), ours(filetype), text_of(&datarep)))
    }

    /// Gives the file an error handler that counts its calls and asks MPI about the file; returns how to read
    /// the count. Local.
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
        // SAFETY: MPI's handlers are variadic, with two arguments that are always there; to take those alone
        // is sound where the caller clears the stack, as in the C calling conventions of Unix. The handle is
        // freed once; the file keeps it.
        unsafe {
            let count: unsafe extern "C" fn(*mut ffi::MPI_File, *mut c_int) = count;
            let variadic: unsafe extern "C" fn(*mut ffi::MPI_File, *mut c_int, ...) =
                std::mem::transmute(count);
            check(
                ffi::PMPI_File_create_errhandler(Some(variadic), &raw mut handler),
                "MPI_File_create_errhandler",
            )
            .expect("memory for a handler");
            check(ffi::PMPI_File_set_errhandler(self.raw, handler), "MPI_File_set_errhandler")
                .expect("an open file");
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
            ffi::PMPI_File_read_at(
                self.raw,
                offset,
                bytes.as_mut_ptr().cast(),
                count,
                consts::byte(),
                &raw mut status.0,
            )
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
        // SAFETY: an open file; the elements stay inside the allocation (the contract of `Data`), which lives
        // and is ours alone until the call returns.
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
        // SAFETY: an open file; the elements stay inside the allocation (the contract of `Data`), which
        // callers keep alone until the matching end.
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
