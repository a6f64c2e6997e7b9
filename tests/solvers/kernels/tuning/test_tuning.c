// SPDX-License-Identifier: Apache-2.0
//
// Tuning on the cpu: a winner among what is right, a record of each, an end in time, nothing tried
// twice.
#include "core/clock.h"
#include "core/thread.h"
#include "solvers/kernels/tuning/tuning.h"
#include "tests/check.h"
#include "tests/solvers/kernels/tuning/manager_program.h"

enum { RECORDS = 64 };

static bb_device *device;

typedef struct notes {
    bb_tuning_record records[RECORDS];
    int count;
    int limit; ///< ends the tuning after as many
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
    bb_tuning *tuning = NULL;
    const bb_candidate_wish wish = {.may_reorder = strcmp(name, "gemv") == 0};
    const bb_tuning_listener listener = {kept, take, recalls ? recall : NULL,
                                         kept->limit > 0 ? is_over : NULL};
    const bb_kernel_manager *manager = manager_of(name);
    check_ok(bb_tuning_create(device, manager, "SP", &wish, &tuning));
    assert_true(bb_tuning_set_bytes(tuning, &manager->sets[BB_BENCHMARK_SMALL]) > 0.0);
    check_ok(bb_tuning_run(tuning, &manager->sets[BB_BENCHMARK_SMALL], bb_clock_seconds() + seconds,
                           &listener, out));
    assert_int_equal(out->candidates, bb_tuning_candidate_count(tuning));
    bb_tuning_destroy(&tuning);
}

static void a_kernel_ends_with_a_winner(void **state)
{
    notes kept = {.count = 0};
    notes again;
    bb_tuning_outcome found;
    (void)state;
    tune("add", &kept, false, 1e6, &found);
    assert_true(found.is_complete && found.has_best && !found.has_reordered);
    assert_int_equal(found.failed, 0);
    assert_int_equal(found.tried + found.alike, found.candidates);
    assert_int_equal(kept.count, found.tried + 1);
    const bb_tuning_record *last = &kept.records[kept.count - 1];
    assert_int_equal(last->trial.status, BB_TRIAL_BEST);
    assert_true(bb_choice_equal(&last->choice, &found.best.choice));
    assert_true(last->least_s > 0.0 && last->median_s >= last->least_s);
    check_close(last->bytes, 3.0 * 65.0 * 17.0 * 4.0, 0.0, 1.0);
    // What is known is not tried again.
    again = kept;
    again.count = kept.count - 1;
    tune("add", &again, true, 1e6, &found);
    assert_int_equal(found.tried, 0);
    assert_int_equal(found.recalled, kept.count - 1);
    assert_true(found.has_best);
}

static void other_orders_of_sums_win_apart(void **state)
{
    notes kept = {.count = 0};
    bb_tuning_outcome found;
    int others = 0;
    (void)state;
    tune("gemv", &kept, false, 1e6, &found);
    for (int i = 0; i < kept.count; ++i) {
        assert_true(kept.records[i].trial.status <= BB_TRIAL_SLOW);
        others += kept.records[i].choice.order.lanes > 0;
    }
    assert_true(others > 0);
    assert_int_equal(found.best.choice.order.lanes, 0);
    assert_true(!found.has_reordered || found.reordered.least_s < found.best.least_s);
}

static void time_and_the_listener_end_it(void **state)
{
    notes kept = {.count = 0};
    notes two = {.limit = 2};
    bb_tuning_outcome found;
    (void)state;
    tune("add", &kept, false, 0.0, &found);
    assert_int_equal(kept.count, 0);
    assert_false(found.is_complete || found.has_best);
    assert_true(isnan(found.default_s));
    tune("add", &two, false, 1e6, &found);
    assert_int_equal(found.tried, 2);
    assert_false(found.is_complete);
    assert_true(found.has_best);
}

static void types_are_checked(void **state)
{
    bb_tuning *tuning = NULL;
    const bb_candidate_wish wish = {.group_items = 0};
    (void)state;
    check_fails(bb_tuning_create(device, manager_of("add"), "HP", &wish, &tuning), BB_INVALID,
                "unknown type 'HP'");
    assert_null(tuning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_ends_with_a_winner),
        cmocka_unit_test(other_orders_of_sums_win_apart),
        cmocka_unit_test(time_and_the_listener_end_it),
        cmocka_unit_test(types_are_checked),
    };
    if (bb_threads_set(2) != BB_OK || bb_device_open(BB_DEVICE_CPU, 0, &device) != BB_OK) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&device);
    bb_threads_stop();
    return failed;
}
