// SPDX-License-Identifier: Apache-2.0
//
// Results of a wafer study for pipelines without valid numbers.
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

// Steps of 1e-15 of the range: coefficients above 32 bits, which invalidate their blocks.
TEST(a_pipeline_that_fails_is_warned_of)
{
    CALL_EXPECT(
        0, "warning: pipeline fine: non_finite, displacement x, field 0", "run", CONFIG_WAFER_SMALL,
        "scan.fields=[0]",
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: "
        "fine, "
        "storage: {codec: transform, tolerance_of_range: 1.0e-15}, multiply: fp32, accumulate: "
        "fp64}]",
        "-q", "-o", "failed.h5");
    program_expect(&run, 0, "values of the operator are outside the codec's range");
}

// Rows of a file may be non-zero outside the wafer: losses are relative to all of them.
TEST(no_more_than_all_values_underflow)
{
    CALL_EXPECT(0, "fp16 unscaled: 100 % of the operator's values underflowed", "run",
                CONFIG_WAFER_SMALL, "scan.fields=[0]", "-q", "-o", "rows.h5", "--dump", "rows");
    run_python("import h5py, numpy\n"
               "with h5py.File('rows.h5') as rows, h5py.File('mine.h5', 'w') as mine:\n"
               "    for name, item in rows['operators'].items():\n"
               "        if item.ndim == 2:\n"
               "            mine['operators/' + name] = numpy.full(item.shape, 1e-9)\n");
    CALL_EXPECT(0, "fp16 unscaled: 100 % of the operator's values underflowed", "run",
                CONFIG_WAFER_SMALL, "scan.fields=[0]", "response.generator=file",
                "response.file=mine.h5", "-q", "-o", "lost.h5");
}

// A tolerance relative to the range is known only with the matrix: that pipeline has no loss, all
// others have theirs.
TEST(a_tolerance_that_is_not_held_is_an_outcome)
{
#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}"
#define PLAIN     "{name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}"
    static const char *const numbers[] = {
        "qoi_relative_error", "operator_bytes",     "compression_ratio",     "flops",
        "solve_time_s",       "encode_time_s",      "overlay_error_x_nm",    "overlay_error_y_nm",
        "height_error_nm",    "certified_bound_nm", "bits_per_value",        "rmse",
        "saturated_values",   "overlay_x_nm",       "displacement_nm",       "residual_nm",
        "loss_mean",          "loss_worst",         "compression_ratio_live"};
    const driver_case tight = {
        CONFIG_WAFER_SMALL,
        {"scan.fields=[0]", "pipelines=[" REFERENCE ", " PLAIN ", {name: tight, storage: {codec: "
                            "low_rank, tolerance_of_range: 1e-40}, multiply: fp32, accumulate: "
                            "fp64, draws: 3}]"}};
    autoptr(bb_results) plain = driver_results(
        CASE(CONFIG_WAFER_SMALL, {"scan.fields=[0]", "pipelines=[" REFERENCE ", " PLAIN "]"}));
    autoptr(bb_results) results = driver_results(&tight);
    assert_string_equal(driver_text(results, "status", "tight"), "not_held");
    const char *detail = driver_text(results, "status_detail", "tight");
    assert_non_null(strstr(detail, "tolerance_of_range 1e-40 of a matrix of range"));
    assert_non_null(strstr(detail, "the nearest is 8.272e-25")); // 2^-80
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        assert_true(isnan(driver_number(results, numbers[i], "tight")));
    }
    assert_true(driver_number(results, "draws_failed", "tight") == 3.0);
    assert_string_equal(driver_text(results, "status", "fp32"), "ok");
    assert_true(driver_number(results, "overlay_error_x_nm", "fp32") ==
                driver_number(plain, "overlay_error_x_nm", "fp32"));
#undef PLAIN
#undef REFERENCE
}

TEST_GROUP(.has_folder = true);
