// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/ao_realtime.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/run/device_choice.h"

#include <assert.h>
#include <math.h>

static_assert((int)BB_FRAME_STAGES <= (int)BB_STEP_PARTS, "a record must have room for all stages");
static_assert((int)BB_COMMAND_DEVICES <= (int)BB_REALTIME_DEVICES,
              "all devices must fit in the description");

static const bb_device_offer offer = {.work = "the realtime loop of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

// Runs one frame to read the device clock.
static bb_status begin(bb_realtime_loop *run)
{
    bb_status status = BB_OK;
    bb_frame_loop *loop = run->context;
    bb_command_frame frame;
    BB_TRY(bb_command_loop_read_clocks(loop->frames));
    bb_frame_loop_set_slopes(loop, 0);
    BB_TRY(bb_command_loop_step(loop->frames, 0, &frame));
    BB_TRY(bb_command_loop_reset(loop->frames));
    run->first_ns = frame.end_ns;
done:
    return status;
}

static bb_status read_slopes(bb_realtime_loop *run, bool *is_ready)
{
    bb_frame_loop *loop = run->context;
    const bb_status status = bb_command_loop_arm(loop->frames);
    bb_frame_loop_set_slopes(loop, run->started);
    *is_ready = true; // slopes in memory are always ready
    return status;
}

static bb_status start_frame(bb_realtime_loop *run, int64_t release_ns)
{
    bb_frame_loop *loop = run->context;
    return bb_command_loop_post(loop->frames, run->schedule.by_device ? release_ns : 0);
}

static bb_status finish_frame(bb_realtime_loop *run, int64_t release_ns, bb_step_record *record)
{
    bb_status status = BB_OK;
    bb_frame_loop *loop = run->context;
    bb_command_frame frame;
    double inside = 0.0;
    BB_TRY(bb_command_loop_wait(loop->frames, &frame));
    const int64_t end = run->schedule.by_device ? frame.end_ns : bb_clock_ns();
    *record = bb_realtime_loop_record(run, release_ns, end);
    for (int stage = 0; stage < BB_COMMAND_STAGES; ++stage) {
        record->stage[stage] = frame.seconds[stage];
        inside += frame.seconds[stage];
    }
    record->stage[BB_FRAME_HOST] = record->latency - inside;
    run->out->held += record->step >= 0 && (!frame.slopes_finite || !frame.products_finite);
done:
    return status;
}

// Discards frames in flight.
static bb_status discard_frames(bb_realtime_loop *run)
{
    return bb_command_loop_reset(((bb_frame_loop *)run->context)->frames);
}

static const bb_realtime_stages frame_stages = {.begin = begin,
                                                .read = read_slopes,
                                                .start = start_frame,
                                                .finish = finish_frame,
                                                .abandon = discard_frames};

// With the device clock, the maximum number of frames is posted ahead. The host thread may then be
// descheduled for all but one of their periods without making a frame late. The collecting thread
// polls throughout.
static bb_realtime_schedule schedule_of(const bb_frame_loop *loop)
{
    const bb_ao_realtime_config *config = &loop->study->realtime;
    const bool by_device = config->clock == (int)BB_FRAME_CLOCK_DEVICE;
    return (bb_realtime_schedule){
        .warm_up = config->warm_up_frames,
        .steps = config->frames,
        .period_ns = config->rate_hz > 0.0 ? (int64_t)llrint(1e9 / config->rate_hz) : 0,
        .by_device = by_device,
        .depth = by_device ? (bb_index)BB_COMMAND_AHEAD : 1,
        .polls = by_device,
        .stops_threads = bb_device_kind_of(loop->devices[0]) != BB_DEVICE_CPU};
}

bb_status bb_frame_loop_run(bb_frame_loop *loop, bb_realtime_measurement *out)
{
    bb_realtime_loop run = {&frame_stages, loop, .schedule = schedule_of(loop)};
    out->shares = 1;
    return bb_realtime_loop_run(&run, out);
}

bb_status bb_frame_loop_measure(bb_frame_loop *loop, bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    bb_realtime_loop run = {&frame_stages, loop, .schedule = schedule_of(loop)};
    *out = (bb_realtime_measurement){.shares = 1};
    BB_TRY(bb_frame_loop_compare(loop, &loop->distance));
    BB_TRY(bb_realtime_loop_measure(&run, loop->device_count, loop->devices, out));
done:
    return status;
}

static const char *const kind_names[] = {"all"};
static const char *const stage_names[BB_FRAME_STAGES] = {"slopes", "product", "control",
                                                         "launch and host"};

static const bb_output axis_rows[] = {
    {"kind", "kind", NULL, "kind of step", .note = "all frames are of one kind",
     BB_OUTPUT_NAMES(kind_names)},
    {"stage", "stage", NULL, "part of a frame", BB_OUTPUT_NAMES(stage_names)},
};
static const bb_output_table axis_outputs = {"realtime of ao", NULL, "", NULL,
                                             BB_OUTPUT_ROWS(axis_rows)};

static const char results_title[] = "/results, realtime of ao";

static const bb_output kind_rows[] = {
    {"stage_p50_us", "kind, stage", "us", "median time of a stage",
     BB_ARRAY(bb_realtime_kind, stages), .scale = 1e6, .measured = true},
};
static const bb_output_table kind_outputs = {results_title, NULL, "results", "kind",
                                             BB_OUTPUT_ROWS(kind_rows)};

static const bb_output worst_rows[] = {
    {"frame", "rank", "1", "index of the frame among the measured ones",
     BB_MEMBER(bb_realtime_worst, step), .measured = true},
    {"stage_us", "rank, stage", "us", "time of a stage of the frame",
     BB_ARRAY(bb_realtime_worst, stages), .scale = 1e6, .measured = true},
};
static const bb_output_table worst_outputs = {"/worst, realtime of ao", NULL, "worst", "rank",
                                              BB_OUTPUT_ROWS(worst_rows)};

static const bb_realtime_form form = {.step = "frame",
                                      .kinds = 1,
                                      .stages = BB_FRAME_STAGES,
                                      .kind_names = kind_names,
                                      .stage_names = stage_names,
                                      .axes = &axis_outputs,
                                      .kind_table = &kind_outputs,
                                      .worst_table = &worst_outputs};

// Parameters of the matrices and statistics of the commands.
typedef struct figures {
    double commands, slopes, matrices, groups, devices, bits, read_rate, distance, held;
} figures;

#define OF_RUN(field) BB_MEMBER(figures, field)

static const bb_output figure_rows[] = {
    {"commands", "", "1", "commands of a frame", .note = "from all matrices", OF_RUN(commands)},
    {"slopes", "", "1", "slopes of a frame", OF_RUN(slopes)},
    {"matrices", "", "1", "matrices that multiply the slopes", OF_RUN(matrices)},
    {"groups", "", "1", "groups of slopes with separate means", .note = "0 without the filter",
     OF_RUN(groups)},
    {"devices", "", "1", "devices that share the rows of a frame", OF_RUN(devices)},
    {"bits_per_value", "", "bit", "bytes of the matrices over their values",
     .note = "including the matrix of the means", OF_RUN(bits)},
    {"read_rate", "", "byte s-1", "operator_bytes over the median time of the product",
     OF_RUN(read_rate), .measured = true},
    {"commands_distance", "", "1", "relative distance of a frame's commands from fp64 products",
     .note = "norm of the difference over the norm; with the same stored matrices",
     OF_RUN(distance), .measured = true},
    {"held_frames", "", "1", "frames with held commands",
     .note = "a slope or product was not finite", OF_RUN(held), .measured = true},
};
static const bb_output_table figure_outputs = {results_title, NULL, "results", NULL,
                                               BB_OUTPUT_ROWS(figure_rows)};

bb_status bb_frame_loop_sum_up(const bb_frame_loop *loop, const bb_realtime_measurement *measured,
                               bb_realtime_summary *out)
{
    const bb_realtime_schedule schedule = schedule_of(loop);
    return bb_realtime_summary_make(&form, measured, &schedule, loop->study->realtime.deadline_ms,
                                    loop->operator_bytes, loop->matrices.seconds, out);
}

static figures figures_of(const bb_frame_loop *loop, const bb_realtime_summary *summary)
{
    const bb_frame_matrices *matrices = &loop->matrices;
    return (figures){
        .commands = (double)matrices->commands,
        .slopes = (double)matrices->slopes,
        .matrices = matrices->count,
        .groups = (double)matrices->group_count,
        .devices = loop->device_count,
        .bits = 8.0 * bb_frame_matrices_bytes(matrices) / bb_frame_matrices_values(matrices),
        .read_rate = loop->operator_bytes / summary->kind[0].stages[BB_COMMAND_PRODUCT],
        .distance = loop->distance,
        .held = (double)summary->measured->held};
}

static bb_status note_run(const bb_frame_loop *loop, const char *storage, bb_results *results)
{
    const bb_ao_realtime_config *config = &loop->study->realtime;
    const char *file = config->telemetry.file;
    const char *const notes[][2] = {
        {"storage", storage},
        {"matrix", loop->matrices.is_drawn ? "random, for timing only" : "solved"},
        {"slopes_from", file == NULL ? "drawn" : file},
        {"controller", bb_frame_controller_names[config->controller]},
        {"accumulate", bb_format_names[config->accumulate]},
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        BB_TRY(bb_results_note(results, "results", notes[i][0], notes[i][1]));
    }
done:
    return status;
}

static bb_status print_head(const bb_frame_loop *loop, const figures *f, const char *storage,
                            bb_text *table)
{
    bb_status status = BB_OK;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    BB_TRY(bb_text_add(
        table, "pipeline %s, %.0f commands from %.0f slopes, %s: %.1f MB, %.2f bits per value\n",
        loop->pipeline->name, f->commands, f->slopes, storage, 1e-6 * loop->operator_bytes,
        f->bits));
    if (loop->matrices.is_drawn) {
        BB_TRY(bb_text_add(table, "%.0f random matri%s, for timing only: nothing is solved\n",
                           f->matrices, f->matrices == 1.0 ? "x" : "ces"));
    }
    if (config->telemetry.file != NULL) {
        BB_TRY(bb_text_add(table, "slopes from %td frames of '%s', replayed repeatedly\n",
                           loop->sets, config->telemetry.file));
    }
    if (loop->matrices.group_count > 0) {
        BB_TRY(bb_text_add(table,
                           "means of %.0f groups of slopes are multiplied separately, in fp32\n",
                           f->groups));
    }
    BB_TRY(bb_text_add(table, "sums in %s, controller %s", bb_format_names[config->accumulate],
                       bb_frame_controller_names[config->controller]));
    if (config->controller == (int)BB_FRAME_CONTROLLER_INTEGRATOR) {
        BB_TRY(bb_text_add(table, " with gain %g", bb_ao_realtime_config_gain(config)));
    }
    BB_TRY(bb_text_add(table, ", delay %td frames; %td threads", config->delay_frames,
                       bb_threads_count()));
    BB_TRY(loop->device_count == 1
               ? bb_text_add(table, "\n")
               : bb_text_add(table, ", %d devices share the rows\n", loop->device_count));
done:
    return status;
}

static bb_status print(const bb_frame_loop *loop, const bb_realtime_summary *summary,
                       const figures *f, const char *storage, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(print_head(loop, f, storage, table));
    BB_TRY(bb_realtime_summary_print_head(summary, table));
    BB_TRY(bb_realtime_summary_print_latencies(summary, table));
    BB_TRY(bb_text_add(table,
                       "the product reads %.2f GB/s; commands of a frame differ from fp64 products "
                       "by %.2g of their norm\n",
                       1e-9 * f->read_rate, f->distance));
    if (f->held > 0.0) {
        BB_TRY(bb_text_add(
            table, "commands of %.0f frames were held because a value was not finite\n", f->held));
    }
    BB_TRY(bb_realtime_summary_print_worst(summary, table));
    BB_TRY(bb_realtime_measurement_print_host(summary->measured, table));
done:
    return status;
}

bb_status bb_ao_realtime_report(const bb_frame_loop *loop, const bb_realtime_measurement *measured,
                                bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_realtime_summary summary;
    char storage[96];
    bb_codec_describe(&loop->pipeline->storage, storage, sizeof storage);
    BB_TRY(bb_frame_loop_sum_up(loop, measured, &summary));
    const figures run = figures_of(loop, &summary);
    BB_TRY(print(loop, &summary, &run, storage, table));
    BB_TRY(bb_realtime_summary_publish(&summary, loop->pipeline->name, results));
    BB_TRY(bb_output_table_publish(&figure_outputs, &run, NULL, results));
    BB_TRY(note_run(loop, storage, results));
done:
    return status;
}

// Number of matrix values from which `auto` selects a GPU: two cores multiply 1.2e6 in fp16 in 58
// us, an H200 adds an overhead of 15 us to its product (performance.md, 8.5).
static const double least_values = 1e6;

// With `auto`, selects the CPU for small matrices, unless several GPUs share them.
static int device_by_size(const bb_ao_study *study, double values)
{
    return bb_device_choice_by_size(study->common.device,
                                    study->realtime.gpus > 1 ? INFINITY : values, least_values);
}

bb_device_kind bb_ao_realtime_device(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                     double values)
{
    const int wish = bb_device_choice_wish(device_by_size(study, values), pipeline->device);
    const bool is_absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA) != NULL;
    return wish == (int)BB_DEVICE_AUTO && is_absent ? BB_DEVICE_CPU
                                                    : bb_device_choice_resolve(&offer, wish);
}

// Selects the device for frames of `values` matrix values, and checks that it can run them.
static bb_status choose(const bb_ao_study *study, const bb_factor_pipeline *pipeline, double values,
                        bb_device_kind *out)
{
    bb_status status = BB_OK;
    const bb_index gpus = study->realtime.gpus;
    const bb_device_kind kind = bb_ao_realtime_device(study, pipeline, values);
    BB_TRY(bb_device_choice_make(&offer, (int)kind, -1, out));
    const char *absent = bb_codec_absent(&pipeline->storage, kind);
    const bb_index present = bb_device_count(kind, NULL, 0);
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "pipeline %s, storage: %s", pipeline->name, absent);
    BB_REQUIRE(kind != BB_DEVICE_CPU || gpus == 1, BB_INVALID,
               "realtime.gpus = %td: pipeline %s runs on the cpu, expected 1", gpus,
               pipeline->name);
    BB_REQUIRE(gpus <= present, BB_DEVICE, "realtime.gpus = %td: this host has only %td", gpus,
               present);
done:
    return status;
}

static void announce(const bb_ao_study *study, const bb_factor_pipeline *pipeline, double values)
{
    const char *absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA);
    if (absent != NULL) {
        bb_log_info("pipeline %s runs on the cpu: %s", pipeline->name, absent);
    } else {
        bb_device_choice_announce(&offer, study->common.device, device_by_size(study, values));
    }
}

static bb_status check_telemetry(const bb_ao_study *study)
{
    bb_status status = BB_OK;
    bb_index slopes = study->realtime.size.slopes;
    bb_index frames;
    if (study->realtime.telemetry.file != NULL) {
        BB_TRY(bb_ao_realtime_config_draws(&study->realtime) ? BB_OK
                                                             : bb_ao_extent_slopes(study, &slopes));
        BB_TRY(bb_telemetry_file_inspect(&study->realtime.telemetry, slopes, &frames));
    }
done:
    return status;
}

static const bb_factor_pipeline *pipeline_of(const bb_ao_study *study)
{
    const bb_index which = bb_ao_realtime_config_pipeline(&study->realtime, &study->pipelines);
    return which < 0 ? NULL : (const bb_factor_pipeline *)study->pipelines.items + which;
}

// Rejects impossible runs before the solve.
static bb_status check_run(const bb_ao_study *study, const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    bb_device_kind kind;
    BB_REQUIRE(
        pipeline != NULL, BB_INVALID,
        "realtime needs a pipeline with an explicit `storage:`; find one with `run` and max_loss");
    BB_REQUIRE(pipeline->accumulate <= (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, accumulate = %s: the realtime loop sums in fp64 or fp32; set "
               "realtime.accumulate",
               pipeline->name, bb_format_names[pipeline->accumulate]);
    BB_TRY(check_telemetry(study));
    BB_TRY(choose(study, pipeline, INFINITY, &kind));
done:
    return status;
}

bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    const int gpus = (int)ao->realtime.gpus;
    const bb_factor_pipeline *pipeline = pipeline_of(ao);
    bb_device_kind kind = BB_DEVICE_CPU;
    bb_device *devices[BB_COMMAND_DEVICES] = {NULL};
    bb_frame_matrices matrices = {0};
    bb_frame_loop *loop = NULL;
    bb_realtime_measurement measured = {0};
    BB_TRY(check_run(ao, pipeline));
    BB_TRY(bb_frame_matrices_make(ao, pipeline, &matrices));
    const double values = bb_frame_matrices_values(&matrices);
    announce(ao, pipeline, values);
    BB_TRY(choose(ao, pipeline, values, &kind));
    for (int d = 0; d < gpus; ++d) {
        BB_TRY(bb_device_open(kind, d, &devices[d]));
    }
    BB_TRY(bb_frame_loop_create(ao, pipeline, gpus, devices, &matrices, &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %d %s device%s, prepared in %.1f s",
                pipeline->name, 1e-6 * loop->operator_bytes, gpus, bb_device_names[kind],
                gpus == 1 ? "" : "s", loop->matrices.seconds);
    BB_TRY(bb_frame_loop_measure(loop, &measured));
    BB_TRY(bb_ao_realtime_report(loop, &measured, results, table));
done:
    bb_realtime_measurement_release(&measured);
    bb_frame_loop_destroy(&loop);
    bb_frame_matrices_release(&matrices);
    for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
        bb_device_close(&devices[d]);
    }
    return status;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    const bb_ao_study *study = all;
    return bb_ao_realtime_config_check(&study->realtime, &study->pipelines, study->common.device,
                                       config, problems);
}

const bb_part bb_ao_realtime_part = {
    .name = "realtime",
    .check = check,
    .outputs = BB_OUTPUTS(&axis_outputs, &bb_realtime_report_kinds, &kind_outputs, &figure_outputs,
                          &bb_realtime_report_figures, &bb_realtime_report_latencies,
                          &bb_realtime_report_worst, &worst_outputs),
};
