// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/ao_realtime.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/ao/ao_extent.h"
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/device_choice.h"

#include <math.h>
#include <string.h>

static const int kinds[] = {BB_STEP_ALL};
static const char *const kind_names[] = {"all"};
const char *const bb_frame_table_stages[BB_FRAME_STAGES] = {"slopes", "product", "control",
                                                            "launch and host"};

static const bb_output axis_rows[] = {
    {"kind", "kind", NULL, "kind of step", .note = "frames are all alike",
     BB_OUTPUT_NAMES(kind_names)},
    {"stage", "stage", NULL, "part of a frame", BB_OUTPUT_NAMES(bb_frame_table_stages)},
};
const bb_output_table bb_frame_table_axes = {"realtime of ao", NULL, "", NULL,
                                             BB_OUTPUT_ROWS(axis_rows)};

static const char results_title[] = "/results, realtime of ao";

static const bb_output time_rows[] = {
    {"stage_p50_us", "kind, stage", "us", "median time of a stage",
     BB_MEMBER(bb_latency, stage_median), .scale = 1e6, .measured = true, .embedded = true},
};
const bb_output_table bb_frame_table_times = {results_title, NULL, "results", "kind",
                                              BB_OUTPUT_ROWS(time_rows)};

#define OF_RUN(field) BB_MEMBER(bb_frame_table, field)

static const bb_output figure_rows[] = {
    {"deadline_us", "", "us", "deadline of a frame", .note = "as configured", OF_RUN(deadline_ms),
     .scale = 1e3},
    {"period_us", "", "us", "between fixed releases", .note = "as configured; NaN back to back",
     OF_RUN(period_us)},
    {"commands", "", "1", "commands of a frame", .note = "of all matrices", OF_RUN(commands)},
    {"slopes", "", "1", "slopes of a frame", OF_RUN(slopes)},
    {"matrices", "", "1", "matrices that multiply the slopes", OF_RUN(matrices)},
    {"groups", "", "1", "groups of slopes whose means are multiplied apart",
     .note = "0 without the filter", OF_RUN(groups)},
    {"devices", "", "1", "devices that share the rows of a frame", OF_RUN(devices)},
    {"operator_bytes", "", "byte", "matrices that a frame reads", .note = "coded",
     OF_RUN(operator_bytes)},
    {"bits_per_value", "", "bit", "bytes of the matrices over their values",
     .note = "with what multiplies means", OF_RUN(bits)},
    {"read_rate", "", "byte s-1", "operator_bytes over the median time of the product",
     OF_RUN(read_rate), .measured = true},
    {"commands_distance", "", "1", "distance of a frame's commands from those by fp64 products",
     .note = "over their norm; of the same stored matrices", OF_RUN(distance), .measured = true},
    {"held_frames", "", "1", "frames whose commands were held",
     .note = "a slope or product was not finite", OF_RUN(held), .measured = true},
    {"encode_time_s", "", "s", "to solve or draw the matrices and to code them",
     OF_RUN(make_seconds), .measured = true},
    {"wall_time_s", "", "s", "from the first measured release to the last frame's end",
     OF_RUN(wall_seconds), .measured = true},
};
const bb_output_table bb_frame_table_figures = {results_title, NULL, "results", NULL,
                                                BB_OUTPUT_ROWS(figure_rows)};

#define OF_WORST(field) BB_MEMBER(bb_frame_worst, field), .measured = true

static const bb_output worst_rows[] = {
    {"rank", "rank", "1", "greatest latency first", .note = "the ten greatest",
     BB_MEMBER(bb_frame_worst, rank)},
    {"release_s", "rank", "s", "release since the first measured one", OF_WORST(release)},
    {"frame", "rank", "1", "number of the frame among the measured ones", OF_WORST(frame)},
    {"latency_us", "rank", "us", "latency of the frame", OF_WORST(latency), .scale = 1e6},
    {"stage_us", "rank, stage", "us", "time of a stage of the frame", OF_WORST(stages),
     .scale = 1e6, .embedded = true},
};
const bb_output_table bb_frame_table_worst = {"/worst, realtime of ao", NULL, "worst", "rank",
                                              BB_OUTPUT_ROWS(worst_rows)};

static void sum_up_worst(bb_frame_table *out)
{
    bb_index frames[BB_REALTIME_WORST];
    const bb_step_record *records = out->measured->records;
    out->worst_count = bb_latency_worst(out->measured->count, records, BB_REALTIME_WORST, frames);
    for (bb_index i = 0; i < out->worst_count; ++i) {
        const bb_step_record *record = &records[frames[i]];
        out->worst[i] = (bb_frame_worst){.rank = (double)(i + 1),
                                         .release = record->release,
                                         .frame = record->step,
                                         .latency = record->latency};
        memcpy(out->worst[i].stages, record->stage, sizeof out->worst[i].stages);
    }
}

bb_status bb_frame_table_sum_up(const bb_frame_loop *loop, const bb_frame_measurement *measured,
                                bb_frame_table *out)
{
    bb_status status = BB_OK;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    const bb_frame_matrices *matrices = &loop->matrices;
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured frame");
    *out = (bb_frame_table){.loop = loop,
                            .measured = measured,
                            .deadline_ms = config->deadline_ms,
                            .period_us = config->rate_hz > 0.0 ? 1e6 / config->rate_hz : NAN,
                            .commands = (double)matrices->commands,
                            .slopes = (double)matrices->slopes,
                            .matrices = matrices->count,
                            .groups = (double)matrices->group_count,
                            .devices = loop->device_count,
                            .operator_bytes = loop->operator_bytes,
                            .bits = 8.0 * bb_frame_matrices_bytes(matrices) /
                                    bb_frame_matrices_values(matrices),
                            .make_seconds = matrices->seconds,
                            .wall_seconds = measured->wall_seconds,
                            .held = (double)measured->held,
                            .distance = measured->distance};
    BB_TRY(bb_latency_summarise(measured->count, measured->records, BB_STEP_ALL,
                                1e-3 * config->deadline_ms, &out->latency));
    out->read_rate = out->operator_bytes / out->latency.stage_median[BB_COMMAND_PRODUCT];
    sum_up_worst(out);
done:
    return status;
}

bb_status bb_frame_table_publish(const bb_frame_table *table, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_frame_measurement *measured = table->measured;
    BB_TRY(bb_output_table_publish(&bb_frame_table_axes, table, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_report_kinds, &table->latency,
                                           sizeof table->latency, 1, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_frame_table_times, &table->latency,
                                           sizeof table->latency, 1, NULL, results));
    BB_TRY(bb_output_table_publish(&bb_frame_table_figures, table, NULL, results));
    BB_TRY(bb_realtime_report_publish(measured->count, measured->records, kinds, 1, results));
    BB_TRY(bb_output_table_publish_records(&bb_frame_table_worst, table->worst,
                                           sizeof *table->worst, table->worst_count, NULL,
                                           results));
done:
    return status;
}

static const bb_device_offer offer = {.work = "the loop of frames of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

static const char *controller_of(const bb_frame_table *s)
{
    return bb_frame_controller_names[s->loop->study->realtime.controller];
}

static bb_status note_run(const bb_frame_table *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_frame_loop *loop = s->loop;
    const bb_telemetry_config *telemetry = &loop->study->realtime.telemetry;
    const bool paced = loop->study->realtime.rate_hz > 0.0;
    char storage[96];
    bb_codec_describe(&loop->pipeline->storage, storage, sizeof storage);
    BB_TRY(bb_results_note(results, "results", "pipeline", loop->pipeline->name));
    BB_TRY(bb_results_note(results, "results", "storage", storage));
    BB_TRY(bb_results_note(results, "results", "matrix",
                           loop->matrices.is_drawn ? "drawn, for times alone" : "solved"));
    BB_TRY(bb_results_note(results, "results", "slopes_from",
                           telemetry->file == NULL ? "drawn" : telemetry->file));
    BB_TRY(bb_results_note(results, "results", "release", paced ? "fixed" : "back_to_back"));
    BB_TRY(bb_results_note(results, "results", "clock",
                           bb_frame_clock_names[loop->study->realtime.clock]));
    BB_TRY(bb_results_note(results, "results", "controller", controller_of(s)));
    BB_TRY(bb_results_note(results, "results", "accumulate",
                           bb_format_names[loop->study->realtime.accumulate]));
    BB_TRY(bb_results_note(results, "results", "ended",
                           s->measured->interrupted ? "by an interrupt" : "after all frames"));
    BB_TRY(bb_realtime_report_note_devices(loop->device_count, s->measured->devices, results));
    BB_TRY(bb_realtime_report_note_host(&s->measured->host, results));
done:
    return status;
}

static bb_status print_head(const bb_frame_table *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_frame_loop *loop = s->loop;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    char storage[96];
    bb_codec_describe(&loop->pipeline->storage, storage, sizeof storage);
    BB_TRY(bb_text_add(
        table, "pipeline %s, %.0f commands from %.0f slopes, %s: %.1f MB, %.2f bits a value\n",
        loop->pipeline->name, s->commands, s->slopes, storage, 1e-6 * s->operator_bytes, s->bits));
    if (loop->matrices.is_drawn) {
        BB_TRY(bb_text_add(table,
                           "%.0f matri%s drawn at random, for times alone: nothing is solved\n",
                           s->matrices, s->matrices == 1.0 ? "x" : "ces"));
    }
    if (config->telemetry.file != NULL) {
        BB_TRY(bb_text_add(table, "slopes of %td frames of '%s', in a circle\n", loop->sets,
                           config->telemetry.file));
    }
    if (loop->matrices.group_count > 0) {
        BB_TRY(bb_text_add(table, "means of %.0f groups of slopes are multiplied apart, in fp32\n",
                           s->groups));
    }
    BB_TRY(bb_text_add(table, "sums in %s, controller %s", bb_format_names[config->accumulate],
                       controller_of(s)));
    if (config->controller == (int)BB_FRAME_CONTROLLER_INTEGRATOR) {
        BB_TRY(bb_text_add(table, " of gain %g", bb_ao_realtime_config_gain(config)));
    }
    BB_TRY(bb_text_add(table, ", delay %td frames\n", config->delay_frames));
    BB_TRY(config->rate_hz > 0.0
               ? bb_text_add(table, "%td frames at %g Hz by the %s's clock", s->measured->count,
                             config->rate_hz, bb_frame_clock_names[config->clock])
               : bb_text_add(table, "%td frames back to back", s->measured->count));
    BB_TRY(bb_text_add(table, ", %.3f s%s\n", s->wall_seconds,
                       s->measured->interrupted ? "; ended by an interrupt" : ""));
done:
    return status;
}

static bb_status print_latencies(const bb_frame_table *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n"));
    BB_TRY(bb_realtime_report_print(NULL, NULL, table));
    BB_TRY(bb_text_add(table, "\n"));
    BB_TRY(bb_realtime_report_print("all", &s->latency, table));
    BB_TRY(bb_text_add(table, "\n"));
    BB_TRY(bb_realtime_report_print_misses(1e3 * s->deadline_ms, &s->latency, table));
    BB_TRY(bb_text_add(table,
                       "commands of a frame lie %.2g of their norm from those by fp64 products\n",
                       s->distance));
    if (s->held > 0.0) {
        BB_TRY(bb_text_add(table, "%.0f frames held their commands: something was not finite\n",
                           s->held));
    }
done:
    return status;
}

static bb_status print_stages(const double *stages, bb_text *table)
{
    bb_status status = BB_OK;
    for (int stage = 0; stage < BB_FRAME_STAGES; ++stage) {
        BB_TRY(bb_text_add(table, "%s%s %.2f", stage == 0 ? "" : ", ", bb_frame_table_stages[stage],
                           1e6 * stages[stage]));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

static bb_status print_worst(const bb_frame_table *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\nmedian us: "));
    BB_TRY(print_stages(s->latency.stage_median, table));
    BB_TRY(bb_text_add(table, "the product reads %.2f GB/s\n", 1e-9 * s->read_rate));
    BB_TRY(bb_text_add(table, "\nworst  at [s]         frame  latency [us]  stages [us]\n"));
    for (bb_index i = 0; i < s->worst_count; ++i) {
        const bb_frame_worst *worst = &s->worst[i];
        BB_TRY(bb_text_add(table, "%5.0f  %-10.6f  %7.0f  %12.2f  ", worst->rank, worst->release,
                           worst->frame, 1e6 * worst->latency));
        BB_TRY(print_stages(worst->stages, table));
    }
done:
    return status;
}

static bb_status print(const bb_frame_table *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_frame_measurement *m = s->measured;
    BB_TRY(print_head(s, table));
    BB_TRY(print_latencies(s, table));
    BB_TRY(print_worst(s, table));
    BB_TRY(bb_realtime_report_print_host(&m->host, table));
    for (int d = 0; d < s->loop->device_count; ++d) {
        const bb_device_report *device = &m->devices[d];
        BB_TRY(bb_text_add(table, "%s%s%s%s", d == 0 ? "device: " : " | ", device->name,
                           device->driver[0] == '\0' ? "" : ", ", device->driver));
    }
    BB_TRY(bb_text_add(table, "%s; %td threads\n",
                       s->devices == 1.0 ? "" : ", which share the rows", bb_threads_count()));
done:
    return status;
}

bb_status bb_ao_realtime_report(const bb_frame_loop *loop, const bb_frame_measurement *measured,
                                bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_frame_table figures;
    BB_TRY(bb_frame_table_sum_up(loop, measured, &figures));
    BB_TRY(print(&figures, table));
    BB_TRY(bb_frame_table_publish(&figures, results));
    BB_TRY(note_run(&figures, results));
done:
    return status;
}

bb_status bb_ao_realtime_choose(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                bb_device_kind *out)
{
    bb_status status = BB_OK;
    const char *absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA);
    const int wish = bb_device_choice_wish(study->common.device, pipeline->device);
    *out = BB_DEVICE_CPU;
    if (wish == (int)BB_DEVICE_AUTO && absent != NULL) {
        bb_log_info("pipeline %s runs on the cpu: %s", pipeline->name, absent);
        return BB_OK;
    }
    BB_TRY(bb_device_choice_make(&offer, study->common.device, pipeline->device, out));
    BB_REQUIRE(*out == BB_DEVICE_CPU || absent == NULL, BB_UNSUPPORTED, "pipeline %s, storage: %s",
               pipeline->name, absent);
done:
    return status;
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

static bb_status open_devices(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                              bb_device_kind kind, bb_device *devices[BB_COMMAND_DEVICES])
{
    bb_status status = BB_OK;
    const bb_index count = study->realtime.gpus;
    const bb_index present = bb_device_count(kind, NULL, 0);
    BB_REQUIRE(kind != BB_DEVICE_CPU || count == 1, BB_INVALID,
               "realtime.gpus = %td: pipeline %s runs on the cpu, expected 1", count,
               pipeline->name);
    BB_REQUIRE(count <= present, BB_DEVICE, "realtime.gpus = %td: this host has %td", count,
               present);
    for (bb_index d = 0; d < count; ++d) {
        BB_TRY(bb_device_open(kind, d, &devices[d]));
    }
done:
    return status;
}

bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    const bb_factor_pipeline *pipelines = ao->pipelines.items;
    const bb_index which = bb_ao_realtime_config_pipeline(&ao->realtime, &ao->pipelines);
    bb_device_kind kind = BB_DEVICE_CPU;
    bb_device *devices[BB_COMMAND_DEVICES] = {NULL};
    bb_frame_loop *loop = NULL;
    bb_frame_measurement measured = {0};
    BB_REQUIRE(which >= 0, BB_INVALID,
               "no pipeline stores its reconstructor, which a loop multiplies: expected one with a "
               "complete storage, as `run` finds it by max_loss");
    BB_REQUIRE(pipelines[which].accumulate <= (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, accumulate: a loop of frames sums in fp64 or fp32, as "
               "realtime.accumulate says, not in %s",
               pipelines[which].name, bb_format_names[pipelines[which].accumulate]);
    BB_TRY(check_telemetry(ao));
    BB_TRY(bb_ao_realtime_choose(ao, &pipelines[which], &kind));
    BB_TRY(open_devices(ao, &pipelines[which], kind, devices));
    BB_TRY(bb_frame_loop_create(ao, &pipelines[which], (int)ao->realtime.gpus, devices, &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %td %s device%s, made in %.1f s",
                pipelines[which].name, 1e-6 * loop->operator_bytes, ao->realtime.gpus,
                bb_device_names[kind], ao->realtime.gpus == 1 ? "" : "s", loop->matrices.seconds);
    BB_TRY(bb_frame_measurement_take(loop, &measured));
    BB_TRY(bb_ao_realtime_report(loop, &measured, results, table));
done:
    bb_frame_measurement_release(&measured);
    bb_frame_loop_destroy(&loop);
    for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
        bb_device_close(&devices[d]);
    }
    return status;
}
