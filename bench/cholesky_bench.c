// SPDX-License-Identifier: Apache-2.0
//
// Factorization of the symmetric matrix of bench_source.h, with the best of several tile sizes. The
// peer of sp is LAPACKE's potrf, the faster of one thread and all threads of the run; the peer of
// the other variants is sp.
#include "bench/bench.h"
#include "bench/bench_source.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "precision/variant.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>

static bb_status factor_tiles(const bb_matrix_source *source, bb_variant variant, bb_index tile,
                              bb_bench_times *times)
{
    bb_status status = BB_OK;
    bb_tile_matrix *matrix = NULL;
    bb_outcome outcome = {0};
    const bb_tile_plan plan = {
        .tile_size = tile, .arithmetic = variant, .policy = {.kind = BB_POLICY_UNIFORM}};
    BB_TRY(bb_tile_matrix_create(source, NULL, &plan, &matrix));
    double start = bb_clock_seconds();
    BB_TRY(bb_tile_cholesky_factor(matrix, 4, &outcome));
    bb_bench_add(times, bb_clock_seconds() - start);
    BB_REQUIRE(outcome.kind == BB_OUTCOME_OK, BB_INTERNAL, "%s: %s",
               bb_variant_describe(variant)->name, outcome.detail);
done:
    bb_tile_matrix_destroy(&matrix);
    return status;
}

// LAPACKE's potrf on `threads` threads of the BLAS, which is reset to one afterwards.
static bb_status factor_whole(const bb_matrix_source *source, int threads, bb_bench_times *times)
{
    bb_status status = BB_OK;
    double *values = NULL;
    float *narrow = NULL;
    const bb_index n = source->rows;
    BB_TRY(BB_ALLOCATE(n * n, &values));
    BB_TRY(BB_ALLOCATE(n * n, &narrow));
    BB_TRY(bb_matrix_source_load(source, values));
    for (bb_index i = 0; i < n * n; ++i) {
        narrow[i] = (float)values[i];
    }
    openblas_set_num_threads(threads);
    BB_REQUIRE(openblas_get_num_threads() == threads, BB_UNSUPPORTED,
               "OpenBLAS runs %d threads, expected %d", openblas_get_num_threads(), threads);
    const double start = bb_clock_seconds();
    const lapack_int info = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, narrow, (int)n);
    bb_bench_add(times, bb_clock_seconds() - start);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACKE potrf failed with code %d", (int)info);
done:
    openblas_set_num_threads(1);
    BB_RELEASE(&narrow);
    BB_RELEASE(&values);
    return status;
}

enum { TILES = 3 };

typedef struct contest {
    bb_index tiles[TILES];
    bb_bench_times own[TILES], sp[TILES], one, many;
} contest;

static bb_status run_round(const bb_bench_setup *setup, const bb_matrix_source *source,
                           bb_variant variant, contest *out)
{
    bb_status status = BB_OK;
    const bool direct = variant == BB_VARIANT_SP;
    for (int t = 0; t < TILES; ++t) {
        BB_TRY(factor_tiles(source, variant, out->tiles[t], &out->own[t]));
        if (!direct) {
            BB_TRY(factor_tiles(source, BB_VARIANT_SP, out->tiles[t], &out->sp[t]));
        }
    }
    if (direct) {
        BB_TRY(factor_whole(source, 1, &out->one));
        BB_TRY(factor_whole(source, (int)setup->threads, &out->many));
    }
done:
    return status;
}

static int best_tile(const bb_bench_times times[TILES])
{
    int best = 0;
    for (int t = 1; t < TILES; ++t) {
        best = bb_bench_best(&times[t]) < bb_bench_best(&times[best]) ? t : best;
    }
    return best;
}

// Factorization with the best tile size.
typedef struct repetition {
    const bb_matrix_source *source;
    bb_variant variant;
    bb_index tile;
} repetition;

static bb_status factor_again(void *context)
{
    const repetition *again = context;
    bb_bench_times times = {0};
    return factor_tiles(again->source, again->variant, again->tile, &times);
}

bb_status bb_bench_cholesky(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_index n = setup->quick ? 256 : setup->n > 0 ? setup->n : self->n;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    contest task = {
        .tiles = {setup->quick ? 48 : 512, setup->quick ? 64 : 768, setup->quick ? 96 : 1024}};
    for (int round = 0; round < 3; ++round) {
        BB_TRY(run_round(setup, &source, (bb_variant)self->choice, &task));
    }
    const bool direct = self->choice == (int)BB_VARIANT_SP;
    int tile = best_tile(task.own);
    double one = bb_bench_best(&task.one);
    double many = bb_bench_best(&task.many);
    double peer = direct ? fmin(one, many) : bb_bench_best(&task.sp[best_tile(task.sp)]);
    out->best_s = bb_bench_best(&task.own[tile]);
    out->median_s = bb_bench_median(&task.own[tile]);
    out->flops = bb_tile_cholesky_flops(n, 0);
    out->peer = 1e-9 * out->flops / peer;
    out->ratio = peer / out->best_s;
    out->binds = "flops";
    if (direct) {
        (void)snprintf(out->detail, sizeof out->detail, "n %td, tile %td; potrf 1: %.0f, %td: %.0f",
                       n, task.tiles[tile], 1e-9 * out->flops / one, setup->threads,
                       1e-9 * out->flops / many);
    } else {
        (void)snprintf(out->detail, sizeof out->detail, "n %td, tile %td", n, task.tiles[tile]);
    }
    repetition again = {&source, (bb_variant)self->choice, task.tiles[tile]};
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CPU, factor_again, &again, 1.0,
                                   "filling of the matrix", out));
done:
    return status;
}
