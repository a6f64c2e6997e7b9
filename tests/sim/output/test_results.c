// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fixture.h"

TEST(datasets_hold_what_was_given)
{
    autoptr(bb_results) results = fixture_results();
    const bb_dataset *dataset = bb_results_find(results, "results/by");
    assert_int_equal(dataset->rank, 2);
    assert_int_equal(dataset->shape[0], 4);
    assert_int_equal(dataset->shape[1], 2);
    assert_true(dataset->numbers[3] == 4.0);
    assert_string_equal(dataset->axes[1], "wavelength");
    const bb_dataset *energy = bb_results_find(results, "results/energy_j");
    check_all_nan(energy->numbers, energy->count);
    assert_int_equal(bb_results_find(results, "results/total")->rank, 0);
}

TEST(mistakes_are_refused)
{
    autoptr(bb_results) results = fixture_results();
    check_fails(results_values(results, "results/by", "1", "", "pipeline", NULL), BB_INVALID,
                "exists already");
    check_fails(results_values(results, "results/x", "1", "", "target", NULL), BB_INVALID,
                "no axis 'target'");
    // netCDF cannot read a scale in a sibling group.
    check_fails(results_values(results, "detail/x", "1", "", "pipeline", NULL), BB_INVALID,
                "no axis 'pipeline'");
    check_fails(results_values(results, "results/x", "1", "", "status", NULL), BB_INVALID,
                "no axis 'status'");
    check_fails(results_values(results, "results/a b", "1", "", "", NULL), BB_INVALID,
                "letters, digits and _");
    check_fails(results_values(results, "a/b/c", "1", "", "", NULL), BB_INVALID, "expected name");
    check_fails(results_axis(results, "empty", "1", "", 0, NULL), BB_INVALID, "at least one");
    check_ok(results_values(results, "detail/x", "1", "", "wavelength", NULL));
    check_fails(bb_results_coordinate(results, "results/step"), BB_INVALID, "not an axis itself");
    check_fails(bb_results_coordinate(results, "results/total"), BB_INVALID, "with axes");
    check_fails(bb_results_coordinate(results, "results/x"), BB_INVALID, "coordinate 'results/x'");
}

TEST(digests_see_results_and_nothing_else)
{
    char before[BB_DIGEST_BYTES], after[BB_DIGEST_BYTES];
    char stable_before[BB_DIGEST_BYTES], stable_after[BB_DIGEST_BYTES];
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_results_digest(results, false, before));
    check_ok(bb_results_digest(results, true, stable_before));
    check_ok(bb_results_note(results, "provenance", "host", "elsewhere"));
    check_ok(bb_results_digest(results, false, after));
    assert_string_equal(before, after);
    // A time changes the digest, but not the reproducible one.
    results_set(results, "results/solve_time_s", 0, 7.0);
    check_ok(bb_results_digest(results, false, after));
    check_ok(bb_results_digest(results, true, stable_after));
    assert_string_not_equal(before, after);
    assert_string_equal(stable_before, stable_after);
    results_set(results, "results/by", 7, 8.5);
    check_ok(bb_results_digest(results, true, stable_after));
    assert_string_not_equal(stable_before, stable_after);
}

TEST(what_is_dropped_leaves_room_for_another)
{
    autoptr(bb_results) results = fixture_results();
    const bb_index count = bb_results_count(results);
    check_ok(bb_results_drop(results, "results/total"));
    assert_null(bb_results_find(results, "results/total"));
    assert_int_equal(bb_results_count(results), count - 1);
    check_ok(results_texts(results, "results/total", "words", "pipeline", NULL));
    assert_int_equal(bb_results_find(results, "results/total")->rank, 1);
    assert_true(bb_results_find(results, "results/by")->numbers[7] == 8.0);
    check_fails(bb_results_drop(results, "results/none"), BB_INVALID, "no result 'results/none'");
    // Other datasets use this axis, in its group or below the root.
    check_fails(bb_results_drop(results, "results/step"), BB_INVALID, "axis 'results/step'");
    check_fails(bb_results_drop(results, "wavelength"), BB_INVALID, "axis 'wavelength'");
}

TEST(notes_are_replaced)
{
    autoptr(bb_results) results = empty_results();
    check_ok(bb_results_note(results, "provenance", "device", "auto"));
    check_ok(bb_results_note(results, "provenance", "device", "cpu"));
    assert_int_equal(bb_results_note_count(results), 1);
    assert_string_equal(bb_results_note_text(results, "provenance", "device"), "cpu");
    assert_null(bb_results_note_text(results, "", "device"));
}
