// SPDX-License-Identifier: Apache-2.0
//
// The rounding norm on a GPU: its twin fills the same values as the CPU, with modes and with
// filtered means, and sweeps with its factor have the same excess.
#include "core/device/device_source.h"
#include "sim/pipelines/rounding_norm.h"
#include "tests/device_pair.h"
#include "tests/solvers/dense.h"

#include <cuda_runtime_api.h>

enum { N = 450, M = 40, GROUPS = 6, PART = 2, MODES = 3, BLOCK = 128 };

typedef struct posed {
    double *a, *part, *modes; // [N][N], [N][PART], [N][MODES]
    double part_variances[PART], mode_variances[MODES];
    bb_index group[N], size[GROUPS];
    bb_view view;
    bb_matrix_source source;
    bb_factor_solver_config solver;
    bb_factor_problem problem;
    bb_rounding_norm norm;
} posed;

static void start(bool is_filtered, posed *p)
{
    *p = (posed){.part_variances = {0.4, INFINITY}, .mode_variances = {10.0, 0.5, 3.0}};
    p->a = dense_new((bb_index)N * N);
    p->part = dense_new((bb_index)N * PART);
    p->modes = dense_new((bb_index)N * MODES);
    dense_covariance(N, 9.0, 1e-2, p->a);
    dense_random((bb_index)N * PART, 1, p->part);
    dense_random((bb_index)N * MODES, 2, p->modes);
    for (int i = 0; i < N; ++i) {
        p->group[i] = i * GROUPS / N;
        ++p->size[p->group[i]];
    }
    p->view = bb_view_matrix(p->a, N, N);
    p->source = bb_matrix_source_dense(&p->view, "A", "1");
    p->solver.tile = BLOCK;
    p->problem = (bb_factor_problem){
        .solver = &p->solver, .matrix = &p->source, .part = {PART, p->part, p->part_variances}};
    p->norm = (bb_rounding_norm){.problem = &p->problem,
                                 .most_rows = M,
                                 .modes = {MODES, p->modes, p->mode_variances},
                                 .groups = {GROUPS, p->group, p->size},
                                 .is_filtered = is_filtered};
}

static void finish(posed *p)
{
    bb_rounding_norm_release(&p->norm);
    BB_RELEASE(&p->a);
    BB_RELEASE(&p->part);
    BB_RELEASE(&p->modes);
}

TEST(the_twin_fills_what_the_host_fills)
{
    static posed p;
    for (int filtered = 0; filtered < 2; ++filtered) {
        bb_matrix_source source;
        const size_t bytes = (size_t)N * N * sizeof(double);
        autofree double *wanted = dense_new((bb_index)N * N);
        autofree double *found = dense_new((bb_index)N * N);
        start(filtered == 1, &p);
        check_ok(bb_rounding_norm_source(&p.norm, &source));
        check_ok(bb_matrix_source_load(&source, wanted));
        autoptr(bb_device_source) twin = new_object(bb_device_source, &source, gpu);
        void *block = allocate_on(gpu, bytes);
        check_ok(bb_device_source_fill(twin, NULL, 0, 0, bb_device_matrix(block, BB_F64, N, N, N)));
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // no device queue
        check_ok(bb_device_download(gpu, found, block, bytes));
        for (int k = 0; k < N * N; ++k) {
            check_close(found[k], wanted[k], filtered == 1 ? 1e-13 : 1e-15, fmax(1.0, wanted[k]));
        }
        bb_device_release(gpu, &block);
        finish(&p);
    }
}

static double round_to_step(const void *context, bb_index row, bb_index column, double value)
{
    (void)context;
    (void)row;
    (void)column;
    return 0.1 * rint(10.0 * value);
}

TEST(sweeps_pay_what_those_of_the_cpu_pay)
{
    static posed p;
    const bb_rounding_step step = {.round = round_to_step};
    autofree double *r = dense_new((bb_index)M * N);
    for (int filtered = 0; filtered < 2; ++filtered) {
        double excess[2] = {0.0, 0.0};
        double of_rows[M];
        double pivots[2];
        start(filtered == 1, &p);
        for (int i = 0; i < 2; ++i) {
            const bb_outcome *outcome = NULL;
            dense_random((bb_index)M * N, 5, r);
            check_ok(bb_rounding_norm_ready(&p.norm, i == 1, &outcome));
            assert_int_equal(outcome->kind, BB_OUTCOME_OK);
            check_ok(bb_rounding_norm_sweep(&p.norm, &step, M, r, of_rows));
            for (int row = 0; row < M; ++row) {
                excess[i] += of_rows[row];
            }
            pivots[i] = bb_rounding_norm_pivot(&p.norm, 301);
        }
        print_message("filtered %d: excess %.9g, on the cpu %.9g\n", filtered, excess[1],
                      excess[0]);
        check_relative(excess[1], excess[0], 1e-6);
        check_relative(pivots[1], pivots[0], 1e-9);
        bb_rounding_norm_release_device(&p.norm);
        bb_rounding_norm_release_device(&p.norm); // nothing left to release
        finish(&p);
    }
}

// A breakdown is an outcome, also if repeated.
TEST(a_norm_without_a_factor_is_an_outcome)
{
    static posed p;
    const bb_outcome *outcome = NULL;
    start(false, &p);
    p.a[200 * N + 200] = -1e4;
    check_ok(bb_rounding_norm_ready(&p.norm, true, &outcome));
    assert_int_equal(outcome->kind, BB_OUTCOME_NOT_SPD);
    p.a[200 * N + 200] = 1.0;
    p.a[201 * N + 200] = p.a[200 * N + 201] = 4e3;
    check_ok(bb_rounding_norm_ready(&p.norm, true, &outcome));
    assert_int_equal(outcome->kind, BB_OUTCOME_NOT_SPD);
    assert_non_null(strstr(outcome->detail, "pivot not positive"));
    finish(&p);
}

TEST_GROUP(.begin = open_devices, .end = close_devices);
