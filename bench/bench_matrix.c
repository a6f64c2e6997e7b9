// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_matrix.h"

#include "core/memory.h"
#include "precision/scaling.h"

bb_index bb_bench_matrix_lenslets(bb_index n)
{
    static const struct {
        bb_index n, lenslets;
    } sizes[] = {
        {1368, 10},
        {34128, 50},
        {100368, 86},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        if (sizes[i].n == n) {
            return sizes[i].lenslets;
        }
    }
    return 0;
}

static bb_status open_covariance(bb_index n, bb_bench_matrix *out)
{
    bb_status status = BB_OK;
    const bb_index lenslets = bb_bench_matrix_lenslets(n);
    double *diagonal = NULL;
    BB_REQUIRE(lenslets > 0, BB_INVALID,
               "no covariance of %td rows, expected 1368, 34128 or 100368", n);
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
    if (kind == BB_BENCH_COVARIANCE) {
        BB_TRY(open_covariance(n, out));
    } else if (kind == BB_BENCH_RANDOM) {
        out->noise = bb_noise_make(n);
        out->source = bb_noise_source(&out->noise, n);
    } else {
        out->source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    }
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
