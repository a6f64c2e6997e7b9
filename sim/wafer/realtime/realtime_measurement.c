// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_measurement.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/wafer/wafer_experiment.h"

#include <assert.h>
#include <math.h>

enum { LEAD_IN = 3 }; // fields run before the first measured period

static double median(double values[BB_FIELD_ROUNDS])
{
    bb_latency latency;
    bb_latency_of(BB_FIELD_ROUNDS, values, INFINITY, &latency);
    return latency.p50;
}

// Next scored period after `period`, cyclic; -1: the first one.
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
    loop->no_prefetch = true;
    for (int k = 0; k < BB_FIELD_ROUNDS; ++k) {
        BB_TRY(bb_wafer_loop_time(loop, period, true, &each[k]));
        BB_TRY(bb_wafer_loop_time(loop, period, false, &queued[k]));
    }
    out->each = median(each);
    out->queued = median(queued);
done:
    loop->no_prefetch = false;
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

// Times single fields with no other work in flight: the matrix copy, then the steps.
static bb_status time_alone(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
    double transfer[BB_FIELD_ROUNDS];
    double latency[BB_FIELD_ROUNDS];
    double waited[BB_LOOP_GPUS];
    const bb_index period = next_scored(loop, -1);
    loop->no_prefetch = true;
    BB_TRY(bb_wafer_loop_await(loop, period, waited)); // ends the last field's prefetch
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
    loop->no_prefetch = false;
    return status;
}

// Times consecutive scored fields with the matrices of the next ones in flight.
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

static const bb_field_times unknown_times = {NAN,        NAN,        NAN,       NAN,
                                             {NAN, NAN}, {NAN, NAN}, {NAN, NAN}};

// Times scored fields from any state of the loop, and leaves it in another state.
static bb_status measure_fields(bb_wafer_loop *loop, bb_field_times *out)
{
    bb_status status = BB_OK;
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

// Context of a measurement.
typedef struct step_queue {
    bb_wafer_loop *loop; // borrowed, as are the next two
    bool *has_products;  // [period_count]
    bb_wafer_measurement *out;
    int64_t lead[BB_LOOP_GPUS];  // device clocks: offset of each clock from that of device 0
    int64_t ended[BB_LOOP_GPUS]; // device clocks: end of the last finished step
    double waited[BB_LOOP_KEPT][BB_LOOP_GPUS]; // s for the matrices of step k mod BB_LOOP_KEPT
} step_queue;

static_assert((int)BB_STEP_STAGES <= (int)BB_STEP_PARTS, "a record has room for all stages");
static_assert((int)BB_LOOP_GPUS <= (int)BB_REALTIME_SHARES, "GPUs have records of their own");
static_assert((int)BB_LOOP_AHEAD_MOST < (int)BB_LOOP_KEPT, "a step is recorded while its data are "
                                                           "kept");

// Polling interval with device-side release.
static const int64_t poll_ns = 50000;

static bb_status read_clocks(bb_realtime_loop *run)
{
    bb_status status = BB_OK;
    step_queue *queue = run->context;
    for (int g = 0; g < queue->loop->gpus && run->schedule.by_device; ++g) {
        uint64_t now = 0;
        BB_TRY(bb_control_loop_clock(queue->loop->parts[g].loop, &now));
        run->first_ns = g == 0 ? (int64_t)now : run->first_ns;
        queue->lead[g] = (int64_t)now - run->first_ns;
    }
done:
    return status;
}

// Period of the loop that contains a step.
static bb_index period_at(const bb_wafer_loop *loop, bb_index number)
{
    return number / loop->steps % loop->period_count;
}

static bb_status begin_period(bb_wafer_loop *loop, bb_index period, double waited[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    if (period == 0) {
        BB_TRY(bb_wafer_loop_reset(loop));
    }
    BB_TRY(bb_wafer_loop_await(loop, period, waited));
    BB_TRY(bb_wafer_loop_begin(loop, period));
done:
    return status;
}

static bb_status release_on_devices(const bb_realtime_loop *run, int64_t release_ns)
{
    bb_status status = BB_OK;
    const step_queue *queue = run->context;
    for (int g = 0; g < queue->loop->gpus && run->schedule.period_ns > 0; ++g) {
        BB_TRY(bb_control_loop_wait_until(queue->loop->parts[g].loop,
                                          (uint64_t)(release_ns + queue->lead[g])));
    }
done:
    return status;
}

// Records the smallest number of steps left in the devices' queues when the next one is queued,
// from the first measured step on.
static void record_queue(const bb_realtime_loop *run)
{
    const step_queue *queue = run->context;
    for (int g = 0; g < queue->loop->gpus && run->started >= run->schedule.depth &&
                    run->finished > run->schedule.warm_up;
         ++g) {
        const bb_index rest = bb_control_loop_left(queue->loop->parts[g].loop);
        if (queue->out->least_queued < 0 || rest < queue->out->least_queued) {
            queue->out->least_queued = rest;
        }
    }
}

static bb_status start_step(bb_realtime_loop *run, int64_t release_ns)
{
    bb_status status = BB_OK;
    step_queue *queue = run->context;
    double *waited = queue->waited[run->started % BB_LOOP_KEPT];
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        waited[g] = NAN;
    }
    if (run->started % queue->loop->steps == 0) {
        BB_TRY(begin_period(queue->loop, period_at(queue->loop, run->started), waited));
    }
    if (run->schedule.by_device) {
        BB_TRY(release_on_devices(run, release_ns));
        record_queue(run);
    }
    BB_TRY(bb_wafer_loop_step(queue->loop));
done:
    return status;
}

static double duration(uint64_t start, uint64_t target)
{
    return start == 0 || target == 0 ? NAN : 1e-9 * (double)(int64_t)(target - start);
}

static void record_stages(bool by_device, const bb_loop_stamps *stamps, double waited,
                          bb_step_record *record)
{
    const uint64_t *ns = stamps->ns;
    const uint64_t after_input = record->kind == (int)BB_STEP_LIGHT  ? ns[BB_LOOP_READING]
                                 : record->kind == (int)BB_STEP_HEAT ? ns[BB_LOOP_END]
                                                                     : 0;
    const uint64_t after_state =
        record->kind == (int)BB_STEP_DARK ? ns[BB_LOOP_END] : ns[BB_LOOP_INPUT];
    // With steps queued ahead the queue hides host waits.
    const double unhidden = isnan(waited) || by_device ? 0.0 : waited;
    record->stage[BB_STEP_STATE] = duration(ns[BB_LOOP_STATE], after_state);
    record->stage[BB_STEP_INPUT] = duration(ns[BB_LOOP_INPUT], after_input);
    record->stage[BB_STEP_PRODUCTS] = duration(ns[BB_LOOP_READING], ns[BB_LOOP_OUTPUT]);
    record->stage[BB_STEP_OUTPUTS] = duration(ns[BB_LOOP_OUTPUT], ns[BB_LOOP_END]);
    record->stage[BB_STEP_MATRICES] = waited;
    record->stage[BB_STEP_HOST] =
        record->latency - duration(ns[BB_LOOP_STATE], ns[BB_LOOP_END]) - unhidden;
}

// Release and end time of a step.
typedef struct span {
    int64_t start, end;
} span;

static span span_on_device(const bb_realtime_loop *run, int g, int64_t release_ns,
                           const bb_loop_stamps *stamps)
{
    step_queue *queue = run->context;
    const int64_t end = (int64_t)stamps->ns[BB_LOOP_END];
    const int64_t free = run->finished > 0 ? queue->ended[g] : (int64_t)stamps->ns[BB_LOOP_STATE];
    queue->ended[g] = end;
    return (span){run->schedule.period_ns > 0 ? release_ns + queue->lead[g] : free, end};
}

// Span over all devices: from the earliest release to the end of the slowest device.
static span span_of(const bb_realtime_loop *run, int64_t release_ns,
                    const bb_loop_stamps stamps[BB_LOOP_GPUS])
{
    const step_queue *queue = run->context;
    span all = {release_ns, bb_clock_ns()};
    for (int g = 0; g < queue->loop->gpus && run->schedule.by_device; ++g) {
        const span one = span_on_device(run, g, release_ns, &stamps[g]);
        if (g == 0) {
            all = one;
        } else if (one.end - one.start > all.end - all.start) {
            all.end = all.start + (one.end - one.start);
        }
    }
    return all;
}

// Waits for the oldest queued step and records it for every GPU.
static bb_status finish_step(bb_realtime_loop *run, int64_t release_ns, bb_step_record *records)
{
    bb_status status = BB_OK;
    const step_queue *queue = run->context;
    const bb_wafer_loop *loop = queue->loop;
    const bool by_device = run->schedule.by_device;
    const bb_index rest = run->started - 1 - run->finished;
    const bb_index period = period_at(loop, run->finished);
    const bb_index step = run->finished % loop->steps;
    bb_loop_stamps stamps[BB_LOOP_GPUS];
    for (int g = 0; g < loop->gpus; ++g) {
        BB_TRY(bb_control_loop_await(loop->parts[g].loop, rest, by_device ? poll_ns : 0));
    }
    for (int g = 0; g < loop->gpus; ++g) {
        stamps[g] = bb_control_loop_stamps(loop->parts[g].loop, rest);
    }
    const span all = span_of(run, release_ns, stamps);
    bb_step_record record = bb_realtime_loop_record(run, all.start, all.end);
    record.exposure = (int32_t)(loop->first + period);
    record.step = (int32_t)step;
    record.kind = step >= loop->problem->scan->light_steps ? (int)BB_STEP_DARK
                  : queue->has_products[period]            ? (int)BB_STEP_LIGHT
                                                           : (int)BB_STEP_HEAT;
    for (int g = 0; g < loop->gpus; ++g) {
        records[g] = record;
        record_stages(by_device, &stamps[g], queue->waited[run->finished % BB_LOOP_KEPT][g],
                      &records[g]);
    }
done:
    return status;
}

static bb_status time_fields(bb_realtime_loop *run)
{
    step_queue *queue = run->context;
    return measure_fields(queue->loop, &queue->out->field);
}

// After an interrupt the steps already queued are still finished.
static const bb_realtime_stages step_stages = {
    .begin = read_clocks, .start = start_step, .finish = finish_step, .after = time_fields};

bb_status bb_wafer_measurement_run(bb_wafer_loop *loop, bb_wafer_measurement *out)
{
    bb_status status = BB_OK;
    bb_device *devices[BB_LOOP_GPUS];
    step_queue queue = {.loop = loop, .out = out};
    bb_realtime_loop run = {&step_stages, &queue, .schedule = bb_wafer_loop_schedule(loop)};
    *out = (bb_wafer_measurement){
        .steps.shares = loop->gpus, .least_queued = -1, .field = unknown_times};
    BB_TRY(BB_ALLOCATE(loop->period_count, &queue.has_products));
    for (bb_index period = 0; period < loop->period_count; ++period) {
        queue.has_products[period] = bb_wafer_loop_scored(loop, period) >= 0;
    }
    for (int g = 0; g < loop->gpus; ++g) {
        devices[g] = loop->parts[g].device;
    }
    BB_TRY(bb_realtime_loop_measure(&run, loop->gpus, devices, &out->steps));
done:
    BB_RELEASE(&queue.has_products);
    return status;
}

void bb_wafer_measurement_release(bb_wafer_measurement *measured)
{
    bb_realtime_measurement_release(&measured->steps);
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
    bb_wafer_measurement measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_DEVICE_CUDA,
               BB_UNSUPPORTED, "device: the loop runs on a cuda device, expected auto or cuda");
    BB_TRY(bb_wafer_loop_check(wafer, pipeline));
    for (bb_index g = 0; g < wafer->realtime.gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &devices[g]));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &problem));
    BB_TRY(bb_wafer_loop_create(wafer, problem, pipeline, devices, problem->scored[0], &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %d GPU%s, encoded in %.1f s", pipeline->name,
                1e-6 * loop->device_bytes, loop->gpus, loop->gpus == 1 ? "" : "s",
                loop->coding.seconds);
    BB_TRY(bb_wafer_measurement_run(loop, &measured));
    BB_TRY(bb_wafer_measurement_report(loop, &measured, results, table));
done:
    bb_wafer_measurement_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
