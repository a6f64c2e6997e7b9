// SPDX-License-Identifier: Apache-2.0
//
// Response of a wafer on a cuda device: rows by finite elements for all points of a field along x,
// and the encoding of a matrix of 378 x 256000 from fp64 in device memory, including errors and
// certificates. The peers run on the host: CHOLMOD's adjoint solves by all threads for a part of
// the rows, scaled to all; and the host's encoder with the same storage, values and errors.
#include "bench/gemv/gemv_bench.h"
#include "bench/heat_bench.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/device_rows.h"
#include "sim/pipelines/product_coding.h"
#include "solvers/operator/device_coding.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 10, HOST_ROUNDS = 3, SLIT_COLUMNS = 21, QUICK_POINTS = 5, ROWS_A_THREAD = 16 };

// Times of the same work on device and host.
typedef struct timings {
    bb_bench_times device, host;
} timings;

static void report(const timings *times, double host_share, bb_bench_outcome *out)
{
    const double host = bb_bench_best(&times->host) / host_share;
    out->best_s = bb_bench_best(&times->device);
    out->median_s = bb_bench_median(&times->device);
    out->peer = 1e-9 * out->bytes / host;
    out->ratio = host / out->best_s;
}

typedef struct encode_task {
    bb_gemv_sizes sizes;
    bb_matrix_layout layout;
    bb_product_pipeline pipeline;
    double *values; // [rows][columns]
    void *device_values;
    bb_row_certificate *certificates; // [rows]
} encode_task;

static bb_status fill_row(void *context, bb_index row)
{
    const encode_task *task = context;
    bb_gemv_sizes_fill(&task->sizes, row, task->values + row * task->sizes.columns);
    return BB_OK;
}

static bb_status encode_device(const encode_task *task, bb_device *device)
{
    bb_status status = BB_OK;
    bb_coding_loss loss;
    bb_device_matrix *matrix = NULL;
    const bb_device_coding coding = {.storage = &task->pipeline.storage,
                                     .scale = (bb_row_scale)task->pipeline.scale,
                                     .layout = &task->layout,
                                     .values = task->device_values};
    BB_TRY(bb_device_coding_encode(device, &coding, &loss, task->certificates, &matrix));
done:
    bb_device_matrix_destroy(&matrix);
    return status;
}

static bb_status encode_host(const encode_task *task, double *bits)
{
    bb_status status = BB_OK;
    const bb_view view = bb_view_matrix(task->values, task->layout.rows, task->layout.columns);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "C", "m/K");
    const bb_exact_rows rows = {&source, 1, NULL};
    bb_coding_report coding_report;
    bb_coded_matrix *matrix = NULL;
    BB_TRY(bb_product_coding_encode(&task->pipeline, &rows, &task->layout, &coding_report,
                                    task->certificates, &matrix));
    *bits = 8.0 * coding_report.bytes / coding_report.values;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

static bb_status create_task(const bb_bench_case *self, const bb_bench_setup *setup,
                             encode_task *out)
{
    bb_status status = BB_OK;
    *out = (encode_task){.sizes = bb_gemv_sizes_of(self, setup),
                         .pipeline = {.name = self->name, .draws = 1}};
    const bb_index rows = out->sizes.rows;
    const bb_index values = rows * out->sizes.columns;
    BB_REQUIRE(bb_codec_read(self->storage, &out->pipeline.storage), BB_INTERNAL,
               "internal: invalid storage %s", self->storage);
    const bool words = bb_codec_form_of(&out->pipeline.storage).kind == BB_FORM_WORDS;
    out->pipeline.scale = words ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    out->layout = (bb_matrix_layout){.rows = rows,
                                     .columns = out->sizes.columns,
                                     .mesh_columns = out->sizes.mesh_columns,
                                     .row_columns = rows % SLIT_COLUMNS == 0 ? SLIT_COLUMNS : rows};
    BB_TRY(BB_ALLOCATE(values, &out->values));
    BB_TRY(BB_ALLOCATE(rows, &out->certificates));
    BB_TRY(bb_thread_for(rows, fill_row, out));
    BB_TRY(bb_device_allocate_copy(setup->device, out->values, (size_t)values * sizeof *out->values,
                                   &out->device_values));
    BB_TRY(bb_device_wait(setup->device));
done:
    return status;
}

bb_status bb_bench_encode_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                               bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    encode_task task = {0};
    timings times = {0};
    double bits = 0.0;
    BB_TRY(create_task(self, setup, &task));
    out->bytes = (double)task.layout.rows * (double)task.layout.columns * sizeof(double);
    BB_TRY(encode_device(&task, setup->device)); // allocates memory reused by later rounds
    for (int round = 0; round < (setup->quick ? 2 : ROUNDS); ++round) {
        double start = bb_clock_seconds();
        BB_TRY(encode_device(&task, setup->device));
        bb_bench_add(&times.device, bb_clock_seconds() - start);
        if (round < HOST_ROUNDS) {
            start = bb_clock_seconds();
            BB_TRY(encode_host(&task, &bits));
            bb_bench_add(&times.host, bb_clock_seconds() - start);
        }
    }
    report(&times, 1.0, out);
    out->binds = "instructions";
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td, %.3f bits per value",
                   task.layout.rows, task.layout.columns, bits);
done:
    bb_device_release(setup->device, &task.device_values);
    BB_RELEASE(&task.values);
    BB_RELEASE(&task.certificates);
    return status;
}

typedef struct host_rows {
    const bb_matrix_source *source;
    double *values; // at least the rows of one thread
} host_rows;

static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const host_rows *task = context;
    const bb_index columns = task->source->columns;
    return bb_matrix_source_fill(
        task->source, begin, 0,
        bb_view_matrix(task->values + begin * columns, end - begin, columns));
}

// Creates the scan of configs/wafer/bamakhrama-fast, one field, along x; in a test the wafer is
// coarse.
static bb_status create_problem(bool quick, bb_wafer_problem **out)
{
    static const bb_index field = 35;
    static const int axes[] = {BB_AXIS_X, BB_AXIS_Y};
    const bb_mesh_config mesh = {.spacing_mm = quick ? 5.0 : 0.5, .step_ms = 1.0, .substeps = 1};
    const bb_metrology_config metrology = {.columns = 13, .rows = 19};
    const bb_scan_config scan = {.field_width_mm = 26.0,
                                 .field_height_mm = 33.0,
                                 .usable_radius_mm = 147.0,
                                 .order = BB_SCAN_MEANDER,
                                 .fields = {(void *)(uintptr_t)&field, 1},
                                 .dose_mj_per_cm2 = 30.0,
                                 .light_steps = 34,
                                 .dark_steps = 36,
                                 .slit_width_mm = 1.6,
                                 .slit_arc_radius_mm = 30.0};
    const bb_response_config response = {.generator = BB_GENERATOR_FEM,
                                         .axes = {(void *)(uintptr_t)axes, 2},
                                         .grid = quick ? (bb_grid_config){24, 22}
                                                       : (bb_grid_config){512, 500},
                                         .slit_points = {quick ? QUICK_POINTS : SLIT_COLUMNS, 18},
                                         .field_rows = 103};
    bb_clamp_config clamp = bb_bench_clamp;
    clamp.spacing_mm = quick ? 5.0 : 3.0;
    const bb_wafer_config config = {.wafer = &bb_bench_wafer,
                                    .clamp = &clamp,
                                    .mesh = &mesh,
                                    .scan = &scan,
                                    .response = &response,
                                    .metrology = &metrology};
    return bb_wafer_problem_create(&config, out);
}

static bb_status solve_here(const bb_wafer_rows *rows, bb_index count, bb_bench_times *out)
{
    bb_status status = BB_OK;
    host_rows task = {rows->source, NULL};
    BB_TRY(BB_ALLOCATE(count * rows->source->columns, &task.values));
    for (int round = 0; round < HOST_ROUNDS; ++round) {
        const double start = bb_clock_seconds();
        BB_TRY(bb_thread_ranges(count, rows->batch, fill_rows, &task));
        bb_bench_add(out, bb_clock_seconds() - start);
    }
done:
    BB_RELEASE(&task.values);
    return status;
}

bb_status bb_bench_rows_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = NULL;
    bb_device_rows *rows = NULL;
    void *values = NULL;
    bb_wafer_rows host;
    timings times = {0};
    (void)self;
    BB_TRY(create_problem(setup->quick, &problem));
    const bb_index points = problem->slit.field_points;
    const bb_index wanted = ROWS_A_THREAD * bb_threads_count();
    const bb_index count = wanted < points ? wanted : points;
    out->bytes = (double)points * (double)problem->input_count * sizeof(double);
    out->flops = 4.0 * (double)bb_membrane_factor_values(problem->membrane) * (double)points;
    BB_TRY(bb_device_rows_create(problem, setup->device, &rows));
    BB_TRY(bb_device_allocate(setup->device, (size_t)out->bytes, &values));
    for (int round = 0; round <= (setup->quick ? 1 : ROUNDS); ++round) {
        const double start = bb_clock_seconds();
        BB_TRY(bb_device_rows_fill(rows, 0, BB_AXIS_X, values));
        if (round > 0) { // the first round loads the kernels
            bb_bench_add(&times.device, bb_clock_seconds() - start);
        }
    }
    BB_TRY(bb_wafer_problem_rows(problem, 0, BB_AXIS_X, &host));
    BB_TRY(solve_here(&host, count, &times.host));
    report(&times, (double)count / (double)points, out);
    out->binds = "flops";
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td, factor of %td values", points,
                   problem->input_count, bb_membrane_factor_values(problem->membrane));
done:
    bb_device_release(setup->device, &values);
    bb_device_rows_destroy(&rows);
    bb_wafer_problem_destroy(&problem);
    return status;
}
