// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_measurement.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/interrupt.h"
#include "sim/wafer/realtime/wafer_realtime.h"
#include "sim/wafer/wafer_experiment.h"

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

// Queues steps up to so many ahead, unless interrupted; those that were queued are seen.
static bb_status fill_queue(bb_step_schedule *schedule, bb_index total)
{
    bb_status status = BB_OK;
    while (schedule->queued < total && schedule->queued <= schedule->seen + schedule->ahead &&
           !bb_interrupt_noted()) {
        BB_TRY(bb_step_schedule_queue(schedule));
    }
done:
    return status;
}

// Steps that are not measured, then those that are, without a break.
static bb_status run_schedule(bb_step_schedule *schedule, const bb_realtime_config *config,
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
        BB_TRY(bb_step_schedule_await(schedule, record));
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
    bb_step_schedule schedule;
    *out = (bb_realtime_measurement){0};
    BB_TRY(prepare(loop, out, &has_products));
    bb_host_state_read(&out->host.before);
    bb_log_info("%td steps and %td before them, %s, %td ahead", config->steps,
                config->warm_up_steps, bb_release_names[config->release], config->ahead);
    bb_threads_stop(); // nothing beside this thread
    bb_interrupt_defer(true);
    bb_realtime_thread_enter(&out->host.thread, bb_step_schedule_never_sleeps(config));
    status = bb_step_schedule_start(loop, has_products, config, &schedule);
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
    BB_TRY(bb_wafer_realtime_report(loop, &measured, results, table));
done:
    bb_realtime_measurement_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
