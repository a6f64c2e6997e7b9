// SPDX-License-Identifier: Apache-2.0
#include "core/stage.h"
#include "core/thread.h"
#include "tests/check.h"

enum { LARGE = (1 << 22) + 77 };

// The lowest index, with any number of threads.
TEST(large_arrays_are_looked_through_by_all_threads)
{
    autofree double *values = new_zeros(double, LARGE);
    for (bb_index threads = 1; threads <= 4; threads += 3) {
        check_ok(bb_threads_set(threads));
        assert_int_equal(bb_stage_find_nonfinite("here", values, LARGE), -1);
        values[LARGE - 1] = NAN;
        assert_int_equal(bb_stage_find_nonfinite("here", values, LARGE), LARGE - 1);
        values[1 << 20] = INFINITY;
        values[(1 << 21) + 5] = NAN;
        assert_int_equal(bb_stage_find_nonfinite("here", values, LARGE), 1 << 20);
        values[LARGE - 1] = values[1 << 20] = values[(1 << 21) + 5] = 0.0;
    }
}

// Values checked elsewhere are read only if they are not finite, or if a test plants something.
TEST(accepted_values_are_not_read_again)
{
    double values[4] = {1.0, NAN, 2.0, 3.0};
    assert_int_equal(bb_stage_find_nonfinite_checked("here", values, 4, true), -1);
    assert_int_equal(bb_stage_find_nonfinite_checked("here", values, 4, false), 1);
    values[1] = 0.0;
    bb_stage_plant("here", INFINITY, 2);
    assert_int_equal(bb_stage_find_nonfinite_checked("elsewhere", values, 4, true), -1);
    assert_int_equal(bb_stage_find_nonfinite_checked("here", values, 4, true), 2);
    assert_true(bb_stage_planted());
    bb_stage_plant(NULL, 0.0, 0);
}
