// SPDX-License-Identifier: Apache-2.0
//
// Common helpers of the end-to-end tests of the experiments: a configuration with overrides runs
// through the driver in this process, and results are read by pipeline name.
#ifndef BB_TESTS_SIM_DRIVER_H
#define BB_TESTS_SIM_DRIVER_H

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/run/experiment.h"
#include "tests/sim/fixture.h"
#include "tests/sim/shared_results.h"

#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_AO_SMALL     BB_SOURCE_DIR "/tests/configs/small/ao.yaml"
#define CONFIG_WAFER_SMALL  BB_SOURCE_DIR "/tests/configs/small/wafer.yaml"
#define CONFIG_FRINGE_SMALL BB_SOURCE_DIR "/tests/configs/small/fringe.yaml"
#define CONFIG_NX456        BB_SOURCE_DIR "/configs/ao/nx456.yaml"

enum { DRIVER_OVERRIDES = 16 };

/// A configuration and its NULL-terminated overrides.
typedef struct driver_case {
    const char *path;
    const char *overrides[DRIVER_OVERRIDES];
} driver_case;

/// A case for a single call, e.g. driver_results(CASE(CONFIG_AO_SMALL, {"device=cpu"})).
#define CASE(...) (&(const driver_case){__VA_ARGS__})

/// Loads a case; a refused configuration returns BB_INVALID and its problems are printed.
static inline bb_status driver_load(const driver_case *study, bb_config **out)
{
    autorelease(bb_problems) problems = {0};
    bb_index count = 0;
    while (count < DRIVER_OVERRIDES && study->overrides[count] != NULL) {
        ++count;
    }
    bb_status status =
        bb_experiment_load(&bb_experiments, study->path, study->overrides, count, &problems, out);
    if (status != BB_OK && problems.count > 0) {
        print_message("%s", bb_text_string(&problems.lines));
    }
    return status;
}

/// Loads a configuration, or fails the test. Owner: the caller.
static inline bb_config *driver_config(const driver_case *study)
{
    bb_config *config = NULL;
    check_ok(driver_load(study, &config));
    return config;
}

static inline const bb_experiment *driver_experiment(const bb_config *config)
{
    return bb_experiment_find(&bb_experiments, bb_config_schema(config)->name);
}

/// Plans a run of a loaded configuration on `threads` threads. Owner of `out`, zero or released on
/// entry: the caller.
static inline bb_status driver_plan_loaded(const bb_config *config, bb_index threads, bb_plan *out)
{
    const bb_run_options options = {.threads = threads};
    *out = (bb_plan){0};
    return driver_experiment(config)->plan(bb_config_study(config), &options, out);
}

/// Plans a run of a case.
static inline bb_status driver_plan(const driver_case *study, bb_index threads, bb_plan *out)
{
    autoptr(bb_config) config = driver_config(study);
    const bb_status status = driver_plan_loaded(config, threads, out);
    return status;
}

/// Checks that a table of the experiment declares every dataset of the results.
static inline void driver_check_declared(const bb_experiment *experiment, const bb_results *results)
{
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        const bb_output *row = NULL;
        const bb_output_table *table = NULL;
        for (bb_index t = 0; row == NULL && (table = bb_experiment_output(experiment, t)) != NULL;
             ++t) {
            row = output_row(table, dataset);
        }
        const bool is_of_call =
            strcmp(dataset->group, "study") == 0 || strcmp(dataset->group, "provenance") == 0;
        if (row == NULL && !is_of_call) {
            print_error("no table declares %s/%s\n", dataset->group, dataset->name);
            fail();
        }
    }
}

/// Runs the driver of a loaded configuration into `results`.
static inline bb_status driver_run_into(const bb_config *config, bb_index threads,
                                        bb_results *results)
{
    bb_status status = BB_OK;
    const bb_run_options options = {.threads = threads};
    const bb_experiment *experiment = driver_experiment(config);
    BB_TRY(bb_threads_set(threads));
    BB_TRY(experiment->run(bb_config_study(config), &options, results));
    driver_check_declared(experiment, results);
done:
    return status;
}

/// Runs the driver into new results. Owner of `*out`: the caller; NULL on failure.
static inline bb_status driver_run_loaded(const bb_config *config, bb_index threads,
                                          bb_results **out)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    *out = NULL;
    BB_TRY(bb_results_create(&results));
    BB_TRY(driver_run_into(config, threads, results));
    *out = results;
    results = NULL;
done:
    return status;
}

/// Runs the driver with options into new results.
static inline bb_status driver_run_with(const bb_config *config, const bb_run_options *options,
                                        bb_results **out)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    *out = NULL;
    BB_TRY(bb_threads_set(options->threads));
    BB_TRY(bb_results_create(&results));
    BB_TRY(driver_experiment(config)->run(bb_config_study(config), options, results));
    *out = results;
    results = NULL;
done:
    return status;
}

/// Runs a bb_config on one thread, for walks of failing allocations.
static inline bb_status driver_run_alone(void *config)
{
    autoptr(bb_results) results = NULL;
    bb_status status = driver_run_loaded(config, 1, &results);
    return status;
}

static inline bb_status driver_run(const driver_case *study, bb_index threads, bb_results **out)
{
    bb_status status = BB_OK;
    autoptr(bb_config) config = NULL;
    *out = NULL;
    BB_TRY(driver_load(study, &config));
    BB_TRY(driver_run_loaded(config, threads, out));
done:
    return status;
}

static inline bb_status driver_compute(const bb_config *config, bb_results *results)
{
    return driver_run_into(config, 2, results);
}

/// Results of a case that must succeed, on two threads. Each case is computed once for all tests.
static inline bb_results *driver_results(const driver_case *study)
{
    autoptr(bb_config) config = driver_config(study);
    bb_results *results = shared_results(config, driver_compute);
    return results;
}

static inline const bb_dataset *driver_dataset(const bb_results *results, const char *name)
{
    return dataset_in(results, "results", name);
}

static inline bb_index driver_pipeline(const bb_results *results, const char *pipeline)
{
    const bb_dataset *names = driver_dataset(results, "pipeline");
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->texts[i], pipeline) == 0) {
            return i;
        }
    }
    print_error("no pipeline %s\n", pipeline);
    fail();
    return -1;
}

/// Values of one pipeline: its row of a dataset whose first axis is `pipeline`.
static inline const double *driver_row(const bb_results *results, const char *name,
                                       const char *pipeline)
{
    const bb_dataset *dataset = driver_dataset(results, name);
    assert_true(dataset->rank >= 1 && !dataset->is_text);
    assert_string_equal(dataset->axes[0], "pipeline");
    return dataset->numbers +
           driver_pipeline(results, pipeline) * (dataset->count / dataset->shape[0]);
}

static inline double driver_number(const bb_results *results, const char *name,
                                   const char *pipeline)
{
    return driver_row(results, name, pipeline)[0];
}

static inline const char *driver_text(const bb_results *results, const char *name,
                                      const char *pipeline)
{
    const bb_dataset *dataset = driver_dataset(results, name);
    assert_true(dataset->is_text && dataset->rank == 1);
    return dataset->texts[driver_pipeline(results, pipeline)];
}

/// Checks that the shared results, computed on two threads, have the reproducible digest of a run
/// on one.
static inline void driver_check_threads(const driver_case *study)
{
    autoptr(bb_results) results = driver_results(study);
    autoptr(bb_results) again = NULL;
    check_ok(driver_run(study, 1, &again));
    check_same_digest(results, again);
}

static inline void driver_expect_same_operators(const bb_results *expected, const bb_results *got)
{
    assert_int_equal(bb_results_operator_count(got), bb_results_operator_count(expected));
    for (bb_index i = 0; i < bb_results_operator_count(expected); ++i) {
        const bb_operator *ours = bb_results_operator_at(expected, i);
        const bb_operator *theirs = bb_results_operator_at(got, i);
        const bb_index items = ours->source->rows * ours->source->columns;
        double *values[2] = {NULL, NULL};
        assert_string_equal(theirs->name, ours->name);
        check_ok(BB_ALLOCATE(items, &values[0]));
        check_ok(BB_ALLOCATE(items, &values[1]));
        check_ok(bb_matrix_source_load(ours->source, values[0]));
        check_ok(bb_matrix_source_load(theirs->source, values[1]));
        assert_memory_equal(values[1], values[0], (size_t)items * sizeof(double));
        BB_RELEASE(&values[0]);
        BB_RELEASE(&values[1]);
    }
}

/// Checks that all unmeasured datasets of every group agree to the bit.
static inline void driver_expect_same(const bb_results *expected, const bb_results *got)
{
    assert_int_equal(bb_results_count(got), bb_results_count(expected));
    for (bb_index i = 0; i < bb_results_count(expected); ++i) {
        const bb_dataset *ours = bb_results_dataset(expected, i);
        const bb_dataset *theirs = bb_results_dataset(got, i);
        assert_string_equal(theirs->name, ours->name);
        assert_int_equal(theirs->count, ours->count);
        for (bb_index k = 0; ours->is_text && k < ours->count; ++k) {
            assert_string_equal(theirs->texts[k], ours->texts[k]);
        }
        if (!ours->is_text && !ours->measured &&
            memcmp(theirs->numbers, ours->numbers, (size_t)ours->count * sizeof(double)) != 0) {
            print_error("%s/%s differs\n", ours->group, ours->name);
            fail();
        }
    }
    driver_expect_same_operators(expected, got);
}

/// Interrupts runs by failing allocations and resumes each from its last checkpoint, with the same
/// results. At least `most` checkpoints must differ.
static inline void driver_resume_anywhere(const driver_case *study, const char *dump, int most)
{
    autoptr(bb_config) config = driver_config(study);
    autoptr(bb_results) expected = NULL;
    const bb_run_options plain = {.threads = 2, .dump = dump};
    const bb_run_options keeping = {.threads = 1, .dump = dump, .checkpoint = "state"};
    const bb_run_options resuming = {.threads = 1, .dump = dump, .resume = "state"};
    off_t before = 0;
    int places = 0;
    bool happened = true;
    check_ok(driver_run_with(config, &plain, &expected));
    for (bb_index k = 1; happened; k += 1 + k / 16) {
        autoptr(bb_results) ended = NULL;
        autoptr(bb_results) got = NULL;
        struct stat about;
        (void)unlink("state");
        bb_memory_fail_at(k);
        const bb_status status = driver_run_with(config, &keeping, &ended);
        happened = bb_memory_failure_happened() != 0;
        bb_memory_fail_at(0);
        assert_int_equal(status, happened ? BB_MEMORY : BB_OK);
        if (stat("state", &about) == 0) {
            check_ok(driver_run_with(config, &resuming, &got));
            driver_expect_same(expected, got);
            places += about.st_size != before;
            before = about.st_size;
        }
    }
    assert_true(places >= most);
    (void)unlink("state");
}

/// Checks that the plan contains a text and that its host memory is 1 to 2 times the peak of a run
/// on one thread. Returns that peak in bytes.
static inline double driver_check_memory_plan(const driver_case *study, const char *text)
{
    autorelease(bb_plan) plan = {0};
    autoptr(bb_results) results = NULL;
    autoptr(bb_config) config = driver_config(study);
    check_ok(driver_plan_loaded(config, 1, &plan));
    assert_non_null(strstr(bb_text_string(&plan.lines), text));
    const double before = (double)bb_memory_bytes();
    bb_memory_peak_reset();
    check_ok(driver_run_loaded(config, 1, &results));
    const double peak = (double)bb_memory_peak_bytes() - before;
    const double planned = plan.host_bytes - BB_PLAN_PROGRAM_BYTES;
    print_message("planned %.1f MB, taken %.1f MB\n", 1e-6 * planned, 1e-6 * peak);
    assert_true(planned >= peak && planned < 2.0 * peak);
    return peak;
}

/// Checks that the planned output size is within a factor of 2 of the data in the results.
static inline void driver_check_output_plan(const driver_case *study, const bb_results *results)
{
    autorelease(bb_plan) plan = {0};
    double bytes = 0.0;
    check_ok(driver_plan(study, 2, &plan));
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        bytes += dataset->is_text ? 0.0 : 8.0 * (double)dataset->count;
    }
    print_message("%.0f bytes of data, %.0f planned\n", bytes, plan.output_bytes);
    assert_true(plan.output_bytes > 0.5 * bytes && plan.output_bytes < 2.0 * bytes);
}

#endif
