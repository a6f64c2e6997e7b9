// SPDX-License-Identifier: Apache-2.0
#include "precision/policy.h"
#include "tests/check.h"

static void uniform_is_the_pipelines_own(void **state)
{
    (void)state;
    bb_policy_config policy = {.kind = BB_POLICY_UNIFORM, .width = 5, .inside = BB_VARIANT_DP};
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_HP2);
}

static void band_counts_tiles_from_the_diagonal(void **state)
{
    (void)state;
    bb_policy_config policy = {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_SP};
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_SP);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 5, 4), BB_VARIANT_SP);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 6, 4), BB_VARIANT_HP2);
    policy.width = 0;
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_HP2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_is_the_pipelines_own),
        cmocka_unit_test(band_counts_tiles_from_the_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
