// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/starpu_engine_mpi.h"

#include "core/memory.h"

#include <errno.h>
#include <limits.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bb_status bb_starpu_engine_agree(bb_status status)
{
    struct {
        int status, rank;
    } report = {.status = (int)status}, gravest;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &report.rank);
    (void)MPI_Allreduce(&report, &gravest, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (status != BB_OK || gravest.status == BB_OK) {
        return status;
    }
    return bb_status_set((bb_status)gravest.status, __FILE__, __LINE__,
                         "process %d failed; see its messages", gravest.rank);
}

// Creates a folder for StarPU's files that belongs to this user, below the folder of temporary
// files. A shared folder might belong to another user, and StarPU aborts without a writable one.
static bb_status create_home(char *out, size_t bytes)
{
    bb_status status = BB_OK;
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(out, bytes, "%s/bitbudget-starpu-%ld",
                                folder != NULL ? folder : "/tmp", (long)getuid());
    BB_REQUIRE(length > 0 && (size_t)length < bytes, BB_IO, "TMPDIR is too long");
    BB_REQUIRE((mkdir(out, 0700) == 0 || errno == EEXIST) && access(out, W_OK) == 0, BB_IO,
               "%s, folder for StarPU's files: %s", out, strerror(errno));
done:
    return status;
}

// Starts StarPU. Environment variables set by the user take precedence. Workers are not bound to
// cores, because every process of a host would bind itself to the first cores.
static bb_status start_starpu(const bb_engine *engine)
{
    bb_status status = BB_OK;
    struct starpu_conf conf;
    char home[PATH_MAX];
    if (getenv("STARPU_HOME") == NULL) {
        BB_TRY(create_home(home, sizeof home));
        BB_REQUIRE(setenv("STARPU_HOME", home, 0) == 0, BB_MEMORY,
                   "out of memory for environment variables");
    }
    BB_REQUIRE(setenv("STARPU_WORKERS_NOBIND", "1", 0) == 0 && setenv("STARPU_SILENT", "1", 0) == 0,
               BB_MEMORY, "out of memory for environment variables");
    BB_REQUIRE(starpu_conf_init(&conf) == 0, BB_INTERNAL, "starpu_conf_init failed");
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = (int)engine->workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.sched_policy_name = "prio";
    conf.catch_signals = 0;
    BB_REQUIRE(starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf) == 0, BB_INTERNAL,
               "StarPU-MPI failed to start with %td workers", engine->workers);
done:
    return status;
}

static void destroy(bb_engine **engine)
{
    if (*engine != NULL) {
        starpu_resume();
        (void)starpu_mpi_shutdown();
        bb_tile_window_destroy(&(*engine)->window);
        BB_RELEASE(engine);
    }
}

static bb_status create(const bb_engine_config *config, bb_engine **out)
{
    bb_status status = BB_OK;
    bb_engine *engine = NULL;
    bb_process_grid grid = config->grid;
    int level = MPI_THREAD_SINGLE;
    int processes = 0;
    *out = NULL;
    (void)MPI_Query_thread(&level);
    BB_REQUIRE(level == MPI_THREAD_MULTIPLE, BB_INTERNAL,
               "MPI lacks MPI_THREAD_MULTIPLE, which StarPU-MPI needs");
    (void)MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (grid.rows == 0 && grid.columns == 0) {
        grid = bb_process_grid_of(processes);
    }
    BB_REQUIRE(config->workers >= 1, BB_INVALID, "%td workers, expected at least 1",
               config->workers);
    BB_REQUIRE(grid.rows > 0 && grid.columns > 0 && bb_process_grid_size(grid) == processes,
               BB_INVALID, "grid %dx%d has %d processes, but %d were started", grid.rows,
               grid.columns, bb_process_grid_size(grid), processes);
    BB_TRY(bb_starpu_engine_agree(BB_ZEROED(1, &engine)));
    BB_TRY(bb_starpu_engine_agree(bb_tile_window_create(grid, config->wire, &engine->window)));
    engine->grid = grid;
    engine->wire = config->wire;
    engine->processes = processes;
    engine->workers = config->workers;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &engine->rank);
    status = start_starpu(engine);
    const bool is_started = status == BB_OK;
    status = bb_starpu_engine_agree(status);
    if (status != BB_OK && is_started) {
        (void)starpu_mpi_shutdown();
    }
    BB_TRY(status);
    starpu_pause();
    bb_stall_watch_limit(config->stall_s);
    *out = engine;
    engine = NULL;
done:
    if (engine != NULL) {
        bb_tile_window_destroy(&engine->window);
    }
    BB_RELEASE(&engine);
    return status;
}

static bb_status load(bb_engine *engine, const bb_matrix_source *source, const double *scale,
                      const bb_tile_plan *plan, bb_tile_matrix **out)
{
    bb_status status = BB_OK;
    const bb_block_cyclic_share place = {.grid = engine->grid, .rank = engine->rank};
    const bb_tile_share share = bb_block_cyclic_share_tiles(&place);
    double *norms = NULL;
    BB_TRY(bb_starpu_engine_agree(bb_tile_matrix_create_share(source, scale, plan, &share, out)));
    const bb_index tiles = (*out)->tile_rows * ((*out)->tile_rows + 1) / 2;
    BB_TRY(bb_starpu_engine_agree(BB_ALLOCATE(tiles, &norms)));
    for (bb_index t = 0; t < tiles; ++t) {
        // Norms of tiles of other processes are 0, so that the sum is exact.
        norms[t] = (*out)->tiles[t].norm;
    }
    (void)MPI_Allreduce(MPI_IN_PLACE, norms, (int)tiles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bb_tile_matrix_set_norms(*out, norms);
    (*out)->access = bb_tile_window_access(engine->window);
done:
    BB_RELEASE(&norms);
    if (status != BB_OK) {
        bb_tile_matrix_destroy(out);
    }
    return status;
}

static bb_status digest(bb_engine *engine, const bb_tile_matrix *matrix, uint64_t *out)
{
    (void)engine;
    BB_RETURN_IF_FAILED(bb_tile_matrix_digest(matrix, out)); // never fails: no file is read
    (void)MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    return BB_OK;
}

const bb_engine_row bb_engine_starpu = {.name = "starpu",
                                        .create = create,
                                        .destroy = destroy,
                                        .load = load,
                                        .factor = bb_starpu_engine_factor,
                                        .digest = digest};
