// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/scan.h"
#include "tests/physics/wafer/wafer_defaults.h"

// docs/manual/physics-wafer.md 1.2: 96 fields, 58 of them full.
TEST(canonical_layout_has_96_fields)
{
    autoptr(bb_scan) scan = fast_scan();
    bb_index full = 0;
    for (bb_index i = 0; i < scan->field_count; ++i) {
        full += scan->fields[i].full;
    }
    assert_int_equal(scan->field_count, 96);
    assert_int_equal(full, 58);
}

TEST(order_is_a_meander_with_alternating_scans)
{
    autoptr(bb_scan) scan = fast_scan();
    int sense = 1;
    assert_int_equal(scan->fields[0].row, -4);
    for (bb_index i = 0; i < scan->field_count; ++i) {
        const bb_field *field = &scan->fields[i];
        assert_int_equal(field->first_step, 70 * i);
        assert_int_equal(field->up, i % 2 == 0);
        if (i == 0) {
            continue;
        }
        if (field->row != field[-1].row) {
            assert_int_equal(field->row, field[-1].row + 1);
            sense = -sense;
        } else {
            assert_int_equal(field->column, field[-1].column + sense);
        }
    }
}

// docs/manual/physics-wafer.md 1.2: sagitta 2.96 mm, 1.105 m/s in 34 steps and 0.464 m/s in 81.
TEST(slit_has_the_known_speed)
{
    bb_scan_config slow = FAST_SCAN;
    slow.light_steps = 81;
    slow.dark_steps = 29;
    autoptr(bb_scan) scan = fast_scan();
    check_close(scan->sagitta, 2.96e-3, 0.005e-3, 1.0);
    check_close(scan->speed, 1.105, 0.0005, 1.0);
    bb_scan_destroy(&scan);
    check_ok(bb_scan_create(&slow, 1e-3, &scan));
    check_close(scan->speed, 0.464, 0.0005, 1.0);
}

TEST(every_point_gets_the_whole_dose)
{
    autoptr(bb_scan) scan = fast_scan();
    for (bb_index i = 40; i < 42; ++i) {
        const bb_field *field = &scan->fields[i];
        for (int point = 0; point < 25; ++point) {
            double x = field->x + 0.013 * (point % 5 - 2) / 2.0;
            double y = field->y + 0.0165 * (double)(point / 5 - 2) / 2.0;
            double sum = 0.0;
            for (bb_index step = 0; step < scan->light_steps; ++step) {
                sum += bb_scan_dose_fraction(scan, field, step, x, y);
            }
            check_close(sum, 1.0, 1e-13, 1.0);
        }
    }
}

TEST(down_scan_is_an_up_scan_turned_in_time)
{
    autoptr(bb_scan) scan = fast_scan();
    bb_field up = scan->fields[40];
    bb_field down = up;
    down.up = false;
    for (bb_index step = 0; step < 34; ++step) {
        double got = bb_scan_dose_fraction(scan, &down, step, up.x + 0.004, up.y + 0.003);
        double expected = bb_scan_dose_fraction(scan, &up, 33 - step, up.x + 0.004, up.y + 0.003);
        check_close(got, expected, 1e-12, 1.0);
    }
}

TEST(circle_area_is_exact)
{
    double pi = acos(-1.0);
    check_relative(bb_field_area_inside(2.0, -3.0, 3.0, -3.0, 3.0), 4.0 * pi, 1e-14);
    check_relative(bb_field_area_inside(2.0, 0.0, 3.0, 0.0, 3.0), pi, 1e-14);
    check_relative(bb_field_area_inside(2.0, -1.0, 1.0, -1.0, 1.0), 4.0, 1e-14);
    check_close(bb_field_area_inside(2.0, 2.5, 3.0, 0.0, 1.0), 0.0, 1e-14, 1.0);
    // Segment of height 1: R^2 acos(1/2) - sqrt(3).
    check_relative(bb_field_area_inside(2.0, -3.0, 3.0, 1.0, 3.0), 4.0 * acos(0.5) - sqrt(3.0),
                   1e-13);
}

TEST(a_given_order_and_doses_are_kept)
{
    bb_index sequence[] = {50, 3, 95};
    bb_field_dose doses[] = {{2, 71.0}, {0, 0.0}};
    bb_scan_config config = FAST_SCAN;
    config.order = BB_SCAN_GIVEN;
    config.sequence = (bb_list){sequence, 3};
    config.doses = (bb_list){doses, 2};
    autoptr(bb_scan) meander = fast_scan();
    autoptr(bb_scan) scan = new_object(bb_scan, &config, 1e-3);
    const double expected[] = {0.0, 300.0, 710.0};
    assert_int_equal(scan->field_count, 3);
    for (bb_index e = 0; e < 3; ++e) {
        const bb_field *field = &scan->fields[e];
        assert_true(field->x == meander->fields[sequence[e]].x);
        assert_true(field->y == meander->fields[sequence[e]].y);
        assert_int_equal(field->up, e % 2 == 0);
        assert_int_equal(field->first_step, 70 * e);
        check_close(field->dose, expected[e], 1e-12, 710.0);
    }
}

TEST(bad_scans_are_refused)
{
    bb_scan *scan = NULL;
    bb_scan_config config = FAST_SCAN;
    bb_index scored[] = {40, 96};
    config.fields = (bb_list){scored, 2};
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "expected 0..95");
    config = FAST_SCAN;
    config.slit_arc_radius_mm = 13.0;
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "slit_arc_radius_mm = 13");
    bb_index sequence[] = {4, 7, 4};
    config = FAST_SCAN;
    config.sequence = (bb_list){sequence, 2};
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "with scan.order = given only");
    config.order = BB_SCAN_GIVEN;
    config.sequence.count = 3;
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "field 4 twice, at 0 and 2");
    sequence[2] = 96;
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "field 96, expected 0..95");
    sequence[2] = 5;
    bb_field_dose late = {3, 10.0};
    config.doses = (bb_list){&late, 1};
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "exposure 3, expected 0..2");
    config.doses.count = 0;
    config.fields = (bb_list){&sequence[2], 1};
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "scan.fields: 5");
}

// 26 x 33 mm fields with the grid shifted by half a field: a column is then centred on x = 0, and
// an edge of rows is on y = 0.
TEST(an_offset_shifts_the_grid)
{
    bb_scan_config config = FAST_SCAN;
    config.offset_x_mm = -13.0;
    config.offset_y_mm = 16.5;
    autoptr(bb_scan) scan = new_object(bb_scan, &config, 1e-3);
    double area = 0.0;
    for (bb_index e = 0; e < scan->field_count; ++e) {
        const bb_field *field = &scan->fields[e];
        check_close(remainder(field->x, 0.026), 0.0, 1e-15, 1.0);
        check_close(remainder(field->y - 0.0165, 0.033), 0.0, 1e-15, 1.0);
        area += bb_scan_part_inside(scan, field) * 0.026 * 0.033;
        assert_int_equal(field->full, bb_scan_part_inside(scan, field) > 1.0 - 1e-12);
    }
    // All of the disc except slivers is exposed, on both sides.
    const double disc = acos(-1.0) * 0.147 * 0.147;
    assert_true(area > 0.99 * disc && area <= disc);
}

// The grid's own fields as a layout, shuffled, give the grid's scan.
TEST(a_layout_of_the_grid_is_the_grid)
{
    bb_field_place places[96];
    bb_scan_config config = FAST_SCAN;
    autoptr(bb_scan) grid = fast_scan();
    for (bb_index i = 0; i < 96; ++i) {
        const bb_index e = (35 * i + 11) % 96;
        const bb_field *field = &grid->fields[e];
        places[i] = (bb_field_place){1e3 * field->x + 5.0, 1e3 * field->y - 2.0, NAN,
                                     i % 3 == 0  ? -1
                                     : field->up ? (int)BB_DIRECTION_UP
                                                 : (int)BB_DIRECTION_MINUS_ONE,
                                     10 * e + 1};
    }
    config.layout = (bb_list){places, 96};
    config.offset_x_mm = -5.0;
    config.offset_y_mm = 2.0;
    autoptr(bb_scan) scan = new_object(bb_scan, &config, 1e-3);
    assert_int_equal(scan->field_count, 96);
    for (bb_index e = 0; e < 96; ++e) {
        const bb_field *field = &scan->fields[e];
        check_close(field->x, grid->fields[e].x, 1e-15, 1.0);
        check_close(field->y, grid->fields[e].y, 1e-15, 1.0);
        assert_true(field->dose == grid->fields[e].dose);
        assert_int_equal(field->up, grid->fields[e].up);
        assert_int_equal(field->full, grid->fields[e].full);
        assert_int_equal(field->first_step, grid->fields[e].first_step);
    }
}

TEST(a_layout_says_dose_and_direction)
{
    enum { U = BB_INTEGER_UNSET };
    bb_field_place places[] = {{0.0, 0.0, 41.0, BB_DIRECTION_DOWN, U},
                               {26.0005, 0.0, NAN, BB_DIRECTION_PLUS_ONE, U},
                               {-25.9995, 0.0, 0.0, BB_DIRECTION_ONE, U},
                               {0.0, 33.0, NAN, -1, U}};
    const double doses[] = {410.0, 300.0, 0.0, 300.0};
    const bool up[] = {false, true, true, false};
    bb_scan_config config = FAST_SCAN;
    config.layout = (bb_list){places, 4};
    autoptr(bb_scan) scan = new_object(bb_scan, &config, 1e-3);
    for (bb_index e = 0; e < 4; ++e) {
        check_close(scan->fields[e].dose, doses[e], 1e-13, 410.0);
        assert_int_equal(scan->fields[e].up, up[e]);
        check_close(scan->fields[e].x, 1e-3 * places[e].x_mm, 1e-15, 1.0);
    }
}

TEST(bad_layouts_are_refused)
{
    enum { U = BB_INTEGER_UNSET };
    const struct {
        bb_field_place places[3];
        const char *message;
    } cases[] = {
        {{{0, 0, NAN, -1, 1}, {30, 0, NAN, -1, 2}, {60, 0, NAN, -1, U}},
         "scan.layout.2.order: missing, expected an order for every field of the layout or for "
         "none"},
        {{{0, 0, NAN, -1, U}, {30, 0, NAN, -1, 7}, {60, 0, NAN, -1, U}},
         "scan.layout.1.order: the first field has none"},
        {{{0, 0, NAN, -1, 5}, {30, 0, NAN, -1, 2}, {60, 0, NAN, -1, 5}},
         "scan.layout.2.order: 5 is also that of scan.layout.0, expected each once"},
        {{{0, 0, NAN, -1, U}, {60, 0, NAN, -1, U}, {25.9, 32.9, NAN, -1, U}},
         "scan.layout.2.x_mm: the field at (25.9, 32.9) mm overlaps scan.layout.0 at (0, 0)"},
        {{{0, 0, NAN, -1, 3}, {60, 0, NAN, -1, 2}, {160, 0, NAN, -1, 1}},
         "scan.layout.2.x_mm: the field at (160, 0) mm has"},
    };
    bb_scan *scan = NULL;
    bb_field_place places[3];
    bb_scan_config config = FAST_SCAN;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        memcpy(places, cases[i].places, sizeof places);
        config.layout = (bb_list){places, 3};
        check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, cases[i].message);
    }
    // On the wafer only because of its offset.
    config.offset_x_mm = -20.0;
    check_ok(bb_scan_create(&config, 1e-3, &scan));
    bb_scan_destroy(&scan);
    bb_field_dose dose = {0, 10.0};
    config.doses = (bb_list){&dose, 1};
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "scan.doses: remove it");
    config.doses.count = 0;
    config.order = BB_SCAN_GIVEN;
    check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, "scan.order: expected meander");
}
