// SPDX-License-Identifier: Apache-2.0
#include "physics/zernike.h"
#include "tests/physics/doubles.h"

// Noll 1976, table 1, with x = rho cos theta and y = rho sin theta.
static double closed_form(int j, double x, double y)
{
    const double r2 = x * x + y * y;
    switch (j) {
    case 1:
        return 1.0;
    case 2:
        return 2.0 * x;
    case 3:
        return 2.0 * y;
    case 4:
        return sqrt(3.0) * (2.0 * r2 - 1.0);
    case 5:
        return sqrt(6.0) * 2.0 * x * y;
    case 6:
        return sqrt(6.0) * (x * x - y * y);
    case 7:
        return sqrt(8.0) * (3.0 * r2 - 2.0) * y;
    case 8:
        return sqrt(8.0) * (3.0 * r2 - 2.0) * x;
    case 9:
        return sqrt(8.0) * (3.0 * x * x - y * y) * y;
    case 10:
        return sqrt(8.0) * (x * x - 3.0 * y * y) * x;
    case 11:
        return sqrt(5.0) * (6.0 * r2 * r2 - 6.0 * r2 + 1.0);
    case 12:
        return sqrt(10.0) * (4.0 * r2 - 3.0) * (x * x - y * y);
    case 13:
        return sqrt(10.0) * (4.0 * r2 - 3.0) * 2.0 * x * y;
    case 14:
        return sqrt(10.0) * (x * x * x * x - 6.0 * x * x * y * y + y * y * y * y);
    default:
        return sqrt(10.0) * 4.0 * x * y * (x * x - y * y);
    }
}

TEST(the_first_fifteen_are_noll_s)
{
    for (int j = 1; j <= 15; ++j) {
        for (int k = 0; k < 40; ++k) {
            const double x = -1.1 + 0.055 * k;
            const double y = 0.9 - 0.047 * k;
            check_close(bb_zernike_value(j, x, y), closed_form(j, x, y), 1e-13, 10.0);
        }
    }
}

TEST(indices_run_over_all_orders_once)
{
    bb_index j = 1;
    for (bb_index n = 0; n < 12; ++n) {
        bb_index cosines = 0;
        bb_index sines = 0;
        for (bb_index k = 0; k <= n; ++k, ++j) {
            const bb_zernike_order order = bb_zernike_order_of(j);
            assert_int_equal(order.n, n);
            assert_true((n - order.m) % 2 == 0 && order.m >= 0 && order.m <= n);
            assert_true(order.m == 0 || order.sine == (j % 2 == 1));
            cosines += order.sine ? 0 : 1 + 100 * order.m;
            sines += order.sine ? 1 + 100 * order.m : 0;
        }
        // One of each m > 0, and the one of m = 0 among the cosines.
        assert_int_equal(cosines - sines, n % 2 == 0 ? 1 : 0);
        assert_int_equal(cosines + sines,
                         n + 1 + 100 * 2 * (n % 2 == 0 ? n * (n + 2) / 4 : (n + 1) * (n + 1) / 4));
    }
}

// By quadrature: equal angles are exact for these frequencies, Simpson's rule along rho is good to
// 1e-8 for these degrees.
static double product_mean(bb_index first, bb_index second)
{
    enum { RADII = 600, ANGLES = 24 };
    double sum = 0.0;
    for (int i = 0; i <= RADII; ++i) {
        const double rho = (double)i / RADII;
        const double weight = (i == 0 || i == RADII ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) / (3.0 * RADII);
        for (int a = 0; a < ANGLES; ++a) {
            const double theta = 2.0 * M_PI * (a + 0.3) / ANGLES;
            const double x = rho * cos(theta);
            const double y = rho * sin(theta);
            sum += weight * rho * bb_zernike_value(first, x, y) * bb_zernike_value(second, x, y);
        }
    }
    return 2.0 * sum / ANGLES;
}

TEST(they_are_orthonormal_over_the_disc)
{
    for (bb_index first = 1; first <= 21; first += 2) {
        for (bb_index second = 1; second <= 21; ++second) {
            check_close(product_mean(first, second), first == second ? 1.0 : 0.0, 1e-7, 1.0);
        }
    }
    check_close(product_mean(36, 36), 1.0, 1e-7, 1.0);
}

TEST(high_degrees_keep_their_digits)
{
    // R_n^m(1) = 1, and R_n^0(rho) = P_(n/2)(2 rho^2 - 1) is at most 1; the sum of powers is
    // off by up to 8 at n = 48.
    for (bb_index n = 40; n <= 120; n += 10) {
        for (bb_index m = 0; m <= n; m += 2) {
            check_close(bb_zernike_radial(n, m, 1.0), 1.0, 1e-11, 1.0);
        }
        for (int k = 0; k <= 100; ++k) {
            assert_true(fabs(bb_zernike_radial(n, 0, 0.01 * k)) <= 1.0 + 1e-11);
        }
    }
    // Legendre's P_20(-1) = 1 and P_20(0) = 20! / (2^10 10!)^2.
    check_relative(bb_zernike_radial(40, 0, 0.0), 1.0, 1e-12);
    check_relative(bb_zernike_radial(40, 0, sqrt(0.5)), 46189.0 / 262144.0, 1e-12);
}

TEST(rows_and_tables_are_the_values)
{
    enum { COUNT = 300, TERMS = 29 }; // more points than a batch, with an incomplete last degree
    double x[COUNT];
    double y[COUNT];
    double row[COUNT];
    double weights[TERMS];
    autofree double *table = zeros(TERMS * (COUNT + 1));
    for (int i = 0; i < COUNT; ++i) {
        x[i] = -1.0 + 2.0 * i / (COUNT - 1.0);
        y[i] = 0.4 * cos(i);
        row[i] = 7.0;
    }
    for (int j = 1; j <= TERMS; ++j) {
        weights[j - 1] = j % 3 == 0 ? 0.0 : 1.0 / j - 0.2;
    }
    bb_zernike_add(TERMS, weights, COUNT, x, 0.3, row);
    bb_zernike_fill(TERMS, COUNT, x, y, COUNT + 1, table);
    for (int i = 0; i < COUNT; ++i) {
        double sum = 7.0;
        for (int j = 1; j <= TERMS; ++j) {
            sum += weights[j - 1] * bb_zernike_value(j, x[i], 0.3);
            check_close(table[(j - 1) * (COUNT + 1) + i], bb_zernike_value(j, x[i], y[i]), 1e-12,
                        5.0);
        }
        check_close(row[i], sum, 1e-12, 10.0);
    }
    assert_true(table[COUNT] == 0.0); // the padding
}
