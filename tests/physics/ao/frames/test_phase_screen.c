// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/structure_function.h"
#include "physics/ao/frames/phase_screen.h"
#include "tests/physics/doubles.h"

static const double pixel_m = 0.1;

// Four times an 11 m layer, 0.8 m subapertures of 8 points.
static bb_phase_screen make(bb_index points)
{
    bb_phase_screen screen = {0};
    check_ok(bb_phase_screen_create(points, pixel_m, 25.0, 4, &screen));
    return screen;
}

static bb_amplitude *draw(const bb_phase_screen *screen, uint64_t seed, uint64_t number)
{
    bb_amplitude *amplitudes = new_array(bb_amplitude, screen->waves);
    bb_phase_screen_draw(screen, 1.0, seed, number, amplitudes);
    return amplitudes;
}

TEST(sizes_suit_fftw)
{
    // A layer above the only star is not measured: no points are requested.
    assert_int_equal(bb_phase_screen_points(0), 2);
    assert_int_equal(bb_phase_screen_points(2), 2);
    assert_int_equal(bb_phase_screen_points(99), 100);
    assert_int_equal(bb_phase_screen_points(101), 108);
    assert_int_equal(bb_phase_screen_points(1023), 1024);
}

// The ensemble's, without random draws: from a subaperture to the diameter, along three directions.
TEST(ensemble_has_von_karmans_structure_function)
{
    autorelease(bb_phase_screen) screen = make(440);
    static const double distances[] = {0.8, 1.6, 3.2, 6.0, 8.0};
    double worst = 0.0;
    for (size_t i = 0; i < sizeof distances / sizeof *distances; ++i) {
        for (int direction = 0; direction < 3; ++direction) {
            const double azimuth = 0.39 * direction;
            const double got = bb_phase_screen_structure(&screen, 2.5, distances[i] * cos(azimuth),
                                                         distances[i] * sin(azimuth));
            const double expected = 2.5 * bb_structure_function(distances[i], 25.0);
            worst = fmax(worst, fabs(got / expected - 1.0));
        }
    }
    print_message("structure function within %.2f %%\n", 100.0 * worst);
    assert_true(worst < 0.01);
}

// With a screen of finer waves and a shorter period, from a fraction of a subaperture on.
TEST(finer_waves_complete_it)
{
    autorelease(bb_phase_screen) coarse = make(440);
    autorelease(bb_phase_screen) fine = {0};
    check_ok(bb_phase_screen_refine(&coarse, 660, 0.025, &fine));
    static const double distances[] = {0.1, 0.2, 0.4, 0.8, 3.2};
    double worst = 0.0;
    for (size_t i = 0; i < sizeof distances / sizeof *distances; ++i) {
        const double got = bb_phase_screen_structure(&coarse, 1.0, distances[i], 0.0) +
                           bb_phase_screen_structure(&fine, 1.0, distances[i], 0.0);
        worst = fmax(worst, fabs(got / bb_structure_function(distances[i], 25.0) - 1.0));
    }
    print_message("with finer waves within %.2f %%\n", 100.0 * worst);
    assert_true(worst < 0.011);
    // Other waves, other numbers.
    autofree bb_amplitude *one = draw(&coarse, 1, 0);
    autofree bb_amplitude *two = draw(&fine, 1, 0);
    assert_true(two[400][0] == 0.0 && two[330 * 300 + 300][0] != one[330 * 300 + 300][0]);
}

// Drawn: the mean over screens, with its standard error, within 2 % and 4 errors of theory.
TEST(drawn_screens_have_it_too)
{
    enum { SCREENS = 400, POINTS = 24 };
    autorelease(bb_phase_screen) screen = make(320);
    double position[POINTS];
    fill_array(position, POINTS, i, 0.333 * i - 4.0);
    autorelease(bb_screen_axis) x =
        new_struct(bb_screen_axis, &screen, true, POINTS, position, NULL, BB_SCREEN_POINT);
    autorelease(bb_screen_axis) y =
        new_struct(bb_screen_axis, &screen, false, POINTS, position, NULL, BB_SCREEN_POINT);
    double sum = 0.0;
    double squares = 0.0;
    for (uint64_t s = 0; s < SCREENS; ++s) {
        double grid[POINTS * POINTS] = {0.0};
        autofree bb_amplitude *amplitudes = draw(&screen, 3, s);
        check_ok(bb_phase_screen_add(&screen, amplitudes, &x, &y, grid));
        double mean = 0.0;
        for (int j = 0; j < POINTS; ++j) {
            for (int i = 0; i + 6 < POINTS; ++i) {
                const double along = grid[j * POINTS + i + 6] - grid[j * POINTS + i];
                const double across = grid[(i + 6) * POINTS + j] - grid[i * POINTS + j];
                mean += (along * along + across * across) / (2.0 * POINTS * (POINTS - 6));
            }
        }
        sum += mean / SCREENS;
        squares += mean * mean / SCREENS;
    }
    const double expected = bb_structure_function(6 * 0.333, 25.0);
    const double error = sqrt((squares - sum * sum) / (SCREENS - 1));
    print_message("structure function at 2 m: %.4f +- %.4f of theory\n", sum / expected,
                  error / expected);
    check_close(sum, expected, 0.02, expected);
    check_close(sum, expected, 4.0, error + 0.01 * expected / 4.0);
}

TEST(fft_and_sum_of_waves_agree)
{
    autorelease(bb_phase_screen) screen = make(48);
    autofree bb_amplitude *amplitudes = draw(&screen, 1, 7);
    double position[48];
    autofree double *plane = zeros(48 * 48);
    autofree double *grid = zeros(48 * 48);
    fill_array(position, 48, i, pixel_m * (i - 24));
    autorelease(bb_screen_axis) x =
        new_struct(bb_screen_axis, &screen, true, 48, position, NULL, BB_SCREEN_POINT);
    autorelease(bb_screen_axis) y =
        new_struct(bb_screen_axis, &screen, false, 48, position, NULL, BB_SCREEN_POINT);
    check_ok(bb_phase_screen_plane(&screen, amplitudes, plane));
    check_ok(bb_phase_screen_add(&screen, amplitudes, &x, &y, grid));
    check_all_close(grid, plane, 48 * 48, 1e-11, 1.0);
}

// One value of a screen at x by y, evaluated along x and y as given.
static double taken(const bb_phase_screen *screen, const bb_amplitude *amplitudes, double at_x,
                    double at_y, double width, bb_screen_taken along_x, bb_screen_taken along_y)
{
    double value = 0.0;
    autorelease(bb_screen_axis) x =
        new_struct(bb_screen_axis, screen, true, 1, &at_x, &width, along_x);
    autorelease(bb_screen_axis) y =
        new_struct(bb_screen_axis, screen, false, 1, &at_y, &width, along_y);
    check_ok(bb_phase_screen_add(screen, amplitudes, &x, &y, &value));
    return value;
}

TEST(differences_and_means_are_those_of_points)
{
    autorelease(bb_phase_screen) screen = make(48);
    autofree bb_amplitude *amplitudes = draw(&screen, 1, 8);
    const double width = 0.37;
    const bb_screen_taken point = BB_SCREEN_POINT;
    const double difference =
        taken(&screen, amplitudes, 0.61, -1.2, width, BB_SCREEN_DIFFERENCE, BB_SCREEN_POINT);
    const double ends = taken(&screen, amplitudes, 0.61 + width / 2, -1.2, 0.0, point, point) -
                        taken(&screen, amplitudes, 0.61 - width / 2, -1.2, 0.0, point, point);
    check_close(difference, ends, 1e-12, 1.0);
    double mean = 0.0;
    for (int k = 0; k < 400; ++k) {
        const double y = -1.2 + width * ((k + 0.5) / 400.0 - 0.5);
        mean += taken(&screen, amplitudes, 0.61, y, 0.0, point, point) / 400.0;
    }
    check_close(taken(&screen, amplitudes, 0.61, -1.2, width, point, BB_SCREEN_MEAN), mean, 1e-4,
                1.0);
}

TEST(a_screen_is_its_address)
{
    bb_phase_screen screen = make(16);
    autofree bb_amplitude *first = draw(&screen, 1, 4);
    autofree bb_amplitude *other = draw(&screen, 1, 5);
    autofree bb_amplitude *again = draw(&screen, 1, 4);
    assert_memory_equal(first, again, (size_t)screen.waves * sizeof *first);
    assert_memory_not_equal(first, other, (size_t)screen.waves * sizeof *first);
    bb_phase_screen_release(&screen);
    check_fails(bb_phase_screen_create(1, 0.1, 25.0, 4, &screen), BB_INVALID, "1 points");
}

// A moved screen equals the screen elsewhere; the mean over a path equals that of many moves; a
// move by a period along each axis restores all but the subharmonics.
TEST(screens_move)
{
    enum { NODES = 401 }; // for Simpson's rule
    autorelease(bb_phase_screen) screen = make(60);
    autofree bb_amplitude *amplitudes = draw(&screen, 3, 4);
    autofree bb_amplitude *moved = draw(&screen, 3, 4);
    const double shift[2] = {0.377, -1.21};
    const double path[2] = {-0.9, 0.55};
    const double still[2] = {0.0, 0.0};
    check_ok(bb_phase_screen_move(&screen, shift, still, amplitudes, moved));
    const double got = taken(&screen, moved, 0.7, 0.2, 0.1, BB_SCREEN_DIFFERENCE, BB_SCREEN_POINT);
    check_close(got,
                taken(&screen, amplitudes, 0.7 - shift[0], 0.2 - shift[1], 0.1,
                      BB_SCREEN_DIFFERENCE, BB_SCREEN_POINT),
                1e-12, 1.0);
    assert_true(fabs(got - taken(&screen, amplitudes, 0.7, 0.2, 0.1, BB_SCREEN_DIFFERENCE,
                                 BB_SCREEN_POINT)) > 0.01);
    check_ok(bb_phase_screen_move(&screen, shift, path, amplitudes, moved));
    double mean = 0.0;
    for (int k = 0; k < NODES; ++k) {
        const double share = (double)k / (NODES - 1) - 0.5;
        const double weight = k == 0 || k == NODES - 1 ? 1.0 : 2.0 + 2.0 * (k % 2);
        mean += weight / (3.0 * (NODES - 1)) *
                taken(&screen, amplitudes, 0.7 - shift[0] - share * path[0],
                      0.2 - shift[1] - share * path[1], 0.1, BB_SCREEN_POINT, BB_SCREEN_POINT);
    }
    check_close(taken(&screen, moved, 0.7, 0.2, 0.1, BB_SCREEN_POINT, BB_SCREEN_POINT), mean, 1e-8,
                1.0);
    const double period[2] = {pixel_m * (double)screen.points, -pixel_m * (double)screen.points};
    check_ok(bb_phase_screen_move(&screen, period, still, amplitudes, moved));
    const bb_index fast = screen.points * screen.points / 2;
    double away = 0.0;
    for (bb_index w = 0; w < screen.waves; ++w) {
        const double off = hypot(moved[w][0] - amplitudes[w][0], moved[w][1] - amplitudes[w][1]);
        if (w < fast) {
            check_close(off, 0.0, 1e-11, 1.0);
        } else {
            away = fmax(away, off);
        }
    }
    assert_true(away > 0.1);
}
