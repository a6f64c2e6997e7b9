// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"
#include "tests/check.h"

TEST(first_failure_is_kept)
{
    bb_outcome outcome = {0};
    assert_string_equal(bb_outcome_name(outcome.kind), "ok");
    bb_outcome_set(&outcome, BB_OUTCOME_NOT_SPD, "tile %d", 3);
    bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "later");
    assert_string_equal(bb_outcome_name(outcome.kind), "not_spd");
    assert_string_equal(outcome.detail, "tile 3");
}

TEST(non_finite_values_are_found)
{
    double values[4] = {1.0, -0.0, INFINITY, NAN};
    assert_int_equal(bb_outcome_first_non_finite(values, 2), -1);
    assert_int_equal(bb_outcome_first_non_finite(values, 4), 2);
    assert_int_equal(bb_outcome_first_non_finite(values + 3, 1), 0);
}

TEST(outcomes_from_files_are_held_to_their_bounds)
{
    bb_outcome outcome = {.kind = BB_OUTCOME_UNDERDETERMINED, .detail = "layer 2"};
    assert_true(bb_outcome_is_sound(&outcome));
    outcome.kind = (bb_outcome_kind)(BB_OUTCOME_NOT_HELD + 1);
    assert_false(bb_outcome_is_sound(&outcome));
    outcome.kind = BB_OUTCOME_OK;
    memset(outcome.detail, 'x', sizeof outcome.detail);
    assert_false(bb_outcome_is_sound(&outcome));
}
