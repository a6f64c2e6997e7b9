// SPDX-License-Identifier: Apache-2.0
//
// The maps of docs/lab/unwrap.md at 1024 x 1024 and 4096 x 4096, in single precision.
#include "tests/solvers/unwrap/unwrap_context.h"

// Unwraps a map, prints the result and returns the number of wrong points; releases the map.
static bb_index unwrap(const char *name, phase_map *map)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autoptr(bb_unwrap) unwrapper = unwrap_map(map, &config, &report);
    const bb_index wrong = phase_map_wrong(map, bb_unwrap_parts_of(unwrapper));
    print_message("%s, %td x %td: %td wrong, %td cycles, %td times reweighted, %.0f ms\n", name,
                  map->columns, map->rows, wrong, report.cycles, report.reweighted,
                  1e3 * report.solve_seconds);
    phase_map_release(map);
    return wrong;
}

static phase_map make(phase_function function, bb_index edge, double noise, uint64_t seed)
{
    return phase_map_of(function, edge, edge, noise, seed);
}

TEST(smooth_and_noisy_maps_are_right)
{
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        phase_map maps[] = {
            make(phase_of_zernikes, 1024, 0.0, seed), make(phase_of_freeform, 1024, 0.0, seed),
            make(phase_of_bumps, 1024, 0.3, seed), make(phase_of_bumps, 1023, 0.5, seed)};
        static const char *const names[] = {"Zernikes on an annulus", "freeform", "noise 0.3 rad",
                                            "noise 0.5 rad"};
        for (size_t i = 0; i < sizeof maps / sizeof *maps; ++i) {
            assert_int_equal(unwrap(names[i], &maps[i]), 0);
        }
    }
}

TEST(jumps_residues_and_holes_are_right)
{
    phase_map shear = make(phase_of_slope, 1024, 0.0, 1);
    phase_map_add_shear(&shear);
    assert_int_equal(unwrap("shear", &shear), 0);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        phase_map pairs = make(phase_of_bumps, 1024, 0.0, seed);
        phase_map_add_pairs(&pairs, 40, seed);
        assert_int_equal(unwrap("40 pairs of residues", &pairs), 0);
        phase_map holes = make(phase_of_bumps, 1024, 0.0, seed);
        phase_map_add_holes(&holes, 60, 0.01, seed);
        assert_int_equal(unwrap("holes and dead pixels", &holes), 0);
    }
}

// Tears that open to several cycles; the weights of their edges vanish. Where a slanted tear opens
// by whole cycles, wrapped differences across it are smooth: exact least squares has the same one
// or two wrong points, scikit-image one or two.
TEST(tears_are_right)
{
    static const double openings[] = {7.0, 11.0, 15.0};
    static const double angles[] = {0.0, 1.5707963267948966, 0.5};
    for (int k = 0; k < 9; ++k) {
        phase_map map = phase_map_create(512, 512);
        phase_map_fill_torn(&map, openings[k % 3], angles[k / 3]);
        const bool is_slanted = k / 3 == 2;
        assert_in_range(unwrap("tear", &map), 0, is_slanted ? 2 : 0);
    }
}

// The limit is 60; other programs have 62 to 254. About seven points have noise beyond pi.
TEST(noise_of_seven_tenths_is_nearly_right)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        phase_map map = make(phase_of_bumps, 1024, 0.7, seed);
        assert_in_range(unwrap("noise 0.7 rad", &map), 0, 40);
    }
}

TEST(sixteen_million_points_are_right)
{
    phase_map map = make(phase_of_bumps, 4096, 0.0, 1);
    assert_int_equal(unwrap("hills", &map), 0);
}

TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2);
