// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/team_mpi.h"

#include <mpi.h>

// MPI counts are of type int, so large messages are split.
enum { PIECE_BYTES = 1 << 30 };

static bb_status broadcast(int root, void *values, size_t bytes)
{
    char *next = values;
    while (bytes > 0) {
        const size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        if (MPI_Bcast(next, (int)piece, MPI_BYTE, root, MPI_COMM_WORLD) != MPI_SUCCESS) {
            return bb_status_set(BB_INTERNAL, __FILE__, __LINE__,
                                 "broadcast of %zu bytes from process %d failed", piece, root);
        }
        next += piece;
        bytes -= piece;
    }
    return BB_OK;
}

void bb_team_mpi_join(void)
{
    static bb_team world = {.broadcast = broadcast};
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    MPI_Comm host = MPI_COMM_NULL;
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL,
                              &host);
    (void)MPI_Comm_size(host, &world.host_size);
    (void)MPI_Comm_free(&host);
    bb_team_join(&world);
}
