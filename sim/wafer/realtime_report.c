// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime_report.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = BB_STEP_KINDS + 1, WORST = 10, BLOCKS = 1000 };

// In the order of the tables: all first.
static const int kinds[KINDS] = {BB_STEP_ALL, BB_STEP_LIGHT, BB_STEP_HEAT, BB_STEP_DARK};
static const char *const kind_names[KINDS] = {"all", "light", "heat", "dark"};
static const char *const stage_names[BB_STEP_STAGES] = {"state", "input", "reading and products",
                                                        "outputs", "launch and host"};

typedef struct report {
    const bb_wafer_loop *loop;
    const bb_wafer_realtime *measured;
    bb_latency_summary of[KINDS];
    bb_index worst[WORST];
    bb_index worst_count;
    double field_each, field_queued; // s, medians
    bb_results *results;
    bb_text *table;
} report;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double values[BB_REALTIME_FIELDS])
{
    double sorted[BB_REALTIME_FIELDS];
    for (int i = 0; i < BB_REALTIME_FIELDS; ++i) {
        sorted[i] = values[i];
    }
    qsort(sorted, BB_REALTIME_FIELDS, sizeof *sorted, ascending);
    return 0.5 * (sorted[BB_REALTIME_FIELDS / 2 - 1] + sorted[BB_REALTIME_FIELDS / 2]);
}

static bb_status sum_up(report *of)
{
    bb_status status = BB_OK;
    const bb_wafer_realtime *measured = of->measured;
    const double deadline = 1e-3 * of->loop->study->realtime.deadline_ms;
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured step");
    for (int k = 0; k < KINDS; ++k) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records, kinds[k], deadline,
                                    &of->of[k]));
    }
    of->worst_count = bb_latency_worst(measured->count, measured->records, WORST, of->worst);
    of->field_each = median(measured->field_each);
    of->field_queued = median(measured->field_queued);
done:
    return status;
}

static bb_status print_latencies(report *of)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(of->table, "\n%-7s%9s%9s%9s%9s%9s%9s%9s%9s%8s\n", "steps", "count", "mean",
                       "p50", "p99", "p99.9", "p99.99", "max", "max/p50", "misses"));
    for (int k = 0; k < KINDS; ++k) {
        const bb_latency_summary *s = &of->of[k];
        if (s->count > 0) {
            BB_TRY(bb_text_add(of->table, "%-7s%9td%9.2f%9.2f%9.2f%9.2f%9.2f%9.2f%9.2f%8td\n",
                               kind_names[k], s->count, 1e6 * s->mean, 1e6 * s->p50, 1e6 * s->p99,
                               1e6 * s->p999, 1e6 * s->p9999, 1e6 * s->max, s->max_over_median,
                               s->misses));
        }
    }
    const bb_latency_summary *all = &of->of[0];
    BB_TRY(bb_text_add(of->table, "latencies in us; deadline %g us: ",
                       1e3 * of->loop->study->realtime.deadline_ms));
    BB_TRY(all->misses == 0
               ? bb_text_add(of->table, "no miss, rate below %.3g at 95 %%\n", all->miss_bound)
               : bb_text_add(of->table, "miss rate %.3g, below %.3g at 95 %%\n", all->miss_rate,
                             all->miss_bound));
done:
    return status;
}

static bb_status print_stages(report *of)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(of->table, "\n%-7s", "stage"));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        BB_TRY(bb_text_add(of->table, "  %s", stage_names[stage]));
    }
    BB_TRY(bb_text_add(of->table, "  (median us)\n"));
    for (int k = 1; k < KINDS; ++k) {
        if (of->of[k].count == 0) {
            continue;
        }
        BB_TRY(bb_text_add(of->table, "%-7s", kind_names[k]));
        for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
            const int width = (int)strlen(stage_names[stage]) + 2;
            const double value = of->of[k].stage_median[stage];
            BB_TRY(isnan(value) ? bb_text_add(of->table, "%*s", width, "-")
                                : bb_text_add(of->table, "%*.2f", width, 1e6 * value));
        }
        BB_TRY(bb_text_add(of->table, "\n"));
    }
done:
    return status;
}

static bb_status print_worst(report *of)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(of->table, "\nworst  at [s]      exposure  step  kind   latency [us]  "
                                  "stages [us], as above\n"));
    for (bb_index i = 0; i < of->worst_count; ++i) {
        const bb_step_record *record = &of->measured->records[of->worst[i]];
        BB_TRY(bb_text_add(of->table, "%5td  %-10.6f  %8d  %4d  %-5s  %12.2f ", i + 1,
                           record->release, (int)record->exposure, (int)record->step,
                           kind_names[record->kind + 1], 1e6 * record->latency));
        for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
            const double value = record->stage[stage];
            BB_TRY(isnan(value) ? bb_text_add(of->table, " -")
                                : bb_text_add(of->table, " %.2f", 1e6 * value));
        }
        BB_TRY(bb_text_add(of->table, "\n"));
    }
done:
    return status;
}

static bb_status print_host(report *of)
{
    bb_status status = BB_OK;
    const bb_wafer_realtime *m = of->measured;
    const bb_host_facts *host = &m->before;
    BB_TRY(bb_text_add(of->table,
                       "\nhost: %s; kernel %s; hypervisor: %s; isolated cores: %s; "
                       "governor: %s\n",
                       host->processor, host->kernel, host->hypervisor, host->isolated,
                       host->governor));
    BB_TRY(bb_text_add(of->table, "load: %s before, %s after\n", host->load, m->after.load));
    BB_TRY(bb_text_add(of->table, "thread: %s; memory %s; %s\n", m->conduct.core, m->conduct.memory,
                       m->conduct.policy));
    BB_TRY(bb_text_add(of->table, "device: %s, %s; clocks sm, memory, and their most: %s\n",
                       m->device.name, m->device.driver, m->after.clocks));
done:
    return status;
}

static bb_status print(report *of)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &of->loop->study->realtime;
    const bb_wafer_realtime *m = of->measured;
    BB_TRY(bb_text_add(of->table,
                       "pipeline %s, %d axes, %td fields, %.1f MB of matrices on the device\n",
                       of->loop->pipeline->name, of->loop->axes, of->loop->problem->scored_count,
                       1e-6 * of->loop->device_bytes));
    BB_TRY(
        config->release == (int)BB_RELEASE_FIXED
            ? bb_text_add(of->table, "%td steps, released every %g ms", m->count, config->period_ms)
            : bb_text_add(of->table, "%td steps, released back to back", m->count));
    BB_TRY(bb_text_add(of->table, ", %.3f s%s\n", m->wall_seconds,
                       m->interrupted ? "; ended by an interrupt" : ""));
    BB_TRY(print_latencies(of));
    BB_TRY(print_stages(of));
    BB_TRY(print_worst(of));
    BB_TRY(bb_text_add(of->table,
                       "\na field, %td steps back to back, median of %d: %.3f ms, each step waited "
                       "for; %.3f ms queued at once\n",
                       of->loop->steps, BB_REALTIME_FIELDS, 1e3 * of->field_each,
                       1e3 * of->field_queued));
    BB_TRY(print_host(of));
done:
    return status;
}

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
        const bb_latency_summary *s = &of->of[k];
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
    double values[KINDS * BB_STEP_STAGES];
    for (int i = 0; i < KINDS * BB_STEP_STAGES; ++i) {
        values[i] = 1e6 * of->of[i / BB_STEP_STAGES].stage_median[i % BB_STEP_STAGES];
    }
    return bb_results_measured(of->results, "results/stage_p50_us", "us", "median time of a stage",
                               "kind, stage", values);
}

static bb_status publish_totals(report *of)
{
    bb_status status = BB_OK;
    const bb_wafer_realtime *m = of->measured;
    const bb_realtime_config *config = &of->loop->study->realtime;
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    const double period = fixed ? 1e3 * config->period_ms : NAN;
    const double deadline = 1e3 * of->loop->study->realtime.deadline_ms;
    const double steps = (double)of->loop->steps;
    BB_TRY(bb_results_values(of->results, "results/deadline_us", "us", "deadline of a step", "",
                             &deadline));
    BB_TRY(bb_results_values(of->results, "results/period_us", "us", "between fixed releases", "",
                             &period));
    BB_TRY(
        bb_results_values(of->results, "results/field_steps", "1", "steps of a field", "", &steps));
    BB_TRY(bb_results_values(of->results, "results/operator_bytes", "byte",
                             "matrices on the device", "", &of->loop->device_bytes));
    BB_TRY(bb_results_measured(of->results, "results/wall_time_s", "s",
                               "from the first measured release to the last step's end", "",
                               &m->wall_seconds));
    BB_TRY(bb_results_measured(of->results, "results/encode_time_s", "s",
                               "to make and code the rows", "", &of->loop->coding.seconds));
    BB_TRY(bb_results_measured(of->results, "results/field_time_s", "s",
                               "median time of a field's steps, each waited for", "",
                               &of->field_each));
    BB_TRY(bb_results_measured(of->results, "results/field_queued_time_s", "s",
                               "median time of a field's steps, queued at once", "",
                               &of->field_queued));
    BB_TRY(bb_results_note(of->results, "results", "pipeline", of->loop->pipeline->name));
    BB_TRY(bb_results_note(of->results, "results", "release",
                           bb_release_names[of->loop->study->realtime.release]));
    BB_TRY(bb_results_note(of->results, "results", "ended",
                           m->interrupted ? "by an interrupt" : "after all steps"));
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
        bb_latency_histogram(of->measured->count, of->measured->records, kinds[k],
                             counts + k * BB_LATENCY_BINS);
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
    const bb_index count = of->measured->count;
    const bb_index blocks = count < BLOCKS ? count : BLOCKS;
    double *values = NULL; // [4][blocks]
    BB_TRY(BB_ALLOCATE(4 * blocks, &values));
    BB_TRY(bb_latency_blocks(count, of->measured->records, blocks, values, values + blocks,
                             values + 2 * blocks));
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
    const bb_index count = of->worst_count;
    double values[5][WORST];
    double stages[WORST * BB_STEP_STAGES];
    for (bb_index i = 0; i < count; ++i) {
        const bb_step_record *record = &of->measured->records[of->worst[i]];
        values[0][i] = (double)(i + 1);
        values[1][i] = record->release;
        values[2][i] = record->exposure;
        values[3][i] = record->step;
        values[4][i] = 1e6 * record->latency;
        for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
            stages[i * BB_STEP_STAGES + stage] = 1e6 * record->stage[stage];
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
                               "rank, stage", stages));
done:
    return status;
}

static bb_status publish_host(report *of)
{
    const bb_wafer_realtime *m = of->measured;
    const char *const notes[][2] = {
        {"processor",      m->before.processor },
        {"kernel",         m->before.kernel    },
        {"hypervisor",     m->before.hypervisor},
        {"isolated_cores", m->before.isolated  },
        {"governor",       m->before.governor  },
        {"load_before",    m->before.load      },
        {"load_after",     m->after.load       },
        {"core",           m->conduct.core     },
        {"memory",         m->conduct.memory   },
        {"policy",         m->conduct.policy   },
        {"device",         m->device.name      },
        {"device_driver",  m->device.driver    },
        {"device_clocks",  m->after.clocks     },
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        BB_TRY(bb_results_note(of->results, "host", notes[i][0], notes[i][1]));
    }
done:
    return status;
}

bb_status bb_realtime_report(const bb_wafer_loop *loop, const bb_wafer_realtime *measured,
                             bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    report of = {.loop = loop, .measured = measured, .results = results, .table = table};
    BB_TRY(sum_up(&of));
    BB_TRY(print(&of));
    BB_TRY(bb_results_text_axis(results, "kind",
                                "steps: light with products, heat alone, dark, or all", KINDS,
                                kind_names));
    BB_TRY(bb_results_text_axis(results, "stage", "part of a step", BB_STEP_STAGES, stage_names));
    BB_TRY(publish_kinds(&of));
    BB_TRY(publish_stages(&of));
    BB_TRY(publish_totals(&of));
    BB_TRY(publish_histogram(&of));
    BB_TRY(publish_series(&of));
    BB_TRY(publish_worst(&of));
    BB_TRY(publish_host(&of));
done:
    return status;
}
