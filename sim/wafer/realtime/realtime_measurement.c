// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_measurement.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/interrupt.h"
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/wafer_experiment.h"

#include <assert.h>
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
    loop->keeps = true;
    for (int k = 0; k < BB_FIELD_ROUNDS; ++k) {
        BB_TRY(bb_wafer_loop_time(loop, period, true, &each[k]));
        BB_TRY(bb_wafer_loop_time(loop, period, false, &queued[k]));
    }
    out->each = median(each);
    out->queued = median(queued);
done:
    loop->keeps = false;
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
    loop->keeps = true;
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
    loop->keeps = false;
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

static bb_field_times unknown_times(void)
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

// Runs scored fields of a loop, whatever its state; it is not at rest afterwards.
static bb_status measure_fields(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    *out = unknown_times();
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

// Make with start_schedule.
typedef struct step_schedule {
    bb_wafer_loop *loop;      // borrowed, as is the next
    const bool *has_products; // [period_count]
    int64_t period_ns;        // between releases; 0: back to back
    bb_index ahead;           // steps queued before their release, below BB_LOOP_KEPT
    bb_index unmeasured;      // steps before the first measured one
    bb_index queued, seen;    // steps
    // by the devices: fewest steps still to be done when another is queued; -1: not known
    bb_index least;
    int64_t first_ns;            // by the host: release of step 0
    int64_t zero_ns;             // release of the first measured step, of device 0 where it holds
    int64_t start[BB_LOOP_GPUS]; // by the devices: release of step 0
    int64_t ended[BB_LOOP_GPUS]; // by the devices: end of the last step that was seen
    int64_t release_ns;          // by the host: of the last step that was queued
    double waited[BB_LOOP_KEPT][BB_LOOP_GPUS]; // s for the matrices of step k mod BB_LOOP_KEPT
} step_schedule;

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

// Whether the thread of the host polls throughout.
static bool never_sleeps(const bb_realtime_config *config)
{
    return config->ahead == 0 && bb_realtime_thread_never_sleeps(period_of(config));
}

// Readies a schedule of a loop that is at rest, whose step 0 is released 50 ms from now.
static bb_status start_schedule(bb_wafer_loop *loop, const bool *has_products,
                                const bb_realtime_config *config, step_schedule *out)
{
    bb_status status = BB_OK;
    *out = (step_schedule){.loop = loop,
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
static bb_index period_at(const step_schedule *schedule, bb_index number)
{
    return number / schedule->loop->steps % schedule->loop->period_count;
}

static bool begins_period(const step_schedule *schedule, bb_index number)
{
    return number % schedule->loop->steps == 0;
}

static bb_status begin_period(const step_schedule *schedule, bb_index period,
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

static void release_by_host(step_schedule *schedule)
{
    if (schedule->period_ns > 0) {
        schedule->release_ns = schedule->first_ns + schedule->queued * schedule->period_ns;
        bb_realtime_thread_await(schedule->release_ns);
    } else {
        schedule->release_ns = bb_clock_ns();
    }
}

static bb_status hold_on_devices(const step_schedule *schedule)
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
static void note_queue(step_schedule *schedule)
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

// Queues the next step, by the host after waiting for its release.
static bb_status queue_step(step_schedule *schedule)
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

static void note_stages(const step_schedule *schedule, const bb_loop_stamps *stamps, double waited,
                        bb_step_record *record)
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

static span span_on_device(step_schedule *schedule, int g, const bb_loop_stamps *stamps)
{
    const int64_t end = (int64_t)stamps->ns[BB_LOOP_END];
    const int64_t fixed = schedule->start[g] + schedule->seen * schedule->period_ns;
    const int64_t free =
        schedule->seen > 0 ? schedule->ended[g] : (int64_t)stamps->ns[BB_LOOP_STATE];
    schedule->ended[g] = end;
    return (span){schedule->period_ns > 0 ? fixed : free, end};
}

// Of all devices: from the release of the first to the end that took longest.
static span span_of(step_schedule *schedule, const bb_loop_stamps stamps[BB_LOOP_GPUS])
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

static bb_step_record record_of(const step_schedule *schedule, span all)
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

// Waits for the first step that was queued and not seen, and notes it for every GPU.
static bb_status await_step(step_schedule *schedule,
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

// Queues steps up to so many ahead, unless interrupted; those that were queued are seen.
static bb_status fill_queue(step_schedule *schedule, bb_index total)
{
    bb_status status = BB_OK;
    while (schedule->queued < total && schedule->queued <= schedule->seen + schedule->ahead &&
           !bb_interrupt_noted()) {
        BB_TRY(queue_step(schedule));
    }
done:
    return status;
}

// Steps that are not measured, then those that are, without a break.
static bb_status run_schedule(step_schedule *schedule, const bb_realtime_config *config,
                              bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    bb_step_record unmeasured[BB_LOOP_GPUS];
    bb_step_record *record[BB_LOOP_GPUS] = {&unmeasured[0], &unmeasured[1], &unmeasured[2]};
    const bb_index before = config->warm_up_steps;
    const bb_index total = before + config->steps;
    int64_t begin = schedule->first_ns;
    BB_TRY(fill_queue(schedule, total));
    while (schedule->seen < schedule->queued) {
        if (schedule->seen == before) {
            begin = schedule->release_ns;
        }
        for (int g = 0; g < schedule->loop->gpus && schedule->seen >= before; ++g) {
            record[g] = &out->records[g][schedule->seen - before];
        }
        BB_TRY(await_step(schedule, record));
        BB_TRY(fill_queue(schedule, total));
    }
    out->count = schedule->seen > before ? schedule->seen - before : 0;
    const int64_t wall =
        schedule->ahead > 0 ? schedule->ended[0] - schedule->zero_ns : bb_clock_ns() - begin;
    out->wall_seconds = out->count > 0 ? 1e-9 * (double)wall : 0.0;
    out->interrupted = bb_interrupt_noted();
    out->least_queued = schedule->least;
done:
    return status;
}

// Written once, so that every page is there before the first release.
static bb_status prepare(const bb_wafer_loop *loop, bb_realtime_measurement *out,
                         bool **has_products)
{
    bb_status status = BB_OK;
    const bb_index steps = loop->study->realtime.steps;
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(BB_ALLOCATE(steps, &out->records[g]));
        for (bb_index k = 0; k < steps; ++k) {
            out->records[g][k] = (bb_step_record){.latency = NAN};
        }
        BB_TRY(bb_device_describe(loop->parts[g].device, &out->device[g]));
    }
    BB_TRY(BB_ALLOCATE(loop->period_count, has_products));
    for (bb_index period = 0; period < loop->period_count; ++period) {
        (*has_products)[period] = bb_wafer_loop_scored(loop, period) >= 0;
    }
done:
    return status;
}

bb_status bb_realtime_measurement_take(bb_wafer_loop *loop, bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &loop->study->realtime;
    bool *has_products = NULL;
    step_schedule schedule;
    *out = (bb_realtime_measurement){0};
    BB_TRY(prepare(loop, out, &has_products));
    bb_host_state_read(&out->host.before);
    bb_log_info("%td steps and %td before them, %s, %td ahead", config->steps,
                config->warm_up_steps, bb_release_names[config->release], config->ahead);
    bb_threads_stop(); // nothing beside this thread
    bb_interrupt_defer(true);
    bb_realtime_thread_enter(&out->host.thread, never_sleeps(config));
    status = start_schedule(loop, has_products, config, &schedule);
    if (status == BB_OK) {
        status = run_schedule(&schedule, config, out);
    }
    out->field = unknown_times();
    if (status == BB_OK && !out->interrupted) {
        status = measure_fields(loop, &out->field);
    }
    bb_realtime_thread_leave(&out->host.thread);
    if (status == BB_OK && out->count == 0) {
        bb_interrupt_deliver(); // nothing was measured that could be kept
    }
    bb_interrupt_defer(false);
    BB_TRY(status);
    bb_host_state_read(&out->host.after);
done:
    BB_RELEASE(&has_products);
    if (status != BB_OK) {
        bb_realtime_measurement_release(out);
    }
    return status;
}

void bb_realtime_measurement_release(bb_realtime_measurement *measured)
{
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        BB_RELEASE(&measured->records[g]);
    }
}

bb_status bb_wafer_experiment_realtime(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    const bb_product_pipeline *pipeline = &pipelines[bb_wafer_study_realtime(wafer)];
    bb_device *devices[BB_LOOP_GPUS] = {NULL};
    bb_wafer_problem *problem = NULL;
    bb_wafer_loop *loop = NULL;
    bb_realtime_measurement measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_DEVICE_CUDA,
               BB_UNSUPPORTED, "device: the loop runs on a cuda device, expected auto or cuda");
    BB_TRY(bb_wafer_loop_check(wafer, pipeline));
    for (bb_index g = 0; g < wafer->realtime.gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &devices[g]));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &problem));
    BB_TRY(bb_wafer_loop_create(wafer, problem, pipeline, devices, problem->scored[0], &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %d GPU%s, coded in %.1f s", pipeline->name,
                1e-6 * loop->device_bytes, loop->gpus, loop->gpus == 1 ? "" : "s",
                loop->coding.seconds);
    BB_TRY(bb_realtime_measurement_take(loop, &measured));
    BB_TRY(bb_realtime_measurement_report(loop, &measured, results, table));
done:
    bb_realtime_measurement_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
