// SPDX-License-Identifier: Apache-2.0
//
// Products on a GPU with a quantiser whose quotients exceed 16 bits in a few columns, by limbs,
// against products in fp64 on the CPU. Argument "few": fewer shapes, for slow tools.
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/device_matrix.h"
#include "tests/device_pair.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

// A quantiser of step 1 and its x, representable in fp32.
typedef struct problem {
    bb_index rows, columns;
    double *c, *x;
    bb_coded_matrix *matrix;
} problem;

enum { RUN = 32, MOST_ROWS = 150 };

static const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
static const bb_gemv_arithmetic fp64 = {BB_FORMAT_FP64, BB_FORMAT_FP64};

// Two columns of a tile in two quarters, 15 to 30 bits plus sign, in some bands and rows; rows in
// between have none.
static void widen_tile(problem *task, bb_index tile)
{
    const bb_index rest = task->columns - tile * 1024;
    const bb_index count = rest < 1024 ? rest : 1024;
    for (bb_index i = 0; i < task->rows; ++i) {
        double *own = task->c + i * task->columns + tile * 1024;
        if (i / 16 % 3 != 1 && i % 5 != 2) {
            own[count / 3] = rint(ldexp(i % 2 == 0 ? 0.83 : -0.71, 16 + (int)(i * 7 % 16)));
            own[count - 1] = rint(ldexp(i % 3 == 0 ? -0.93 : 0.57, 18 + (int)(i * 5 % 7)));
        }
    }
}

static void encode(problem *task)
{
    const bb_matrix_layout layout = {.rows = task->rows, .columns = task->columns};
    bb_codec_config config = codec_of("quantiser tolerance=0.5");
    task->matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, task->c);
}

// Wide in tile t if `tiles` has bit t.
static problem draw(bb_index rows, bb_index columns, unsigned tiles)
{
    problem out = {rows, columns, dense_new(rows * columns), dense_new(columns), NULL};
    dense_random(rows * columns, 1 + tiles, out.c);
    dense_random(columns, 2, out.x);
    fill_array(out.c, rows * columns, i,
               i / columns % 37 == 3 ? 0.0 : rint(ldexp(out.c[i], (int)(i / 256 % 9))));
    for (bb_index tile = 0; tile < 32 && tile * 1024 < columns; ++tile) {
        if ((tiles >> tile & 1U) != 0) {
            widen_tile(&out, tile);
        }
    }
    fill_array(out.x, columns, j, (double)(float)out.x[j]);
    encode(&out);
    return out;
}

static void forget(problem *task)
{
    bb_coded_matrix_destroy(&task->matrix);
    BB_RELEASE(&task->c);
    BB_RELEASE(&task->x);
}

static bb_coded_operator *operator_of(const problem *task, bb_device *device,
                                      bb_gemv_arithmetic arithmetic, bb_index run)
{
    bb_coded_operator *out = new_object(bb_coded_operator, device, task->matrix, arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(out, run));
    return out;
}

static void apply(bb_coded_operator *operation, const problem *task, bb_index row, bb_index rows,
                  double *y)
{
    double seconds = 0.0;
    check_ok(bb_coded_operator_apply(operation, row, rows, task->x, y, &seconds));
}

// Stored numbers are integers with step 1, so c is the decoded value. Limbs cut x; only sums in
// fp64 are rounded.
static void expect_close(const problem *task, bb_index run, bool in_limbs, bb_index row,
                         bb_index rows, const double *y)
{
    const bb_sum_rounding rounding =
        bb_coded_operator_rounding(bb_coded_matrix_config(task->matrix), mixed, run, task->columns);
    const double relative = in_limbs ? (double)(task->columns + 64) * 0x1p-52 : rounding.relative;
    double expected[MOST_ROWS];
    autoptr(bb_coded_operator) exact = operator_of(task, cpu, fp64, 1);
    apply(exact, task, row, rows, expected);
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        double norm_1 = 0.0;
        double largest = 0.0;
        for (bb_index j = 0; j < task->columns; ++j) {
            const double c = fabs(task->c[(row + i) * task->columns + j]);
            magnitude += c * fabs(task->x[j]);
            norm_1 += c;
            largest = fmax(largest, fabs(task->x[j]));
        }
        check_close(y[i], expected[i], 1.0,
                    relative * magnitude + rounding.of_largest * norm_1 * largest);
    }
}

static bool is_in_limbs(const problem *task)
{
    autoptr(bb_device_matrix) matrix =
        new_object(bb_device_matrix, gpu, task->matrix, 0, task->rows);
    const bb_coded_stream *stream = bb_device_matrix_stream(matrix);
    const bool found = bb_coded_stream_sums_in_limbs(stream);
    const size_t bytes = bb_device_matrix_bytes(matrix, BB_STREAM_LIMBS);
    assert_true(!found || bytes < bb_device_matrix_bytes(matrix, BB_STREAM_RUNS));
    return found;
}

// By limbs, each product also by itself; windows that begin within a band, and a window whose rows
// have no upper part.
static void compare(const problem *task)
{
    static const bb_index windows[][2] = {{0, MOST_ROWS}, {13, 20}, {19, 7}, {1, 1}};
    const bb_index runs[] = {RUN, 1};
    assert_true(is_in_limbs(task));
    for (size_t k = 0; k < sizeof runs / sizeof *runs; ++k) {
        autoptr(bb_coded_operator) operation = operator_of(task, gpu, mixed, runs[k]);
        for (size_t w = 0; w < sizeof windows / sizeof *windows; ++w) {
            double y[MOST_ROWS], again[MOST_ROWS];
            const bb_index row = windows[w][0];
            const bb_index rest = task->rows - row;
            const bb_index rows = windows[w][1] < rest ? windows[w][1] : rest;
            apply(operation, task, row, rows, y);
            apply(operation, task, row, rows, again);
            assert_memory_equal(y, again, (size_t)rows * sizeof *y);
            expect_close(task, runs[k], runs[k] == RUN, row, rows, y);
        }
    }
}

// In the first tile, in the last, incomplete one, in both, and in two adjacent tiles.
TEST(wide_columns_agree_with_the_cpu)
{
    static const bb_index shapes[][3] = {
        {150, 8 * 1024 + 300, 8}, {37, 12 * 1024 + 5, 12}, {65, 9 * 1024, 8}};
    for (size_t s = 0; s < (few ? 1 : sizeof shapes / sizeof *shapes); ++s) {
        const unsigned last = 1U << shapes[s][2];
        const unsigned tiles[] = {1U, last, 1U | last, 6U};
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
            autocall(forget) problem task = draw(shapes[s][0], shapes[s][1], tiles[t]);
            compare(&task);
        }
    }
}

// More tiles than the blocks process in one pass, so that runs end before, at and after upper
// tiles.
TEST(many_tiles_agree_with_the_cpu)
{
    autocall(forget) problem task = draw(20, (few ? 40 : 400) * 1024 + 77, 0x40000081U);
    compare(&task);
}

// 2^16 x exceeds fp32 if x is near its maximum; a non-finite x is reported in all rows.
TEST(wide_columns_take_any_x)
{
    static const double magnitudes[] = {1e37, 1e-36, 0.0};
    autocall(forget) problem task = draw(37, 8 * 1024 + 300, 1U | 1U << 8);
    autofree double *drawn = dense_new(task.columns);
    double y[MOST_ROWS];
    memcpy(drawn, task.x, (size_t)task.columns * sizeof *drawn);
    for (size_t m = 0; m < sizeof magnitudes / sizeof *magnitudes; ++m) {
        fill_array(task.x, task.columns, j, (double)(float)(drawn[j] * magnitudes[m]));
        autoptr(bb_coded_operator) operation = operator_of(&task, gpu, mixed, RUN);
        apply(operation, &task, 0, task.rows, y);
        expect_close(&task, RUN, true, 0, task.rows, y);
    }
    for (int tile = 0; tile <= 8; tile += 4) {
        memcpy(task.x, drawn, (size_t)task.columns * sizeof *drawn);
        task.x[tile * 1024 + 100] = tile == 0 ? (double)NAN : (double)INFINITY;
        autoptr(bb_coded_operator) operation = operator_of(&task, gpu, mixed, RUN);
        apply(operation, &task, 0, task.rows, y);
        check_all_nan(y, task.rows);
    }
}

#ifdef BB_HAVE_CUDA
enum { SHARED_ROWS = 150, SHARED_COLUMNS = 16 * 1024 + 9, WANTED = 63, FIRST = 42 };

// Three matrices times one x, at a row read from device memory.
static void queue_three(const unsigned tiles[3], bool in_limbs)
{
    const int32_t first = FIRST;
    const size_t x_bytes = SHARED_COLUMNS * sizeof(float);
    problem task[3];
    bb_coded_operator *operation[3];
    void *y[3] = {NULL, NULL, NULL};
    autofree float *narrow = new_array(float, SHARED_COLUMNS);
    void *x = allocate_on(gpu, x_bytes);
    void *row = allocate_on(gpu, sizeof first);
    check_ok(bb_device_upload(gpu, row, &first, sizeof first));
    for (int i = 0; i < 3; ++i) {
        task[i] = draw(SHARED_ROWS, SHARED_COLUMNS, tiles[i]);
        operation[i] = operator_of(&task[i], gpu, mixed, RUN);
        check_ok(bb_device_allocate(gpu, WANTED * sizeof(double), &y[i]));
    }
    fill_array(narrow, SHARED_COLUMNS, j, (float)task[0].x[j]);
    check_ok(bb_device_upload(gpu, x, narrow, x_bytes));
    check_ok(bb_device_wait(gpu));
    check_ok(bb_coded_operator_queue(operation, 3,
                                     &(bb_coded_window){0, WANTED, (const int32_t *)row}, x,
                                     (double *const *)y, NULL));
    cuda_ok(cudaDeviceSynchronize());
    for (int i = 0; i < 3; ++i) {
        double found[WANTED];
        check_ok(bb_device_download(gpu, found, y[i], sizeof found));
        expect_close(&task[i], RUN, in_limbs, FIRST, WANTED, found);
        bb_device_release(gpu, &y[i]);
        bb_coded_operator_destroy(&operation[i]);
        forget(&task[i]);
    }
    bb_device_release(gpu, &x);
    bb_device_release(gpu, &row);
}

// With the same upper tiles in one launch, with others in separate launches; none by limbs if one
// of them has too many.
TEST(three_matrices_share_what_they_can)
{
    static const unsigned tiles[][3] = {{5U, 5U, 5U}, {5U, 5U, 9U}, {0U, 1U << 16, 3U}};
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; ++k) {
        queue_three(tiles[k], true);
    }
    queue_three((const unsigned[3]){5U, 0x1fU, 5U}, false);
    queue_three((const unsigned[3]){0x1fU, 5U, 0U}, false);
}
#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
