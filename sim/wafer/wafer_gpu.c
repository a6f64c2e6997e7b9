// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "sim/wafer/wafer_work.h"

// Inputs are aligned to 16 bytes (bb_coded_operator_queue).
enum { ALIGNED = 4 };

static bb_index stride_of(bb_index cells)
{
    return (cells + ALIGNED - 1) / ALIGNED * ALIGNED;
}

bb_status bb_wafer_gpu_open(const bb_wafer_problem *problem, bb_device *device, bb_wafer_gpu *out)
{
    bb_status status = BB_OK;
    const bb_index cells = problem->input_count;
    *out = (bb_wafer_gpu){.device = device,
                          .stride = stride_of(cells),
                          .steps = problem->scan->light_steps,
                          .points = problem->slit.window_points};
    BB_TRY(bb_transfer_create(device, 0, &out->transfer));
    BB_TRY(BB_ZEROED(out->steps * out->stride, &out->narrowed));
    const size_t inputs = (size_t)(out->steps * out->stride);
    BB_TRY(bb_device_rows_create(problem, device, &out->rows));
    BB_TRY(bb_device_allocate(device, (size_t)(problem->slit.field_points * cells) * sizeof(double),
                              &out->values));
    BB_TRY(bb_device_allocate(device, inputs * sizeof(double), &out->wide));
    BB_TRY(bb_device_allocate(device, inputs * sizeof(float), &out->narrow));
    BB_TRY(bb_device_allocate(device, (size_t)(out->steps * out->points) * sizeof(double),
                              &out->windows));
done:
    if (status != BB_OK) {
        bb_wafer_gpu_release(out);
    }
    return status;
}

void bb_wafer_gpu_release(bb_wafer_gpu *gpu)
{
    if (gpu->device != NULL) {
        bb_device_release(gpu->device, &gpu->values);
        bb_device_release(gpu->device, &gpu->wide);
        bb_device_release(gpu->device, &gpu->narrow);
        bb_device_release(gpu->device, &gpu->windows);
        bb_device_rows_destroy(&gpu->rows);
        bb_transfer_destroy(&gpu->transfer);
        BB_RELEASE(&gpu->narrowed);
        *gpu = (bb_wafer_gpu){0};
    }
}

bb_need bb_wafer_gpu_need(const bb_wafer_study *study, double nodes, double points, double cells,
                          double window)
{
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const double steps = (double)study->scan.light_steps;
    const bb_need own = {.host_bytes = steps * cells * sizeof(float) + 0x1p26, // transfer buffers
                         .device_bytes = points * cells * sizeof(double) +
                                         steps * cells * (sizeof(double) + sizeof(float)) +
                                         steps * window * sizeof(double)};
    return bb_need_together(bb_device_rows_need(&physics, nodes, points), own);
}

typedef struct narrowing {
    const double *wide; // [steps][cells]
    float *narrow;      // [steps][stride]
    bb_index cells, stride;
} narrowing;

static bb_status narrow_step(void *context, bb_index step)
{
    const narrowing *work = context;
    const double *wide = work->wide + step * work->cells;
    float *narrow = work->narrow + step * work->stride;
    for (bb_index i = 0; i < work->cells; ++i) {
        narrow[i] = (float)wide[i];
    }
    return BB_OK;
}

bb_status bb_wafer_gpu_upload_inputs(bb_wafer_gpu *gpu, const double *inputs, bb_index cells)
{
    bb_status status = BB_OK;
    narrowing work = {inputs, gpu->narrowed, cells, gpu->stride};
    const bb_index pieces = cells == gpu->stride ? 1 : gpu->steps; // no gaps: one copy
    const size_t bytes = (size_t)(gpu->steps / pieces * cells) * sizeof *inputs;
    if (gpu->inputs == inputs) {
        return BB_OK;
    }
    gpu->inputs = NULL;
    BB_TRY(bb_thread_for(gpu->steps, narrow_step, &work));
    BB_TRY(bb_transfer_upload(gpu->transfer, gpu->narrow, gpu->narrowed,
                              (size_t)(gpu->steps * gpu->stride) * sizeof *gpu->narrowed));
    for (bb_index i = 0; i < pieces; ++i) {
        BB_TRY(bb_transfer_upload(gpu->transfer, (double *)gpu->wide + i * gpu->stride,
                                  inputs + i * cells, bytes));
    }
    gpu->inputs = inputs;
done:
    return status;
}

// Queued products of all light steps.
typedef struct multiplication {
    const bb_wafer_gpu *gpu;
    bb_coded_operator *operation;
    const bb_index *rows;
} multiplication;

static bb_status queue_steps(bb_queue *queue, bb_index begin, bb_index steps, void *task)
{
    const multiplication *work = task;
    const bb_wafer_gpu *gpu = work->gpu;
    const bool narrow = bb_coded_operator_multiply(work->operation) == BB_FORMAT_FP32;
    for (bb_index step = begin; step < steps; ++step) {
        const bb_coded_window window = {.row = work->rows[step], .rows = gpu->points};
        const void *x = narrow ? (const void *)((const float *)gpu->narrow + step * gpu->stride)
                               : (const void *)((const double *)gpu->wide + step * gpu->stride);
        double *y = (double *)gpu->windows + step * gpu->points;
        BB_RETURN_IF_FAILED(bb_coded_operator_queue(&work->operation, 1, &window, x, &y, queue));
    }
    return BB_OK;
}

static const bb_kernel steps_kernel = {
    .name = "wafer_light_steps", .grain = 1, .run[BB_DEVICE_CUDA] = queue_steps};

bb_status bb_wafer_gpu_multiply(bb_wafer_gpu *gpu, bb_coded_operator *operation,
                                const bb_index *rows, double *windows, double *seconds)
{
    bb_status status = BB_OK;
    double elapsed = 0.0;
    multiplication work = {gpu, operation, rows};
    BB_TRY(bb_device_timer_start(gpu->device));
    BB_TRY(bb_device_launch(gpu->device, &steps_kernel, gpu->steps, &work));
    BB_TRY(bb_device_timer_stop(gpu->device, &elapsed));
    BB_TRY(bb_device_download(gpu->device, windows, gpu->windows,
                              (size_t)(gpu->steps * gpu->points) * sizeof *windows));
    *seconds += elapsed;
done:
    return status;
}
