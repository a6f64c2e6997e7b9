// SPDX-License-Identifier: Apache-2.0
#include "sim/realtime/latency.h"

#include "core/memory.h"
#include "sim/pipelines/failure_bound.h"

#include <math.h>
#include <stdlib.h>

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

static void sum_up(bb_index count, double *values, double deadline, bb_latency_summary *out)
{
    double sum = 0.0;
    bb_index misses = 0;
    for (bb_index i = 0; i < count; ++i) {
        sum += values[i];
        misses += values[i] > deadline;
    }
    out->count = (double)count;
    out->misses = (double)misses;
    qsort(values, (size_t)count, sizeof *values, ascending);
    out->mean = count == 0 ? NAN : sum / (double)count;
    out->p50 = quantile(count, values, 0.5);
    out->p99 = quantile(count, values, 0.99);
    out->p999 = quantile(count, values, 0.999);
    out->p9999 = quantile(count, values, 0.9999);
    out->max = quantile(count, values, 1.0);
    out->max_over_median = out->max / out->p50;
    out->miss_rate = count == 0 ? NAN : out->misses / out->count;
    out->miss_bound = bb_latency_miss_bound(misses, count);
}

bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                               double deadline, bb_latency_summary *out)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index found = 0;
    *out = (bb_latency_summary){0};
    BB_TRY(BB_ALLOCATE(count + 1, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[found] = records[i].latency;
        found += is_of(&records[i], kind);
    }
    sum_up(found, values, deadline, out);
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
