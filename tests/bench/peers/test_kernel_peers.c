// SPDX-License-Identifier: Apache-2.0
//
// Libraries beside kernels: what a call finds is held to the kernel's result, the fastest that
// counts is what the row tells.
#include "bench/peers/kernel_peers.h"
#include "tests/first_device.h"
#include "tests/solvers/kernels/program_fixture.h"

enum { COLUMNS = 37, ROWS = 11, ELEMENTS = COLUMNS * ROWS };

static double numbers[3][ELEMENTS];

typedef struct peers_case {
    const char *kernel, *file, *library;
    bb_index sizes[3][2];
} peers_case;

static const peers_case cases[] = {
    {"add", "add", "cblas_daxpy", {{COLUMNS, ROWS}, {COLUMNS, ROWS}, {COLUMNS, ROWS}}},
    {"l2norm", "l2norm", "cblas_dnrm2", {{ELEMENTS, 1}, {1, 1}}},
    {"gemv", "gemv", "cblas_dgemv", {{COLUMNS, ROWS}, {COLUMNS, 1}, {ROWS, 1}}},
    {"gemv-transposed",
     "gemv_transposed",
     "cblas_dgemv",
     {{COLUMNS, ROWS}, {ROWS, 1}, {COLUMNS, 1}}},
    {"gemm", "gemm", "cblas_dgemm", {{COLUMNS, ROWS}, {7, COLUMNS}, {7, ROWS}}},
};

// What is told beside the kernel's 1 s, with its result, or with another where `by` is not 0.
static bb_bench_outcome tell(const peers_case *test, double by)
{
    autocall(fixture_release) program_fixture fixture;
    bb_bench_outcome outcome = {.best_s = 1.0, .library_s = NAN, .library_ratio = NAN};
    double blocks[3][ELEMENTS];
    void *addresses[] = {blocks[0], blocks[1], blocks[2]};
    char path[64];
    (void)snprintf(path, sizeof path, "configs/kernels/%s.kernel", test->file);
    fixture_make_file(&fixture, path, "T", "DP");
    for (int i = 0; i < fixture.program.object_count; ++i) {
        for (int k = 0; k < ELEMENTS; ++k) {
            numbers[i][k] = sin(1.0 + i + 3.0 * k);
        }
        fixture_bind(&fixture, fixture.program.objects[i].name, test->sizes[i][0],
                     test->sizes[i][1], numbers[i]);
    }
    fixture_evaluate(&fixture);
    memcpy(blocks, numbers, sizeof blocks);
    blocks[fixture.program.object_count - 1][0] += by;
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    autoptr(bb_kernel_peers) peers = new_object(
        bb_kernel_peers, &(bb_kernel_peers_task){device, 2, test->kernel, &fixture.program,
                                                 fixture.data, addresses});
    check_ok(bb_kernel_peers_measure(peers));
    bb_kernel_peers_tell(peers, &outcome);
    return outcome;
}

TEST(a_call_that_finds_the_same_is_told)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_bench_outcome outcome = tell(&cases[i], 0.0);
        assert_string_equal(outcome.library, cases[i].library);
        assert_true(outcome.library_s > 0.0 && outcome.library_ratio == outcome.library_s);
        assert_non_null(strstr(outcome.detail, cases[i].library));
    }
}

TEST(a_call_that_finds_something_else_does_not_count)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_bench_outcome outcome = tell(&cases[i], 1e-6);
        assert_string_equal(outcome.library, "");
        assert_true(isnan(outcome.library_s) && isnan(outcome.library_ratio));
        assert_non_null(strstr(outcome.detail, "finds something else"));
    }
}

// The largest by size is not the largest: told, not counted.
TEST(what_is_only_close_does_not_count)
{
    const peers_case largest = {"max", "max", "", {{ELEMENTS, 1}, {1, 1}}};
    const bb_bench_outcome outcome = tell(&largest, 0.0);
    assert_string_equal(outcome.library, "");
    assert_true(isnan(outcome.library_ratio));
    assert_non_null(strstr(outcome.detail, "cblas_idamax, not the same"));
}

TEST(what_no_library_has_is_left_out)
{
    const peers_case laplace = {"laplace5", "laplace5", "", {{COLUMNS, ROWS}, {COLUMNS, ROWS}}};
    const bb_bench_outcome outcome = tell(&laplace, 0.0);
    assert_string_equal(outcome.library, "");
    assert_string_equal(outcome.detail, "");
}
