// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/field_times.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>

enum { LEAD_IN = 3 }; // fields in a row before the first whose period counts

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[BB_FIELD_ROUNDS])
{
    qsort(values, BB_FIELD_ROUNDS, sizeof *values, ascending);
    return 0.5 * (values[BB_FIELD_ROUNDS / 2 - 1] + values[BB_FIELD_ROUNDS / 2]);
}

// The scored period after one, the first after the last; -1: before all.
static bb_index next_scored(const bb_wafer_loop *loop, bb_index period)
{
    do {
        period = (period + 1) % loop->period_count;
    } while (bb_wafer_loop_scored(loop, period) < 0);
    return period;
}

static bb_status time_computation(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    double each[BB_FIELD_ROUNDS];
    double queued[BB_FIELD_ROUNDS];
    const bb_index period = next_scored(loop, -1);
    bb_wafer_loop_keep(loop, true);
    for (int k = 0; k < BB_FIELD_ROUNDS; ++k) {
        BB_TRY(bb_wafer_loop_time(loop, period, true, &each[k]));
        BB_TRY(bb_wafer_loop_time(loop, period, false, &queued[k]));
    }
    out->each = median(each);
    out->queued = median(queued);
done:
    bb_wafer_loop_keep(loop, false);
    return status;
}

static bb_status run_field(bb_wafer_loop *loop, bb_index period)
{
    bb_status status = BB_OK;
    BB_TRY(bb_wafer_loop_begin(loop, period));
    for (bb_index step = 0; step < loop->steps; ++step) {
        BB_TRY(bb_wafer_loop_step(loop));
        BB_TRY(bb_wafer_loop_wait(loop));
    }
done:
    return status;
}

// One field at a time, nothing under way before it: its copy, then its steps.
static bb_status time_alone(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    double transfer[BB_FIELD_ROUNDS];
    double latency[BB_FIELD_ROUNDS];
    double waited[BB_LOOP_GPUS];
    const bb_index period = next_scored(loop, -1);
    bb_wafer_loop_keep(loop, true);
    BB_TRY(bb_wafer_loop_await(loop, period, waited)); // what the last field sent for has come
    for (int k = 0; k < BB_FIELD_ROUNDS; ++k) {
        double begin = bb_clock_seconds();
        BB_TRY(bb_wafer_loop_fetch(loop, period));
        BB_TRY(bb_wafer_loop_await(loop, period, waited));
        transfer[k] = bb_clock_seconds() - begin;
        begin = bb_clock_seconds();
        BB_TRY(bb_wafer_loop_fetch(loop, period));
        BB_TRY(run_field(loop, period));
        latency[k] = bb_clock_seconds() - begin;
    }
    out->transfer = median(transfer);
    out->measured.latency = median(latency);
done:
    bb_wafer_loop_keep(loop, false);
    return status;
}

// Scored fields in a row, the next ones' matrices on their way.
static bb_status time_in_a_row(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    double spent[BB_FIELD_ROUNDS];
    double last = 0.0;
    bb_index period = -1;
    for (int k = -LEAD_IN; k < BB_FIELD_ROUNDS; ++k) {
        period = next_scored(loop, period);
        BB_TRY(run_field(loop, period));
        const double now = bb_clock_seconds();
        if (k >= 0) {
            spent[k] = now - last;
        }
        last = now;
    }
    out->measured.period = median(spent);
done:
    return status;
}

bb_field_times bb_field_times_unknown(void)
{
    const bb_field_schedule none = {NAN, NAN};
    return (bb_field_times){.each = NAN,
                            .queued = NAN,
                            .transfer = NAN,
                            .ratio = NAN,
                            .plain = none,
                            .predicted = none,
                            .measured = none};
}

bb_status bb_field_times_measure(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    *out = bb_field_times_unknown();
    BB_TRY(time_computation(loop, out));
    if (!loop->streamed) {
        goto done;
    }
    BB_TRY(time_alone(loop, out));
    BB_TRY(time_in_a_row(loop, out));
    const double values = (double)loop->axes * (double)loop->problem->slit.field_points *
                          (double)loop->problem->grid->cell_count;
    out->ratio = 4.0 * values / loop->field_bytes;
    const bb_field_stages stages = {
        .transfer = out->transfer * out->ratio, .compute = out->each, .ratio = out->ratio};
    out->plain = bb_field_schedule_plain(&stages);
    out->predicted = bb_field_schedule_compressed(&stages);
done:
    return status;
}
