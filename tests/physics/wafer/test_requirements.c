// SPDX-License-Identifier: Apache-2.0
//
// Figure 3 of Bamakhrama et al.: totals as printed, and derived values for an axis, memory and
// link. Sizes are those implied by their own figures (both totals solved for S and nnz A).
#include "physics/wafer/requirements.h"
#include "tests/check.h"

static const bb_requirement_sizes fast = {
    .unknowns = 3.7e5,
    .sources = 250266,
    .window = 378,
    .field_points = 2163,
    .entries = 11.8,
    .inputs = 1,
    .light = 34,
    .dark = 36,
    .axes = 3,
    .budget = 0.05,
};

static bb_requirement_sizes slow_scan(void)
{
    bb_requirement_sizes slow = fast;
    slow.light = 81;
    slow.dark = 29;
    slow.budget = 0.08;
    return slow;
}

TEST(both_totals_are_the_papers)
{
    const bb_requirement_sizes slow = slow_scan();
    bb_requirements of_fast = bb_requirements_of(&fast, BB_READING_CORRECTED);
    bb_requirements of_slow = bb_requirements_of(&slow, BB_READING_CORRECTED);
    check_close(1e-9 * of_fast.flops, 398.7, 0.05, 1.0); // printed
    check_close(1e-9 * of_slow.flops, 587.2, 0.05, 1.0);
    check_close(1e-9 * of_fast.flop, 19.94, 0.01, 1.0);
    check_close(1e-9 * of_slow.flop, 46.98, 0.01, 1.0);
    // The paper prints 150 and 195 for an axis, which no thermal model derives from these totals.
    check_close(1e-9 * of_fast.flops_axis, 141.4, 0.05, 1.0);
    check_close(1e-9 * of_slow.flops_axis, 204.1, 0.1, 1.0);
    check_close(1e-9 * (of_fast.deformation_flop + of_fast.thermal_flop), 7.07, 0.01, 1.0);
}

TEST(bandwidth_brackets_the_papers)
{
    bb_requirement_sizes slow = slow_scan();
    bb_requirements requirements = bb_requirements_of(&slow, BB_READING_CORRECTED);
    check_close(1e-9 * requirements.deformation_bytes / slow.budget, 384.15, 0.02, 1.0);
    check_close(1e-9 * requirements.bytes_per_s_axis, 438.5, 0.5, 1.0); // 410 printed
    slow.entries = 5;
    requirements = bb_requirements_of(&slow, BB_READING_CORRECTED);
    check_close(1e-9 * requirements.bytes_per_s_axis, 410.7, 0.2, 1.0);
    // Equation 4 with the dense count of A: petabytes per second.
    requirements = bb_requirements_of(&slow, BB_READING_PRINTED);
    check_relative(requirements.bytes_per_s_axis, 1.5e15, 0.01);
}

TEST(a_field_crosses_the_link_in_time)
{
    bb_requirement_sizes sizes = fast;
    bb_requirements requirements = bb_requirements_of(&sizes, BB_READING_CORRECTED);
    check_close(requirements.field_bytes / 0x1p20, 2067.0, 3.0, 1.0); // printed in MiB
    check_close(1e-9 * requirements.link_bytes_per_s, 43.3, 0.05, 1.0);
    sizes.budget = 0.048; // time at the printed 45 GB/s
    requirements = bb_requirements_of(&sizes, BB_READING_CORRECTED);
    check_close(1e-9 * requirements.link_bytes_per_s, 45.0, 0.2, 1.0);
}

TEST(the_printed_equation_counts_dark_steps)
{
    const bb_requirement_sizes slow = slow_scan();
    bb_requirements printed = bb_requirements_of(&slow, BB_READING_PRINTED);
    bb_requirements corrected = bb_requirements_of(&slow, BB_READING_CORRECTED);
    check_relative(printed.deformation_flop / corrected.deformation_flop, 29.0 / 81.0, 1e-14);
    assert_true(printed.thermal_flop == corrected.thermal_flop);
    check_close(1e-9 * printed.flops, 218.3, 0.1, 1.0); // not the 587.2 printed next to it
}

// The step matrix of the 0.5 mm disc and its 3 mm clamp has 4,530,468 entries in 292,202 rows.
TEST(entries_are_those_of_our_matrix)
{
    check_relative(bb_requirements_entries(283993, 8209, 6.0), 4530468.0 / 292202.0, 3e-3);
}
