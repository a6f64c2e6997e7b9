// SPDX-License-Identifier: Apache-2.0
//
// Fields that cross to a GPU in compressed form while the field before is in use: three axes of
// 2163 x 256000 a field, 81 light steps of 378 rows (the slow scan of Bamakhrama et al.), products
// alone. T_tr and T_comp are measured by themselves in the same run; their Table 1 makes the period
// of a field max(T_tr, T_comp) and its latency T_tr + T_comp, which the detail states beside what
// was measured. The ratio is predicted over measured period.
#include "bench/bench.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/loop/field_stream.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>
#include <stdio.h>

enum { AXES = 3, MESH = 512, LINE = 21, WINDOW_LINES = 18, FIELDS = 8 };

typedef struct contest {
    bb_device *device;
    bb_index rows, columns, steps, window;
    bb_coded_matrix *matrix;
    bb_coded_operator *slots[BB_FIELD_SLOTS][AXES];
    bb_field_stream *stream;
    bb_field_image *image;
    void *x, *y;
    int slot; // that steps are queued for
} contest;

static bb_status encode_row(void *context, bb_index row)
{
    bb_status status = BB_OK;
    const contest *task = context;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(task->columns, &values));
    const bb_index of_slit = row / LINE;
    for (bb_index j = 0; j < task->columns; ++j) {
        const bb_index line = j / MESH;
        double x = (double)(j % MESH) - 0.5 * MESH - (double)(row % LINE) - 0.3;
        double y = (double)line - (double)of_slit - 0.3;
        values[j] = 1e-9 * x / (4.0 + x * x + y * y);
    }
    BB_TRY(bb_coded_matrix_encode(task->matrix, row, bb_view_matrix(values, 1, task->columns)));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status prepare(const bb_bench_case *self, contest *task)
{
    bb_status status = BB_OK;
    const bb_codec_config config = bb_codec_plain((bb_format)self->choice);
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    const bb_matrix_layout layout = {.rows = task->rows, .columns = task->columns};
    bb_coded_operator **slots = &task->slots[0][0];
    BB_TRY(bb_coded_matrix_create(&config, BB_ROW_SCALE_ROW, &layout, &task->matrix));
    BB_TRY(bb_thread_for(task->rows, encode_row, task));
    for (int k = 0; k < BB_FIELD_SLOTS * AXES; ++k) {
        BB_TRY(bb_coded_operator_create(task->device, task->matrix, mixed, &slots[k]));
        BB_TRY(bb_coded_operator_sum_in_runs(slots[k], 32));
    }
    BB_TRY(bb_field_stream_create(task->device, AXES, slots, &task->stream));
    BB_TRY(bb_field_image_take(task->stream, slots, &task->image));
    BB_TRY(bb_device_allocate(task->device, (size_t)task->columns * sizeof(float), &task->x));
    BB_TRY(
        bb_device_allocate(task->device, (size_t)(AXES * task->window) * sizeof(double), &task->y));
    BB_TRY(bb_device_zero(task->device, task->x, (size_t)task->columns * sizeof(float)));
    BB_TRY(bb_device_wait(task->device));
done:
    return status;
}

// All light steps of a field, the window moving up.
static bb_status queue_steps(bb_queue *stream, bb_index begin, bb_index items, void *arguments)
{
    (void)begin;
    (void)items;
    const contest *task = arguments;
    double *y[AXES];
    for (int axis = 0; axis < AXES; ++axis) {
        y[axis] = (double *)task->y + axis * task->window;
    }
    bb_index lines = task->rows / LINE - WINDOW_LINES;
    for (bb_index step = 0; step < task->steps; ++step) {
        const bb_coded_window window = {lines * step / task->steps * LINE, task->window, NULL};
        BB_RETURN_IF_FAILED(
            bb_coded_operator_queue(task->slots[task->slot], AXES, &window, task->x, y, stream));
    }
    return BB_OK;
}

static const bb_kernel steps_kernel = {.name = "steps of a field",
                                       .run[BB_DEVICE_CUDA] = queue_steps};

static bb_status measure_alone(contest *task, double *transfer, double *compute)
{
    bb_status status = BB_OK;
    *transfer = *compute = INFINITY;
    for (int round = 0; round < 3; ++round) {
        double seconds = 0.0;
        double rest = 0.0;
        BB_TRY(bb_field_stream_fetch(task->stream, 0, task->image));
        BB_TRY(bb_field_stream_seconds(task->stream, 0, &seconds, &rest));
        *transfer = fmin(*transfer, seconds);
        BB_TRY(bb_device_timer_start(task->device));
        BB_TRY(bb_device_launch(task->device, &steps_kernel, 1, task));
        BB_TRY(bb_device_timer_stop(task->device, &seconds));
        *compute = fmin(*compute, seconds);
    }
done:
    return status;
}

// FIELDS in a row: the period, and the latency of the last one.
static bb_status measure_streamed(contest *task, bb_bench_times *periods, double *latency)
{
    bb_status status = BB_OK;
    double last = bb_clock_seconds();
    double copied = 0.0;
    BB_TRY(bb_field_stream_fetch(task->stream, 0, task->image));
    for (int field = 0; field < FIELDS; ++field) {
        task->slot = field % BB_FIELD_SLOTS;
        BB_TRY(bb_field_stream_fetch(task->stream, 1 - task->slot, task->image));
        BB_TRY(bb_field_stream_enter(task->stream, task->slot));
        BB_TRY(bb_device_launch(task->device, &steps_kernel, 1, task));
        BB_TRY(bb_field_stream_leave(task->stream, task->slot));
        BB_TRY(bb_device_wait(task->device));
        double now = bb_clock_seconds();
        if (field > 0) { // the first one's transfer hides behind nothing
            bb_bench_add(periods, now - last);
        }
        last = now;
        BB_TRY(bb_field_stream_seconds(task->stream, task->slot, &copied, latency));
    }
done:
    return status;
}

static bb_status stream_again(void *context)
{
    bb_bench_times periods = {{0.0}, 0};
    double latency = 0.0;
    return measure_streamed(context, &periods, &latency);
}

static void leave(contest *task)
{
    bb_coded_operator **slots = &task->slots[0][0];
    bb_field_image_destroy(&task->image);
    bb_field_stream_destroy(&task->stream);
    for (int k = 0; k < BB_FIELD_SLOTS * AXES; ++k) {
        bb_coded_operator_destroy(&slots[k]);
    }
    bb_coded_matrix_destroy(&task->matrix);
    if (task->device != NULL) {
        bb_device_release(task->device, &task->x);
        bb_device_release(task->device, &task->y);
    }
    bb_device_close(&task->device);
}

bb_status bb_bench_streamed(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    double transfer = 0.0;
    double compute = 0.0;
    double latency = 0.0;
    bb_bench_times periods = {{0.0}, 0};
    contest task = {.rows = (bb_index)LINE * (setup->quick ? 20 : 103),
                    .columns = (bb_index)MESH * (setup->quick ? 8 : 500),
                    .steps = setup->quick ? 4 : 81,
                    .window = (bb_index)LINE * WINDOW_LINES};
    BB_TRY(bb_bench_open_cuda(setup, out, &task.device));
    if (task.device == NULL) {
        goto done;
    }
    BB_TRY(prepare(self, &task));
    BB_TRY(measure_alone(&task, &transfer, &compute));
    BB_TRY(measure_streamed(&task, &periods, &latency));
    double bytes = (double)bb_field_image_bytes(task.image);
    out->best_s = bb_bench_best(&periods);
    out->median_s = bb_bench_median(&periods);
    out->bytes = bytes;
    out->flops = (double)(AXES * task.steps) * bb_coded_operator_flops(task.window, task.columns);
    out->peer = 1e-9 * bytes / transfer;
    out->ratio = fmax(transfer, compute) / out->median_s;
    out->binds = transfer > compute ? "bytes" : "flops";
    (void)snprintf(out->detail, sizeof out->detail,
                   "%.2f GB a field, T_tr %.1f, T_comp %.1f; period %.1f of %.1f, latency %.1f of "
                   "%.1f ms",
                   1e-9 * bytes, 1e3 * transfer, 1e3 * compute, 1e3 * out->median_s,
                   1e3 * fmax(transfer, compute), 1e3 * latency, 1e3 * (transfer + compute));
    BB_TRY(bb_bench_take_energy(BB_DEVICE_CUDA, stream_again, &task, FIELDS,
                                "a transfer more every 8 fields", out));
done:
    leave(&task);
    return status;
}
