// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/step_schedule.h"

#include "core/clock.h"
#include "sim/realtime/realtime_thread.h"

#include <assert.h>
#include <math.h>

static_assert((int)BB_STEP_STAGES <= (int)BB_STEP_PARTS, "a record has room for all stages");
static_assert((int)BB_LOOP_AHEAD_MOST < (int)BB_LOOP_KEPT, "a step is noted while it is kept");

static const int64_t lead_ns = 50000000; // before the first release: a queue is filled in it

// By the device it looks so often.
static const int64_t look_ns = 50000;

static int64_t period_of(const bb_realtime_config *config)
{
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    return fixed ? (int64_t)llrint(1e6 * config->period_ms) : 0;
}

bool bb_step_schedule_never_sleeps(const bb_realtime_config *config)
{
    return config->ahead == 0 && bb_realtime_thread_never_sleeps(period_of(config));
}

bb_status bb_step_schedule_start(bb_wafer_loop *loop, const bool *has_products,
                                 const bb_realtime_config *config, bb_step_schedule *out)
{
    bb_status status = BB_OK;
    *out = (bb_step_schedule){.loop = loop,
                              .has_products = has_products,
                              .period_ns = period_of(config),
                              .ahead = config->ahead,
                              .least = -1,
                              .unmeasured = config->warm_up_steps};
    for (int g = 0; g < loop->gpus && out->ahead > 0; ++g) {
        uint64_t now = 0;
        BB_TRY(bb_control_loop_clock(loop->parts[g].loop, &now));
        out->start[g] = (int64_t)now + lead_ns;
    }
    out->first_ns = bb_clock_ns() + lead_ns;
done:
    return status;
}

// Where a step is in the round.
static bb_index period_at(const bb_step_schedule *schedule, bb_index number)
{
    return number / schedule->loop->steps % schedule->loop->period_count;
}

static bool begins_period(const bb_step_schedule *schedule, bb_index number)
{
    return number % schedule->loop->steps == 0;
}

static bb_status begin_period(const bb_step_schedule *schedule, bb_index period,
                              double waited[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    if (period == 0) {
        BB_TRY(bb_wafer_loop_reset(schedule->loop));
    }
    BB_TRY(bb_wafer_loop_await(schedule->loop, period, waited));
    BB_TRY(bb_wafer_loop_begin(schedule->loop, period));
done:
    return status;
}

static void release_by_host(bb_step_schedule *schedule)
{
    if (schedule->period_ns > 0) {
        schedule->release_ns = schedule->first_ns + schedule->queued * schedule->period_ns;
        bb_realtime_thread_await(schedule->release_ns);
    } else {
        schedule->release_ns = bb_clock_ns();
    }
}

static bb_status hold_on_devices(const bb_step_schedule *schedule)
{
    bb_status status = BB_OK;
    for (int g = 0; g < schedule->loop->gpus && schedule->period_ns > 0; ++g) {
        const int64_t release = schedule->start[g] + schedule->queued * schedule->period_ns;
        BB_TRY(bb_control_loop_hold(schedule->loop->parts[g].loop, (uint64_t)release));
    }
done:
    return status;
}

// What the devices have to go on with when the next step is queued, since the first measured one.
static void note_queue(bb_step_schedule *schedule)
{
    for (int g = 0; g < schedule->loop->gpus && schedule->queued > schedule->ahead &&
                    schedule->seen > schedule->unmeasured;
         ++g) {
        const bb_index rest = bb_control_loop_left(schedule->loop->parts[g].loop);
        if (schedule->least < 0 || rest < schedule->least) {
            schedule->least = rest;
        }
    }
}

bb_status bb_step_schedule_queue(bb_step_schedule *schedule)
{
    bb_status status = BB_OK;
    double *waited = schedule->waited[schedule->queued % BB_LOOP_KEPT];
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        waited[g] = NAN;
    }
    if (schedule->ahead == 0) {
        release_by_host(schedule);
    }
    if (begins_period(schedule, schedule->queued)) {
        BB_TRY(begin_period(schedule, period_at(schedule, schedule->queued), waited));
    }
    if (schedule->ahead > 0) {
        BB_TRY(hold_on_devices(schedule));
        note_queue(schedule);
    }
    BB_TRY(bb_wafer_loop_step(schedule->loop));
    schedule->queued += 1;
done:
    return status;
}

static double between(uint64_t start, uint64_t target)
{
    return start == 0 || target == 0 ? NAN : 1e-9 * (double)(int64_t)(target - start);
}

static void note_stages(const bb_step_schedule *schedule, const bb_loop_stamps *stamps,
                        double waited, bb_step_record *record)
{
    const uint64_t *ns = stamps->ns;
    const uint64_t after_input = record->kind == (int)BB_STEP_LIGHT  ? ns[BB_LOOP_READING]
                                 : record->kind == (int)BB_STEP_HEAT ? ns[BB_LOOP_END]
                                                                     : 0;
    const uint64_t after_state =
        record->kind == (int)BB_STEP_DARK ? ns[BB_LOOP_END] : ns[BB_LOOP_INPUT];
    // Of steps queued ahead, the queue hides what the host waits for.
    const double unhidden = isnan(waited) || schedule->ahead > 0 ? 0.0 : waited;
    record->stage[BB_STEP_STATE] = between(ns[BB_LOOP_STATE], after_state);
    record->stage[BB_STEP_INPUT] = between(ns[BB_LOOP_INPUT], after_input);
    record->stage[BB_STEP_PRODUCTS] = between(ns[BB_LOOP_READING], ns[BB_LOOP_OUTPUT]);
    record->stage[BB_STEP_OUTPUTS] = between(ns[BB_LOOP_OUTPUT], ns[BB_LOOP_END]);
    record->stage[BB_STEP_MATRICES] = waited;
    record->stage[BB_STEP_HOST] =
        record->latency - between(ns[BB_LOOP_STATE], ns[BB_LOOP_END]) - unhidden;
}

// Release and end of a step on device g.
typedef struct span {
    int64_t start, end;
} span;

static span span_on_device(bb_step_schedule *schedule, int g, const bb_loop_stamps *stamps)
{
    const int64_t end = (int64_t)stamps->ns[BB_LOOP_END];
    const int64_t fixed = schedule->start[g] + schedule->seen * schedule->period_ns;
    const int64_t free =
        schedule->seen > 0 ? schedule->ended[g] : (int64_t)stamps->ns[BB_LOOP_STATE];
    schedule->ended[g] = end;
    return (span){schedule->period_ns > 0 ? fixed : free, end};
}

// Of all devices: from the release of the first to the end that took longest.
static span span_of(bb_step_schedule *schedule, const bb_loop_stamps stamps[BB_LOOP_GPUS])
{
    span all = {schedule->release_ns, bb_clock_ns()};
    for (int g = 0; g < schedule->loop->gpus && schedule->ahead > 0; ++g) {
        const span one = span_on_device(schedule, g, &stamps[g]);
        if (g == 0) {
            all = one;
        } else if (one.end - one.start > all.end - all.start) {
            all.end = all.start + (one.end - one.start);
        }
    }
    return all;
}

static bb_step_record record_of(const bb_step_schedule *schedule, span all)
{
    const bb_index period = period_at(schedule, schedule->seen);
    const bb_index step = schedule->seen % schedule->loop->steps;
    const bool light = step < schedule->loop->problem->scan->light_steps;
    return (bb_step_record){
        .latency = 1e-9 * (double)(all.end - all.start),
        .release = 1e-9 * (double)(all.start - schedule->zero_ns),
        .exposure = (int32_t)(schedule->loop->first + period),
        .step = (int32_t)step,
        .kind = !light                           ? (int)BB_STEP_DARK
                : schedule->has_products[period] ? (int)BB_STEP_LIGHT
                                                 : (int)BB_STEP_HEAT,
    };
}

bb_status bb_step_schedule_await(bb_step_schedule *schedule,
                                 bb_step_record *const step_record[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    const int gpus = schedule->loop->gpus;
    const bb_index rest = schedule->queued - 1 - schedule->seen;
    bb_loop_stamps stamps[BB_LOOP_GPUS];
    for (int g = 0; g < gpus; ++g) {
        BB_TRY(bb_control_loop_await(schedule->loop->parts[g].loop, rest,
                                     schedule->ahead > 0 ? look_ns : 0));
    }
    for (int g = 0; g < gpus; ++g) {
        stamps[g] = bb_control_loop_stamps(schedule->loop->parts[g].loop, rest);
    }
    const span all = span_of(schedule, stamps);
    if (schedule->seen == schedule->unmeasured) {
        schedule->zero_ns = all.start;
    }
    const bb_step_record record = record_of(schedule, all);
    for (int g = 0; g < gpus; ++g) {
        *step_record[g] = record;
        note_stages(schedule, &stamps[g], schedule->waited[schedule->seen % BB_LOOP_KEPT][g],
                    step_record[g]);
    }
    schedule->seen += 1;
done:
    return status;
}
