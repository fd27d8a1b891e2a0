//! MPI's handles and special addresses. They are functions because some libraries know them only when they are loaded.

use crate::*;
use core::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident / $raw:ident -> $type:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name() -> $type {
            // SAFETY: the function of handles.c returns a constant; it reads nothing and has no duties.
            unsafe { $raw() }
        }
    )*};
}

handles! {
    /// MPI_COMM_NULL
    comm_null / tatpio_comm_null -> MPI_Comm;
    /// MPI_COMM_WORLD
    comm_world / tatpio_comm_world -> MPI_Comm;
    /// MPI_COMM_SELF
    comm_self / tatpio_comm_self -> MPI_Comm;

    /// MPI_DATATYPE_NULL
    datatype_null / tatpio_datatype_null -> MPI_Datatype;
    /// MPI_BYTE
    byte / tatpio_byte -> MPI_Datatype;
    /// MPI_PACKED
    packed / tatpio_packed -> MPI_Datatype;
    /// MPI_CHAR
    char / tatpio_char_ -> MPI_Datatype;
    /// MPI_SHORT
    short / tatpio_short -> MPI_Datatype;
    /// MPI_INT
    int / tatpio_int -> MPI_Datatype;
    /// MPI_LONG
    long / tatpio_long -> MPI_Datatype;
    /// MPI_FLOAT
    float / tatpio_float -> MPI_Datatype;
    /// MPI_DOUBLE
    double / tatpio_double -> MPI_Datatype;
    /// MPI_LONG_DOUBLE
    long_double / tatpio_long_double -> MPI_Datatype;
    /// MPI_INT32_T
    int32_t / tatpio_int32_t -> MPI_Datatype;
    /// MPI_INT64_T
    int64_t / tatpio_int64_t -> MPI_Datatype;
    /// MPI_UINT64_T
    uint64_t / tatpio_uint64_t -> MPI_Datatype;
    /// MPI_FLOAT_INT: a float, then an int
    float_int / tatpio_float_int -> MPI_Datatype;
    /// MPI_DOUBLE_INT: a double, then an int
    double_int / tatpio_double_int -> MPI_Datatype;
    /// MPI_LONG_INT: a long, then an int
    long_int / tatpio_long_int -> MPI_Datatype;
    /// MPI_SHORT_INT: a short, then an int
    short_int / tatpio_short_int -> MPI_Datatype;
    /// MPI_2INT: two ints
    two_int / tatpio_two_int -> MPI_Datatype;
    /// MPI_LONG_DOUBLE_INT: a long double, then an int
    long_double_int / tatpio_long_double_int -> MPI_Datatype;

    /// MPI_INFO_NULL
    info_null / tatpio_info_null -> MPI_Info;
    /// MPI_INFO_ENV
    info_env / tatpio_info_env -> MPI_Info;
    /// MPI_FILE_NULL
    file_null / tatpio_file_null -> MPI_File;
    /// MPI_GROUP_NULL
    group_null / tatpio_group_null -> MPI_Group;
    /// MPI_REQUEST_NULL
    request_null / tatpio_request_null -> MPI_Request;

    /// MPI_OP_NULL
    op_null / tatpio_op_null -> MPI_Op;
    /// MPI_SUM
    op_sum / tatpio_op_sum -> MPI_Op;
    /// MPI_MIN
    op_min / tatpio_op_min -> MPI_Op;
    /// MPI_MAX
    op_max / tatpio_op_max -> MPI_Op;

    /// MPI_ERRHANDLER_NULL
    errhandler_null / tatpio_errhandler_null -> MPI_Errhandler;
    /// MPI_ERRORS_RETURN
    errors_return / tatpio_errors_return -> MPI_Errhandler;
    /// MPI_ERRORS_ARE_FATAL
    errors_are_fatal / tatpio_errors_are_fatal -> MPI_Errhandler;

    /// MPI_STATUS_IGNORE
    status_ignore / tatpio_status_ignore -> *mut MPI_Status;
    /// MPI_STATUSES_IGNORE
    statuses_ignore / tatpio_statuses_ignore -> *mut MPI_Status;
    /// MPI_BOTTOM
    bottom / tatpio_bottom -> *mut c_void;
    /// MPI_IN_PLACE
    in_place / tatpio_in_place -> *mut c_void;
}
