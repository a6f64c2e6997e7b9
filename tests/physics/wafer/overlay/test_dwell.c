// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/dwell.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const bb_metrology_config POINTS = {.columns = 13, .rows = 19};

typedef struct setup {
    bb_scan *scan;
    bb_slit_grid slit;
    bb_dwell *dwell;
} setup;

static setup make(bb_index field)
{
    setup made = {0};
    bb_response_config config = {.slit_points = {21, 18}, .field_rows = BB_INTEGER_UNSET};
    made.scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, made.scan, &made.slit));
    check_ok(bb_dwell_create(&made.slit, &made.scan->fields[field], &POINTS, &made.dwell));
    check_ok(bb_dwell_list(made.dwell));
    return made;
}

static void drop(setup *made)
{
    bb_dwell_destroy(&made->dwell);
    bb_scan_destroy(&made->scan);
}

// u linear in position and time: MA is u at the point and at the dose-weighted mean time.
TEST(weights_sum_to_the_dose_and_linear_fields_pass)
{
    for (bb_index f = 44; f < 46; ++f) {
        autocall(drop) setup scene = make(f);
        bb_dwell *dwell = scene.dwell;
        const bb_field *field = &dwell->field;
        double window[378];
        assert_int_equal(dwell->count, 13 * 19);
        for (bb_index step = 0; step < 34; ++step) {
            bb_index first = 21 * bb_slit_grid_offset(&scene.slit, field, step);
            for (bb_index p = 0; p < 378; ++p) {
                window[p] = 1e-6 * bb_slit_grid_x(&scene.slit, field, first + p) -
                            2e-6 * bb_slit_grid_y(&scene.slit, field, first + p) +
                            1e-10 * (double)step;
            }
            bb_dwell_add(dwell, step, window);
        }
        for (bb_index i = 0; i < dwell->count; ++i) {
            double time = 0.0;
            double square = 0.0;
            for (bb_index step = 0; step < 34; ++step) {
                double dose =
                    bb_scan_dose_fraction(scene.scan, field, step, dwell->x[i], dwell->y[i]);
                time += dose * (double)step;
                square += dose * (double)(step * step);
            }
            check_close(dwell->weight[i], 1.0, 1e-13, 1.0);
            check_close(dwell->mean[i], 1e-6 * dwell->x[i] - 2e-6 * dwell->y[i] + 1e-10 * time,
                        1e-12, 1e-7);
            check_close(bb_dwell_deviation(dwell, i), 1e-10 * sqrt(square - time * time), 1e-5,
                        1e-10);
        }
        bb_dwell_reset(dwell);
        assert_true(dwell->weight[0] == 0.0 && dwell->mean[5] == 0.0);
    }
}

TEST(points_outside_the_usable_radius_are_not_scored)
{
    autocall(drop) setup scene = make(0);
    assert_true(scene.dwell->count > 0 && scene.dwell->count < 13 * 19);
    for (bb_index i = 0; i < scene.dwell->count; ++i) {
        assert_true(hypot(scene.dwell->x[i], scene.dwell->y[i]) <= 0.147);
    }
}
