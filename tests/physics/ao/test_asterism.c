// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_config.h"
#include "tests/check.h"

// By hand: 20 arcsec at 30, 120, 210 and 300 deg about (1, -2); 20 cos 30 deg = 17.320508076.
TEST(a_ring_goes_from_x_towards_y)
{
    const bb_ring_of_directions ring = {4, 20.0, 30.0, 1.0, -2.0};
    const double expected[4][2] = {
        {18.320508076, 8.0}, {-9.0, 15.320508076}, {-16.320508076, -12.0}, {11.0, -19.320508076}};
    assert_int_equal(bb_asterism_ring.count(&ring), 4);
    for (bb_index i = 0; i < 4; ++i) {
        double place[2];
        bb_asterism_ring.place(&ring, i, place);
        assert_true(place[0] == expected[i][0] && place[1] == expected[i][1]);
    }
}

TEST(no_dust_is_left_on_the_axes)
{
    const bb_ring_of_directions ring = {8, 40.0, -90.0, 0.0, 0.0};
    double place[2];
    bb_asterism_ring.place(&ring, 0, place);
    assert_true(place[0] == 0.0 && !signbit(place[0]) && place[1] == -40.0);
    bb_asterism_ring.place(&ring, 2, place);
    assert_true(place[0] == 40.0 && place[1] == 0.0 && !signbit(place[1]));
}

TEST(a_grid_has_its_edges)
{
    const bb_grid_of_directions grid = {3, 60.0, 5.0, -1.0};
    const double x[3] = {-25.0, 5.0, 35.0};
    const double y[3] = {-31.0, -1.0, 29.0};
    assert_int_equal(bb_asterism_grid.count(&grid), 9);
    for (bb_index i = 0; i < 9; ++i) {
        double place[2];
        bb_asterism_grid.place(&grid, i, place);
        assert_true(place[0] == x[i % 3] && place[1] == y[i / 3]);
    }
    const bb_grid_of_directions single = {1, 60.0, 5.0, -1.0};
    double place[2];
    bb_asterism_grid.place(&single, 0, place);
    assert_true(place[0] == 5.0 && place[1] == -1.0);
}
