/* MPI's handles and special addresses, as functions that any language can call.
 *
 * In Open MPI a handle is the address of an object of the library. A preloaded library also lands in processes without
 * MPI, such as the shell around mpirun, and the dynamic linker would end these over the first object it does not find.
 * A weak reference to such an object is a null address there instead. (Functions need no such care: unless the library
 * is linked with -z now, they are looked up when first called.) */
#define OMPI_DECLSPEC __attribute__((weak))
#include <mpi.h>

#include "names.h"

#define DEFINE(type, name, value) \
    __attribute__((visibility("hidden"))) type tatpio_##name(void) { return (type)(value); }
TATPIO_HANDLES(DEFINE)
