// SPDX-License-Identifier: Apache-2.0
//
// Answer, front and table of a collected sweep, for data written manually and from the program.
#include "sim/sweep/swept.h"
#include "tests/sim/program.h"
#include "tests/sim/sweep/sweep_fixture.h"

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        print_error("no '%s' in\n%s", expected, bb_text_string(text));
        fail();
    }
}

TEST(answers_name_the_worst_point)
{
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    check_ok(bb_swept_read(results, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, NAN, &text));
    assert_string_equal(
        text.data,
        "4 of 5 choices finish at every condition. Fewest bytes among them: " SWEEP_FIXTURE_NAME
        ", width 2, 2 MB, strehl loss at "
        "worst 0.004 (r0_m 0.2, width 2).");
    bb_text_release(&text);
    check_ok(bb_swept_answer(&swept, 1e-5, &text));
    has(&text, "with strehl loss of at most 1e-05 at every condition: sp, 4 MB, ");
    bb_text_release(&text);
    check_ok(bb_swept_answer(&swept, -1.0, &text));
    has(&text, "None stays within strehl loss -1 at every condition.");
}

TEST(partial_searches_are_named)
{
    static const double index[] = {0};
    static const char *const answers[] = {"width = 2"};
    autoptr(bb_results) partial = empty_results();
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    check_ok(sweep_fixture_fill(partial));
    check_ok(sweep_fixture_judge(partial));
    check_ok(results_axis(partial, "search/group", "1", "group", 1, index));
    check_ok(results_texts(partial, "search/answer", "answer", "group", answers));
    check_ok(bb_results_note(partial, "", "status", "partial"));
    check_ok(bb_results_note(partial, "", "status_reason", "the search has not ended"));
    check_ok(bb_swept_read(partial, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, NAN, &text));
    assert_string_equal(text.data, "width = 2. Partial result: the search has not ended.");
}

// Plan that was ended early, whose cheapest choice has an unknown loss at a point.
TEST(partial_sweeps_and_unknown_losses_are_named)
{
    static const double without_loss[] = {0, 0, 0, 1, 0};
    autoptr(bb_results) partial = empty_results();
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    check_ok(sweep_fixture_fill(partial));
    check_ok(sweep_fixture_judge(partial));
    check_ok(results_values(partial, "statistics/points_without_loss", "1", "statistic", "choice",
                            without_loss));
    check_ok(bb_results_note(partial, "", "status", "partial"));
    check_ok(bb_results_note(partial, "", "status_reason", "6 of 12 planned points were run"));
    check_ok(bb_swept_read(partial, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, 1.0, &text));
    assert_string_equal(
        text.data,
        "4 of 5 choices finish at every condition that was run. Partial result: 6 of 12 planned "
        "points were run. Loss unknown: " SWEEP_FIXTURE_NAME ", width 2 (1 of 2). Fewest "
        "bytes with strehl loss of at most 1 at every condition that was run: " SWEEP_FIXTURE_NAME
        ", width 4, 3 MB, strehl loss at worst 0.006 (r0_m 0.2, width 4).");
    assert_false(bb_swept_is_front(&swept, 3));
}

// A negative worst loss is rounding: it removes nothing from the front.
TEST(negative_losses_leave_the_reference_on_the_front)
{
    bb_swept_choice choices[] = {{.loss_most = 0.0, .bytes = 8e6},
                                 {.loss_most = -5.9e-9, .bytes = 4e6},
                                 {.loss_most = -1e-6, .bytes = 4e6}};
    const bb_swept swept = {.choices = choices, .choice_count = 3};
    assert_true(bb_swept_is_front(&swept, 0));
    assert_true(bb_swept_is_front(&swept, 1));
    assert_false(bb_swept_is_front(&swept, 2));
}

static void call(const char *const more[6], int code, const char *expected)
{
    const char *arguments[PROGRAM_ARGUMENTS] = {NULL};
    fill_array(arguments, 6, i, more[i]);
    program_call(arguments, &run);
    program_expect(&run, code, expected);
}

TEST(program_shows_choices)
{
    call((const char *const[6]){"show", "s.h5"}, 0, "4 of 5 choices finish at every condition.");
    call((const char *const[6]){"show", "s.h5", "--format", "csv"}, 0,
         "pipeline,points,points_failed,share_failed_bound,loss_median");
    call((const char *const[6]){"show", "s.h5", "--max-loss", "1e-9", "--format", "json"}, 0,
         "with strehl loss of at most 1e-09 at every condition: reference");
    call((const char *const[6]){"show", "s.h5", "s.h5"}, 2, "show it separately");
    call((const char *const[6]){"show", "s.h5", "--full"}, 2, "need a single run");
}

TEST_GROUP(.begin = sweep_fixture_begin, .end = sweep_fixture_end, .has_folder = true);
