// SPDX-License-Identifier: Apache-2.0
//
// Weighted estimates that share one R Cmm R^T, and equivalent plain estimates: seen through weights
// A, with a truth weighted by B, with both, and with two truths without weights.
#ifndef BB_TESTS_SOLVERS_WEIGHED_SCENE_H
#define BB_TESTS_SOLVERS_WEIGHED_SCENE_H

#include "solvers/factor/residual_covariance.h"
#include "tests/solvers/dense.h"

enum {
    WEIGHED_N = 1100, // more than one panel
    WEIGHED_ROWS = 23,
    WEIGHED_SEEN = 9,     // rows of A
    WEIGHED_TRUTHS = 131, // more than one block
    WEIGHED_TASKS = 5,
    WEIGHED_MOST = WEIGHED_ROWS,
};

typedef struct weighed_scene {
    double *cmm, *r, *a, *b;          // [N][N], [ROWS][N], [SEEN][ROWS], [.][TRUTHS]
    double *ctm[WEIGHED_TASKS];       // of the weighted tasks
    double *ctt[WEIGHED_TASKS];       // [q][q]
    double *plain_r[WEIGHED_TASKS];   // [q][N] A R
    double *plain_ctm[WEIGHED_TASKS]; // [q][N] B Ctm
    double *cee[WEIGHED_TASKS];       // [q][q] of the weighted estimates
    double *plain_cee[WEIGHED_TASKS]; // of the plain estimates
    bb_view views[3 * WEIGHED_TASKS + 1];
    bb_matrix_source sources[3 * WEIGHED_TASKS + 1];
    bb_residual_task weighed[WEIGHED_TASKS], plain[WEIGHED_TASKS];
} weighed_scene;

static bb_matrix_source *weighed_source(weighed_scene *s, int k, double *values, bb_index rows,
                                        bb_index columns)
{
    s->views[k] = bb_view_matrix(values, rows, columns);
    s->sources[k] = bb_matrix_source_dense(&s->views[k], "C", "1");
    return &s->sources[k];
}

// out [rows][columns] = A [rows][depth] B.
static void weighed_multiply(bb_index rows, bb_index columns, bb_index depth, const double *a,
                             const double *b, double *out)
{
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < columns; ++j) {
            double sum = 0.0;
            for (bb_index k = 0; k < depth; ++k) {
                sum += a[i * depth + k] * b[k * columns + j];
            }
            out[i * columns + j] = sum;
        }
    }
}

static void weighed_open(weighed_scene *s)
{
    static const bool seen[WEIGHED_TASKS] = {true, false, true, false, false};
    static const bool asked[WEIGHED_TASKS] = {false, true, true, false, false};
    *s = (weighed_scene){.cmm = dense_new((bb_index)WEIGHED_N * WEIGHED_N),
                         .r = dense_new(WEIGHED_ROWS * WEIGHED_N),
                         .a = dense_new(WEIGHED_SEEN * WEIGHED_ROWS),
                         .b = dense_new(WEIGHED_MOST * WEIGHED_TRUTHS)};
    dense_covariance(WEIGHED_N, 15.0, 0.1, s->cmm);
    dense_random(WEIGHED_ROWS * WEIGHED_N, 7, s->r);
    dense_random(WEIGHED_SEEN * WEIGHED_ROWS, 8, s->a);
    dense_random(WEIGHED_MOST * WEIGHED_TRUTHS, 9, s->b);
    weighed_source(s, 0, s->cmm, WEIGHED_N, WEIGHED_N);
    for (int t = 0; t < WEIGHED_TASKS; ++t) {
        const bb_index q = seen[t] ? WEIGHED_SEEN : WEIGHED_ROWS;
        const bb_index m = asked[t] ? WEIGHED_TRUTHS : q;
        s->ctm[t] = dense_new(m * WEIGHED_N);
        s->ctt[t] = dense_new(q * q);
        s->plain_r[t] = dense_new(q * WEIGHED_N);
        s->plain_ctm[t] = dense_new(q * WEIGHED_N);
        s->cee[t] = dense_new(q * q);
        s->plain_cee[t] = dense_new(q * q);
        dense_random(m * WEIGHED_N, 20 + (uint64_t)t, s->ctm[t]);
        dense_covariance(q, 4.0 + t, 0.0, s->ctt[t]);
        memcpy(s->plain_r[t], s->r, (size_t)(q * WEIGHED_N) * sizeof *s->r);
        memcpy(s->plain_ctm[t], s->ctm[t], (size_t)(q * WEIGHED_N) * sizeof *s->r);
        if (seen[t]) {
            weighed_multiply(q, WEIGHED_N, WEIGHED_ROWS, s->a, s->r, s->plain_r[t]);
        }
        if (asked[t]) {
            weighed_multiply(q, WEIGHED_N, m, s->b, s->ctm[t], s->plain_ctm[t]);
        }
        bb_matrix_source *ctt = weighed_source(s, 3 * t + 1, s->ctt[t], q, q);
        s->weighed[t] =
            (bb_residual_task){.r = s->r,
                               .rows = WEIGHED_ROWS,
                               .weights = seen[t] ? s->a : NULL,
                               .truth_weights = asked[t] ? s->b : NULL,
                               .ctm = weighed_source(s, 3 * t + 2, s->ctm[t], m, WEIGHED_N),
                               .ctt = ctt,
                               .cee = s->cee[t]};
        s->plain[t] =
            (bb_residual_task){.r = s->plain_r[t],
                               .ctm = weighed_source(s, 3 * t + 3, s->plain_ctm[t], q, WEIGHED_N),
                               .ctt = ctt,
                               .cee = s->plain_cee[t]};
    }
}

// True if weighted and plain estimates agree to the tolerance.
static void weighed_hold(const weighed_scene *s, double relative)
{
    for (int t = 0; t < WEIGHED_TASKS; ++t) {
        const bb_index q = bb_residual_task_size(&s->plain[t]);
        for (bb_index i = 0; i < q * q; ++i) {
            check_close(s->cee[t][i], s->plain_cee[t][i], relative, s->plain_cee[t][0]);
            assert_true(s->cee[t][i] == s->cee[t][i % q * q + i / q]);
        }
    }
}

static void weighed_close(weighed_scene *s)
{
    BB_RELEASE(&s->cmm);
    BB_RELEASE(&s->r);
    BB_RELEASE(&s->a);
    BB_RELEASE(&s->b);
    for (int t = 0; t < WEIGHED_TASKS; ++t) {
        BB_RELEASE(&s->ctm[t]);
        BB_RELEASE(&s->ctt[t]);
        BB_RELEASE(&s->plain_r[t]);
        BB_RELEASE(&s->plain_ctm[t]);
        BB_RELEASE(&s->cee[t]);
        BB_RELEASE(&s->plain_cee[t]);
    }
}

#endif
