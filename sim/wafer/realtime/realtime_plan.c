// SPDX-License-Identifier: Apache-2.0
//
// Keys, rules, memory and plan lines of the loop in real time, from the configuration alone.
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/realtime/wafer_loop.h"
#include "sim/wafer/wafer_work.h"
#include "solvers/loop/control_loop.h"
#include "solvers/loop/field_stream.h"

#include <math.h>

const char *const bb_release_names[] = {"fixed", "back_to_back", NULL};
const char *const bb_loop_mode_names[] = {"resident", "streamed", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "pipeline", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_realtime_config, pipeline),
     .meaning = "Name of the pipeline that runs; unset: the first that is not the reference."},
    {.name = "release", .kind = BB_KEY_CHOICE, .choices = bb_release_names,
     .offset = offsetof(bb_realtime_config, release), .default_text = "fixed",
     .meaning = "Steps start at fixed times, or each when the one before has ended."},
    {.name = "steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e7,
     .offset = offsetof(bb_realtime_config, steps), .default_text = "100000",
     .meaning = "Steps that are measured."},
    {.name = "period_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.01, .maximum = 1e3,
     .offset = offsetof(bb_realtime_config, period_ms),
     .default_text = "1.0", .meaning = "Between fixed release times."},
    {.name = "deadline_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1e3,
     .exclusive_minimum = true, .offset = offsetof(bb_realtime_config, deadline_ms),
     .default_text = "1.0", .meaning = "After its release, by which a step is to be done."},
    {.name = "warm_up_steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_realtime_config, warm_up_steps), .default_text = "1000",
     .meaning = "Steps before those that are measured."},
    {.name = "ahead", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = BB_LOOP_AHEAD_MOST,
     .offset = offsetof(bb_realtime_config, ahead), .default_text = "0",
     .meaning = "Steps that are queued before their release, which the device's clock then keeps; 0: the host's."},
    {.name = "matrices", .kind = BB_KEY_CHOICE, .choices = bb_loop_mode_names,
     .offset = offsetof(bb_realtime_config, matrices), .default_text = "resident",
     .meaning = "All on the device, or on the host and over its link to the device field by field."},
    {.name = "gpus", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = BB_LOOP_GPUS,
     .offset = offsetof(bb_realtime_config, gpus), .default_text = "1",
     .meaning = "GPUs of this host that share the axes: axis k of response.axes on GPU k mod gpus."},
};
// clang-format on
const bb_schema bb_realtime_schema = BB_SCHEMA("realtime", bb_realtime_config, keys);

bb_status bb_wafer_loop_check(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    bb_status status = BB_OK;
    BB_REQUIRE(study->mesh.stepping == (int)BB_STEPPING_EXPLICIT, BB_UNSUPPORTED,
               "mesh.stepping: the loop on a GPU steps explicitly, expected explicit");
    BB_REQUIRE(study->mesh.through_thickness == (int)BB_THROUGH_MEAN, BB_UNSUPPORTED,
               "mesh.through_thickness: the loop on a GPU has the mean alone, expected mean");
    BB_REQUIRE(study->mesh.substeps == 1, BB_UNSUPPORTED,
               "mesh.substeps = %td: the loop on a GPU takes whole steps, expected 1",
               study->mesh.substeps);
    BB_REQUIRE(!bb_hood_wanted(&study->hood), BB_UNSUPPORTED,
               "hood.exchange_w_per_m2_k = %g: the loop on a GPU has no hood, expected 0",
               study->hood.exchange_w_per_m2_k);
    BB_REQUIRE(study->wafers.count <= 1, BB_UNSUPPORTED,
               "wafers.count = %td: the loop on a GPU exposes one wafer, expected 1",
               study->wafers.count);
    BB_REQUIRE(
        study->wafers.arrival_rise_k == 0.0, BB_UNSUPPORTED,
        "wafers.arrival_rise_k = %g: the loop on a GPU starts from a wafer at the temperature "
        "of the water, expected 0",
        study->wafers.arrival_rise_k);
    BB_REQUIRE(!bb_edge_ring_wanted(&study->ring), BB_UNSUPPORTED,
               "ring.width_mm = %g: the loop on a GPU has no ring, expected 0",
               study->ring.width_mm);
    BB_REQUIRE(bb_delivery_on_time(&pipeline->delivery), BB_UNSUPPORTED,
               "pipeline %s, delivery: the loop on a GPU measures when corrections come, expected "
               "none late or missed",
               pipeline->name);
    BB_REQUIRE(pipeline->multiply == (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, multiply: the loop on a GPU multiplies in fp32, not %s",
               pipeline->name, bb_working_format_names[pipeline->multiply]);
    BB_REQUIRE(!bb_product_pipeline_searches(pipeline), BB_UNSUPPORTED,
               "pipeline %s, max_loss: the loop measures a storage that is known; set the one that "
               "`bitbudget run` finds",
               pipeline->name);
    const char *absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA);
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "pipeline %s, storage: %s", pipeline->name, absent);
    BB_REQUIRE(
        study->realtime.matrices == (int)BB_LOOP_RESIDENT ||
            bb_coded_operator_moves(&pipeline->storage),
        BB_UNSUPPORTED,
        "pipeline %s, storage: realtime.matrices: streamed moves plain formats, bfp and mx int8, "
        "whose rows all have the same bytes; take one of them, or resident",
        pipeline->name);
done:
    return status;
}

// Bytes at their peak.
typedef struct realtime_memory {
    double matrices; // of all scored fields and axes, coded
    double host;
    double device; // the fullest
} realtime_memory;

static const bb_product_pipeline *pipeline_of(const bb_wafer_study *study)
{
    return (const bb_product_pipeline *)study->pipelines.items + bb_wafer_study_realtime(study);
}

static realtime_memory memory_of(const bb_wafer_study *study, const bb_wafer_extent *extent)
{
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bb_matrix_layout *layout = &extent->layout;
    const bb_codec_config fp64 = bb_codec_plain(BB_FORMAT_FP64);
    const bool streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    const double cells = (double)layout->columns;
    const double axes = (double)study->response.axes.count;
    const double gpus = (double)study->realtime.gpus;
    // Operators of an axis on a device at once: of every field, or of two slots and a field on its
    // way to the host.
    const double sets = streamed ? BB_FIELD_SLOTS + 1.0 : extent->scored;
    const double values = (double)layout->rows * cells;
    const bb_need copy = bb_codec_needs_copy(&pipeline->storage)
                             ? bb_coded_matrix_held(&fp64, layout)
                             : (bb_need){0};
    const bb_need coding =
        bb_product_coding_need(pipeline, extent->device, layout, 1.0, extent->threads);
    const bb_need operation =
        bb_coded_operator_need(&pipeline->storage, (double)layout->rows, cells, BB_DEVICE_CUDA);
    const bb_need loop = bb_need_together(bb_need_copies(operation, sets * ceil(axes / gpus)),
                                          bb_control_loop_need(extent->nodes, cells));
    const bb_need making = bb_need_together(bb_need_together(extent->held, extent->rows),
                                            bb_need_together(copy, coding));
    realtime_memory out = {.matrices = extent->scored * axes * values *
                                       bb_codec_bytes_per_value(&pipeline->storage),
                           .device = loop.device_bytes};
    out.host = BB_PLAN_PROGRAM_BYTES + making.host_bytes +
               bb_need_copies(operation, sets * axes).host_bytes + (streamed ? out.matrices : 0.0) +
               gpus * (double)sizeof(bb_step_record) * (double)study->realtime.steps;
    return out;
}

// Of studies with keys that `bitbudget realtime` needs or that decide its memory.
static bb_status plan_lines(const void *all, const void *span, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_wafer_extent *extent = span;
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bb_realtime_config *realtime = &study->realtime;
    const bool streamed = realtime->matrices == (int)BB_LOOP_STREAMED;
    if ((realtime->pipeline == NULL && !streamed && realtime->gpus == 1) ||
        bb_product_pipeline_searches(pipeline)) {
        return BB_OK;
    }
    const realtime_memory memory = memory_of(study, extent);
    const char *maximum = isnan(bb_codec_bits_per_value(&pipeline->storage)) ? "at most " : "";
    BB_TRY(bb_plan_add(plan, "realtime", "%s, %.0f sets of %td axes %s, %s%.1f MB", pipeline->name,
                       extent->scored, study->response.axes.count,
                       streamed             ? "streamed from the host"
                       : realtime->gpus > 1 ? "on the devices"
                                            : "on the device",
                       maximum, 1e-6 * memory.matrices));
    BB_TRY(bb_plan_add(plan, "realtime, host memory", "%s%.1f MB%s", maximum, 1e-6 * memory.host,
                       streamed ? ", matrices pinned" : ""));
    BB_TRY(realtime->gpus == 1
               ? bb_plan_add(plan, "realtime, device memory", "%s%.1f MB", maximum,
                             1e-6 * memory.device)
               : bb_plan_add(plan, "realtime, device memory", "%s%.1f MB on each of %td", maximum,
                             1e-6 * memory.device, realtime->gpus));
done:
    return status;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_realtime_config *realtime = &study->realtime;
    const bb_index index = bb_wafer_study_realtime(study);
    const char *name = realtime->pipeline;
    BB_TRY(bb_study_refuse(name != NULL && index < 0, config, problems,
                           "realtime.pipeline = %s: expected the name of one of the pipelines",
                           name));
    BB_TRY(bb_study_refuse(name != NULL && index >= 0 &&
                               bb_product_pipeline_searches(pipeline_of(study)),
                           config, problems,
                           "realtime.pipeline = %s: `run` finds its storage by max_loss, "
                           "expected a pipeline with a storage",
                           name));
    BB_TRY(bb_study_refuse(realtime->gpus > study->response.axes.count, config, problems,
                           "realtime.gpus = %td: expected at most the %td of response.axes, "
                           "which they share",
                           realtime->gpus, study->response.axes.count));
    BB_TRY(
        bb_study_refuse(realtime->release == (int)BB_RELEASE_FIXED &&
                            (double)realtime->ahead * realtime->period_ms > BB_LOOP_AHEAD_MOST_MS,
                        config, problems,
                        "realtime.ahead = %td steps of %g ms: expected at most %d ms of "
                        "them, which an interrupt waits for",
                        realtime->ahead, realtime->period_ms, (int)BB_LOOP_AHEAD_MOST_MS));
done:
    return status;
}

const bb_part bb_realtime_plan_part = {
    .name = "realtime", .check = check, .plan_lines = plan_lines};
