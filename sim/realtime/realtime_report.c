// SPDX-License-Identifier: Apache-2.0
#include "sim/realtime/realtime_report.h"

#include "core/memory.h"
#include "sim/pipelines/failure_bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Nearest rank of sorted values.
static double quantile(bb_index count, const double *sorted, double part)
{
    const bb_index rank = (bb_index)ceil(part * (double)count);
    return count == 0 ? NAN : sorted[rank < 1 ? 0 : rank - 1];
}

static bool is_of(const bb_step_record *record, int kind)
{
    return kind == (int)BB_STEP_ALL || record->kind == kind;
}

double bb_latency_miss_bound(bb_index misses, bb_index count)
{
    if (count == 0) {
        return NAN;
    }
    if (misses == 0) {
        return fmin(3.0 / (double)count, 1.0);
    }
    return bb_failure_bound(misses, count);
}

void bb_latency_of(bb_index count, double *latencies, double deadline, bb_latency *out)
{
    double sum = 0.0;
    bb_index misses = 0;
    for (bb_index i = 0; i < count; ++i) {
        sum += latencies[i];
        misses += latencies[i] > deadline;
    }
    out->count = (double)count;
    out->misses = (double)misses;
    qsort(latencies, (size_t)count, sizeof *latencies, ascending);
    out->mean = count == 0 ? NAN : sum / (double)count;
    out->p50 = quantile(count, latencies, 0.5);
    out->p99 = quantile(count, latencies, 0.99);
    out->p999 = quantile(count, latencies, 0.999);
    out->p9999 = quantile(count, latencies, 0.9999);
    out->max = quantile(count, latencies, 1.0);
    out->max_over_median = out->max / out->p50;
    out->miss_rate = count == 0 ? NAN : out->misses / out->count;
    out->miss_bound = bb_latency_miss_bound(misses, count);
}

bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                               double deadline, bb_latency *out)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index found = 0;
    *out = (bb_latency){0};
    BB_TRY(BB_ALLOCATE(count + 1, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[found] = records[i].latency;
        found += is_of(&records[i], kind);
    }
    bb_latency_of(found, values, deadline, out);
    for (int stage = 0; stage < BB_STEP_PARTS; ++stage) {
        found = 0;
        for (bb_index i = 0; i < count; ++i) {
            values[found] = records[i].stage[stage];
            found += is_of(&records[i], kind) && !isnan(records[i].stage[stage]);
        }
        qsort(values, (size_t)found, sizeof *values, ascending);
        out->stage_median[stage] = quantile(found, values, 0.5);
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_index bb_latency_worst(bb_index count, const bb_step_record *records, bb_index limit,
                          bb_index *out)
{
    bb_index found = 0;
    for (bb_index i = 0; i < count; ++i) {
        bb_index index = found;
        while (index > 0 && records[out[index - 1]].latency < records[i].latency) {
            --index;
        }
        if (index == limit) {
            continue;
        }
        found += found < limit;
        for (bb_index k = found - 1; k > index; --k) {
            out[k] = out[k - 1];
        }
        out[index] = i;
    }
    return found;
}

void bb_latency_histogram(bb_index count, const bb_step_record *records, int kind, double *out)
{
    for (bb_index bin = 0; bin < BB_LATENCY_BINS; ++bin) {
        out[bin] = 0.0;
    }
    for (bb_index i = 0; i < count; ++i) {
        const double bin = floor(records[i].latency * BB_LATENCY_BINS_PER_SECOND);
        if (is_of(&records[i], kind)) {
            out[(bb_index)fmin(fmax(bin, 0.0), BB_LATENCY_BINS - 1)] += 1.0;
        }
    }
}

bb_status bb_latency_blocks(bb_index count, const bb_step_record *records, bb_index blocks,
                            double *begin, double *median, double *max)
{
    bb_status status = BB_OK;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(count / blocks + 1, &values));
    for (bb_index block = 0; block < blocks; ++block) {
        const bb_index start = block * count / blocks;
        const bb_index length = (block + 1) * count / blocks - start;
        for (bb_index i = 0; i < length; ++i) {
            values[i] = records[start + i].latency;
        }
        qsort(values, (size_t)length, sizeof *values, ascending);
        begin[block] = records[start].release;
        median[block] = quantile(length, values, 0.5);
        max[block] = quantile(length, values, 1.0);
    }
done:
    BB_RELEASE(&values);
    return status;
}

enum { BLOCKS = 1000 };

// Latencies of a run in s.
typedef struct series {
    bb_index bins, blocks;
    double *block;                     // storage of the following arrays
    double *edges;                     // [bins] us
    double *counts;                    // [kinds][bins]
    double *begins, *medians, *maxima; // [blocks] sequences of consecutive steps
} series;

#define OF_KIND(field) BB_MEMBER(bb_latency, field), .measured = true

static const bb_output kind_rows[] = {
    {"steps", "kind", "1", "number of measured steps", OF_KIND(count)},
    {"latency_mean_us", "kind", "us", "mean latency", OF_KIND(mean), .scale = 1e6},
    {"latency_p50_us", "kind", "us", "median latency",
     .note = "nearest rank, as for the following quantiles", OF_KIND(p50), .scale = 1e6},
    {"latency_p99_us", "kind", "us", "latency exceeded by 1 step in 100", OF_KIND(p99),
     .scale = 1e6},
    {"latency_p99_9_us", "kind", "us", "latency exceeded by 1 step in 1000", OF_KIND(p999),
     .scale = 1e6},
    {"latency_p99_99_us", "kind", "us", "latency exceeded by 1 step in 10000", OF_KIND(p9999),
     .scale = 1e6},
    {"latency_max_us", "kind", "us", "largest latency", OF_KIND(max), .scale = 1e6},
    {"latency_max_over_p50", "kind", "1", "largest latency / median latency",
     OF_KIND(max_over_median)},
    {"misses", "kind", "1", "number of latencies above the deadline", OF_KIND(misses)},
    {"miss_rate", "kind", "1", "misses / steps", OF_KIND(miss_rate)},
    {"miss_rate_bound", "kind", "1", "upper bound of the miss rate, 95 % confidence",
     .note = "Clopper and Pearson, one-sided; 3 / steps without a miss", OF_KIND(miss_bound)},
};
const bb_output_table bb_realtime_report_kinds = {"/results, realtime", NULL, "results", "kind",
                                                  BB_OUTPUT_ROWS(kind_rows)};

#define OF_RUN(field) BB_MEMBER(bb_realtime_summary, field)

static const bb_output figure_rows[] = {
    {"deadline_us", "", "us", "deadline of a step", .note = "as configured", OF_RUN(deadline_us)},
    {"period_us", "", "us", "interval of fixed releases", .note = "as configured; NaN back to back",
     OF_RUN(period_us)},
    {"operator_bytes", "", "byte", "matrices on the devices",
     .note = "encoded bytes per frame; for wafer of all scored fields and axes, or of two slots",
     OF_RUN(operator_bytes)},
    {"encode_time_s", "", "s", "time to solve or build the matrices and to encode them",
     OF_RUN(encode_seconds), .measured = true},
    {"wall_time_s", "", "s", "from the first measured release to the end of the last step",
     OF_RUN(wall_seconds), .measured = true},
};
const bb_output_table bb_realtime_report_figures = {"/results, realtime", NULL, "results", NULL,
                                                    BB_OUTPUT_ROWS(figure_rows)};

#define OF_WORST(field) BB_MEMBER(bb_realtime_worst, field), .measured = true

static const bb_output worst_rows[] = {
    {"rank", "rank", "1", "largest latency first", .note = "the ten largest",
     BB_MEMBER(bb_realtime_worst, rank)},
    {"release_s", "rank", "s", "release relative to the first measured one", OF_WORST(release)},
    {"latency_us", "rank", "us", "latency of the step", OF_WORST(latency), .scale = 1e6},
};
const bb_output_table bb_realtime_report_worst = {"/worst, realtime", NULL, "worst", "rank",
                                                  BB_OUTPUT_ROWS(worst_rows)};

static const bb_output latency_rows[] = {
    {"bin_us", "bin_us", "us", "lower edge of a bin; the last one has no upper edge",
     .note = "bins of 1 us, the last from 2 ms", BB_MEMBER(series, edges),
     .count = offsetof(series, bins)},
    {"count", "kind, bin_us", "1", "number of steps by latency", BB_MEMBER(series, counts),
     .measured = true},
    {"block", "block", "1", "sequence of consecutive steps", .note = "up to 1000 sequences",
     .count = offsetof(series, blocks), .indices = true},
    {"block_begin_s", "block", "s", "first release of a sequence, relative to the first of all",
     BB_MEMBER(series, begins), .measured = true},
    {"block_p50_us", "block", "us", "median latency of a sequence", BB_MEMBER(series, medians),
     .scale = 1e6, .measured = true},
    {"block_max_us", "block", "us", "largest latency of a sequence", BB_MEMBER(series, maxima),
     .scale = 1e6, .measured = true},
};
const bb_output_table bb_realtime_report_latencies = {"/latency, realtime", NULL, "latency", NULL,
                                                      BB_OUTPUT_ROWS(latency_rows)};

static bb_status publish_series(const bb_realtime_summary *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = s->measured->count;
    const bb_step_record *records = s->measured->records;
    const bb_index kinds = s->form->kinds;
    const bb_index bins = BB_LATENCY_BINS;
    const bb_index blocks = count < BLOCKS ? count : BLOCKS;
    double *block = NULL;
    BB_TRY(BB_ALLOCATE((1 + kinds) * bins + 3 * blocks, &block));
    double *begins = block + (1 + kinds) * bins;
    const series run = {bins,         blocks, block,           block,
                        block + bins, begins, begins + blocks, begins + 2 * blocks};
    for (int bin = 0; bin < BB_LATENCY_BINS; ++bin) {
        run.edges[bin] = 1e6 * bin / BB_LATENCY_BINS_PER_SECOND;
    }
    for (int k = 0; k < kinds; ++k) {
        bb_latency_histogram(count, records, k - 1, run.counts + k * bins);
    }
    BB_TRY(bb_latency_blocks(count, records, blocks, run.begins, run.medians, run.maxima));
    BB_TRY(bb_output_table_publish(&bb_realtime_report_latencies, &run, NULL, results));
done:
    BB_RELEASE(&block);
    return status;
}

// Latencies are common to all shares, stages are separate.
static bb_status summarise_kind(int k, bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = out->measured;
    bb_realtime_kind *kind = &out->kind[k];
    for (bb_index share = out->shares - 1; share >= 0; --share) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records + share * measured->steps,
                                    k - 1, 1e-6 * out->deadline_us, &kind->latency));
        memcpy(kind->stages + share * out->form->stages, kind->latency.stage_median,
               (size_t)out->form->stages * sizeof *kind->stages);
    }
done:
    return status;
}

static void summarise_worst(bb_realtime_summary *out)
{
    const bb_realtime_measurement *measured = out->measured;
    const bool has_kinds = out->form->kinds > 1;
    bb_index steps[BB_REALTIME_WORST];
    out->worst_count =
        bb_latency_worst(measured->count, measured->records, BB_REALTIME_WORST, steps);
    for (bb_index i = 0; i < out->worst_count; ++i) {
        const bb_step_record *record = &measured->records[steps[i]];
        out->worst[i] =
            (bb_realtime_worst){.rank = (double)(i + 1),
                                .release = record->release,
                                .exposure = record->exposure,
                                .step = record->step,
                                .latency = record->latency,
                                .kind = out->form->kind_names[has_kinds ? record->kind + 1 : 0]};
        for (bb_index share = 0; share < out->shares; ++share) {
            memcpy(out->worst[i].stages + share * out->form->stages,
                   record[share * measured->steps].stage,
                   (size_t)out->form->stages * sizeof *record->stage);
        }
    }
}

bb_status bb_realtime_summary_make(const bb_realtime_form *form,
                                   const bb_realtime_measurement *measured,
                                   const bb_realtime_schedule *schedule, double deadline_ms,
                                   double bytes, double encode_seconds, bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    *out = (bb_realtime_summary){
        .form = form,
        .measured = measured,
        .schedule = *schedule,
        .shares = measured->shares,
        .deadline_us = 1e3 * deadline_ms,
        .period_us = schedule->period_ns > 0 ? 1e-3 * (double)schedule->period_ns : NAN,
        .operator_bytes = bytes,
        .encode_seconds = encode_seconds,
        .wall_seconds = measured->wall_seconds};
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured %s",
               form->step);
    for (int k = 0; k < form->kinds; ++k) {
        BB_TRY(summarise_kind(k, out));
    }
    summarise_worst(out);
done:
    return status;
}

typedef const char *note[2]; // attribute and text

static bb_status note_all(bb_index count, const note *notes, const char *group, bb_results *results)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_results_note(results, group, notes[i][0], notes[i][1]));
    }
done:
    return status;
}

static bb_status note_run(const bb_realtime_summary *s, const char *pipeline, bb_results *results)
{
    char ended[32];
    (void)snprintf(ended, sizeof ended, "after all %ss", s->form->step);
    const note notes[] = {
        {"pipeline", pipeline},
        {"release", s->schedule.period_ns > 0 ? "fixed" : "back_to_back"},
        {"clock", s->schedule.by_device ? "device" : "host"},
        {"ended", s->measured->interrupted ? "by an interrupt" : ended},
    };
    return note_all(sizeof notes / sizeof *notes, notes, "results", results);
}

static bb_status note_host(const bb_realtime_host *host, bb_results *results)
{
    const note notes[] = {
        {"processor", host->before.processor},   {"kernel", host->before.kernel},
        {"hypervisor", host->before.hypervisor}, {"isolated_cores", host->before.isolated},
        {"governor", host->before.governor},     {"load_before", host->before.load},
        {"load_after", host->after.load},        {"core", host->thread.core},
        {"memory", host->thread.memory},         {"policy", host->thread.policy},
        {"device_clocks", host->after.clocks},
    };
    return note_all(sizeof notes / sizeof *notes, notes, "host", results);
}

// Notes the devices, separated by " | ".
static bb_status note_devices(const bb_realtime_measurement *measured, bb_results *results)
{
    bb_status status = BB_OK;
    bb_text names = {0};
    bb_text drivers = {0};
    bb_text kernels = {0};
    for (int d = 0; d < measured->device_count; ++d) {
        const bb_device_report *device = &measured->devices[d];
        const char *apart = d == 0 ? "" : " | ";
        BB_TRY(bb_text_add(&names, "%s%s", apart, device->name));
        BB_TRY(bb_text_add(&drivers, "%s%s", apart, device->driver));
        BB_TRY(bb_text_add(&kernels, "%s%s", apart, device->kernels));
    }
    BB_TRY(bb_results_note(results, "host", "device", bb_text_string(&names)));
    BB_TRY(bb_results_note(results, "host", "device_driver", bb_text_string(&drivers)));
    BB_TRY(bb_results_note(results, "host", "device_kernels", bb_text_string(&kernels)));
done:
    bb_text_release(&names);
    bb_text_release(&kernels);
    bb_text_release(&drivers);
    return status;
}

bb_status bb_realtime_summary_publish(const bb_realtime_summary *summary, const char *pipeline,
                                      bb_results *results)
{
    bb_status status = BB_OK;
    const bb_realtime_form *form = summary->form;
    const bb_output_table *const worst[] = {&bb_realtime_report_worst, form->worst_table};
    BB_TRY(bb_output_table_publish(form->axes, summary, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_realtime_report_kinds, summary->kind,
                                           sizeof *summary->kind, form->kinds, NULL, results));
    BB_TRY(bb_output_table_publish_records(form->kind_table, summary->kind, sizeof *summary->kind,
                                           form->kinds, NULL, results));
    BB_TRY(bb_output_table_publish(&bb_realtime_report_figures, summary, NULL, results));
    BB_TRY(publish_series(summary, results));
    for (int t = 0; t < 2; ++t) {
        BB_TRY(bb_output_table_publish_records(worst[t], summary->worst, sizeof *summary->worst,
                                               summary->worst_count, NULL, results));
    }
    BB_TRY(note_run(summary, pipeline, results));
    BB_TRY(note_devices(summary->measured, results));
    BB_TRY(note_host(&summary->measured->host, results));
done:
    return status;
}

bb_status bb_realtime_summary_print_head(const bb_realtime_summary *summary, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_realtime_schedule *schedule = &summary->schedule;
    BB_TRY(bb_text_add(out, "%td %ss, released ", summary->measured->count, summary->form->step));
    BB_TRY(schedule->period_ns > 0 ? bb_text_add(out, "every %g ms", 1e-3 * summary->period_us)
                                   : bb_text_add(out, "back to back"));
    BB_TRY(schedule->by_device
               ? bb_text_add(out, ", by the device's clock, queued %td ahead", schedule->depth - 1)
               : bb_text_add(out, ", by the host's clock"));
    BB_TRY(bb_text_add(out, ", %.3f s%s\n", summary->wall_seconds,
                       summary->measured->interrupted ? "; ended by an interrupt" : ""));
done:
    return status;
}

static bb_status print_latency(const char *name, const bb_latency *latency, bb_text *out)
{
    return bb_text_add(out, "%-7s%9.0f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %7.0f\n", name,
                       latency->count, 1e6 * latency->mean, 1e6 * latency->p50, 1e6 * latency->p99,
                       1e6 * latency->p999, 1e6 * latency->p9999, 1e6 * latency->max,
                       latency->max_over_median, latency->misses);
}

static bb_status print_misses(double deadline_us, const bb_latency *latency, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "latencies in us; deadline %g us: ", deadline_us));
    BB_TRY(latency->misses == 0.0
               ? bb_text_add(out, "no miss, rate below %.3g at 95 %%\n", latency->miss_bound)
               : bb_text_add(out, "miss rate %.3g, below %.3g at 95 %%\n", latency->miss_rate,
                             latency->miss_bound));
done:
    return status;
}

// Prints a value in us after a gap, "-" for an absent stage; width 0: without padding.
static bb_status print_stage(double seconds, int width, bb_text *out)
{
    return isnan(seconds) ? bb_text_add(out, " %*s", width, "-")
                          : bb_text_add(out, " %*.2f", width, 1e6 * seconds);
}

// Prints a row "light", or "light 1" if there are several shares.
static bb_status print_stage_row(const bb_realtime_summary *s, int kind, bb_index share,
                                 bb_text *out)
{
    bb_status status = BB_OK;
    const bb_realtime_form *form = s->form;
    char number[24] = "";
    char name[48];
    if (s->shares > 1) {
        (void)snprintf(number, sizeof number, " %td", share);
    }
    (void)snprintf(name, sizeof name, "%s%s", form->kind_names[kind], number);
    BB_TRY(bb_text_add(out, "%-7s", name));
    for (int stage = 0; stage < form->stages; ++stage) {
        const int width = (int)strlen(form->stage_names[stage]) + 1;
        BB_TRY(print_stage(s->kind[kind].stages[share * form->stages + stage], width, out));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

// Prints median stage times; the row over all kinds only if there is a single kind.
static bb_status print_stages(const bb_realtime_summary *s, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "\n%-7s", "stage"));
    for (int stage = 0; stage < s->form->stages; ++stage) {
        BB_TRY(bb_text_add(out, "  %s", s->form->stage_names[stage]));
    }
    BB_TRY(bb_text_add(out, "  (median us%s)\n", s->shares > 1 ? ", by GPU" : ""));
    for (int k = s->form->kinds > 1; k < s->form->kinds; ++k) {
        for (bb_index share = 0; s->kind[k].latency.count > 0.0 && share < s->shares; ++share) {
            BB_TRY(print_stage_row(s, k, share, out));
        }
    }
done:
    return status;
}

bb_status bb_realtime_summary_print_latencies(const bb_realtime_summary *summary, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "\n%-7s%9s%9s%9s%9s%9s%9s%9s%9s%8s\n", "steps", "count", "mean", "p50",
                       "p99", "p99.9", "p99.99", "max", "max/p50", "misses"));
    for (int k = 0; k < summary->form->kinds; ++k) {
        const bb_latency *latency = &summary->kind[k].latency;
        BB_TRY(latency->count > 0.0 ? print_latency(summary->form->kind_names[k], latency, out)
                                    : BB_OK);
    }
    BB_TRY(print_misses(summary->deadline_us, &summary->kind[0].latency, out));
    BB_TRY(print_stages(summary, out));
done:
    return status;
}

bb_status bb_realtime_summary_print_worst(const bb_realtime_summary *summary, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_realtime_form *form = summary->form;
    const bool has_kinds = form->kinds > 1;
    BB_TRY(bb_text_add(out, "\nworst  at [s]    %s  %8s%s  latency [us]  stages [us], as above\n",
                       has_kinds ? "  exposure" : "", form->step, has_kinds ? "  kind " : ""));
    for (bb_index i = 0; i < summary->worst_count; ++i) {
        const bb_realtime_worst *worst = &summary->worst[i];
        BB_TRY(bb_text_add(out, "%5.0f  %-10.6f", worst->rank, worst->release));
        BB_TRY(has_kinds ? bb_text_add(out, "  %8.0f  %8.0f  %-5s", worst->exposure, worst->step,
                                       worst->kind)
                         : bb_text_add(out, "  %8.0f", worst->step));
        BB_TRY(bb_text_add(out, "  %12.2f ", 1e6 * worst->latency));
        for (bb_index k = 0; k < summary->shares * form->stages; ++k) {
            BB_TRY(k > 0 && k % form->stages == 0 ? bb_text_add(out, " |") : BB_OK);
            BB_TRY(print_stage(worst->stages[k], 0, out));
        }
        BB_TRY(bb_text_add(out, "\n"));
    }
done:
    return status;
}

bb_status bb_realtime_measurement_print_host(const bb_realtime_measurement *measured, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_realtime_host *host = &measured->host;
    const bb_host_state *state = &host->before;
    BB_TRY(bb_text_add(out,
                       "\nhost: %s; kernel %s; hypervisor: %s; isolated cores: %s; "
                       "governor: %s\n",
                       state->processor, state->kernel, state->hypervisor, state->isolated,
                       state->governor));
    BB_TRY(bb_text_add(out, "load: %s before, %s after\n", state->load, host->after.load));
    BB_TRY(bb_text_add(out, "thread: %s; memory %s; %s\n", host->thread.core, host->thread.memory,
                       host->thread.policy));
    for (int d = 0; d < measured->device_count; ++d) {
        const bb_device_report *device = &measured->devices[d];
        BB_TRY(bb_text_add(out, "device %d: %s%s%s\n", d, device->name,
                           device->driver[0] == '\0' ? "" : ", ", device->driver));
    }
    if (strcmp(host->after.clocks, "unknown") != 0) {
        BB_TRY(bb_text_add(out, "clocks of sm and memory, current and maximum: %s\n",
                           host->after.clocks));
    }
done:
    return status;
}
