// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_realtime.h"

#include "core/log.h"
#include "sim/wafer/realtime/realtime_plan.h"
#include "sim/wafer/realtime/realtime_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = BB_REALTIME_KINDS };

static bb_status note_run(const bb_realtime_summary *s, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = s->config;
    BB_TRY(bb_results_note(results, "results", "pipeline", s->loop->pipeline->name));
    BB_TRY(bb_results_note(results, "results", "release", bb_release_names[config->release]));
    BB_TRY(bb_results_note(results, "results", "clock", config->ahead > 0 ? "device" : "host"));
    BB_TRY(bb_results_note(results, "results", "ended",
                           s->measured->interrupted ? "by an interrupt" : "after all steps"));
    BB_TRY(bb_results_note(results, "results", "matrices", bb_loop_mode_names[config->matrices]));
done:
    return status;
}

static bb_status note_host(const bb_realtime_summary *s, bb_results *results)
{
    const bb_realtime_measurement *m = s->measured;
    bb_status status = BB_OK;
    BB_TRY(bb_realtime_report_note_devices(s->loop->gpus, m->device, results));
    BB_TRY(bb_realtime_report_note_host(&m->host, results));
done:
    return status;
}

static bb_status print_head(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &s->loop->study->realtime;
    const bb_realtime_measurement *m = s->measured;
    const int gpus = s->loop->gpus;
    BB_TRY(bb_text_add(table, "pipeline %s, %d axes, %td fields, %.1f MB of matrices on ",
                       s->loop->pipeline->name, s->loop->axes, s->loop->problem->scored_count,
                       1e-6 * s->loop->device_bytes));
    BB_TRY(gpus == 1 ? bb_text_add(table, "the device\n")
                     : bb_text_add(table, "%d GPUs, axes dealt to them in turn\n", gpus));
    BB_TRY(config->release == (int)BB_RELEASE_FIXED
               ? bb_text_add(table, "%td steps, released every %g ms", m->count, config->period_ms)
               : bb_text_add(table, "%td steps, released back to back", m->count));
    BB_TRY(config->ahead == 0
               ? bb_text_add(table, ", by the host's clock")
               : bb_text_add(table, ", by the device's clock, queued %td ahead", config->ahead));
    BB_TRY(bb_text_add(table, ", %.3f s%s\n", m->wall_seconds,
                       m->interrupted ? "; ended by an interrupt" : ""));
done:
    return status;
}

static bb_status print_latencies(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_latency_summary *all = &s->kind[0].latency;
    BB_TRY(bb_text_add(table, "\n"));
    for (int k = -1; k < KINDS; ++k) {
        if (k < 0 || s->kind[k].latency.count > 0.0) {
            BB_TRY(k < 0 ? bb_realtime_report_print(NULL, NULL, table)
                         : bb_realtime_report_print(s->kind[k].name, &s->kind[k].latency, table));
            BB_TRY(bb_text_add(table, "\n"));
        }
    }
    BB_TRY(bb_realtime_report_print_misses(1e3 * s->config->deadline_ms, all, table));
done:
    return status;
}

// Values in us after a gap, "-" where a stage is not there; width 0: as wide as they are.
static bb_status print_stage(double seconds, int width, bb_text *table)
{
    return isnan(seconds) ? bb_text_add(table, " %*s", width, "-")
                          : bb_text_add(table, " %*.2f", width, 1e6 * seconds);
}

// "light", or "light 1" where there are several GPUs.
static bb_status print_stage_row(const bb_realtime_summary *s, int kind, int gpu, bb_text *table)
{
    bb_status status = BB_OK;
    char number[16] = "";
    char name[32];
    if (s->loop->gpus > 1) {
        (void)snprintf(number, sizeof number, " %d", gpu);
    }
    (void)snprintf(name, sizeof name, "%s%s", s->kind[kind].name, number);
    BB_TRY(bb_text_add(table, "%-7s", name));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        const int width = (int)strlen(bb_realtime_stages[stage]) + 1;
        BB_TRY(print_stage(s->kind[kind].stages[gpu][stage], width, table));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

static bb_status print_stages(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n%-7s", "stage"));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        BB_TRY(bb_text_add(table, "  %s", bb_realtime_stages[stage]));
    }
    BB_TRY(bb_text_add(table, "  (median us%s)\n", s->loop->gpus > 1 ? ", by GPU" : ""));
    for (int k = 1; k < KINDS; ++k) {
        for (int g = 0; s->kind[k].latency.count > 0.0 && g < s->loop->gpus; ++g) {
            BB_TRY(print_stage_row(s, k, g, table));
        }
    }
done:
    return status;
}

static bb_status print_worst(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n"));
    BB_TRY(bb_realtime_table_print(&bb_realtime_print_worst, NULL, table));
    BB_TRY(bb_text_add(table, "  stages [us], as above\n"));
    for (bb_index i = 0; i < s->worst_count; ++i) {
        BB_TRY(bb_realtime_table_print(&bb_realtime_print_worst, &s->worst[i], table));
        for (int g = 0; g < s->loop->gpus; ++g) {
            BB_TRY(bb_text_add(table, "%s", g == 0 ? " " : " |"));
            for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
                BB_TRY(print_stage(s->worst[i].stages[g][stage], 0, table));
            }
        }
        BB_TRY(bb_text_add(table, "\n"));
    }
done:
    return status;
}

static bb_status print_streaming(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    if (!s->loop->streamed) {
        return BB_OK;
    }
    BB_TRY(bb_text_add(table,
                       "matrices cross field by field: %.1f MB a field, 1 / %.2f of fp32; %.0f of "
                       "%.0f fields waited for them",
                       1e-6 * s->loop->field_bytes, s->measured->field.ratio, s->fields_waited,
                       s->fields_begun));
    BB_TRY(s->fields_waited == 0.0
               ? bb_text_add(table, "\n")
               : bb_text_add(table, ", at most %.3f ms\n", 1e3 * s->longest_wait));
    BB_TRY(bb_text_add(table, "\n"));
    for (int row = -1; row < BB_REALTIME_SCHEDULES; ++row) {
        BB_TRY(bb_realtime_table_print(&bb_realtime_print_schedule,
                                       row < 0 ? NULL : &s->schedule[row], table));
        BB_TRY(bb_text_add(table, "\n"));
    }
done:
    return status;
}

static bb_status print_host(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = s->measured;
    BB_TRY(bb_realtime_report_print_host(&m->host, table));
    for (int g = 0; g < s->loop->gpus; ++g) {
        BB_TRY(
            bb_text_add(table, "device %d: %s, %s\n", g, m->device[g].name, m->device[g].driver));
    }
    BB_TRY(bb_text_add(table, "clocks sm, memory, and their most: %s\n", m->host.after.clocks));
done:
    return status;
}

static bb_status print(const bb_realtime_summary *s, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = s->measured;
    BB_TRY(print_head(s, table));
    BB_TRY(print_latencies(s, table));
    if (s->loop->study->realtime.ahead > 0 && m->least_queued >= 0) {
        BB_TRY(bb_text_add(table,
                           "the device never had fewer than %td of %td steps to go on with\n",
                           m->least_queued, s->loop->study->realtime.ahead));
    }
    BB_TRY(print_stages(s, table));
    BB_TRY(print_worst(s, table));
    BB_TRY(bb_text_add(table,
                       "\na field, %td steps back to back, median of %d: %.3f ms, each step waited "
                       "for; %.3f ms queued at once\n",
                       s->loop->steps, (int)BB_FIELD_ROUNDS, 1e3 * m->field.each,
                       1e3 * m->field.queued));
    BB_TRY(print_streaming(s, table));
    BB_TRY(print_host(s, table));
done:
    return status;
}

bb_status bb_wafer_realtime_report(const bb_wafer_loop *loop,
                                   const bb_realtime_measurement *measured, bb_results *results,
                                   bb_text *table)
{
    bb_status status = BB_OK;
    bb_realtime_summary summary;
    const bb_realtime_summary *s = &summary;
    BB_TRY(bb_realtime_table_sum_up(loop, measured, &summary));
    BB_TRY(print(s, table));
    BB_TRY(bb_realtime_table_publish(s, results));
    BB_TRY(note_run(s, results));
    BB_TRY(note_host(s, results));
done:
    return status;
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
    bb_realtime_measurement measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_DEVICE_CUDA,
               BB_UNSUPPORTED, "device: the loop runs on a cuda device, expected auto or cuda");
    BB_TRY(bb_realtime_plan_check(wafer, pipeline));
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
