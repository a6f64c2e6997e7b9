// SPDX-License-Identifier: Apache-2.0
//
// y = C x with the matrix of gemv_bench.c on a cuda device with a cold cache: copies of the matrix
// that exceed the last-level cache alternate. Every round reads an fp32 matrix of the same shape,
// which is the ceiling, then queues 24 products with x and y in device memory; the time is that of
// one product. The ratio is the ceiling's time for the fp32 matrix over that of a product: its
// limit is 1 for fp32 storage and 4 for 8 bits.
//
// `error` is ||y - C x|| / ||C x|| relative to fp64 on the host.
#include "bench/gemv/gemv_bench.h"
#include "bench/gemv/gemv_peer.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>
#include <stdio.h>

enum { REPEATS = 24, ROUNDS = 20, RUN = 32, MOST_COPIES = 16 };

static const double cold_bytes = 512e6; // several times the last-level cache

typedef struct contest {
    const bb_bench_case *self;
    bb_device *device;
    bb_gemv_sizes sizes;
    double *x, *y, *exact, *values; // host; values [columns]
    bb_coded_matrix *matrix;
    bb_coded_operator *copies[MOST_COPIES];
    int copy_count, next, together;
    void *device_x, *device_y;
    bb_gemv_peer *peer, *ceiling;
    bb_bench_times own, read;
    double matrix_bytes;
} contest;

static bb_status encode_row(void *context, bb_index row)
{
    bb_status status = BB_OK;
    const contest *task = context;
    double *values = NULL;
    double sum = 0.0;
    BB_TRY(BB_ALLOCATE(task->sizes.columns, &values));
    bb_gemv_sizes_fill(&task->sizes, row, values);
    for (bb_index j = 0; j < task->sizes.columns; ++j) {
        sum += values[j] * task->x[j];
    }
    task->exact[row] = sum;
    if (task->matrix != NULL) {
        BB_TRY(bb_coded_matrix_encode(task->matrix, row,
                                      bb_view_matrix(values, 1, task->sizes.columns)));
    }
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status prepare_own(contest *task)
{
    bb_status status = BB_OK;
    bb_matrix_layout layout = {.rows = task->sizes.rows,
                               .columns = task->sizes.columns,
                               .mesh_columns = task->sizes.mesh_columns};
    bb_codec_config config;
    float *narrow = NULL;
    BB_REQUIRE(bb_codec_read(task->self->storage, &config), BB_INTERNAL,
               "internal: invalid storage %s", task->self->storage);
    bb_format multiply =
        bb_codec_is_plain(&config, BB_FORMAT_FP64) ? BB_FORMAT_FP64 : BB_FORMAT_FP32;
    bb_row_scale scale = bb_codec_allows_row_scale(&config) ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    const bool each = multiply == BB_FORMAT_FP64 || (task->self->choice & BB_GEMV_EACH) != 0;
    const bb_index run = each ? 1 : RUN;
    size_t word = (size_t)bb_format_describe(multiply)->bytes;
    BB_TRY(bb_coded_matrix_create(&config, scale, &layout, &task->matrix));
    BB_TRY(bb_thread_for(task->sizes.rows, encode_row, task));
    BB_TRY(BB_ALLOCATE(task->sizes.columns, &narrow));
    do {
        bb_coded_operator **copy = &task->copies[task->copy_count++];
        BB_TRY(bb_coded_operator_create(task->device, task->matrix,
                                        (bb_gemv_arithmetic){multiply, BB_FORMAT_FP64}, copy));
        BB_TRY(bb_coded_operator_sum_in_runs(*copy, run));
        task->matrix_bytes = (double)bb_coded_operator_bytes(*copy);
    } while (task->copy_count < MOST_COPIES &&
             (task->copy_count < 1 + task->together ||
              task->matrix_bytes * task->copy_count < cold_bytes));
    BB_TRY(bb_device_allocate(task->device, (size_t)task->sizes.columns * word, &task->device_x));
    BB_TRY(bb_device_allocate(task->device,
                              (size_t)(BB_CODED_TOGETHER * task->sizes.rows) * sizeof(double),
                              &task->device_y));
    for (bb_index j = 0; j < task->sizes.columns; ++j) {
        narrow[j] = (float)task->x[j];
    }
    BB_TRY(bb_device_upload(task->device, task->device_x,
                            multiply == BB_FORMAT_FP64 ? (const void *)task->x : narrow,
                            (size_t)task->sizes.columns * word));
    BB_TRY(bb_device_wait(task->device));
done:
    BB_RELEASE(&narrow);
    return status;
}

static bb_status prepare_peer(contest *task)
{
    bb_status status = BB_OK;
    const bb_gemv_peer_kind kind = (bb_gemv_peer_kind)(task->self->choice / BB_GEMV_PEER);
    BB_TRY(bb_thread_for(task->sizes.rows, encode_row, task));
    BB_TRY(bb_gemv_peer_create(task->device, kind, task->sizes.rows, task->sizes.columns, task->x,
                               &task->peer));
    task->matrix_bytes = bb_gemv_peer_bytes(task->peer);
    for (bb_index row = 0; row < task->sizes.rows; ++row) {
        bb_gemv_sizes_fill(&task->sizes, row, task->values);
        BB_TRY(bb_gemv_peer_load(task->peer, row, task->values));
    }
done:
    return status;
}

static bb_status prepare(contest *task)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(task->sizes.columns, &task->x));
    BB_TRY(BB_ALLOCATE(task->sizes.columns, &task->values));
    BB_TRY(BB_ALLOCATE(task->sizes.rows, &task->y));
    BB_TRY(BB_ALLOCATE(task->sizes.rows, &task->exact));
    for (bb_index j = 0; j < task->sizes.columns; ++j) {
        task->x[j] = 1.0 + 1e-3 * (double)(j * 37 % 100);
    }
    BB_TRY(task->self->storage == NULL ? prepare_peer(task) : prepare_own(task));
    // The values read by the ceiling are arbitrary.
    BB_TRY(bb_gemv_peer_create(task->device, BB_GEMV_READ, task->sizes.rows, task->sizes.columns,
                               task->x, &task->ceiling));
    for (bb_index row = 0; row < task->sizes.rows; ++row) {
        BB_TRY(bb_gemv_peer_load(task->ceiling, row, task->x));
    }
done:
    return status;
}

static bb_status queue_own(bb_queue *stream, bb_index begin, bb_index rows, void *arguments)
{
    (void)begin;
    contest *task = arguments;
    bb_coded_window window = {0, rows, NULL};
    double *y[BB_CODED_TOGETHER];
    for (int i = 0; i < task->together; ++i) {
        y[i] = (double *)task->device_y + i * rows;
    }
    for (int k = 0; k < REPEATS; ++k) {
        bb_coded_operator *turn[BB_CODED_TOGETHER];
        for (int i = 0; i < task->together; ++i) {
            turn[i] = task->copies[task->next++ % task->copy_count];
        }
        BB_RETURN_IF_FAILED(
            bb_coded_operator_queue(turn, task->together, &window, task->device_x, y, stream));
    }
    return BB_OK;
}

static bb_status time_own(contest *task, double *seconds)
{
    static const bb_kernel kernel = {.name = "queued products", .run[BB_DEVICE_CUDA] = queue_own};
    bb_status status = BB_OK;
    BB_TRY(bb_device_timer_start(task->device));
    BB_TRY(bb_device_launch(task->device, &kernel, task->sizes.rows, task));
    BB_TRY(bb_device_timer_stop(task->device, seconds));
    *seconds /= REPEATS * task->together;
done:
    return status;
}

static bb_status multiply_again(void *context)
{
    contest *task = context;
    double seconds = 0.0;
    return task->peer != NULL ? bb_gemv_peer_time(task->peer, REPEATS, &seconds)
                              : time_own(task, &seconds);
}

static bb_status measure_error(contest *task, double *error)
{
    bb_status status = BB_OK;
    double difference = 0.0;
    double norm = 0.0;
    if (task->peer != NULL) {
        BB_TRY(bb_gemv_peer_result(task->peer, task->y));
    } else {
        BB_TRY(bb_device_download(task->device, task->y, task->device_y,
                                  (size_t)task->sizes.rows * sizeof *task->y));
    }
    for (bb_index i = 0; i < task->sizes.rows; ++i) {
        difference += (task->y[i] - task->exact[i]) * (task->y[i] - task->exact[i]);
        norm += task->exact[i] * task->exact[i];
    }
    *error = sqrt(difference / norm);
done:
    return status;
}

static void set_outcome(const contest *task, double error, bb_bench_outcome *out)
{
    double values = (double)task->sizes.rows * (double)task->sizes.columns;
    double read_rate = 4.0 * values / bb_bench_best(&task->read);
    double vectors = 8.0 * (double)(task->sizes.rows + task->sizes.columns);
    out->best_s = bb_bench_best(&task->own);
    out->median_s = bb_bench_median(&task->own);
    out->flops = bb_coded_operator_flops(task->sizes.rows, task->sizes.columns);
    out->bytes = task->matrix_bytes + vectors;
    out->peer = 1e-9 * read_rate;
    out->ratio = bb_bench_best(&task->read) / out->best_s;
    double of_read = out->bytes / out->best_s / read_rate;
    out->binds = of_read >= 0.8 ? "bytes" : "instructions";
    (void)snprintf(out->detail, sizeof out->detail,
                   "%td x %td, %.0f %% of read (%.0f GB/s), %.2f bits per value, error %.1e",
                   task->sizes.rows, task->sizes.columns, 100.0 * of_read, out->peer,
                   8.0 * task->matrix_bytes / values, error);
}

static void release(contest *task)
{
    for (int k = 0; k < task->copy_count; ++k) {
        bb_coded_operator_destroy(&task->copies[k]);
    }
    bb_coded_matrix_destroy(&task->matrix);
    bb_gemv_peer_destroy(&task->peer);
    bb_gemv_peer_destroy(&task->ceiling);
    bb_device_release(task->device, &task->device_x);
    bb_device_release(task->device, &task->device_y);
    BB_RELEASE(&task->x);
    BB_RELEASE(&task->y);
    BB_RELEASE(&task->exact);
    BB_RELEASE(&task->values);
}

bb_status bb_bench_gemv_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    double error = 0.0;
    contest task = {.self = self,
                    .device = setup->device,
                    .sizes = bb_gemv_sizes_of(self, setup),
                    .together = (self->choice & BB_GEMV_AXES) != 0 ? BB_CODED_TOGETHER : 1};
    int rounds = setup->quick ? 3 : ROUNDS;
    BB_TRY(prepare(&task));
    for (int round = -1; round < rounds; ++round) { // negative rounds warm up
        double read = 0.0;
        double own = 0.0;
        BB_TRY(bb_gemv_peer_time(task.ceiling, REPEATS, &read));
        BB_TRY(task.peer != NULL ? bb_gemv_peer_time(task.peer, REPEATS, &own)
                                 : time_own(&task, &own));
        if (round >= 0) {
            bb_bench_add(&task.read, read);
            bb_bench_add(&task.own, own);
        }
    }
    BB_TRY(measure_error(&task, &error));
    set_outcome(&task, error, out);
    BB_TRY(bb_bench_measure_energy(BB_DEVICE_CUDA, multiply_again, &task,
                                   (double)REPEATS * task.together, NULL, out));
done:
    release(&task);
    return status;
}
