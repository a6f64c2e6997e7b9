// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_matrix.h"

#include "core/memory.h"
#include "precision/scaling.h"

const char *const bb_bench_matrix_names[BB_BENCH_MATRICES] = {"decay", "random", "covariance"};

static bb_status open_covariance(bb_index n, bb_bench_matrix *out)
{
    bb_status status = BB_OK;
    const bb_index lenslets = n == 1368 ? 10 : n == 34128 ? 50 : n == 100368 ? 86 : 0;
    double *diagonal = NULL;
    BB_REQUIRE(lenslets > 0, BB_INVALID,
               "no covariance of %td rows: --n 34128 or 100368, or --set decay or random", n);
    BB_TRY(bb_bench_sky_create_wide(lenslets, &out->sky));
    out->source = *bb_slope_covariance_source(out->sky.covariance);
    BB_REQUIRE(out->source.rows == n, BB_INTERNAL, "covariance of %td rows, expected %td",
               out->source.rows, n);
    BB_TRY(BB_ALLOCATE(n, &diagonal));
    BB_TRY(BB_ALLOCATE(n, &out->scale));
    BB_TRY(bb_matrix_source_diagonal(&out->source, diagonal));
    BB_TRY(bb_scaling_unit_diagonal(diagonal, n, out->scale));
done:
    BB_RELEASE(&diagonal);
    return status;
}

bb_status bb_bench_matrix_open(bb_bench_matrix_kind kind, bb_index n, bb_device *device,
                               bb_bench_matrix *out)
{
    bb_status status = BB_OK;
    out->source = kind == BB_BENCH_RANDOM ? bb_noise_source(&out->noise, n)
                                          : bb_decay_source(&bb_decay_matrix, n, n, "bench");
    BB_TRY(kind == BB_BENCH_COVARIANCE ? open_covariance(n, out) : BB_OK);
    BB_TRY(bb_device_source_create(&out->source, device, &out->twin));
done:
    return status;
}

void bb_bench_matrix_close(bb_bench_matrix *matrix)
{
    bb_device_source_destroy(&matrix->twin);
    BB_RELEASE(&matrix->scale);
    bb_bench_sky_release(&matrix->sky);
}
