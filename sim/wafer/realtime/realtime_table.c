// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_table.h"

#include <math.h>
#include <string.h>

enum { KINDS = BB_REALTIME_KINDS, SCHEDULES = BB_REALTIME_SCHEDULES };

static const int kinds[KINDS] = {BB_STEP_ALL, BB_STEP_LIGHT, BB_STEP_HEAT, BB_STEP_DARK};
static const char *const kind_names[KINDS] = {"all", "light", "heat", "dark"};
static const char *const schedule_names[SCHEDULES] = {"predicted for fp32", "predicted",
                                                      "measured"};
const char *const bb_realtime_stages[BB_STEP_STAGES] = {
    "state", "input", "reading and products", "outputs", "waiting for matrices", "launch and host"};

static const bb_output axis_rows[] = {
    {"kind", "kind", NULL, "kind of step", .note = "light with products, heat alone, or dark",
     BB_OUTPUT_NAMES(kind_names)},
    {"gpu", "gpu", "1", "GPU", .note = "axes of the response are dealt to them",
     .count = offsetof(bb_realtime_summary, gpus), .indices = true},
    {"stage", "stage", NULL, "part of a step", BB_OUTPUT_NAMES(bb_realtime_stages)},
};
const bb_output_table bb_realtime_table_axes = {"realtime", NULL, "", NULL,
                                                BB_OUTPUT_ROWS(axis_rows)};

static const bb_output kind_rows[] = {
    {"stage_p50_us", "kind, gpu, stage", "us", "median time of a stage",
     .note = "of waiting for matrices over the steps that begin a field",
     BB_MEMBER(bb_realtime_kind, stages), .scale = 1e6, .measured = true, .embedded = true},
};
const bb_output_table bb_realtime_table_kinds = {"/results, realtime", NULL, "results", "kind",
                                                 BB_OUTPUT_ROWS(kind_rows)};

static const bb_output figure_rows[] = {
    {"deadline_us", "", "us", "deadline of a step", .note = "as configured",
     BB_MEMBER(bb_realtime_summary, deadline_ms), .scale = 1e3},
    {"period_us", "", "us", "between fixed releases", .note = "as configured; NaN back to back",
     BB_MEMBER(bb_realtime_summary, period_ms), .scale = 1e3},
    {"ahead", "", "1", "steps queued before their release; 0: the host releases each",
     .note = "as configured", BB_MEMBER(bb_realtime_summary, ahead)},
    {"least_queued", "", "1", "fewest steps that the device still had when the host queued another",
     .note = "NaN without", BB_MEMBER(bb_realtime_summary, least_queued), .measured = true},
    {"field_steps", "", "1", "steps of a field", .note = "light and dark",
     BB_MEMBER(bb_realtime_summary, field_steps)},
    {"field_time_s", "", "s", "median time of a field's steps, each waited for",
     .note = "back to back, of a scored field; of 32", BB_MEMBER(bb_realtime_summary, field.each),
     .measured = true},
    {"field_queued_time_s", "", "s", "median time of a field's steps, queued at once",
     .note = "likewise", BB_MEMBER(bb_realtime_summary, field.queued), .measured = true},
    {"operator_bytes", "", "byte", "matrices on the devices",
     .note = "coded: of all scored fields and axes, or two slots",
     BB_MEMBER(bb_realtime_summary, operator_bytes)},
    {"encode_time_s", "", "s", "to make and code the rows",
     BB_MEMBER(bb_realtime_summary, encode_seconds), .measured = true},
    {"wall_time_s", "", "s", "from the first measured release to the last step's end",
     BB_MEMBER(bb_realtime_summary, wall_seconds), .measured = true},
};
const bb_output_table bb_realtime_table_figures = {"/results, realtime", NULL, "results", NULL,
                                                   BB_OUTPUT_ROWS(figure_rows)};

#define OF_WORST(field) BB_MEMBER(bb_realtime_worst, field), .measured = true

static const bb_output worst_rows[] = {
    {"rank", "rank", "1", "greatest latency first", .note = "the ten greatest",
     BB_MEMBER(bb_realtime_worst, rank)},
    {"release_s", "rank", "s", "release since the first measured one", OF_WORST(release)},
    {"exposure", "rank", "1", "exposure of the step", OF_WORST(exposure)},
    {"step", "rank", "1", "step of the exposure", OF_WORST(step)},
    {"latency_us", "rank", "us", "latency of the step", OF_WORST(latency), .scale = 1e6},
    {"stage_us", "rank, gpu, stage", "us", "time of a stage of the step", OF_WORST(stages),
     .scale = 1e6, .embedded = true},
};
const bb_output_table bb_realtime_table_worst = {"/worst, realtime", NULL, "worst", "rank",
                                                 BB_OUTPUT_ROWS(worst_rows)};

#define OF_SCHEDULE(field) BB_MEMBER(bb_realtime_schedule, field), .measured = true

static const char stream_title[] = "/stream, realtime with `realtime.matrices: streamed`";

static const bb_output schedule_rows[] = {
    {"schedule", "schedule", NULL, "a field by Table 1 from transfer and computation, or measured",
     BB_OUTPUT_NAMES(schedule_names)},
    {"transfer_s", "schedule", "s", "matrices of a field to all devices",
     .note = "nothing else under way; median of 32", OF_SCHEDULE(transfer)},
    {"compute_s", "schedule", "s", "all steps of a field, each waited for", .note = "median of 32",
     OF_SCHEDULE(compute)},
    {"period_s", "schedule", "s", "between fields in a row",
     .note = "the ends of scored ones, back to back", OF_SCHEDULE(period)},
    {"latency_s", "schedule", "s",
     "from the start of a field's transfer to the end of its last step",
     .note = "nothing else under way", OF_SCHEDULE(latency)},
};
const bb_output_table bb_realtime_table_schedules = {stream_title, NULL, "stream", "schedule",
                                                     BB_OUTPUT_ROWS(schedule_rows)};

static const bb_output stream_rows[] = {
    {"field_bytes", "", "byte", "matrices of a field as they cross",
     BB_MEMBER(bb_realtime_summary, field_bytes)},
    {"ratio", "", "1", "bytes in fp32 over those", BB_MEMBER(bb_realtime_summary, field.ratio)},
    {"fields", "", "1", "fields that began", .note = "of the measured ones",
     BB_MEMBER(bb_realtime_summary, fields_begun), .measured = true},
    {"fields_waited", "", "1", "fields whose matrices were not there in time",
     BB_MEMBER(bb_realtime_summary, fields_waited), .measured = true},
    {"longest_wait_us", "", "us", "longest wait for the matrices of a field",
     BB_MEMBER(bb_realtime_summary, longest_wait), .scale = 1e6, .measured = true},
};
const bb_output_table bb_realtime_table_stream = {stream_title, NULL, "stream", NULL,
                                                  BB_OUTPUT_ROWS(stream_rows)};

// Latencies are those of any GPU, stages are each one's.
static bb_status sum_up_kind(int k, bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = out->measured;
    bb_realtime_kind *kind = &out->kind[k];
    kind->name = kind_names[k];
    for (int g = out->loop->gpus - 1; g >= 0; --g) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records[g], kinds[k],
                                    1e-3 * out->config->deadline_ms, &kind->latency));
        memcpy(kind->stages[g], kind->latency.stage_median, sizeof kind->stages[g]);
    }
done:
    return status;
}

static void sum_up_worst(bb_realtime_summary *out)
{
    const bb_realtime_measurement *measured = out->measured;
    bb_index steps[BB_REALTIME_WORST];
    out->worst_count =
        bb_latency_worst(measured->count, measured->records[0], BB_REALTIME_WORST, steps);
    for (bb_index i = 0; i < out->worst_count; ++i) {
        const bb_step_record *record = &measured->records[0][steps[i]];
        out->worst[i] = (bb_realtime_worst){.rank = (double)(i + 1),
                                            .release = record->release,
                                            .exposure = record->exposure,
                                            .step = record->step,
                                            .latency = record->latency,
                                            .kind = kind_names[record->kind + 1]};
        for (int g = 0; g < out->loop->gpus; ++g) {
            memcpy(out->worst[i].stages[g], measured->records[g][steps[i]].stage,
                   sizeof out->worst[i].stages[g]);
        }
    }
}

// Table 1 of Bamakhrama et al. beside what was measured.
static void sum_up_schedules(bb_realtime_summary *out)
{
    const bb_field_times *field = &out->measured->field;
    const bb_field_schedule *times[SCHEDULES] = {&field->plain, &field->predicted,
                                                 &field->measured};
    for (int i = 0; i < SCHEDULES; ++i) {
        out->schedule[i] = (bb_realtime_schedule){
            .name = schedule_names[i],
            .transfer = i == 0 ? field->ratio * field->transfer : field->transfer,
            .compute = field->each,
            .period = times[i]->period,
            .latency = times[i]->latency};
    }
}

static void sum_up_waits(bb_realtime_summary *out)
{
    const bb_realtime_measurement *measured = out->measured;
    for (bb_index i = 0; i < measured->count; ++i) {
        double longest = NAN;
        for (int g = 0; g < out->loop->gpus; ++g) {
            longest = fmax(longest, measured->records[g][i].stage[BB_STEP_MATRICES]);
        }
        out->fields_begun += !isnan(longest);
        out->fields_waited += longest > 0.0;
        out->longest_wait = fmax(out->longest_wait, longest);
    }
}

bb_status bb_realtime_table_sum_up(const bb_wafer_loop *loop,
                                   const bb_realtime_measurement *measured,
                                   bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &loop->study->realtime;
    const bool is_fixed = config->release == (int)BB_RELEASE_FIXED;
    *out = (bb_realtime_summary){
        .loop = loop,
        .measured = measured,
        .config = config,
        .gpus = loop->gpus,
        .deadline_ms = config->deadline_ms,
        .period_ms = is_fixed ? config->period_ms : NAN,
        .ahead = (double)config->ahead,
        .least_queued = measured->least_queued < 0 ? NAN : (double)measured->least_queued,
        .field_steps = (double)loop->steps,
        .operator_bytes = loop->device_bytes,
        .field_bytes = loop->field_bytes,
        .encode_seconds = loop->coding.seconds,
        .wall_seconds = measured->wall_seconds,
        .field = measured->field,
        .longest_wait = NAN};
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured step");
    for (int k = 0; k < KINDS; ++k) {
        BB_TRY(sum_up_kind(k, out));
    }
    sum_up_worst(out);
    sum_up_schedules(out);
    sum_up_waits(out);
done:
    return status;
}

bb_status bb_realtime_table_publish(const bb_realtime_summary *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = s->measured;
    BB_TRY(bb_output_table_publish(&bb_realtime_table_axes, s, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_report_kinds, &s->kind[0].latency,
                                           sizeof *s->kind, KINDS, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_table_kinds, s->kind, sizeof *s->kind,
                                           KINDS, NULL, results));
    BB_TRY(bb_output_table_publish(&bb_realtime_table_figures, s, NULL, results));
    BB_TRY(
        bb_realtime_report_publish(measured->count, measured->records[0], kinds, KINDS, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_table_worst, s->worst, sizeof *s->worst,
                                           s->worst_count, NULL, results));
    if (s->loop->streamed) {
        BB_TRY(bb_output_table_publish_records(&bb_realtime_table_schedules, s->schedule,
                                               sizeof *s->schedule, SCHEDULES, NULL, results));
        BB_TRY(bb_output_table_publish(&bb_realtime_table_stream, s, NULL, results));
    }
done:
    return status;
}

enum { TEXT = -1 };

// A member of a record as it is printed.
typedef struct column {
    const char *heading;
    int width, digits; // a width below 0: to the left; digits TEXT: the member is one
    size_t member;
    double scale;
} column;

struct bb_realtime_print {
    int gap; // between columns
    const column *columns;
    size_t count;
};

#define COLUMNS(array) (array), sizeof(array) / sizeof *(array)

static const column worst_columns[] = {
    {"worst", 5, 0, offsetof(bb_realtime_worst, rank), 1.0},
    {"at [s]", -10, 6, offsetof(bb_realtime_worst, release), 1.0},
    {"exposure", 8, 0, offsetof(bb_realtime_worst, exposure), 1.0},
    {"step", 4, 0, offsetof(bb_realtime_worst, step), 1.0},
    {"kind", -5, TEXT, offsetof(bb_realtime_worst, kind), 1.0},
    {"latency [us]", 12, 2, offsetof(bb_realtime_worst, latency), 1e6},
};
const bb_realtime_print bb_realtime_print_worst = {2, COLUMNS(worst_columns)};

static const column schedule_columns[] = {
    {"a field [ms]", -22, TEXT, offsetof(bb_realtime_schedule, name), 1.0},
    {"transfer", 10, 3, offsetof(bb_realtime_schedule, transfer), 1e3},
    {"computation", 12, 3, offsetof(bb_realtime_schedule, compute), 1e3},
    {"period", 10, 3, offsetof(bb_realtime_schedule, period), 1e3},
    {"latency", 10, 3, offsetof(bb_realtime_schedule, latency), 1e3},
};
const bb_realtime_print bb_realtime_print_schedule = {0, COLUMNS(schedule_columns)};

bb_status bb_realtime_table_print(const bb_realtime_print *table, const void *record, bb_text *out)
{
    bb_status status = BB_OK;
    for (size_t c = 0; c < table->count; ++c) {
        const column *entry = &table->columns[c];
        const void *member = record == NULL ? NULL : (const char *)record + entry->member;
        BB_TRY(bb_text_add(out, "%*s", c == 0 ? 0 : table->gap, ""));
        if (member == NULL || entry->digits == TEXT) {
            BB_TRY(bb_text_add(out, "%*s", entry->width,
                               member == NULL ? entry->heading : *(const char *const *)member));
        } else {
            BB_TRY(bb_text_add(out, "%*.*f", entry->width, entry->digits,
                               entry->scale * *(const double *)member));
        }
    }
done:
    return status;
}
