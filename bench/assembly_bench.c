// SPDX-License-Identifier: Apache-2.0
//
// Assembly of the slope covariance of a natural and a laser star with ten layers: two grids of
// different projected sizes share no displacement, so that every entry is computed. The bar is 60 s
// for a block of 1e8 entries; a smaller one is measured, and the ratio is 60 s over its scaled
// time.
//
// On a cuda device: the lower triangle of 9 sensors of 86 x 86 lenslets, five laser stars of one
// altitude and four natural ones, in fp32 blocks of 1024 x 1024. Half of it uses displacement
// tables. The bar is 0.7 s.
#include "bench/bench.h"
#include "bench/bench_sky.h"
#include "core/clock.h"
#include "core/device/device_source.h"
#include "core/memory.h"
#include "core/thread.h"

#include <math.h>
#include <stdio.h>

enum { PANEL_ROWS = 32 };

typedef struct filling {
    const bb_matrix_source *source;
    bb_index rows,
        columns; // block size: slopes of the natural star by slopes of the laser star
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

static bb_status fill_again(void *context)
{
    const filling *task = context;
    return bb_thread_for((task->rows + PANEL_ROWS - 1) / PANEL_ROWS, fill_panel, context);
}

bb_status bb_bench_assembly(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_bench_sky seen = {0};
    bb_bench_times times = {0};
    (void)self;
    const bb_guide_star_config stars[] = {bb_bench_sky_star(BB_GUIDE_STAR_NGS, -30.0, 10.0),
                                          bb_bench_sky_star(BB_GUIDE_STAR_LGS, 40.0, 10.0)};
    BB_TRY(bb_bench_sky_create(8.0, 0.15, setup->quick ? 6 : 46, stars, 2, &seen));
    filling task = {.source = bb_slope_covariance_source(seen.covariance),
                    .rows = 2 * seen.guides.sensors[0].count,
                    .columns = 2 * seen.guides.sensors[1].count};
    for (int round = 0; round < 3; ++round) {
        double start = bb_clock_seconds();
        BB_TRY(fill_again(&task));
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
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CPU, fill_again, &task, 1.0, NULL, out));
done:
    bb_bench_sky_release(&seen);
    return status;
}

enum { BLOCK = 1024 };

typedef struct panel {
    bb_device *device;
    const bb_device_source *twin;
    void *values; // [n][BLOCK] fp32
    bb_index column;
} panel;

// Queues fills of the blocks of one column of the lower triangle, in order.
static bb_status fill_column(bb_queue *stream, bb_index begin, bb_index items, void *arguments)
{
    (void)begin;
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

static bb_status fill_triangle(panel *p, double *seconds)
{
    static const bb_kernel kernel = {.name = "covariance column",
                                     .run[BB_DEVICE_CUDA] = fill_column};
    bb_status status = BB_OK;
    BB_TRY(bb_device_timer_start(p->device));
    for (p->column = 0; p->column < p->twin->columns; p->column += BLOCK) {
        BB_TRY(bb_device_launch(p->device, &kernel, 1, p));
    }
    BB_TRY(bb_device_timer_stop(p->device, seconds));
done:
    return status;
}

static bb_status fill_triangle_again(void *context)
{
    double seconds = 0.0;
    return fill_triangle(context, &seconds);
}

static bb_status time_triangle(bb_device *device, const bb_device_source *twin,
                               bb_bench_times *times, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    panel p = {.device = device, .twin = twin};
    BB_TRY(bb_device_allocate(device, (size_t)(twin->rows * BLOCK) * sizeof(float), &p.values));
    for (int round = 0; round < 3; ++round) {
        double seconds = 0.0;
        BB_TRY(fill_triangle(&p, &seconds));
        bb_bench_add(times, seconds);
    }
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CUDA, fill_triangle_again, &p, 1.0, NULL, out));
done:
    bb_device_release(device, &p.values);
    return status;
}

static void report_triangle(const bb_bench_sky *seen, const bb_bench_times *times,
                            bb_bench_outcome *out)
{
    const double n = (double)seen->guides.measurement_count;
    const double full = 100368.0;
    const double direct = bb_slope_covariance_direct_entries(&seen->guides, &seen->guides);
    out->best_s = bb_bench_best(times);
    out->median_s = bb_bench_median(times);
    out->bytes = 4.0 * 0.5 * n * (n + 1.0);
    out->ratio = 0.7 / (out->best_s * full * full / (n * n));
    out->binds = "shared gather";
    (void)snprintf(out->detail, sizeof out->detail, "n = %.0f, %.2g evaluated x %td layers", n,
                   0.5 * direct, seen->atmosphere.layer_count);
}

bb_status bb_bench_assembly_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                 bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_bench_sky seen = {0};
    bb_bench_times times = {0};
    bb_device_source *twin = NULL;
    (void)self;
    BB_TRY(bb_bench_sky_create_wide(setup->quick ? 10 : 86, &seen));
    BB_TRY(
        bb_device_source_create(bb_slope_covariance_source(seen.covariance), setup->device, &twin));
    BB_TRY(time_triangle(setup->device, twin, &times, out));
    report_triangle(&seen, &times, out);
done:
    bb_device_source_destroy(&twin);
    bb_bench_sky_release(&seen);
    return status;
}
