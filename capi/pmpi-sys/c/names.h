/* What MPI defines as macros with casts or addresses, or with a type that differs between libraries: the one list that
 * handles.c defines, bindings.h declares, and ../src/consts.rs wraps. */
#ifndef TATPIO_NAMES_H
#define TATPIO_NAMES_H

/* X(type, name of the function without its prefix, value) */
#define TATPIO_HANDLES(X)                                   \
    X(MPI_Comm, comm_null, MPI_COMM_NULL)                   \
    X(MPI_Comm, comm_world, MPI_COMM_WORLD)                 \
    X(MPI_Comm, comm_self, MPI_COMM_SELF)                   \
    X(MPI_Datatype, datatype_null, MPI_DATATYPE_NULL)       \
    X(MPI_Datatype, byte, MPI_BYTE)                         \
    X(MPI_Datatype, packed, MPI_PACKED)                     \
    X(MPI_Datatype, char_, MPI_CHAR)                        \
    X(MPI_Datatype, short, MPI_SHORT)                       \
    X(MPI_Datatype, int, MPI_INT)                           \
    X(MPI_Datatype, long, MPI_LONG)                         \
    X(MPI_Datatype, float, MPI_FLOAT)                       \
    X(MPI_Datatype, double, MPI_DOUBLE)                     \
    X(MPI_Datatype, long_double, MPI_LONG_DOUBLE)           \
    X(MPI_Datatype, int32_t, MPI_INT32_T)                   \
    X(MPI_Datatype, int64_t, MPI_INT64_T)                   \
    X(MPI_Datatype, uint64_t, MPI_UINT64_T)                 \
    X(MPI_Datatype, float_int, MPI_FLOAT_INT)               \
    X(MPI_Datatype, double_int, MPI_DOUBLE_INT)             \
    X(MPI_Datatype, long_int, MPI_LONG_INT)                 \
    X(MPI_Datatype, short_int, MPI_SHORT_INT)               \
    X(MPI_Datatype, two_int, MPI_2INT)                      \
    X(MPI_Datatype, long_double_int, MPI_LONG_DOUBLE_INT)   \
    X(MPI_Info, info_null, MPI_INFO_NULL)                   \
    X(MPI_Info, info_env, MPI_INFO_ENV)                     \
    X(MPI_File, file_null, MPI_FILE_NULL)                   \
    X(MPI_Group, group_null, MPI_GROUP_NULL)                \
    X(MPI_Request, request_null, MPI_REQUEST_NULL)          \
    X(MPI_Op, op_null, MPI_OP_NULL)                         \
    X(MPI_Op, op_sum, MPI_SUM)                              \
    X(MPI_Op, op_min, MPI_MIN)                              \
    X(MPI_Op, op_max, MPI_MAX)                              \
    X(MPI_Errhandler, errhandler_null, MPI_ERRHANDLER_NULL) \
    X(MPI_Errhandler, errors_return, MPI_ERRORS_RETURN)     \
    X(MPI_Errhandler, errors_are_fatal, MPI_ERRORS_ARE_FATAL) \
    X(MPI_Status *, status_ignore, MPI_STATUS_IGNORE)       \
    X(MPI_Status *, statuses_ignore, MPI_STATUSES_IGNORE)   \
    X(void *, bottom, MPI_BOTTOM)                           \
    X(void *, in_place, MPI_IN_PLACE)

#endif
