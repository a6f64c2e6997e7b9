// SPDX-License-Identifier: Apache-2.0
//
// bitbudget bench at the sizes of a test: every benchmark runs and is recorded. Figures and bars
// are not looked at.
#include "core/memory.h"
#include "core/thread.h"
#include "sim/bench/bench.h"
#include "tests/sim/program.h"

#include <math.h>

static void every_benchmark_is_recorded(void **state)
{
    (void)state;
    bb_bench_setup setup = {.quick = true, .threads = 2};
    bb_results *results = NULL;
    bb_text table = {0};
    const bb_bench_case *cases = NULL;
    bb_index count = bb_bench_cases(&cases);
    check_ok(bb_threads_set(2));
    check_ok(bb_results_create(&results));
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &setup.device));
    check_ok(bb_bench_run(&setup, NULL, 0, results, &table));
    const bb_dataset *best = bb_results_find(results, "results/best_s");
    const bb_dataset *median = bb_results_find(results, "results/median_s");
    const bb_dataset *ratio = bb_results_find(results, "results/ratio");
    assert_int_equal(best->count, count);
    for (bb_index i = 0; i < count; ++i) {
        assert_non_null(strstr(bb_text_string(&table), cases[i].name));
        if (isnan(best->numbers[i])) {
            assert_non_null(strstr(bb_text_string(&table), "skipped"));
            assert_true(isnan(median->numbers[i]) && isnan(ratio->numbers[i]));
            continue;
        }
        assert_true(best->numbers[i] > 0.0 && median->numbers[i] >= best->numbers[i]);
        assert_true(ratio->numbers[i] > 0.0);
    }
    bb_device_close(&setup.device);
    bb_results_destroy(&results);
    bb_text_release(&table);
    bb_threads_stop();
}

static void medians_by_hand(void **state)
{
    (void)state;
    bb_bench_times times = {0};
    assert_true(isnan(bb_bench_median(&times)));
    bb_bench_add(&times, 3.0);
    bb_bench_add(&times, 1.0);
    assert_true(bb_bench_median(&times) == 2.0);
    bb_bench_add(&times, 7.0);
    assert_true(bb_bench_median(&times) == 3.0 && bb_bench_best(&times) == 1.0);
}

static void the_command_writes_a_file_and_keeps_it(void **state)
{
    (void)state;
    program_run run;
    const char *const once[PROGRAM_ARGUMENTS] = {"bench",   "gemv-fp16", "thermal-step",
                                                 "--quick", "-o",        "bench.h5",
                                                 "--force", "--threads", "2"};
    const char *const again[PROGRAM_ARGUMENTS] = {"bench", "--quick", "-o", "bench.h5"};
    const char *const wrong[PROGRAM_ARGUMENTS] = {"bench", "gemv-fp61", "--quick", "-o", "new.h5"};
    const char *const list[PROGRAM_ARGUMENTS] = {"bench", "--list"};
    program_call(once, &run);
    program_expect(&run, 0, "results: bench.h5");
    program_expect(&run, 0, "thermal-step");
    program_call(again, &run);
    program_expect(&run, 3, "bench.h5");
    program_call(wrong, &run);
    program_expect(&run, 2, "no benchmark 'gemv-fp61' (did you mean gemv-fp64?)");
    const char *const show[PROGRAM_ARGUMENTS] = {"show", "bench.h5"};
    program_call(show, &run);
    program_expect(&run, 3, "a file of 'bitbudget bench'");
    program_call(list, &run);
    program_expect(&run, 0, "cholesky-hp3");
    (void)unlink("bench.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_benchmark_is_recorded),
        cmocka_unit_test(medians_by_hand),
        cmocka_unit_test(the_command_writes_a_file_and_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
