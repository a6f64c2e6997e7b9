// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_table.h"

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
     BB_MEMBER(bb_latency_summary, stage_median), .scale = 1e6, .measured = true, .embedded = true},
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
