// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/frame_score.h"
#include "tests/check.h"

// Quantiles of Student's t at 0.975 with 1, 4 and 399 degrees of freedom correspond to 1.96 of the
// normal.
TEST(few_numbers_make_a_distance_less_certain)
{
    static const double t[] = {12.7062047, 2.77644511, 1.96592730};
    static const bb_index counts[] = {2, 5, 400};
    for (int k = 0; k < 3; ++k) {
        const bb_frame_mean mean = {0.5 - 0.01 * t[k], 0.01};
        check_close(bb_frame_mean_sigmas(&mean, 0.5, counts[k]), -1.959964, 2e-6, 1.0);
    }
    check_close(bb_frame_mean_sigmas(&(bb_frame_mean){1.1, 0.01}, 0.5, 2000), 60.0, 1e-12, 60.0);
    assert_true(isnan(bb_frame_mean_sigmas(&(bb_frame_mean){0.5, NAN}, 0.4, 1)));
}
