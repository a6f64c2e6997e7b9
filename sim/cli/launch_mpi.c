// SPDX-License-Identifier: Apache-2.0
//
// Entry of the MPI program. Every process runs the command line; the first one writes and prints. A
// failing process aborts all processes, since others may wait for it. The program ends regularly
// after an error only if all processes fail.
#include "core/team.h"
#include "sim/cli/launch.h"
#include "solvers/distributed/engine.h"
#include "solvers/distributed/stall_watch_mpi.h"
#include "solvers/distributed/team_mpi.h"

#include <mpi.h>
#include <stdio.h>

int bb_launch_commands(int argument_count, char **arguments)
{
    int level = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS ||
        level != MPI_THREAD_MULTIPLE) {
        (void)fputs("bitbudget: this MPI library does not support MPI_THREAD_MULTIPLE\n", stderr);
        return bb_status_exit_code(BB_INTERNAL);
    }
    bb_team_mpi_join();
    if (bb_stall_watch_start() != BB_OK) {
        (void)fprintf(stderr, "bitbudget: %s\n", bb_status_message());
        (void)MPI_Abort(MPI_COMM_WORLD, bb_status_exit_code(BB_INTERNAL));
    }
    bb_engine_register(&bb_engine_starpu);
    const bool is_first = bb_team_joined()->rank == 0;
    const bool prints = is_first || freopen("/dev/null", "w", stdout) != NULL;
    const int code =
        prints ? bb_launch_program(argument_count, arguments) : bb_status_exit_code(BB_IO);
    if (code != 0 && code != bb_status_exit_code(BB_DIFFERENT)) {
        (void)fflush(NULL);
        (void)MPI_Abort(MPI_COMM_WORLD, code);
    }
    bb_stall_watch_stop();
    (void)MPI_Finalize();
    return code;
}
