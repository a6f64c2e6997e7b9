// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_covariance.h"
#include "solvers/factor/residual_noise.h"
#include "tests/solvers/weighed_scene.h"

#include <lapacke.h>

enum { N = 1100, M = 23, FEW = 9 }; // more than one panel

static double *cmm, *ctm, *ctt, *r;

static int setup(void **state)
{
    (void)state;
    cmm = dense_new((bb_index)N * N);
    ctm = dense_new(M * N);
    ctt = dense_new(M * M);
    r = dense_new(M * N);
    dense_covariance(N, 15.0, 0.1, cmm);
    dense_random(M * N, 6, ctm);
    dense_random(M * N, 7, r);
    dense_covariance(M, 4.0, 0.0, ctt);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    BB_RELEASE(&cmm);
    BB_RELEASE(&ctm);
    BB_RELEASE(&ctt);
    BB_RELEASE(&r);
    return 0;
}

static void score(double *cee)
{
    bb_view views[3] = {bb_view_matrix(cmm, N, N), bb_view_matrix(ctm, M, N),
                        bb_view_matrix(ctt, M, M)};
    bb_matrix_source cmm_source = bb_matrix_source_dense(&views[0], "Cmm", "1");
    bb_matrix_source ctm_source = bb_matrix_source_dense(&views[1], "Ctm", "1");
    bb_matrix_source ctt_source = bb_matrix_source_dense(&views[2], "Ctt", "1");
    bb_residual_task task = {.r = r, .ctm = &ctm_source, .ctt = &ctt_source, .cee = cee};
    check_ok(bb_residual_covariance(&cmm_source, 1, &task));
}

static double direct(bb_index i, bb_index j)
{
    double sum = ctt[i * M + j];
    for (bb_index k = 0; k < N; ++k) {
        sum -= r[i * N + k] * ctm[j * N + k] + ctm[i * N + k] * r[j * N + k];
        for (bb_index l = 0; l < N; ++l) {
            sum += r[i * N + k] * cmm[k * N + l] * r[j * N + l];
        }
    }
    return sum;
}

TEST(any_estimate_matches_the_definition, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *cee = dense_new(M * M);
    score(cee);
    for (bb_index i = 0; i < M; i += 5) {
        for (bb_index j = 0; j < M; j += 4) {
            check_close(cee[i * M + j], direct(i, j), 1e-12, cee[0]);
            assert_true(cee[i * M + j] == cee[j * M + i]);
        }
    }
}

// Estimates with different numbers of rows in one pass; the second has the first rows of the other.
TEST(estimates_share_a_pass, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *cee = dense_new(M * M);
    autofree double *few = dense_new(FEW * FEW);
    bb_view view = bb_view_matrix(ctt, M, M);
    bb_view views[5] = {bb_view_matrix(cmm, N, N), bb_view_matrix(ctm, M, N), view,
                        bb_view_matrix(ctm, FEW, N), bb_view_block(view, 0, FEW, 0, FEW)};
    bb_matrix_source sources[5];
    for (int i = 0; i < 5; ++i) {
        sources[i] = bb_matrix_source_dense(&views[i], "C", "1");
    }
    bb_residual_task tasks[2] = {{.r = r, .ctm = &sources[1], .ctt = &sources[2], .cee = cee},
                                 {.r = r, .ctm = &sources[3], .ctt = &sources[4], .cee = few}};
    check_ok(bb_residual_covariance(&sources[0], 2, tasks));
    for (bb_index i = 0; i < FEW; ++i) {
        for (bb_index j = 0; j < FEW; ++j) {
            check_close(few[i * FEW + j], cee[i * M + j], 1e-12, cee[0]);
        }
    }
    check_close(few[1], direct(0, 1), 1e-12, cee[0]);
}

TEST(a_plain_estimate_is_seen_through_weights, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *cee = dense_new(M * M);
    autofree double *b = dense_new(FEW * M);
    autofree double *truth = dense_new(FEW * FEW);
    autofree double *seen = dense_new(FEW * FEW);
    double diagonal[M];
    bb_view views[3] = {bb_view_matrix(cmm, N, N), bb_view_matrix(ctm, M, N),
                        bb_view_matrix(truth, FEW, FEW)};
    bb_matrix_source sources[3];
    for (int i = 0; i < 3; ++i) {
        sources[i] = bb_matrix_source_dense(&views[i], "C", "1");
    }
    dense_random(FEW * M, 9, b);
    for (bb_index i = 0; i < FEW * FEW; ++i) {
        for (bb_index k = 0; k < M * M; ++k) {
            truth[i] += b[i / FEW * M + k / M] * ctt[k] * b[i % FEW * M + k % M];
        }
    }
    bb_residual_task task = {.r = r,
                             .ctm = &sources[1],
                             .ctt = &sources[2],
                             .cee = seen,
                             .truth_weights = b,
                             .diagonal = diagonal};
    check_ok(bb_residual_covariance(&sources[0], 1, &task));
    score(cee);
    for (bb_index i = 0; i < FEW * FEW; ++i) {
        double expected = 0.0;
        for (bb_index k = 0; k < M * M; ++k) {
            expected += b[i / FEW * M + k / M] * cee[k] * b[i % FEW * M + k % M];
        }
        check_close(seen[i], expected, 1e-11, seen[0]);
    }
    for (bb_index i = 0; i < M; ++i) {
        check_close(ctt[i * M + i] + diagonal[i], cee[i * M + i], 1e-12, cee[0]);
    }
    double without[FEW * FEW];
    task.diagonal = NULL;
    task.cee = without;
    check_ok(bb_residual_covariance(&sources[0], 1, &task));
    assert_memory_equal(without, seen, sizeof without);
}

// For the exact R = Ctm Cmm^-1 the short form Ctt - R Ctm^T applies.
TEST(exact_estimate_matches_the_short_form, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *cee = dense_new(M * M);
    autofree double *full = dense_new((bb_index)N * N);
    memcpy(full, cmm, (size_t)N * N * sizeof *full);
    memcpy(r, ctm, (size_t)M * N * sizeof *r);
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, full, N, r, N), 0);
    score(cee);
    for (bb_index i = 0; i < M; ++i) {
        double expected = ctt[i * M + i];
        for (bb_index k = 0; k < N; ++k) {
            expected -= r[i * N + k] * ctm[i * N + k];
        }
        check_close(cee[i * M + i], expected, 1e-11, expected);
    }
}

TEST(bits_do_not_depend_on_threads, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *one = dense_new(M * M);
    autofree double *four = dense_new(M * M);
    check_ok(bb_threads_set(1));
    score(one);
    check_ok(bb_threads_set(4));
    score(four);
    assert_memory_equal(one, four, M * M * sizeof *one);
    bb_threads_stop();
}

TEST(weighed_estimates_are_scored_as_plain_ones)
{
    autocall(weighed_close) weighed_scene s;
    autofree double *again = dense_new(WEIGHED_ROWS * WEIGHED_ROWS);
    weighed_open(&s);
    check_ok(bb_residual_covariance(&s.sources[0], WEIGHED_TASKS, s.plain));
    check_ok(bb_threads_set(3));
    check_ok(bb_residual_covariance(&s.sources[0], WEIGHED_TASKS, s.weighed));
    weighed_hold(&s, 1e-11);
    bb_residual_task alone = s.weighed[3]; // with another number of threads, by its own product
    alone.cee = again;
    check_ok(bb_threads_set(1));
    check_ok(bb_residual_covariance(&s.sources[0], 1, &alone));
    bb_threads_stop();
    assert_memory_equal(again, s.cee[3], (size_t)WEIGHED_ROWS * WEIGHED_ROWS * sizeof *again);
}

// A C A^T for weights, next to the result of the task; C itself without weights.
TEST(what_is_added_is_weighed)
{
    autocall(weighed_close) weighed_scene s;
    autofree double *added = dense_new(WEIGHED_ROWS * WEIGHED_ROWS);
    autofree double *half = dense_new(WEIGHED_SEEN * WEIGHED_ROWS);
    weighed_open(&s);
    dense_covariance(WEIGHED_ROWS, 3.0, 0.0, added);
    for (int t = 0; t < 2; ++t) {
        const bb_index q = bb_residual_task_size(&s.weighed[t]);
        for (bb_index i = 0; i < q * q; ++i) {
            s.cee[t][i] = 1.0;
        }
        check_ok(bb_residual_task_add(&s.weighed[t], added));
    }
    weighed_multiply(WEIGHED_SEEN, WEIGHED_ROWS, WEIGHED_ROWS, s.a, added, half);
    for (bb_index i = 0; i < WEIGHED_SEEN; ++i) {
        double sum = 1.0;
        for (bb_index k = 0; k < WEIGHED_ROWS; ++k) {
            sum += half[i * WEIGHED_ROWS + k] * s.a[2 * WEIGHED_ROWS + k];
        }
        check_close(s.cee[0][i * WEIGHED_SEEN + 2], sum, 1e-12, 1.0);
    }
    check_close(s.cee[1][5], 1.0 + added[5], 1e-15, 1.0);
}

TEST(shapes_that_do_not_go_together_are_refused)
{
    autocall(weighed_close) weighed_scene s;
    weighed_open(&s);
    s.weighed[0].rows = 0;
    check_fails(bb_residual_covariance(&s.sources[0], 1, s.weighed), BB_INVALID,
                "do not fit its weights");
    s.weighed[3].rows = WEIGHED_SEEN;
    check_fails(bb_residual_covariance(&s.sources[0], 1, &s.weighed[3]), BB_INVALID,
                "9 rows of C do not fit its weights, expected 23");
    s.weighed[1].truth_weights = NULL;
    check_fails(bb_residual_covariance(&s.sources[0], 1, &s.weighed[1]), BB_INVALID,
                "C is 131 x 1100, expected 23 x 1100");
}

// N has a diagonal and couples each measurement to the one N / 2 away, across panels.
static void noise(bb_csr *out)
{
    autorelease(bb_triplets) list = {0};
    for (bb_index i = 0; i < N; ++i) {
        check_ok(bb_triplets_add(&list, i, i, 1.0 + (double)(i % 7)));
        check_ok(bb_triplets_add(&list, i, (i + N / 2) % N, 0.25 * (double)(i % (N / 2) % 3)));
    }
    check_ok(bb_csr_assemble(N, N, &list, out));
}

TEST(noise_alone_is_a_sparse_product, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *one = dense_new(M * M);
    autofree double *four = dense_new(M * M);
    autorelease(bb_csr) sparse = {0};
    noise(&sparse);
    check_ok(bb_threads_set(1));
    check_ok(bb_residual_noise(&sparse, M, r, one));
    check_ok(bb_threads_set(4));
    check_ok(bb_residual_noise(&sparse, M, r, four));
    bb_threads_stop();
    assert_memory_equal(one, four, M * M * sizeof *one);
    for (bb_index i = 0; i < M; ++i) {
        for (bb_index j = 0; j < M; ++j) {
            double sum = 0.0;
            for (bb_index k = 0; k < N; ++k) {
                for (bb_index e = sparse.row_start[k]; e < sparse.row_start[k + 1]; ++e) {
                    sum += r[i * N + k] * sparse.value[e] * r[j * N + sparse.column[e]];
                }
            }
            check_close(one[i * M + j], sum, 1e-12, one[0]);
            assert_true(one[i * M + j] == one[j * M + i]);
        }
    }
}

// Predicted commands of a mosaic on a device by allocation: R, a panel of Cmm, its product, R Cmm
// R^T and a partial sum; a panel of Ctm, Cvv, R Ctm^T and a partial sum in its place, B and the
// crossed part of B. Bounds have weights A too. A plain estimate has the first five only. Two
// devices need half the time for distributed work, three 3/8, the share of the largest.
TEST(a_device_holds_what_is_counted)
{
    const double n = 100368.0;
    const double actuators = 5784.0;
    const double truths = 11152.0;
    const double panel = 1024.0;
    const double projecting =
        8.0 * (n * (actuators + panel) + actuators * (panel + 2.0 * actuators));
    const double weighing = 8.0 * (truths * (panel + 2.0 * actuators) +
                                   2.0 * actuators * actuators + actuators * (truths - actuators));
    const bb_need plain = bb_residual_covariance_device_need(1, 100368, 5784, 0, 0);
    const double weighed_bytes =
        bb_residual_covariance_device_need(1, 100368, 5784, 11152, 5784).device_bytes;
    check_relative(plain.device_bytes, projecting, 1e-12);
    assert_true(weighed_bytes >= projecting + weighing);
    assert_true(weighed_bytes <= projecting + weighing + 2.0 * 8.0 * actuators * actuators);
    const double shares[] = {1.0, 0.5, 0.375, 0.25};
    for (bb_index gpus = 1; gpus <= 4; ++gpus) {
        const bb_need one = bb_residual_covariance_device_need(gpus, 100368, 5784, 0, 0);
        check_relative(one.device_bytes, projecting, 1e-12);
        check_relative(one.seconds, shares[gpus - 1] * plain.seconds, 1e-12);
    }
}
