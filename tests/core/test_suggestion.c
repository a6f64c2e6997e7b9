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
    const char *best = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        bb_suggestion_consider(word, words[i], &distance, &best);
    }
    return best == NULL ? "none" : best;
}

TEST(only_near_words_are_suggested)
{
    assert_string_equal(nearest("spacing"), "spacing_mm");
    assert_string_equal(nearest("spacing_m"), "spacing_mm");
    assert_string_equal(nearest("steping"), "stepping");
    assert_string_equal(nearest("r0"), "r0_m");
    assert_string_equal(nearest("w"), "none");
    assert_string_equal(nearest("thickness"), "none");
}
