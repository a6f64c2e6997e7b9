// SPDX-License-Identifier: Apache-2.0
//
// Wafer-to-wafer spread by hand, by its limits, and by the decomposition of squares.
#include "physics/wafer/overlay/overlay.h"
#include "physics/wafer/overlay/overlay_report.h"
#include "tests/check.h"

// Three wafers of two points in nm. Means in x: 1, 2, 6, variance 7; points 0, 1, 5 (variance 7)
// and 2, 3, 7 (7). In y the points 0, 2, 4 (4) and 0, -2, -4 (4) do not change the means.
TEST(by_hand)
{
    static const double dx[] = {0.0, 2e-9, 1e-9, 3e-9, 5e-9, 7e-9};
    static const double dy[] = {0.0, 0.0, 2e-9, -2e-9, 4e-9, -4e-9};
    bb_overlay_spread spread;
    check_ok(bb_overlay_spread_of(3, 2, dx, dy, &spread));
    check_relative(spread.x.mean_sigma, sqrt(7.0), 1e-12);
    check_relative(spread.x.point_sigma, sqrt(7.0), 1e-12);
    check_relative(spread.x.point_max, sqrt(7.0), 1e-12);
    check_close(spread.y.mean_sigma, 0.0, 1e-12, 1.0);
    check_relative(spread.y.point_sigma, 2.0, 1e-12);
    check_relative(spread.y.point_max, 2.0, 1e-12);
    check_relative(spread.vector.mean_sigma, sqrt(7.0), 1e-12);
    check_relative(spread.vector.point_sigma, sqrt(11.0), 1e-12);
    check_relative(spread.vector.point_max, sqrt(11.0), 1e-12);
    // All six: mean 3, squares about it 9 + 1 + 4 + 0 + 4 + 16 = 34; in y 4 + 4 + 16 + 16 = 40.
    check_relative(spread.x.m3s, 3.0 + 3.0 * sqrt(34.0 / 5.0), 1e-12);
    check_relative(spread.y.m3s, 3.0 * sqrt(40.0 / 5.0), 1e-12);
}

enum { WAFERS = 5, POINTS = 40 };

static void fill(double *e, double common, double shift, double local)
{
    for (int i = 0; i < WAFERS * POINTS; ++i) {
        const int w = i / POINTS;
        const int k = i % POINTS;
        e[i] = 1e-9 * (common * sin(0.7 * k) + shift * w + local * sin(3.1 * k + 1.3 * w * k));
    }
}

TEST(what_wafers_share_is_no_spread)
{
    static double dx[WAFERS * POINTS], dy[WAFERS * POINTS];
    bb_overlay_spread spread;
    bb_overlay_statistics one;
    fill(dx, 5.0, 0.0, 0.0);
    fill(dy, 2.0, 0.0, 0.0);
    check_ok(bb_overlay_spread_of(WAFERS, POINTS, dx, dy, &spread));
    check_close(spread.vector.mean_sigma, 0.0, 1e-14, 1.0);
    check_close(spread.vector.point_max, 0.0, 1e-14, 1.0);
    check_ok(bb_overlay_statistics_of(WAFERS * POINTS, dx, dy, &one));
    assert_true(spread.x.m3s == one.x.m3s && spread.vector.m3s == one.vector.m3s);
    // Wafers shifted as a whole: every point moves with the mean, sqrt(2.5) of 0..4.
    fill(dx, 5.0, 0.25, 0.0);
    check_ok(bb_overlay_spread_of(WAFERS, POINTS, dx, dy, &spread));
    check_relative(spread.x.mean_sigma, 0.25 * sqrt(2.5), 1e-12);
    check_relative(spread.x.point_sigma, 0.25 * sqrt(2.5), 1e-12);
    check_relative(spread.x.point_max, 0.25 * sqrt(2.5), 1e-12);
    // A translation of the whole lot only changes m3s.
    const double before = spread.x.point_sigma;
    for (int i = 0; i < WAFERS * POINTS; ++i) {
        dx[i] += 1e-7;
    }
    check_ok(bb_overlay_spread_of(WAFERS, POINTS, dx, dy, &spread));
    check_relative(spread.x.point_sigma, before, 1e-9);
    assert_true(spread.x.m3s > 100.0);
}

// The squares about the mean of all split: (Wn - 1) sigma^2 = n (W - 1) point_sigma^2 + W (n - 1)
// times the variance over points of the mean over wafers.
TEST(squares_split)
{
    static double dx[WAFERS * POINTS], dy[WAFERS * POINTS], mean[POINTS], zero[POINTS];
    bb_overlay_spread spread;
    bb_overlay_statistics all, common;
    fill(dx, 3.0, 0.4, 1.5);
    fill(dy, 1.0, -0.1, 0.5);
    for (int k = 0; k < POINTS; ++k) {
        for (int w = 0; w < WAFERS; ++w) {
            mean[k] += dx[w * POINTS + k] / WAFERS;
        }
    }
    check_ok(bb_overlay_spread_of(WAFERS, POINTS, dx, dy, &spread));
    check_ok(bb_overlay_statistics_of(WAFERS * POINTS, dx, dy, &all));
    check_ok(bb_overlay_statistics_of(POINTS, mean, zero, &common));
    check_relative((WAFERS * POINTS - 1) * all.x.sigma * all.x.sigma,
                   POINTS * (WAFERS - 1) * spread.x.point_sigma * spread.x.point_sigma +
                       WAFERS * (POINTS - 1) * common.x.sigma * common.x.sigma,
                   1e-12);
    assert_true(spread.x.mean_sigma < spread.x.point_sigma);
    assert_true(spread.x.point_sigma < spread.x.point_max);
    check_relative(spread.vector.point_sigma, hypot(spread.x.point_sigma, spread.y.point_sigma),
                   1e-12);
    check_relative(spread.vector.mean_sigma, hypot(spread.x.mean_sigma, spread.y.mean_sigma),
                   1e-12);
    assert_true(spread.vector.point_max <= hypot(spread.x.point_max, spread.y.point_max));
}

TEST(too_few_are_nan)
{
    static const double e[] = {1e-9, 2e-9, NAN, 1e-9};
    bb_overlay_spread spread;
    check_ok(bb_overlay_spread_of(1, 2, e, e, &spread));
    assert_true(isnan(spread.x.mean_sigma) && isnan(spread.y.point_sigma));
    assert_true(isnan(spread.vector.point_max) && isfinite(spread.x.m3s));
    check_ok(bb_overlay_spread_of(3, 0, e, e, &spread));
    assert_true(isnan(spread.x.mean_sigma) && isnan(spread.x.point_sigma));
    assert_true(isnan(spread.x.point_max) && isnan(spread.x.m3s));
    // A NaN error at any point.
    check_ok(bb_overlay_spread_of(2, 2, e, e, &spread));
    assert_true(isnan(spread.x.point_max) && isnan(spread.vector.point_max));
    assert_true(isnan(spread.x.mean_sigma) && isnan(spread.x.m3s));
}
