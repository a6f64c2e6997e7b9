// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_report.h"

#include "core/memory.h"
#include "sim/wafer/realtime/realtime_table.h"

#include <math.h>

enum { KINDS = BB_REALTIME_KINDS, WORST = BB_REALTIME_WORST, BLOCKS = 1000 };

typedef struct report {
    bb_realtime_summary summary;
    bb_results *results;
} report;

// One number a kind of step.
static bb_status publish_kinds(report *of)
{
    static const struct {
        const char *path, *unit, *long_name;
        double factor;
    } entries[] = {
        {"results/steps",                "1",  "steps that were measured",                1.0},
        {"results/latency_mean_us",      "us", "mean latency",                            1e6},
        {"results/latency_p50_us",       "us", "median latency",                          1e6},
        {"results/latency_p99_us",       "us", "latency that 1 step in 100 passes",       1e6},
        {"results/latency_p99_9_us",     "us", "latency that 1 step in 1000 passes",      1e6},
        {"results/latency_p99_99_us",    "us", "latency that 1 step in 10000 passes",     1e6},
        {"results/latency_max_us",       "us", "greatest latency",                        1e6},
        {"results/latency_max_over_p50", "1",  "greatest latency over the median",        1.0},
        {"results/misses",               "1",  "latencies over the deadline",             1.0},
        {"results/miss_rate",            "1",  "misses over steps",                       1.0},
        {"results/miss_rate_bound",      "1",  "upper bound on the rate of misses, 95 %", 1.0},
    };
    enum { ENTRIES = sizeof entries / sizeof *entries };
    bb_status status = BB_OK;
    double values[ENTRIES][KINDS];
    for (int k = 0; k < KINDS; ++k) {
        const bb_latency_summary *s = &of->summary.of[k];
        const double row[ENTRIES] = {
            (double)s->count,  s->mean,      s->p50,       s->p99,
            s->p999,           s->p9999,     s->max,       s->max_over_median,
            (double)s->misses, s->miss_rate, s->miss_bound};
        for (int e = 0; e < ENTRIES; ++e) {
            values[e][k] = entries[e].factor * row[e];
        }
    }
    for (int e = 0; e < ENTRIES; ++e) {
        BB_TRY(bb_results_measured(of->results, entries[e].path, entries[e].unit,
                                   entries[e].long_name, "kind", values[e]));
    }
done:
    return status;
}

static bb_status publish_stages(report *of)
{
    bb_status status = BB_OK;
    double *values = NULL; // [KINDS][gpus][BB_STEP_STAGES]
    const bb_index gpus = of->summary.loop->gpus;
    BB_TRY(BB_ALLOCATE(KINDS * gpus * BB_STEP_STAGES, &values));
    for (bb_index i = 0; i < KINDS * gpus * BB_STEP_STAGES; ++i) {
        const bb_index row = i / BB_STEP_STAGES;
        values[i] = 1e6 * of->summary.stage_median[row / gpus][row % gpus][i % BB_STEP_STAGES];
    }
    BB_TRY(bb_results_measured(of->results, "results/stage_p50_us", "us", "median time of a stage",
                               "kind, gpu, stage", values));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status publish_totals(report *of)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = of->summary.measured;
    const bb_realtime_config *config = &of->summary.loop->study->realtime;
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    const double period = fixed ? 1e3 * config->period_ms : NAN;
    const double deadline = 1e3 * of->summary.loop->study->realtime.deadline_ms;
    const double steps = (double)of->summary.loop->steps;
    BB_TRY(bb_results_values(of->results, "results/deadline_us", "us", "deadline of a step", "",
                             &deadline));
    const double ahead = (double)config->ahead;
    BB_TRY(bb_results_values(of->results, "results/ahead", "1",
                             "steps queued before their release; 0: the host releases each", "",
                             &ahead));
    const double least = m->least_queued < 0 ? NAN : (double)m->least_queued;
    BB_TRY(bb_results_measured(
        of->results, "results/least_queued", "1",
        "fewest steps that the device still had when the host queued another", "", &least));
    BB_TRY(bb_results_values(of->results, "results/period_us", "us", "between fixed releases", "",
                             &period));
    BB_TRY(
        bb_results_values(of->results, "results/field_steps", "1", "steps of a field", "", &steps));
    BB_TRY(bb_results_values(of->results, "results/operator_bytes", "byte",
                             "matrices on the devices", "", &of->summary.loop->device_bytes));
    BB_TRY(bb_results_measured(of->results, "results/wall_time_s", "s",
                               "from the first measured release to the last step's end", "",
                               &m->wall_seconds));
    BB_TRY(bb_results_measured(of->results, "results/encode_time_s", "s",
                               "to make and code the rows", "", &of->summary.loop->coding.seconds));
    BB_TRY(bb_results_measured(of->results, "results/field_time_s", "s",
                               "median time of a field's steps, each waited for", "",
                               &m->field.each));
    BB_TRY(bb_results_measured(of->results, "results/field_queued_time_s", "s",
                               "median time of a field's steps, queued at once", "",
                               &m->field.queued));
    BB_TRY(bb_results_note(of->results, "results", "pipeline", of->summary.loop->pipeline->name));
    BB_TRY(bb_results_note(of->results, "results", "release",
                           bb_release_names[of->summary.loop->study->realtime.release]));
    BB_TRY(bb_results_note(of->results, "results", "clock", config->ahead > 0 ? "device" : "host"));
    BB_TRY(bb_results_note(of->results, "results", "ended",
                           m->interrupted ? "by an interrupt" : "after all steps"));
    BB_TRY(bb_results_note(of->results, "results", "matrices",
                           bb_loop_mode_names[of->summary.loop->study->realtime.matrices]));
done:
    return status;
}

static bb_status publish_histogram(report *of)
{
    bb_status status = BB_OK;
    double *edges = NULL;
    double *counts = NULL; // [KINDS][BB_LATENCY_BINS]
    BB_TRY(BB_ALLOCATE((bb_index)BB_LATENCY_BINS, &edges));
    BB_TRY(BB_ALLOCATE((bb_index)KINDS * BB_LATENCY_BINS, &counts));
    for (int bin = 0; bin < BB_LATENCY_BINS; ++bin) {
        edges[bin] = 1e6 * bin / BB_LATENCY_BINS_PER_SECOND;
    }
    for (int k = 0; k < KINDS; ++k) {
        bb_latency_histogram(of->summary.measured->count, of->summary.measured->records[0],
                             bb_realtime_kinds[k], counts + k * BB_LATENCY_BINS);
    }
    BB_TRY(bb_results_axis(of->results, "latency/bin_us", "us",
                           "lower edge of a bin; the last one has no upper edge", BB_LATENCY_BINS,
                           edges));
    BB_TRY(bb_results_measured(of->results, "latency/count", "1", "steps by latency",
                               "kind, bin_us", counts));
done:
    BB_RELEASE(&edges);
    BB_RELEASE(&counts);
    return status;
}

// Median and maximum of runs of successive steps.
static bb_status publish_series(report *of)
{
    bb_status status = BB_OK;
    const bb_index count = of->summary.measured->count;
    const bb_index blocks = count < BLOCKS ? count : BLOCKS;
    double *values = NULL; // [4][blocks]
    BB_TRY(BB_ALLOCATE(4 * blocks, &values));
    BB_TRY(bb_latency_blocks(count, of->summary.measured->records[0], blocks, values,
                             values + blocks, values + 2 * blocks));
    for (bb_index i = 0; i < blocks; ++i) {
        values[blocks + i] *= 1e6;
        values[2 * blocks + i] *= 1e6;
        values[3 * blocks + i] = (double)i;
    }
    BB_TRY(bb_results_axis(of->results, "latency/block", "1", "run of successive steps", blocks,
                           values + 3 * blocks));
    BB_TRY(bb_results_measured(of->results, "latency/block_begin_s", "s",
                               "first release of a run, since the first of all", "block", values));
    BB_TRY(bb_results_measured(of->results, "latency/block_p50_us", "us", "median latency of a run",
                               "block", values + blocks));
    BB_TRY(bb_results_measured(of->results, "latency/block_max_us", "us",
                               "greatest latency of a run", "block", values + 2 * blocks));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status publish_worst(report *of)
{
    bb_status status = BB_OK;
    const bb_index count = of->summary.worst_count;
    double values[5][WORST];
    const bb_index gpus = of->summary.loop->gpus;
    double stages[WORST * BB_LOOP_GPUS * BB_STEP_STAGES];
    for (bb_index i = 0; i < count; ++i) {
        const bb_step_record *record = &of->summary.measured->records[0][of->summary.worst[i]];
        values[0][i] = (double)(i + 1);
        values[1][i] = record->release;
        values[2][i] = record->exposure;
        values[3][i] = record->step;
        values[4][i] = 1e6 * record->latency;
        for (bb_index k = 0; k < gpus * BB_STEP_STAGES; ++k) {
            record = &of->summary.measured->records[k / BB_STEP_STAGES][of->summary.worst[i]];
            stages[i * gpus * BB_STEP_STAGES + k] = 1e6 * record->stage[k % BB_STEP_STAGES];
        }
    }
    BB_TRY(bb_results_axis(of->results, "worst/rank", "1", "greatest latency first", count,
                           values[0]));
    BB_TRY(bb_results_measured(of->results, "worst/release_s", "s",
                               "release since the first measured one", "rank", values[1]));
    BB_TRY(bb_results_measured(of->results, "worst/exposure", "1", "exposure of the step", "rank",
                               values[2]));
    BB_TRY(bb_results_measured(of->results, "worst/step", "1", "step of the exposure", "rank",
                               values[3]));
    BB_TRY(bb_results_measured(of->results, "worst/latency_us", "us", "latency of the step", "rank",
                               values[4]));
    BB_TRY(bb_results_measured(of->results, "worst/stage_us", "us", "time of a stage of the step",
                               "rank, gpu, stage", stages));
done:
    return status;
}

static bb_status publish_host(report *of)
{
    const bb_realtime_measurement *m = of->summary.measured;
    const char *const notes[][2] = {
        {"processor",      m->before.processor },
        {"kernel",         m->before.kernel    },
        {"hypervisor",     m->before.hypervisor},
        {"isolated_cores", m->before.isolated  },
        {"governor",       m->before.governor  },
        {"load_before",    m->before.load      },
        {"load_after",     m->after.load       },
        {"core",           m->thread.core      },
        {"memory",         m->thread.memory    },
        {"policy",         m->thread.policy    },
        {"device_clocks",  m->after.clocks     },
    };
    bb_status status = BB_OK;
    bb_text names = {0};
    bb_text drivers = {0};
    for (int g = 0; g < of->summary.loop->gpus; ++g) {
        const char *apart = g == 0 ? "" : " | ";
        BB_TRY(bb_text_add(&names, "%s%s", apart, m->device[g].name));
        BB_TRY(bb_text_add(&drivers, "%s%s", apart, m->device[g].driver));
    }
    BB_TRY(bb_results_note(of->results, "host", "device", bb_text_string(&names)));
    BB_TRY(bb_results_note(of->results, "host", "device_driver", bb_text_string(&drivers)));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        BB_TRY(bb_results_note(of->results, "host", notes[i][0], notes[i][1]));
    }
done:
    bb_text_release(&names);
    bb_text_release(&drivers);
    return status;
}

// Table 1 of the seed beside what was measured.
static bb_status publish_streaming(report *of)
{
    static const char *const schedules[] = {"predicted for fp32", "predicted", "measured"};
    enum { SCHEDULES = sizeof schedules / sizeof *schedules };
    bb_status status = BB_OK;
    const bb_field_times *field = &of->summary.measured->field;
    const double begun = (double)of->summary.fields_begun;
    const double waited = (double)of->summary.fields_waited;
    const double longest = 1e6 * of->summary.longest_wait;
    const double transfer[SCHEDULES] = {field->ratio * field->transfer, field->transfer,
                                        field->transfer};
    const double compute[SCHEDULES] = {field->each, field->each, field->each};
    const double period[SCHEDULES] = {field->plain.period, field->predicted.period,
                                      field->measured.period};
    const double latency[SCHEDULES] = {field->plain.latency, field->predicted.latency,
                                       field->measured.latency};
    BB_TRY(bb_results_text_axis(of->results, "stream/schedule",
                                "a field by Table 1 from transfer and computation, or measured",
                                SCHEDULES, schedules));
    BB_TRY(bb_results_measured(of->results, "stream/transfer_s", "s",
                               "matrices of a field to all devices", "schedule", transfer));
    BB_TRY(bb_results_measured(of->results, "stream/compute_s", "s",
                               "all steps of a field, each waited for", "schedule", compute));
    BB_TRY(bb_results_measured(of->results, "stream/period_s", "s", "between fields in a row",
                               "schedule", period));
    BB_TRY(bb_results_measured(of->results, "stream/latency_s", "s",
                               "from the start of a field's transfer to the end of its last step",
                               "schedule", latency));
    BB_TRY(bb_results_values(of->results, "stream/field_bytes", "byte",
                             "matrices of a field as they cross", "",
                             &of->summary.loop->field_bytes));
    BB_TRY(bb_results_values(of->results, "stream/ratio", "1", "bytes in fp32 over those", "",
                             &field->ratio));
    BB_TRY(bb_results_measured(of->results, "stream/fields", "1", "fields that began", "", &begun));
    BB_TRY(bb_results_measured(of->results, "stream/fields_waited", "1",
                               "fields whose matrices were not there in time", "", &waited));
    BB_TRY(bb_results_measured(of->results, "stream/longest_wait_us", "us",
                               "longest wait for the matrices of a field", "", &longest));
done:
    return status;
}

static bb_status publish_axes(report *of)
{
    bb_status status = BB_OK;
    double gpus[BB_LOOP_GPUS];
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        gpus[g] = g;
    }
    BB_TRY(bb_results_text_axis(of->results, "kind",
                                "steps: light with products, heat alone, dark, or all", KINDS,
                                bb_realtime_kind_names));
    BB_TRY(bb_results_axis(of->results, "gpu", "1", "GPU: axes of the response are dealt to them",
                           of->summary.loop->gpus, gpus));
    BB_TRY(bb_results_text_axis(of->results, "stage", "part of a step", BB_STEP_STAGES,
                                bb_realtime_stage_names));
done:
    return status;
}

bb_status bb_realtime_report(const bb_wafer_loop *loop, const bb_realtime_measurement *measured,
                             bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    report of = {.results = results};
    BB_TRY(bb_realtime_summarise(loop, measured, &of.summary));
    BB_TRY(bb_realtime_table(&of.summary, table));
    BB_TRY(publish_axes(&of));
    BB_TRY(publish_kinds(&of));
    BB_TRY(publish_stages(&of));
    BB_TRY(publish_totals(&of));
    BB_TRY(publish_histogram(&of));
    BB_TRY(publish_series(&of));
    BB_TRY(publish_worst(&of));
    BB_TRY(loop->streamed ? publish_streaming(&of) : BB_OK);
    BB_TRY(publish_host(&of));
done:
    return status;
}
