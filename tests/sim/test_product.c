// SPDX-License-Identifier: Apache-2.0
//
// Product of a user's matrix: its loss does not depend on the unit of the matrix.
#include "core/device/device.h"
#include "core/file.h"
#include "core/random.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#define SUMS "multiply: fp64, accumulate: fp64"

enum { ROWS = 12, COLUMNS = 40 };

static double values[ROWS * COLUMNS];

// Writes "matrix.h5", a matrix of normal random numbers times `unit`.
static void write_matrix(double unit)
{
    const bb_view view = bb_view_matrix(values, ROWS, COLUMNS);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "C", "m/K");
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        values[i] = unit * bb_random_normal(7, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_results_note(results, "", "source", "bitbudget of a test"));
    check_ok(bb_results_operator(results, "C", "rows for a test", &source));
    check_ok(bb_file_write_by("matrix.h5", true, fixture_write, results));
}

static bb_results *run_in(double unit)
{
    write_matrix(unit);
    return driver_results(CASE("product.yaml", {"matrix.file=matrix.h5"}));
}

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    write_text("product.yaml",
               "experiment: product\ndevice: cpu\nvectors: 3\n"
               "matrix: {file: none.h5, dataset: /operators/C}\npipelines:\n"
               "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
               "  - {name: fp16, storage: fp16, scale: row, multiply: fp64, accumulate: fp64}\n");
    return 0;
}

// Outputs may replace neither files named by keys nor those of the sweep folder.
TEST(results_replace_no_input)
{
    write_matrix(1.0);
    write_text("sweep.yaml",
               "base: product.yaml\nmatrix: {file: matrix.h5}\nsweep: {seeds: 1..2}\n");
    CALL_EXPECT(2, "output 'matrix.h5' is the input file 'matrix.h5'", "run", "product.yaml",
                "matrix.file=matrix.h5", "-o", "matrix.h5", "--force");
    CALL_EXPECT(2, "/matrix.h5'; name another", "sweep", "sweep.yaml", "-o", "matrix.h5",
                "--force");
    CALL_EXPECT(2, "/product.yaml'; name another", "sweep", "sweep.yaml", "-o", "points.h5",
                "--csv", "product.yaml", "--force");
    CALL_OK("sweep", "sweep.yaml", "-o", "points.h5", "--jobs", "1", "-q");
    assert_int_equal(system("sha256sum matrix.h5 *.yaml points/plan.json > before"), 0);
    CALL_EXPECT(2, "/plan.json'; name another", "sweep", "collect", "points", "-o",
                "points/plan.json", "--force");
    CALL_EXPECT(2, "/sweep.yaml'; name another", "sweep", "collect", "points", "--csv",
                "sweep.yaml", "--force");
    assert_int_equal(link("points/plan.json", "plan.html"), 0);
    CALL_EXPECT(2, "/plan.json'; name another", "report", "points", "-o", "plan.html", "--force");
    CALL_OK("sweep", "collect", "points", "-o", "points.h5", "--force");
    assert_int_equal(system("sha256sum --status -c before"), 0);
}

// A reference in second place, draws, a matrix that its storage cannot represent, and dumps.
TEST(runs_go_on_to_the_same_results)
{
    static const driver_case study = {"product.yaml",
                                      {"matrix.file=matrix.h5",
                                       "pipelines=[{name: quantised, storage: {codec: quantiser, "
                                       "tolerance_of_range: 1e-3}, draws: 3, " SUMS
                                       "}, {name: reference, storage: fp64, " SUMS
                                       "}, {name: fp16, storage: fp16, " SUMS "}]"}};
    write_matrix(1.0);
    driver_resume_anywhere(&study, NULL, 3);
    driver_resume_anywhere(&study, "C,Y", 3);
    CALL_OK("run", "product.yaml", "matrix.file=matrix.h5", "-q", "-o", "a.h5", "--checkpoint",
            "kept");
    write_matrix(2.0); // another matrix under the same name
    CALL_EXPECT(2, "files ('matrix.file: ", "run", "product.yaml", "matrix.file=matrix.h5", "-q",
                "-o", "c.h5", "--resume", "kept");
}

TEST(losses_are_those_of_any_unit)
{
    static const double units[] = {0x1p-535, 0x1p532, 0x1p-900}; // about 1e-161, 1e160, 1e-271
    autoptr(bb_results) plain = run_in(1.0);
    const double expected = driver_number(plain, "qoi_relative_error", "fp16");
    const double worst = driver_number(plain, "worst_relative_error", "fp16");
    assert_true(isnan(driver_number(plain, "cost_usd", "fp16")));
    assert_true(expected > 1e-5 && expected < 1e-3);
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
        autoptr(bb_results) results = run_in(units[i]);
        assert_string_equal(driver_text(results, "status", "fp16"), "ok");
        // A unit that is a power of two changes nothing.
        assert_true(driver_number(results, "qoi_relative_error", "fp16") == expected);
        assert_true(driver_number(results, "worst_relative_error", "fp16") == worst);
        assert_true(driver_number(results, "qoi_relative_error", "reference") == 0.0);
    }
}

TEST(a_product_costs_its_share_of_the_machine)
{
    const driver_case study = {"product.yaml", {"matrix.file=matrix.h5", "machine.price_usd=1e9"}};
    write_matrix(1.0);
    autoptr(bb_results) results = driver_results(&study);
    const double cost = driver_number(results, "cost_usd", "fp16");
    const double share = driver_number(results, "solve_time_s", "fp16") / (5.0 * 365.25 * 86400.0);
    check_close(cost, 1e9 * share, 1e-12, cost);
}

TEST(products_run_through_opencl)
{
    if (bb_device_count(BB_DEVICE_OPENCL, NULL, 0) == 0) {
        print_message("skipped: this host has no OpenCL device\n");
        skip();
    }
    const driver_case studies[] = {
        {"product.yaml", {"matrix.file=matrix.h5", "pipelines.1.storage=fp32"}},
        {"product.yaml", {"matrix.file=matrix.h5", "pipelines.1.storage=fp32", "device=opencl"}}};
    double error[2];
    write_matrix(1.0);
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_results) results = driver_results(&studies[i]);
        error[i] = driver_number(results, "qoi_relative_error", "fp16");
        assert_string_equal(driver_text(results, "device", "fp16"), i == 0 ? "cpu" : "opencl");
        assert_int_equal(
            bb_results_note_text(results, "provenance", "device_opencl_compiler") != NULL, i);
    }
    assert_true(error[0] > 1e-9);
    check_close(error[1], error[0], 1e-6, error[0]);
}

// A tolerance relative to the range depends on the values. Each codec that accepts one is tested
// with ranges that are too small and too large, and with a constant matrix.
TEST(a_tolerance_that_is_not_held_is_an_outcome)
{
#define CODED(NAME, KEYS)                                                                          \
    "pipelines.1={name: " NAME ", storage: {" KEYS                                                 \
    ", tolerance_of_range: 1.0e-4}, multiply: fp64, accumulate: fp64, draws: 2}"
    static const char *const codecs[][2] = {
        {"quantiser", CODED("quantiser", "codec: quantiser")},
        {"low_rank", CODED("low_rank", "codec: low_rank")},
        {"transform", CODED("transform", "codec: transform")},
        {"zfp", CODED("zfp", "codec: zfp, mode: accuracy, dimensions: 1")},
    };
    static const double units[] = {0.0, 0x1p-1060, 0x1p-300, 0x1p300, 1.0};
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; ++c) {
        for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
            const bool zfp = strcmp(codecs[c][0], "zfp") == 0;
            const bool held = units[u] == 1.0 || (zfp && units[u] > 0.0);
            write_matrix(units[u]);
            autoptr(bb_results) results = driver_results(CASE(
                "product.yaml", {"matrix.file=matrix.h5", "layout.mesh_columns=8", codecs[c][1]}));
            const char *word = driver_text(results, "status", codecs[c][0]);
            assert_true((strcmp(word, "not_held") == 0) == !held);
            if (!held) {
                assert_true(isnan(driver_number(results, "qoi_relative_error", codecs[c][0])));
                assert_true(isnan(driver_number(results, "worst_relative_error", codecs[c][0])));
                assert_true(isnan(driver_number(results, "operator_bytes", codecs[c][0])));
                assert_true(isnan(driver_number(results, "bits_per_value", codecs[c][0])));
                assert_true(driver_number(results, "draws_failed", codecs[c][0]) == 2.0);
                assert_non_null(
                    strstr(driver_text(results, "status_detail", codecs[c][0]), "the nearest is"));
            }
            assert_string_equal(driver_text(results, "status", "reference"), "ok");
        }
    }
#undef CODED
}

static const bb_operator *operator_of(const bb_results *results, const char *name)
{
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        if (strcmp(bb_results_operator_at(results, i)->name, name) == 0) {
            return bb_results_operator_at(results, i);
        }
    }
    print_error("no operator %s\n", name);
    fail();
    return NULL;
}

static void load_operator(const bb_results *results, const char *name, double *out)
{
    check_ok(bb_matrix_source_load(operator_of(results, name)->source, out));
}

// Y is the product with the stored matrix, and C_1 is C in fp16, scaled by rows.
TEST(dumped_products_are_those_of_the_dumped_matrix)
{
    static double held[ROWS * COLUMNS];
    static double y[3 * ROWS];
    const bb_run_options options = {.threads = 1, .dump = "Y,C"};
    write_matrix(1.0);
    autoptr(bb_config) config = driver_config(
        CASE("product.yaml", {"matrix.file=matrix.h5", "seed=5", "pipelines.1.draws=2"}));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_experiment_find(&bb_experiments, "product")
                 ->run(bb_config_study(config), &options, results));
    load_operator(results, "C_0", held);
    assert_memory_equal(held, values, sizeof held);
    load_operator(results, "C_1", held);
    load_operator(results, "Y_1", y);
    double largest = 0.0;
    for (int v = 0; v < 3; ++v) {
        for (int i = 0; i < ROWS; ++i) {
            double sum = 0.0;
            for (int j = 0; j < COLUMNS; ++j) {
                const double x = bb_random_normal(5, BB_STREAM_INPUT, (uint64_t)(v * COLUMNS + j));
                sum += held[i * COLUMNS + j] * x;
                largest =
                    fmax(largest, fabs(held[i * COLUMNS + j] / values[i * COLUMNS + j] - 1.0));
            }
            check_close(y[v * ROWS + i], sum, 1e-12, 1.0);
        }
    }
    assert_true(largest > 1e-5 && largest <= 0x1p-11);
    assert_string_equal(operator_of(results, "C_1")->source->unit, "m/K");
    assert_string_equal(operator_of(results, "Y_1")->source->unit, "m/K"); // unitless x
}

// A matrix of zeros is valid and has no error in any format.
TEST(a_matrix_of_zeros_has_no_error)
{
    autoptr(bb_results) results = run_in(0.0);
    assert_string_equal(driver_text(results, "status", "fp16"), "ok");
    assert_true(driver_number(results, "qoi_relative_error", "fp16") == 0.0);
}

TEST_GROUP(.begin = begin, .has_folder = true);
