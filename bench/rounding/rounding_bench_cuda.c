// SPDX-License-Identifier: Apache-2.0
//
// The sweep with the factor by panels in fp64 on a cuda device: products there, rounding on the
// host. Its ceiling is the device's peak of fused fp64 products, without tensor cores.
#include "bench/bench_matrix.h"
#include "bench/device_ceiling.h"
#include "bench/rounding/rounding_bench.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/rounding_sweep.h"

#include <math.h>

typedef struct panels {
    bb_device *device;
    bb_bench_matrix matrix;
    bb_panel_cholesky *factor;
} panels;

static bb_status sweep_panels(void *context, bb_coded_matrix *matrix, double *r, double *excess)
{
    const panels *gpu = context;
    const bb_rounding_step step = bb_rounding_bench_step(&matrix);
    return bb_rounding_sweep_panels(gpu->device, gpu->factor, bb_coded_matrix_columns(matrix),
                                    &step, bb_coded_matrix_rows(matrix), r, excess);
}

static bb_status factor_panels(bb_index n, bb_index block, panels *gpu)
{
    bb_status status = BB_OK;
    const bb_panel_plan plan = {.n = n, .block = block, .arithmetic = BB_VARIANT_DP};
    bb_outcome outcome = {0};
    bb_panel_times times;
    BB_TRY(bb_bench_matrix_open(BB_BENCH_DECAY, n, gpu->device, &gpu->matrix));
    const bb_panel_sources sources = {.matrix = gpu->matrix.twin};
    BB_TRY(bb_panel_cholesky_create(1, &gpu->device, &plan, &gpu->factor));
    BB_TRY(bb_panel_cholesky_factor(gpu->factor, &sources, NULL, &outcome, &times));
    BB_REQUIRE(outcome.kind == BB_OUTCOME_OK, BB_INTERNAL, "%s", outcome.detail);
done:
    return status;
}

bb_status bb_bench_rounding_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                 bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_index n = setup->quick ? 512 : 16384;
    bb_rounding_bench task = {0};
    bb_device_ceiling *ceiling = NULL;
    panels gpu = {0};
    double peak = NAN;
    (void)self;
    BB_TRY(bb_bench_open_cuda(setup, out, &gpu.device));
    if (gpu.device == NULL) {
        goto done;
    }
    BB_TRY(bb_rounding_bench_open(n / 4, n, &task));
    BB_TRY(factor_panels(n, setup->quick ? 256 : 1024, &gpu));
    BB_TRY(bb_device_ceiling_create(gpu.device, 1e6, &ceiling));
    for (int round = 0; round < BB_ROUNDING_BENCH_ROUNDS; ++round) {
        double flops_per_s = 0.0;
        BB_TRY(bb_rounding_bench_play(&task, sweep_panels, &gpu));
        BB_TRY(bb_device_ceiling_peak(ceiling, true, &flops_per_s));
        peak = fmax(peak, flops_per_s);
    }
    bb_rounding_bench_conclude(&task, out);
    out->peer = 1e-9 * peak;
    out->ratio = out->flops / out->best_s / peak;
done:
    bb_device_ceiling_destroy(&ceiling);
    bb_panel_cholesky_destroy(&gpu.factor);
    bb_bench_matrix_close(&gpu.matrix);
    bb_rounding_bench_close(&task);
    bb_device_close(&gpu.device);
    return status;
}
