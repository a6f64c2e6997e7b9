// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with the same kernels, which warm each other up. No GPU is needed.
#include "sim/pipelines/factor_warm.h"
#include "tests/check.h"

static bool share(const bb_factor_pipeline *a, const bb_factor_pipeline *b)
{
    const bb_factor_kernels first = bb_factor_kernels_of(a);
    const bb_factor_kernels second = bb_factor_kernels_of(b);
    return bb_factor_kernels_same(&first, &second);
}

TEST(names_and_widths_launch_the_same)
{
    const bb_factor_pipeline narrow = {
        .name = "narrow",
        .arithmetic = BB_VARIANT_HP1,
        .policy = {.kind = BB_POLICY_BAND, .width = 1, .inside = BB_VARIANT_X3}};
    bb_factor_pipeline wide = narrow;
    wide.name = "wide";
    wide.policy.width = 9;
    assert_true(share(&narrow, &wide));
    // Without a policy its other keys have no effect.
    const bb_factor_pipeline plain = {.arithmetic = BB_VARIANT_HP1};
    bb_factor_pipeline unused = plain;
    unused.policy.inside = BB_VARIANT_X3;
    assert_true(share(&plain, &unused));
}

TEST(what_chooses_a_kernel_tells_apart)
{
    const bb_factor_pipeline plain = {.arithmetic = BB_VARIANT_HP1};
    bb_factor_pipeline other = plain;
    other.arithmetic = BB_VARIANT_HP2;
    assert_false(share(&plain, &other));
    other = plain;
    other.sweeps = BB_POLICY_SWEEPS_LIGHT;
    assert_false(share(&plain, &other));
    other = plain;
    other.policy.diagonal = BB_POLICY_FOLLOW;
    assert_false(share(&plain, &other));
    other = plain;
    other.policy.kind = BB_POLICY_BAND;
    assert_false(share(&plain, &other));
    bb_factor_pipeline inside = other;
    inside.policy.inside = BB_VARIANT_X3;
    assert_false(share(&other, &inside));
}
