// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/delivery.h"
#include "tests/physics/wafer/wafer_defaults.h"

enum { STEPS = 34, POINTS = 378 };

static void check_plan(const bb_delivery_config *config, bb_index count, const bb_index *expected)
{
    bb_index got[16];
    bb_delivery_plan(config, 5, count, got);
    for (bb_index n = 0; n < count; ++n) {
        assert_int_equal(got[n], expected[n]);
    }
}

TEST(the_last_valid_correction_stays_in_force)
{
    bb_index two[] = {2, 3};
    bb_index first[] = {0};
    const bb_delivery_config on_time = {.seed = 1};
    const bb_delivery_config late = {.late_steps = 1};
    const bb_delivery_config missed = {.missed_steps = {two, 2}};
    const bb_delivery_config both = {.late_steps = 2, .missed_steps = {two, 2}};
    const bb_delivery_config never = {.late_steps = 7};
    const bb_delivery_config without_first = {.missed_steps = {first, 1}};
    check_plan(&on_time, 6, (const bb_index[]){0, 1, 2, 3, 4, 5});
    check_plan(&late, 6, (const bb_index[]){-1, 0, 1, 2, 3, 4});
    check_plan(&missed, 6, (const bb_index[]){0, 1, 1, 1, 4, 5});
    check_plan(&both, 8, (const bb_index[]){-1, -1, 0, 1, 1, 1, 4, 5});
    check_plan(&never, 6, (const bb_index[]){-1, -1, -1, -1, -1, -1});
    check_plan(&without_first, 3, (const bb_index[]){-1, 1, 2});
    assert_true(bb_delivery_on_time(&on_time));
    assert_false(bb_delivery_on_time(&late) || bb_delivery_on_time(&missed));
}

// The draw depends only on seed, exposure and step, and has the requested fraction.
TEST(misses_are_drawn_at_their_rate)
{
    enum { FIELDS = 1000 };
    const bb_delivery_config config = {.missed_fraction = 0.1, .seed = 7};
    const bb_delivery_config other = {.missed_fraction = 0.1, .seed = 8};
    const bb_delivery_config all = {.missed_fraction = 1.0, .seed = 7};
    bb_index count = 0;
    bb_index differing = 0;
    for (bb_index field = 0; field < FIELDS; ++field) {
        for (bb_index n = 0; n < STEPS; ++n) {
            bool missed = bb_delivery_misses(&config, field, STEPS, n);
            count += missed;
            differing += missed != bb_delivery_misses(&other, field, STEPS, n);
            assert_true(missed == bb_delivery_misses(&config, 0, STEPS, field * STEPS + n));
            assert_true(bb_delivery_misses(&all, field, STEPS, n));
        }
    }
    // Binomial: sigma = sqrt(N p (1 - p)); two seeds differ in 2 p (1 - p) of the steps.
    double trials = FIELDS * STEPS;
    print_message("%td of %.0f missed, %td differ by seed\n", count, trials, differing);
    assert_true(fabs((double)count - 0.1 * trials) < 5.0 * sqrt(0.09 * trials));
    assert_true(fabs((double)differing - 0.18 * trials) < 5.0 * sqrt(0.18 * 0.82 * trials));
}

typedef struct setup {
    bb_scan *scan;
    bb_slit_grid slit;
    bb_dwell *dwell;
    double truth[STEPS * POINTS], model[STEPS * POINTS];
} setup;

static void make(setup *out)
{
    const bb_metrology_config metrology = {.columns = 5, .rows = 7};
    const bb_response_config config = {.slit_points = {21, 18}, .field_rows = BB_INTEGER_UNSET};
    out->scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, out->scan, &out->slit));
    check_ok(bb_dwell_create(&out->slit, &out->scan->fields[45], &metrology, &out->dwell));
    check_ok(bb_dwell_list(out->dwell));
    assert_int_equal(out->slit.window_points, POINTS);
}

static void drop(setup *made)
{
    bb_dwell_destroy(&made->dwell);
    bb_scan_destroy(&made->scan);
}

// u of 1 + n^2 nm everywhere in step n; late by one and steps 15 and 16 missed, the residual of
// step n is u_n - u_k(n), and MA and MSD are its dose-weighted mean and deviation.
TEST(residuals_are_weighted_by_dose)
{
    static setup scene;
    bb_index two[] = {15, 16};
    const bb_delivery_config config = {.late_steps = 1, .missed_steps = {two, 2}};
    bb_index in_force[STEPS];
    make(&scene);
    for (bb_index i = 0; i < STEPS * POINTS; ++i) {
        double n = (double)(i / POINTS);
        scene.truth[i] = scene.model[i] = 1e-9 * (1.0 + n * n);
    }
    bb_delivery_plan(&config, 45, STEPS, in_force);
    check_ok(bb_delivery_residual(STEPS, in_force, scene.truth, scene.model, scene.dwell));
    bb_index with_held = 0;
    for (bb_index i = 0; i < scene.dwell->count; ++i) {
        double mean = 0.0;
        double square = 0.0;
        for (bb_index n = 0; n < STEPS; ++n) {
            double k = n <= 15 ? (double)(n - 1) : (double)(n <= 17 ? 14 : n - 1);
            double rest = 1.0 + (double)(n * n) - (n == 0 ? 0.0 : 1.0 + k * k);
            double dose = bb_scan_dose_fraction(scene.scan, &scene.dwell->field, n,
                                                scene.dwell->x[i], scene.dwell->y[i]);
            mean += dose * rest;
            square += dose * rest * rest;
            with_held += dose > 0.0 && (n == 16 || n == 17);
        }
        check_close(scene.dwell->mean[i], 1e-9 * mean, 1e-12, 1e-7);
        check_close(bb_dwell_deviation(scene.dwell, i),
                    1e-9 * sqrt(fmax(square - mean * mean, 0.0)), 1e-5, 1e-8);
    }
    assert_true(with_held > 0);
    drop(&scene);
}

TEST(the_truth_on_time_leaves_exactly_nothing)
{
    static setup scene;
    const bb_delivery_config config = {0};
    bb_index in_force[STEPS];
    make(&scene);
    for (bb_index i = 0; i < STEPS * POINTS; ++i) {
        scene.truth[i] = scene.model[i] = 1e-9 * sin(0.37 * (double)i);
    }
    bb_delivery_plan(&config, 45, STEPS, in_force);
    check_ok(bb_delivery_residual(STEPS, in_force, scene.truth, scene.model, scene.dwell));
    for (bb_index i = 0; i < scene.dwell->count; ++i) {
        assert_true(scene.dwell->mean[i] == 0.0 && bb_dwell_deviation(scene.dwell, i) == 0.0);
    }
    // Windows keep their position in the slit: the window of step n - 1 at the rows of step n.
    const bb_delivery_config late = {.late_steps = 1};
    bb_delivery_plan(&late, 45, STEPS, in_force);
    for (bb_index i = 0; i < STEPS * POINTS; ++i) {
        scene.truth[i] = scene.model[i] = 1e-9 * sin(0.37 * (double)(i % POINTS));
    }
    bb_dwell_reset(scene.dwell);
    check_ok(bb_delivery_residual(STEPS, in_force, scene.truth, scene.model, scene.dwell));
    for (bb_index i = 0; i < scene.dwell->count; ++i) {
        bool first = bb_scan_dose_fraction(scene.scan, &scene.dwell->field, 0, scene.dwell->x[i],
                                           scene.dwell->y[i]) > 0.0;
        assert_true(first || scene.dwell->mean[i] == 0.0);
    }
    drop(&scene);
}
