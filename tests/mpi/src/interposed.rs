//! The calls that libtatpio interposes, under the names that programs use. All others are called by their
//! profiling names, which are the same functions.

use pmpi_sys::*;
use std::ffi::{c_char, c_int, c_void};

/// Declares functions, and fails to compile where mpi.h declares their profiling twins otherwise.
macro_rules! calls {
    ($($name:ident / $twin:ident($($type:ty),*);)*) => {
        unsafe extern "C" {
            $(pub fn $name($(_: $type),*) -> c_int;)*
        }
        const _: () = {
            $(let _: [unsafe extern "C" fn($($type),*) -> c_int; 2] = [$name, $twin];)*
        };
    };
}

calls! {
    MPI_File_open / PMPI_File_open(MPI_Comm, *const c_char, c_int, MPI_Info, *mut MPI_File);
    MPI_File_close / PMPI_File_close(*mut MPI_File);
    MPI_File_set_view / PMPI_File_set_view(
        MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, *const c_char, MPI_Info
    );
    MPI_File_get_view / PMPI_File_get_view(
        MPI_File, *mut MPI_Offset, *mut MPI_Datatype, *mut MPI_Datatype, *mut c_char
    );
    MPI_File_set_info / PMPI_File_set_info(MPI_File, MPI_Info);
    MPI_File_get_info / PMPI_File_get_info(MPI_File, *mut MPI_Info);
    MPI_File_set_atomicity / PMPI_File_set_atomicity(MPI_File, c_int);
    MPI_File_sync / PMPI_File_sync(MPI_File);
    MPI_File_write_all / PMPI_File_write_all(MPI_File, *const c_void, c_int, MPI_Datatype, *mut MPI_Status);
    MPI_File_write_all_begin / PMPI_File_write_all_begin(MPI_File, *const c_void, c_int, MPI_Datatype);
    MPI_File_write_all_end / PMPI_File_write_all_end(MPI_File, *const c_void, *mut MPI_Status);
    MPI_File_write_at_all / PMPI_File_write_at_all(
        MPI_File, MPI_Offset, *const c_void, c_int, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_write_at_all_begin / PMPI_File_write_at_all_begin(
        MPI_File, MPI_Offset, *const c_void, c_int, MPI_Datatype
    );
    MPI_File_write_at_all_end / PMPI_File_write_at_all_end(MPI_File, *const c_void, *mut MPI_Status);
    MPI_File_read_all / PMPI_File_read_all(MPI_File, *mut c_void, c_int, MPI_Datatype, *mut MPI_Status);
    MPI_File_read_all_begin / PMPI_File_read_all_begin(MPI_File, *mut c_void, c_int, MPI_Datatype);
    MPI_File_read_all_end / PMPI_File_read_all_end(MPI_File, *mut c_void, *mut MPI_Status);
    MPI_File_read_at_all / PMPI_File_read_at_all(
        MPI_File, MPI_Offset, *mut c_void, c_int, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_read_at_all_begin / PMPI_File_read_at_all_begin(
        MPI_File, MPI_Offset, *mut c_void, c_int, MPI_Datatype
    );
    MPI_File_read_at_all_end / PMPI_File_read_at_all_end(MPI_File, *mut c_void, *mut MPI_Status);
}

#[cfg(large_count)]
calls! {
    MPI_File_write_all_c / PMPI_File_write_all_c(
        MPI_File, *const c_void, MPI_Count, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_write_all_begin_c / PMPI_File_write_all_begin_c(
        MPI_File, *const c_void, MPI_Count, MPI_Datatype
    );
    MPI_File_write_at_all_c / PMPI_File_write_at_all_c(
        MPI_File, MPI_Offset, *const c_void, MPI_Count, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_write_at_all_begin_c / PMPI_File_write_at_all_begin_c(
        MPI_File, MPI_Offset, *const c_void, MPI_Count, MPI_Datatype
    );
    MPI_File_read_all_c / PMPI_File_read_all_c(
        MPI_File, *mut c_void, MPI_Count, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_read_all_begin_c / PMPI_File_read_all_begin_c(MPI_File, *mut c_void, MPI_Count, MPI_Datatype);
    MPI_File_read_at_all_c / PMPI_File_read_at_all_c(
        MPI_File, MPI_Offset, *mut c_void, MPI_Count, MPI_Datatype, *mut MPI_Status
    );
    MPI_File_read_at_all_begin_c / PMPI_File_read_at_all_begin_c(
        MPI_File, MPI_Offset, *mut c_void, MPI_Count, MPI_Datatype
    );
}
