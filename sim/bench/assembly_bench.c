// SPDX-License-Identifier: Apache-2.0
//
// Entries of the slope covariance of a natural and a laser star, ten layers: two grids of different
// projected sizes share no displacement, so every entry is computed. The bar is on a block of 1e8
// entries within 60 s; a smaller one is measured, and the ratio is 60 s over its time scaled up.
//
// On a cuda device: the lower triangle of 9 sensors of 86 x 86 lenslets, five laser stars of one
// altitude and four natural ones, in fp32 blocks of 1024 x 1024. Half of it has displacement
// tables. The bar is on 0.7 s.
#include "core/clock.h"
#include "core/device_source.h"
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

static bb_guide_star_config star(bb_guide_star_kind kind, double x_arcsec, double y_arcsec)
{
    return (bb_guide_star_config){.kind = (int)kind,
                                  .x_arcsec = x_arcsec,
                                  .y_arcsec = y_arcsec,
                                  .magnification = 1.0,
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

static bb_status create_sky(double diameter_m, double obstruction, bb_index lenslets,
                            const bb_guide_star_config *stars, bb_index star_count, sky *out)
{
    bb_status status = BB_OK;
    const bb_telescope_config telescope = {.diameter_m = diameter_m, .obstruction = obstruction};
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
    const bb_ao_config config = {.telescope = &telescope,
                                 .atmosphere = &atmosphere,
                                 .sensors = &sensors,
                                 .guide_stars = stars,
                                 .guide_star_count = star_count};
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

static void release_sky(sky *seen)
{
    bb_slope_covariance_destroy(&seen->covariance);
    bb_sensor_array_release(&seen->guides);
    bb_atmosphere_release(&seen->atmosphere);
}

bb_status bb_bench_assembly(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    sky seen = {0};
    bb_bench_times times = {0};
    (void)self;
    const bb_guide_star_config stars[] = {star(BB_GUIDE_STAR_NGS, -30.0, 10.0),
                                          star(BB_GUIDE_STAR_LGS, 40.0, 10.0)};
    BB_TRY(create_sky(8.0, 0.15, setup->quick ? 6 : 46, stars, 2, &seen));
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
    release_sky(&seen);
    return status;
}

enum { STARS = 9, LASER_STARS = 5, BLOCK = 1024 };

static bb_status create_wide_sky(bb_index lenslets, sky *out)
{
    static const double natural[STARS - LASER_STARS][2] = {
        {-16.0, -36.0},
        {-32.0, 38.0 },
        {52.0,  -5.0 },
        {17.0,  44.0 }
    };
    bb_guide_star_config stars[STARS];
    for (int s = 0; s < STARS; ++s) {
        const double azimuth = 2.0 * M_PI * s / LASER_STARS;
        stars[s] =
            s < LASER_STARS
                ? star(BB_GUIDE_STAR_LGS, 23.0 * cos(azimuth), 23.0 * sin(azimuth))
                : star(BB_GUIDE_STAR_NGS, natural[s - LASER_STARS][0], natural[s - LASER_STARS][1]);
    }
    return create_sky(39.0, 0.2, lenslets, stars, STARS, out);
}

typedef struct panel {
    const bb_device_source *twin;
    void *values; // [n][BLOCK] fp32
    bb_index column;
} panel;

// The blocks of one column of the lower triangle, in the device's order of work.
static bb_status fill_column(void *stream, bb_index items, void *arguments)
{
    const panel *p = arguments;
    const bb_index n = p->twin->rows;
    const bb_index columns = n - p->column < BLOCK ? n - p->column : BLOCK;
    (void)items;
    for (bb_index row = p->column; row < n; row += BLOCK) {
        const bb_index rows = n - row < BLOCK ? n - row : BLOCK;
        float *first = (float *)p->values + row * BLOCK;
        BB_RETURN_IF_FAILED(
            bb_device_source_fill(p->twin, stream, row, p->column,
                                  bb_device_matrix(first, BB_F32, rows, columns, BLOCK)));
    }
    return BB_OK;
}

static bb_status time_triangle(bb_device *device, const bb_device_source *twin,
                               bb_bench_times *times)
{
    static const bb_kernel kernel = {.name = "covariance column", .cuda = fill_column};
    bb_status status = BB_OK;
    panel p = {.twin = twin};
    BB_TRY(bb_device_allocate(device, (size_t)(twin->rows * BLOCK) * sizeof(float), &p.values));
    for (int round = 0; round < 3; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_device_timer_start(device));
        for (p.column = 0; p.column < twin->columns; p.column += BLOCK) {
            BB_TRY(bb_device_launch(device, &kernel, 1, &p));
        }
        BB_TRY(bb_device_timer_stop(device, &seconds));
        bb_bench_add(times, seconds);
    }
done:
    bb_device_release(device, &p.values);
    return status;
}

static void report_triangle(const sky *seen, const bb_bench_times *times, bb_bench_outcome *out)
{
    const double n = (double)seen->guides.measurement_count;
    const double full = 100368.0;
    const bb_slope_covariance_cost cost = bb_slope_covariance_price(&seen->guides, &seen->guides);
    out->best_s = bb_bench_best(times);
    out->median_s = bb_bench_median(times);
    out->bytes = 4.0 * 0.5 * n * (n + 1.0);
    out->ratio = 0.7 / (out->best_s * full * full / (n * n));
    out->binds = "shared gather";
    (void)snprintf(out->detail, sizeof out->detail, "n = %.0f, %.2g evaluated x %td layers", n,
                   0.5 * cost.direct_entries, seen->atmosphere.layer_count);
}

bb_status bb_bench_assembly_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                 bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    sky seen = {0};
    bb_bench_times times = {0};
    bb_device *device = NULL;
    bb_device_source *twin = NULL;
    (void)self;
    BB_TRY(bb_bench_open_cuda(setup, out, &device));
    if (device == NULL) {
        goto done;
    }
    BB_TRY(create_wide_sky(setup->quick ? 10 : 86, &seen));
    BB_TRY(bb_device_source_create(bb_slope_covariance_source(seen.covariance), device, &twin));
    BB_TRY(time_triangle(device, twin, &times));
    report_triangle(&seen, &times, out);
done:
    bb_device_source_destroy(&twin);
    bb_device_close(&device);
    release_sky(&seen);
    return status;
}
