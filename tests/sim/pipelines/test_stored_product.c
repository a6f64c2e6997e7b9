// SPDX-License-Identifier: Apache-2.0
//
// A vector of slopes times a stored matrix as on a real-time computer, against a scalar computation
// that rounds one operation at a time.
#include "sim/pipelines/stored_product.h"
#include "tests/check.h"

enum { M = 131, N = 6, GROUPS = 2 }; // more rows than sums at once

static const double slopes[N] = {0.3, -1.2, 0.7001, 7.0, -0.25, -7.0};

// Storage with slopes of variance 1, in two groups.
typedef struct posed {
    double a[N * N], r[M * N];
    bb_index group[N], size[GROUPS];
    bb_view view;
    bb_matrix_source source;
    bb_factor_solver_config solver;
    bb_factor_problem problem;
    bb_factor_storage storage;
} posed;

static void start(posed *p)
{
    static const bb_low_rank no_modes = {0};
    *p = (posed){.group = {0, 0, 1, 1, 1, 1}, .size = {2, 4}, .solver = {.tile = N}};
    for (int i = 0; i < N; ++i) {
        p->a[i * N + i] = 1.0;
    }
    fill_array(p->r, M * N, k, sin(1.0 + 0.37 * k));
    p->view = bb_view_matrix(p->a, N, N);
    p->source = bb_matrix_source_dense(&p->view, "A", "1");
    p->problem = (bb_factor_problem){.solver = &p->solver, .matrix = &p->source};
    const bb_slope_groups groups = {GROUPS, p->group, p->size};
    bb_factor_storage_open(&p->problem, (int)BB_DEVICE_CPU, M, &no_modes, &groups, &p->storage);
}

static bb_factor_pipeline wide(void)
{
    return (bb_factor_pipeline){.multiply = (int)BB_FORMAT_FP64,
                                .accumulate = (int)BB_FORMAT_FP64,
                                .accumulate_run = BB_INTEGER_UNSET,
                                .filter = (int)BB_SLOPE_FILTER_NONE,
                                .slopes = {.format = -1, .bits = BB_INTEGER_UNSET}};
}

static void multiply(const bb_factor_pipeline *pipeline, double *out)
{
    posed p;
    bb_stored_product product = {0};
    double work[N + GROUPS];
    start(&p);
    assert_true(bb_stored_product_is_given(pipeline));
    check_ok(bb_stored_product_create(&p.storage, pipeline, M, p.r, &product));
    assert_true(bb_stored_product_work(&product) <= N + GROUPS);
    bb_stored_product_multiply(&product, slopes, work, out);
    bb_stored_product_release(&product);
    bb_factor_storage_release(&p.storage);
}

// 4 bits over +-5 deviations are steps of 0.625, from -8 to 7 of them.
TEST(slopes_are_whole_steps_of_their_range)
{
    static const double rounded[N] = {0.0, -1.25, 0.625, 4.375, 0.0, -5.0};
    bb_factor_pipeline pipeline = wide();
    double made[M];
    posed p;
    start(&p);
    pipeline.slopes.bits = 4;
    pipeline.slopes.range_sigmas = 5.0;
    multiply(&pipeline, made);
    for (int i = 0; i < M; ++i) {
        double sum = 0.0;
        for (int j = 0; j < N; ++j) {
            sum += p.r[i * N + j] * rounded[j];
        }
        check_close(made[i], sum, 1e-14, 10.0);
    }
    bb_factor_storage_release(&p.storage);
}

// Every product and sum is rounded to fp16, and runs of two are summed in fp32. With filtered means
// the slopes are the remainders, and the part of the means is exact.
TEST(sums_are_narrow)
{
    for (int filtered = 0; filtered < 2; ++filtered) {
        const double first = filtered == 1 ? (slopes[0] + slopes[1]) / 2.0 : 0.0;
        const double second =
            filtered == 1 ? (slopes[2] + slopes[3] + slopes[4] + slopes[5]) / 4.0 : 0.0;
        bb_factor_pipeline pipeline = wide();
        double made[M];
        posed p;
        start(&p);
        pipeline.multiply = pipeline.accumulate = (int)BB_FORMAT_FP16;
        pipeline.accumulate_run = 2;
        pipeline.filter = filtered == 1 ? (int)BB_SLOPE_FILTER_MEANS : (int)BB_SLOPE_FILTER_NONE;
        multiply(&pipeline, made);
        for (int i = 0; i < M; ++i) {
            const double *row = p.r + i * N;
            float total = 0.0F;
            for (int j = 0; j < N; j += 2) {
                const double a = slopes[j] - (j < 2 ? first : second);
                const double b = slopes[j + 1] - (j < 2 ? first : second);
                const double one = bb_format_round(BB_FORMAT_FP16, row[j] * a);
                const double two = bb_format_round(BB_FORMAT_FP16, row[j + 1] * b);
                total += (float)bb_format_round(BB_FORMAT_FP16, one + two);
            }
            const double means =
                (row[0] + row[1]) * first + (row[2] + row[3] + row[4] + row[5]) * second;
            check_close(made[i], (double)total + means, 1e-14, 10.0);
        }
        bb_factor_storage_release(&p.storage);
    }
}
