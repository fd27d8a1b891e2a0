/* Preload this under MPICH over UCX when there are more ranks than cores.
 *
 * A rank that waits for a message calls ucp_worker_progress in a loop, and never gives up its core to the
 * rank that should send the message: with 8 ranks on 2 cores a barrier then lasts as long as the scheduler's
 * time slices, and a benchmark measures the scheduler. libmpich calls the function through its procedure
 * linkage table, so this one comes first: it does what the real one does and, when that found nothing to do,
 * lets another process run.
 *
 *     cc -O2 -shared -fPIC -o yield.so yield.c -ldl
 *     mpirun -genv LD_PRELOAD $PWD/yield.so -n 8 ./program
 *
 * Open MPI has an option for the same: mpirun --mca mpi_yield_when_idle 1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned progress_function(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    /* Several threads may look it up at once: they all find the same. */
    static progress_function *real;

    if (real == NULL) {
        real = (progress_function *)dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (real == NULL) {
            fprintf(stderr, "yield.so: no ucp_worker_progress behind this one: %s\n", dlerror());
            abort();
        }
    }
    unsigned events = real(worker);
    if (events == 0)
        sched_yield();
    return events;
}
