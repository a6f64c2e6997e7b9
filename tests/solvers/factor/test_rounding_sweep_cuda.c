// SPDX-License-Identifier: Apache-2.0
//
// Sweeps with the factor on a GPU against sweeps in tiles on the CPU, by the codecs that store
// reconstructors: sizes that are not multiples of panels, blocks that are not full.
#include "precision/scaling.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/rounding_sweep.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/first_device.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

#include <cblas.h>
#include <cuda_runtime_api.h>

enum { N = 707, M = 93, TILE = 128 };

static bb_device *gpu;

// A covariance whose variances span four decades, R, and both factors.
typedef struct posed {
    double *a, *r; // [N][N], [M][N]
    bb_view view;
    bb_matrix_source source;
    bb_tile_matrix *tiles;
    bb_device_source *twin;
    bb_panel_cholesky *panels;
    double scale[N];  // of the unit diagonal
    double pivots[N]; // L_kk
} posed;

static void make_matrix(posed *p)
{
    p->a = dense_new((bb_index)N * N);
    p->r = dense_new((bb_index)M * N);
    dense_covariance(N, 6.0, 1e-3, p->a);
    for (int i = 0; i < N * N; ++i) {
        p->a[i] *= pow(10.0, sin(0.05 * (i / N)) + sin(0.05 * (i % N)));
    }
    dense_random((bb_index)M * N, 11, p->r);
    for (int i = 0; i < M * N; ++i) {
        p->r[i] *= 1.0 + 0.1 * (i / N);
    }
    p->view = bb_view_matrix(p->a, N, N);
    p->source = bb_matrix_source_dense(&p->view, "A", "1");
}

static void start(bb_variant arithmetic, bb_index block, posed *p)
{
    const bb_tile_plan tiles = {.tile_size = TILE, .arithmetic = BB_VARIANT_DP};
    const bb_panel_plan plan = {.n = N, .block = block, .arithmetic = arithmetic};
    bb_outcome outcome = {0};
    bb_panel_times times;
    double diagonal[N];
    *p = (posed){0};
    make_matrix(p);
    fill_array(diagonal, N, k, p->a[k * N + k]);
    check_ok(bb_scaling_unit_diagonal(diagonal, N, p->scale));
    check_ok(bb_tile_matrix_create(&p->source, NULL, &tiles, &p->tiles));
    check_ok(bb_tile_cholesky_factor(p->tiles, 1, &outcome));
    check_ok(bb_device_source_create(&p->source, gpu, &p->twin));
    const bb_panel_sources sources = {.matrix = p->twin};
    check_ok(bb_panel_cholesky_create(1, &gpu, &plan, &p->panels));
    check_ok(bb_panel_cholesky_factor(p->panels, &sources, p->scale, &outcome, &times));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    fill_array(p->pivots, N, k, bb_tile_matrix_pivot(p->tiles, k));
}

static void finish(posed *p)
{
    bb_panel_cholesky_destroy(&p->panels);
    bb_device_source_destroy(&p->twin);
    bb_tile_matrix_destroy(&p->tiles);
    BB_RELEASE(&p->a);
    BB_RELEASE(&p->r);
}

static double round_value(const void *context, bb_index row, bb_index column, double value)
{
    return bb_coded_matrix_round(*(bb_coded_matrix *const *)context, row, column, value);
}

static void fix_block(const void *context, bb_index row, bb_index column, bb_index count,
                      const double *values)
{
    bb_coded_matrix_fix_block(*(bb_coded_matrix *const *)context, row, column, count, values);
}

typedef struct coding {
    const char *codec; // bb_codec_read
    bb_row_scale row_scale;
    bool column_scales;
    double spread; // of the excess over factors in x3: clipped values have the largest weight
} coding;

static const coding codings[] = {
    {"integer bits=8 rounding=sweep", BB_ROW_SCALE_NONE, false, 0.01},
    {"quantiser tolerance=1e-2 rounding=sweep", BB_ROW_SCALE_NONE, true, 0.01},
    {"bfp bits=6 rounding=sweep", BB_ROW_SCALE_NONE, false, 0.03},
    {"mx element=e2m1 block_scale=nvfp4 rounding=sweep", BB_ROW_SCALE_NONE, false, 0.03},
    {"e4m3 rounding=sweep", BB_ROW_SCALE_ROW, false, 0.03},
};
enum { CODINGS = sizeof codings / sizeof *codings };

// Stored R, q [M][N], times the scales of columns; returns the reported excess, summed over rows.
static double sweep(const posed *p, const coding *how, bool on_device, double *q)
{
    const bb_matrix_layout layout = {.rows = M, .columns = N};
    double excess[M];
    double sum = 0.0;
    fill_array(q, M * N, i, p->r[i] * (how->column_scales ? p->pivots[i % N] : 1.0));
    bb_codec_config config = codec_of(how->codec);
    autoptr(bb_coded_matrix) matrix = new_object(bb_coded_matrix, &config, how->row_scale, &layout);
    for (int i = 0; i < M; ++i) {
        check_ok(bb_coded_matrix_fix_row(matrix, i, q + (bb_index)i * N));
    }
    const bb_rounding_step step = {.round = round_value,
                                   .context = &matrix,
                                   .block = bb_codec_rounding_block(&config),
                                   .enter = fix_block,
                                   .scales = how->column_scales ? p->pivots : NULL};
    check_ok(on_device ? bb_rounding_sweep_panels(gpu, p->panels, N, &step, M, q, excess)
                       : bb_rounding_sweep(p->tiles, &step, M, q, excess));
    for (int i = 0; i < M; ++i) {
        sum += excess[i];
    }
    return sum;
}

// tr(E A E^T) of the stored R.
static double pay(const posed *p, const coding *how, const double *q)
{
    autofree double *errors = dense_new((bb_index)M * N);
    autofree double *product = dense_new((bb_index)M * N);
    double sum = 0.0;
    fill_array(errors, M * N, i, q[i] / (how->column_scales ? p->pivots[i % N] : 1.0) - p->r[i]);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, N, 1.0, errors, N, p->a, N, 0.0,
                product, N);
    for (int i = 0; i < M * N; ++i) {
        sum += errors[i] * product[i];
    }
    return sum;
}

// If sums differ by a rounding, a value next to a tie may round the other way and change the
// earlier columns of its row. This affects hardly one of 66,000 values, hence the limit of one in
// 1,000 codes.
TEST(codes_in_dp_are_those_of_the_cpu)
{
    static posed p;
    autofree double *cpu = dense_new((bb_index)M * N);
    autofree double *found = dense_new((bb_index)M * N);
    autofree double *again = dense_new((bb_index)M * N);
    start(BB_VARIANT_DP, 256, &p);
    for (int c = 0; c < CODINGS; ++c) {
        const double wanted = sweep(&p, &codings[c], false, cpu);
        const double excess = sweep(&p, &codings[c], true, found);
        int different = 0;
        for (int i = 0; i < M * N; ++i) {
            different += fabs(found[i] - cpu[i]) > 1e-12 * fabs(cpu[i]);
        }
        print_message("%s: excess %.9g, %.1e off, %d codes of %d differ\n", codings[c].codec,
                      excess, excess / wanted - 1.0, different, M * N);
        check_relative(excess, wanted, 1e-6);
        check_relative(excess, pay(&p, &codings[c], found), 1e-6);
        assert_true(different <= M * N / 1000);
        assert_true(sweep(&p, &codings[c], true, again) == excess);
        assert_memory_equal(again, found, sizeof *found * M * N);
    }
    finish(&p);
}

// The factor in x3 differs by fp32 rounding: other codes of the same cost.
TEST(x3_pays_what_dp_pays)
{
    static posed p;
    autofree double *q = dense_new((bb_index)M * N);
    start(BB_VARIANT_X3, 128, &p);
    for (int c = 0; c < CODINGS; ++c) {
        const double wanted = sweep(&p, &codings[c], false, q);
        const double told = sweep(&p, &codings[c], true, q);
        const double paid = pay(&p, &codings[c], q);
        print_message("%s: told %.6g, paid %.6g, in dp %.6g\n", codings[c].codec, told, paid,
                      wanted);
        check_relative(paid, wanted, codings[c].spread);
        check_relative(told, paid, 0.01);
    }
    finish(&p);
}

// Columns of L of A itself, from any first column: L L^T is A, with D undone.
TEST(columns_are_those_of_the_factor)
{
    static const struct {
        bb_variant arithmetic;
        double error;
    } cases[] = {{BB_VARIANT_DP, 1e-12}, {BB_VARIANT_SP, 2e-5}, {BB_VARIANT_X3, 2e-5}};
    static const bb_index places[][2] = {{0, 128}, {100, 96}, {250, 300}, {N - 1, 1}};
    static posed p;
    double pivots[N];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        start(cases[c].arithmetic, 128, &p);
        check_ok(bb_panel_cholesky_pivots(p.panels, pivots));
        check_all_relative(pivots, p.pivots, N, 1e3 * cases[c].error);
        for (size_t s = 0; s < sizeof places / sizeof *places; ++s) {
            const bb_index first = places[s][0];
            const bb_index width = places[s][1];
            const bb_index items = (N - first) * width;
            autofree double *found = dense_new(items);
            void *block = allocate_on(gpu, (size_t)items * sizeof *found);
            check_ok(bb_panel_cholesky_columns(p.panels, NULL, first, width, block, width));
            assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // not on a queue of the device
            check_ok(bb_device_download(gpu, found, block, (size_t)items * sizeof *found));
            for (bb_index k = 0; k < items; ++k) {
                const bb_index i = first + k / width;
                const bb_index j = first + k % width;
                const bb_tile *tile =
                    j <= i ? bb_tile_matrix_at(p.tiles, i / TILE, j / TILE) : NULL;
                const double wanted =
                    tile != NULL ? tile->f64[i % TILE * tile->columns + j % TILE] : 0.0;
                check_close(found[k], wanted, 1e3 * cases[c].error, sqrt(p.a[i * N + i]));
            }
            bb_device_release(gpu, &block);
        }
        check_fails(bb_panel_cholesky_columns(p.panels, NULL, N - 3, 4, NULL, 4), BB_INVALID,
                    "does not fit 707 columns");
        finish(&p);
    }
}

static double round_to_step(const void *context, bb_index row, bb_index column, double value)
{
    (void)context;
    (void)row;
    (void)column;
    return 0.125 * rint(8.0 * value);
}

static void keep_block(const void *context, bb_index row, bb_index column, bb_index count,
                       const double *values)
{
    double *told = *(double *const *)context;
    memcpy(told + row * N + column, values, (size_t)count * sizeof *values);
}

// Blocks that do not divide the usual panel width are whole within one panel, and receive the same
// values.
TEST(blocks_of_any_width_are_told_of_what_they_want)
{
    static posed p;
    double *told[2] = {dense_new((bb_index)M * N), dense_new((bb_index)M * N)};
    autofree double *q = dense_new((bb_index)M * N);
    start(BB_VARIANT_DP, 256, &p);
    for (int i = 0; i < 2; ++i) {
        const bb_rounding_step step = {
            .round = round_to_step, .context = &told[i], .block = 24, .enter = keep_block};
        memcpy(q, p.r, sizeof *q * M * N);
        check_ok(i == 0 ? bb_rounding_sweep(p.tiles, &step, M, q, NULL)
                        : bb_rounding_sweep_panels(gpu, p.panels, N, &step, M, q, NULL));
    }
    check_all_close(told[1], told[0], M * N, 1e-7, 1.0);
    finish(&p);
    BB_RELEASE(&told[0]);
    BB_RELEASE(&told[1]);
}

TEST(wide_blocks_are_refused)
{
    static posed p;
    const bb_rounding_step step = {.round = round_value, .block = 65, .enter = fix_block};
    start(BB_VARIANT_DP, 128, &p);
    check_fails(bb_rounding_sweep_panels(gpu, p.panels, N, &step, M, p.r, NULL), BB_INVALID,
                "blocks of 65 columns, expected at most 64");
    finish(&p);
}

static int begin(void)
{
    return first_device_open(BB_DEVICE_CUDA, &gpu);
}

static void end(void)
{
    bb_device_close(&gpu);
}

TEST_GROUP(.begin = begin, .end = end, .threads = 2);
