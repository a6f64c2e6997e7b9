// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_realtime.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/interrupt.h"
#include "sim/wafer/realtime_report.h"

#include <errno.h>
#include <math.h>
#include <time.h>

// The thread sleeps until so long before a release, then polls the clock.
static const int64_t spin_ns = 150000;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_until(int64_t ns)
{
    const int64_t wake = ns - spin_ns;
    const struct timespec at = {.tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000};
    if (wake > now_ns()) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR &&
               !bb_interrupt_noted()) {
        }
    }
    while (now_ns() < ns) {
    }
}

// Where the endless round of exposures is.
typedef struct course {
    bb_wafer_loop *loop;
    int64_t period_ns; // 0: back to back
    int64_t first_ns;  // release of step 0
    bb_index period, step;
    const bool *has_products; // [period_count]
} course;

static double between(uint64_t from, uint64_t to)
{
    return from == 0 || to == 0 ? NAN : 1e-9 * (double)(int64_t)(to - from);
}

static void note_stages(const bb_loop_stamps *stamps, double waited, bb_step_record *record)
{
    const uint64_t *ns = stamps->ns;
    const uint64_t after_input = record->kind == (int)BB_STEP_LIGHT  ? ns[BB_LOOP_READING]
                                 : record->kind == (int)BB_STEP_HEAT ? ns[BB_LOOP_END]
                                                                     : 0;
    const uint64_t after_state =
        record->kind == (int)BB_STEP_DARK ? ns[BB_LOOP_END] : ns[BB_LOOP_INPUT];
    record->stage[BB_STEP_STATE] = between(ns[BB_LOOP_STATE], after_state);
    record->stage[BB_STEP_INPUT] = between(ns[BB_LOOP_INPUT], after_input);
    record->stage[BB_STEP_PRODUCTS] = between(ns[BB_LOOP_READING], ns[BB_LOOP_OUTPUT]);
    record->stage[BB_STEP_OUTPUTS] = between(ns[BB_LOOP_OUTPUT], ns[BB_LOOP_END]);
    record->stage[BB_STEP_MATRICES] = waited;
    record->stage[BB_STEP_HOST] = record->latency - between(ns[BB_LOOP_STATE], ns[BB_LOOP_END]) -
                                  (isnan(waited) ? 0.0 : waited);
}

static bb_status begin_period(const course *on, double waited[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    if (on->period == 0) {
        BB_TRY(bb_wafer_loop_reset(on->loop));
    }
    BB_TRY(bb_wafer_loop_await(on->loop, on->period, waited));
    BB_TRY(bb_wafer_loop_begin(on->loop, on->period));
done:
    return status;
}

// What was just seen of a step, for every GPU in its place `at` of the records.
static void note(const course *on, int64_t release, const double waited[BB_LOOP_GPUS],
                 bb_step_record *const at[BB_LOOP_GPUS])
{
    const bool light = on->step < on->loop->problem->scan->light_steps;
    const bb_step_record record = {
        .latency = 1e-9 * (double)(now_ns() - release),
        .release = 1e-9 * (double)(release - on->first_ns),
        .exposure = (int32_t)(on->loop->first + on->period),
        .step = (int32_t)on->step,
        .kind = !light                         ? (int)BB_STEP_DARK
                : on->has_products[on->period] ? (int)BB_STEP_LIGHT
                                               : (int)BB_STEP_HEAT,
    };
    for (int g = 0; g < on->loop->gpus && g < BB_LOOP_GPUS; ++g) {
        const bb_loop_stamps stamps = bb_control_loop_stamps(on->loop->parts[g].loop);
        *at[g] = record;
        note_stages(&stamps, waited[g], at[g]);
    }
}

// One step: released, waited for, noted.
static bb_status take_step(course *on, bb_index number, bb_step_record *const at[BB_LOOP_GPUS])
{
    bb_status status = BB_OK;
    double waited[BB_LOOP_GPUS] = {NAN, NAN, NAN};
    int64_t release = on->first_ns + number * on->period_ns;
    if (on->period_ns > 0) {
        wait_until(release);
    } else {
        release = now_ns();
    }
    if (on->step == 0) {
        BB_TRY(begin_period(on, waited));
    }
    BB_TRY(bb_wafer_loop_step(on->loop));
    BB_TRY(bb_wafer_loop_wait(on->loop));
    note(on, release, waited, at);
    if (++on->step == on->loop->steps) {
        on->step = 0;
        on->period = (on->period + 1) % on->loop->period_count;
    }
done:
    return status;
}

// Steps that are not measured, then those that are, without a break.
static bb_status run_course(course *on, const bb_realtime_config *config, bb_wafer_realtime *out)
{
    bb_status status = BB_OK;
    bb_step_record unmeasured[BB_LOOP_GPUS];
    bb_step_record *at[BB_LOOP_GPUS] = {&unmeasured[0], &unmeasured[1], &unmeasured[2]};
    for (bb_index k = 0; k < config->warm_up_steps && !bb_interrupt_noted(); ++k) {
        BB_TRY(take_step(on, k, at));
    }
    on->first_ns =
        on->period_ns > 0 ? on->first_ns + config->warm_up_steps * on->period_ns : now_ns();
    for (bb_index k = 0; k < config->steps && !bb_interrupt_noted(); ++k) {
        for (int g = 0; g < on->loop->gpus; ++g) {
            at[g] = &out->records[g][k];
        }
        BB_TRY(take_step(on, k, at));
        out->count = k + 1;
    }
    out->wall_seconds = 1e-9 * (double)(now_ns() - on->first_ns);
    out->interrupted = bb_interrupt_noted();
done:
    return status;
}

// Written once, so that every page is there before the first release.
static bb_status prepare(const bb_wafer_loop *loop, bb_wafer_realtime *out, bool **has_products)
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

bb_status bb_wafer_realtime_measure(bb_wafer_loop *loop, bb_wafer_realtime *out)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &loop->study->realtime;
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    bool *has_products = NULL;
    *out = (bb_wafer_realtime){0};
    BB_TRY(prepare(loop, out, &has_products));
    course on = {.loop = loop,
                 .period_ns = fixed ? (int64_t)llrint(1e6 * config->period_ms) : 0,
                 .has_products = has_products};
    bb_host_facts_read(&out->before);
    bb_log_info("%td steps and %td before them, %s", config->steps, config->warm_up_steps,
                fixed ? "at fixed times" : "back to back");
    bb_threads_stop(); // nothing beside this thread
    bb_interrupt_defer(true);
    bb_host_conduct_enter(&out->conduct, !fixed || on.period_ns <= 2 * spin_ns);
    on.first_ns = now_ns() + 10000000;
    status = run_course(&on, config, out);
    out->field = bb_field_times_unknown();
    if (status == BB_OK && !out->interrupted) {
        status = bb_field_times_measure(loop, &out->field);
    }
    bb_host_conduct_leave(&out->conduct);
    if (status == BB_OK && out->count == 0) {
        bb_interrupt_deliver(); // nothing was measured that could be kept
    }
    bb_interrupt_defer(false);
    BB_TRY(status);
    bb_host_facts_read(&out->after);
done:
    BB_RELEASE(&has_products);
    if (status != BB_OK) {
        bb_wafer_realtime_release(out);
    }
    return status;
}

void bb_wafer_realtime_release(bb_wafer_realtime *measured)
{
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        BB_RELEASE(&measured->records[g]);
    }
}

bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    const bb_product_pipeline *pipeline = &pipelines[bb_wafer_study_realtime(wafer)];
    bb_device *devices[BB_LOOP_GPUS] = {NULL};
    bb_wafer_problem *problem = NULL;
    bb_wafer_loop *loop = NULL;
    bb_wafer_realtime measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_STUDY_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_STUDY_DEVICE_CUDA,
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
    BB_TRY(bb_wafer_realtime_measure(loop, &measured));
    BB_TRY(bb_realtime_report(loop, &measured, results, table));
done:
    bb_wafer_realtime_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
