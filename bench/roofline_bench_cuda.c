// SPDX-License-Identifier: Apache-2.0
//
// The steps of roofline_bench.c on a cuda device: attained rate against the slope of the roof,
// operations per byte times the rate of reading as many bytes. Operations per byte refer to the
// matrices on the device: fp32 values, columns of 4 bytes, padded slices.
//
// Steps that fit into the second-level cache are repeated in it, and so is their read. All steps
// are far below a GPU's ridge, so the peak is not measured.
#include "bench/bench.h"
#include "bench/gemv/gemv_peer.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS = 4096, REPEATS = 24, ROUNDS = 20 };

// Measures the rate of reading `bytes`, in bytes per second.
static bb_status measure_read(bb_device *device, double bytes, double *out)
{
    bb_status status = BB_OK;
    const bb_index rows = (bb_index)ceil(bytes / (4.0 * COLUMNS));
    bb_gemv_peer *ceiling = NULL;
    bb_bench_times times = {0};
    double *values = NULL;
    BB_TRY(BB_ZEROED(COLUMNS, &values));
    BB_TRY(bb_gemv_peer_create(device, BB_GEMV_READ, rows, COLUMNS, values, &ceiling));
    for (bb_index row = 0; row < rows; ++row) {
        BB_TRY(bb_gemv_peer_load(ceiling, row, values));
    }
    for (int round = 0; round < ROUNDS; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_gemv_peer_time(ceiling, REPEATS, &seconds));
        bb_bench_add(&times, seconds);
    }
    *out = 4.0 * (double)rows * COLUMNS / bb_bench_best(&times);
done:
    bb_gemv_peer_destroy(&ceiling);
    BB_RELEASE(&values);
    return status;
}

static bb_status measure_step(const bb_bench_setup *setup, bb_bench_step step,
                              bb_bench_outcome *out)
{
    static const bb_bench_case product = {.name = "gemv-cuda-fp32", .storage = "fp32"};
    switch (step) {
    case BB_BENCH_STEP_THERMAL:
        return bb_bench_heat_cuda(NULL, setup, out);
    case BB_BENCH_STEP_RESTRICTION:
        return bb_bench_restriction_cuda(NULL, setup, out);
    default:
        return bb_bench_gemv_cuda(&product, setup, out);
    }
}

bb_status bb_bench_roofline_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                 bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    double read = 0.0;
    BB_TRY(measure_step(setup, (bb_bench_step)self->choice, out));
    BB_TRY(measure_read(setup->device, out->bytes, &read));
    const double intensity = out->flops / out->bytes;
    const double attained = out->flops / out->best_s;
    out->peer = 1e-9 * intensity * read;
    out->ratio = attained / (intensity * read);
    out->roof_bytes = read;
    out->binds = "bytes";
    (void)snprintf(out->detail, sizeof out->detail,
                   "%.3f operations per byte, slope %.0f GFLOP/s (read %.0f GB/s), attained %.0f",
                   intensity, 1e-9 * intensity * read, 1e-9 * read, 1e-9 * attained);
done:
    return status;
}
