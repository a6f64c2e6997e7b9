// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"
#include "tests/check.h"

static void first_failure_is_kept(void **state)
{
    (void)state;
    bb_outcome outcome = {0};
    assert_string_equal(bb_outcome_name(outcome.kind), "ok");
    bb_outcome_set(&outcome, BB_OUTCOME_NOT_SPD, "tile %d", 3);
    bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "later");
    assert_string_equal(bb_outcome_name(outcome.kind), "not_spd");
    assert_string_equal(outcome.detail, "tile 3");
}

static void non_finite_values_are_found(void **state)
{
    (void)state;
    double values[4] = {1.0, -0.0, INFINITY, NAN};
    assert_int_equal(bb_outcome_first_non_finite(values, 2), -1);
    assert_int_equal(bb_outcome_first_non_finite(values, 4), 2);
    assert_int_equal(bb_outcome_first_non_finite(values + 3, 1), 0);
}

static void outcomes_from_files_are_held_to_their_bounds(void **state)
{
    (void)state;
    bb_outcome outcome = {.kind = BB_OUTCOME_UNDERDETERMINED, .detail = "layer 2"};
    assert_true(bb_outcome_is_sound(&outcome));
    outcome.kind = (bb_outcome_kind)(BB_OUTCOME_NOT_HELD + 1);
    assert_false(bb_outcome_is_sound(&outcome));
    outcome.kind = BB_OUTCOME_OK;
    memset(outcome.detail, 'x', sizeof outcome.detail);
    assert_false(bb_outcome_is_sound(&outcome));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_failure_is_kept),
        cmocka_unit_test(non_finite_values_are_found),
        cmocka_unit_test(outcomes_from_files_are_held_to_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
