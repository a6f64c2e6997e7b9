// SPDX-License-Identifier: Apache-2.0
//
// Wafer driver from configuration to results, on a coarse mesh: bit-exact invariants, order of
// errors by format, and scaling.
#include "physics/wafer/heat/thermal.h"
#include "sim/wafer/wafer_study.h"
#include "tests/sim/driver.h"

#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}"

static const driver_case small = {CONFIG_WAFER_SMALL, {NULL}};
static bb_results *usual; // of the small case

static int begin(void)
{
    return driver_run(&small, 2, &usual) == BB_OK ? 0 : -1;
}

static void leave(void)
{
    bb_results_destroy(&usual);
}

TEST(threads_do_not_change_a_bit)
{
    driver_check_threads(&small);
    driver_check_threads(CASE(CONFIG_WAFER_SMALL, {"response.generator=fem", "response.axes=[x, y]",
                                                   "mesh.spacing_mm=5.0", "scan.fields=[0]"}));
    driver_check_threads(CASE(CONFIG_WAFER_SMALL,
                              {"response.generator=plate", "mesh.spacing_mm=6.0", "scan.fields=[0]",
                               "clamp.burls={pitch_mm: 12.0, footprint_mm: 6.0, scatter: 0.2}"}));
}

TEST(fp64_is_the_reference_exactly)
{
    static const char *const zeros[] = {"qoi_relative_error", "overlay_error_x_nm",
                                        "overlay_error_y_nm", "height_error_nm"};
    const bb_results *results = usual;
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; ++i) {
        assert_true(driver_number(results, zeros[i], "fp64 again") == 0.0);
        assert_true(driver_number(results, zeros[i], "reference") == 0.0);
    }
    const bb_dataset *displacement = driver_dataset(results, "displacement_nm");
    size_t row = (size_t)(displacement->count / displacement->shape[0]) * sizeof(double);
    assert_memory_equal(driver_row(results, "displacement_nm", "fp64 again"),
                        driver_row(results, "displacement_nm", "reference"), row);
}

TEST(errors_order_by_format)
{
    static const char *const order[] = {"fp64 again", "fp32-acc64", "fp32", "fp16", "bf16", "e4m3"};
    static const char *const losses[] = {"qoi_relative_error", "overlay_error_x_nm",
                                         "overlay_error_y_nm"};
    const bb_results *results = usual;
    for (size_t loss = 0; loss < 3; ++loss) {
        for (size_t i = 1; i < sizeof order / sizeof *order; ++i) {
            double narrow = driver_number(results, losses[loss], order[i]);
            double wide = driver_number(results, losses[loss], order[i - 1]);
            if (!(narrow > wide)) {
                print_error("%s: %s %.3g, %s %.3g\n", losses[loss], order[i - 1], wide, order[i],
                            narrow);
                fail();
            }
        }
    }
    // Rounding to nearest bounds the relative error by half a unit in the last place of each value;
    // the sums have little cancellation.
    assert_true(driver_number(results, "qoi_relative_error", "fp32-acc64") < ldexp(1.0, -24));
    assert_true(driver_number(results, "qoi_relative_error", "fp16") < ldexp(1.0, -11));
    assert_true(driver_number(results, "qoi_relative_error", "bf16") < ldexp(1.0, -8));
    assert_true(driver_number(results, "qoi_relative_error", "e4m3") < ldexp(1.0, -4));
}

// In m/K every value is below fp16's smallest subnormal, 6e-8: all values underflow.
TEST(unscaled_fp16_underflows)
{
    const bb_results *results = usual;
    const bb_dataset *displacement = driver_dataset(results, "displacement_nm");
    const double *row = driver_row(results, "displacement_nm", "fp16 unscaled");
    for (bb_index i = 0; i < displacement->count / displacement->shape[0]; ++i) {
        assert_true(row[i] == 0.0);
    }
    assert_true(driver_number(results, "qoi_relative_error", "fp16 unscaled") == 1.0);
    // The missing part is the whole displacement.
    check_relative(driver_number(results, "overlay_error_x_nm", "fp16 unscaled"),
                   driver_row(results, "overlay_x_nm", "reference")[0], 1e-14);
    check_relative(driver_number(results, "overlay_error_y_nm", "fp16 unscaled"),
                   driver_row(results, "overlay_y_nm", "reference")[0], 1e-14);
    assert_string_equal(driver_text(results, "status", "fp16 unscaled"), "ok");
}

static void check_doubled(const bb_results *once, const bb_results *twice, const char *name,
                          double tolerance)
{
    const bb_dataset *a = driver_dataset(once, name);
    const bb_dataset *b = driver_dataset(twice, name);
    assert_int_equal(a->count, b->count);
    bb_index compared = 0;
    for (bb_index i = 0; i < a->count; ++i) {
        assert_true(isnan(a->numbers[i]) == isnan(b->numbers[i]));
        if (!isnan(a->numbers[i])) {
            check_relative(b->numbers[i], 2.0 * a->numbers[i], tolerance);
            ++compared;
        }
    }
    assert_true(compared > 0);
}

// Heat and displacement are linear in the dose, and a factor of 2 is exact: errors of the formats
// double, too.
TEST(overlay_is_linear_in_the_dose)
{
    const driver_case doubled = {CONFIG_WAFER_SMALL, {"scan.dose_mj_per_cm2=60.0"}};
    const bb_results *once = usual;
    autoptr(bb_results) twice = driver_results(&doubled);
    check_doubled(once, twice, "overlay_x_nm", 1e-12);
    check_doubled(once, twice, "overlay_y_nm", 1e-12);
    check_doubled(once, twice, "displacement_nm", 1e-12);
    check_doubled(once, twice, "overlay_error_x_nm", 1e-6);
    check_doubled(once, twice, "overlay_error_y_nm", 1e-6);
    for (size_t p = 0; p < 8; ++p) {
        check_relative(driver_dataset(twice, "qoi_relative_error")->numbers[p],
                       driver_dataset(once, "qoi_relative_error")->numbers[p], 1e-6);
    }
}

// Heat scales with the dose, with reflection, and with out-of-band light; without light there is
// none.
TEST_FULL(overlay_is_linear_in_the_absorption)
{
    autoptr(bb_results) a = driver_results(CASE(CONFIG_WAFER_SMALL, {"wafer.absorption=0.5"}));
    autoptr(bb_results) b = driver_results(CASE(CONFIG_WAFER_SMALL, {"wafer.absorption=0.0"}));
    check_doubled(a, usual, "overlay_x_nm", 1e-12);
    assert_true(driver_row(b, "overlay_x_nm", "reference")[0] == 0.0);
}

// Displacement is linear in the expansion coefficient, and overlay is computed per axis.
TEST(no_expansion_is_no_overlay)
{
    const driver_case study = {CONFIG_WAFER_SMALL, {"wafer.expansion_per_k=0.0"}};
    autoptr(bb_results) results = driver_results(&study);
    assert_true(driver_row(results, "overlay_x_nm", "reference")[0] == 0.0);
    assert_true(driver_number(results, "overlay_error_x_nm", "e4m3") == 0.0);
    // An error relative to zero is unknown, not 0.
    assert_true(isnan(driver_number(results, "qoi_relative_error", "e4m3")));
}

// A step just below the limit runs; one just above is refused before the run.
TEST(a_step_over_the_limit_is_refused)
{
    bb_results *results = NULL;
    autoptr(bb_config) config = driver_config(&small);
    const bb_wafer_study *study = bb_config_study(config);
    double limit_ms = 1e3 * bb_thermal_wafer_limit(&study->wafer, &study->clamp, &study->hood,
                                                   1e-3 * study->mesh.spacing_mm);
    check_close(limit_ms, 47.64, 1e-4, 47.64);
    char below[64];
    char above[64];
    (void)snprintf(below, sizeof below, "mesh.step_ms=%.17g", 0.999 * limit_ms);
    (void)snprintf(above, sizeof above, "mesh.step_ms=%.17g", 1.001 * limit_ms);
    const char *few = "pipelines=[" REFERENCE "]";
    const char *rows = "response.slit_points={columns: 3, rows: 60}";
    const driver_case fits = {CONFIG_WAFER_SMALL, {below, few, rows, "scan.fields=[0]"}};
    const driver_case too_long = {CONFIG_WAFER_SMALL, {above, few, rows, "scan.fields=[0]"}};
    check_ok(driver_run(&fits, 2, &results));
    bb_results_destroy(&results);
    check_fails(driver_run(&too_long, 2, &results), BB_INVALID, "1 problem");
}

TEST(x_and_y_are_enough)
{
    const driver_case turned = {CONFIG_WAFER_SMALL, {"response.axes=[y, x]"}};
    const bb_results *results = usual;
    autoptr(bb_results) flat = driver_results(CASE(CONFIG_WAFER_SMALL, {"response.axes=[x, y]"}));
    autoptr(bb_results) swapped = driver_results(&turned);
    assert_int_equal(driver_dataset(flat, "axis")->count, 2);
    assert_int_equal(driver_dataset(results, "axis")->count, 3);
    assert_string_equal(driver_dataset(swapped, "axis")->texts[0], "y");
    static const char *const names[] = {"overlay_x_nm", "overlay_y_nm", "overlay_error_x_nm",
                                        "overlay_error_y_nm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const bb_dataset *expected = driver_dataset(results, names[i]);
        size_t bytes = (size_t)expected->count * sizeof(double);
        assert_memory_equal(driver_dataset(flat, names[i])->numbers, expected->numbers, bytes);
        assert_memory_equal(driver_dataset(swapped, names[i])->numbers, expected->numbers, bytes);
    }
    const bb_dataset *displacement = driver_dataset(flat, "displacement_nm");
    bb_index points = displacement->shape[2];
    assert_memory_equal(driver_row(swapped, "displacement_nm", "fp16"),
                        driver_row(flat, "displacement_nm", "fp16") + points,
                        (size_t)points * sizeof(double));
    const double *heights = driver_dataset(flat, "height_error_nm")->numbers;
    check_all_nan(heights, 8);
}

static double difference(const bb_results *a, const bb_results *b, const char *name)
{
    return driver_row(a, name, "reference")[0] / driver_row(b, name, "reference")[0] - 1.0;
}

// Rows of finite elements include the wafer's edge; rows of the kernel belong to an infinite sheet:
// fields in the middle agree to mesh error, and fields at the edge differ by the edge effect.
TEST(both_generators_agree_but_for_the_edge)
{
#define COARSE "response.axes=[x, y]", "mesh.spacing_mm=4.0", "pipelines=[" REFERENCE "]"
    const char *const fields[] = {"scan.fields=[48]", "scan.fields=[44]"}; // x = 13, -91 mm
    double x[2];
    double y[2];
    for (int index = 0; index < 2; ++index) {
        const driver_case kernel = {CONFIG_WAFER_SMALL,
                                    {COARSE, fields[index], "response.generator=kernel"}};
        const driver_case fem = {CONFIG_WAFER_SMALL,
                                 {COARSE, fields[index], "response.generator=fem"}};
        autoptr(bb_results) a = driver_results(&kernel);
        autoptr(bb_results) b = driver_results(&fem);
        x[index] = difference(b, a, "overlay_x_nm");
        y[index] = difference(b, a, "overlay_y_nm");
    }
    print_message("fem over kernel - 1: middle %.2g, %.2g; edge %.2g, %.2g\n", x[0], y[0], x[1],
                  y[1]);
    assert_true(fabs(x[0]) < 0.02 && fabs(y[0]) < 0.06);
    assert_true(fabs(x[1]) > 0.1 && fabs(x[1]) < 0.4);
    assert_true(fabs(y[1]) > 0.06 && fabs(y[1]) < 0.2);
}

// In plane the plate is the membrane except for (d/2) grad w; in height it is the kernel except for
// the mesh.
TEST(the_plate_agrees_with_both)
{
#define ONE "mesh.spacing_mm=4.0", "scan.fields=[48]", "pipelines=[" REFERENCE "]"
    const driver_case kernel = {CONFIG_WAFER_SMALL, {ONE, "response.generator=kernel"}};
    const driver_case fem = {CONFIG_WAFER_SMALL,
                             {ONE, "response.generator=fem", "response.axes=[x, y]"}};
    const driver_case plate = {CONFIG_WAFER_SMALL, {ONE, "response.generator=plate"}};
    autoptr(bb_results) a = driver_results(&kernel);
    autoptr(bb_results) b = driver_results(&fem);
    autoptr(bb_results) c = driver_results(&plate);
    double x = difference(c, b, "overlay_x_nm");
    double y = difference(c, b, "overlay_y_nm");
    bb_index points = driver_dataset(c, "displacement_nm")->shape[2];
    const double *heights[2] = {driver_row(a, "displacement_nm", "reference") + 2 * points,
                                driver_row(c, "displacement_nm", "reference") + 2 * points};
    double worst = 0.0;
    double peak = 0.0;
    for (bb_index i = 0; i < points; ++i) {
        worst = fmax(worst, fabs(heights[0][i] - heights[1][i]));
        peak = fmax(peak, fabs(heights[0][i]));
    }
    print_message("plate over fem - 1: %.2g, %.2g; heights to %.2g of the kernel's %.2g nm\n", x, y,
                  worst / peak, peak);
    assert_true(fabs(x) < 0.01 && fabs(y) < 0.01 && x != 0.0 && worst < 0.05 * peak);
}

TEST_FULL(all_fields_are_scored)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_WAFER_SMALL, {"scan.fields=all", "mesh.spacing_mm=6.0", "response.axes=[x, y]",
                             "response.grid={columns: 20, rows: 19}", "metrology.columns=3",
                             "pipelines=[" REFERENCE
                             ", {name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}]"}));
    const bb_dataset *field = driver_dataset(results, "point_field");
    const bb_dataset *imbalance = bb_results_find(results, "energy/imbalance");
    const bb_dataset *state_of = driver_dataset(results, "overlay_status");
    assert_int_equal(imbalance->count, 96);
    assert_true(field->count > 1000);
    assert_true(field->numbers[field->count - 1] > 90.0);
    for (bb_index i = 0; i < state_of->count; ++i) {
        assert_string_equal(state_of->texts[i], "ok");
    }
    // A whole wafer determines the models, and a scanner's correction reduces the error.
    const double *x = driver_row(results, "overlay_x_nm", "reference");
    const double *y = driver_row(results, "overlay_y_nm", "reference");
    print_message("whole wafer: x %.3f, %.3f, %.3f nm; y %.3f, %.3f, %.3f nm\n", x[0], x[1], x[2],
                  y[0], y[1], y[2]);
    assert_true(x[2] < x[1] && x[1] < x[0] && y[2] < y[1] && y[1] < y[0]);
    // Heating is local: a correction per field removes more than any for the whole wafer.
    print_message("field by field: x %.3f, y %.3f nm\n", x[3], y[3]);
    assert_true(x[3] < x[2] && y[3] < y[2]);
    assert_non_null(strstr(driver_dataset(results, "correction_detail")->texts[3],
                           "fields with fewer than 12 points stay uncorrected"));
    double error = driver_number(results, "qoi_relative_error", "fp32");
    assert_true(error > 0.0 && error < ldexp(1.0, -24));
}

// Fields at one height leave one of the ten parameters undetermined: those results are NaN with a
// reason.
TEST(what_points_do_not_determine_is_nan)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG_WAFER_SMALL, {"scan.fields=[6]"}));
    const bb_dataset *states = driver_dataset(results, "overlay_status");
    const bb_dataset *details = driver_dataset(results, "correction_detail");
    bb_index models = states->shape[1];
    for (bb_index index = 0; index < states->count; index += models) {
        assert_string_equal(states->texts[index], "ok");
        assert_string_equal(states->texts[index + 2], "underdetermined");
        assert_true(isnan(driver_dataset(results, "overlay_x_nm")->numbers[index + 2]));
        assert_false(isnan(driver_dataset(results, "overlay_x_nm")->numbers[index]));
    }
    assert_string_equal(details->texts[0], "");
    assert_true(strlen(details->texts[2]) > 0);
    print_message("%s\n", details->texts[2]);
}

// A tolerance is relative to the range of one field's rows, whatever fields precede it.
TEST_FULL(tolerances_belong_to_a_field)
{
    static const char pipelines[] =
        "pipelines=[" REFERENCE ", {name: quantiser, storage: {codec: quantiser, "
        "tolerance_of_range: 1.0e-4}, multiply: fp32, accumulate: fp64}]";
    static const char *const fields[] = {"scan.fields=[0]", "scan.fields=[2]",
                                         "scan.fields=[0, 2]"};
    double bytes[3];
    for (int index = 0; index < 3; ++index) {
        autoptr(bb_results) results = driver_results(
            CASE(CONFIG_WAFER_SMALL, {"mesh.spacing_mm=6.0", fields[index], pipelines}));
        bytes[index] = driver_number(results, "operator_bytes", "quantiser");
    }
    assert_true(bytes[0] != bytes[1]);
    assert_true(bytes[2] == bytes[0] + bytes[1]);
}

// Pattern of Table 2 of Bamakhrama et al.: a fixed rate needs the most bits and has the largest
// error, a fixed accuracy needs the fewest, a fixed precision has the smallest error; their PSNR is
// -20 log10(nrmse) less 6.02 dB. configs/wafer/zfp-table2.yaml has the sizes.
TEST(zfp_modes_order_as_published)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_WAFER_SMALL,
        {"scan.fields=[0]", "response.axes=[x, y]", "mesh.spacing_mm=2.0", "mesh.step_ms=1.0",
         "response.grid={columns: 100, rows: 75}",
         "pipelines=[" REFERENCE
         ", {name: rate, storage: {codec: zfp, mode: rate, bits: 8.0}, multiply: fp32, accumulate: "
         "fp64}, {name: precision, storage: {codec: zfp, mode: precision, bits: 17}, multiply: "
         "fp32, accumulate: fp64}, {name: accuracy, storage: {codec: zfp, mode: accuracy, "
         "tolerance_of_range: 6.7e-5}, multiply: fp32, accumulate: fp64}]"}));
    for (int axis = 0; axis < 2; ++axis) {
        double rate = driver_row(results, "rmse", "rate")[axis];
        double precision = driver_row(results, "rmse", "precision")[axis];
        double accuracy = driver_row(results, "rmse", "accuracy")[axis];
        assert_true(precision < accuracy && accuracy < rate);
        double bits = driver_row(results, "bits_per_value", "accuracy")[axis];
        assert_true(bits < driver_row(results, "bits_per_value", "precision")[axis]);
        assert_true(bits < driver_row(results, "bits_per_value", "rate")[axis]);
        static const char *const names[] = {"rate", "precision", "accuracy"};
        for (int i = 0; i < 3; ++i) {
            double psnr = -20.0 * log10(driver_row(results, "nrmse", names[i])[axis]);
            check_relative(driver_row(results, "psnr_db", names[i])[axis], psnr, 1e-12);
            check_relative(driver_row(results, "psnr_zfp_db", names[i])[axis],
                           psnr - 20.0 * log10(2.0), 1e-12);
        }
    }
    // The loss follows the error of the values.
    assert_true(driver_number(results, "qoi_relative_error", "precision") <
                driver_number(results, "qoi_relative_error", "rate"));
}

// A wafer without heat capacity exceeds the range of fp32: pipelines that overflow fail and report
// where, the reference does not.
TEST(an_overflow_is_a_result)
{
    static const char *const losses[] = {"qoi_relative_error", "overlay_error_x_nm",
                                         "overlay_error_y_nm", "height_error_nm", "energy_j"};
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL, {"wafer.density_kg_per_m3=1.0e-38", "mesh.step_ms=1.0e-40"}));
    assert_string_equal(driver_text(results, "status", "reference"), "ok");
    assert_string_equal(driver_text(results, "status", "fp64 again"), "ok");
    assert_true(driver_number(results, "overlay_error_x_nm", "fp64 again") == 0.0);
    static const char *const failed[] = {"fp32-acc64", "fp32", "bf16", "e4m3"};
    for (size_t f = 0; f < sizeof failed / sizeof *failed; ++f) {
        assert_string_equal(driver_text(results, "status", failed[f]), "non_finite");
        assert_non_null(strstr(driver_text(results, "status_detail", failed[f]), "light step"));
        for (size_t i = 0; i < sizeof losses / sizeof *losses; ++i) {
            double value = driver_number(results, losses[i], failed[f]);
            if (!isnan(value)) {
                print_error("%s of %s is %g\n", losses[i], failed[f], value);
                fail();
            }
        }
        assert_true(isnan(driver_row(results, "overlay_x_nm", failed[f])[0]));
        assert_true(driver_number(results, "operator_bytes", failed[f]) > 0.0);
    }
    print_message("%s\n", driver_text(results, "status_detail", "fp32-acc64"));
}

TEST(the_output_is_planned)
{
    // The plan counts full fields; one at the edge has few points inside.
    const driver_case study = {CONFIG_WAFER_SMALL, {"scan.fields=[48]"}};
    autoptr(bb_results) results = driver_results(&study);
    driver_check_output_plan(&study, results);
}

TEST(bytes_are_those_of_the_formats)
{
    const bb_results *results = usual;
    double fp64 = driver_number(results, "operator_bytes", "reference");
    assert_true(fp64 == 2.0 * driver_number(results, "operator_bytes", "fp32-acc64"));
    // 6 points across, by rows; 40 x 37 cells, those outside the wafer masked; 3 axes and 2 fields.
    double cells = fp64 / 8.0 / (3.0 * 2.0) / (40.0 * 37.0);
    assert_true(cells == floor(cells) && fmod(cells, 6.0) == 0.0);
    assert_true(driver_number(results, "compression_ratio", "fp32-acc64") == 1.0);
    double live = driver_number(results, "compression_ratio_live", "fp32-acc64");
    assert_true(live > M_PI / 4.0 && live < 0.85); // cells on the rim are full
    double ratio = driver_number(results, "compression_ratio", "fp16");
    assert_true(ratio > 1.95 && ratio < 2.0); // one scale per row
    assert_true(driver_number(results, "compression_ratio", "fp16 unscaled") == 2.0);
    static const char *const names[] = {"reference", "fp16", "e4m3"};
    for (size_t i = 0; i < 3; ++i) {
        assert_true(driver_number(results, "flops", names[i]) > 0.0);
        assert_true(isnan(driver_number(results, "energy_j", names[i])));
        assert_true(driver_number(results, "saturated_values", names[i]) == 0.0);
    }
}

// Storage and arithmetic of every kind: no error exceeds its certificate.
TEST(certificates_hold)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_WAFER_SMALL,
        {"response.axes=[x, y]", "scan.fields=[0, 2]",
         "pipelines=[" REFERENCE
         ", {name: fp32-acc64, storage: fp32, multiply: fp32, accumulate: fp64}"
         ", {name: runs, storage: fp32, multiply: fp32, accumulate: fp64, accumulate_run: 64}"
         ", {name: fp32, storage: fp32, multiply: fp32, accumulate: fp32}"
         ", {name: e4m3, storage: e4m3, scale: row, multiply: fp32, accumulate: fp32}"
         ", {name: bfp8, storage: {codec: bfp, bits: 8}, multiply: fp32, accumulate: fp64}"
         ", {name: bfp4, storage: {codec: bfp, bits: 4}, multiply: fp32, accumulate: fp32}"
         ", {name: quantiser, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, "
         "multiply: fp32, accumulate: fp64}"
         ", {name: accuracy, storage: {codec: zfp, mode: accuracy, tolerance_of_range: 1.0e-4, "
         "dimensions: 2}, multiply: fp32, accumulate: fp64}"
         ", {name: rate, storage: {codec: zfp, mode: rate, bits: 4, dimensions: 3}, "
         "multiply: fp64, accumulate: fp64}"
         ", {name: tiles, storage: {codec: low_rank, tolerance_of_range: 1.0e-5}, "
         "multiply: fp32, accumulate: fp64}"
         ", {name: tiles-fp32, storage: {codec: low_rank, tolerance_of_range: 1.0e-4}, "
         "multiply: fp32, accumulate: fp32}"
         ", {name: blocks, storage: {codec: transform, tolerance_of_range: 1.0e-5}, "
         "multiply: fp32, accumulate: fp64}"
         ", {name: blocks-fp32, storage: {codec: transform, tolerance_of_range: 1.0e-4}, "
         "multiply: fp32, accumulate: fp32}]"}));
    const bb_dataset *bound = driver_dataset(results, "certified_bound_nm");
    const bb_dataset *coding = driver_dataset(results, "certified_coding_nm");
    const bb_dataset *error = driver_dataset(results, "certified_error_nm");
    const bb_dataset *looseness = driver_dataset(results, "certificate_looseness");
    const bb_dataset *violations = driver_dataset(results, "certificate_violations");
    const bb_dataset *unbounded = driver_dataset(results, "certificate_unbounded");
    assert_int_equal(bound->count, 28);
    for (bb_index i = 0; i < bound->count; ++i) {
        print_message("pipeline %td, axis %td: bound %.2e nm (storage %.2e), error %.2e nm, "
                      "median ratio %.3g\n",
                      i / 2, i % 2, bound->numbers[i], coding->numbers[i], error->numbers[i],
                      looseness->numbers[i]);
        assert_true(violations->numbers[i] == 0.0);
        assert_true(unbounded->numbers[i] == 0.0);
        assert_true(error->numbers[i] <= bound->numbers[i]);
        assert_true(coding->numbers[i] <= bound->numbers[i]);
        if (i >= 2) { // the reference is its own truth
            assert_true(error->numbers[i] > 0.0 && looseness->numbers[i] > 1.0);
            assert_true(looseness->numbers[i] < 1e5);
        } else {
            assert_true(isnan(looseness->numbers[i]) && coding->numbers[i] == 0.0);
        }
    }
}

TEST_GROUP(.begin = begin, .end = leave, .is_quiet = true);
