// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_table.h"

#include <math.h>
#include <string.h>

enum { KINDS = BB_REALTIME_KINDS, SCHEDULES = BB_REALTIME_SCHEDULES };

const int bb_realtime_kinds[KINDS] = {BB_STEP_ALL, BB_STEP_LIGHT, BB_STEP_HEAT, BB_STEP_DARK};
const char *const bb_realtime_kind_names[KINDS] = {"all", "light", "heat", "dark"};
const char *const bb_realtime_schedules[SCHEDULES] = {"predicted for fp32", "predicted",
                                                      "measured"};

// Latencies are those of any GPU, stages are each one's.
static bb_status sum_up_kind(int k, bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = out->measured;
    for (int g = out->loop->gpus - 1; g >= 0; --g) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records[g], bb_realtime_kinds[k],
                                    1e-3 * out->config->deadline_ms, &out->kind[k]));
        memcpy(out->stage_median[k][g], out->kind[k].stage_median, sizeof out->stage_median[k][g]);
    }
done:
    return status;
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
    *out = (bb_realtime_summary){
        .loop = loop, .measured = measured, .config = &loop->study->realtime, .longest_wait = NAN};
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured step");
    for (int k = 0; k < KINDS; ++k) {
        BB_TRY(sum_up_kind(k, out));
    }
    out->worst_count =
        bb_latency_worst(measured->count, measured->records[0], BB_REALTIME_WORST, out->worst);
    sum_up_waits(out);
done:
    return status;
}

// One number of a row: what it is in the file, and how it stands in the printed table.
typedef struct column {
    const char *path, *unit, *long_name; // without a path it is in the printed table alone
    double value;
    const char *heading; // without one it is in the file alone
    int width, digits;   // printed; a width below 0: to the left
    const char *text;    // printed in place of the number
    enum { MEASURED, PLANNED, AXIS } role;
} column;

enum { COLUMNS = 16, ROWS = BB_REALTIME_WORST };

// Rows of such numbers: datasets over an axis, and a table.
struct bb_realtime_table {
    const char *axis; // "" of single numbers
    int gap;          // printed between columns
    double scale;     // of the numbers that are printed
    bb_index (*list)(const bb_realtime_summary *s, bb_index row, column out[COLUMNS]);
};

#define FILED(file_path, file_unit, meaning, number)                                               \
    .path = (file_path), .unit = (file_unit), .long_name = (meaning), .value = (number)
#define SHOWN(title, columns_wide, after_point)                                                    \
    .heading = (title), .width = (columns_wide), .digits = (after_point)
#define LISTED(columns, out) (memcpy(out, columns, sizeof(columns)), ENTRIES(columns))
#define ENTRIES(columns)     (bb_index)(sizeof(columns) / sizeof *(columns))

// clang-format off
static bb_index list_kind(const bb_realtime_summary *s, bb_index row, column out[COLUMNS])
{
    const bb_latency_summary *latency = &s->kind[row];
    const column columns[] = {
        {.heading = "steps", .width = -7, .text = bb_realtime_kind_names[row]},
        {FILED("results/steps", "1", "steps that were measured",
               (double)latency->count), SHOWN("count", 9, 0)},
        {FILED("results/latency_mean_us", "us", "mean latency", 1e6 * latency->mean),
         SHOWN("mean", 9, 2)},
        {FILED("results/latency_p50_us", "us", "median latency", 1e6 * latency->p50),
         SHOWN("p50", 9, 2)},
        {FILED("results/latency_p99_us", "us", "latency that 1 step in 100 passes",
               1e6 * latency->p99), SHOWN("p99", 9, 2)},
        {FILED("results/latency_p99_9_us", "us", "latency that 1 step in 1000 passes",
               1e6 * latency->p999), SHOWN("p99.9", 9, 2)},
        {FILED("results/latency_p99_99_us", "us", "latency that 1 step in 10000 passes",
               1e6 * latency->p9999), SHOWN("p99.99", 9, 2)},
        {FILED("results/latency_max_us", "us", "greatest latency",
               1e6 * latency->max), SHOWN("max", 9, 2)},
        {FILED("results/latency_max_over_p50", "1", "greatest latency over the median",
               latency->max_over_median), SHOWN("max/p50", 9, 2)},
        {FILED("results/misses", "1", "latencies over the deadline",
               (double)latency->misses), SHOWN("misses", 8, 0)},
        {FILED("results/miss_rate", "1", "misses over steps", latency->miss_rate)},
        {FILED("results/miss_rate_bound", "1", "upper bound on the rate of misses, 95 %",
               latency->miss_bound)},
    };
    _Static_assert(ENTRIES(columns) <= COLUMNS, "more columns than room");
    return LISTED(columns, out);
}

static bb_index list_total(const bb_realtime_summary *s, bb_index row, column out[COLUMNS])
{
    const bb_realtime_config *config = s->config;
    const bb_realtime_measurement *m = s->measured;
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    const column columns[] = {
        {FILED("results/deadline_us", "us", "deadline of a step",
               1e3 * config->deadline_ms), .role = PLANNED},
        {FILED("results/ahead", "1", "steps queued before their release; 0: the host releases each",
               (double)config->ahead), .role = PLANNED},
        {FILED("results/least_queued", "1",
               "fewest steps that the device still had when the host queued another",
               m->least_queued < 0 ? NAN : (double)m->least_queued)},
        {FILED("results/period_us", "us", "between fixed releases",
               fixed ? 1e3 * config->period_ms : NAN), .role = PLANNED},
        {FILED("results/field_steps", "1", "steps of a field",
               (double)s->loop->steps), .role = PLANNED},
        {FILED("results/operator_bytes", "byte", "matrices on the devices",
               s->loop->device_bytes), .role = PLANNED},
        {FILED("results/wall_time_s", "s", "from the first measured release to the last step's end",
               m->wall_seconds)},
        {FILED("results/encode_time_s", "s", "to make and code the rows",
               s->loop->coding.seconds)},
        {FILED("results/field_time_s", "s", "median time of a field's steps, each waited for",
               m->field.each)},
        {FILED("results/field_queued_time_s", "s", "median time of a field's steps, queued at once",
               m->field.queued)},
    };
    (void)row;
    _Static_assert(ENTRIES(columns) <= COLUMNS, "more columns than room");
    return LISTED(columns, out);
}

static bb_index list_worst(const bb_realtime_summary *s, bb_index row, column out[COLUMNS])
{
    const bb_step_record *record = &s->measured->records[0][s->worst[row]];
    const column columns[] = {
        {FILED("worst/rank", "1", "greatest latency first", (double)(row + 1)),
         SHOWN("worst", 5, 0), .role = AXIS},
        {FILED("worst/release_s", "s", "release since the first measured one",
               record->release), SHOWN("at [s]", -10, 6)},
        {FILED("worst/exposure", "1", "exposure of the step", record->exposure),
         SHOWN("exposure", 8, 0)},
        {FILED("worst/step", "1", "step of the exposure", record->step), SHOWN("step", 4, 0)},
        {.heading = "kind", .width = -5, .text = bb_realtime_kind_names[record->kind + 1]},
        {FILED("worst/latency_us", "us", "latency of the step",
               1e6 * record->latency), SHOWN("latency [us]", 12, 2)},
    };
    _Static_assert(ENTRIES(columns) <= COLUMNS, "more columns than room");
    return LISTED(columns, out);
}

// Table 1 of Bamakhrama et al. beside what was measured.
static bb_index list_schedule(const bb_realtime_summary *s, bb_index row, column out[COLUMNS])
{
    const bb_field_times *field = &s->measured->field;
    const bb_field_schedule *times[SCHEDULES] = {&field->plain, &field->predicted,
                                                 &field->measured};
    const column columns[] = {
        {.heading = "a field [ms]", .width = -22, .text = bb_realtime_schedules[row]},
        {FILED("stream/transfer_s", "s", "matrices of a field to all devices",
               row == 0 ? field->ratio * field->transfer : field->transfer),
         SHOWN("transfer", 10, 3)},
        {FILED("stream/compute_s", "s", "all steps of a field, each waited for",
               field->each), SHOWN("computation", 12, 3)},
        {FILED("stream/period_s", "s", "between fields in a row",
               times[row]->period), SHOWN("period", 10, 3)},
        {FILED("stream/latency_s", "s",
               "from the start of a field's transfer to the end of its last step",
               times[row]->latency), SHOWN("latency", 10, 3)},
    };
    _Static_assert(ENTRIES(columns) <= COLUMNS, "more columns than room");
    return LISTED(columns, out);
}

static bb_index list_stream(const bb_realtime_summary *s, bb_index row, column out[COLUMNS])
{
    const column columns[] = {
        {FILED("stream/field_bytes", "byte", "matrices of a field as they cross",
               s->loop->field_bytes), .role = PLANNED},
        {FILED("stream/ratio", "1", "bytes in fp32 over those",
               s->measured->field.ratio), .role = PLANNED},
        {FILED("stream/fields", "1", "fields that began",
               (double)s->fields_begun)},
        {FILED("stream/fields_waited", "1", "fields whose matrices were not there in time",
               (double)s->fields_waited)},
        {FILED("stream/longest_wait_us", "us", "longest wait for the matrices of a field",
               1e6 * s->longest_wait)},
    };
    (void)row;
    _Static_assert(ENTRIES(columns) <= COLUMNS, "more columns than room");
    return LISTED(columns, out);
}
// clang-format on

const bb_realtime_table bb_realtime_by_kind = {"kind", 0, 1.0, list_kind};
const bb_realtime_table bb_realtime_totals = {"", 0, 1.0, list_total};
const bb_realtime_table bb_realtime_worst = {"rank", 2, 1.0, list_worst};
const bb_realtime_table bb_realtime_by_schedule = {"schedule", 0, 1e3, list_schedule};
const bb_realtime_table bb_realtime_stream = {"", 0, 1.0, list_stream};

bb_status bb_realtime_table_publish(const bb_realtime_table *table,
                                    const bb_realtime_summary *summary, bb_index rows,
                                    bb_results *results)
{
    bb_status status = BB_OK;
    column columns[COLUMNS];
    double values[COLUMNS][ROWS];
    bb_index count = 0;
    for (bb_index row = 0; row < rows; ++row) {
        count = table->list(summary, row, columns);
        for (bb_index c = 0; c < count; ++c) {
            values[c][row] = columns[c].value;
        }
    }
    for (bb_index c = 0; c < count; ++c) {
        const column *entry = &columns[c];
        if (entry->path == NULL) {
            continue;
        }
        if (entry->role == AXIS) {
            BB_TRY(bb_results_axis(results, entry->path, entry->unit, entry->long_name, rows,
                                   values[c]));
        } else if (entry->role == PLANNED) {
            BB_TRY(bb_results_values(results, entry->path, entry->unit, entry->long_name,
                                     table->axis, values[c]));
        } else {
            BB_TRY(bb_results_measured(results, entry->path, entry->unit, entry->long_name,
                                       table->axis, values[c]));
        }
    }
done:
    return status;
}

bb_status bb_realtime_table_print(const bb_realtime_table *table,
                                  const bb_realtime_summary *summary, bb_index row, bb_text *out)
{
    bb_status status = BB_OK;
    column columns[COLUMNS];
    const bb_index count = table->list(summary, row < 0 ? 0 : row, columns);
    for (bb_index c = 0; c < count; ++c) {
        const column *entry = &columns[c];
        const char *text = row < 0 ? entry->heading : entry->text;
        if (entry->heading == NULL) {
            continue;
        }
        BB_TRY(bb_text_add(out, "%*s", c == 0 ? 0 : table->gap, ""));
        BB_TRY(text != NULL ? bb_text_add(out, "%*s", entry->width, text)
                            : bb_text_add(out, "%*.*f", entry->width, entry->digits,
                                          table->scale * entry->value));
    }
done:
    return status;
}
