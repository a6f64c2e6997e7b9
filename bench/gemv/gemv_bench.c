// SPDX-License-Identifier: Apache-2.0
//
// y = C x on the cpu. fp32 products; sums in fp64, or in fp32 if the row has that flag. The peer is
// fp32 storage; that of fp32 and of the BLAS is reading as many bytes. x and y are fp64. Without a
// storage: sgemv on all threads with arbitrary values, as Bamakhrama et al. (2019), Figure 10,
// compared with MKL.
#include "bench/gemv/gemv_bench.h"

#include "bench/ceiling.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "solvers/operator/coded_operator.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>

enum { ROUNDS = 20, QUICK_ROUNDS = 3 };

bb_gemv_sizes bb_gemv_sizes_of(const bb_bench_case *self, const bb_bench_setup *setup)
{
    static const bb_gemv_sizes sizes[BB_GEMV_LAYOUTS][2] = {
        [BB_GEMV_WIDE] = {{378, 256000, 512}, {21, 4096, 512}},
        [BB_GEMV_SQUARE] = {{9728, 9728, 512}, {512, 512, 512}},
        [BB_GEMV_TALL] = {{252000, 384, 128}, {2048, 384, 128}},
        [BB_GEMV_FRAME] = {{4092, 19078, 0}, {96, 1023, 0}},
        [BB_GEMV_TARGET] = {{5316, 100368, 0}, {96, 1023, 0}}};
    if (setup->rows > 0 && !setup->quick) {
        const bb_index mesh = setup->columns % 512 == 0 ? 512 : setup->columns % 128 == 0 ? 128 : 0;
        return (bb_gemv_sizes){setup->rows, setup->columns, mesh};
    }
    return sizes[self->choice & BB_GEMV_LAYOUT][setup->quick];
}

static void draw_row(bb_index row, bb_index rows, bb_index columns, double *out)
{
    enum { SENSOR_AXES = 16 };
    for (bb_index j = 0; j < columns; ++j) {
        const double axis = SENSOR_AXES * ((double)j + 0.5) / (double)columns;
        const double d = axis - floor(axis) - ((double)row + 0.5) / (double)rows;
        out[j] = (0.05 + 1.0 / (1.0 + 100.0 * d * d)) *
                 bb_random_normal(1, BB_STREAM_LOOP_MATRIX, (uint64_t)(row * columns + j));
    }
}

void bb_gemv_sizes_fill(const bb_gemv_sizes *sizes, bb_index row, double *out)
{
    const bb_index mesh = sizes->mesh_columns;
    const bb_index slit_line = row / 21;
    if (mesh == 0) {
        draw_row(row, sizes->rows, sizes->columns, out);
        return;
    }
    const bb_index lines = sizes->columns / mesh;
    const double centre_x = 0.5 * (double)mesh + 2.0 * (double)(row % 21) + 0.3;
    const double centre_y = 0.5 * (double)lines + 2.0 * (double)slit_line;
    for (bb_index j = 0; j < sizes->columns; ++j) {
        const bb_index line = j / mesh;
        const double x = (double)(j % mesh) - centre_x;
        const double y = (double)line - centre_y;
        out[j] = 1e-9 * x / (4.0 + x * x + y * y);
    }
}

typedef struct encoding {
    bb_coded_matrix *matrix;
    const bb_gemv_sizes *sizes;
} encoding;

static bb_status encode_row(void *context, bb_index row)
{
    bb_status status = BB_OK;
    const encoding *task = context;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(task->sizes->columns, &values));
    bb_gemv_sizes_fill(task->sizes, row, values);
    BB_TRY(
        bb_coded_matrix_encode(task->matrix, row, bb_view_matrix(values, 1, task->sizes->columns)));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status encode(const char *storage, const bb_gemv_sizes *sizes, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    const bb_matrix_layout layout = {
        .rows = sizes->rows, .columns = sizes->columns, .mesh_columns = sizes->mesh_columns};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(storage, &config), BB_INTERNAL, "internal: invalid storage %s",
               storage);
    bb_row_scale scale = bb_codec_allows_row_scale(&config) ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    BB_TRY(bb_coded_matrix_create(&config, scale, &layout, out));
    encoding task = {*out, sizes};
    BB_TRY(bb_thread_for(sizes->rows, encode_row, &task));
done:
    return status;
}

typedef struct contest {
    bb_gemv_sizes sizes;
    bb_index threads;
    bb_coded_matrix *matrix, *single;
    bb_coded_operator *operation, *single_operation;
    float *blas_c, *blas_x, *blas_y;
    bb_ceiling ceiling;
    double *x, *y;
    double matrix_bytes;
    bb_bench_times own, peer, read;
    int rounds;
} contest;

static bb_status prepare_blas(contest *out)
{
    bb_status status = BB_OK;
    const bb_index values = out->sizes.rows * out->sizes.columns;
    BB_TRY(BB_ALLOCATE(values, &out->blas_c));
    BB_TRY(BB_ALLOCATE(out->sizes.columns, &out->blas_x));
    BB_TRY(BB_ALLOCATE(out->sizes.rows, &out->blas_y));
    for (bb_index i = 0; i < values; ++i) {
        out->blas_c[i] = 1e-9F * (float)(i % 1009);
    }
    for (bb_index j = 0; j < out->sizes.columns; ++j) {
        out->blas_x[j] = (float)out->x[j];
    }
    out->matrix_bytes = 4.0 * (double)values;
done:
    return status;
}

static bb_status prepare_own(const bb_bench_case *self, const bb_bench_setup *setup, contest *out)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(self->storage, &config), BB_INTERNAL, "internal: invalid storage %s",
               self->storage);
    const bb_gemv_arithmetic arithmetic = {
        BB_FORMAT_FP32, (self->choice & BB_GEMV_FP32_SUMS) != 0 ? BB_FORMAT_FP32 : BB_FORMAT_FP64};
    // Storage that is decoded before every product is slow.
    out->rounds = setup->quick || bb_codec_unpacks(&config, BB_DEVICE_CPU) ? QUICK_ROUNDS : ROUNDS;
    BB_TRY(encode(self->storage, &out->sizes, &out->matrix));
    BB_TRY(bb_coded_operator_create(setup->device, out->matrix, arithmetic, &out->operation));
    out->matrix_bytes = (double)bb_coded_matrix_bytes(out->matrix);
    if (!bb_codec_is_plain(&config, BB_FORMAT_FP32)) {
        BB_TRY(encode("fp32", &out->sizes, &out->single));
        BB_TRY(bb_coded_operator_create(setup->device, out->single, mixed, &out->single_operation));
    }
done:
    return status;
}

static bb_status prepare(const bb_bench_case *self, const bb_bench_setup *setup, contest *out)
{
    bb_status status = BB_OK;
    *out = (contest){.sizes = bb_gemv_sizes_of(self, setup),
                     .threads = setup->threads,
                     .rounds = setup->quick ? QUICK_ROUNDS : ROUNDS};
    BB_TRY(BB_ALLOCATE(out->sizes.columns, &out->x));
    BB_TRY(BB_ALLOCATE(out->sizes.rows, &out->y));
    for (bb_index j = 0; j < out->sizes.columns; ++j) {
        out->x[j] = 1.0 + 1e-3 * (double)(j % 100);
    }
    BB_TRY(self->storage == NULL ? prepare_blas(out) : prepare_own(self, setup, out));
    BB_TRY(bb_ceiling_create((double)(out->sizes.rows * out->sizes.columns) * 4.0, false,
                             &out->ceiling));
done:
    return status;
}

static bb_status apply(bb_coded_operator *operation, contest *task, bb_bench_times *times)
{
    bb_status status = BB_OK;
    double seconds = 0.0;
    BB_TRY(bb_coded_operator_apply(operation, 0, task->sizes.rows, task->x, task->y, &seconds));
    bb_bench_add(times, seconds);
done:
    return status;
}

static bb_status multiply_blas(contest *task, bb_bench_times *times)
{
    const int n = (int)task->sizes.columns;
    openblas_set_num_threads((int)task->threads);
    const double begin = bb_clock_seconds();
    cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)task->sizes.rows, n, 1.0F, task->blas_c, n,
                task->blas_x, 1, 0.0F, task->blas_y, 1);
    bb_bench_add(times, bb_clock_seconds() - begin);
    openblas_set_num_threads(1);
    return BB_OK;
}

static bb_status multiply(contest *task, bb_bench_times *times)
{
    return task->operation == NULL ? multiply_blas(task, times)
                                   : apply(task->operation, task, times);
}

static bb_status multiply_again(void *context)
{
    bb_bench_times times = {0};
    return multiply(context, &times);
}

static void set_outcome(const contest *task, bb_bench_outcome *out)
{
    const bb_index rows = task->sizes.rows;
    const bb_index columns = task->sizes.columns;
    const double read_rate = 8.0 * (double)task->ceiling.items / bb_bench_best(&task->read);
    out->best_s = bb_bench_best(&task->own);
    out->median_s = bb_bench_median(&task->own);
    out->flops = bb_coded_operator_flops(rows, columns);
    out->bytes =
        task->matrix_bytes + (task->operation == NULL ? 4.0 : 8.0) * (double)(rows + columns);
    const double of_read = out->bytes / out->best_s / read_rate;
    out->binds = of_read >= 0.7 ? "bytes" : "instructions";
    out->ratio = task->single == NULL ? of_read : bb_bench_best(&task->peer) / out->best_s;
    out->peer = 1e-9 * (task->single == NULL ? read_rate
                                             : (double)bb_coded_matrix_bytes(task->single) /
                                                   bb_bench_best(&task->peer));
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td, %.2f bits, %.0f %% of read", rows,
                   columns, 8.0 * task->matrix_bytes / (double)(rows * columns), 100.0 * of_read);
}

bb_status bb_bench_gemv(const bb_bench_case *self, const bb_bench_setup *setup,
                        bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    BB_TRY(prepare(self, setup, &task));
    for (int round = 0; round < task.rounds; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_ceiling_read(&task.ceiling, &seconds));
        bb_bench_add(&task.read, seconds);
        BB_TRY(multiply(&task, &task.own));
        if (task.single != NULL) {
            BB_TRY(apply(task.single_operation, &task, &task.peer));
        }
    }
    set_outcome(&task, out);
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CPU, multiply_again, &task, 1.0, NULL, out));
done:
    bb_ceiling_release(&task.ceiling);
    bb_coded_operator_destroy(&task.operation);
    bb_coded_operator_destroy(&task.single_operation);
    bb_coded_matrix_destroy(&task.matrix);
    bb_coded_matrix_destroy(&task.single);
    BB_RELEASE(&task.blas_c);
    BB_RELEASE(&task.blas_x);
    BB_RELEASE(&task.blas_y);
    BB_RELEASE(&task.x);
    BB_RELEASE(&task.y);
    return status;
}
