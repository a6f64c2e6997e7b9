// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of a toy experiment with analytically known losses, whose points can be made to fail in
// every way.
#ifndef BB_TESTS_SIM_SWEEP_TOY_SWEEP_H
#define BB_TESTS_SIM_SWEEP_TOY_SWEEP_H

#include "core/interrupt.h"
#include "sim/run/study.h"
#include "sim/sweep/collection.h"
#include "sim/sweep/shard.h"
#include "tests/sim/fixture.h"

#include <signal.h>
#include <time.h>

enum { TOY_PIPELINES = 8 };

typedef struct toy_air {
    double r0_m;
} toy_air;

typedef struct toy_pipeline {
    const char *name;
    bb_index width;
} toy_pipeline;

/// A pipeline of width w has the loss r0_m / 2^w, w + 1 bits per value, and fails over `breaks_m`.
typedef struct toy_study {
    bb_study common;
    toy_air air;
    double length_m;
    double breaks_m;
    bb_index count;
    bb_index act; ///< kind of failure: toy_fail
    double wait_s, device_mb;
    const char *file;
    bb_list pipelines;
} toy_study;

// clang-format off
static const bb_key toy_air_keys[] = {
    {.name = "r0_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = 0.0, .maximum = 1e3,
     .offset = offsetof(toy_air, r0_m), .default_text = "1.0", .meaning = "Seeing."},
};
static const bb_schema toy_air_schema = BB_SCHEMA("air", toy_air, toy_air_keys);

static const bb_key toy_pipeline_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(toy_pipeline, name),
     .meaning = "A name."},
    {.name = "width", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1000.0,
     .offset = offsetof(toy_pipeline, width), .default_text = "0", .meaning = "A width."},
};
static const bb_schema toy_pipeline_schema =
    BB_SCHEMA("pipelines", toy_pipeline, toy_pipeline_keys);

static const bb_key toy_keys[] = {
    BB_STUDY_KEYS(toy_study),
    {.name = "air", .kind = BB_KEY_GROUP, .schema = &toy_air_schema,
     .offset = offsetof(toy_study, air), .default_text = "{}", .meaning = "The air."},
    {.name = "length_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = -100.0, .maximum = 1e6,
     .offset = offsetof(toy_study, length_m), .default_text = "3.0", .meaning = "A length."},
    {.name = "breaks_m", .kind = BB_KEY_DOUBLE, .unit = "m", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(toy_study, breaks_m), .default_text = "1e6", .meaning = "A limit."},
    {.name = "count", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(toy_study, count), .default_text = "0", .meaning = "A count."},
    {.name = "act", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 100.0,
     .offset = offsetof(toy_study, act), .default_text = "0", .meaning = "What goes wrong."},
    {.name = "wait_s", .kind = BB_KEY_DOUBLE, .unit = "s", .minimum = 0.0, .maximum = 100.0,
     .offset = offsetof(toy_study, wait_s), .default_text = "0.0", .meaning = "Time of a run."},
    {.name = "device_mb", .kind = BB_KEY_DOUBLE, .unit = "MB", .minimum = 0.0, .maximum = 100.0,
     .offset = offsetof(toy_study, device_mb), .default_text = "0.0",
     .meaning = "Memory of a device that a run is planned to take."},
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(toy_study, file), .optional = true,
     .meaning = "A file."},
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &toy_pipeline_schema,
     .offset = offsetof(toy_study, pipelines), .minimum_count = 1, .meaning = "Pipelines."},
};
// clang-format on
static const bb_schema toy_schema = BB_SCHEMA("toy", toy_study, toy_keys);

/// Failure of a point by `act`; those from TOY_ONCE succeed once the file "tried" exists.
enum {
    TOY_FINE,
    TOY_CRASH,
    TOY_LEAVE,
    TOY_CONFIG,
    TOY_IO,
    TOY_MEMORY,
    TOY_DEVICE,
    TOY_INTERNAL,
    TOY_TERM,
    TOY_MORE,
    TOY_ONCE = 20
};

static inline bb_status toy_fail(bb_index act)
{
    bb_status status = BB_OK;
    FILE *tries = fopen("tries", "a");
    if (tries != NULL) {
        (void)fprintf(tries, "%td\n", act);
        (void)fclose(tries);
    }
    if (act >= TOY_ONCE) {
        if (access("tried", F_OK) == 0) {
            goto done;
        }
        FILE *file = fopen("tried", "w");
        (void)fclose(file);
        act -= TOY_ONCE;
    }
    switch (act) {
    case TOY_CRASH:
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
        break;
    case TOY_LEAVE:
        _exit(3);
    case TOY_TERM:
        (void)raise(SIGTERM);
        break;
    case TOY_CONFIG:
        BB_FAIL(BB_INVALID, "a wrong study");
    case TOY_IO:
        BB_FAIL(BB_IO, "a bad disk");
    case TOY_MEMORY:
        BB_FAIL(BB_MEMORY, "no memory");
    case TOY_DEVICE:
        BB_FAIL(BB_DEVICE, "no device");
    case TOY_INTERNAL:
        BB_FAIL(BB_INTERNAL, "a defect");
    default:
        break;
    }
done:
    return status;
}

static inline bb_status toy_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    const toy_study *toy = study;
    (void)options;
    plan->host_bytes = 1e6;
    plan->device_bytes = 1e6 * toy->device_mb;
    plan->estimated_seconds = toy->wait_s;
    return BB_OK;
}

static inline bb_status toy_check(const void *study, const bb_config *config, bb_problems *problems)
{
    const toy_study *toy = study;
    return toy->count == 13 ? bb_problems_add(problems, bb_config_place(config, "count"),
                                              "count: an unlucky number")
                            : BB_OK;
}

static inline bb_status toy_run(const void *study, const bb_run_options *options,
                                bb_results *results)
{
    bb_status status = BB_OK;
    const toy_study *toy = study;
    const toy_pipeline *lines = toy->pipelines.items;
    const bb_index count = toy->pipelines.count;
    const char *names[TOY_PIPELINES];
    const char *states[TOY_PIPELINES];
    double loss[TOY_PIPELINES], ratio[TOY_PIPELINES], bytes[TOY_PIPELINES], more[TOY_PIPELINES];
    double series[TOY_PIPELINES * 3], elapsed[TOY_PIPELINES];
    static const double steps[] = {10.0, 20.0, 30.0};
    (void)options;
    const struct timespec pause = {(time_t)toy->wait_s,
                                   (long)(1e9 * (toy->wait_s - floor(toy->wait_s)))};
    if (toy->act != TOY_FINE) {
        BB_TRY(toy_fail(toy->act));
    }
    (void)nanosleep(&pause, NULL);
    for (bb_index p = 0; p < count; ++p) {
        const bool fails = toy->air.r0_m > toy->breaks_m && p > 0;
        names[p] = lines[p].name;
        states[p] = fails ? "not_spd" : "ok";
        loss[p] = fails ? NAN : toy->air.r0_m / ldexp(1.0, (int)lines[p].width);
        ratio[p] = 32.0 / (1.0 + (double)lines[p].width);
        bytes[p] = 1e6 * (1.0 + (double)lines[p].width);
        more[p] = toy->length_m;
        elapsed[p] = (double)clock();
        for (int i = 0; i < 3; ++i) {
            series[3 * p + i] = 100.0 * (double)p + i + toy->air.r0_m;
        }
    }
    BB_TRY(results_text_axis(results, "pipeline", "pipeline", count, names));
    BB_TRY(results_axis(results, "step", "ms", "steps", 3, steps));
    BB_TRY(results_texts(results, "results/status", "outcome", "pipeline", states));
    BB_TRY(results_values(results, "results/toy_error", "nm", "error", "pipeline", loss));
    BB_TRY(results_values(results, "results/compression_ratio", "1", "ratio", "pipeline", ratio));
    BB_TRY(results_values(results, "results/operator_bytes", "byte", "bytes", "pipeline", bytes));
    BB_TRY(results_measured(results, "results/toy_time_s", "s", "time", "pipeline", elapsed));
    BB_TRY(results_values(results, "results/series", "1", "series", "pipeline, step", series));
    BB_TRY(results_values(results, "results/length_seen", "m", "length", "", &toy->length_m));
    if (toy->act == TOY_MORE) {
        BB_TRY(results_values(results, "results/more", "1", "more", "pipeline", more));
    }
done:
    return status;
}

static const char *const toy_losses[] = {"toy_error"};
static const bb_experiment toy_experiment = {.name = "toy",
                                             .schema = &toy_schema,
                                             .starter = "",
                                             .check = toy_check,
                                             .plan = toy_plan,
                                             .run = toy_run,
                                             .losses = toy_losses,
                                             .loss_count = 1,
                                             .loss_name = "error [nm]",
                                             .operators = ""};
static const bb_experiment *const toy_list[] = {&toy_experiment};
static const bb_experiment_table toys = {toy_list, 1};

static const char toy_base[] = "experiment: toy\n"
                               "device: cpu\n"
                               "pipelines: [{name: reference}, {name: a, width: 1}, "
                               "{name: b, width: 2}]\n";

/// Plans "base and sweep" into a folder. The caller owns the plan.
static inline bb_status toy_try_plan(const char *base, const char *sweep, const char *folder,
                                     bb_sweep_plan **out)
{
    bb_status status = BB_OK;
    char text[8192];
    autorelease(bb_problems) problems = {0};
    bb_status_record record;
    const bb_sweep_plan_request request = {.path = "plan.yaml", .threads = 1};
    (void)snprintf(text, sizeof text, "%s%s", base, sweep);
    write_text("plan.yaml", text);
    *out = NULL;
    status = bb_sweep_plan_make(&toys, &request, &problems, out);
    if (status != BB_OK && problems.count > 0) {
        status = bb_status_set(status, __FILE__, __LINE__, "%s", bb_text_string(&problems.lines));
    }
    BB_TRY(status);
    if (folder != NULL) {
        BB_TRY(bb_sweep_plan_write(*out, folder));
    }
done:
    bb_status_save(&record);
    if (status != BB_OK) {
        bb_sweep_plan_destroy(out);
    }
    return status;
}

static inline bb_sweep_plan *toy_planned(const char *sweep, const char *folder)
{
    bb_sweep_plan *plan = NULL;
    check_ok(toy_try_plan(toy_base, sweep, folder, &plan));
    return plan;
}

static inline void toy_refused(const char *sweep, const char *text)
{
    bb_sweep_plan *plan = NULL;
    check_fails(toy_try_plan(toy_base, sweep, NULL, &plan), BB_INVALID, text);
}

/// Runs all pending points.
static inline bb_shard_report toy_run_all(const bb_sweep_plan *plan, bb_index jobs)
{
    bb_shard_report report;
    const bb_shard_request request = {.plan = plan, .jobs = jobs, .threads = 1};
    check_ok(bb_shard_run(&request, &report));
    return report;
}

static inline bb_sweep_progress toy_progress(const bb_sweep_plan *plan)
{
    bb_sweep_progress progress;
    check_ok(bb_sweep_progress_read(plan, &progress));
    return progress;
}

static inline int toy_begin(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

#endif
