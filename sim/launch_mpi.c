// SPDX-License-Identifier: Apache-2.0
//
// Every process runs the command line; the first writes and prints. One that fails ends all, since
// others may wait for it: whoever wants them to end by themselves has to fail in all.
#include "core/team.h"
#include "sim/launch.h"
#include "solvers/distributed/engine.h"
#include "solvers/distributed/team_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// BLAS threads of several processes of a host would each take all of it; what Open MPI says of its
// own accord is of no use to users.
static void prepare_environment(void)
{
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

int bb_launch_commands(int argument_count, char **arguments)
{
    int level = MPI_THREAD_SINGLE;
    prepare_environment();
    if (MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS ||
        level != MPI_THREAD_MULTIPLE) {
        (void)fputs("bitbudget: this MPI has no MPI_THREAD_MULTIPLE\n", stderr);
        return bb_status_exit_code(BB_INTERNAL);
    }
    bb_team_mpi_join();
    bb_engine_offer(&bb_engine_starpu);
    const bool is_first = bb_team_joined()->rank == 0;
    const bool prints = is_first || freopen("/dev/null", "w", stdout) != NULL;
    const int code = prints ? bb_command_main(argument_count, arguments, &bb_experiments)
                            : bb_status_exit_code(BB_IO);
    if (code != 0 && code != bb_status_exit_code(BB_DIFFERENT)) {
        (void)fflush(NULL);
        (void)MPI_Abort(MPI_COMM_WORLD, code);
    }
    (void)MPI_Finalize();
    return code;
}
