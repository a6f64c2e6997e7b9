// SPDX-License-Identifier: Apache-2.0
//
// Thermal step T <- A T of a 300 mm wafer on its clamp, mesh 0.5 mm, and restriction S = W T from
// its mesh to the grid, against a triad that moves the minimum bytes of the step: values, columns
// and row starts of the matrix, vectors read and written once.
#include "bench/heat_bench.h"

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "core/clock.h"
#include "core/memory.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/response/temperature_grid.h"
#include "solvers/step/stepper.h"

#include <stdio.h>

const bb_wafer_material_config bb_bench_wafer = {.diameter_mm = 300.0,
                                                 .thickness_um = 775.0,
                                                 .conductivity_w_per_m_k = 148.0,
                                                 .density_kg_per_m3 = 2330.0,
                                                 .specific_heat_j_per_kg_k = 712.0,
                                                 .expansion_per_k = 2.6e-6,
                                                 .youngs_modulus_gpa = 160.0,
                                                 .poisson_ratio = 0.28,
                                                 .absorption = 1.0};
const bb_clamp_config bb_bench_clamp = {.exchange_w_per_m2_k = 1500.0,
                                        .tangential_stiffness_n_per_m3 = 1e11,
                                        .normal_stiffness_n_per_m3 = 1e12,
                                        .spacing_mm = 3.0,
                                        .thickness_mm = 8.0,
                                        .heat_capacity_j_per_m3_k = 2e6,
                                        .conductivity_w_per_m_k = 1.3,
                                        .water_exchange_w_per_m2_k = 3000.0};

// Times `work`, one product with `a`, against a triad that moves as many bytes and, between the
// rounds, evicts them from the caches; or repeats it alone.
static bb_status measure(const bb_csr *a, bb_status (*work)(void *context), void *context,
                         int rounds, bool with_triad, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_ceiling ceiling = {0};
    bb_bench_times times = {0};
    bb_bench_times triad = {0};
    out->bytes = (double)bb_csr_nonzeros(a) * (sizeof *a->value + sizeof *a->column) +
                 (double)(a->rows + 1) * sizeof *a->row_start +
                 (double)(a->rows + a->columns) * sizeof(double);
    out->flops = 2.0 * (double)bb_csr_nonzeros(a);
    BB_TRY(bb_ceiling_create(out->bytes, true, &ceiling));
    for (int round = 0; round < rounds; ++round) {
        double seconds = 0.0;
        BB_TRY(with_triad ? bb_ceiling_triad(&ceiling, &seconds) : BB_OK);
        bb_bench_add(&triad, seconds);
        const double start = bb_clock_seconds();
        BB_TRY(work(context));
        bb_bench_add(&times, bb_clock_seconds() - start);
    }
    out->best_s = bb_bench_best(&times);
    out->median_s = bb_bench_median(&times);
    out->peer = 24e-9 * (double)ceiling.items / bb_bench_best(&triad);
    out->ratio = 1e-9 * out->bytes / out->best_s / out->peer;
    out->binds = out->ratio >= 0.8 ? "bytes" : "instructions";
    (void)snprintf(out->detail, sizeof out->detail, "%td rows, %.2f entries per row", a->rows,
                   (double)bb_csr_nonzeros(a) / (double)a->rows);
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CPU, work, context, 1.0, NULL, out));
done:
    bb_ceiling_release(&ceiling);
    return status;
}

static bb_status step(void *context)
{
    return bb_stepper_step(context, 0, NULL, NULL);
}

bb_status bb_bench_heat(const bb_bench_case *self, const bb_bench_setup *setup,
                        bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_disc_mesh *mesh = NULL;
    bb_thermal *thermal = NULL;
    bb_stepper *stepper = NULL;
    const double spacing = setup->quick ? 5e-3 : 0.5e-3;
    (void)self;
    BB_TRY(bb_disc_mesh_create(0.15, spacing, &mesh));
    bb_clamp_config layer = bb_bench_clamp;
    layer.spacing_mm = 6e3 * spacing;
    BB_TRY(bb_thermal_create(mesh, &bb_bench_wafer, &layer, BB_CLAMP_LAYER, 1e-3, &thermal));
    BB_TRY(bb_stepper_create(&thermal->step_matrix, thermal->per_joule, &stepper));
    BB_TRY(measure(&thermal->step_matrix, step, stepper, setup->quick ? 3 : BB_BENCH_SAMPLES, true,
                   out));
done:
    bb_stepper_destroy(&stepper);
    bb_thermal_destroy(&thermal);
    bb_disc_mesh_destroy(&mesh);
    return status;
}

typedef struct restriction {
    const bb_csr *w;
    double *t, *s;
} restriction;

static bb_status restrict_heat(void *context)
{
    const restriction *task = context;
    return bb_csr_multiply(task->w, task->t, task->s);
}

bb_status bb_bench_restriction(const bb_bench_case *self, const bb_bench_setup *setup,
                               bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_grid_config config = {.columns = setup->quick ? 32 : 512,
                                   .rows = setup->quick ? 30 : 500};
    bb_disc_mesh *mesh = NULL;
    bb_temperature_grid *grid = NULL;
    restriction task = {0};
    (void)self;
    BB_TRY(bb_disc_mesh_create(0.15, setup->quick ? 5e-3 : 0.5e-3, &mesh));
    BB_TRY(bb_temperature_grid_create(mesh, &config, &grid));
    task.w = &grid->restriction;
    BB_TRY(BB_ALLOCATE(task.w->columns, &task.t));
    BB_TRY(BB_ALLOCATE(task.w->rows, &task.s));
    for (bb_index i = 0; i < task.w->columns; ++i) {
        task.t[i] = 1e-3 * (double)(i % 100);
    }
    BB_TRY(measure(task.w, restrict_heat, &task, setup->quick ? 3 : 20, false, out));
done:
    bb_disc_mesh_destroy(&mesh);
    bb_temperature_grid_destroy(&grid);
    BB_RELEASE(&task.t);
    BB_RELEASE(&task.s);
    return status;
}
