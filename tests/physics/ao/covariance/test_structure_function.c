// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/structure_function.h"
#include "tests/check.h"

typedef double (*function_of_distance)(const void *context, double r);

static double exact(const void *context, double r)
{
    return bb_structure_function(r, *(const double *)context);
}

static double tabulated(const void *context, double r)
{
    return bb_structure_table_value(*(const bb_structure_table *)context, r * r);
}

// Section 2.4 of the notes, term by term and independent of the code under test.
static double parallel(function_of_distance d, const void *c, double u, double v, double s1,
                       double s2)
{
    return 0.5 * (-d(c, hypot(u + s1 - s2, v)) + d(c, hypot(u + s1 + s2, v)) +
                  d(c, hypot(u - s1 - s2, v)) - d(c, hypot(u - s1 + s2, v)));
}

static double crossed(function_of_distance d, const void *c, double u, double v, double s1,
                      double s2)
{
    return 0.5 * (-d(c, hypot(u + s1, v - s2)) + d(c, hypot(u + s1, v + s2)) +
                  d(c, hypot(u - s1, v - s2)) - d(c, hypot(u - s1, v + s2)));
}

// rad^2 at L0 = 25 m, r0 = 0.157 m: an independent 40-digit computation, rounded to 15 digits.
TEST(matches_the_forty_digit_values)
{
    static const double reference[][2] = {
        {0.01, 0.0622790380067663}, {0.1, 2.48095899399324},  {0.5, 28.3961126980717},
        {1.0, 74.9272651988132},    {2.0, 180.553423605317},  {5.0, 454.368681586162},
        {10.0, 688.071979648172},   {20.0, 795.790531319968}, {39.0, 807.448133618495},
        {1.0e5, 807.569966932023},
    };
    autorelease(bb_structure_table) table = new_struct(bb_structure_table, 25.0);
    const double strength = pow(0.157, -5.0 / 3.0);
    for (size_t i = 0; i < sizeof reference / sizeof reference[0]; ++i) {
        const double r = reference[i][0];
        check_relative(strength * bb_structure_function(r, 25.0), reference[i][1], 1e-13);
        check_relative(strength * bb_structure_table_value(table, r * r), reference[i][1], 1e-13);
    }
    // mpmath, 40 digits, r0 = 1 m, L0 = 100 m.
    check_relative(bb_structure_function(0.25, 100.0), 0.54533613178959490391, 1e-14);
    check_relative(bb_structure_function(30.0, 100.0), 276.22155550097404891, 1e-14);
}

TEST(starts_as_kolmogorov_and_ends_at_twice_the_variance)
{
    assert_true(bb_structure_function(0.0, 25.0) == 0.0);
    // 6.88387718 r^(5/3) for an infinite outer scale; 1 - D / D_kolmogorov decreases as (r /
    // L0)^(1/3).
    check_relative(bb_structure_function(1e-3, 1e30), 6.88387718 * pow(1e-3, 5.0 / 3.0), 1e-8);
    check_relative(bb_structure_function(1e4, 25.0), 2.0 * 0.0863143299 * pow(25.0, 5.0 / 3.0),
                   1e-9);
}

TEST(series_and_integral_agree_where_they_meet)
{
    const double meet = 25.0 / (2.0 * BB_PI); // x = 1
    const double step = 1e-9;
    const double below = bb_structure_function(meet * (1.0 - step), 25.0);
    const double above = bb_structure_function(meet * (1.0 + step), 25.0);
    const double further = bb_structure_function(meet * (1.0 + 3.0 * step), 25.0);
    check_close(2.0 * (above - below), 2.0 * (further - above), 2e-14, above);
}

// arcsec^2, d = 0.5 m, L0 = 25 m, r0 = 0.157 m, exact arcseconds: du, dv, xx, yy, xy.
TEST(slope_covariances_match_the_forty_digit_values)
{
    static const double reference[][5] = {
        {0.0, 0.0, 0.0306019725156067, 0.0306019725156067, 0.0},
        {0.5, 0.0, 0.00977190074415399, 0.0195454482869921, 0.0},
        {0.5, 0.5, 0.0120083957356162, 0.0120083957356162, -0.00568682765635458},
        {1.0, 0.0, 0.00304587434822907, 0.0129619140413019, 0.0},
        {5.0, 3.0, -0.000763269674134051, 0.000649981285080921, -0.00132636003526293},
        {10.0, 0.0, -0.000776389841564086, 0.000360663919359661, 0.0},
    };
    autorelease(bb_structure_table) table = new_struct(bb_structure_table, 25.0);
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    const double factor = pow(0.157, -5.0 / 3.0) * angle * angle / 0.25;
    const double peak = reference[0][2];
    const double outer_scale = 25.0;
    for (size_t i = 0; i < sizeof reference / sizeof reference[0]; ++i) {
        const double *row = reference[i];
        const double u = row[0];
        const double v = row[1];
        check_close(factor * parallel(tabulated, &table, u, v, 0.25, 0.25), row[2], 1e-12, peak);
        check_close(factor * parallel(tabulated, &table, v, u, 0.25, 0.25), row[3], 1e-12, peak);
        check_close(factor * crossed(tabulated, &table, u, v, 0.25, 0.25), row[4], 1e-12, peak);
        check_close(factor * parallel(exact, &outer_scale, u, v, 0.25, 0.25), row[2], 1e-12, peak);
        check_close(factor * parallel(exact, &outer_scale, v, u, 0.25, 0.25), row[3], 1e-12, peak);
        check_close(factor * crossed(exact, &outer_scale, u, v, 0.25, 0.25), row[4], 1e-12, peak);
    }
    // A laser star at 90 km against a natural one, layer at 12.5 km.
    const double cone = 1.0 - 12.5 / 90.0;
    check_close(factor * parallel(tabulated, &table, 0.0, 0.0, 0.25 * cone, 0.25),
                0.0270672222130558, 1e-12, peak);
}

// A switch from series to asymptote at x = 4.7 would cost percents here: du, xx(du, 0), xy(du, 3)
// for r0 = 1 m, mpmath with 40 digits.
TEST(far_slope_covariances_are_smooth)
{
    static const double reference[][3] = {
        {10.0, -0.032917138041467487445, -0.01197017027400414201},
        {14.0, -0.014308508317122213983, -0.0035772111579071600545},
        {17.0, -0.0073667929084339057614, -0.001485591882175200437},
        {18.0, -0.0058778298075632287561, -0.0011129993284778177436},
        {18.5, -0.0052468089699917727412, -0.00096402897087231593243},
        {19.0, -0.0046816233407161113448, -0.00083535779514433852323},
        {24.0, -0.0014713719037232840592, -0.00020345317990159048942},
        {60.0, -2.462315882373955974e-7, -1.2865481036314258942e-8},
    };
    autorelease(bb_structure_table) table = new_struct(bb_structure_table, 25.0);
    const double peak = bb_structure_function(0.5, 25.0);
    for (size_t i = 0; i < sizeof reference / sizeof reference[0]; ++i) {
        const double u = reference[i][0];
        check_close(parallel(tabulated, &table, u, 0.0, 0.25, 0.25), reference[i][1], 1e-12, peak);
        check_close(crossed(tabulated, &table, u, 3.0, 0.25, 0.25), reference[i][2], 1e-12, peak);
    }
    // Unequal sizes, for which the two crossed blocks differ.
    check_close(parallel(tabulated, &table, 7.0, -3.0, 0.25, 0.1875), -0.028438645663920948818,
                1e-12, peak);
    check_close(crossed(tabulated, &table, 7.0, -3.0, 0.25, 0.1875), 0.022851415749197581575, 1e-12,
                peak);
    check_close(crossed(tabulated, &table, -3.0, 7.0, 0.25, 0.1875), 0.022826641350417598267, 1e-12,
                peak);
}

// Out to a 39 m pupil and two 222 arcsec beams at 20 km, with the sizes of real lenslets.
TEST(table_reaches_the_rounding_of_the_exact_function)
{
    static const double outer_scales[] = {10.0, 25.0, 50.0, 100.0};
    double worst = 0.0;
    double worst_covariance = 0.0;
    for (size_t l = 0; l < 4; ++l) {
        const double outer_scale = outer_scales[l];
        autorelease(bb_structure_table) table = new_struct(bb_structure_table, outer_scale);
        const double peak = bb_structure_function(0.45, outer_scale);
        for (uint64_t i = 0; i < 5000; ++i) {
            const double r =
                85.0 * pow(bb_random_uniform(1, BB_STREAM_SELF_TEST, 3 * i), 3.0) + 1e-9;
            const double turn = 7.0 * bb_random_uniform(1, BB_STREAM_SELF_TEST, 3 * i + 1);
            const double s2 = 0.225 * bb_random_uniform(1, BB_STREAM_SELF_TEST, 3 * i + 2);
            const double u = r * cos(turn);
            const double v = r * sin(turn);
            const double value = bb_structure_function(r, outer_scale);
            worst = fmax(worst, fabs(tabulated(&table, r) - value) / value);
            const double got = parallel(tabulated, &table, u, v, 0.225, s2);
            const double wanted = parallel(exact, &outer_scale, u, v, 0.225, s2);
            const double got_crossed = crossed(tabulated, &table, u, v, 0.225, s2);
            const double wanted_crossed = crossed(exact, &outer_scale, u, v, 0.225, s2);
            worst_covariance = fmax(worst_covariance, fabs(got - wanted) / peak);
            worst_covariance = fmax(worst_covariance, fabs(got_crossed - wanted_crossed) / peak);
        }
    }
    print_message("table: %.2g relative in D, %.2g of the peak in covariances\n", worst,
                  worst_covariance);
    assert_true(worst < 1e-14);
    assert_true(worst_covariance < 1e-12);
}

TEST(table_covers_zero_tiny_and_huge_distances)
{
    bb_structure_table table = {0};
    check_ok(bb_structure_table_create(25.0, &table));
    assert_true(bb_structure_table_value(table, 0.0) == 0.0);
    static const double distances[] = {1e-9, 1e-8, 5.9e-6, 6.0e-6, 199.9, 200.1, 1e6};
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; ++i) {
        const double r = distances[i];
        check_relative(bb_structure_table_value(table, r * r), bb_structure_function(r, 25.0),
                       3e-15);
    }
    check_close(bb_structure_table_value(table, 1e-28), 0.0, 1e-19, 1.0);
    assert_true(bb_structure_table_value(table, INFINITY) == bb_structure_function(1e6, 25.0));
    bb_structure_table_release(&table);
    assert_null(table.coefficients);
}
