// SPDX-License-Identifier: Apache-2.0
//
// Differences between two emitted configurations, as in messages.
#include "sim/config/difference.h"
#include "tests/check.h"

static void expect(const char *there, const char *here, const char *words)
{
    autorelease(bb_text) text = {0};
    check_ok(bb_difference_write(there, here, &text));
    assert_string_equal(bb_text_string(&text), words);
}

TEST(groups_are_named_with_their_first_difference)
{
    static const char first[] = "mesh:\n  step_ms: 1.0\n  substeps: 1\nscan:\n  order: given\n"
                                "probes:\n- name: a\n  layer: wafer\nseed: 3\n";
    expect(first, first, "");
    expect("", "", "");
    expect(first,
           "mesh:\n  step_ms: 1.0\n  substeps: 2\nscan:\n  order: given\n"
           "probes:\n- name: a\n  layer: wafer\nseed: 3\n",
           "mesh ('substeps: 1' there, 'substeps: 2' here)");
    expect(first,
           "mesh:\n  step_ms: 1.0\n  substeps: 1\nscan:\n  order: given\n  more: 1\n"
           "probes: []\nseed: 4\n",
           "scan (nothing there, 'more: 1' here), probes ('probes:' there, 'probes: []' here), "
           "seed ('seed: 3' there, 'seed: 4' here)");
}

TEST(groups_of_one_side_are_named)
{
    expect("a: 1\n", "a: 1\nb:\n  c: 2\n", "b (nothing there, 'b:' here)");
    expect("a: 1\nab: 2\n", "ab: 2\n", "a ('a: 1' there, nothing here)");
    expect("a: 1", "", "a ('a: 1' there, nothing here)");
}

TEST(long_lines_are_cut)
{
    expect("a: 0123456789012345678901234567890123456789012345678901234567890123456789\n", "a: 1\n",
           "a ('a: 012345678901234567890123456789012345678901234567890123456...' there, 'a: 1' "
           "here)");
}
