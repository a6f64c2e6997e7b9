// SPDX-License-Identifier: Apache-2.0
//
// `gemv-cuda-low-rank`, `gemv-cuda-transform`: as many copies of matrix and x as the last cache
// does not hold take turns, each product a graph of its own that is launched and waited for; the
// time is between events around it. `back to back` is the mean of a graph of all copies, whose
// launches overlap. `error` is ||y - C x|| / ||C x||.
#include "bench/factor_bench.h"
#include "bench/peers/graph.h"
#include "core/memory.h"

enum { RUN = 32 };

static const double cold_bytes = 256e6; // several times what a last cache holds

typedef struct contest {
    bb_factor_bench shared;
    bb_device *device;
    void *device_x[BB_FACTOR_BENCH_COPIES], *device_y;
    bb_bench_graph *alone[BB_FACTOR_BENCH_COPIES], *together;
    int next;
} contest;

static void leave(contest *task)
{
    for (int k = 0; k < task->shared.copy_count; ++k) {
        bb_bench_graph_destroy(&task->alone[k]);
        if (task->device != NULL) {
            bb_device_release(task->device, &task->device_x[k]);
        }
    }
    bb_bench_graph_destroy(&task->together);
    bb_factor_bench_release(&task->shared);
    if (task->device != NULL) {
        bb_device_release(task->device, &task->device_y);
    }
    bb_device_close(&task->device);
}

static bb_status queue_next(bb_queue *stream, void *arguments)
{
    contest *task = arguments;
    int k = task->next++ % task->shared.copy_count;
    const bb_coded_window window = {task->shared.row, task->shared.rows, NULL};
    double *y = task->device_y;
    return bb_coded_operator_queue(&task->shared.copies[k], 1, &window, task->device_x[k], &y,
                                   stream);
}

static bb_status queue_all(bb_queue *stream, void *arguments)
{
    contest *task = arguments;
    for (int k = 0; k < task->shared.copy_count; ++k) {
        BB_RETURN_IF_FAILED(queue_next(stream, task));
    }
    return BB_OK;
}

static bb_status prepare_device(contest *task)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    size_t x_bytes = (size_t)task->shared.layout.columns * sizeof(float);
    double bytes = 0.0;
    float *narrow = NULL;
    BB_TRY(BB_ALLOCATE(task->shared.layout.columns, &narrow));
    for (bb_index j = 0; j < task->shared.layout.columns; ++j) {
        narrow[j] = (float)task->shared.x[j];
    }
    BB_TRY(bb_device_allocate(task->device, (size_t)task->shared.rows * sizeof *task->shared.y,
                              &task->device_y));
    while (task->shared.copy_count < BB_FACTOR_BENCH_COPIES && bytes < cold_bytes) {
        int k = task->shared.copy_count++;
        BB_TRY(bb_coded_operator_create(task->device, task->shared.matrix, mixed,
                                        &task->shared.copies[k]));
        BB_TRY(bb_coded_operator_sum_in_runs(task->shared.copies[k], RUN));
        BB_TRY(bb_device_allocate(task->device, x_bytes, &task->device_x[k]));
        BB_TRY(bb_device_upload(task->device, task->device_x[k], narrow, x_bytes));
        bytes += (double)bb_coded_operator_bytes(task->shared.copies[k]) + (double)x_bytes;
    }
    BB_TRY(bb_device_wait(task->device));
    task->shared.matrix_bytes = (double)bb_coded_operator_bytes(task->shared.copies[0]);
    for (int k = 0; k < task->shared.copy_count; ++k) {
        BB_TRY(bb_bench_graph_create(queue_next, task, &task->alone[k]));
    }
    BB_TRY(bb_bench_graph_create(queue_all, task, &task->together));
done:
    BB_RELEASE(&narrow);
    return status;
}

// A product of each copy, launched and waited for.
static bb_status multiply_again(void *context)
{
    bb_status status = BB_OK;
    const contest *task = context;
    double seconds = 0.0;
    for (int k = 0; k < task->shared.copy_count; ++k) {
        BB_TRY(bb_bench_graph_time(task->alone[k], &seconds));
    }
done:
    return status;
}

static bb_status time_graphs(contest *task, int rounds)
{
    bb_status status = BB_OK;
    for (int round = -2; round < rounds; ++round) { // the first ones warm up
        double seconds = 0.0;
        double alone = 0.0;
        for (int k = 0; k < task->shared.copy_count; ++k) {
            BB_TRY(bb_bench_graph_time(task->alone[k], &seconds));
            alone += seconds / task->shared.copy_count;
        }
        BB_TRY(bb_bench_graph_time(task->together, &seconds));
        if (round >= 0) {
            bb_bench_add(&task->shared.own, alone);
            bb_bench_add(&task->shared.other, seconds / task->shared.copy_count);
        }
    }
done:
    return status;
}

bb_status bb_bench_factors_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    BB_TRY(bb_bench_open_cuda(setup, out, &task.device));
    if (task.device == NULL) {
        goto done;
    }
    BB_TRY(bb_factor_bench_prepare(self, setup, &task.shared));
    BB_TRY(prepare_device(&task));
    BB_TRY(time_graphs(&task, setup->quick ? 3 : BB_FACTOR_BENCH_ROUNDS));
    BB_TRY(bb_device_download(task.device, task.shared.y, task.device_y,
                              (size_t)task.shared.rows * sizeof *task.shared.y));
    bb_factor_bench_compare(&task.shared);
    bb_factor_bench_conclude(&task.shared, out);
    out->ratio = 10e-6 / out->best_s;
    out->binds = "latency";
    BB_TRY(bb_bench_take_energy(BB_DEVICE_CUDA, multiply_again, &task, task.shared.copy_count, NULL,
                                out));
done:
    leave(&task);
    return status;
}
