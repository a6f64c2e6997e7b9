// SPDX-License-Identifier: Apache-2.0
//
// Residuals on a GPU, whole and by their difference from a base, against those of the cpu. Sizes
// cross a panel of columns (1024), the multiples of planes (64, 128) and a stretch of sums (16384).
#include "core/device/device.h"
#include "solvers/factor/residual_noise.h"
#include "solvers/factor/residual_scorer.h"
#include "tests/solvers/dense.h"

#include <stdlib.h>

static bb_device *gpu;

// Two estimates of m rows over n measurements whose variances span four orders of magnitude.
typedef struct scene {
    bb_index n, m;
    bb_matrix_source cmm, ctm, ctt, none[2];
    bb_view views[4];
    double *ctm_values, *ctt_values; // [m][n], [m][m]
    double *zeros;                   // [m][n]
    double *base, *other, *delta;    // [m][n]
    double *cee[3];                  // [m][m] of base and other by the cpu, and D Cmm D^T
} scene;

static double spread(bb_index i)
{
    return pow(10.0, 2.0 * sin(0.37 * (double)i));
}

static bb_status fill_covariance(const bb_matrix_source *source, bb_index row, bb_index column,
                                 bb_view out)
{
    (void)source;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            const double distance = (double)(row + i - column - j) / 40.0;
            const double noise = row + i == column + j ? 0.1 : 0.0;
            values[j] =
                spread(row + i) * spread(column + j) * (1.0 / (1.0 + distance * distance) + noise);
        }
    }
    return BB_OK;
}

static void score_on_cpu(const scene *s, const double *r, const bb_matrix_source *ctm,
                         const bb_matrix_source *ctt, double *cee)
{
    const bb_residual_task task = {r, ctm, ctt, cee};
    check_ok(bb_residual_covariance(&s->cmm, 1, &task));
}

static void open_scene(bb_index n, bb_index m, double difference, scene *s)
{
    *s = (scene){.n = n, .m = m};
    s->cmm = (bb_matrix_source){.rows = n,
                                .columns = n,
                                .symmetric = true,
                                .name = "Cmm",
                                .unit = "1",
                                .fill = fill_covariance};
    s->ctm_values = dense_new(m * n);
    s->ctt_values = dense_new(m * m);
    s->zeros = dense_new(m * n);
    s->base = dense_new(m * n);
    s->other = dense_new(m * n);
    s->delta = dense_new(m * n);
    dense_random(m * n, 11, s->ctm_values);
    dense_covariance(m, 4.0, 0.0, s->ctt_values);
    dense_random(m * n, 12, s->base);
    dense_random(m * n, 13, s->delta);
    for (bb_index i = 0; i < m * n; ++i) {
        s->base[i] *= 1e-2 / spread(i % n);
        s->delta[i] *= difference * (1.0 + (double)(i / n)) * s->base[i];
        s->other[i] = s->base[i] + s->delta[i];
        s->delta[i] = s->other[i] - s->base[i]; // as rounded
    }
    s->views[0] = bb_view_matrix(s->ctm_values, m, n);
    s->views[1] = bb_view_matrix(s->ctt_values, m, m);
    s->views[2] = bb_view_matrix(s->zeros, m, n);
    s->views[3] = bb_view_matrix(s->zeros, m, m);
    s->ctm = bb_matrix_source_dense(&s->views[0], "Ctm", "1");
    s->ctt = bb_matrix_source_dense(&s->views[1], "Ctt", "1");
    s->none[0] = bb_matrix_source_dense(&s->views[2], "0", "1");
    s->none[1] = bb_matrix_source_dense(&s->views[3], "0", "1");
    for (int k = 0; k < 3; ++k) {
        s->cee[k] = dense_new(m * m);
    }
    score_on_cpu(s, s->base, &s->ctm, &s->ctt, s->cee[0]);
    score_on_cpu(s, s->other, &s->ctm, &s->ctt, s->cee[1]);
    score_on_cpu(s, s->delta, &s->none[0], &s->none[1], s->cee[2]);
}

static void close_scene(scene *s)
{
    double **const arrays[] = {&s->ctm_values, &s->ctt_values, &s->zeros,  &s->base,  &s->other,
                               &s->delta,      &s->cee[0],     &s->cee[1], &s->cee[2]};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
        BB_RELEASE(arrays[i]);
    }
}

static double distance(const scene *s, const double *a, const double *b)
{
    double sum = 0.0;
    for (bb_index i = 0; i < s->m * s->m; ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(sum);
}

static void score(bb_residual_scorer *scorer, const scene *s, const double *r,
                  bb_residual_role role, double *cee)
{
    const bb_residual_task task = {r, &s->ctm, &s->ctt, cee};
    check_ok(bb_residual_scorer_score(scorer, &task, role));
    for (bb_index i = 0; i < s->m; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            assert_true(cee[i * s->m + j] == cee[j * s->m + i]);
        }
    }
}

// sum_j |D_ij| sqrt(Cmm_jj).
static double reach(const scene *s, bb_index row)
{
    double sum = 0.0;
    for (bb_index j = 0; j < s->n; ++j) {
        sum += fabs(s->delta[row * s->n + j]) * spread(j) * sqrt(1.1);
    }
    return sum;
}

// The bound of the header entry by entry, beside what is left of fp64.
static void hold_difference(const scene *s, const double *cee)
{
    const double floor = 1e-12 * dense_norm(s->m * s->m, s->cee[1]);
    const double error = distance(s, cee, s->cee[1]);
    const double loss = dense_norm(s->m * s->m, s->cee[2]);
    for (bb_index i = 0; i < s->m; ++i) {
        for (bb_index j = 0; j < s->m; ++j) {
            const double bound = ldexp(1.0, -15) * reach(s, i) * reach(s, j);
            assert_true(fabs(cee[i * s->m + j] - s->cee[1][i * s->m + j]) <= bound + floor);
        }
    }
    print_message("n %td, m %td: error %.2g of D Cmm D^T, that %.2g of Cee\n", s->n, s->m,
                  error / loss, loss / dense_norm(s->m * s->m, s->cee[1]));
    assert_true(error <= 1e-5 * loss + floor);
}

static void compare(bb_index n, bb_index m, double difference)
{
    scene s;
    bb_residual_scorer *scorer = NULL;
    open_scene(n, m, difference, &s);
    double *first = dense_new(m * m);
    double *second = dense_new(m * m);
    check_ok(bb_residual_scorer_create(gpu, &s.cmm, 0.0, &scorer));
    score(scorer, &s, s.other, BB_RESIDUAL_OTHER, first); // no base yet: whole
    assert_true(distance(&s, first, s.cee[1]) <= 1e-11 * dense_norm(m * m, s.cee[1]));
    assert_int_equal(bb_residual_scorer_differences(scorer), 0);
    score(scorer, &s, s.base, BB_RESIDUAL_ALONE, first);
    score(scorer, &s, s.base, BB_RESIDUAL_BASE, second);
    // A base keeps what the half of Cmm does not give: other sums.
    assert_true(distance(&s, second, first) <= 1e-12 * dense_norm(m * m, s.cee[0]));
    assert_true(distance(&s, first, s.cee[0]) <= 1e-11 * dense_norm(m * m, s.cee[0]));
    score(scorer, &s, s.other, BB_RESIDUAL_OTHER, first);
    score(scorer, &s, s.other, BB_RESIDUAL_OTHER, second);
    assert_memory_equal(first, second, (size_t)(m * m) * sizeof *first);
    hold_difference(&s, first);
    score(scorer, &s, s.base, BB_RESIDUAL_OTHER, first); // no difference at all
    assert_true(distance(&s, first, s.cee[0]) <= 1e-11 * dense_norm(m * m, s.cee[0]));
    const bool portable = getenv("BB_CUDA_PORTABLE") != NULL;
    assert_int_equal(bb_residual_scorer_differences(scorer), portable ? 0 : 3);
    bb_residual_scorer_destroy(&scorer);
    BB_RELEASE(&first);
    BB_RELEASE(&second);
    close_scene(&s);
}

static void a_difference_agrees_with_the_whole(void **state)
{
    (void)state;
    compare(300, 7, 1e-3);
    compare(1100, 23, 1e-2);
    compare(2113, 200, 1e-5);
    compare(1100, 1, 1.0);
}

static void sums_of_several_stretches_agree(void **state)
{
    (void)state;
    compare(16500, 9, 1e-3);
}

// A base that would leave too little is not kept.
static void without_room_all_are_scored_whole(void **state)
{
    (void)state;
    scene s;
    bb_residual_scorer *scorer = NULL;
    open_scene(1100, 23, 1e-3, &s);
    double *cee = dense_new(s.m * s.m);
    check_ok(bb_residual_scorer_create(gpu, &s.cmm, 1e15, &scorer));
    score(scorer, &s, s.base, BB_RESIDUAL_BASE, cee);
    score(scorer, &s, s.other, BB_RESIDUAL_OTHER, cee);
    assert_true(distance(&s, cee, s.cee[1]) <= 1e-11 * dense_norm(s.m * s.m, s.cee[1]));
    assert_int_equal(bb_residual_scorer_differences(scorer), 0);
    bb_residual_scorer_destroy(&scorer);
    BB_RELEASE(&cee);
    close_scene(&s);
}

static void a_projection_is_a_product_of_three(void **state)
{
    (void)state;
    enum { ROWS = 37, COLUMNS = 91 };
    bb_residual_scorer *scorer = NULL;
    double *weights = dense_new(ROWS * COLUMNS);
    double *symmetric = dense_new(COLUMNS * COLUMNS);
    double *out = dense_new(ROWS * ROWS);
    dense_random(ROWS * COLUMNS, 21, weights);
    dense_covariance(COLUMNS, 9.0, 0.2, symmetric);
    const bb_matrix_source cmm = {.rows = COLUMNS,
                                  .columns = COLUMNS,
                                  .symmetric = true,
                                  .name = "Cmm",
                                  .unit = "1",
                                  .fill = fill_covariance};
    check_ok(bb_residual_scorer_create(gpu, &cmm, 0.0, &scorer));
    check_ok(bb_residual_scorer_project(scorer, ROWS, COLUMNS, weights, symmetric, out));
    for (bb_index i = 0; i < ROWS; ++i) {
        for (bb_index j = 0; j < ROWS; ++j) {
            double sum = 0.0;
            for (bb_index k = 0; k < COLUMNS; ++k) {
                for (bb_index l = 0; l < COLUMNS; ++l) {
                    sum += weights[i * COLUMNS + k] * symmetric[k * COLUMNS + l] *
                           weights[j * COLUMNS + l];
                }
            }
            check_close(out[i * ROWS + j], sum, 1e-12, out[0]);
        }
    }
    bb_residual_scorer_destroy(&scorer);
    BB_RELEASE(&weights);
    BB_RELEASE(&symmetric);
    BB_RELEASE(&out);
}

static void noise_alone_agrees_with_the_cpu(void **state)
{
    (void)state;
    scene s;
    bb_residual_scorer *scorer = NULL;
    bb_triplets list = {0};
    bb_csr sparse = {0};
    open_scene(1100, 23, 1e-3, &s);
    for (bb_index i = 0; i < s.n; ++i) {
        check_ok(bb_triplets_add(&list, i, i, 1.0 + (double)(i % 7)));
        check_ok(bb_triplets_add(&list, i, (i + s.n / 2) % s.n, 0.25 * (double)(i % 3)));
        check_ok(bb_triplets_add(&list, (i + s.n / 2) % s.n, i, 0.25 * (double)(i % 3)));
    }
    check_ok(bb_csr_assemble(s.n, s.n, &list, &sparse));
    double *expected = dense_new(s.m * s.m);
    double *cee = dense_new(s.m * s.m);
    check_ok(bb_residual_noise(&sparse, s.m, s.base, expected));
    check_ok(bb_residual_scorer_create(gpu, &s.cmm, 0.0, &scorer));
    check_ok(bb_residual_scorer_noise(scorer, &sparse, s.m, s.base, cee));
    assert_true(distance(&s, cee, expected) <= 1e-12 * dense_norm(s.m * s.m, expected));
    bb_residual_scorer_destroy(&scorer);
    bb_triplets_release(&list);
    bb_csr_release(&sparse);
    BB_RELEASE(&expected);
    BB_RELEASE(&cee);
    close_scene(&s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    scene s;
    bb_residual_scorer *scorer = NULL;
    bb_device *host = NULL;
    double cee = 0.0;
    open_scene(300, 7, 1e-3, &s);
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &host));
    check_fails(bb_residual_scorer_create(host, &s.cmm, 0.0, &scorer), BB_UNSUPPORTED, "cuda");
    bb_device_close(&host);
    check_ok(bb_residual_scorer_create(gpu, &s.cmm, 0.0, &scorer));
    const bb_residual_task task = {s.base, &s.ctt, &s.ctt, &cee};
    check_fails(bb_residual_scorer_score(scorer, &task, BB_RESIDUAL_ALONE), BB_INVALID,
                "expected 300 columns");
    bb_residual_scorer_destroy(&scorer);
    close_scene(&s);
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &gpu));
    check_ok(bb_threads_set(bb_threads_available() < 16 ? bb_threads_available() : 16));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_agrees_with_the_whole),
        cmocka_unit_test(sums_of_several_stretches_agree),
        cmocka_unit_test(without_room_all_are_scored_whole),
        cmocka_unit_test(a_projection_is_a_product_of_three),
        cmocka_unit_test(noise_alone_agrees_with_the_cpu),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_threads_stop();
    bb_device_close(&gpu);
    return failed;
}
