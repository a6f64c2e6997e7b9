// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_table.h"

#include "core/memory.h"
#include "sim/fringe/fringe_work.h"

#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

bb_index bb_live_meter_count(const bb_live_meter *meter)
{
    return meter->count < BB_LIVE_LATENCIES ? meter->count : BB_LIVE_LATENCIES;
}

bb_status bb_live_meter_add(bb_live_meter *meter, double seconds)
{
    bb_status status = BB_OK;
    double *grown = NULL;
    if (meter->count == meter->room && meter->room < BB_LIVE_LATENCIES) {
        const bb_index room = meter->room == 0 ? FIRST_ROOM : 2 * meter->room;
        BB_TRY(BB_ALLOCATE(room, &grown));
        if (meter->count > 0) {
            memcpy(grown, meter->latencies, (size_t)meter->count * sizeof *grown);
        }
        BB_RELEASE(&meter->latencies);
        meter->latencies = grown;
        meter->room = room;
    }
    meter->latencies[meter->count++ % BB_LIVE_LATENCIES] = seconds;
    meter->max = fmax(meter->max, seconds);
done:
    return status;
}

void bb_live_meter_release(bb_live_meter *meter)
{
    BB_RELEASE(&meter->latencies);
    *meter = (bb_live_meter){0};
}

// Latency statistics of the last `count` phases.
static bb_status summarise(const bb_live_meter *meter, bb_index count, bb_latency *out)
{
    bb_status status = BB_OK;
    double *latencies = NULL;
    BB_TRY(BB_ALLOCATE(count + 1, &latencies));
    for (bb_index i = 0; i < count; ++i) {
        latencies[i] = meter->latencies[(meter->count - count + i) % BB_LIVE_LATENCIES];
    }
    bb_latency_of(count, latencies, INFINITY, out);
done:
    BB_RELEASE(&latencies);
    return status;
}

bb_status bb_live_meter_all(const bb_live_meter *meter, bb_latency *out)
{
    bb_status status = BB_OK;
    BB_TRY(summarise(meter, bb_live_meter_count(meter), out));
    if (meter->count > 0) {
        out->max = meter->max;
    }
done:
    return status;
}

bb_status bb_live_meter_recent(bb_live_meter *meter, bb_index *count, bb_latency *out)
{
    const bb_index fresh = meter->count - meter->since;
    const bb_index kept = bb_live_meter_count(meter);
    *count = fresh < kept ? fresh : kept;
    meter->since = meter->count;
    return summarise(meter, *count, out);
}

#define OF_STREAM(field)   BB_MEMBER(bb_live_summary, field), .measured = true
#define OF_PIPELINE(field) BB_MEMBER(bb_live_answer, field), .measured = true

static const bb_output stream_rows[] = {
    {"source", "", NULL, "source of the frames", .note = "--source",
     BB_MEMBER(bb_live_summary, source)},
    {"frames", "", "1", "number of frames per phase", BB_MEMBER(bb_live_summary, frames)},
    {"overlap", "", "1", "largest number of phases in flight", BB_MEMBER(bb_live_summary, overlap)},
    {"columns", "", "1", "columns of the last frames", OF_STREAM(columns)},
    {"rows", "", "1", "rows of the last frames", OF_STREAM(rows)},
    {"bits", "", "1", "bits of the camera of the last frames", OF_STREAM(bits)},
    {"phases", "", "1", "number of unwrapped phases", OF_STREAM(phases)},
    {"dropped", "", "1", "phases whose frames were unusable or replaced by newer ones",
     OF_STREAM(dropped)},
    {"stalls", "", "1", "number of gaps of a second or more without frames", OF_STREAM(stalls)},
    {"sizes", "", "1", "number of changes of the frame size, the first size included",
     OF_STREAM(sizes)},
    {"wall_time_s", "", "s", "time from the first pipelines to the last phase", OF_STREAM(seconds)},
    {"rate_hz", "", "Hz", "phases per second", OF_STREAM(rate_hz)},
};
static const bb_output_table stream_outputs = {
    "/live", "Written by `bitbudget live` instead of the tables in `/results`.", "live", NULL,
    BB_OUTPUT_ROWS(stream_rows)};

static const bb_output pipeline_rows[] = {
    {"stream", "stream", NULL, "pipeline that unwrapped the phases",
     BB_MEMBER(bb_live_answer, name)},
    {"device", "stream", NULL, "device of the pipeline", BB_MEMBER(bb_live_answer, device)},
    {"latency_p50_ms", "stream", "ms", "median latency",
     .note = "from complete frames to the phase in host memory; nearest rank",
     OF_PIPELINE(latency.p50), .scale = 1e3},
    {"latency_p99_ms", "stream", "ms", "99th percentile of the latency", OF_PIPELINE(latency.p99),
     .scale = 1e3},
    {"latency_max_ms", "stream", "ms", "largest latency", OF_PIPELINE(latency.max), .scale = 1e3},
    {"rejected_share", "stream", "1", "fraction of rejected edges in the last phase",
     OF_PIPELINE(rejected_share)},
    {"unsolved", "stream", "1", "phases with an unconverged least-squares solve",
     .note = "the last correction exceeds half a cycle; slow contraction on a mask "
             "is not detected: test the mask with `run`",
     OF_PIPELINE(unsolved)},
    {"scored", "stream", "1", "phases checked against the truth",
     .note = "one per second, source synthetic", OF_PIPELINE(scored)},
    {"wrong_points", "stream", "1", "points on a wrong cycle in these phases",
     OF_PIPELINE(wrong_points)},
};
static const bb_output_table pipeline_outputs = {"/live", NULL, "live", "stream",
                                                 BB_OUTPUT_ROWS(pipeline_rows)};

typedef struct series {
    bb_index count;
    double *latencies; // [streams][count]
} series;

static const bb_output latency_rows[] = {
    {"phase", "phase", "1", "phase, in order of time", .note = "the last 4194304",
     .count = offsetof(series, count), .indices = true},
    {"latency_ms", "stream, phase", "ms", "latency of a phase", BB_MEMBER(series, latencies),
     .scale = 1e3, .measured = true},
};
static const bb_output_table latency_outputs = {"/live", NULL, "live", NULL,
                                                BB_OUTPUT_ROWS(latency_rows)};

static bb_status publish_latencies(const bb_live_summary *summary, bb_results *results)
{
    bb_status status = BB_OK;
    series run = {.count = bb_live_meter_count(&summary->answers[0].meter)};
    BB_TRY(BB_ALLOCATE(summary->count * run.count, &run.latencies));
    for (bb_index i = 0; i < summary->count; ++i) {
        const bb_live_meter *meter = &summary->answers[i].meter;
        for (bb_index k = 0; k < run.count; ++k) {
            run.latencies[i * run.count + k] =
                meter->latencies[(meter->count - run.count + k) % BB_LIVE_LATENCIES];
        }
    }
    BB_TRY(bb_output_table_publish(&latency_outputs, &run, NULL, results));
done:
    BB_RELEASE(&run.latencies);
    return status;
}

static bb_status add_unsolved(const bb_live_answer *answer, bb_text *table)
{
    return answer->unsolved > 0.0
               ? bb_text_add(table, "%s: the least-squares solve of %.0f phases did not converge\n",
                             answer->name, answer->unsolved)
               : BB_OK;
}

static bb_status add_row(const bb_live_answer *answer, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "%-20.20s %-7s %8td %9.2f %9.2f %9.2f", answer->name, answer->device,
                       answer->meter.count, 1e3 * answer->latency.p50, 1e3 * answer->latency.p99,
                       1e3 * answer->latency.max));
    BB_TRY(isnan(answer->rejected_share)
               ? bb_text_add(table, " %9s", "-")
               : bb_text_add(table, " %7.2f %%", 100.0 * answer->rejected_share));
    BB_TRY(answer->scored > 0.0
               ? bb_text_add(table, "  %.0f in %.0f\n", answer->wrong_points, answer->scored)
               : bb_text_add(table, "  -\n"));
done:
    return status;
}

bb_status bb_live_table_publish(bb_live_summary *summary, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "%s: %.0f x %.0f pixels of %.0f bits, %.0f frame%s per phase%s\n",
                       summary->source, summary->columns, summary->rows, summary->bits,
                       summary->frames, summary->frames > 1.0 ? "s" : "",
                       summary->interrupted ? "; interrupted" : ""));
    BB_TRY(bb_text_add(table, "%.0f phases in %.2f s, %.1f per second; %.0f dropped, %.0f stalls",
                       summary->phases, summary->seconds, summary->rate_hz, summary->dropped,
                       summary->stalls));
    BB_TRY(summary->sizes > 1.0 ? bb_text_add(table, ", %.0f sizes\n", summary->sizes)
                                : bb_text_add(table, "\n"));
    BB_TRY(bb_text_add(table, "%-20s %-7s %8s %9s %9s %9s %9s  %s\n", "pipeline", "device",
                       "phases", "median ms", "99 % ms", "max ms", "rejected", "wrong points"));
    for (bb_index i = 0; i < summary->count; ++i) {
        BB_TRY(bb_live_meter_all(&summary->answers[i].meter, &summary->answers[i].latency));
        BB_TRY(add_row(&summary->answers[i], table));
    }
    for (bb_index i = 0; i < summary->count; ++i) {
        BB_TRY(add_unsolved(&summary->answers[i], table));
    }
    BB_TRY(bb_output_table_publish(&stream_outputs, summary, NULL, results));
    BB_TRY(bb_output_table_publish_records(&pipeline_outputs, summary->answers,
                                           sizeof *summary->answers, summary->count, NULL,
                                           results));
    BB_TRY(publish_latencies(summary, results));
done:
    return status;
}

const bb_part bb_live_part = {
    .name = "live",
    .outputs = BB_OUTPUTS(&stream_outputs, &pipeline_outputs, &latency_outputs),
};
