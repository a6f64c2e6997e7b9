// SPDX-License-Identifier: Apache-2.0
//
// Residuals on a GPU against those of the CPU, and on several GPUs against one, bit for bit. Parts
// share one GPU, which covers everything but the link; with two GPUs, parts alternate between them.
// Sizes cross a panel of columns (1024).
#include "core/device/device.h"
#include "core/device/transfer.h"
#include "solvers/factor/residual_noise.h"
#include "solvers/factor/residual_scorer.h"
#include "tests/device_pair.h"
#include "tests/solvers/weighed_scene.h"

#include <cuda_runtime_api.h>

enum { PARTS = 8, LARGEST = 9300 };

static bb_device *devices[PARTS]; // the same GPU several times
static double spreads[LARGEST];

// An estimate of m rows from n measurements whose variances span four orders of magnitude.
typedef struct scene {
    bb_index n, m;
    bb_matrix_source cmm, ctm, ctt;
    bb_view views[2];
    double *ctm_values, *ctt_values; // [m][n], [m][m]
    double *r;                       // [m][n]
    double *cee;                     // [m][m] by the CPU
} scene;

static double spread(bb_index i)
{
    return spreads[i];
}

static void set_spreads(void)
{
    fill_array(spreads, LARGEST, i, pow(10.0, 2.0 * sin(0.37 * (double)i)));
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

static void open_scene(bb_index n, bb_index m, scene *s)
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
    s->r = dense_new(m * n);
    s->cee = dense_new(m * m);
    dense_random(m * n, 11, s->ctm_values);
    dense_covariance(m, 4.0, 0.0, s->ctt_values);
    dense_random(m * n, 12, s->r);
    for (bb_index i = 0; i < m * n; ++i) {
        s->r[i] *= 1e-2 / spread(i % n);
    }
    s->views[0] = bb_view_matrix(s->ctm_values, m, n);
    s->views[1] = bb_view_matrix(s->ctt_values, m, m);
    s->ctm = bb_matrix_source_dense(&s->views[0], "Ctm", "1");
    s->ctt = bb_matrix_source_dense(&s->views[1], "Ctt", "1");
    const bb_residual_task task = {.r = s->r, .ctm = &s->ctm, .ctt = &s->ctt, .cee = s->cee};
    check_ok(bb_residual_covariance(&s->cmm, 1, &task));
}

static void close_scene(scene *s)
{
    BB_RELEASE(&s->ctm_values);
    BB_RELEASE(&s->ctt_values);
    BB_RELEASE(&s->r);
    BB_RELEASE(&s->cee);
}

static double distance(const scene *s, const double *a, const double *b)
{
    double sum = 0.0;
    for (bb_index i = 0; i < s->m * s->m; ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(sum);
}

static void compare(bb_index n, bb_index m)
{
    autocall(close_scene) scene s;
    open_scene(n, m, &s);
    autofree double *first = dense_new(m * m);
    autofree double *second = dense_new(m * m);
    bb_residual_task task = {.r = s.r, .ctm = &s.ctm, .ctt = &s.ctt, .cee = first};
    autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, devices, &s.cmm);
    check_ok(bb_residual_scorer_score(scorer, 1, &task));
    assert_true(distance(&s, first, s.cee) <= 1e-11 * dense_norm(m * m, s.cee));
    task.cee = second;
    check_ok(bb_residual_scorer_score(scorer, 1, &task));
    assert_memory_equal(first, second, (size_t)(m * m) * sizeof *first);
    task.rows = m; // by a product that other estimates could share
    check_ok(bb_residual_scorer_score(scorer, 1, &task));
    assert_true(distance(&s, second, s.cee) <= 1e-11 * dense_norm(m * m, s.cee));
    for (bb_index i = 0; i < m * m; ++i) {
        assert_true(first[i] == first[i % m * m + i / m]);
    }
}

TEST(residuals_agree_with_the_cpu)
{
    compare(300, 7);
    compare(1100, 23);
    compare(2113, 200);
    compare(1100, 1);
}

TEST(weighed_estimates_are_scored_as_plain_ones)
{
    autocall(weighed_close) weighed_scene s;
    autofree double *again = dense_new(WEIGHED_ROWS * WEIGHED_ROWS);
    weighed_open(&s);
    check_ok(bb_residual_covariance(&s.sources[0], WEIGHED_TASKS, s.plain));
    autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, devices, &s.sources[0]);
    check_ok(bb_residual_scorer_score(scorer, WEIGHED_TASKS, s.weighed));
    weighed_hold(&s, 1e-11);
    bb_residual_task alone = s.weighed[3];
    alone.cee = again;
    check_ok(bb_residual_scorer_score(scorer, 1, &alone));
    assert_memory_equal(again, s.cee[3], (size_t)WEIGHED_ROWS * WEIGHED_ROWS * sizeof *again);
}

// Estimates of all kinds from one r: plain, by a shared product, and that product weighted by A, by
// B, and by both; then plain seen through B, with the diagonal and without it, which multiplies Cmm
// by B R only.
enum { KINDS = 7, SEEN = 11 };

typedef struct estimates {
    bb_index edge;               // of the largest residual
    double *a, *b;               // [SEEN][m], [edge][m]
    double *diagonal;            // [m]
    double *seen_ctm, *seen_ctt; // [SEEN][n], [SEEN][SEEN]
    bb_view views[2];
    bb_matrix_source sources[2];
    bb_residual_task tasks[KINDS];
    double *cee[KINDS]; // [edge][edge] in parts, for one device
} estimates;

static void open_estimates(const scene *s, estimates *e)
{
    const bb_index edge = s->m > SEEN ? s->m : SEEN;
    *e = (estimates){.edge = edge,
                     .a = dense_new(SEEN * s->m),
                     .b = dense_new(edge * s->m),
                     .diagonal = dense_new(s->m),
                     .seen_ctm = dense_new(SEEN * s->n),
                     .seen_ctt = dense_new(SEEN * SEEN)};
    dense_random(SEEN * s->m, 41, e->a);
    dense_random(edge * s->m, 42, e->b);
    dense_random(SEEN * s->n, 43, e->seen_ctm);
    dense_covariance(SEEN, 3.0, 0.0, e->seen_ctt);
    e->views[0] = bb_view_matrix(e->seen_ctm, SEEN, s->n);
    e->views[1] = bb_view_matrix(e->seen_ctt, SEEN, SEEN);
    e->sources[0] = bb_matrix_source_dense(&e->views[0], "Ctm", "1");
    e->sources[1] = bb_matrix_source_dense(&e->views[1], "Ctt", "1");
    for (int t = 0; t < KINDS; ++t) {
        const bool by_a = t == 2 || t == 4;
        e->tasks[t] = (bb_residual_task){.r = s->r,
                                         .rows = t > 0 && t < 5 ? s->m : 0,
                                         .ctm = t == 2 ? &e->sources[0] : &s->ctm,
                                         .ctt = by_a || t >= 5 ? &e->sources[1] : &s->ctt,
                                         .weights = by_a ? e->a : NULL,
                                         .truth_weights = t > 2 ? e->b : NULL,
                                         .diagonal = t == 5 ? e->diagonal : NULL};
        e->cee[t] = dense_new(edge * edge);
    }
}

static void close_estimates(estimates *e)
{
    for (int t = 0; t < KINDS; ++t) {
        BB_RELEASE(&e->cee[t]);
    }
    BB_RELEASE(&e->a);
    BB_RELEASE(&e->b);
    BB_RELEASE(&e->diagonal);
    BB_RELEASE(&e->seen_ctm);
    BB_RELEASE(&e->seen_ctt);
}

// Scores twice; the second score reuses results of the first. Without a device (NULL): on the CPU.
static void score_into(bb_residual_scorer *scorer, const scene *s, estimates *e, double **cee)
{
    for (int again = 0; again < 2; ++again) {
        for (int t = 0; t < KINDS; ++t) {
            memset(cee[t], 0, (size_t)(e->edge * e->edge) * sizeof *cee[t]);
            e->tasks[t].cee = cee[t];
        }
        check_ok(scorer != NULL ? bb_residual_scorer_score(scorer, KINDS, e->tasks)
                                : bb_residual_covariance(&s->cmm, KINDS, e->tasks));
    }
}

// Number of estimates that differ from those of one device.
static int differences(bb_index count, bb_device *const *gpus, const scene *s, estimates *e)
{
    int found = 0;
    double *cee[KINDS];
    fill_array(cee, KINDS, t, dense_new(e->edge * e->edge));
    bb_residual_scorer *scorer = new_object(bb_residual_scorer, count, gpus, &s->cmm);
    score_into(scorer, s, e, cee);
    bb_residual_scorer_destroy(&scorer);
    for (int t = 0; t < KINDS; ++t) {
        if (memcmp(cee[t], e->cee[t], (size_t)(e->edge * e->edge) * sizeof *cee[t]) != 0) {
            print_message("differs: kind %d, n %td, %td rows, %td parts\n", t, s->n, s->m, count);
            ++found;
        }
        BB_RELEASE(&cee[t]);
    }
    return found;
}

// One device against the CPU, to rounding.
static void score_alone(const scene *s, estimates *e)
{
    const bb_index items = e->edge * e->edge;
    double *expected[KINDS];
    fill_array(expected, KINDS, t, dense_new(items));
    score_into(NULL, s, e, expected);
    bb_residual_scorer *scorer = new_object(bb_residual_scorer, 1, devices, &s->cmm);
    score_into(scorer, s, e, e->cee);
    bb_residual_scorer_destroy(&scorer);
    for (int t = 0; t < KINDS; ++t) {
        const double norm = dense_norm(items, expected[t]);
        for (bb_index i = 0; i < items; ++i) {
            expected[t][i] -= e->cee[t][i];
        }
        assert_true(dense_norm(items, expected[t]) <= 1e-11 * norm);
        BB_RELEASE(&expected[t]);
    }
}

// Fewer panels than parts, than partial sums, and more than those, with a narrow last panel.
TEST(parts_have_the_bits_of_one)
{
    static const struct {
        bb_index n, m;
    } sizes[] = {{300, 23}, {2113, 200}, {LARGEST, 23}, {2113, 1}};
    static const bb_index counts[] = {2, 3, 5, PARTS};
    int found = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        autocall(close_scene) scene s;
        autocall(close_estimates) estimates e;
        open_scene(sizes[i].n, sizes[i].m, &s);
        open_estimates(&s, &e);
        score_alone(&s, &e);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            found += differences(counts[c], devices, &s, &e);
        }
    }
    assert_int_equal(found, 0);
}

TEST(two_gpus_have_the_bits_of_one)
{
    scene s;
    estimates e;
    bb_device *two[2] = {gpu, NULL};
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) < 2) {
        print_message("skipped: one GPU\n");
        skip();
    }
    check_ok(bb_device_open(BB_DEVICE_CUDA, 1, &two[1]));
    open_scene(LARGEST, 200, &s);
    open_estimates(&s, &e);
    score_alone(&s, &e);
    const int found = differences(2, two, &s, &e);
    close_estimates(&e);
    close_scene(&s);
    bb_device_close(&two[1]);
    assert_int_equal(found, 0);
}

// C <- 2 A op(B) - C / 2, in more than one part of rows if `rows` of `depth` fill a slab.
static void check_product(bb_residual_scorer *scorer, bb_index rows, bb_index depth,
                          bb_index columns, bool transposed)
{
    autofree double *a = dense_new(rows * depth);
    autofree double *b = dense_new(depth * columns);
    autofree double *expected = dense_new(rows * columns);
    autofree double *out = dense_new(rows * columns);
    dense_random(rows * depth, 31, a);
    dense_random(depth * columns, 32, b);
    dense_random(rows * columns, 33, out);
    memcpy(expected, out, (size_t)(rows * columns) * sizeof *out);
    const bb_row_product on_host = {columns, depth, 2.0, a, b, transposed, -0.5, expected};
    const bb_row_product on_device = {columns, depth, 2.0, a, b, transposed, -0.5, out};
    check_ok(bb_row_product_run(&on_host, rows, rows));
    autofree double *again = dense_new(rows * columns);
    memcpy(again, out, (size_t)(rows * columns) * sizeof *out);
    check_ok(bb_residual_scorer_multiply(scorer, rows, &on_device, NULL));
    check_all_close(out, expected, rows * columns, 1e-12, sqrt((double)depth));
    void *resident = NULL; // b in GPU memory
    bb_transfer *transfer = new_object(bb_transfer, gpu, 0);
    check_ok(bb_device_allocate(gpu, (size_t)(depth * columns) * sizeof *b, &resident));
    check_ok(bb_transfer_upload(transfer, resident, b, (size_t)(depth * columns) * sizeof *b));
    const bb_row_product there = {columns, depth, 2.0, a, NULL, transposed, -0.5, again};
    check_ok(bb_residual_scorer_multiply(scorer, rows, &there, resident));
    assert_memory_equal(again, out, (size_t)(rows * columns) * sizeof *out);
    bb_device_release(gpu, &resident);
    bb_transfer_destroy(&transfer);
}

TEST(a_product_is_that_of_the_host)
{
    autocall(weighed_close) weighed_scene s;
    weighed_open(&s);
    autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, devices, &s.sources[0]);
    check_product(scorer, 13, 1100, 57, false);
    check_product(scorer, 57, 131, 1100, true);
    check_product(scorer, 3, (bb_index)1 << 25, 1, true); // two rows per slab
}

// A disc on a grid, its arrays and sums.
typedef struct pair_scene {
    bb_residual_pairs task;
    int32_t *place, *first, *column;
    double *light, *influence, *twisted, *stationary;
    double *known, *commands, *seen; // W, M and G
    bb_view view;
    bb_matrix_source source;
} pair_scene;

enum { WAVES = 2, PULLED = 3, SLOPES = 5 };

// z = F W - 2 G M^T, with the source in every other scene.
static void twist(bb_index count, bool has_source, pair_scene *s)
{
    s->known = dense_new(PULLED * PULLED);
    s->commands = dense_new(PULLED * SLOPES);
    s->seen = dense_new(count * SLOPES);
    dense_random(PULLED * PULLED, 52, s->known);
    dense_random(PULLED * SLOPES, 54, s->commands);
    dense_random(count * SLOPES, 55, s->seen);
    s->view = bb_view_matrix(s->seen, count, SLOPES);
    s->source = bb_matrix_source_dense(&s->view, "G", "1");
    const bb_row_product first = {PULLED,   PULLED, 1.0, s->influence,
                                  s->known, false,  0.0, s->twisted};
    const bb_row_product second = {PULLED,      SLOPES, -2.0, s->seen,
                                   s->commands, true,   1.0,  s->twisted};
    check_ok(bb_row_product_run(&first, count, count));
    check_ok(has_source ? bb_row_product_run(&second, count, count) : BB_OK);
}

static void open_pairs(bb_index edge, pair_scene *s)
{
    static const double squares[WAVES] = {0.7, 1.9};
    const double radius = 0.5 * (double)edge;
    bb_index count = 0;
    *s = (pair_scene){.place = new_array(int32_t, edge * edge),
                      .first = new_zeros(int32_t, edge + 1),
                      .column = new_array(int32_t, edge * edge)};
    for (bb_index k = 0; k < edge * edge; ++k) {
        const double x = (double)(k % edge) + 0.5 - radius;
        const double y = (double)(k / edge) + 0.5 - radius;
        const bool lit = x * x + y * y < radius * radius && (x * x + y * y > 4.0);
        s->place[k] = lit ? (int32_t)count : -1;
        s->column[count] = (int32_t)(k % edge);
        count += lit ? 1 : 0;
        s->first[k / edge + 1] = (int32_t)count;
    }
    s->light = dense_new(count);
    s->influence = dense_new(count * PULLED);
    s->twisted = dense_new(count * PULLED);
    s->stationary = dense_new(edge * edge);
    fill_array(s->light, count, i, 1.0 + 0.1 * (double)(i % 7));
    dense_random(count * PULLED, 51, s->influence);
    twist(count, edge % 2 == 0, s);
    dense_random(edge * edge, 53, s->stationary);
    const bb_index displaced = edge * (2 * edge - 1);
    s->task = (bb_residual_pairs){edge,
                                  count,
                                  PULLED,
                                  WAVES,
                                  s->place,
                                  s->first,
                                  s->column,
                                  s->light,
                                  s->influence,
                                  s->known,
                                  s->stationary,
                                  squares,
                                  dense_new((WAVES + 1) * displaced),
                                  dense_new(displaced),
                                  dense_new(count),
                                  edge % 2 == 0 ? &s->source : NULL,
                                  s->commands};
}

static void close_pairs(pair_scene *s)
{
    void *all[] = {s->place,
                   s->first,
                   s->column,
                   s->light,
                   s->influence,
                   s->twisted,
                   s->stationary,
                   s->task.sums,
                   s->task.covariances,
                   s->task.variances,
                   s->known,
                   s->commands,
                   s->seen};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        bb_memory_release(&all[i]);
    }
}

static double pair_covariance(const pair_scene *s, bb_index p, bb_index q)
{
    double sum = 0.0;
    for (bb_index a = 0; a < PULLED; ++a) {
        sum += 0.5 * (s->influence[p * PULLED + a] * s->twisted[q * PULLED + a] +
                      s->twisted[p * PULLED + a] * s->influence[q * PULLED + a]);
    }
    return sum;
}

// Pair by pair: pairs of rows j and j - dy.
static void compare_pairs(const pair_scene *s)
{
    const bb_residual_pairs *t = &s->task;
    const bb_index displaced = t->edge * (2 * t->edge - 1);
    autofree double *expected = new_zeros(double, (WAVES + 2) * displaced);
    for (bb_index j = 0; j < t->edge; ++j) {
        for (bb_index p = t->first[j]; p < t->first[j + 1]; ++p) {
            check_close(t->variances[p], pair_covariance(s, p, p), 1e-12, 1.0);
            for (bb_index k = 0; k <= j; ++k) {
                for (bb_index q = t->first[k]; q < t->first[k + 1]; ++q) {
                    const bb_index dx = t->column[p] - t->column[q];
                    double *sums = expected + (j - k) * (2 * t->edge - 1) + t->edge - 1 + dx;
                    const double c =
                        pair_covariance(s, p, q) - t->stationary[(j - k) * t->edge + labs(dx)];
                    const double both = t->variances[p] + t->variances[q];
                    sums[0] += t->light[p] * t->light[q];
                    sums[(WAVES + 1) * displaced] += t->light[p] * t->light[q] * c;
                    for (bb_index w = 0; w < WAVES; ++w) {
                        sums[(w + 1) * displaced] +=
                            t->light[p] * t->light[q] * exp(-t->squares[w] * (0.5 * both - c));
                    }
                }
            }
        }
    }
    const double scale = dense_norm((WAVES + 2) * displaced, expected);
    check_all_close(t->sums, expected, (WAVES + 1) * displaced, 1e-12, scale);
    check_all_close(t->covariances, expected + (WAVES + 1) * displaced, displaced, 1e-12, scale);
}

// All rows at once, and 9,500 points in more than one part.
TEST(sums_over_pairs_are_those_of_all_pairs)
{
    static const bb_index edges[] = {9, 12, 110};
    autocall(weighed_close) weighed_scene other;
    weighed_open(&other);
    autoptr(bb_residual_scorer) scorer =
        new_object(bb_residual_scorer, 1, devices, &other.sources[0]);
    for (size_t e = 0; e < sizeof edges / sizeof *edges; ++e) {
        pair_scene s;
        open_pairs(edges[e], &s);
        check_ok(bb_residual_scorer_pairs(scorer, &s.task));
        compare_pairs(&s);
        close_pairs(&s);
    }
}

TEST(a_projection_is_a_product_of_three)
{
    enum { ROWS = 37, COLUMNS = 91 };
    autofree double *weights = dense_new(ROWS * COLUMNS);
    autofree double *symmetric = dense_new(COLUMNS * COLUMNS);
    autofree double *out = dense_new(ROWS * ROWS);
    dense_random(ROWS * COLUMNS, 21, weights);
    dense_covariance(COLUMNS, 9.0, 0.2, symmetric);
    const bb_matrix_source cmm = {.rows = COLUMNS,
                                  .columns = COLUMNS,
                                  .symmetric = true,
                                  .name = "Cmm",
                                  .unit = "1",
                                  .fill = fill_covariance};
    autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, devices, &cmm);
    check_ok(bb_residual_scorer_congruence(scorer, ROWS, COLUMNS, weights, symmetric, out));
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
}

static void *upload_estimate(const scene *s)
{
    const size_t bytes = (size_t)(s->m * s->n) * sizeof *s->r;
    void *out = NULL;
    check_ok(bb_device_allocate(gpu, bytes, &out));
    check_ok(bb_device_upload(gpu, out, s->r, bytes));
    check_ok(bb_device_wait(gpu));
    return out;
}

TEST(noise_alone_agrees_with_the_cpu)
{
    autocall(close_scene) scene s;
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) sparse = {0};
    open_scene(1100, 1100, &s); // two blocks of rows
    for (bb_index i = 0; i < s.n; ++i) {
        check_ok(bb_triplets_add(&list, i, i, 1.0 + (double)(i % 7)));
        check_ok(bb_triplets_add(&list, i, (i + s.n / 2) % s.n, 0.25 * (double)(i % 3)));
        check_ok(bb_triplets_add(&list, (i + s.n / 2) % s.n, i, 0.25 * (double)(i % 3)));
    }
    check_ok(bb_csr_assemble(s.n, s.n, &list, &sparse));
    autofree double *expected = dense_new(s.m * s.m);
    autofree double *cee = dense_new(s.m * s.m);
    check_ok(bb_residual_noise(&sparse, s.m, s.r, expected));
    autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, devices, &s.cmm);
    const bb_residual_task task = {.r = s.r, .ctm = &s.ctm};
    check_ok(bb_residual_scorer_noise(scorer, &sparse, &task, cee));
    assert_true(distance(&s, cee, expected) <= 1e-12 * dense_norm(s.m * s.m, expected));
    void *device_r = upload_estimate(&s);
    const bb_residual_task resident = {.device_r = device_r, .ctm = &s.ctm};
    check_ok(bb_residual_scorer_noise(scorer, &sparse, &resident, expected));
    assert_memory_equal(cee, expected, (size_t)(s.m * s.m) * sizeof *cee);
    bb_device_release(gpu, &device_r);
}

// R of a task that lies on the first GPU, with any number of parts; it is unchanged afterwards.
TEST(an_estimate_on_the_gpu_has_the_score_of_one_on_the_host)
{
    static const bb_index counts[] = {1, 3};
    autocall(close_scene) scene s;
    open_scene(2113, 200, &s);
    const bb_index items = s.m * s.m;
    void *device_r = upload_estimate(&s);
    for (bb_index rows = 0; rows <= s.m; rows += s.m) { // plain, and by R Cmm R^T
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            autofree double *expected = dense_new(items);
            autofree double *cee = dense_new(items);
            bb_residual_task task = {
                .r = s.r, .ctm = &s.ctm, .ctt = &s.ctt, .cee = expected, .rows = rows};
            autoptr(bb_residual_scorer) scorer =
                new_object(bb_residual_scorer, counts[c], devices, &s.cmm);
            check_ok(bb_residual_scorer_score(scorer, 1, &task));
            task.r = NULL;
            task.device_r = device_r;
            task.cee = cee;
            check_ok(bb_residual_scorer_score(scorer, 1, &task));
            check_ok(bb_residual_scorer_score(scorer, 1, &task));
            assert_memory_equal(cee, expected, (size_t)items * sizeof *cee);
        }
    }
    bb_device_release(gpu, &device_r);
}

enum { RANK = 3 };

static double part_vectors[RANK * 2113];
static const double part_variances[RANK] = {0.5, 2.0, 7.0};

static bb_status fill_whole(const bb_matrix_source *source, bb_index row, bb_index column,
                            bb_view out)
{
    bb_status status = fill_covariance(source, row, column, out);
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = (double *)out.data + i * out.strides[0];
        for (bb_index item = 0; item < out.shape[1] * RANK; ++item) {
            const bb_index j = item / RANK;
            const bb_index k = item % RANK;
            values[j] += part_variances[k] * part_vectors[(row + i) * RANK + k] *
                         part_vectors[(column + j) * RANK + k];
        }
    }
    return status;
}

TEST(a_low_rank_part_is_scored_with_the_matrix)
{
    static const bb_index counts[] = {1, 3};
    autocall(close_scene) scene s;
    open_scene(2113, 40, &s);
    bb_matrix_source whole = s.cmm;
    whole.fill = fill_whole;
    fill_array(part_vectors, RANK * s.n, i, spread(i / RANK) * sin(0.7 * (double)i));
    const bb_low_rank part = {RANK, part_vectors, part_variances};
    const bb_index items = s.m * s.m;
    autofree double *cee = dense_new(items);
    bb_residual_task task = {.r = s.r, .ctm = &s.ctm, .ctt = &s.ctt, .cee = s.cee};
    check_ok(bb_residual_covariance(&whole, 1, &task));
    task.cee = cee;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        autoptr(bb_residual_scorer) scorer =
            new_object(bb_residual_scorer, counts[c], devices, &s.cmm);
        check_ok(bb_residual_scorer_score(scorer, 1, &task));
        assert_true(distance(&s, cee, s.cee) > 1e-6 * dense_norm(items, s.cee));
        check_ok(bb_residual_scorer_add_part(scorer, &part));
        check_ok(bb_residual_scorer_score(scorer, 1, &task));
        assert_true(distance(&s, cee, s.cee) <= 1e-11 * dense_norm(items, s.cee));
    }
}

// A block of a twin, `bytes` long, on the host.
static void read_block(const bb_device_source *twin, bb_type type, bb_index row, bb_index column,
                       bb_index rows, bb_index columns, void *out)
{
    const size_t bytes = (size_t)(rows * columns) * bb_type_bytes(type);
    void *block = allocate_on(gpu, bytes);
    check_ok(bb_device_source_fill(twin, NULL, row, column,
                                   bb_device_matrix(block, type, rows, columns, columns)));
    check_ok(bb_device_wait(gpu));
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // not on a queue of the device
    check_ok(bb_device_download(gpu, out, block, bytes));
    bb_device_release(gpu, &block);
}

// Across a panel, below and above the diagonal, for the part that is stored and for the part that
// does not fit.
TEST(a_twin_shares_the_panels_of_scores)
{
    static const bb_index blocks[][4] = {
        {0, 0, 2113, 300}, {1100, 900, 500, 200}, {0, 1000, 2113, 1113}, {2112, 0, 1, 2113}};
    static const double reserves[] = {0.0, INFINITY};
    autocall(close_scene) scene s;
    open_scene(2113, 40, &s);
    autoptr(bb_device_source) plain = new_object(bb_device_source, &s.cmm, gpu);
    for (size_t k = 0; k < sizeof reserves / sizeof *reserves; ++k) {
        bb_residual_task task = {.r = s.r, .ctm = &s.ctm, .ctt = &s.ctt};
        autofree double *cee = dense_new(s.m * s.m);
        autofree double *found = dense_new(37 * 500);
        autoptr(bb_residual_scorer) scorer = new_object(bb_residual_scorer, 1, &gpu, &s.cmm);
        autoptr(bb_device_source) twin = NULL;
        autoptr(bb_device_source) side = NULL;
        check_ok(bb_residual_scorer_cache_panels(scorer, reserves[k]));
        check_ok(bb_residual_scorer_twin(scorer, &s.cmm, false, gpu, &twin));
        check_ok(bb_residual_scorer_twin(scorer, &s.ctm, true, gpu, &side));
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; ++b) {
            const bb_index *at = blocks[b];
            const bb_index items = at[2] * at[3];
            for (int type = 0; type < 2; ++type) {
                autofree double *expected = dense_new(items);
                autofree double *read = dense_new(items);
                const bb_type as = type == 0 ? BB_F64 : BB_F32;
                read_block(plain, as, at[0], at[1], at[2], at[3], expected);
                read_block(twin, as, at[0], at[1], at[2], at[3], read);
                assert_memory_equal(read, expected, (size_t)items * bb_type_bytes(as));
            }
        }
        read_block(side, BB_F64, 3, 1000, 37, 500, found);
        for (bb_index i = 0; i < 37 * 500; ++i) {
            assert_true(found[i] == s.ctm_values[(3 + i / 500) * s.n + 1000 + i % 500]);
        }
        task.cee = cee;
        check_ok(bb_residual_scorer_score(scorer, 1, &task));
        assert_true(distance(&s, cee, s.cee) <= 1e-11 * dense_norm(s.m * s.m, s.cee));
    }
}

TEST(what_does_not_fit_is_refused)
{
    autocall(close_scene) scene s;
    autoptr(bb_residual_scorer) scorer = NULL;
    bb_device *host = NULL;
    double cee = 0.0;
    open_scene(300, 7, &s);
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &host));
    check_fails(bb_residual_scorer_create(1, &host, &s.cmm, &scorer), BB_UNSUPPORTED, "cuda");
    check_fails(bb_residual_scorer_create(PARTS + 1, devices, &s.cmm, &scorer), BB_INVALID,
                "9 GPUs, expected 1 to 8");
    bb_device_close(&host);
    check_ok(bb_residual_scorer_create(1, devices, &s.cmm, &scorer));
    const bb_residual_task task = {.r = s.r, .ctm = &s.ctt, .ctt = &s.ctt, .cee = &cee};
    check_fails(bb_residual_scorer_score(scorer, 1, &task), BB_INVALID, "expected 7 x 300");
}

static int begin(void)
{
    const int code = open_devices();
    if (code != 0) {
        return code;
    }
    fill_array(devices, PARTS, g, gpu);
    set_spreads();
    return 0;
}

TEST_GROUP(.begin = begin, .end = close_devices, .threads = 16);
