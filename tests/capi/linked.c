/* A C program that links libtatpio before the MPI library, and calls every function of tatpio.h.
 *
 *     mpicc -I include -o linked tests/capi/linked.c -L target/release -ltatpio   (and LD_LIBRARY_PATH)
 *     mpicc -I include -o linked tests/capi/linked.c -L target/release -l:libtatpio.a \
 *         -lhwloc -lpthread -ldl -lm
 *     mpirun -n 4 ./linked FILE            every rank writes and reads its columns of an array in FILE
 *
 * Prints who served the file, and "ok"; anything wrong is printed and ends the job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tatpio.h>

enum { ROWS = 64, COLUMNS = 8, CELLS = ROWS * COLUMNS };

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

/* Opens with tatpio on or off, writes and reads back, and returns whether tatpio served the file. */
static int columns(const char *path, const char *tatpio, int rank, int ranks)
{
    MPI_Info hints, used;
    MPI_File file;
    MPI_Datatype view;
    MPI_Status status;
    int sizes[2] = {ROWS, ranks * COLUMNS};
    int part[2] = {ROWS, COLUMNS};
    int start[2] = {0, rank * COLUMNS};
    int data[CELLS], back[CELLS];
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int i, count, found;

    for (i = 0; i < CELLS; i++)
        data[i] = rank * 1000000 + i;
    EXPECT(MPI_Info_create(&hints) == MPI_SUCCESS);
    EXPECT(MPI_Info_set(hints, "tatpio", tatpio) == MPI_SUCCESS);
    EXPECT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file) == MPI_SUCCESS);
    EXPECT(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    EXPECT(MPI_Info_get(used, "tatpio", MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS);
    EXPECT(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &view) == MPI_SUCCESS);
    EXPECT(MPI_Type_commit(&view) == MPI_SUCCESS);
    EXPECT(MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL) == MPI_SUCCESS);

    EXPECT(MPI_File_write_all(file, data, CELLS, MPI_INT, &status) == MPI_SUCCESS);
    EXPECT(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == CELLS);
    EXPECT(MPI_File_read_at_all(file, 0, back, CELLS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(memcmp(data, back, sizeof data) == 0);
    /* What tatpio wrote is what the MPI library reads. */
    memset(back, 0, sizeof back);
    EXPECT(MPI_File_read_at(file, 0, back, CELLS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(memcmp(data, back, sizeof data) == 0);

    EXPECT(MPI_File_close(&file) == MPI_SUCCESS);
    EXPECT(MPI_Type_free(&view) == MPI_SUCCESS);
    EXPECT(MPI_Info_free(&used) == MPI_SUCCESS && MPI_Info_free(&hints) == MPI_SUCCESS);
    return found && strcmp(value, "enable") == 0;
}

/* What the Rust tests cannot do: absolute addresses, Fortran handles, bad communicators. */
static void odds_and_ends(const char *path, int rank)
{
    MPI_File file;
    MPI_Info hints;
    MPI_Datatype scattered;
    MPI_Aint places[2];
    MPI_Offset at = rank * 3 * (MPI_Offset)sizeof(int);
    int lengths[2] = {1, 2};
    int first = rank + 1, rest[3] = {-1, rank + 2, rank + 3}, back[3] = {0, 0, 0};

    /* Open MPI calls the handler of MPI_COMM_WORLD for a bad communicator. */
    EXPECT(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    EXPECT(MPI_File_open(MPI_COMM_NULL, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    EXPECT(MPI_Info_create(&hints) == MPI_SUCCESS);
    EXPECT(MPI_Info_set(hints, "tatpio", "enable") == MPI_SUCCESS);
    EXPECT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, hints, &file) == MPI_SUCCESS);
    file = MPI_File_f2c(MPI_File_c2f(file));
    EXPECT(MPI_Get_address(&first, &places[0]) == MPI_SUCCESS);
    EXPECT(MPI_Get_address(&rest[1], &places[1]) == MPI_SUCCESS);
    EXPECT(MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &scattered) == MPI_SUCCESS);
    EXPECT(MPI_Type_commit(&scattered) == MPI_SUCCESS);
    EXPECT(MPI_File_write_at_all(file, at, MPI_BOTTOM, 1, scattered, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(MPI_File_read_at_all(file, at, back, 3, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(back[0] == rank + 1 && back[1] == rank + 2 && back[2] == rank + 3);
    EXPECT(MPI_Type_free(&scattered) == MPI_SUCCESS && MPI_Info_free(&hints) == MPI_SUCCESS);
    EXPECT(MPI_File_close(&file) == MPI_SUCCESS);
}

static void about_itself(void)
{
    char *json;
    int needed, major, minor, patch;

    EXPECT(sscanf(tatpio_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
    EXPECT(major == TATPIO_VERSION_MAJOR && minor == TATPIO_VERSION_MINOR && patch == TATPIO_VERSION_PATCH);
    EXPECT(strlen(tatpio_error_string(TATPIO_ERR_ARG)) > 0);
    EXPECT(strlen(tatpio_error_string(TATPIO_ERR_NO_CALL)) > 0);
    EXPECT(strlen(tatpio_error_string(TATPIO_ERR_INTERN)) > 0);
    EXPECT(strlen(tatpio_error_string(-12345)) > 0);
    EXPECT(tatpio_last_call(NULL, 1) == TATPIO_ERR_ARG);
    needed = tatpio_last_call(NULL, 0);
    EXPECT(needed > 2);
    json = malloc(needed);
    EXPECT(json != NULL);
    json[0] = 'x';
    EXPECT(tatpio_last_call(json, needed - 1) == needed && json[0] == 'x');
    EXPECT(tatpio_last_call(json, needed) == needed);
    EXPECT(json[0] == '{' && strlen(json) + 1 == (size_t)needed && strstr(json, "\"bytes\"") != NULL);
    free(json);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/tmp/tatpio-linked";
    int rank, ranks, served;

    EXPECT(tatpio_last_call(NULL, 0) == TATPIO_ERR_NO_CALL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(columns(path, "disable", rank, ranks) == 0);
    EXPECT(tatpio_last_call(NULL, 0) == TATPIO_ERR_NO_CALL);
    served = columns(path, "enable", rank, ranks);
    EXPECT(served);
    odds_and_ends(path, rank);
    about_itself();
    if (rank == 0)
        EXPECT(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
    if (rank == 0)
        printf("linked: %d ranks, served by tatpio %s: ok\n", ranks, tatpio_version());
    MPI_Finalize();
    return 0;
}
