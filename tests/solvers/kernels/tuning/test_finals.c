// SPDX-License-Identifier: Apache-2.0
//
// Candidates that enter the final rounds, and the winner.
#include "solvers/kernels/tuning/tuning.h"
#include "tests/check.h"

TEST(the_fastest_enter_in_order)
{
    static const double seconds[] = {5.0, 3.0, 4.0, 1.0, 6.0, 2.0};
    static const int expected[] = {1, 3, 5};
    bb_finalist finalists[3];
    int count = 0;
    for (int i = 0; i < 6; ++i) {
        bb_finalist_insert(finalists, 3, &count, (bb_finalist){.number = i, .least_s = seconds[i]});
    }
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(finalists[i].number, expected[i]);
    }
}

TEST(equal_times_keep_the_earlier)
{
    bb_finalist finalists[2];
    int count = 0;
    for (int i = 0; i < 4; ++i) {
        bb_finalist_insert(finalists, 2, &count, (bb_finalist){.number = i, .least_s = 1.0});
    }
    assert_int_equal(finalists[0].number, 0);
    assert_int_equal(finalists[1].number, 1);
}

TEST(a_later_one_must_be_faster_beyond_the_noise)
{
    bb_finalist finalists[3] = {
        {.number = 0, .times = {1.0, 1.0, 1.0, 1.0}},
        {.number = 4, .times = {0.9, 0.9, 1.1, 1.1}},         // half of the rounds
        {.number = 7, .times = {0.999, 0.999, 0.999, 0.999}}, // margin too small
    };
    assert_int_equal(bb_finalists_decide(finalists, 3, 4), 0);
    finalists[1].times[2] = 0.99; // three quarters
    assert_int_equal(bb_finalists_decide(finalists, 3, 4), 1);
    finalists[2].times[0] = finalists[2].times[1] = finalists[2].times[2] = 0.8;
    assert_int_equal(bb_finalists_decide(finalists, 3, 4), 2);
    assert_int_equal(bb_finalists_decide(finalists, 1, 4), 0);
}
