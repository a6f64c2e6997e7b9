// SPDX-License-Identifier: Apache-2.0
//
// Memory, time and plan lines of realtime loops, from the configuration alone.
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/storage_search.h"

#include <math.h>

static const double drawn_groups = 16.0;

// Sizes of the matrices of a frame: a study's or random ones.
typedef struct frame_extent {
    double slopes, commands, rows, groups, matrices;
} frame_extent;

static const bb_factor_pipeline *pipeline_of(const bb_ao_study *study)
{
    const bb_index p = bb_ao_realtime_config_pipeline(&study->realtime, &study->pipelines);
    return p < 0 ? NULL : (const bb_factor_pipeline *)study->pipelines.items + p;
}

// One reconstructor for ltao, glao and mcao, one per target for moao; of slopes or commands.
static frame_extent solved_of(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                              const bb_ao_extent *extent)
{
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    const bool commands = pipeline->stored == (int)BB_STORED_COMMANDS;
    const bool moao = study->correction == (int)BB_AO_CORRECTION_MOAO;
    const double rows = extent->actuators > 0.0 ? extent->actuators
                        : commands              ? extent->most_commands
                                                : extent->residual.most_rows;
    const double all = !moao ? rows : commands ? extent->commands : extent->m;
    const double groups = filtered ? 2.0 * (double)study->guide_stars.count : 0.0;
    return (frame_extent){(double)extent->n, all, rows, groups, ceil(all / rows)};
}

static frame_extent measure(const bb_ao_study *study, const bb_ao_extent *extent)
{
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const bool filtered = pipeline->filter == (int)BB_SLOPE_FILTER_MEANS;
    const bb_frame_size *size = &study->realtime.size;
    if (!bb_ao_realtime_config_draws(&study->realtime)) {
        return solved_of(study, pipeline, extent);
    }
    const double targets = (double)study->realtime.targets;
    return (frame_extent){(double)size->slopes, targets * (double)size->commands,
                          (double)size->commands, filtered ? drawn_groups : 0.0, targets};
}

// Memory of the sets of slopes, the reference and the frame records.
static bb_need kept_of(const frame_extent *span, double sets, bb_index frames)
{
    const double slopes = span->slopes * (sizeof(float) * (1.0 + sets) + sizeof(double) * 3.0);
    return (bb_need){.host_bytes = slopes + sizeof(float) * span->groups * span->commands +
                                   (double)sizeof(bb_step_record) * (double)frames};
}

// Number of matrices with column scales; random matrices have none.
static double scales_of(const bb_factor_pipeline *pipeline, const frame_extent *span, bool draws)
{
    const bool is_scaled = pipeline->column_scale != (int)BB_COLUMN_SCALE_NONE && !draws;
    return is_scaled ? span->matrices : 0.0;
}

static bb_need matrices_of(const bb_factor_pipeline *pipeline, const frame_extent *span,
                           double count)
{
    const bb_matrix_layout one = {.rows = (bb_index)span->rows, .columns = (bb_index)span->slopes};
    return bb_need_copies(bb_coded_matrix_resident(&pipeline->storage, &one), count);
}

// Need of the matrix operators and of the loops on `devices` devices; `scaled` matrices have column
// scales.
static bb_need loop_of(const bb_factor_pipeline *pipeline, const frame_extent *span, double scaled,
                       bb_index delay, bb_device_kind device, double devices)
{
    const double rows =
        bb_coded_operator_copies_rows(&pipeline->storage) ? ceil(span->rows / devices) : span->rows;
    const bb_need one = bb_coded_operator_need(&pipeline->storage, rows, span->slopes, device);
    const bb_need operators = {.host_bytes = devices * span->matrices * one.host_bytes,
                               .device_bytes = span->matrices * one.device_bytes};
    const double commands = devices * span->matrices * ceil(span->rows / devices);
    return bb_need_together(
        bb_command_loop_need(span->slopes, commands, span->groups, scaled, delay, device, devices),
        operators);
}

bb_need bb_ao_realtime_need(const bb_ao_study *study, const bb_ao_extent *extent, bb_index replayed,
                            bb_need solving)
{
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const frame_extent span = measure(study, extent);
    const bool draws = bb_ao_realtime_config_draws(&study->realtime);
    const bb_index delay = study->realtime.delay_frames;
    const bb_need matrices = matrices_of(pipeline, &span, span.matrices);
    const bb_need coding =
        bb_need_together(matrices_of(pipeline, &span, span.matrices - 1.0),
                         bb_stored_reconstructor_need(pipeline, (bb_index)span.rows,
                                                      (bb_index)span.slopes, extent->threads));
    const double scaled = scales_of(pipeline, &span, draws);
    const bb_device_kind device =
        bb_ao_realtime_device(study, pipeline, span.commands * span.slopes);
    const bb_need loop = bb_need_together(
        loop_of(pipeline, &span, scaled, delay, device, (double)study->realtime.gpus),
        bb_coded_operator_apply_need(&pipeline->storage, span.rows, span.slopes, extent->threads));
    // fp64 frames for comparison are in memory at the same time.
    const bb_need commands = {.host_bytes = 2.0 * sizeof(float) * span.commands};
    const bb_need exact =
        bb_need_together(commands, loop_of(pipeline, &span, scaled, delay, BB_DEVICE_CPU, 1.0));
    const bb_need running = bb_need_together(matrices, bb_need_together(loop, exact));
    const bb_need making = draws ? coding : bb_need_together(solving, matrices);
    const bb_need scales = {.host_bytes = sizeof(float) * scaled * span.slopes};
    const double sets = replayed > 0 ? (double)replayed : BB_FRAME_SETS;
    const bb_need reading = bb_need_together(
        matrices, bb_telemetry_file_need(&study->realtime.telemetry, sets * span.slopes));
    return bb_need_together(bb_need_together(kept_of(&span, sets, study->realtime.frames), scales),
                            bb_need_in_turn(bb_need_in_turn(making, reading), running));
}

// Need of a pipeline's timed frames on its device; zero if they are not run.
static bb_need timing_of(const bb_ao_study *study, const bb_factor_pipeline *asked,
                         const bb_ao_extent *extent)
{
    const bb_frame_times_config *times = &study->frame_times;
    const bb_factor_pipeline pipeline = bb_storage_search_widest(asked);
    const bool on_device =
        bb_factor_device_supports(&study->solver.common, asked, study->common.device);
    const bb_device_kind device = on_device ? BB_DEVICE_CUDA : BB_DEVICE_CPU;
    const bool paced = times->rate_hz > 0.0;
    const double frames = (double)(times->frames + times->warm_up_frames);
    if (!bb_factor_storage_is_given(&pipeline) ||
        bb_codec_absent(&pipeline.storage, device) != NULL) {
        return (bb_need){0};
    }
    const frame_extent span = solved_of(study, &pipeline, extent);
    const double scaled = scales_of(&pipeline, &span, false);
    const bb_need released = {.host_bytes = sizeof(float) * scaled * span.slopes,
                              .seconds = paced ? frames / times->rate_hz : 0.0};
    const bb_need applied = bb_need_repeated(
        bb_coded_operator_apply_need(&pipeline.storage, span.rows, span.slopes, extent->threads),
        paced ? 1.0 : frames * span.matrices);
    const bb_need held =
        bb_need_together(matrices_of(&pipeline, &span, span.matrices),
                         bb_need_together(kept_of(&span, BB_FRAME_SETS, times->frames), released));
    return bb_need_together(
        held, bb_need_together(loop_of(&pipeline, &span, scaled, 0, device, 1.0), applied));
}

bb_need bb_ao_realtime_times_need(const bb_ao_study *study, const bb_ao_extent *extent)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bb_need need = {0};
    for (bb_index p = 0; study->frame_times.frames > 0 && p < study->pipelines.count; ++p) {
        need = bb_need_in_turn(need, timing_of(study, &pipelines[p], extent));
    }
    return need;
}

bb_status bb_ao_realtime_plan(const bb_ao_study *study, const bb_ao_extent *extent, bb_need solving,
                              bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = pipeline_of(study);
    const bool draws = bb_ao_realtime_config_draws(&study->realtime);
    const bb_frame_times_config *times = &study->frame_times;
    const bb_telemetry_config *telemetry = &study->realtime.telemetry;
    bb_index replayed = 0;
    if (times->frames > 0) {
        BB_TRY(bb_plan_add(plan, "frame times", "%td frames of each storage at %g Hz",
                           times->frames, times->rate_hz));
    }
    if (pipeline == NULL ||
        (study->realtime.pipeline == NULL && !draws && telemetry->file == NULL)) {
        return BB_OK;
    }
    const frame_extent span = measure(study, extent);
    if (telemetry->file != NULL) {
        BB_TRY(bb_telemetry_file_inspect(telemetry, (bb_index)span.slopes, &replayed));
        BB_TRY(
            bb_plan_add(plan, "realtime, slopes", "%td frames of '%s'", replayed, telemetry->file));
    }
    const bb_need need = bb_ao_realtime_need(study, extent, replayed, solving);
    const double bytes = span.commands * span.slopes * bb_codec_bytes_per_value(&pipeline->storage);
    const char *maximum = isnan(bb_codec_bits_per_value(&pipeline->storage)) ? "at most " : "";
    BB_TRY(bb_plan_add(plan, "realtime", "%s, %.0f commands from %.0f slopes%s, %s%.1f MB",
                       pipeline->name, span.commands, span.slopes, draws ? ", random" : "", maximum,
                       1e-6 * bytes));
    BB_TRY(bb_plan_add(plan, "realtime, host memory", "%.1f MB",
                       1e-6 * (BB_PLAN_PROGRAM_BYTES + need.host_bytes)));
    if (need.device_bytes > 0.0) {
        BB_TRY(
            study->realtime.gpus == 1
                ? bb_plan_add(plan, "realtime, device memory", "%.1f MB", 1e-6 * need.device_bytes)
                : bb_plan_add(plan, "realtime, device memory", "%.1f MB on each of %td",
                              1e-6 * need.device_bytes, study->realtime.gpus));
    }
done:
    return status;
}
