// SPDX-License-Identifier: Apache-2.0
#include "core/suggestion.h"
#include "tests/check.h"

TEST(distances_by_hand)
{
    assert_int_equal(bb_suggestion_distance("", ""), 0);
    assert_int_equal(bb_suggestion_distance("abc", ""), 3);
    assert_int_equal(bb_suggestion_distance("kitten", "sitting"), 3);
    assert_int_equal(bb_suggestion_distance("ab", "ba"), 1);
    assert_int_equal(bb_suggestion_distance("CPU", "cpu"), 0);
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(bb_suggestion_distance(longer, "a"), 62);
}

static const char *nearest(const char *word)
{
    static const char *const words[] = {"spacing_mm", "step_ms", "stepping", "x", "r0_m"};
    static bb_suggestion near;
    near = (bb_suggestion){.word = word};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        bb_suggestion_add(&near, words[i]);
    }
    return bb_suggestion_text(&near);
}

TEST(only_near_words_are_suggested)
{
    assert_string_equal(nearest("spacing"), " (did you mean spacing_mm?)");
    assert_string_equal(nearest("spacing_m"), " (did you mean spacing_mm?)");
    assert_string_equal(nearest("steping"), " (did you mean stepping?)");
    assert_string_equal(nearest("r0"), " (did you mean r0_m?)");
    assert_string_equal(nearest("w"), "");
    assert_string_equal(nearest("thickness"), "");
}
