// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_realtime.h"

#include "core/log.h"
#include "sim/wafer/realtime/realtime_report.h"

#include <math.h>

// Bytes at their peak.
typedef struct realtime_memory {
    double matrices; // of all scored fields and axes, coded
    double host;
    double device; // the fullest
} realtime_memory;

// Measured at 0.5 mm: rows of A, B and states by node, rows of W and x by cell; sums of an
// operator's products.
static const double node_bytes = 130.0;
static const double cell_bytes = 64.0;
static const double sums_bytes = 2e6;

static const bb_product_pipeline *pipeline_of(const bb_wafer_study *study)
{
    return (const bb_product_pipeline *)study->pipelines.items + bb_wafer_study_realtime(study);
}

// Rows that a thread has in fp64 while a matrix is coded.
static double band_rows(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    return bb_codec_band_rows(&pipeline->storage, (double)study->response.slit_points.columns);
}

// Operators of an axis on a device at once: of every field, or of two slots and a field on its way
// to the host.
static double sets_of(const bb_wafer_study *study, const bb_wafer_realtime_extent *extent)
{
    return study->realtime.matrices == (int)BB_LOOP_STREAMED ? BB_FIELD_SLOTS + 1.0
                                                             : extent->scored;
}

static realtime_memory memory_of(const bb_wafer_study *study,
                                 const bb_wafer_realtime_extent *extent)
{
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bool streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    const double values = extent->cells * extent->points;
    const double axes = (double)study->response.axes.count;
    const double gpus = (double)study->realtime.gpus;
    const double matrix = bb_loop_part_matrix_bytes(pipeline, values);
    // Beside a matrix: x, y and sums of its products.
    const double one = matrix + 4.0 * extent->cells + 8.0 * extent->points + sums_bytes;
    const double sets = sets_of(study, extent);
    realtime_memory out = {.matrices = extent->scored * axes * matrix};
    out.host = BB_PLAN_PROGRAM_BYTES + extent->rows_bytes + 800.0 * extent->nodes +
               bb_loop_part_making_bytes(pipeline, values) +
               8.0 * extent->threads * band_rows(study, pipeline) * extent->cells +
               4.0 * sets * axes * extent->cells + (streamed ? out.matrices : 0.0) +
               gpus * (double)sizeof(bb_step_record) * (double)study->realtime.steps;
    out.device =
        sets * ceil(axes / gpus) * one + node_bytes * extent->nodes + cell_bytes * extent->cells;
    return out;
}

// Keys without which `bitbudget realtime` would be of no use, or that decide its memory.
static bool is_asked(const bb_realtime_config *config)
{
    return config->pipeline != NULL || config->matrices != (int)BB_LOOP_RESIDENT ||
           config->gpus != 1;
}

bb_status bb_wafer_realtime_plan(const bb_wafer_study *study,
                                 const bb_wafer_realtime_extent *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    if (!is_asked(&study->realtime)) {
        return BB_OK;
    }
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const realtime_memory memory = memory_of(study, extent);
    const char *most = isnan(bb_codec_bits_per_value(&pipeline->storage)) ? "at most " : "";
    const bool streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    BB_TRY(bb_plan_add(plan, "realtime", "%s, %.0f sets of %td axes %s, %s%.1f MB", pipeline->name,
                       extent->scored, study->response.axes.count,
                       streamed                   ? "streamed from the host"
                       : study->realtime.gpus > 1 ? "on the devices"
                                                  : "on the device",
                       most, 1e-6 * memory.matrices));
    BB_TRY(bb_plan_add(plan, "realtime, host memory", "%s%.1f MB%s", most, 1e-6 * memory.host,
                       streamed ? ", matrices pinned" : ""));
    BB_TRY(
        study->realtime.gpus == 1
            ? bb_plan_add(plan, "realtime, device memory", "%s%.1f MB", most, 1e-6 * memory.device)
            : bb_plan_add(plan, "realtime, device memory", "%s%.1f MB on each of %td", most,
                          1e-6 * memory.device, study->realtime.gpus));
done:
    return status;
}

bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    const bb_product_pipeline *pipeline = &pipelines[bb_wafer_study_realtime(wafer)];
    bb_device *devices[BB_LOOP_GPUS] = {NULL};
    bb_wafer_problem *problem = NULL;
    bb_wafer_loop *loop = NULL;
    bb_realtime_measurement measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_DEVICE_CUDA,
               BB_UNSUPPORTED, "device: the loop runs on a cuda device, expected auto or cuda");
    BB_TRY(bb_wafer_loop_check(wafer, pipeline));
    for (bb_index g = 0; g < wafer->realtime.gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &devices[g]));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &problem));
    BB_TRY(bb_wafer_loop_create(wafer, problem, pipeline, devices, problem->scored[0], &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %d GPU%s, coded in %.1f s", pipeline->name,
                1e-6 * loop->device_bytes, loop->gpus, loop->gpus == 1 ? "" : "s",
                loop->coding.seconds);
    BB_TRY(bb_realtime_measurement_take(loop, &measured));
    BB_TRY(bb_realtime_report(loop, &measured, results, table));
done:
    bb_realtime_measurement_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
