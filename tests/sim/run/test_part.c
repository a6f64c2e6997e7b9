// SPDX-License-Identifier: Apache-2.0
//
// Tables of parts: calls and their order, their end after a failure, and combined needs and output
// tables.
#include "sim/output/output_table.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"
#include "tests/check.h"

// Calls made, and the enabled parts of the study.
static char calls[64];
static const bool wishes[2] = {true, false}; // of the second part

static bb_status note(const char *what)
{
    (void)strcat(calls, what);
    return BB_OK;
}

static bool wanted(const void *study)
{
    return *(const bool *)study;
}
static bb_status check(const void *study, const bb_config *config, bb_problems *problems)
{
    (void)study, (void)config, (void)problems;
    return note("c");
}
static bb_status need(const void *study, const void *extent, bb_need *out)
{
    (void)study;
    *out = (bb_need){.host_bytes = *(const double *)extent, .seconds = 1.0};
    return note("n");
}
static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    (void)study, (void)extent, (void)plan;
    return note("t");
}
static bb_status start(void *work, bb_results *results)
{
    (void)work, (void)results;
    return note("s");
}
// Fails for a part with its work.
static bb_status run(void *work, bb_results *results)
{
    (void)results;
    (void)note("r");
    return work == NULL ? BB_OK
                        : bb_status_set(BB_INTERNAL, __FILE__, __LINE__, "a part that fails");
}
static const bb_output_table first = {.title = "first"}, second = {.title = "second"},
                             third = {.title = "third"};
#define ALL .check = check, .need = need, .plan_lines = plan_lines, .start = start, .run = run
static const bb_part always = {.name = "always", ALL, .outputs = BB_OUTPUTS(&first, &second)};
static const bb_part at_will = {
    .name = "at will", .wanted = wanted, ALL, .outputs = BB_OUTPUTS(&third)};
static const bb_part silent = {.name = "silent"};
static const bb_part *const parts[] = {&always, &silent, &at_will, NULL};

TEST(parts_that_are_not_wanted_are_only_checked)
{
    static const char *const expected[] = {"ccnnttssrr", "ccntsr"};
    const double bytes = 100.0;
    for (int k = 0; k < 2; ++k) {
        bb_need out;
        calls[0] = '\0';
        check_ok(bb_parts_check(parts, &wishes[k], NULL, NULL));
        check_ok(bb_parts_need(parts, &wishes[k], &bytes, (bb_need){.host_bytes = 10.0}, &out));
        check_ok(bb_parts_plan_lines(parts, &wishes[k], &bytes, NULL));
        check_ok(bb_parts_start(parts, &wishes[k], NULL, NULL));
        check_ok(bb_parts_run(parts, &wishes[k], NULL, NULL));
        assert_string_equal(calls, expected[k]);
        assert_true(out.host_bytes == 110.0 && out.seconds == 2.0 - k);
    }
}

TEST(a_failure_ends_the_parts)
{
    calls[0] = '\0';
    check_fails(bb_parts_run(parts, &wishes[0], calls, NULL), BB_INTERNAL, "a part that fails");
    assert_string_equal(calls, "r");
}

TEST(outputs_are_those_of_all_parts)
{
    const bb_experiment with_parts = {.parts = parts};
    const bb_experiment without = {0};
    const bb_output_table *const expected[] = {&first, &second, &third, NULL};
    for (bb_index i = 0; i < 4; ++i) {
        assert_ptr_equal(bb_experiment_output(&with_parts, i), expected[i]);
    }
    assert_null(bb_experiment_output(&without, 0));
}

TEST_GROUP();
