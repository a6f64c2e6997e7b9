// SPDX-License-Identifier: Apache-2.0
//
// Factorization by the engine over processes (solvers/distributed/engine.h) of the symmetric matrix
// of bench_source.h, each process with as many workers as threads. A single process is compared
// with this program's own engine in the same variant, several with ScaLAPACK's pspotrf in fp32 on
// the same grid: the library is loaded if available, the matrix is distributed block-cyclically and
// filled in place. Rounds alternate; times are those of the slowest process.
#include "bench/bench.h"
#include "bench/bench_source.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/team.h"
#include "solvers/distributed/engine.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 5 };

// BLACS and ScaLAPACK functions as declared in their manuals.
typedef struct scalapack {
    void (*get)(int context, int what, int *value);
    void (*begin)(int *context, const char *order, int rows, int columns);
    void (*describe)(int context, int *rows, int *columns, int *row, int *column);
    void (*end)(int context);
    int (*count)(const int *n, const int *block, const int *place, const int *source,
                 const int *processes);
    void (*lay_out)(int *descriptor, const int *rows, const int *columns, const int *row_block,
                    const int *column_block, const int *row_source, const int *column_source,
                    const int *context, const int *stride, int *info);
    void (*factor)(const char *triangle, const int *n, float *values, const int *row,
                   const int *column, const int *descriptor, int *info);
    int context, rows, columns, row, column;
} scalapack;

// Returns true if the library is available; all processes then join its grid.
static bool join_peer(int rows, int columns, scalapack *out)
{
    static const char *const names[] = {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so",
                                        "libscalapack.so.2.2", "libscalapack.so"};
    const struct {
        const char *name;
        void *place;
    } calls[] = {{"Cblacs_get", &out->get},
                 {"Cblacs_gridinit", &out->begin},
                 {"Cblacs_gridinfo", &out->describe},
                 {"Cblacs_gridexit", &out->end},
                 {"numroc_", &out->count},
                 {"descinit_", &out->lay_out},
                 {"pspotrf_", &out->factor}};
    void *handle = NULL; // never closed
    for (size_t i = 0; i < sizeof names / sizeof *names && handle == NULL; ++i) {
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; handle != NULL && i < sizeof calls / sizeof *calls; ++i) {
        void *address = dlsym(handle, calls[i].name); // POSIX returns functions as data addresses
        memcpy(calls[i].place, &address, sizeof address);
        handle = address == NULL ? NULL : handle;
    }
    if (handle != NULL) {
        out->get(-1, 0, &out->context);
        out->begin(&out->context, "Row", rows, columns);
        out->describe(out->context, &out->rows, &out->columns, &out->row, &out->column);
    }
    return handle != NULL;
}

// Fills this process's blocks, column-major with `stride` rows.
static bb_status fill(const scalapack *peer, const bb_matrix_source *source, bb_index block,
                      bb_index columns, bb_index stride, float *out)
{
    bb_status status = BB_OK;
    const bb_index n = source->rows;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(n * block, &values));
    for (bb_index first = 0; first < columns; first += block) {
        const bb_index start = (first / block * peer->columns + peer->column) * block;
        const bb_index width = n - start < block ? n - start : block;
        BB_TRY(bb_matrix_source_fill(source, 0, start, bb_view_matrix(values, n, width)));
        for (bb_index column = 0; column < width; ++column) {
            for (bb_index row = 0; row < stride; ++row) {
                const bb_index place = (row / block * peer->rows + peer->row) * block + row % block;
                out[(first + column) * stride + row] =
                    place < n ? (float)values[place * width + column] : 0.0F;
            }
        }
    }
done:
    BB_RELEASE(&values);
    return status;
}

// Synchronises the start and shares the time of the slowest process.
static bb_status synchronise(double *seconds)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    double slowest = 0.0;
    for (int rank = 0; rank < team->size; ++rank) {
        double spent = *seconds;
        BB_TRY(team->broadcast(rank, &spent, sizeof spent));
        slowest = fmax(slowest, spent);
    }
    *seconds = slowest;
done:
    return status;
}

static bb_status factor(const bb_engine_row *row, const bb_engine_config *config,
                        const bb_matrix_source *source, const bb_tile_plan *plan,
                        bb_bench_times *times)
{
    bb_status status = BB_OK;
    bb_engine *engine = NULL;
    bb_tile_matrix *matrix = NULL;
    bb_outcome outcome = {0};
    double seconds = 0.0;
    BB_TRY(row->create(config, &engine));
    BB_TRY(row->load(engine, source, NULL, plan, &matrix));
    BB_TRY(synchronise(&seconds));
    const double begin = bb_clock_seconds();
    BB_TRY(row->factor(engine, matrix, 4, &outcome, NULL));
    seconds = bb_clock_seconds() - begin;
    BB_TRY(synchronise(&seconds));
    bb_bench_add(times, seconds);
    BB_REQUIRE(outcome.kind == BB_OUTCOME_OK, BB_INTERNAL, "%s: %s", row->name, outcome.detail);
done:
    bb_tile_matrix_destroy(&matrix);
    if (engine != NULL) {
        row->destroy(&engine);
    }
    return status;
}

static bb_status factor_by_peer(const scalapack *peer, const bb_matrix_source *source,
                                bb_index block, bb_bench_times *times)
{
    bb_status status = BB_OK;
    const int n = (int)source->rows;
    const int size = (int)block;
    const int zero = 0;
    const int one = 1;
    const int rows = peer->count(&n, &size, &peer->row, &zero, &peer->rows);
    const int columns = peer->count(&n, &size, &peer->column, &zero, &peer->columns);
    const int stride = rows > 1 ? rows : 1;
    int descriptor[9];
    int info = 0;
    float *values = NULL;
    peer->lay_out(descriptor, &n, &n, &size, &size, &zero, &zero, &peer->context, &stride, &info);
    BB_TRY(BB_ALLOCATE((bb_index)stride * (columns > 1 ? columns : 1), &values));
    BB_TRY(fill(peer, source, block, columns, stride, values));
    const double begin = bb_clock_seconds();
    peer->factor("L", &n, values, &one, &one, descriptor, &info);
    double seconds = bb_clock_seconds() - begin;
    BB_TRY(synchronise(&seconds));
    bb_bench_add(times, seconds);
    BB_REQUIRE(info == 0, BB_INTERNAL, "pspotrf failed with code %d", info);
done:
    BB_RELEASE(&values);
    return status;
}
bb_status bb_bench_processes(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const int processes = bb_team_joined()->size;
    const bb_index n = setup->quick ? 256 : setup->n > 0 ? setup->n : self->n;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    const bb_tile_plan plan = {.tile_size = setup->quick ? 64 : 512,
                               .arithmetic = (bb_variant)self->choice,
                               .policy = {.kind = BB_POLICY_UNIFORM, .diagonal = BB_POLICY_FOLLOW}};
    const bb_engine_config config = {
        .grid = bb_process_grid_of(processes), .wire = BB_WIRE_FOLLOW, .workers = setup->threads};
    scalapack peer = {0};
    bool has_peer = false;
    bb_bench_times shared = {0};
    bb_bench_times other = {0};
    BB_REQUIRE(bb_engine_registered() != NULL, BB_UNSUPPORTED,
               "the engine is missing; run bitbudget-bench-mpi");
    has_peer = processes > 1 && join_peer(config.grid.rows, config.grid.columns, &peer);
    for (int round = 0; round < ROUNDS; ++round) {
        BB_TRY(factor(bb_engine_registered(), &config, &source, &plan, &shared));
        if (processes == 1) {
            BB_TRY(factor(&bb_engine_own, &config, &source, &plan, &other));
        } else if (has_peer) {
            BB_TRY(factor_by_peer(&peer, &source, plan.tile_size, &other));
        }
    }
    out->best_s = bb_bench_best(&shared);
    out->median_s = bb_bench_median(&shared);
    out->flops = bb_tile_cholesky_flops(n, 0);
    out->against = processes == 1 ? "own" : "pspotrf";
    out->bar = processes == 1 ? 1.0 / 1.15 : 1.0 / 1.2;
    out->binds = "flops";
    if (other.count > 0) {
        out->peer = 1e-9 * out->flops / bb_bench_best(&other);
        out->ratio = bb_bench_median(&other) / out->median_s;
    }
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td, tile %td, %dx%d processes of %td; ratio of medians%s", n, plan.tile_size,
                   config.grid.rows, config.grid.columns, setup->threads,
                   other.count == 0 ? "; ScaLAPACK is not available" : "");
done:
    if (has_peer) {
        peer.end(peer.context);
    }
    return status;
}
