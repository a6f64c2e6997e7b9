// SPDX-License-Identifier: Apache-2.0
//
// Results of `bitbudget realtime` of a wafer study, as a table and as datasets.
#include "sim/wafer/realtime/realtime_measurement.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = BB_STEP_KINDS + 1, SCHEDULES = 3 };

// Steps of one kind, of any GPU but for the stages; s.
typedef struct kind_row {
    const char *name;
    bb_latency latency;
    double stages[BB_LOOP_GPUS][BB_STEP_STAGES]; // medians
} kind_row;

// One of the steps of greatest latency; s.
typedef struct worst_row {
    double rank, release, exposure, step, latency;
    const char *kind;
    double stages[BB_LOOP_GPUS][BB_STEP_STAGES];
} worst_row;

// A field by Table 1 of Bamakhrama et al., or as measured; s.
typedef struct schedule_row {
    const char *name;
    double transfer, compute, period, latency;
} schedule_row;

// Figures of a run; loop and measurement are borrowed.
typedef struct summary {
    const bb_wafer_loop *loop;
    const bb_realtime_measurement *measured;
    const bb_realtime_config *config;
    kind_row kind[KINDS]; // all first, then by bb_step_kind
    worst_row worst[BB_REALTIME_WORST];
    bb_index worst_count;
    schedule_row schedule[SCHEDULES];
    bb_index gpus;
    double deadline_ms, period_ms, ahead, least_queued; // NaN: does not apply
    double field_steps, operator_bytes, field_bytes;
    double encode_seconds, wall_seconds;
    bb_field_times field;
    double fields_begun;  // streamed: fields whose first step was measured
    double fields_waited; // of them: not all matrices were there
    double longest_wait;  // s, of any device
} summary;

static const int kinds[KINDS] = {BB_STEP_ALL, BB_STEP_LIGHT, BB_STEP_HEAT, BB_STEP_DARK};
static const char *const kind_names[KINDS] = {"all", "light", "heat", "dark"};
static const char *const schedule_names[SCHEDULES] = {"predicted for fp32", "predicted",
                                                      "measured"};
static const char *const stages[BB_STEP_STAGES] = {
    "state", "input", "reading and products", "outputs", "waiting for matrices", "launch and host"};

static const bb_output axis_rows[] = {
    {"kind", "kind", NULL, "kind of step", .note = "light with products, heat alone, or dark",
     BB_OUTPUT_NAMES(kind_names)},
    {"gpu", "gpu", "1", "GPU", .note = "axes of the response are dealt to them",
     .count = offsetof(summary, gpus), .indices = true},
    {"stage", "stage", NULL, "part of a step", BB_OUTPUT_NAMES(stages)},
};
static const bb_output_table axis_outputs = {"realtime", NULL, "", NULL, BB_OUTPUT_ROWS(axis_rows)};

static const bb_output kind_rows[] = {
    {"stage_p50_us", "kind, gpu, stage", "us", "median time of a stage",
     .note = "of waiting for matrices over the steps that begin a field",
     BB_MEMBER(kind_row, stages), .scale = 1e6, .measured = true, .embedded = true},
};
static const bb_output_table kind_outputs = {"/results, realtime", NULL, "results", "kind",
                                             BB_OUTPUT_ROWS(kind_rows)};

static const bb_output figure_rows[] = {
    {"deadline_us", "", "us", "deadline of a step", .note = "as configured",
     BB_MEMBER(summary, deadline_ms), .scale = 1e3},
    {"period_us", "", "us", "between fixed releases", .note = "as configured; NaN back to back",
     BB_MEMBER(summary, period_ms), .scale = 1e3},
    {"ahead", "", "1", "steps queued before their release; 0: the host releases each",
     .note = "as configured", BB_MEMBER(summary, ahead)},
    {"least_queued", "", "1", "fewest steps that the device still had when the host queued another",
     .note = "NaN without", BB_MEMBER(summary, least_queued), .measured = true},
    {"field_steps", "", "1", "steps of a field", .note = "light and dark",
     BB_MEMBER(summary, field_steps)},
    {"field_time_s", "", "s", "median time of a field's steps, each waited for",
     .note = "back to back, of a scored field; of 32", BB_MEMBER(summary, field.each),
     .measured = true},
    {"field_queued_time_s", "", "s", "median time of a field's steps, queued at once",
     .note = "likewise", BB_MEMBER(summary, field.queued), .measured = true},
    {"operator_bytes", "", "byte", "matrices on the devices",
     .note = "coded: of all scored fields and axes, or two slots",
     BB_MEMBER(summary, operator_bytes)},
    {"encode_time_s", "", "s", "to make and code the rows", BB_MEMBER(summary, encode_seconds),
     .measured = true},
    {"wall_time_s", "", "s", "from the first measured release to the last step's end",
     BB_MEMBER(summary, wall_seconds), .measured = true},
};
static const bb_output_table figure_outputs = {"/results, realtime", NULL, "results", NULL,
                                               BB_OUTPUT_ROWS(figure_rows)};

#define OF_WORST(field) BB_MEMBER(worst_row, field), .measured = true

static const bb_output worst_rows[] = {
    {"rank", "rank", "1", "greatest latency first", .note = "the ten greatest",
     BB_MEMBER(worst_row, rank)},
    {"release_s", "rank", "s", "release since the first measured one", OF_WORST(release)},
    {"exposure", "rank", "1", "exposure of the step", OF_WORST(exposure)},
    {"step", "rank", "1", "step of the exposure", OF_WORST(step)},
    {"latency_us", "rank", "us", "latency of the step", OF_WORST(latency), .scale = 1e6},
    {"stage_us", "rank, gpu, stage", "us", "time of a stage of the step", OF_WORST(stages),
     .scale = 1e6, .embedded = true},
};
static const bb_output_table worst_outputs = {"/worst, realtime", NULL, "worst", "rank",
                                              BB_OUTPUT_ROWS(worst_rows)};

#define OF_SCHEDULE(field) BB_MEMBER(schedule_row, field), .measured = true

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
static const bb_output_table schedule_outputs = {stream_title, NULL, "stream", "schedule",
                                                 BB_OUTPUT_ROWS(schedule_rows)};

static const bb_output stream_rows[] = {
    {"field_bytes", "", "byte", "matrices of a field as they cross",
     BB_MEMBER(summary, field_bytes)},
    {"ratio", "", "1", "bytes in fp32 over those", BB_MEMBER(summary, field.ratio)},
    {"fields", "", "1", "fields that began", .note = "of the measured ones",
     BB_MEMBER(summary, fields_begun), .measured = true},
    {"fields_waited", "", "1", "fields whose matrices were not there in time",
     BB_MEMBER(summary, fields_waited), .measured = true},
    {"longest_wait_us", "", "us", "longest wait for the matrices of a field",
     BB_MEMBER(summary, longest_wait), .scale = 1e6, .measured = true},
};
static const bb_output_table stream_outputs = {stream_title, NULL, "stream", NULL,
                                               BB_OUTPUT_ROWS(stream_rows)};

// Latencies are those of any GPU, stages are each one's.
static bb_status sum_up_kind(int k, summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = out->measured;
    kind_row *kind = &out->kind[k];
    kind->name = kind_names[k];
    for (int g = out->loop->gpus - 1; g >= 0; --g) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records[g], kinds[k],
                                    1e-3 * out->config->deadline_ms, &kind->latency));
        memcpy(kind->stages[g], kind->latency.stage_median, sizeof kind->stages[g]);
    }
done:
    return status;
}

static void sum_up_worst(summary *out)
{
    const bb_realtime_measurement *measured = out->measured;
    bb_index steps[BB_REALTIME_WORST];
    out->worst_count =
        bb_latency_worst(measured->count, measured->records[0], BB_REALTIME_WORST, steps);
    for (bb_index i = 0; i < out->worst_count; ++i) {
        const bb_step_record *record = &measured->records[0][steps[i]];
        out->worst[i] = (worst_row){.rank = (double)(i + 1),
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
static void sum_up_schedules(summary *out)
{
    const bb_field_times *field = &out->measured->field;
    const bb_field_schedule *times[SCHEDULES] = {&field->plain, &field->predicted,
                                                 &field->measured};
    for (int i = 0; i < SCHEDULES; ++i) {
        out->schedule[i] =
            (schedule_row){.name = schedule_names[i],
                           .transfer = i == 0 ? field->ratio * field->transfer : field->transfer,
                           .compute = field->each,
                           .period = times[i]->period,
                           .latency = times[i]->latency};
    }
}

static void sum_up_waits(summary *out)
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

static bb_status sum_up(const bb_wafer_loop *loop, const bb_realtime_measurement *measured,
                        summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &loop->study->realtime;
    const bool is_fixed = config->release == (int)BB_RELEASE_FIXED;
    *out =
        (summary){.loop = loop,
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

static bb_status publish(const summary *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = s->measured;
    BB_TRY(bb_output_table_publish(&axis_outputs, s, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_report_kinds, &s->kind[0].latency,
                                           sizeof *s->kind, KINDS, NULL, results));
    BB_TRY(bb_output_table_publish_records(&kind_outputs, s->kind, sizeof *s->kind, KINDS, NULL,
                                           results));
    BB_TRY(bb_output_table_publish(&figure_outputs, s, NULL, results));
    BB_TRY(
        bb_realtime_report_publish(measured->count, measured->records[0], kinds, KINDS, results));
    BB_TRY(bb_output_table_publish_records(&worst_outputs, s->worst, sizeof *s->worst,
                                           s->worst_count, NULL, results));
    if (s->loop->streamed) {
        BB_TRY(bb_output_table_publish_records(&schedule_outputs, s->schedule, sizeof *s->schedule,
                                               SCHEDULES, NULL, results));
        BB_TRY(bb_output_table_publish(&stream_outputs, s, NULL, results));
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

typedef struct record_print {
    int gap; // between columns
    const column *columns;
    size_t count;
} record_print;

#define COLUMNS(array) (array), sizeof(array) / sizeof *(array)

static const column worst_columns[] = {
    {"worst", 5, 0, offsetof(worst_row, rank), 1.0},
    {"at [s]", -10, 6, offsetof(worst_row, release), 1.0},
    {"exposure", 8, 0, offsetof(worst_row, exposure), 1.0},
    {"step", 4, 0, offsetof(worst_row, step), 1.0},
    {"kind", -5, TEXT, offsetof(worst_row, kind), 1.0},
    {"latency [us]", 12, 2, offsetof(worst_row, latency), 1e6},
};
static const record_print print_of_worst = {2, COLUMNS(worst_columns)};

static const column schedule_columns[] = {
    {"a field [ms]", -22, TEXT, offsetof(schedule_row, name), 1.0},
    {"transfer", 10, 3, offsetof(schedule_row, transfer), 1e3},
    {"computation", 12, 3, offsetof(schedule_row, compute), 1e3},
    {"period", 10, 3, offsetof(schedule_row, period), 1e3},
    {"latency", 10, 3, offsetof(schedule_row, latency), 1e3},
};
static const record_print print_of_schedule = {0, COLUMNS(schedule_columns)};

// Appends a record as it is printed, without a line's end; NULL: the headings.
static bb_status print_record(const record_print *table, const void *record, bb_text *out)
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

static bb_status note_run(const summary *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = s->config;
    BB_TRY(bb_results_note(results, "results", "pipeline", s->loop->pipeline->name));
    BB_TRY(bb_results_note(results, "results", "release", bb_release_names[config->release]));
    BB_TRY(bb_results_note(results, "results", "clock", config->ahead > 0 ? "device" : "host"));
    BB_TRY(bb_results_note(results, "results", "ended",
                           s->measured->interrupted ? "by an interrupt" : "after all steps"));
    BB_TRY(bb_results_note(results, "results", "matrices", bb_loop_mode_names[config->matrices]));
done:
    return status;
}

static bb_status print_head(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &s->loop->study->realtime;
    const bb_realtime_measurement *m = s->measured;
    const int gpus = s->loop->gpus;
    BB_TRY(bb_text_add(table, "pipeline %s, %d axes, %td fields, %.1f MB of matrices on ",
                       s->loop->pipeline->name, s->loop->axes, s->loop->problem->scored_count,
                       1e-6 * s->loop->device_bytes));
    BB_TRY(gpus == 1 ? bb_text_add(table, "the device\n")
                     : bb_text_add(table, "%d GPUs, axes dealt to them in turn\n", gpus));
    BB_TRY(config->release == (int)BB_RELEASE_FIXED
               ? bb_text_add(table, "%td steps, released every %g ms", m->count, config->period_ms)
               : bb_text_add(table, "%td steps, released back to back", m->count));
    BB_TRY(config->ahead == 0
               ? bb_text_add(table, ", by the host's clock")
               : bb_text_add(table, ", by the device's clock, queued %td ahead", config->ahead));
    BB_TRY(bb_text_add(table, ", %.3f s%s\n", m->wall_seconds,
                       m->interrupted ? "; ended by an interrupt" : ""));
done:
    return status;
}

static bb_status print_latencies(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_latency *all = &s->kind[0].latency;
    BB_TRY(bb_text_add(table, "\n"));
    for (int k = -1; k < KINDS; ++k) {
        if (k < 0 || s->kind[k].latency.count > 0.0) {
            BB_TRY(k < 0 ? bb_realtime_report_print(NULL, NULL, table)
                         : bb_realtime_report_print(s->kind[k].name, &s->kind[k].latency, table));
            BB_TRY(bb_text_add(table, "\n"));
        }
    }
    BB_TRY(bb_realtime_report_print_misses(1e3 * s->config->deadline_ms, all, table));
done:
    return status;
}

// Values in us after a gap, "-" where a stage is not there; width 0: as wide as they are.
static bb_status print_stage(double seconds, int width, bb_text *table)
{
    return isnan(seconds) ? bb_text_add(table, " %*s", width, "-")
                          : bb_text_add(table, " %*.2f", width, 1e6 * seconds);
}

// "light", or "light 1" where there are several GPUs.
static bb_status print_stage_row(const summary *s, int kind, int gpu, bb_text *table)
{
    bb_status status = BB_OK;
    char number[16] = "";
    char name[32];
    if (s->loop->gpus > 1) {
        (void)snprintf(number, sizeof number, " %d", gpu);
    }
    (void)snprintf(name, sizeof name, "%s%s", s->kind[kind].name, number);
    BB_TRY(bb_text_add(table, "%-7s", name));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        const int width = (int)strlen(stages[stage]) + 1;
        BB_TRY(print_stage(s->kind[kind].stages[gpu][stage], width, table));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

static bb_status print_stages(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n%-7s", "stage"));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        BB_TRY(bb_text_add(table, "  %s", stages[stage]));
    }
    BB_TRY(bb_text_add(table, "  (median us%s)\n", s->loop->gpus > 1 ? ", by GPU" : ""));
    for (int k = 1; k < KINDS; ++k) {
        for (int g = 0; s->kind[k].latency.count > 0.0 && g < s->loop->gpus; ++g) {
            BB_TRY(print_stage_row(s, k, g, table));
        }
    }
done:
    return status;
}

static bb_status print_worst(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n"));
    BB_TRY(print_record(&print_of_worst, NULL, table));
    BB_TRY(bb_text_add(table, "  stages [us], as above\n"));
    for (bb_index i = 0; i < s->worst_count; ++i) {
        BB_TRY(print_record(&print_of_worst, &s->worst[i], table));
        for (int g = 0; g < s->loop->gpus; ++g) {
            BB_TRY(bb_text_add(table, "%s", g == 0 ? " " : " |"));
            for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
                BB_TRY(print_stage(s->worst[i].stages[g][stage], 0, table));
            }
        }
        BB_TRY(bb_text_add(table, "\n"));
    }
done:
    return status;
}

static bb_status print_streaming(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    if (!s->loop->streamed) {
        return BB_OK;
    }
    BB_TRY(bb_text_add(table,
                       "matrices cross field by field: %.1f MB a field, 1 / %.2f of fp32; %.0f of "
                       "%.0f fields waited for them",
                       1e-6 * s->loop->field_bytes, s->measured->field.ratio, s->fields_waited,
                       s->fields_begun));
    BB_TRY(s->fields_waited == 0.0
               ? bb_text_add(table, "\n")
               : bb_text_add(table, ", at most %.3f ms\n", 1e3 * s->longest_wait));
    BB_TRY(bb_text_add(table, "\n"));
    for (int row = -1; row < SCHEDULES; ++row) {
        BB_TRY(print_record(&print_of_schedule, row < 0 ? NULL : &s->schedule[row], table));
        BB_TRY(bb_text_add(table, "\n"));
    }
done:
    return status;
}

static bb_status print_host(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = s->measured;
    BB_TRY(bb_realtime_report_print_host(&m->host, table));
    for (int g = 0; g < s->loop->gpus; ++g) {
        BB_TRY(
            bb_text_add(table, "device %d: %s, %s\n", g, m->device[g].name, m->device[g].driver));
    }
    BB_TRY(bb_text_add(table, "clocks sm, memory, and their most: %s\n", m->host.after.clocks));
done:
    return status;
}

static bb_status print(const summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = s->measured;
    BB_TRY(print_head(s, table));
    BB_TRY(print_latencies(s, table));
    if (s->loop->study->realtime.ahead > 0 && m->least_queued >= 0) {
        BB_TRY(bb_text_add(table,
                           "the device never had fewer than %td of %td steps to go on with\n",
                           m->least_queued, s->loop->study->realtime.ahead));
    }
    BB_TRY(print_stages(s, table));
    BB_TRY(print_worst(s, table));
    BB_TRY(bb_text_add(table,
                       "\na field, %td steps back to back, median of %d: %.3f ms, each step waited "
                       "for; %.3f ms queued at once\n",
                       s->loop->steps, (int)BB_FIELD_ROUNDS, 1e3 * m->field.each,
                       1e3 * m->field.queued));
    BB_TRY(print_streaming(s, table));
    BB_TRY(print_host(s, table));
done:
    return status;
}

bb_status bb_realtime_measurement_report(const bb_wafer_loop *loop,
                                         const bb_realtime_measurement *measured,
                                         bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    summary figures;
    BB_TRY(sum_up(loop, measured, &figures));
    BB_TRY(print(&figures, table));
    BB_TRY(publish(&figures, results));
    BB_TRY(note_run(&figures, results));
    BB_TRY(bb_realtime_report_note_devices(loop->gpus, measured->device, results));
    BB_TRY(bb_realtime_report_note_host(&measured->host, results));
done:
    return status;
}

const bb_part bb_wafer_realtime_part = {
    .name = "latencies",
    .outputs = BB_OUTPUTS(&axis_outputs, &bb_realtime_report_kinds, &kind_outputs, &figure_outputs,
                          &bb_realtime_report_latencies, &worst_outputs, &schedule_outputs,
                          &stream_outputs),
};
