// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/ao_realtime_plan.h"

#include "sim/ao/realtime/frame_loop.h"
#include "sim/device_choice.h"
#include "sim/realtime/latency.h"

#include <math.h>

static const double drawn_groups = 16.0;

static const bb_device_offer offer = {.work = "the loop of frames of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

// The matrices of a frame: a study's or those that are drawn.
typedef struct frame_extent {
    double slopes, commands, rows, groups, matrices;
} frame_extent;

static const bb_factor_pipeline *pipeline_of(const bb_ao_study *study)
{
    const bb_index p = bb_ao_realtime_config_pipeline(&study->realtime, &study->pipelines);
    return p < 0 ? NULL : (const bb_factor_pipeline *)study->pipelines.items + p;
}

static frame_extent measure(const bb_ao_study *study, const bb_ao_realtime_extent *extent)
{
    const bool filtered = pipeline_of(study)->filter == (int)BB_SLOPE_FILTER_MEANS;
    const bb_frame_size *size = &study->realtime.size;
    if (!bb_ao_realtime_config_draws(&study->realtime)) {
        return (frame_extent){extent->slopes, extent->commands, extent->rows,
                              filtered ? extent->groups : 0.0,
                              ceil(extent->commands / extent->rows)};
    }
    const double targets = (double)study->realtime.targets;
    return (frame_extent){(double)size->slopes, targets * (double)size->commands,
                          (double)size->commands, filtered ? drawn_groups : 0.0, targets};
}

static bb_device_kind device_of(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const int wish = bb_device_choice_wish(study->common.device, pipeline->device);
    const bool absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA) != NULL;
    return wish == (int)BB_DEVICE_AUTO && absent ? BB_DEVICE_CPU
                                                 : bb_device_choice_resolve(&offer, wish);
}

// Drawn slopes, reference and the records of frames.
static bb_need kept_of(const bb_ao_study *study, const frame_extent *span)
{
    const double slopes =
        span->slopes * (sizeof(float) * (1.0 + BB_FRAME_SETS) + sizeof(double) * 3.0);
    return (bb_need){.host_bytes = slopes + sizeof(float) * span->groups * span->commands +
                                   (double)sizeof(bb_step_record) * (double)study->realtime.frames};
}

bb_need bb_ao_realtime_plan_need(const bb_ao_study *study, const bb_ao_realtime_extent *extent)
{
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const frame_extent span = measure(study, extent);
    const bb_codec_config *storage = &pipeline->storage;
    const bb_device_kind device = device_of(study);
    const bb_matrix_layout one = {.rows = (bb_index)span.rows, .columns = (bb_index)span.slopes};
    const bb_need matrix = bb_coded_matrix_held(storage, &one);
    const bb_need matrices = bb_need_copies(matrix, span.matrices);
    const bb_need coding = bb_need_together(
        bb_need_copies(matrix, span.matrices - 1.0),
        bb_stored_reconstructor_need(pipeline, one.rows, one.columns, extent->threads));
    const bb_need operators = bb_need_together(
        bb_need_copies(bb_coded_operator_need(storage, span.rows, span.slopes, device),
                       span.matrices),
        bb_coded_operator_apply_need(storage, span.rows, span.slopes, extent->threads));
    const bool is_scaled = pipeline->column_scale != (int)BB_COLUMN_SCALE_NONE &&
                           !bb_ao_realtime_config_draws(&study->realtime);
    const double scaled = is_scaled ? span.matrices : 0.0;
    const bb_need loop = bb_command_loop_need(span.slopes, span.commands, span.groups, scaled,
                                              study->realtime.delay_frames, device);
    const bb_need exact = // frames by fp64 products, to compare with
        bb_need_together(
            bb_command_loop_need(span.slopes, span.commands, span.groups, scaled,
                                 study->realtime.delay_frames, BB_DEVICE_CPU),
            bb_need_copies(bb_coded_operator_need(storage, span.rows, span.slopes, BB_DEVICE_CPU),
                           span.matrices));
    const bb_need running =
        bb_need_together(bb_need_together(matrices, operators), bb_need_together(loop, exact));
    const bb_need making = bb_ao_realtime_config_draws(&study->realtime)
                               ? coding
                               : bb_need_together(extent->solving, matrices);
    const bb_need scales = {.host_bytes = sizeof(float) * scaled * span.slopes};
    return bb_need_together(bb_need_together(kept_of(study, &span), scales),
                            bb_need_in_turn(making, running));
}

bb_status bb_ao_realtime_plan_add(const bb_ao_study *study, const bb_ao_realtime_extent *extent,
                                  bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const bool draws = bb_ao_realtime_config_draws(&study->realtime);
    if (pipeline == NULL || (study->realtime.pipeline == NULL && !draws)) {
        return BB_OK;
    }
    const frame_extent span = measure(study, extent);
    const bb_need need = bb_ao_realtime_plan_need(study, extent);
    const double bytes = span.commands * span.slopes * bb_codec_bytes_per_value(&pipeline->storage);
    const char *maximum = isnan(bb_codec_bits_per_value(&pipeline->storage)) ? "at most " : "";
    BB_TRY(bb_plan_add(plan, "realtime", "%s, %.0f commands from %.0f slopes%s, %s%.1f MB",
                       pipeline->name, span.commands, span.slopes, draws ? ", drawn" : "", maximum,
                       1e-6 * bytes));
    BB_TRY(bb_plan_add(plan, "realtime, host memory", "%.1f MB",
                       1e-6 * (BB_PLAN_PROGRAM_BYTES + need.host_bytes)));
    if (need.device_bytes > 0.0) {
        BB_TRY(bb_plan_add(plan, "realtime, device memory", "%.1f MB", 1e-6 * need.device_bytes));
    }
done:
    return status;
}
