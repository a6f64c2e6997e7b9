// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/slit_grid.h"
#include "tests/physics/wafer/wafer_defaults.h"

static bb_response_config response(bb_index columns, bb_index rows)
{
    return (bb_response_config){.slit_points = {columns, rows}, .field_rows = BB_INTEGER_UNSET};
}

static bb_slit_grid grid_of(const bb_scan *scan, bb_index columns, bb_index rows)
{
    const bb_response_config config = response(columns, rows);
    bb_slit_grid grid;
    check_ok(bb_slit_grid_make(&config, scan, &grid));
    return grid;
}

// docs/manual/physics-wafer.md 1.2: 103 rows over 33 mm, a strip of 5.67 mm in a window of 5.77 mm.
TEST(seed_window_has_the_known_size)
{
    bb_slit_grid grid;
    bb_response_config config = response(21, 18);
    autoptr(bb_scan) scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, scan, &grid));
    assert_int_equal(grid.field_rows, 103);
    assert_int_equal(grid.field_points, 2163);
    assert_int_equal(grid.window_points, 378);
    check_close(bb_slit_grid_strip(scan), 5.67e-3, 5e-6, 1.0);
    check_close(18.0 * grid.pitch_y, 5.77e-3, 5e-6, 1.0);
    config = response(11, 9);
    check_ok(bb_slit_grid_make(&config, scan, &grid));
    assert_int_equal(grid.field_rows, 50);
    config.field_rows = 103;
    check_fails(bb_slit_grid_make(&config, scan, &grid), BB_INVALID, "expected at least 18 rows");
}

// Every point with dose in a step is at most a pitch outside the rows of the window.
TEST(window_follows_the_exposed_strip)
{
    autoptr(bb_scan) scan = fast_scan();
    const bb_slit_grid grid = grid_of(scan, 21, 18);
    double worst = 0.0;
    for (bb_index f = 44; f < 46; ++f) {
        const bb_field *field = &scan->fields[f];
        for (bb_index step = 0; step < 34; ++step) {
            bb_index offset = bb_slit_grid_offset(&grid, field, step);
            assert_true(offset >= 0 && offset + 18 <= 103);
            double low = bb_slit_grid_y(&grid, field, offset * 21);
            double high = bb_slit_grid_y(&grid, field, (offset + 17) * 21);
            for (int i = 0; i < 30 * 200; ++i) {
                double x = field->x + 0.026 * (i % 30 / 29.0 - 0.5);
                double y = field->y + 0.033 * (i / 30 / 199.0 - 0.5);
                if (bb_scan_dose_fraction(scan, field, step, x, y) > 0.0) {
                    worst = fmax(worst, fmax(low - y, y - high) / grid.pitch_y);
                }
            }
        }
    }
    print_message("extrapolated by at most %.2f rows\n", worst);
    assert_true(worst < 1.0);
}

TEST(points_span_the_field)
{
    autoptr(bb_scan) scan = fast_scan();
    const bb_slit_grid grid = grid_of(scan, 21, 18);
    const bb_field *field = &scan->fields[44];
    check_close(bb_slit_grid_x(&grid, field, 0), field->x - 0.013, 1e-15, 1.0);
    check_close(bb_slit_grid_x(&grid, field, 41), field->x + 0.013, 1e-15, 1.0);
    check_close(bb_slit_grid_y(&grid, field, 0), field->y - 0.0165 + 0.5 * grid.pitch_y, 1e-15,
                1.0);
    check_close(bb_slit_grid_y(&grid, field, 2162), field->y + 0.0165 - 0.5 * grid.pitch_y, 1e-15,
                1.0);
}

TEST(linear_fields_are_reproduced)
{
    autoptr(bb_scan) scan = fast_scan();
    const bb_slit_grid grid = grid_of(scan, 5, 18);
    const bb_field *field = &scan->fields[45];
    double window[5 * 18];
    for (bb_index p = 0; p < 90; ++p) {
        bb_index point = p + 40 * 5;
        window[p] = 3.0 + 200.0 * bb_slit_grid_x(&grid, field, point) -
                    70.0 * bb_slit_grid_y(&grid, field, point);
    }
    for (int i = 0; i < 20; ++i) {
        double x = field->x - 0.012 + 0.0012 * i;
        double y = field->y - 0.004 + 0.0003 * i;
        check_close(bb_slit_grid_interpolate(&grid, field, 40, window, x, y),
                    3.0 + 200.0 * x - 70.0 * y, 1e-13, 10.0);
    }
}

// Largest distance of a scored point with dose outside the rows of its window, in rows.
static double extrapolation(const bb_slit_grid *grid, const bb_metrology_config *points)
{
    double worst = 0.0;
    for (bb_index i = 0; i < 2 * grid->scan->light_steps; ++i) {
        const bb_field *field = &grid->scan->fields[44 + i % 2]; // up and down
        const bb_index step = i / 2;
        const bb_index offset = bb_slit_grid_offset(grid, field, step);
        const bb_index end = offset + grid->window_rows;
        assert_true(offset >= 0 && end <= grid->field_rows);
        const double low = bb_slit_grid_y(grid, field, offset * grid->columns);
        const double high = bb_slit_grid_y(grid, field, (end - 1) * grid->columns);
        for (bb_index p = 0; p < points->columns * points->rows; ++p) {
            const double across = ((double)(p % points->columns) + 0.5) / (double)points->columns;
            const double along = ((double)(p / points->columns) + 0.5) / (double)points->rows;
            const double x = field->x + (across - 0.5) * grid->scan->field_width;
            const double y = field->y + (along - 0.5) * grid->scan->field_height;
            if (bb_scan_dose_fraction(grid->scan, field, step, x, y) > 0.0) {
                worst = fmax(worst, fmax(low - y, y - high) / grid->pitch_y);
            }
        }
    }
    return worst;
}

// The windows of the shipped studies do not extrapolate any scored points (earlier versions did).
TEST(scored_points_are_never_extrapolated)
{
    static const struct {
        bb_index columns, rows, field_rows, light;
        bb_metrology_config points;
        bb_index expected; // rows of the field
    } cases[] = {
        {21, 18, 103, 34, {.columns = 13, .rows = 19}, 103},            // bamakhrama-fast
        {21, 18, 103, 81, {.columns = 13, .rows = 19}, 103},            // bamakhrama-slow
        {11, 9, BB_INTEGER_UNSET, 34, {.columns = 13, .rows = 19}, 50}, // quick
        {11, 5, BB_INTEGER_UNSET, 34, {.columns = 21, .rows = 21}, 0},  // the maximum that covers
                                                                        // them
    };
    double before = 0.0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        bb_slit_grid grid;
        bb_scan_config with = FAST_SCAN;
        with.light_steps = cases[c].light;
        bb_response_config config = response(cases[c].columns, cases[c].rows);
        config.field_rows = cases[c].field_rows;
        autoptr(bb_scan) scan = new_object(bb_scan, &with, 1e-3);
        check_ok(bb_slit_grid_make(&config, scan, &grid));
        before = fmax(before, extrapolation(&grid, &cases[c].points));
        const bb_index limit = grid.field_rows;
        check_ok(bb_slit_grid_fit_window(&config, &cases[c].points, &grid));
        if (cases[c].expected > 0) {
            assert_int_equal(grid.field_rows, cases[c].expected);
        }
        assert_true(grid.field_rows <= limit);
        assert_int_equal(grid.field_points, grid.columns * grid.field_rows);
        check_close((double)grid.field_rows * grid.pitch_y, 33e-3, 1e-15, 1.0);
        assert_true(extrapolation(&grid, &cases[c].points) < 1e-8);
    }
    print_message("before, by up to %.2f rows\n", before);
    assert_true(before > 0.01);
}

// Points beyond the first row of the field, and more than a window of given rows can cover.
TEST(windows_that_would_extrapolate_are_refused)
{
    bb_slit_grid grid;
    const bb_metrology_config many = {.columns = 13, .rows = 200};
    const bb_metrology_config dense = {.columns = 61, .rows = 101};
    bb_response_config config = response(21, 18);
    autoptr(bb_scan) scan = fast_scan();
    config.field_rows = 103;
    check_ok(bb_slit_grid_make(&config, scan, &grid));
    const bb_slit_grid before = grid;
    check_fails(bb_slit_grid_fit_window(&config, &many, &grid), BB_INVALID,
                "18 of 103 rows do not cover the 13 x 200 metrology points");
    check_fails(bb_slit_grid_fit_window(&config, &dense, &grid), BB_INVALID,
                "about 20 rows in the window");
    assert_memory_equal(&grid, &before, sizeof grid);
    config.slit_points.rows = 20;
    check_ok(bb_slit_grid_make(&config, scan, &grid));
    check_ok(bb_slit_grid_fit_window(&config, &dense, &grid));
}
