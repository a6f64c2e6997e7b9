// SPDX-License-Identifier: Apache-2.0
//
// Progress reports of a factorization and its solves; the numbers do not depend on them.
#include "core/clock.h"
#include "core/log.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/dense.h"

#include <stdatomic.h>
#include <unistd.h>

enum { N = 200, TILE = 20, SIDES = 100, ROOM = 1 << 16 };

static char written[ROOM];
static atomic_llong slow_ns;

// Every reading of the clock advances it by eleven seconds, so that every possible report is made.
static int64_t look(void)
{
    return (int64_t)(atomic_fetch_add(&slow_ns, 11000000000) + 11000000000);
}

static bool sleep_not(int64_t ns)
{
    (void)ns;
    return true;
}

// Factors and solves; `x` [SIDES][N] is the solution, `written` the log.
static void solve(bb_log_level level, bb_index threads, double *x)
{
    static const bb_clock clock = {look, sleep_not};
    const bb_tile_plan plan = {
        .tile_size = TILE, .arithmetic = BB_VARIANT_HP1, .policy = {.kind = BB_POLICY_UNIFORM}};
    autofree double *a = dense_new(N * N);
    bb_outcome outcome = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    const int kept = dup(STDERR_FILENO);
    dense_covariance(N, 20.0, 0.3, a);
    dense_random(SIDES * N, 3, x);
    const bb_view view = bb_view_matrix(a, N, N);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    (void)fflush(stderr);
    (void)dup2(fileno(file), STDERR_FILENO);
    check_ok(bb_threads_set(threads));
    bb_log_set_level(level);
    bb_clock_set(&clock);
    bb_log_progress_step("solving", "hp1", 0, 2);
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    bb_log_progress_part(0.0, 0.5);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    bb_log_progress_part(0.5, 1.0);
    check_ok(bb_tile_cholesky_solve(matrix, SIDES, x));
    bb_log_progress("solving", 2, 2);
    bb_clock_set(NULL);
    bb_threads_stop();
    (void)fflush(stderr);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    rewind(file);
    written[fread(written, 1, sizeof written - 1, file)] = '\0';
    (void)fclose(file);
}

// On one thread every task of the factorization and every block of the solves is reported in
// percent that rise monotonically; 175 tasks and 4 blocks here.
TEST(steps_rise_to_the_end)
{
    autofree double *x = dense_new(SIDES * N);
    double last = -1.0;
    int lines = 0;
    int below_half = 0;
    solve(BB_LOG_NORMAL, 1, x);
    for (const char *line = strstr(written, "solving hp1 (1 of 2): "); line != NULL;
         line = strstr(line + 1, "solving hp1 (1 of 2): ")) {
        const double percent = strtod(line + strlen("solving hp1 (1 of 2): "), NULL);
        assert_true(percent >= last && percent <= 100.0);
        last = percent;
        ++lines;
        below_half += percent < 50.0;
    }
    assert_true(last == 100.0);
    assert_true(below_half >= 170 && lines - below_half >= 4);
}

// Neither the reports nor the number of threads change the numbers.
TEST(the_bits_do_not_depend_on_it)
{
    autofree double *told = dense_new(SIDES * N);
    autofree double *quiet = dense_new(SIDES * N);
    solve(BB_LOG_QUIET, 1, quiet);
    assert_string_equal(written, "");
    for (bb_index threads = 1; threads <= 3; ++threads) {
        solve(BB_LOG_NORMAL, threads, told);
        assert_memory_equal(told, quiet, SIDES * N * sizeof *told);
    }
}
