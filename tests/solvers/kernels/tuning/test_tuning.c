// SPDX-License-Identifier: Apache-2.0
//
// Tuning on the CPU: the winner is a correct variant, each candidate is recorded, tuning ends in
// time, and nothing is tried twice.
#include "core/clock.h"
#include "solvers/kernels/tuning/caller_subject.h"
#include "solvers/kernels/tuning/manager_subject.h"
#include "solvers/kernels/tuning/tuning.h"
#include "tests/cpu_device.h"
#include "tests/solvers/kernels/manager_program.h"

enum { RECORDS = 64 };

typedef struct notes {
    bb_tuning_record records[RECORDS];
    int count;
    int limit; ///< ends the tuning after this many
} notes;

static bb_status take(void *context, const bb_tuning_record *record)
{
    notes *self = context;
    assert_true(self->count < RECORDS);
    self->records[self->count++] = *record;
    return BB_OK;
}

static bool recall(void *context, const bb_choice *choice, bb_tuning_record *out)
{
    const notes *self = context;
    for (int i = 0; i < self->count; ++i) {
        if (bb_choice_equal(&self->records[i].choice, choice)) {
            *out = self->records[i];
            return true;
        }
    }
    return false;
}

static bool is_over(void *context)
{
    const notes *self = context;
    return self->count >= self->limit;
}

static void tune(const char *name, notes *kept, bool recalls, double seconds,
                 bb_tuning_outcome *out)
{
    const bool reorders = strcmp(name, "gemv") == 0;
    const bb_candidate_wish wish = {.may_reorder = reorders};
    const bb_tuning_listener listener = {kept, take, recalls ? recall : NULL,
                                         kept->limit > 0 ? is_over : NULL};
    autoptr(bb_manager_subject) subject = new_object(bb_manager_subject, manager_of(name), "SP");
    autoptr(bb_tuning) tuning =
        new_object(bb_tuning, cpu, bb_manager_subject_table(subject), &wish);
    check_ok(
        bb_tuning_run(tuning, BB_BENCHMARK_SMALL, bb_clock_seconds() + seconds, &listener, out));
    assert_int_equal(out->candidates, bb_tuning_candidate_count(tuning, false) +
                                          bb_tuning_candidate_count(tuning, true));
    assert_int_equal(bb_tuning_candidate_count(tuning, true) > 0, reorders);
}

TEST(a_kernel_ends_with_a_winner)
{
    notes kept = {.count = 0};
    notes again;
    bb_tuning_outcome found;
    tune("add", &kept, false, 1e6, &found);
    assert_true(found.is_complete && found.has_best && !found.has_reordered);
    assert_int_equal(found.failed, 0);
    assert_int_equal(found.tried + found.alike, found.candidates);
    assert_int_equal(kept.count, found.tried + 1);
    assert_true(found.default_s > 0.0);
    const bb_tuning_record *last = &kept.records[kept.count - 1];
    assert_int_equal(last->trial.status, BB_TRIAL_BEST);
    assert_true(bb_choice_equal(&last->choice, &found.best.choice));
    assert_true(last->least_s > 0.0 && last->median_s >= last->least_s);
    check_close(last->bytes, 3.0 * 65.0 * 17.0 * 4.0, 0.0, 1.0);
    // Recorded candidates are not tried again.
    again = kept;
    again.count = kept.count - 1;
    tune("add", &again, true, 1e6, &found);
    assert_int_equal(found.tried, 0);
    assert_int_equal(found.recalled, kept.count - 1);
    assert_true(found.has_best);
}

TEST(other_orders_of_sums_win_apart)
{
    notes kept = {.count = 0};
    bb_tuning_outcome found;
    int others = 0;
    tune("gemv", &kept, false, 1e6, &found);
    for (int i = 0; i < kept.count; ++i) {
        assert_true(kept.records[i].trial.status <= BB_TRIAL_SLOW);
        others += kept.records[i].choice.order.lanes > 0;
    }
    assert_true(others > 0);
    assert_int_equal(found.best.choice.order.lanes, 0);
    assert_true(!found.has_reordered || found.reordered.least_s < found.best.least_s);
}

TEST(time_and_the_listener_end_it)
{
    notes kept = {.count = 0};
    notes two = {.limit = 2};
    bb_tuning_outcome found;
    tune("add", &kept, false, 0.0, &found);
    assert_int_equal(kept.count, 0);
    assert_false(found.is_complete || found.has_best);
    assert_true(isnan(found.default_s));
    tune("add", &two, false, 1e6, &found);
    assert_int_equal(found.tried, 2);
    assert_false(found.is_complete);
    assert_true(found.has_best);
}

// A candidate that failed at run time and left a GPU unusable is not run again after a restart.
// Without a default to compare with, no other candidate runs either.
TEST(what_failed_when_it_ran_is_left_alone)
{
    notes kept = {.count = 0};
    notes again;
    bb_tuning_outcome found;
    tune("add", &kept, false, 1e6, &found);
    const bb_tuning_record failed = {.choice = kept.records[1].choice,
                                     .trial = {BB_TRIAL_RUN, "lost"},
                                     .least_s = NAN,
                                     .median_s = NAN};
    const int tried = found.tried;
    again = (notes){.records = {failed}, .count = 1};
    tune("add", &again, true, 1e6, &found);
    assert_int_equal(found.tried, tried - 1);
    assert_int_equal(found.failed, 1);
    assert_false(bb_choice_equal(&found.best.choice, &failed.choice));
    again = (notes){.records = {failed}, .count = 1};
    again.records[0].choice = kept.records[0].choice;
    tune("add", &again, true, 1e6, &found);
    assert_int_equal(found.tried, 0);
    assert_int_equal(again.count, 1);
    assert_false(found.has_best || found.is_complete);
}

TEST(a_callers_kernel_ends_with_a_winner)
{
    autocall(fixture_release) program_fixture fixture;
    notes kept = {.count = 0};
    bb_tuning_outcome found;
    const bb_candidate_wish wish = {.is_exhaustive = false};
    const bb_tuning_listener listener = {.context = &kept, .take = take};
    fixture_make(&fixture,
                 "kernel Blend (u, v: matrix T; w: T)\nfor x in u.columns, y in u.rows\n"
                 "  v[x, y] = u[x, y] + w * (v[x, y] - u[x, y])\n",
                 "T", "DP");
    fixture_bind(&fixture, "u", 96, 40, NULL);
    fixture_bind(&fixture, "v", 96, 40, NULL);
    fixture.parameters[0].parts[0] = 0.25;
    autoptr(bb_caller_subject) subject =
        new_object(bb_caller_subject, &fixture.program, "own", fixture.data, fixture.parameters,
                   &fixture.problems);
    autoptr(bb_tuning) tuning = new_object(bb_tuning, cpu, bb_caller_subject_table(subject), &wish);
    check_ok(bb_tuning_run(tuning, 0, bb_clock_seconds() + 1e6, &listener, &found));
    assert_true(found.is_complete && found.has_best);
    assert_int_equal(found.failed, 0);
    check_close(kept.records[0].bytes, 3.0 * 96.0 * 40.0 * 8.0, 0.0,
                1.0); // u once, v read and written
}

TEST(types_are_checked)
{
    bb_manager_subject *subject = NULL;
    check_fails(bb_manager_subject_create(manager_of("add"), "HP", &subject), BB_INVALID,
                "unknown type 'HP'");
    assert_null(subject);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu, .threads = 2);
