// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"
#include "tests/check.h"

TEST(row_scale_is_a_power_of_two_inside_the_range)
{
    const double peaks[] = {1e-290, 3.1e-10, 0.5, 1.0, 447.0, 1e30};
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        double largest = bb_format_describe((bb_format)f)->largest;
        for (size_t p = 0; p < sizeof peaks / sizeof *peaks; ++p) {
            int exponent = 0;
            double row[3] = {0.0, -peaks[p], 0.1 * peaks[p]};
            double scale = bb_scaling_row((bb_format)f, row, 3);
            assert_true(frexp(scale, &exponent) == 0.5);
            assert_true(scale * peaks[p] <= largest);
            double top = bb_format_describe((bb_format)f)->bytes > 2 ? 1.0 : fmin(largest, 65536.0);
            assert_true(scale * peaks[p] <= top);
            assert_true(scale * peaks[p] > 0.5 * top);
        }
    }
}

TEST(rows_of_zeros_keep_scale_one)
{
    double row[2] = {0.0, -0.0};
    assert_true(bb_scaling_row(BB_FORMAT_FP16, row, 2) == 1.0);
}

TEST(unit_diagonal_gives_ones)
{
    double diagonal[3] = {4.0, 1e-12, 3.0};
    double scale[3];
    check_ok(bb_scaling_unit_diagonal(diagonal, 3, scale));
    for (int i = 0; i < 3; ++i) {
        check_close(scale[i] * diagonal[i] * scale[i], 1.0, 1e-15, 1.0);
    }
    diagonal[1] = 0.0;
    check_fails(bb_scaling_unit_diagonal(diagonal, 3, scale), BB_INVALID,
                "diagonal entry 1 is 0, expected a positive finite number");
    diagonal[1] = NAN;
    check_fails(bb_scaling_unit_diagonal(diagonal, 3, scale), BB_INVALID, "nan");
}
