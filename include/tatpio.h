/* tatpio: topology-aware collective MPI-IO.
 *
 * A program needs nothing from this header to use tatpio: libtatpio takes the place of the
 * collective MPI_File_* calls, whether it is linked (-ltatpio before the MPI library) or preloaded
 * (LD_PRELOAD=libtatpio.so), and hints say for which files (tatpio=enable in the info object of
 * MPI_File_open, or in the environment variable TATPIO_HINTS). The functions below ask the library
 * about itself.
 *
 * Error convention. A function that can fail returns a negative TATPIO_ERR_* code when it does, and
 * then has written nothing; otherwise what it returns is 0 or more. No error goes through errno or
 * an MPI error handler.
 *
 * Ownership. Constant strings belong to the library and live as long as the process. Everything
 * else is written into memory of the caller. Nothing that a function returns is to be freed.
 *
 * Threads. Any thread may call any function at any time, MPI initialized or not.
 *
 * Communication. All functions are local: no other process takes part.
 */


#ifndef TATPIO_H
#define TATPIO_H

/* Generated from capi/src/api.rs: change that. */

#include <stddef.h>

/**
 * The major version of this header.
 */
#define TATPIO_VERSION_MAJOR 0

/**
 * The minor version of this header.
 */
#define TATPIO_VERSION_MINOR 1

/**
 * The patch level of this header.
 */
#define TATPIO_VERSION_PATCH 0

/**
 * An argument is wrong: a null pointer where memory is needed.
 */
#define TATPIO_ERR_ARG -1

/**
 * No collective call went through tatpio in this process yet.
 */
#define TATPIO_ERR_NO_CALL -2

/**
 * tatpio has a bug: a message on standard error says where.
 */
#define TATPIO_ERR_INTERN -3

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that runs, as "0.1.0"; TATPIO_VERSION_MAJOR, _MINOR and _PATCH are the
 * header's.
 *
 * \return a constant string. It belongs to the library; do not free it.
 */
const char *tatpio_version(void);

/**
 * What a TATPIO_ERR_* code means, in English.
 *
 * \param code what a function of this header returned
 *
 * \return a constant string, also for a code that is unknown. It belongs to the library; do not free it.
 */
const char *tatpio_error_string(int code);

/**
 * The statistics of the last collective read or write that went through tatpio in this process, as one JSON
 * object: the one that the hint tatpio_stats=PATH appends to a file. Seconds are in it only when that hint
 * is set to something.
 *
 * Local: no other process takes part. When threads do collective calls on several files at the same time,
 * the last call is the one that ended last.
 *
 * \param json where the text goes, with a final zero: valid for writing size bytes, or NULL when size is 0
 *
 * \param size bytes of room at json
 *
 * \return the bytes that the text takes, with its final zero; when that is more than size, nothing was
 * written. Or TATPIO_ERR_ARG, TATPIO_ERR_NO_CALL.
 */
int tatpio_last_call(char *json,
                     size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TATPIO_H */
