//! The calls that libtatpio interposes, under the names that programs use. All others are called by their profiling names,
//! which are the same functions.

use pmpi_sys::*;
use std::ffi::{c_char, c_int, c_void};

/// Declares functions, and fails to compile where mpi.h declares their profiling twins otherwise.
macro_rules! calls {
    ($($name:ident / $twin:ident($($argument:ident: $type:ty),*);)*) => {
        unsafe extern "C" {
            $(pub fn $name($($argument: $type),*) -> c_int;)*
        }
        const _: () = {
            $(let _: [unsafe extern "C" fn($($type),*) -> c_int; 2] = [$name, $twin];)*
        };
    };
}

calls! {
    MPI_File_open / PMPI_File_open(comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File);
    MPI_File_close / PMPI_File_close(fh: *mut MPI_File);
    MPI_File_set_view / PMPI_File_set_view(fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype, datarep: *const c_char, info: MPI_Info);
    MPI_File_get_view / PMPI_File_get_view(fh: MPI_File, disp: *mut MPI_Offset, etype: *mut MPI_Datatype, filetype: *mut MPI_Datatype, datarep: *mut c_char);
    MPI_File_set_info / PMPI_File_set_info(fh: MPI_File, info: MPI_Info);
    MPI_File_get_info / PMPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info);
    MPI_File_set_atomicity / PMPI_File_set_atomicity(fh: MPI_File, flag: c_int);
    MPI_File_sync / PMPI_File_sync(fh: MPI_File);
    MPI_File_write_all / PMPI_File_write_all(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_write_all_begin / PMPI_File_write_all_begin(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype);
    MPI_File_write_all_end / PMPI_File_write_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status);
    MPI_File_write_at_all / PMPI_File_write_at_all(fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_write_at_all_begin / PMPI_File_write_at_all_begin(fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype);
    MPI_File_write_at_all_end / PMPI_File_write_at_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status);
    MPI_File_read_all / PMPI_File_read_all(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_read_all_begin / PMPI_File_read_all_begin(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype);
    MPI_File_read_all_end / PMPI_File_read_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status);
    MPI_File_read_at_all / PMPI_File_read_at_all(fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_read_at_all_begin / PMPI_File_read_at_all_begin(fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype);
    MPI_File_read_at_all_end / PMPI_File_read_at_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status);
}

#[cfg(large_count)]
calls! {
    MPI_File_write_all_c / PMPI_File_write_all_c(fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_write_all_begin_c / PMPI_File_write_all_begin_c(fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype);
    MPI_File_write_at_all_c / PMPI_File_write_at_all_c(fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_write_at_all_begin_c / PMPI_File_write_at_all_begin_c(fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype);
    MPI_File_read_all_c / PMPI_File_read_all_c(fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_read_all_begin_c / PMPI_File_read_all_begin_c(fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype);
    MPI_File_read_at_all_c / PMPI_File_read_at_all_c(fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, status: *mut MPI_Status);
    MPI_File_read_at_all_begin_c / PMPI_File_read_at_all_begin_c(fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype);
}
