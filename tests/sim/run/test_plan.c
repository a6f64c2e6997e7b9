// SPDX-License-Identifier: Apache-2.0
//
// Plans compared with the machine: messages, and `check` and `run` as a user sees them.
#include "sim/run/plan.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

TEST(what_does_not_fit_is_said)
{
    char line[BB_PLAN_LINE] = "?";
    static const struct {
        double asked, there;
        const char *line;
    } cases[] = {{2.7e12, 8.2e9, "memory: needs 2.7 TB, this machine has 8.2 GB"},
                 {9.1e9, 0.5e9, "memory: needs 9.1 GB, this machine has 500.0 MB"},
                 {8.2e9, 8.2e9, ""},
                 {20e6, 2.7e12, ""},
                 {NAN, 8.2e9, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_plan plan = {.host_bytes = cases[i].asked};
        bb_plan_shortage(&plan, cases[i].there, line);
        assert_string_equal(line, cases[i].line);
    }
}

TEST(a_machine_has_memory)
{
    double bytes = 0.0;
    check_ok(bb_plan_machine_bytes(&bytes));
    assert_true(bytes > 1e8 && bytes < 1e15);
}

// Two matrices of 8 bytes x 4e8 cells x over 1e6 points: more than any machine has.
TEST(check_and_run_refuse_what_no_machine_has)
{
    static const char grid[] = "response.grid={columns: 20000, rows: 20000}";
    static const char slit[] = "response.slit_points={columns: 1000, rows: 1000}";
    CALL_EXPECT(4, "TB, this machine has ", "check", CONFIG_WAFER_SMALL, grid, slit);
    program_expect(&run, 4, "memory on the host"); // the plan is printed nevertheless
    CALL_EXPECT(4, "times the memory", "run", CONFIG_WAFER_SMALL, grid, slit, "-q", "--resume",
                "missing", "-o", "a.h5");
    CALL_EXPECT(0, "memory on the host", "check", CONFIG_WAFER_SMALL);
    assert_null(strstr(run.printed, "this machine has"));
}

// The same two matrices, of four times this machine's memory: the user decides.
TEST(check_and_run_warn_of_what_may_be_swapped)
{
    static const char slit[] = "response.slit_points={columns: 1000, rows: 1000}";
    const double points = 4.87e6; // 4.87 positions of the slit with 1e6 points each
    char grid[96];
    double bytes = 0.0;
    check_ok(bb_plan_machine_bytes(&bytes));
    const int rows = (int)(4.0 * bytes / (16.0 * points * 10.0));
    (void)snprintf(grid, sizeof grid, "response.grid={columns: 10, rows: %d}", rows);
    CALL_EXPECT(0, "  memory: ", "check", CONFIG_WAFER_SMALL, grid, slit);
    // The run stops before computing, at a missing checkpoint.
    CALL_EXPECT(3, "B, this machine has ", "run", CONFIG_WAFER_SMALL, grid, slit, "-q", "--resume",
                "missing", "-o", "a.h5");
}

// Under `ulimit -v` OpenBLAS would retry endlessly: ctest's time limit ends a test that waits.
static void limited(const char *const arguments[PROGRAM_ARGUMENTS], unsigned long kilobytes)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit limit = before;
    limit.rlim_cur = 1024 * kilobytes;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    program_call(arguments, &run);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(limits_are_met_with_a_sentence)
{
    const char *const check[PROGRAM_ARGUMENTS] = {"check", CONFIG_AO_SMALL, NULL};
    const char *const start[PROGRAM_ARGUMENTS] = {"run", CONFIG_AO_SMALL, "-q", "--threads", "2",
                                                  "-o",  "limited.h5",    NULL};
    if (program_is_instrumented()) {
        skip();
    }
    for (unsigned long kilobytes = 120000; kilobytes <= 200000; kilobytes += 20000) {
        assert_int_equal(setenv("OPENBLAS_NUM_THREADS", "1", 1), 0);
        limited(check, kilobytes);
        program_expect(&run, 4, "(ulimit -v)");
        limited(start, kilobytes);
        program_expect(&run, 4, "(ulimit -v)");
        assert_int_equal(setenv("OPENBLAS_NUM_THREADS", "64", 1), 0);
        limited(start, kilobytes);
        program_expect(&run, 4, "(ulimit -v)");
    }
}

// Two threads need 376,000 kB (docs/lab/performance.md); OpenBLAS's own threads and heaps of
// threads increased this to between 583,000 and 650,000.
TEST_FULL(what_fits_a_limit_runs)
{
    const char *const start[PROGRAM_ARGUMENTS] = {"run", CONFIG_AO_SMALL, "-q", "--threads", "2",
                                                  "-o",  "limited.h5",    NULL};
    const char *const others[][PROGRAM_ARGUMENTS] = {
        {"--help", NULL},
        {"info", "--threads", "64", NULL},
        {"config", "--list", "ao", NULL},
        {"show", "limited.h5", NULL},
    };
    static const char *const threads[] = {"1", "2", "64"}; // of OpenBLAS
    if (program_is_instrumented()) {
        skip();
    }
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
        assert_int_equal(setenv("OPENBLAS_NUM_THREADS", threads[t], 1), 0);
        (void)unlink("limited.h5");
        limited(start, 450000);
        program_expect(&run, 0, "");
        for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
            limited(others[i], 160000);
            program_expect(&run, 0, "");
        }
    }
    assert_int_equal(unsetenv("OPENBLAS_NUM_THREADS"), 0);
}

TEST(what_is_hopeless_is_refused)
{
    const bb_plan plan = {.host_bytes = 2.7e12};
    const bb_plan unknown = {.host_bytes = NAN};
    check_ok(bb_plan_require(&plan, 2.7e12 / 16.0, INFINITY));
    check_fails(bb_plan_require(&plan, 2.6e12 / 16.0, INFINITY), BB_MEMORY,
                "memory: needs 2.7 TB, this machine has 162.5 GB; refusing a plan above 16 times ");
    check_ok(bb_plan_require(&plan, 1e12, 2.7e12));
    check_fails(bb_plan_require(&plan, 1e12, 2.6e12), BB_MEMORY,
                "memory: needs 2.7 TB, but the limit of this process (ulimit -v) leaves 2.6 TB "
                "after 128 MiB");
    check_ok(bb_plan_require(&unknown, 1e9, 1e9));
}

// Grids are counted before searching sizes suitable for FFTW: otherwise the search would not end.
TEST(check_refuses_screens_without_bounds)
{
    CALL_EXPECT(2, "telescope.diameter_m = 1e-9: expected a number in [0.01, 200] m", "check",
                CONFIG_AO_SMALL, "telescope.diameter_m=1e-9");
    CALL_EXPECT(2, "points along an edge, expected at most 1048576", "check", CONFIG_AO_SMALL,
                "telescope.diameter_m=0.01", "monte_carlo={frames: 10}",
                "guide_stars.0.x_arcsec=3600");
}

// Plan of the small study with one pipeline on a GPU, or with none if `device` is NULL, without x,
// y and workspace of the kernels (solvers/operator/coded_operator.c).
static double device_bytes(const char *device, double *values)
{
    autorelease(bb_plan) plan = {0};
    double points = 0.0;
    double cells = 0.0;
    check_ok(driver_plan(CASE(CONFIG_WAFER_SMALL, {device}), 1, &plan));
    const char *line = strstr(bb_text_string(&plan.lines), "  response ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " response %lf points x %lf cells", &points, &cells), 2);
    *values = points * cells;
    const double bytes = plan.device_bytes;
    return bytes > 0.0 ? bytes - 44.0 * points - 8.0 * cells - 2.7e6 : bytes;
}

// Only one operator of a pipeline is on the device at a time.
TEST(the_device_holds_what_runs_there)
{
    double values = 0.0;
    assert_true(device_bytes(NULL, &values) == 0.0);
    check_relative(device_bytes("pipelines.4.device=cuda", &values), 2.0 * values, 1e-12); // fp16
    check_relative(device_bytes("pipelines.1.device=cuda", &values), 8.0 * values, 1e-12); // fp64
}

TEST(check_speaks_of_the_device_where_run_uses_it)
{
    CALL_EXPECT(0, "realtime, device memory", "check", CONFIG_WAFER_SMALL,
                "realtime.pipeline=fp16");
    assert_null(strstr(run.printed, "memory on the device"));
    CALL_EXPECT(0, "memory on the device", "check", CONFIG_WAFER_SMALL, "pipelines.4.device=cuda");
}

TEST(a_file_describes_a_machine)
{
    autorelease(bb_problems) problems = {0};
    bb_machine machine;
    write_text("machine.yaml", "name: node\nmemory_gb: 2.5\ngpus: 4\ngpu_memory_gb: 80\n");
    check_ok(bb_machine_load("machine.yaml", &problems, &machine));
    assert_string_equal(machine.name, "node");
    check_close(machine.host_bytes, 2.5e9, 0.0, 1.0);
    check_close(machine.gpu_bytes, 80e9, 0.0, 1.0);
    assert_int_equal(machine.gpus, 4);
    write_text("machine.yaml", "name: node\nmemory_gb: 2.5\ngpu: 4\n");
    assert_int_equal(bb_machine_load("machine.yaml", &problems, &machine), BB_INVALID);
    assert_non_null(strstr(bb_text_string(&problems.lines), "unknown key (did you mean gpus?)"));
}

// Each limit separately, and a plan that just fits.
TEST(what_it_lacks_is_refused)
{
    const bb_machine machine = {.name = "node", .host_bytes = 10e9, .gpus = 2, .gpu_bytes = 80e9};
    static const struct {
        double host_bytes, device_bytes;
        bb_index gpus;
        bb_status status;
        const char *text;
    } cases[] = {
        {10e9, 0.0, 0, BB_OK, ""},
        {11e9, 0.0, 0, BB_MEMORY, "node has 10.0 GB of memory, but the plan needs 11.0 GB"},
        {1e9, 80e9, 2, BB_OK, ""},
        {1e9, 81e9, 1, BB_MEMORY,
         "node has 80.0 GB per GPU, but the largest pipeline needs 81.0 GB"},
        {1e9, 1e9, 3, BB_DEVICE, "node has 2 GPUs, but the plan needs 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_plan plan = {.host_bytes = cases[i].host_bytes,
                              .device_bytes = cases[i].device_bytes,
                              .gpus = cases[i].gpus};
        assert_int_equal(bb_machine_require(&machine, &plan), cases[i].status);
        if (cases[i].status != BB_OK) {
            assert_string_equal(bb_status_message(), cases[i].text);
        }
    }
}

// A study for a GPU is planned on a host without one, for a machine with GPUs.
TEST(check_plans_for_another_machine)
{
    static const char shipped[] = BB_SOURCE_DIR "/examples/machines/h200-node.yaml";
    static const char study[] = BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml";
    CALL_EXPECT(0, "memory on the device", "check", study, "--device", "cuda", "--machine",
                shipped);
    write_text("machine.yaml", "name: desk\nmemory_gb: 256\ngpus: 1\ngpu_memory_gb: 24\n");
    CALL_EXPECT(4, "desk has 24.0 GB per GPU, but the largest pipeline needs", "check", study,
                "--device", "cuda", "--machine", "machine.yaml");
}

TEST_GROUP(.has_folder = true);
