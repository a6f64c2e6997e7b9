// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/overlay.h"
#include "tests/check.h"

enum { FIELDS = 6, A_FIELD = 25, POINTS = FIELDS * A_FIELD };

typedef struct cloud {
    double x[POINTS], y[POINTS], field_x[POINTS], field_y[POINTS], dx[POINTS], dy[POINTS];
    double residual_x[POINTS], residual_y[POINTS];
} cloud;

static cloud cloud_of(void)
{
    static const double centre[FIELDS][2] = {{-0.039, -0.066}, {0.013, -0.033}, {0.065, 0.0},
                                             {-0.091, 0.033},  {0.039, 0.066},  {0.013, 0.099}};
    cloud made = {0};
    for (int i = 0; i < POINTS; ++i) {
        int local = i % A_FIELD;
        made.field_x[i] = centre[i / A_FIELD][0];
        made.field_y[i] = centre[i / A_FIELD][1];
        made.x[i] = made.field_x[i] + 0.005 * (local % 5 - 2);
        made.y[i] = made.field_y[i] + 0.007 * (local / 5 - 2);
    }
    return made;
}

static bb_overlay_points view(const cloud *points, bb_index count)
{
    return (bb_overlay_points){count,           points->x,  points->y, points->field_x,
                               points->field_y, points->dx, points->dy};
}

TEST(statistics_match_hand_arithmetic)
{
    const double dx[] = {1e-9, 2e-9, 3e-9, -4e-9};
    const double dy[] = {0.0, 0.0, 0.0, 3e-9};
    bb_overlay_statistics got;
    check_ok(bb_overlay_statistics_of(4, dx, dy, &got));
    check_relative(got.x.mean, 0.5, 1e-14);
    check_relative(got.x.sigma, sqrt(29.0 / 3.0), 1e-14);
    check_relative(got.x.m3s, 0.5 + 3.0 * sqrt(29.0 / 3.0), 1e-14);
    check_relative(got.x.max, 4.0, 1e-14);
    check_relative(got.x.percentile997, 3.991, 1e-14);
    check_relative(got.vector_max, 5.0, 1e-14);
    // Lengths 1, 2, 3, 5: mean 2.75, squares about it 8.75.
    check_relative(got.vector.mean, 2.75, 1e-14);
    check_relative(got.vector.sigma, sqrt(8.75 / 3.0), 1e-14);
    check_relative(got.vector.max, 5.0, 1e-14);
    check_relative(got.vector.percentile997, 4.982, 1e-14);
    check_relative(got.rms, sqrt(39.0 / 4.0), 1e-14);
    check_ok(bb_overlay_statistics_of(1, dx, dy, &got));
    assert_true(isnan(got.x.sigma) && isnan(got.x.m3s) && got.x.mean > 0.99);
    check_ok(bb_overlay_statistics_of(0, dx, dy, &got));
    assert_true(isnan(got.x.mean) && isnan(got.vector_max));
}

// Translation, magnification and rotation of the wafer: a point on +x moves to +y for Ry > 0.
TEST(six_parameters_are_found_back)
{
    cloud c = cloud_of();
    const double p[6] = {2e-9, -1e-9, 0.03e-6, -0.01e-6, 0.02e-6, 0.05e-6};
    for (int i = 0; i < POINTS; ++i) {
        c.dx[i] = p[0] + p[2] * c.x[i] - p[4] * c.y[i];
        c.dy[i] = p[1] + p[3] * c.y[i] + p[5] * c.x[i];
    }
    bb_overlay_fit fit;
    bb_overlay_points points = view(&c, POINTS);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, c.residual_x, c.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    check_all_relative(fit.parameter, p, 6, 1e-12);
    for (int i = 0; i < POINTS; ++i) {
        check_close(c.residual_x[i], 0.0, 1e-22, 1.0);
        check_close(c.residual_y[i], 0.0, 1e-22, 1.0);
    }
    assert_true(fit.condition < 10.0);
}

TEST(ten_parameters_are_found_back)
{
    cloud c = cloud_of();
    const double p[10] = {2e-9, -1e-9, 3e-8, -1e-8, 2e-8, 5e-8, 7e-8, -4e-8, 6e-8, -9e-8};
    for (int i = 0; i < POINTS; ++i) {
        double x = c.x[i] - c.field_x[i];
        double y = c.y[i] - c.field_y[i];
        c.dx[i] = p[0] + p[2] * c.field_x[i] - p[4] * c.field_y[i] + (p[6] + p[7]) * x -
                  (p[8] + p[9]) * y;
        c.dy[i] = p[1] + p[3] * c.field_y[i] + p[5] * c.field_x[i] + (p[6] - p[7]) * y +
                  (p[8] - p[9]) * x;
    }
    bb_overlay_fit fit;
    bb_overlay_points points = view(&c, POINTS);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_10, &points, &fit, c.residual_x, c.residual_y));
    check_all_relative(fit.parameter, p, 10, 1e-12);
}

// A residual is orthogonal to the model, and raw corrects nothing.
TEST(residuals_are_least_squares)
{
    cloud c = cloud_of();
    for (int i = 0; i < POINTS; ++i) {
        c.dx[i] = 1e-9 * sin(1.7 * i);
        c.dy[i] = 1e-9 * cos(0.9 * i);
    }
    bb_overlay_fit fit;
    bb_overlay_points points = view(&c, POINTS);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, c.residual_x, c.residual_y));
    double dot[4] = {0.0};
    for (int i = 0; i < POINTS; ++i) {
        dot[0] += c.residual_x[i];
        dot[1] += c.residual_x[i] * c.x[i];
        dot[2] += c.residual_y[i] * c.x[i];
        dot[3] += c.residual_y[i] * c.y[i];
    }
    for (int k = 0; k < 4; ++k) {
        check_close(dot[k], 0.0, 1e-21, 1.0);
    }
    check_ok(bb_overlay_fit_model(BB_OVERLAY_RAW, &points, &fit, c.residual_x, c.residual_y));
    assert_true(c.residual_x[7] == c.dx[7] && c.residual_y[9] == c.dy[9]);
}

TEST(single_field_leaves_ten_parameters_undetermined)
{
    cloud c = cloud_of();
    bb_overlay_fit fit;
    bb_overlay_points points = view(&c, A_FIELD);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_10, &points, &fit, c.residual_x, c.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_UNDERDETERMINED);
    assert_non_null(strstr(fit.outcome.detail, "10 parameters from 25 points: "));
    assert_true(isnan(fit.parameter[0]) && isnan(c.residual_x[3]));
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, c.residual_x, c.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    points.count = 2;
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, c.residual_x, c.residual_y));
    assert_string_equal(fit.outcome.detail, "6 parameters from 2 points");
    bb_overlay_statistics got;
    check_ok(bb_overlay_statistics_of(2, c.residual_x, c.residual_y, &got));
    assert_true(isnan(got.x.m3s));
    points.field_x = NULL;
    check_fails(
        bb_overlay_fit_model(BB_OVERLAY_WAFER_10, &points, &fit, c.residual_x, c.residual_y),
        BB_INVALID, "field centre");
}

TEST(errors_that_are_not_finite_are_an_outcome)
{
    cloud c = cloud_of();
    bb_overlay_fit fit;
    bb_overlay_points points = view(&c, POINTS);
    c.dy[11] = INFINITY;
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, c.residual_x, c.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_NON_FINITE);
    assert_true(isnan(fit.parameter[0]) && isinf(c.residual_y[11]) && c.residual_x[0] == 0.0);
}

// A separate magnification in each field: the residual is zero, while one for all leaves plenty. A
// field of eleven points is not corrected.
TEST(fields_are_corrected_one_by_one)
{
    cloud points = cloud_of();
    bb_overlay_fit fit;
    bb_overlay_statistics before;
    bb_overlay_statistics after;
    for (int i = 0; i < POINTS; ++i) {
        double part = 1e-6 * (1 + i / A_FIELD);
        points.dx[i] = 2e-9 + part * (points.x[i] - points.field_x[i]);
        points.dy[i] = 0.5 * part * (points.x[i] - points.field_x[i]) -
                       part * (points.y[i] - points.field_y[i]);
    }
    bb_overlay_points all = view(&points, POINTS);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_10, &all, &fit, points.residual_x,
                                  points.residual_y));
    check_ok(bb_overlay_statistics_of(POINTS, points.residual_x, points.residual_y, &before));
    check_ok(
        bb_overlay_fit_model(BB_OVERLAY_FIELD_6, &all, &fit, points.residual_x, points.residual_y));
    check_ok(bb_overlay_statistics_of(POINTS, points.residual_x, points.residual_y, &after));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    assert_string_equal(fit.outcome.detail, "");
    check_relative(fit.parameter[2], 6e-6, 1e-9); // of the last field
    assert_true(before.rms > 1.0 && after.rms < 1e-9 * before.rms);
    bb_overlay_points some = view(&points, A_FIELD + 11);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_FIELD_6, &some, &fit, points.residual_x,
                                  points.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    assert_string_equal(fit.outcome.detail, "1 field with fewer than 12 points stays uncorrected");
    assert_true(fabs(points.residual_x[0]) < 1e-18);
    assert_true(points.residual_x[A_FIELD] == points.dx[A_FIELD]);
}

// Twenty coefficients of a field are recovered; a field on a lattice of three columns does not
// determine a cubic in x and gets six parameters, one of eleven points none.
TEST(a_cubic_is_found_back)
{
    cloud points = cloud_of();
    bb_overlay_fit fit;
    bb_overlay_fit each[FIELDS];
    double k[20];
    fill_array(k, 20, i, 1e-9 * (1 + i) * pow(100.0, (i >= 2) + (i >= 6) + (i >= 12)));
    for (int i = 0; i < POINTS; ++i) {
        double x = points.x[i] - points.field_x[i];
        double y = points.y[i] - points.field_y[i];
        points.dx[i] = k[0] + k[2] * x + k[4] * y + k[6] * x * x + k[8] * x * y + k[10] * y * y +
                       k[12] * x * x * x + k[14] * x * x * y + k[16] * x * y * y +
                       k[18] * y * y * y;
        points.dy[i] = k[1] + k[3] * y + k[5] * x + k[7] * y * y + k[9] * x * y + k[11] * x * x +
                       k[13] * y * y * y + k[15] * y * y * x + k[17] * y * x * x +
                       k[19] * x * x * x;
    }
    bb_overlay_points all = view(&points, POINTS);
    check_ok(bb_overlay_fit_fields(BB_OVERLAY_FIELD_CUBIC, &all, &fit, points.residual_x,
                                   points.residual_y, each));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    assert_int_equal(bb_overlay_model_parameters(BB_OVERLAY_FIELD_CUBIC), 20);
    for (int f = 0; f < FIELDS; ++f) {
        assert_int_equal(each[f].parameter_count, 20);
        check_all_relative(each[f].parameter, k, 20, 1e-6);
    }
    fill_array(points.x, A_FIELD, i, points.field_x[i] + 0.005 * (i % 3 - 1));
    bb_overlay_points some = view(&points, 2 * A_FIELD + 11);
    check_ok(bb_overlay_fit_model(BB_OVERLAY_FIELD_CUBIC, &some, &fit, points.residual_x,
                                  points.residual_y));
    assert_int_equal(fit.outcome.kind, BB_OUTCOME_OK);
    assert_string_equal(fit.outcome.detail, "1 field with fewer than 12 points stays uncorrected, "
                                            "1 has six parameters");
    assert_true(fabs(points.residual_x[A_FIELD]) < 1e-18);
    assert_true(points.residual_x[2 * A_FIELD] == points.dx[2 * A_FIELD]);
}
