// SPDX-License-Identifier: Apache-2.0
#include "precision/light_tiles.h"
#include "tests/check.h"

enum { ROWS = 4 };

// Below the diagonal: 1, 4 | 2, 1, 8: 16 in total, 1 at (1, 0) and at (3, 1).
static const double energies[ROWS * (ROWS + 1) / 2] = {100.0, 1.0, 100.0, 0.0, 4.0,
                                                       100.0, 2.0, 1.0,   8.0, 100.0};

static void expect(double share, const char *where)
{
    unsigned char light[ROWS * ROWS];
    memset(light, 7, sizeof light);
    check_ok(bb_light_tiles(ROWS, energies, share, light));
    for (int t = 0; t < ROWS * ROWS; ++t) {
        assert_int_equal(light[t], where[t] == 'x');
    }
}

TEST(the_tiles_of_least_energy_are_light)
{
    expect(0.0, "...."
                "...."
                "x..." // without energy
                "....");
    expect(0.99 / 16.0, "...."
                        "...."
                        "x..."
                        "....");
    expect(1.0 / 16.0, "...."
                       "x..." // the first of two equal ones
                       "x..."
                       "....");
    expect(0.25, "...."
                 "x..."
                 "x..."
                 "xx..");
    expect(1.0, "...."
                "x..."
                "xx.."
                "xxx.");
}

TEST(nothing_is_light_beside_a_nan)
{
    const double broken[3] = {1.0, NAN, 1.0};
    unsigned char light[4];
    check_ok(bb_light_tiles(2, broken, 1.0, light));
    assert_int_equal(light[2], 0);
    check_ok(bb_light_tiles(1, broken, 1.0, light));
    assert_int_equal(light[0], 0);
}
