// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/overlay_report.h"
#include "tests/check.h"

enum { FIELDS = 4, A_FIELD = 30, POINTS = FIELDS * A_FIELD };

static double x[POINTS], y[POINTS], field_x[POINTS], field_y[POINTS], dx[POINTS], dy[POINTS];

static bb_overlay_points points_of(void)
{
    static const double centre[FIELDS][2] = {
        {-0.039, -0.066}, {0.013, -0.033}, {0.065, 0.0}, {-0.091, 0.033}};
    for (int i = 0; i < POINTS; ++i) {
        int local = i % A_FIELD;
        field_x[i] = centre[i / A_FIELD][0];
        field_y[i] = centre[i / A_FIELD][1];
        x[i] = field_x[i] + 0.005 * (local % 5 - 2);
        y[i] = field_y[i] + 0.006 * (local / 5 - 2.5);
        dx[i] = dy[i] = 0.0;
    }
    return (bb_overlay_points){POINTS, x, y, field_x, field_y, dx, dy};
}

static const bb_overlay_field fields[FIELDS] = {
    {A_FIELD, true, true}, {A_FIELD, true, false}, {A_FIELD, false, true}, {A_FIELD, true, false}};

// Fields shifted by 1, 2, 3 and 5 nm in x, y alternating by 1 nm: sigma in y is sqrt(30/29) nm.
TEST(fields_and_parts_by_hand)
{
    static const double shift[FIELDS] = {1.0, 2.0, 3.0, 5.0};
    const bb_overlay_points points = points_of();
    for (int i = 0; i < POINTS; ++i) {
        dx[i] = 1e-9 * shift[i / A_FIELD];
        dy[i] = i % 2 == 0 ? 1e-9 : -1e-9;
    }
    autoptr(bb_overlay_report) report = new_object(bb_overlay_report, &points, FIELDS, fields);
    for (int f = 0; f < FIELDS; ++f) {
        check_relative(report->fields[f].x.m3s, shift[f], 1e-12);
        check_relative(report->fields[f].y.m3s, 3.0 * sqrt(30.0 / 29.0), 1e-12);
        check_relative(report->fields[f].vector.max, hypot(shift[f], 1.0), 1e-12);
        check_relative(report->field_headlines[f], fmax(shift[f], 3.0 * sqrt(30.0 / 29.0)), 1e-12);
    }
    assert_int_equal(report->worst_field, 3);
    check_relative(report->worst, 5.0, 1e-12);
    check_relative(report->median, 3.0 * sqrt(30.0 / 29.0), 1e-12); // of 3.05 three times and 5
    // Of the wafer: mean 2.75, squares about it 30 (1.75^2 + 0.75^2 + 0.25^2 + 2.25^2) = 30 * 8.75.
    check_relative(report->wafer.x.mean, 2.75, 1e-12);
    check_relative(report->wafer.x.sigma, sqrt(30.0 * 8.75 / 119.0), 1e-12);
    check_relative(report->headline, 2.75 + 3.0 * sqrt(30.0 * 8.75 / 119.0), 1e-12);
    // Edge: the third; up: first and third, 2 +- 1; down: 2 and 5.
    check_relative(report->parts[BB_OVERLAY_EDGE].x.m3s, 3.0, 1e-12);
    check_relative(report->parts[BB_OVERLAY_CENTRE].x.mean, 8.0 / 3.0, 1e-12);
    check_relative(report->parts[BB_OVERLAY_UP].x.m3s, 2.0 + 3.0 * sqrt(60.0 / 59.0), 1e-12);
    check_relative(report->parts[BB_OVERLAY_DOWN].x.m3s, 3.5 + 4.5 * sqrt(60.0 / 59.0), 1e-12);
    // A correction per exposure removes a translation of each field.
    check_relative(report->corrections[2].parameter[0], 3e-9, 1e-9);
    assert_true(report->nce[BB_OVERLAY_FIELD_6].x.max < 1e-9);
}

// Two fields, headlines of 1 and 2: the median is their mean; a field of one point has none.
TEST(a_field_of_one_point_has_no_headline)
{
    const bb_overlay_field few[] = {{30, true, true}, {30, true, true}, {1, true, true}};
    bb_overlay_points points = points_of();
    points.count = 61;
    fill_array(dx, 61, i, 1e-9 * (1 + i / A_FIELD));
    bb_overlay_report *report = new_object(bb_overlay_report, &points, 3, few);
    assert_true(isnan(report->field_headlines[2]));
    check_relative(report->median, 1.5, 1e-12);
    assert_int_equal(report->worst_field, 1);
    assert_true(isnan(report->parts[BB_OVERLAY_DOWN].x.mean));
    bb_overlay_report_destroy(&report);
    check_fails(bb_overlay_report_create(&points, 2, few, &report), BB_INVALID,
                "fields have 60 points in total, expected 61");
}

// Each model of the list contains the previous ones: fractions of the mean square are not negative
// and add up to the part removed by the last one.
TEST(the_mean_square_splits_by_models)
{
    const bb_overlay_points points = points_of();
    for (int i = 0; i < POINTS; ++i) {
        double u = x[i] - field_x[i];
        double v = y[i] - field_y[i];
        dx[i] = 2e-9 + 3e-8 * x[i] + 2e-7 * u + 1e-9 * sin(40.0 * field_x[i]) + 8e-3 * u * u * u;
        dy[i] = 1e-8 * y[i] - 1e-7 * v * (1.0 + field_y[i] / 0.1) + 5e-6 * u * v;
    }
    autoptr(bb_overlay_report) report = new_object(bb_overlay_report, &points, FIELDS, fields);
    double sum = 0.0;
    assert_true(report->removed[BB_OVERLAY_RAW] == 0.0);
    for (int m = 1; m < BB_OVERLAY_MODELS; ++m) {
        assert_true(report->removed[m] > 1e-6);
        assert_true(report->nce[m].rms < report->nce[m - 1].rms);
        sum += report->removed[m];
    }
    // The cubic removes all of it.
    check_close(sum, 1.0, 1e-12, 1.0);
    assert_true(report->nce[BB_OVERLAY_FIELD_CUBIC].rms < 1e-9);
}

TEST(nothing_to_correct_is_zero)
{
    const bb_overlay_points points = points_of();
    autoptr(bb_overlay_report) report = new_object(bb_overlay_report, &points, FIELDS, fields);
    assert_true(report->headline == 0.0 && report->worst == 0.0 && report->wafer.rms == 0.0);
    assert_true(report->nce[BB_OVERLAY_FIELD_6].x.m3s == 0.0);
    assert_true(isnan(report->removed[BB_OVERLAY_WAFER_6])); // a fraction of zero
}
