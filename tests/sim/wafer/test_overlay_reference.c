// SPDX-License-Identifier: Apache-2.0
//
// Reference of overlay: wafers that arrive off the water temperature and get no dose move like the
// evenly heated disc of docs/lab/physics-wafer.md 2.3 item 2, by the temperature change since
// alignment.
#include "sim/wafer/realtime/wafer_loop.h"
#include "tests/physics/wafer/response/disc_closed_forms.h"
#include "tests/physics/wafer/wafer_defaults.h"
#include "tests/sim/driver.h"

#define ONE "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}]"
#define TWO                                                                                        \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: e4m3, " \
    "storage: e4m3, scale: row, multiply: fp32, accumulate: fp64}]"
#define COLD    "scan.dose_mj_per_cm2=0.0", "response.axes=[x, y]", ONE, "scan.fields=[0, 2]"
#define HOT     "wafers.arrival_rise_k=0.5"
#define NO_HEAT "clamp.exchange_w_per_m2_k=0.0"
// A clamp that stays at water temperature, whatever heat it absorbs.
#define STEADY   "clamp.heat_capacity_j_per_m3_k=1e8", "clamp.thickness_mm=100.0"
#define ABSOLUTE "metrology.reference=none"
#define WATER    "wafers.stress_free=water"

// C / h_c of docs/manual/physics-wafer.md 1.1.
static const double TIME_CONSTANT = 2330.0 * 712.0 * 775e-6 / 1500.0;
static const double FIELD_TIME = 0.070; // of the small study, with 0.034 s of light

// Largest length of an in-plane displacement, nm.
static double longest(const bb_results *results)
{
    const bb_index points = driver_dataset(results, "point")->count;
    const double *u = driver_row(results, "displacement_nm", "reference");
    double maximum = 0.0;
    for (bb_index i = 0; i < points; ++i) {
        maximum = fmax(maximum, hypot(u[i], u[points + i]));
    }
    return maximum;
}

// Displacement of points by an arrival half a kelvin warmer, if it counts, and that it does not
// count.
TEST(a_hot_arrival_is_no_overlay)
{
    const driver_case counted = {CONFIG_WAFER_SMALL, {COLD, HOT, NO_HEAT, WATER, ABSOLUTE}};
    const driver_case usual = {CONFIG_WAFER_SMALL, {COLD, HOT, NO_HEAT}};
    const driver_case stress_free = {CONFIG_WAFER_SMALL, {COLD, HOT, NO_HEAT, ABSOLUTE}};
    const driver_case aligned = {CONFIG_WAFER_SMALL, {COLD, HOT, NO_HEAT, WATER}};
    const driver_case rested = {CONFIG_WAFER_SMALL,
                                {COLD, HOT, NO_HEAT, WATER, "metrology.alignment_s=0.25"}};
    const driver_case *const zero[] = {&usual, &stress_free, &aligned, &rested};
    bb_results *results = driver_results(&counted);
    const bb_index points = driver_dataset(results, "point")->count;
    const double *u = driver_row(results, "displacement_nm", "reference");
    const double *x = driver_dataset(results, "point_x_mm")->numbers;
    const double *y = driver_dataset(results, "point_y_mm")->numbers;
    const bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    const double scale = sqrt(plate.membrane / plate.tangential);
    double worst = 0.0;
    for (bb_index i = 0; i < points; ++i) {
        const double r = hypot(x[i], y[i]);
        const double exact = 5.0 * 1e9 * sprung_disc(1e-3 * r, 0.0, scale); // rise of 0.1 K
        worst = fmax(worst, hypot(u[i] - exact * x[i] / r, u[points + i] - exact * y[i] / r));
    }
    print_message("0.5 K without dose: %.2f nm, off the closed form by %.2g nm\n", longest(results),
                  worst);
    assert_true(longest(results) > 40.0 && worst < 0.02 * longest(results));
    bb_results_destroy(&results);
    for (size_t c = 0; c < sizeof zero / sizeof *zero; ++c) {
        results = driver_results(zero[c]);
        assert_true(longest(results) < 1e-9);
        bb_results_destroy(&results);
    }
}

// Displacement of every point over that of `full`, for half a kelvin: between `low` and `high` for
// the points of a field, which the slit passes during its light steps.
static void expect_parts(const bb_results *results, const bb_results *full, double metadata,
                         double start)
{
    const bb_index points = driver_dataset(results, "point")->count;
    const double *field = driver_dataset(results, "point_field")->numbers;
    const double *u = driver_row(results, "displacement_nm", "reference");
    const double *all = driver_row(full, "displacement_nm", "reference");
    for (bb_index i = 0; i < 2 * points; ++i) {
        const double begin = start + FIELD_TIME * field[i % points];
        const double high = exp(-begin / TIME_CONSTANT) - metadata;
        const double low = exp(-(begin + 0.034) / TIME_CONSTANT) - metadata;
        const double part = u[i] / all[i];
        if (!(part <= high + 2e-3 && part >= low - 2e-3)) {
            print_error("point %td: %.5f, expected %.5f to %.5f\n", i, part, low, high);
            fail();
        }
    }
}

// On a cold clamp a uniform wafer cools by exp(-t h_c / C) from its temperature at alignment.
TEST(an_even_wafer_cools_exponentially)
{
    const driver_case whole_of = {CONFIG_WAFER_SMALL, {COLD, HOT, NO_HEAT, WATER, ABSOLUTE}};
    autoptr(bb_results) full = driver_results(&whole_of);
    const double half = exp(-0.5 / TIME_CONSTANT);
    const struct {
        const driver_case *study;
        double metadata, start; // u over full; s from gripping to the first exposure
    } cases[] = {
        {CASE(CONFIG_WAFER_SMALL, {COLD, HOT, STEADY}), 1.0, 0.0},
        {CASE(CONFIG_WAFER_SMALL, {COLD, HOT, STEADY, WATER, ABSOLUTE}), 0.0, 0.0},
        {CASE(CONFIG_WAFER_SMALL, {COLD, HOT, STEADY, "metrology.alignment_s=0.5"}), half, 0.5},
        {CASE(CONFIG_WAFER_SMALL, {COLD, HOT, STEADY, "metrology.alignment_s=0.5", ABSOLUTE}), 1.0,
         0.5},
    };
    assert_true(TIME_CONSTANT > 0.85 && TIME_CONSTANT < 0.9);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autoptr(bb_results) results = driver_results(cases[c].study);
        expect_parts(results, full, cases[c].metadata, cases[c].start);
    }
}

// Results of every pipeline if all references coincide with the state at rest: bit-identical to
// runs without references.
TEST_FULL(a_wafer_at_rest_has_one_reference)
{
    const driver_case later = {CONFIG_WAFER_SMALL, {TWO, "metrology.alignment_s=0.01"}};
    const driver_case *const cases[] = {CASE(CONFIG_WAFER_SMALL, {TWO, WATER, ABSOLUTE}), &later};
    autoptr(bb_results) a = driver_results(CASE(CONFIG_WAFER_SMALL, {TWO}));
    const bb_dataset *expected = driver_dataset(a, "displacement_nm");
    for (size_t c = 0; c < 2; ++c) {
        autoptr(bb_results) b = driver_results(cases[c]);
        assert_memory_equal(driver_dataset(b, "displacement_nm")->numbers, expected->numbers,
                            (size_t)expected->count * sizeof(double));
    }
}

// Each wafer of a lot is aligned separately. Subtracting the lot mean leaves the differences that
// the spreads describe.
TEST(lots_are_aligned_wafer_by_wafer)
{
#define LOT                                                                                        \
    "scan.order=given", "scan.sequence=[50, 49]", "scan.fields=[0]", "response.axes=[x, y]", TWO,  \
        "wafers={count: 3, exchange_s: 0.3, arrival_rise_k: 0.1, scored: all}"
    enum { WAFERS = 3, AXES = 2, SPREADS = 4, DIRECTIONS = 3 };
    const driver_case centred = {CONFIG_WAFER_SMALL, {LOT, "metrology.lot_mean=true"}};
    autoptr(bb_results) a = driver_results(CASE(CONFIG_WAFER_SMALL, {LOT}));
    autoptr(bb_results) b = driver_results(&centred);
    const bb_index points = driver_dataset(a, "point")->count;
    const double *u = driver_dataset(a, "wafer_displacement_nm")->numbers;
    const double *remainder = driver_dataset(b, "wafer_displacement_nm")->numbers;
    double maximum = 0.0;
    for (bb_index i = 0; i < 2 * AXES; ++i) { // pipelines and axes
        for (bb_index k = 0; k < points; ++k) {
            double sum = 0.0;
            for (bb_index w = 0; w < WAFERS; ++w) {
                sum += u[(i * WAFERS + w) * points + k];
            }
            for (bb_index w = 0; w < WAFERS; ++w) {
                const bb_index item = (i * WAFERS + w) * points + k;
                check_close(remainder[item], u[item] - sum / WAFERS, 1e-13, 1.0);
                maximum = fmax(maximum, fabs(remainder[item]));
            }
        }
    }
    assert_true(maximum > 1e-4); // the clamp is warmer under later wafers
    const double *spread = driver_dataset(a, "wafer_to_wafer_nm")->numbers;
    const double *same = driver_dataset(b, "wafer_to_wafer_nm")->numbers;
    for (bb_index i = 0; i < 2 * 3 * 2 * SPREADS; ++i) { // x and y; pooled m3s differs
        const bb_index item = i / (2 * SPREADS) * DIRECTIONS * SPREADS + i % (2 * SPREADS);
        if (item % SPREADS != 3) {
            check_close(same[item], spread[item], 1e-12, 1.0);
        }
    }
    assert_true(driver_row(b, "overlay_headline_nm", "reference")[0] <
                0.1 * driver_row(a, "overlay_headline_nm", "reference")[0]);
}

// The lot mean is subtracted from every draw: the losses of the draws are similar, and no draw
// shows the common part.
TEST(draws_of_a_lot_are_centred_each)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_WAFER_SMALL,
        {LOT, "metrology.lot_mean=true",
         "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: "
         "drawn, storage: {codec: bfp, bits: 8}, draws: 4, multiply: fp32, accumulate: fp64}]"}));
    const double loss = fmax(driver_number(results, "overlay_error_x_nm", "drawn"),
                             driver_number(results, "overlay_error_y_nm", "drawn"));
    print_message("%g nm as it is, %g nm the worst of 4 draws\n", loss,
                  driver_number(results, "loss_worst", "drawn"));
    assert_true(driver_number(results, "loss_worst", "drawn") < 10.0 * loss);
}

// The loop on a GPU starts from a wafer at rest and refuses others.
TEST(the_loop_takes_wafers_at_the_waters_temperature)
{
    autoptr(bb_config) config = driver_config(CASE(CONFIG_WAFER_SMALL, {TWO, HOT}));
    const bb_wafer_study *study = bb_config_study(config);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    check_fails(bb_wafer_loop_check(study, &pipelines[1]), BB_UNSUPPORTED,
                "wafers.arrival_rise_k = 0.5");
}

TEST_GROUP(.is_quiet = true);
