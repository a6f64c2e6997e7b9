// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/score/point_spread.h"
#include "tests/physics/ao/chain.h"

#include <complex.h>

typedef struct optics {
    bb_point_spread *spread;
    bb_point_spread_grid grid;
    double *cee;         // [m][m]
    double *correlation; // [N][N]
    double *image;       // [N][N]
} optics;

static optics make_keeping(double diameter_m, double obstruction, bb_index lenslets,
                           double condition)
{
    optics o = {0};
    check_ok(bb_point_spread_create(diameter_m, &(bb_pupil){.obstruction = obstruction}, lenslets,
                                    condition, &o.spread));
    o.grid = *bb_point_spread_layout(o.spread);
    check_ok(BB_ZEROED(o.grid.measurement_count * o.grid.measurement_count, &o.cee));
    check_ok(BB_ZEROED(o.grid.pixels * o.grid.pixels, &o.correlation));
    check_ok(BB_ZEROED(o.grid.pixels * o.grid.pixels, &o.image));
    return o;
}

enum { FINE = 600, ANGLES = 64 };

// An annulus with a cross of spiders, in pixels much finer than the grid's.
static void draw_spiders(double *mask)
{
    for (int k = 0; k < FINE * FINE; ++k) {
        const double x = (2.0 * (k % FINE) + 1.0) / FINE - 1.0;
        const double y = (2.0 * (k / FINE) + 1.0) / FINE - 1.0;
        const double r = hypot(x, y);
        mask[k] = r < 1.0 && r > 0.3 && fabs(x) > 0.01 && fabs(y) > 0.01 ? 1.0 : 0.0;
    }
}

// Energy of |sum P exp(-2 pi i x a)|^2 over a box of `width` lambda/D, relative to that of the
// pupil, by the midpoint rule; x in units of D.
static double sum_energy(const double *mask, double width)
{
    double energy = 0.0;
    double flux = 0.0;
    static double complex wave[ANGLES][FINE];
    static double complex rows[ANGLES][FINE];
    for (int a = 0; a < ANGLES; ++a) {
        const double angle = width * ((a + 0.5) / ANGLES - 0.5);
        for (int i = 0; i < FINE; ++i) {
            wave[a][i] = cexp(-2.0 * BB_PI * I * angle * ((i + 0.5) / FINE - 0.5)) / FINE;
        }
    }
    for (int a = 0; a < ANGLES; ++a) {
        for (int j = 0; j < FINE; ++j) {
            rows[a][j] = 0.0;
            for (int i = 0; i < FINE; ++i) {
                rows[a][j] += wave[a][i] * mask[j * FINE + i];
                flux += a == 0 ? mask[j * FINE + i] / (FINE * FINE) : 0.0;
            }
        }
    }
    for (int k = 0; k < ANGLES * ANGLES; ++k) {
        double complex sum = 0.0;
        for (int j = 0; j < FINE; ++j) {
            sum += wave[k / ANGLES][j] * rows[k % ANGLES][j];
        }
        energy += creal(sum * conj(sum));
    }
    return energy * width * width / (ANGLES * ANGLES) / flux;
}

TEST(energy_in_a_box_is_a_share_of_all_that_passes)
{
    static double mask[FINE * FINE];
    const double diameter = 4.0;
    const double wavelength = 1.65e-6;
    draw_spiders(mask);
    autoptr(bb_point_spread) spread = new_object(
        bb_point_spread, diameter,
        &(bb_pupil){.obstruction = 0.3, .mask = mask, .edge = FINE, .threshold = 0.5}, 8, NAN);
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    autofree double *correlation = NULL; // no residual
    check_ok(BB_ZEROED(grid->pixels * grid->pixels, &correlation));
    assert_true(grid->pupil_light > 1.005 * grid->pupil_power);
    for (double width = 1.0; width < 5.0; width *= 2.0) {
        const double share = bb_point_spread_ensquared(spread, correlation, wavelength,
                                                       width * wavelength / diameter);
        const double fine = sum_energy(mask, width);
        print_message("%.0f lambda/D: %.5f, of the fine mask %.5f\n", width, share, fine);
        check_relative(share, fine, 2e-3);
    }
    // Half the amplitude everywhere transmits a quarter of the light, with the same fractions.
    const double whole =
        bb_point_spread_ensquared(spread, correlation, wavelength, 2.0 * wavelength / diameter);
    bb_point_spread_destroy(&spread);
    for (int k = 0; k < FINE * FINE; ++k) {
        mask[k] *= 0.5;
    }
    check_ok(bb_point_spread_create(
        diameter, &(bb_pupil){.obstruction = 0.3, .mask = mask, .edge = FINE, .threshold = 0.2}, 8,
        NAN, &spread));
    check_relative(
        bb_point_spread_ensquared(spread, correlation, wavelength, 2.0 * wavelength / diameter),
        whole, 1e-12);
}

static optics make(double diameter_m, double obstruction, bb_index lenslets)
{
    return make_keeping(diameter_m, obstruction, lenslets, NAN);
}

static void release(optics *o)
{
    bb_point_spread_destroy(&o->spread);
    BB_RELEASE(&o->cee);
    BB_RELEASE(&o->correlation);
    BB_RELEASE(&o->image);
}

static double residual(optics *o, bb_outcome_kind expected)
{
    double rms_m = -1.0;
    bb_outcome outcome = {0};
    chain_wavefront(o->spread, o->cee, o->correlation, &rms_m, &outcome);
    assert_int_equal(outcome.kind, expected);
    return rms_m;
}

// N and km by hand from the rule; the first row is the 39 m check case.
TEST_FULL(grid_follows_the_rule)
{
    static const struct {
        bb_index lenslets, pixels, per_lenslet;
    } expected[] = {{10, 512, 18}, {16, 512, 11}, {29, 512, 6}, {40, 512, 5}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        autocall(release) optics o = make(39.0, 0.2, expected[i].lenslets);
        assert_int_equal(o.grid.pixels, expected[i].pixels);
        assert_int_equal(o.grid.pixels_per_lenslet, expected[i].per_lenslet);
    }
}

TEST(pupil_counts_both_edges)
{
    autocall(release) optics o = make(39.0, 0.2, 10);
    assert_int_equal(o.grid.pupil_pixels, 24440);
}

TEST(without_residual_the_image_is_diffraction_limited)
{
    autocall(release) optics o = make(8.0, 0.14, 16);
    const bb_index n = o.grid.pixels;
    assert_true(residual(&o, BB_OUTCOME_OK) == 0.0);
    check_close(bb_point_spread_strehl(o.spread, o.correlation, 1.65e-6), 1.0, 1e-12, 1.0);
    check_ok(bb_point_spread_image(o.spread, o.correlation, 1.65e-6, o.image));
    check_close(o.image[n / 2 * n + n / 2], 1.0, 1e-12, 1.0);
    // Parseval: the image sums to N^2 / sum(OTF) = N^2 / pupil pixels.
    double sum = 0.0;
    double minimum = 0.0;
    for (bb_index k = 0; k < n * n; ++k) {
        sum += o.image[k];
        minimum = fmin(minimum, o.image[k]);
    }
    check_relative(sum, (double)(n * n) / (double)o.grid.pupil_pixels, 1e-10);
    assert_true(minimum > -1e-12);
    // The annulus' pattern: [(J(v) - e^2 J(e v)) / (1 - e^2)]^2, J(v) = 2 J1(v) / v, v = pi theta D
    // / lambda. Pixels of the pupil are 1/176 of its diameter.
    const double hole = 0.14;
    for (bb_index i = 1; i < 12; ++i) {
        const double v = BB_PI * 8.0 * (double)i / ((double)n * o.grid.pixel_m);
        const double field =
            (2.0 * j1(v) / v - hole * hole * 2.0 * j1(hole * v) / (hole * v)) / (1.0 - hole * hole);
        check_close(o.image[n / 2 * n + n / 2 + i], field * field, 3e-3, 1.0);
    }
}

// A covariance without symmetry in x and y: Cee = B B^T of a few pseudo-random rows.
static void fill_residual(optics *o, double rms_arcsec)
{
    const bb_index m = o->grid.measurement_count;
    for (bb_index i = 0; i < m; ++i) {
        for (bb_index j = 0; j < m; ++j) {
            double sum = 0.0;
            for (int k = 1; k <= 5; ++k) {
                sum += sin(0.37 * k * (double)(i + 1)) * sin(0.37 * k * (double)(j + 1));
            }
            o->cee[i * m + j] = rms_arcsec * rms_arcsec * sum / 5.0;
        }
    }
}

TEST(strehl_is_the_peak_of_the_image)
{
    autocall(release) optics o = make(8.0, 0.14, 16);
    const bb_index n = o.grid.pixels;
    fill_residual(&o, 0.05);
    const double rms_m = residual(&o, BB_OUTCOME_OK);
    assert_true(rms_m > 10e-9);
    double previous = 0.0;
    static const double wavelengths_m[] = {1.25e-6, 1.65e-6, 2.2e-6, 10e-6};
    for (int w = 0; w < 4; ++w) {
        const double strehl = bb_point_spread_strehl(o.spread, o.correlation, wavelengths_m[w]);
        check_ok(bb_point_spread_image(o.spread, o.correlation, wavelengths_m[w], o.image));
        check_relative(o.image[n / 2 * n + n / 2], strehl, 1e-10);
        assert_true(strehl > previous && strehl < 1.0);
        previous = strehl;
    }
    // Marechal, and the quadratic law of the rms.
    check_close(previous, exp(-pow(2.0 * BB_PI * rms_m / 10e-6, 2.0)), 1e-3, 1.0);
    fill_residual(&o, 0.1);
    check_relative(residual(&o, BB_OUTCOME_OK), 2.0 * rms_m, 1e-12);
}

// The residual's variance is that of the mirror's shape: sum over pairs of voltages' mean
// covariance and influence overlap, done here by direct summation for a small mirror.
TEST(correlation_matches_direct_summation)
{
    autocall(release) optics o = make(2.0, 0.0, 4);
    fill_residual(&o, 0.02);
    (void)residual(&o, BB_OUTCOME_OK);
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(o.spread);
    const bb_index m = o.grid.measurement_count;
    const bb_index n = o.grid.pixels;
    const bb_index km = o.grid.pixels_per_lenslet;
    double map[9][9] = {{0.0}};
    int pairs[9][9] = {{0}};
    for (bb_index a = 0; a < mirror->actuator_count; ++a) {
        for (bb_index b = 0; b < mirror->actuator_count; ++b) {
            double sum = 0.0;
            for (bb_index i = 0; i < m; ++i) {
                for (bb_index j = 0; j < m; ++j) {
                    sum += mirror->projector[a * m + i] * o.cee[i * m + j] *
                           mirror->projector[b * m + j];
                }
            }
            map[mirror->row[a] - mirror->row[b] + 4][mirror->column[a] - mirror->column[b] + 4] +=
                sum;
            ++pairs[mirror->row[a] - mirror->row[b] + 4][mirror->column[a] - mirror->column[b] + 4];
        }
    }
    // The autocorrelation of a Gaussian f of width w is pi w^2 exp(-r^2 / (4 w^2)).
    const double width = sqrt(-2.0 / log(0.2)) / 4.0; // pupil radii, here metres
    for (int point = 0; point < 3; ++point) {
        const bb_index x = point * 11;
        const bb_index y = point * 5;
        double expected = 0.0;
        for (int j = 0; j < 9; ++j) {
            for (int i = 0; i < 9; ++i) {
                const double du = (double)(x - (i - 4) * km) * o.grid.pixel_m;
                const double dv = (double)(y - (j - 4) * km) * o.grid.pixel_m;
                expected += pairs[j][i] == 0
                                ? 0.0
                                : map[j][i] / pairs[j][i] * 1e-12 * BB_PI * width * width *
                                      exp(-(du * du + dv * dv) / (4.0 * width * width)) / 0.25;
            }
        }
        check_close(o.correlation[y * n + x], expected, 1e-9, o.correlation[0]);
    }
}

TEST(a_residual_that_is_not_finite_is_an_outcome)
{
    autocall(release) optics o = make(8.0, 0.2, 8);
    o.cee[3] = INFINITY;
    assert_true(isnan(residual(&o, BB_OUTCOME_NON_FINITE)));
    assert_true(isnan(bb_point_spread_strehl(o.spread, o.correlation, 1.65e-6)));
    memset(o.cee, 0, (size_t)(o.grid.measurement_count * o.grid.measurement_count) * sizeof *o.cee);
    for (bb_index i = 0; i < o.grid.measurement_count; ++i) {
        o.cee[i * o.grid.measurement_count + i] = -1e-4;
    }
    assert_true(isnan(residual(&o, BB_OUTCOME_NOT_SPD)));
}

// A mode of the edge that slopes hardly measure, kept by a large condition, makes the mean over
// pairs larger at a displacement than at zero: a Strehl ratio of thousands. Without the mode the
// same errors of slopes give one below 1.
TEST(a_negative_structure_function_is_found)
{
    for (int kept = 0; kept < 2; ++kept) {
        autocall(release) optics o = make_keeping(8.0, 0.3, 5, kept == 1 ? 100.0 : 20.0);
        const bb_index m = o.grid.measurement_count;
        for (bb_index i = 0; i < m; ++i) {
            o.cee[i * m + i] = 1e-2;
        }
        (void)residual(&o, BB_OUTCOME_OK);
        const double strehl = bb_point_spread_strehl(o.spread, o.correlation, 1.65e-6);
        const double excess = bb_point_spread_excess(o.spread, o.correlation, 1.65e-6);
        assert_true(kept == 1 ? strehl > 1e3 && excess > 1e3 : strehl < 1.0 && excess == 0.0);
    }
}

TEST(every_failed_allocation_is_reported)
{
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autoptr(bb_point_spread) spread = NULL;
        status = bb_point_spread_create(8.0, &(bb_pupil){.obstruction = 0.2}, 4, NAN, &spread);
        assert_true(walk.k < 80);
    }
}
