// SPDX-License-Identifier: Apache-2.0
//
// bitbudget-bench with sizes for tests: every benchmark runs and is recorded, with the bits of each
// format; energy by a simulated meter. Times and bars depend on the machine.
#include "bench/gemv/gemv_bench.h"
#include "core/thread.h"
#include "sim/pipelines/energy.h"
#include "tests/powercap_tree.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

// Stored bits per value, including scales, as in the detail of a row: "21 x 4096, 32.02 bits".
static const struct {
    const char *name;
    double least, most;
} stored[] = {{"gemv-fp32", 32.0, 32.05}, {"gemv-fp16", 16.0, 16.05}, {"gemv-e4m3", 8.0, 8.05},
              {"gemv-bfp8", 8.0, 8.5},    {"gemv-zfp", 8.0, 9.0},     {"gemv-blas-s", 32.0, 32.0}};

static void check_stored_bits(const bb_results *results, const bb_bench_case *cases, bb_index count)
{
    const bb_dataset *details = bb_results_find(results, "results/detail");
    for (size_t k = 0; k < sizeof stored / sizeof *stored; ++k) {
        bb_index row = 0;
        while (row < count && strcmp(cases[row].name, stored[k].name) != 0) {
            ++row;
        }
        assert_true(row < count);
        const char *bits = strstr(details->texts[row], ", ");
        const double found = bits == NULL ? NAN : strtod(bits + 2, NULL);
        if (!(found >= stored[k].least && found <= stored[k].most)) {
            fail_msg("%s: %s", stored[k].name, details->texts[row]);
        }
    }
}

TEST_FULL(every_benchmark_is_recorded)
{
    bb_bench_setup setup = {.quick = true, .threads = 2};
    autorelease(bb_text) table = {0};
    const bb_bench_case *cases = NULL;
    bb_index count = bb_bench_cases(&cases);
    check_ok(bb_threads_set(2));
    autoptr(bb_results) results = empty_results();
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
    check_stored_bits(results, cases, count);
}

static const char *const repeated[] = {"gemv-fp32",    "gemv-blas-s",   "gemv-low-rank",
                                       "thermal-step", "zfp-decode",    "roofline-restriction",
                                       "cholesky-sp",  "assembly",      "roofline-thermal",
                                       "gemv-fp16",    "gemv-cuda-fp32"};
enum { REPEATED = sizeof repeated / sizeof *repeated };

// Runs them with 3 mJ for each reading of the clock; the caller owns `*table` and the results.
static bb_results *bench_joules(bool wanted, const char *root, bb_text *table)
{
    bb_bench_setup setup = {.quick = true, .threads = 2, .cpu_only = true};
    bb_results *results = NULL;
    char names[REPEATED][32];
    char *pointers[REPEATED];
    for (int i = 0; i < REPEATED; ++i) {
        (void)snprintf(names[i], sizeof names[i], "%s", repeated[i]);
        pointers[i] = names[i];
    }
    powercap_start();
    powercap.reading_ns = 30000;
    powercap.reading_watts = 100.0;
    assert_int_equal(setenv("BITBUDGET_POWERCAP", root == NULL ? powercap.root : root, 1), 0);
    check_ok(bb_threads_set(2));
    check_ok(bb_results_create(&results));
    bb_energy_enable(wanted);
    check_ok(bb_bench_run(&setup, pointers, REPEATED, results, table));
    check_ok(bb_energy_note(results));
    bb_energy_enable(false);
    bb_threads_stop();
    assert_int_equal(powercap_stop(), 0);
    assert_int_equal(unsetenv("BITBUDGET_POWERCAP"), 0);
    return results;
}

static void check_notes(const bb_results *results, const char *expected)
{
    const bb_dataset *notes = bb_results_find(results, "results/energy_note");
    const bb_dataset *joules = bb_results_find(results, "results/energy_j");
    const bb_dataset *watts = bb_results_find(results, "results/idle_power_w");
    assert_true(joules->measured && strcmp(joules->unit, "J") == 0);
    for (int i = 0; i < REPEATED; ++i) {
        const bool skipped = strncmp(repeated[i], "gemv-cuda", strlen("gemv-cuda")) == 0;
        assert_non_null(strstr(notes->texts[i], skipped ? "skipped" : expected));
        assert_true(isnan(joules->numbers[i]) && isnan(watts->numbers[i]));
    }
}

// The energy of a repetition is given by its clock readings: one of the meter, and those of its own
// timing.
TEST_FULL(joules_of_a_repetition_stand_beside_its_time)
{
    autorelease(bb_text) table = {0};
    autoptr(bb_results) results = bench_joules(true, NULL, &table);
    const bb_dataset *joules = bb_results_find(results, "results/energy_j");
    const bb_dataset *watts = bb_results_find(results, "results/idle_power_w");
    const bb_dataset *notes = bb_results_find(results, "results/energy_note");
    const bb_dataset *repetitions = bb_results_find(results, "results/energy_repetitions");
    for (int i = 0; i < REPEATED - 1; ++i) {
        const double looks = joules->numbers[i] / 3e-3;
        if (looks < 0.8 || looks > 40.0 || repetitions->numbers[i] < 1.0) {
            fail_msg("%s: %g looks in %g repetitions", repeated[i], looks, repetitions->numbers[i]);
        }
        assert_true(watts->numbers[i] > 40.0 && watts->numbers[i] < 100.0);
        const bool fills = strncmp(repeated[i], "cholesky", strlen("cholesky")) == 0;
        assert_string_equal(
            notes->texts[i],
            fills ? "RAPL, packages and memories of the host; with filling of the matrix"
                  : "RAPL, packages and memories of the host");
    }
    assert_string_equal(notes->texts[REPEATED - 1], "skipped");
    assert_true(isnan(joules->numbers[REPEATED - 1]));
    assert_non_null(strstr(bb_text_string(&table), " J, idle "));
    assert_string_equal(bb_results_note_text(results, "provenance", "energy_cpu"),
                        "RAPL, packages and memories of the host");
}

static bb_status work_briefly(void *context)
{
    ++*(int *)context;
    powercap_pass(700000, 100.0);
    return BB_OK;
}

// 0.07 J per call of four repetitions; the idle power is given by the simulated tree.
TEST(a_call_of_several_repetitions_is_divided)
{
    bb_bench_outcome outcome = {0};
    int calls = 0;
    powercap_start();
    assert_int_equal(setenv("BITBUDGET_POWERCAP", powercap.root, 1), 0);
    autoptr(bb_results) results = empty_results();
    bb_energy_enable(true);
    check_ok(bb_bench_measure_energy(BB_DEVICE_CPU, work_briefly, &calls, 4.0, "a rest", &outcome));
    check_ok(bb_energy_note(results));
    bb_energy_enable(false);
    check_close(outcome.joules, 0.0175, 0.02, 0.0175);
    check_close(outcome.idle_watts, POWERCAP_IDLE_WATTS, 0.01, POWERCAP_IDLE_WATTS);
    assert_true(outcome.energy_repetitions == 4.0 * calls && calls >= 20);
    assert_string_equal(outcome.energy_note,
                        "RAPL, packages and memories of the host; with a rest");
    assert_int_equal(powercap_stop(), 0);
    assert_int_equal(unsetenv("BITBUDGET_POWERCAP"), 0);
}

TEST(joules_that_are_unknown_have_a_reason)
{
    autorelease(bb_text) table = {0};
    autoptr(bb_results) results = bench_joules(true, "/nowhere", &table);
    check_notes(results, "no RAPL counters: /nowhere");
    assert_non_null(strstr(bb_text_string(&table), "no joules: no RAPL counters"));
    bb_results_destroy(&results);
    results = bench_joules(false, NULL, &table);
    check_notes(results, "--energy is off");
}

// Also for a row skipped on the cpu: its name has the requested number of rows, and no bar.
TEST(rows_of_other_sizes_are_named_by_them)
{
    static const char *const expected[] = {"factor-49152-hp1", "gemv-fp32"};
    const bb_bench_setup setups[] = {{.threads = 1, .cpu_only = true, .n = 49152},
                                     {.threads = 1, .cpu_only = true, .rows = 24, .columns = 256}};
    char *names[] = {(char[]){"factor-16384-hp1"}, (char[]){"gemv-fp32"}};
    for (int i = 0; i < 2; ++i) {
        autorelease(bb_text) table = {0};
        autoptr(bb_results) results = empty_results();
        check_ok(bb_bench_run(&setups[i], &names[i], 1, results, &table));
        const char *detail = bb_results_find(results, "results/detail")->texts[0];
        assert_string_equal(bb_results_find(results, "results/benchmark")->texts[0], expected[i]);
        assert_true(isnan(bb_results_find(results, "results/bar")->numbers[0]));
        assert_true(i == 0 || strstr(detail, "24 x 256, ") != NULL);
    }
}

TEST(a_factorization_has_the_rows_that_are_asked_for)
{
    const bb_bench_setup setup = {.threads = 1, .cpu_only = true, .n = 96};
    static const char *const names[] = {"cholesky-hp1", "rounding-sweep"};
    static const char *const details[] = {"n 96, tile ", "24 x 96"};
    for (int i = 0; i < 2; ++i) {
        bb_bench_case row;
        bb_bench_outcome outcome = {.ratio = NAN};
        check_ok(bb_bench_find(names[i], &row));
        check_ok(bb_bench_measure_case(&row, &setup, &outcome));
        assert_non_null(strstr(outcome.detail, details[i]));
    }
}

TEST(layouts_of_products_have_a_mesh_where_one_divides_the_columns)
{
    static const bb_index columns[][2] = {{9728, 512}, {384, 128}, {19078, 0}, {100368, 0}};
    const bb_bench_case wide = {.choice = BB_GEMV_WIDE};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        const bb_bench_setup setup = {.rows = 7, .columns = columns[i][0]};
        const bb_gemv_sizes sizes = bb_gemv_sizes_of(&wide, &setup);
        assert_int_equal(sizes.rows, 7);
        assert_int_equal(sizes.columns, columns[i][0]);
        assert_int_equal(sizes.mesh_columns, columns[i][1]);
    }
    const bb_gemv_sizes own = bb_gemv_sizes_of(&wide, &(bb_bench_setup){0});
    assert_true(own.rows == 378 && own.columns == 256000 && own.mesh_columns == 512);
}

TEST(medians_by_hand)
{
    bb_bench_times times = {0};
    assert_true(isnan(bb_bench_median(&times)));
    bb_bench_add(&times, 3.0);
    bb_bench_add(&times, 1.0);
    assert_true(bb_bench_median(&times) == 2.0);
    bb_bench_add(&times, 7.0);
    assert_true(bb_bench_median(&times) == 3.0 && bb_bench_best(&times) == 1.0);
}

// Runs build/bitbudget-bench, which must exit with `code` and print `text`.
#define BENCH(code, text, ...)                                                                     \
    (program_call_of(BB_BINARY_DIR "/bitbudget-bench",                                             \
                     (const char *const[PROGRAM_ARGUMENTS]){__VA_ARGS__}, &run),                   \
     program_expect(&run, (code), (text)))

TEST(the_program_writes_a_file_and_keeps_it)
{
    BENCH(0, "results: bench.h5", "gemv-fp16", "thermal-step", "--quick", "-o", "bench.h5",
          "--force", "--threads", "2");
    program_expect(&run, 0, "thermal-step");
    BENCH(3, "bench.h5", "--quick", "-o", "bench.h5");
    BENCH(2, "unknown benchmark 'gemv-fp33' (did you mean gemv-fp32?)", "gemv-fp33", "--quick",
          "-o", "new.h5");
    CALL_EXPECT(3, "files of 'bitbudget-bench'", "show", "bench.h5");
    (void)unlink("bench.h5");
}

TEST(the_program_says_what_it_takes)
{
    BENCH(0, "cholesky-hp2", "--list");
    BENCH(0, "| `kernel_share` | benchmark | 1 | ", "--datasets");
    BENCH(0, "usage: bitbudget-bench [NAME ...] [options]\n", "--help");
    BENCH(2, "bitbudget-bench: --list and --datasets measure nothing", "--list", "--quick");
    BENCH(2, "bitbudget-bench: --list and --datasets measure nothing", "--datasets", "-o", "a.h5");
    BENCH(2, "--size 12: use ROWSxCOLUMNS", "gemv-fp32", "--size", "12", "-o", "a.h5");
    // Checked before anything is measured.
    BENCH(2, "benchmark thermal-step: remove --size", "gemv-fp32", "thermal-step", "--size", "8x8",
          "-o", "a.h5");
    BENCH(2, "benchmark gemv-fp32: remove --set", "gemv-fp32", "--set", "large", "-o", "a.h5");
    BENCH(2, "there is no kernel 'foo'", "gemv-fp32", "kernel-foo-sp-cpu", "-o", "a.h5");
    BENCH(2, "need names of benchmarks", "--quick", "--n", "5", "-o", "a.h5");
    BENCH(2, "'max.kernel'", "kernel-max-sp-cpu", "--file", "max.kernel", "-o", "max.kernel",
          "--force");
    BENCH(2, "a baseline uses the rows' own sizes", "--compare", "a.yaml", "--n", "5");
    BENCH(2,
          "option --quack is unknown to 'bitbudget-bench' (did you mean --quick?); see "
          "'bitbudget-bench --help'",
          "--quack");
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) == 0) { // before the operands
        BENCH(5, "bitbudget-bench: device cuda is absent: ", "none", "--device=cuda");
    }
}

TEST(files_give_a_roofline_and_bars_of_kernels)
{
    BENCH(0, "", "roofline-restriction", "--quick", "-o", "roof.h5", "-q");
    CALL_OK("plot", "roof.h5", "--kind", "roofline", "-o", "a.svg", "-q");
    CALL_EXPECT(0, "roofline           operations per second", "plot", "--list", "roof.h5");
    BENCH(0, "", "kernel-add-sp-cpu", "--quick", "-o", "add.h5", "-q");
    BENCH(0, "", "kernel-gemv-dp-cpu", "--quick", "-o", "gemv.h5", "-q");
    CALL_EXPECT(0, "kernels            fraction of the roofline", "plot", "--list", "add.h5");
    CALL_OK("plot", "add.h5", "gemv.h5", "--kind", "kernels", "-o", "a.svg", "--force", "-q");
    assert_int_equal(system("grep -q '>add<' a.svg && grep -q '>gemv<' a.svg"), 0);
    CALL_EXPECT(2, "--list accepts one file, got 2", "plot", "--list", "add.h5", "gemv.h5");
    CALL_EXPECT(3, "cannot plot 'none.h5'", "plot", "add.h5", "none.h5", "--kind", "kernels", "-o",
                "a.svg", "--force");
}

TEST_GROUP(.has_folder = true);
