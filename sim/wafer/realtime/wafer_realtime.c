// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_realtime.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/interrupt.h"
#include "sim/wafer/realtime/realtime_report.h"
#include "sim/wafer/realtime/step_schedule.h"

#include <math.h>

// Queues steps up to so many ahead, unless interrupted; those that were queued are seen.
static bb_status fill_queue(bb_step_schedule *on, bb_index total)
{
    bb_status status = BB_OK;
    while (on->queued < total && on->queued <= on->seen + on->ahead && !bb_interrupt_noted()) {
        BB_TRY(bb_step_schedule_queue(on));
    }
done:
    return status;
}

// Steps that are not measured, then those that are, without a break.
static bb_status run_schedule(bb_step_schedule *on, const bb_realtime_config *config,
                              bb_wafer_realtime *out)
{
    bb_status status = BB_OK;
    bb_step_record unmeasured[BB_LOOP_GPUS];
    bb_step_record *at[BB_LOOP_GPUS] = {&unmeasured[0], &unmeasured[1], &unmeasured[2]};
    const bb_index before = config->warm_up_steps;
    const bb_index total = before + config->steps;
    int64_t begin = on->first_ns;
    BB_TRY(fill_queue(on, total));
    while (on->seen < on->queued) {
        if (on->seen == before) {
            begin = on->release_ns;
        }
        for (int g = 0; g < on->loop->gpus && on->seen >= before; ++g) {
            at[g] = &out->records[g][on->seen - before];
        }
        BB_TRY(bb_step_schedule_await(on, at));
        BB_TRY(fill_queue(on, total));
    }
    out->count = on->seen > before ? on->seen - before : 0;
    const int64_t wall = on->ahead > 0 ? on->ended[0] - on->zero_ns : bb_clock_ns() - begin;
    out->wall_seconds = out->count > 0 ? 1e-9 * (double)wall : 0.0;
    out->interrupted = bb_interrupt_noted();
    out->least_queued = on->least;
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
    bool *has_products = NULL;
    bb_step_schedule on;
    *out = (bb_wafer_realtime){0};
    BB_TRY(prepare(loop, out, &has_products));
    bb_host_state_read(&out->before);
    bb_log_info("%td steps and %td before them, %s, %td ahead", config->steps,
                config->warm_up_steps, bb_release_names[config->release], config->ahead);
    bb_threads_stop(); // nothing beside this thread
    bb_interrupt_defer(true);
    bb_realtime_thread_enter(&out->thread, bb_step_schedule_never_sleeps(config));
    status = bb_step_schedule_start(loop, has_products, config, &on);
    if (status == BB_OK) {
        status = run_schedule(&on, config, out);
    }
    out->field = bb_field_times_unknown();
    if (status == BB_OK && !out->interrupted) {
        status = bb_field_times_measure(loop, &out->field);
    }
    bb_realtime_thread_leave(&out->thread);
    if (status == BB_OK && out->count == 0) {
        bb_interrupt_deliver(); // nothing was measured that could be kept
    }
    bb_interrupt_defer(false);
    BB_TRY(status);
    bb_host_state_read(&out->after);
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
