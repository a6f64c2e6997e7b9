// SPDX-License-Identifier: Apache-2.0
//
// Factorization and solve by panels on a GPU. Right-hand sides are further rows of the panels, so
// that the forward sweep is part of the factorization.
#include "core/device/transfer.h"
#include "core/memory.h"
#include "lib/factorization.h"
#include "solvers/factor/panels/panel_cholesky.h"

// Automatic blocks are those of the example studies timed on a GPU.
enum { STEP = 128, LARGEST_AUTO = 1024, BLOCKS_AUTO = 20, LARGEST = 32768 };

static bb_status make_plan(const bb_factor_config *config, bb_index n, bb_index sides,
                           bb_panel_plan *out)
{
    bb_status status = BB_OK;
    bb_index block = STEP;
    while (block < LARGEST_AUTO && 2 * block * BLOCKS_AUTO <= n) {
        block *= 2;
    }
    if (config->tile != BB_INTEGER_UNSET) {
        BB_REQUIRE(config->tile % STEP == 0 && config->tile <= LARGEST, BB_UNSUPPORTED,
                   "tile = %td: cuda needs a multiple of %d up to %d", config->tile, (int)STEP,
                   (int)LARGEST);
        block = config->tile;
    }
    BB_REQUIRE(bb_policy_describe(&config->policy)->is_uniform, BB_UNSUPPORTED,
               "policy %s: the library offers uniform on cuda; use the cpu",
               bb_policy_kind_names[config->policy.kind]);
    BB_REQUIRE(config->refine.method == (int)BB_REFINE_NONE, BB_UNSUPPORTED,
               "refine: no cuda kernels; use the cpu or refine=none");
    BB_REQUIRE(config->accumulate_from == 0, BB_UNSUPPORTED,
               "accumulate_from=c is emulated on the cpu only");
    const bb_index least = (n + STEP - 1) / STEP * STEP;
    *out = (bb_panel_plan){.n = n,
                           .block = block < n ? block : least,
                           .sides = sides,
                           .arithmetic = (bb_variant)config->arithmetic,
                           .diagonal_follows = config->policy.diagonal == (int)BB_POLICY_FOLLOW,
                           .sweeps = (bb_policy_sweeps)config->sweeps,
                           .sweep_energy = config->sweep_energy,
                           .unit_diagonal = config->scale == 0};
    BB_TRY(bb_panel_plan_check(out));
done:
    return status;
}

// Objects of a solve on the GPU.
typedef struct solving {
    bb_device *device;
    bb_device_source *matrix, *sides;
    bb_panel_cholesky *factor;
    bb_transfer *transfer;
    void *result; // [sides][n]
} solving;

static void release(solving *work)
{
    bb_panel_cholesky_destroy(&work->factor);
    bb_transfer_destroy(&work->transfer);
    bb_device_source_destroy(&work->sides);
    bb_device_source_destroy(&work->matrix);
    if (work->device != NULL) {
        bb_device_release(work->device, &work->result);
    }
    bb_device_close(&work->device);
}

static bb_status run(solving *work, const bb_panel_plan *plan, const double *scale, double *x,
                     bb_factorization_report *report)
{
    bb_status status = BB_OK;
    const size_t bytes = (size_t)(plan->sides * plan->n) * sizeof(double);
    const bb_device_source *const sides[] = {work->sides};
    const bb_panel_sources sources = {work->matrix, 1, sides};
    bb_panel_times times = {0};
    BB_TRY(bb_device_allocate(work->device, bytes, &work->result));
    BB_TRY(bb_panel_cholesky_create(1, &work->device, plan, &work->factor));
    BB_TRY(bb_panel_cholesky_factor(work->factor, &sources, scale, &report->outcome, &times));
    report->seconds = times.fill_s + times.factor_s;
    if (report->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_panel_cholesky_sweep(work->factor, &times));
    BB_TRY(bb_panel_cholesky_result(work->factor, work->result));
    BB_TRY(bb_transfer_create(work->device, 0, &work->transfer));
    BB_TRY(bb_transfer_download(work->transfer, x, work->result, bytes));
    const bb_index bad = bb_outcome_first_non_finite(x, plan->sides * plan->n);
    if (bad >= 0) {
        bb_outcome_set(&report->outcome, BB_OUTCOME_NON_FINITE, "solution %td, column %td",
                       bad / plan->n, bad % plan->n);
    }
done:
    return status;
}

bb_status bb_factor_config_solve_panels(const bb_factor_config *config,
                                        const bb_matrix_source *matrix, const double *scale,
                                        bb_index ordinal, bb_index count, double *x,
                                        bb_factorization_report *report)
{
    bb_status status = BB_OK;
    solving work = {0};
    bb_panel_plan plan;
    const bb_view view = bb_view_matrix(x, count, matrix->rows);
    const bb_matrix_source sides = bb_matrix_source_dense(&view, "right-hand sides", "1");
    BB_TRY(make_plan(config, matrix->rows, count, &plan));
    report->tile = plan.block;
    report->bytes = bb_panel_plan_factor_bytes(&plan);
    BB_TRY(bb_device_open(BB_DEVICE_CUDA, ordinal, &work.device));
    BB_TRY(bb_device_source_create(matrix, work.device, &work.matrix));
    BB_TRY(bb_device_source_create(&sides, work.device, &work.sides));
    BB_TRY(run(&work, &plan, scale, x, report));
done:
    release(&work);
    return status;
}
