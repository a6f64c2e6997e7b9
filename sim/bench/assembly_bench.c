// SPDX-License-Identifier: Apache-2.0
//
// Entries of the slope covariance of a natural and a laser star, ten layers: two grids of different
// projected sizes share no displacement, so every entry is computed. The bar is on a block of 1e8
// entries within 60 s; a smaller one is measured, and the ratio is 60 s over its time scaled up.
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/slope_covariance.h"
#include "sim/bench/bench.h"

#include <math.h>
#include <stdio.h>

enum { PANEL_ROWS = 32 };

typedef struct filling {
    const bb_matrix_source *source;
    bb_index rows, columns; // of the block: the natural star's slopes by the laser star's
} filling;

static bb_status fill_panel(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const filling *task = context;
    double *values = NULL;
    bb_index row = index * PANEL_ROWS;
    bb_index rows = task->rows - row < PANEL_ROWS ? task->rows - row : PANEL_ROWS;
    BB_TRY(BB_ALLOCATE(rows * task->columns, &values));
    BB_TRY(bb_matrix_source_fill(task->source, row, task->rows,
                                 bb_view_matrix(values, rows, task->columns)));
done:
    BB_RELEASE(&values);
    return status;
}

typedef struct sky {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_slope_covariance *covariance;
} sky;

static bb_guide_star_config star(bb_guide_star_kind kind, double x_arcsec)
{
    return (bb_guide_star_config){.kind = (int)kind,
                                  .x_arcsec = x_arcsec,
                                  .y_arcsec = 10.0,
                                  .altitude_km = 90.0,
                                  .magnitude = 12.0,
                                  .lenslets = BB_INTEGER_UNSET,
                                  .frame_ms = NAN,
                                  .read_noise_e = NAN,
                                  .pixel_arcsec = NAN,
                                  .wavelength_nm = NAN,
                                  .transmission = NAN,
                                  .bandwidth_nm = NAN,
                                  .flux_ph_per_m2_s = NAN,
                                  .spot_arcsec = NAN,
                                  .depth_km = NAN,
                                  .tilt_variance_arcsec2 = NAN,
                                  .launch_x_m = NAN,
                                  .launch_y_m = NAN};
}

static bb_status create_sky(bb_index lenslets, sky *out)
{
    bb_status status = BB_OK;
    const bb_telescope_config telescope = {.diameter_m = 8.0, .obstruction = 0.15};
    const bb_atmosphere_config atmosphere = {
        .profile = BB_PROFILE_MOAO_10, .outer_scale_m = 25.0, .r0_m = NAN};
    const bb_sensors_config sensors = {
        .lenslets = lenslets,
        .frame_ms = 4.0,
        .read_noise_e = 3.0,
        .atmosphere_transmission = 0.9,
        .ngs = {0.25, 640.0, 300.0, 0.3 },
        .lgs = { 1.0, 589.0, 0.3,    7e6, 1.0, 10.0, 0.01}
    };
    const bb_guide_star_config stars[] = {star(BB_GUIDE_STAR_NGS, -30.0),
                                          star(BB_GUIDE_STAR_LGS, 40.0)};
    const bb_ao_config config = {.telescope = &telescope,
                                 .atmosphere = &atmosphere,
                                 .sensors = &sensors,
                                 .guide_stars = stars,
                                 .guide_star_count = 2};
    BB_TRY(bb_atmosphere_create(&atmosphere, 0.0, &out->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&config, &out->atmosphere, &out->guides));
    const bb_slope_covariance_parts parts = {.name = "Cmm",
                                             .atmosphere = &out->atmosphere,
                                             .rows = &out->guides,
                                             .columns = &out->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &out->covariance));
done:
    return status;
}

bb_status bb_bench_assembly(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    sky seen = {0};
    bb_bench_times times = {0};
    (void)self;
    BB_TRY(create_sky(setup->quick ? 6 : 46, &seen));
    filling task = {.source = bb_slope_covariance_source(seen.covariance),
                    .rows = 2 * seen.guides.sensors[0].count,
                    .columns = 2 * seen.guides.sensors[1].count};
    for (int round = 0; round < 3; ++round) {
        double start = bb_clock_seconds();
        BB_TRY(bb_parallel_for((task.rows + PANEL_ROWS - 1) / PANEL_ROWS, fill_panel, &task));
        bb_bench_add(&times, bb_clock_seconds() - start);
    }
    double entries = (double)task.rows * (double)task.columns;
    double layers = (double)seen.atmosphere.layer_count;
    out->best_s = bb_bench_best(&times);
    out->median_s = bb_bench_median(&times);
    out->bytes = 8.0 * entries;
    double scaled = out->best_s * 1e8 / entries * 10.0 / layers;
    out->ratio = 60.0 / scaled;
    out->binds = "instructions";
    (void)snprintf(out->detail, sizeof out->detail, "%.2g entries, %.0f layers: 1e8 x 10 in %.1f s",
                   entries, layers, scaled);
done:
    bb_slope_covariance_destroy(&seen.covariance);
    bb_sensor_array_release(&seen.guides);
    bb_atmosphere_release(&seen.atmosphere);
    return status;
}
