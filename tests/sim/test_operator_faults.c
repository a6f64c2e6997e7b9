// SPDX-License-Identifier: Apache-2.0
//
// Allocations fail in turn where matrices come from files and go to files: studies of the user's
// matrices in every codec, and the writing of operators. Long walks go in strides. Files are read
// through in a child process, whose own allocations fail too.
#include "sim/hdf5_library.h"
#include "sim/output/image.h"
#include "tests/sim/driver.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

static int enter(void **state)
{
    (void)state;
    return bb_hdf5_start() == BB_OK ? fixture_enter() : -1;
}

static int leave(void **state)
{
    return fixture_leave() + driver_leave(state);
}

static void dump(const char *config, const char *names, const char *file)
{
    static program_run run;
    const char *const arguments[PROGRAM_ARGUMENTS] = {"run", config,   "-q",  "-o",
                                                      file,  "--dump", names, NULL};
    program_call(arguments, &run);
    program_expect(&run, 0, "results: ");
}

static void write_config(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

// Whether the k-th allocation of a task is beyond its last; a failure is BB_MEMORY and keeps
// nothing.
static bool survives(bb_status (*task)(const void *), const void *context, bb_index k)
{
    bb_index blocks = bb_memory_blocks();
    bb_memory_fail_at(k);
    bb_status status = task(context);
    bool happened = bb_memory_failure_happened() != 0;
    bb_memory_fail_at(0);
    if (status != BB_MEMORY && (status != BB_OK || happened)) {
        print_error("allocation %td: %s, '%s'\n", k, bb_status_name(status), bb_status_message());
        fail();
    }
    bb_threads_stop();
    assert_int_equal(bb_memory_blocks(), blocks);
    return status == BB_OK;
}

static void walk(bb_status (*task)(const void *), const void *context, bb_index stride)
{
    bb_index k = 1;
    while (!survives(task, context, k)) {
        k += stride;
    }
    print_message("%td allocations at least, every %td. failed in turn\n", k - stride, stride);
    assert_true(k > 100);
}

static bb_status run_study(const void *context)
{
    bb_results *results = NULL;
    bb_status status = driver_run_loaded(context, 1, &results);
    bb_results_destroy(&results);
    return status;
}

static void walk_study(const char *path, bb_index stride)
{
    const driver_case of = {path, {NULL}};
    bb_config *config = NULL;
    check_ok(driver_load(&of, &config));
    walk(run_study, config, stride);
    bb_config_destroy(&config);
}

static void a_product_in_every_codec(void **state)
{
    (void)state;
    dump(CONFIG_WAFER_SMALL, "rows,inputs", "rows.h5");
    write_config(
        "product.yaml",
        "experiment: product\n"
        "device: cpu\n"
        "matrix: {file: rows.h5, dataset: /operators/C_y_2}\n"
        "inputs: {file: rows.h5, dataset: /operators/S_2}\n"
        "layout: {mesh_columns: 40, row_columns: 6}\n"
        "pipelines:\n"
        "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
        "  - {name: fp16, storage: fp16, scale: row, multiply: fp32, accumulate: fp32}\n"
        "  - {name: bfp5, storage: {codec: bfp, bits: 5}, multiply: fp64, accumulate: fp64}\n"
        "  - {name: bfp8, storage: {codec: bfp, bits: 8}, multiply: fp32, accumulate: fp64}\n"
        "  - {name: quantiser, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, "
        "multiply: fp32, accumulate: fp64}\n"
        "  - {name: zfp, storage: {codec: zfp, mode: accuracy, tolerance_of_range: 1.0e-4, "
        "dimensions: 4}, multiply: fp32, accumulate: fp64}\n");
    walk_study("product.yaml", 37);
}

static void a_reconstructor(void **state)
{
    (void)state;
    dump(CONFIG_AO_SMALL, "Cmm,Ctm,Ctt", "ao.h5");
    write_config("reconstructor.yaml",
                 "experiment: reconstructor\n"
                 "covariance: {file: ao.h5, dataset: /operators/Cmm}\n"
                 "cross_covariance: {file: ao.h5, dataset: /operators/Ctm_0}\n"
                 "truth_covariance: {file: ao.h5, dataset: /operators/Ctt_0}\n"
                 "solver: {tile: 32}\n"
                 "pipelines:\n"
                 "  - {name: reference, arithmetic: dp}\n"
                 "  - {name: hp2, arithmetic: hp2}\n");
    walk_study("reconstructor.yaml", 1);
}

static bb_status run_and_write(const void *context)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    const bb_run_options options = {.threads = 1, .dump = "Ctm,R"};
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_experiment_find(&bb_experiments, "ao")
               ->run(bb_config_study(context), &options, results));
    BB_TRY(bb_image_write(results, "written.h5"));
done:
    bb_results_destroy(&results);
    return status;
}

static void operators_on_their_way_to_a_file(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
          "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
          "pipelines=[{name: reference, arithmetic: dp}]"}
    };
    bb_config *config = NULL;
    check_ok(driver_load(&of, &config));
    walk(run_and_write, config, 3);
    bb_config_destroy(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_in_every_codec),
        cmocka_unit_test(a_reconstructor),
        cmocka_unit_test(operators_on_their_way_to_a_file),
    };
    bb_log_set_level(BB_LOG_QUIET);
    return cmocka_run_group_tests(tests, enter, leave);
}
