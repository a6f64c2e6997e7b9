// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_plan.h"

#include "sim/wafer/realtime/latency.h"
#include "sim/wafer/realtime/loop_matrix.h"
#include "solvers/loop/field_stream.h"

#include <math.h>

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
static double sets_of(const bb_wafer_study *study, const bb_realtime_extent *extent)
{
    return study->realtime.matrices == (int)BB_LOOP_STREAMED ? BB_FIELD_SLOTS + 1.0
                                                             : extent->scored;
}

bb_realtime_memory bb_realtime_memory_of(const bb_wafer_study *study,
                                         const bb_realtime_extent *extent)
{
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bool streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    const double values = extent->cells * extent->points;
    const double axes = (double)study->response.axes.count;
    const double gpus = (double)study->realtime.gpus;
    const double matrix = bb_loop_matrix_bytes(pipeline, values);
    // Beside a matrix: x, y and sums of its products.
    const double one = matrix + 4.0 * extent->cells + 8.0 * extent->points + sums_bytes;
    const double sets = sets_of(study, extent);
    bb_realtime_memory out = {.matrices = extent->scored * axes * matrix};
    out.host = BB_PLAN_PROGRAM_BYTES + extent->rows_bytes + 800.0 * extent->nodes +
               bb_loop_matrix_making_bytes(pipeline, values) +
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

bb_status bb_realtime_plan(const bb_wafer_study *study, const bb_realtime_extent *extent,
                           bb_plan *plan)
{
    bb_status status = BB_OK;
    if (!is_asked(&study->realtime)) {
        return BB_OK;
    }
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bb_realtime_memory memory = bb_realtime_memory_of(study, extent);
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
