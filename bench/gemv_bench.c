// SPDX-License-Identifier: Apache-2.0
//
// y = C x with a matrix that looks like a wafer's response: 378 points of a slit, a source grid of
// 512 x 500 cells. fp32 products but for fp64 storage; sums in fp64, or in fp32 where the name says
// so. The peer is fp32 storage, that of fp32 and fp64 what reading as many bytes takes. x and y are
// fp64.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 20, QUICK_ROUNDS = 3 };

typedef struct encoding {
    bb_coded_matrix *matrix;
    bb_index rows, columns, mesh_columns;
} encoding;

void bb_bench_draw_commands(bb_index row, bb_index rows, bb_index columns, double *out)
{
    enum { SENSOR_AXES = 16 };
    for (bb_index j = 0; j < columns; ++j) {
        const double axis = SENSOR_AXES * ((double)j + 0.5) / (double)columns;
        const double d = axis - floor(axis) - ((double)row + 0.5) / (double)rows;
        out[j] = (0.05 + 1.0 / (1.0 + 100.0 * d * d)) *
                 bb_random_normal(1, BB_STREAM_LOOP_MATRIX, (uint64_t)(row * columns + j));
    }
}

// Displacement falls off as 1 over the squared distance, from a point that moves along the slit.
static void respond_row(const encoding *task, bb_index row, double *values)
{
    bb_index lines = task->columns / task->mesh_columns;
    bb_index slit_line = row / 21;
    double centre_x = 0.5 * (double)task->mesh_columns + 2.0 * (double)(row % 21) + 0.3;
    double centre_y = 0.5 * (double)lines + 2.0 * (double)slit_line;
    for (bb_index j = 0; j < task->columns; ++j) {
        bb_index line = j / task->mesh_columns;
        double x = (double)(j % task->mesh_columns) - centre_x;
        double y = (double)line - centre_y;
        values[j] = 1e-9 * x / (4.0 + x * x + y * y);
    }
}

static bb_status encode_row(void *context, bb_index row)
{
    bb_status status = BB_OK;
    const encoding *task = context;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(task->columns, &values));
    if (task->mesh_columns == 0) {
        bb_bench_draw_commands(row, task->rows, task->columns, values);
    } else {
        respond_row(task, row, values);
    }
    BB_TRY(bb_coded_matrix_encode(task->matrix, row, bb_view_matrix(values, 1, task->columns)));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status encode(const char *storage, const bb_bench_sizes *sizes, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    encoding task = {
        .rows = sizes->rows, .columns = sizes->columns, .mesh_columns = sizes->mesh_columns};
    bb_matrix_layout layout = {
        .rows = sizes->rows, .columns = sizes->columns, .mesh_columns = sizes->mesh_columns};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(storage, &config), BB_INTERNAL, "no storage %s", storage);
    bb_row_scale scale = bb_codec_takes_row_scale(&config) ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    BB_TRY(bb_coded_matrix_create(&config, scale, &layout, out));
    task.matrix = *out;
    BB_TRY(bb_thread_for(sizes->rows, encode_row, &task));
done:
    return status;
}

typedef struct contest {
    bb_coded_matrix *matrix, *single;
    bb_coded_operator *operation, *single_operation;
    bb_ceiling ceiling;
    double *x, *y;
    bb_bench_times own, peer, read;
    int rounds;
} contest;

static bb_status prepare(const bb_bench_case *self, const bb_bench_setup *setup, bb_format sums,
                         const bb_bench_sizes *sizes, contest *out)
{
    bb_status status = BB_OK;
    const bb_index rows = sizes->rows;
    const bb_index columns = sizes->columns;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(self->storage, &config), BB_INTERNAL, "no storage %s", self->storage);
    const bool wide = bb_codec_is_plain(&config, BB_FORMAT_FP64);
    const bb_gemv_arithmetic arithmetic = {wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32, sums};
    // What decodes before every product is slow.
    out->rounds = setup->quick || bb_codec_unpacks(&config, BB_DEVICE_CPU) ? QUICK_ROUNDS : ROUNDS;
    BB_TRY(BB_ALLOCATE(columns, &out->x));
    BB_TRY(BB_ALLOCATE(rows, &out->y));
    for (bb_index j = 0; j < columns; ++j) {
        out->x[j] = 1.0 + 1e-3 * (double)(j % 100);
    }
    BB_TRY(encode(self->storage, sizes, &out->matrix));
    BB_TRY(bb_coded_operator_create(setup->device, out->matrix, arithmetic, &out->operation));
    if (!wide && !bb_codec_is_plain(&config, BB_FORMAT_FP32)) {
        BB_TRY(encode("fp32", sizes, &out->single));
        BB_TRY(bb_coded_operator_create(setup->device, out->single, mixed, &out->single_operation));
    }
    BB_TRY(bb_ceiling_create((double)(rows * columns) * 4.0, false, &out->ceiling));
done:
    return status;
}

static bb_status apply(bb_coded_operator *operation, contest *task, bb_index rows,
                       bb_bench_times *times)
{
    bb_status status = BB_OK;
    double seconds = 0.0;
    BB_TRY(bb_coded_operator_apply(operation, 0, rows, task->x, task->y, &seconds));
    bb_bench_add(times, seconds);
done:
    return status;
}

static bb_status apply_again(void *context)
{
    contest *task = context;
    double seconds = 0.0;
    return bb_coded_operator_apply(task->operation, 0, bb_coded_matrix_rows(task->matrix), task->x,
                                   task->y, &seconds);
}

static void conclude(const contest *task, bb_index rows, bb_index columns, bb_bench_outcome *out)
{
    double read_rate = 8.0 * (double)task->ceiling.items / bb_bench_best(&task->read);
    out->best_s = bb_bench_best(&task->own);
    out->median_s = bb_bench_median(&task->own);
    out->flops = bb_coded_operator_flops(rows, columns);
    out->bytes =
        (double)bb_coded_matrix_bytes(task->matrix) + 8.0 * (double)columns + 8.0 * (double)rows;
    double of_read = out->bytes / out->best_s / read_rate;
    out->binds = of_read >= 0.7 ? "bytes" : "instructions";
    out->ratio = task->single == NULL ? of_read : bb_bench_best(&task->peer) / out->best_s;
    out->peer = 1e-9 * (task->single == NULL ? read_rate
                                             : (double)bb_coded_matrix_bytes(task->single) /
                                                   bb_bench_best(&task->peer));
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td, %.2f bits, %.0f %% of read", rows,
                   columns,
                   8.0 * (double)bb_coded_matrix_bytes(task->matrix) / (double)(rows * columns),
                   100.0 * of_read);
}

static bb_status compete(const bb_bench_case *self, const bb_bench_setup *setup, bb_format sums,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    const bb_bench_sizes sizes = bb_bench_sizes_of(self->choice, setup->quick);
    BB_TRY(prepare(self, setup, sums, &sizes, &task));
    for (int round = 0; round < task.rounds; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_ceiling_read(&task.ceiling, &seconds));
        bb_bench_add(&task.read, seconds);
        BB_TRY(apply(task.operation, &task, sizes.rows, &task.own));
        if (task.single != NULL) {
            BB_TRY(apply(task.single_operation, &task, sizes.rows, &task.peer));
        }
    }
    conclude(&task, sizes.rows, sizes.columns, out);
    BB_TRY(bb_bench_take_energy(BB_DEVICE_CPU, apply_again, &task, 1.0, NULL, out));
done:
    bb_ceiling_release(&task.ceiling);
    bb_coded_operator_destroy(&task.operation);
    bb_coded_operator_destroy(&task.single_operation);
    bb_coded_matrix_destroy(&task.matrix);
    bb_coded_matrix_destroy(&task.single);
    BB_RELEASE(&task.x);
    BB_RELEASE(&task.y);
    return status;
}

bb_status bb_bench_gemv(const bb_bench_case *self, const bb_bench_setup *setup,
                        bb_bench_outcome *out)
{
    return compete(self, setup, BB_FORMAT_FP64, out);
}

bb_status bb_bench_gemv_fp32_sums(const bb_bench_case *self, const bb_bench_setup *setup,
                                  bb_bench_outcome *out)
{
    return compete(self, setup, BB_FORMAT_FP32, out);
}
