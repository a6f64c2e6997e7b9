// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices against those of the CPU, over codecs, arithmetics and shapes
// around tiles, groups of rows and blocks; NaN and infinity; repeatable bits; a captured graph.
// Argument "few": fewer shapes and smaller matrices, for slow tools.
#include "solvers/operator/coded_operator.h"
#include "tests/device_pair.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

// Storage of the product.
typedef struct problem {
    bb_index rows, columns;
    double *c, *x;
} problem;

static problem draw(bb_index rows, bb_index columns)
{
    problem out = {rows, columns, dense_new(rows * columns), dense_new(columns)};
    dense_random(rows * columns, 1, out.c);
    dense_random(columns, 2, out.x);
    return out;
}

static void forget(problem *task)
{
    BB_RELEASE(&task->c);
    BB_RELEASE(&task->x);
}

enum {
    BFP = BB_FORMAT_COUNT,  // of 4 bits
    INTEGER = BFP + 13,     // of 2 bits
    INTEGER8 = INTEGER + 6, // of 8
    CODECS = INTEGER + 15 + 2,
    QUANTISER = CODECS - 1,
};

// Plain formats, bfp of 4 to 16 bits, integers of 2 to 16, mx int8, the quantiser.
static bb_codec_config codec(int which)
{
    bb_codec_config out = bb_codec_plain(which < BB_FORMAT_COUNT ? (bb_format)which : 0);
    if (which == CODECS - 2) {
        out = codec_of("mx element=int8");
    } else if (which == QUANTISER) {
        out.codec = bb_codec_find("quantiser");
        out.tolerance = 1e-3;
    } else if (which >= INTEGER) {
        out.codec = bb_codec_find("integer");
        out.bits = 2.0 + which - INTEGER;
    } else if (which >= BB_FORMAT_COUNT) {
        out.codec = bb_codec_find("bfp");
        out.bits = 4.0 + which - BB_FORMAT_COUNT;
    }
    return out;
}

static bb_coded_matrix *encode(const problem *task, const bb_codec_config *config)
{
    bb_matrix_layout layout = {.rows = task->rows, .columns = task->columns};
    bool scaled = bb_codec_allows_row_scale(config);
    return coded_matrix(config, scaled ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE, &layout, task->c);
}

// Arithmetic of the product.
typedef struct way {
    bb_gemv_arithmetic arithmetic;
    bb_index run;
} way;

static const way ways[] = {
    {{BB_FORMAT_FP64, BB_FORMAT_FP64}, 1},  {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 1},
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 32}, {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 96},
    {{BB_FORMAT_FP32, BB_FORMAT_FP32}, 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void apply(bb_device *device, const bb_coded_matrix *matrix, const way *how, bb_index row,
                  bb_index rows, const double *x, double *y)
{
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, device, matrix, how->arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(operation, how->run));
    check_ok(bb_coded_operator_apply(operation, row, rows, x, y, &seconds));
    assert_true(seconds > 0.0);
}

// Twice the error bound of either sum, relative to sum |c x|. It also covers products that are not
// rounded before they are added, and units multiplied once per block.
static double bound(const problem *task, const way *how)
{
    double u32 = bb_format_unit_roundoff(BB_FORMAT_FP32);
    double u64 = bb_format_unit_roundoff(BB_FORMAT_FP64);
    double lane = (double)task->columns / 16.0 + 40.0;
    if (how->arithmetic.accumulate == BB_FORMAT_FP32) {
        return 2.2 * lane * u32;
    }
    return how->run == 1 ? 2.2 * lane * u64 : 2.2 * (((double)how->run + 34.0) * u32 + lane * u64);
}

static void expect_close(const problem *task, bb_index row, bb_index rows, double limit,
                         const double *y, const double *expected)
{
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        for (bb_index j = 0; j < task->columns; ++j) {
            magnitude += fabs(task->c[(row + i) * task->columns + j] * task->x[j]);
        }
        if (isnan(expected[i]) || isinf(expected[i])) {
            assert_true(isnan(expected[i]) ? isnan(y[i]) : y[i] == expected[i]);
        } else {
            check_close(y[i], expected[i], limit, isfinite(magnitude) ? magnitude : 1e300);
        }
    }
}

// Compares with the CPU and checks that a repetition gives the same bits.
static void compare(const problem *task, const bb_codec_config *config, const way *how,
                    bb_index row, bb_index rows)
{
    autofree double *y = dense_new(rows);
    autofree double *again = dense_new(rows);
    autofree double *expected = dense_new(rows);
    autoptr(bb_coded_matrix) matrix = encode(task, config);
    apply(cpu, matrix, how, row, rows, task->x, expected);
    apply(gpu, matrix, how, row, rows, task->x, y);
    apply(gpu, matrix, how, row, rows, task->x, again);
    assert_memory_equal(y, again, (size_t)rows * sizeof *y);
    expect_close(task, row, rows, bound(task, how), y, expected);
}

TEST(every_codec_agrees_with_the_cpu)
{
    static const bb_index shapes[][2] = {{1, 1}, {7, 31}, {7, 4097}, {1, 4097}, {70, 1025}};
    for (size_t s = few ? 3 : 0; s < sizeof shapes / sizeof *shapes; ++s) {
        autocall(forget) problem task = draw(shapes[s][0], shapes[s][1]);
        bb_index row = task.rows > 2 ? 2 : 0;
        for (int which = 0; which < CODECS; ++which) {
            bb_codec_config config = codec(which);
            for (int how = 0; how < WAYS; ++how) {
                compare(&task, &config, &ways[how], row, task.rows - row);
            }
        }
    }
}

// Rows of 100003 columns (10003 with few): no stride is a multiple of 16 bytes, and every block has
// its own range.
TEST(a_slit_of_odd_width_agrees_with_the_cpu)
{
    static const int chosen[] = {BB_FORMAT_FP32, BB_FORMAT_FP16, BB_FORMAT_E4M3, BFP,
                                 BFP + 2,        BFP + 4,        BFP + 12,       INTEGER + 3,
                                 INTEGER8,       INTEGER8 + 3,   QUANTISER};
    autocall(forget) problem task = few ? draw(70, 10003) : draw(378, 100003);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
        bb_codec_config config = codec(chosen[k]);
        compare(&task, &config, &ways[1], 0, task.rows);
        compare(&task, &config, &ways[2], 0, task.rows);
    }
}

// More tiles of x than all blocks cut in one pass.
TEST(a_slit_of_many_tiles_agrees_with_the_cpu)
{
    static const int chosen[] = {BB_FORMAT_E4M3, BFP, INTEGER8, QUANTISER};
    autocall(forget) problem task = draw(7, few ? 20001 : 600001);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
        bb_codec_config config = codec(chosen[k]);
        compare(&task, &config, &ways[2], 0, task.rows);
    }
}

// Quotients of up to 16 bits, which limbs support: bands of every width, rows of zeros among them,
// groups of rows of one stage and of two, and windows that begin within a band.
TEST(bands_of_the_quantiser_agree_with_the_cpu)
{
    autocall(forget) problem task = draw(150, 17 * 1024 + 5);
    bb_codec_config config = codec(QUANTISER);
    config.tolerance = 0.5;
    for (bb_index i = 0; i < task.rows; ++i) {
        for (bb_index j = 0; j < task.columns; ++j) {
            const double largest = ldexp(0.9, (int)((j / 256 + i / 16) % 17) - 1);
            double *value = task.c + i * task.columns + j;
            *value = i % 37 == 3 ? 0.0 : largest * fmod(*value, 1.0);
        }
    }
    for (int how = 1; how < WAYS; ++how) {
        compare(&task, &config, &ways[how], 0, task.rows);
        compare(&task, &config, &ways[how], 13, 90);
    }
}

// Warps without rows in a stage skip it at once; with many small stages they could be far ahead of
// the limbs of x when their rows arrive.
TEST(a_group_of_one_row_comes_before_a_whole_one)
{
    autocall(forget) problem task = draw(65, few ? 20000 : 700000);
    bb_codec_config config = codec(INTEGER);
    compare(&task, &config, &ways[2], 0, task.rows);
}

// Blocks of very different widths, with zeros, and values without quotients.
TEST(every_width_of_the_quantiser_agrees_with_the_cpu)
{
    autocall(forget) problem task = draw(37, few ? 12000 : 50000);
    bb_codec_config config = codec(QUANTISER);
    for (bb_index i = 0; i < task.rows * task.columns; ++i) {
        task.c[i] *= ldexp(1.0, (int)(i / 1024 * 7 % 34) - 12);
    }
    task.c[5 * task.columns + 9000] = 1e20; // an fp32 run
    // Products in fp64 do not support such runs; quotients above 2^24 are rounded to fp32.
    for (int how = 1; how < WAYS; ++how) {
        compare(&task, &config, &ways[how], 0, task.rows);
    }
}

TEST(what_cannot_be_held_poisons_the_same_rows)
{
    const double specials[] = {NAN, INFINITY, -INFINITY};
    autocall(forget) problem task = draw(19, 3000);
    for (int s = 0; s < (few ? 1 : 3); ++s) {
        task.c[4 * task.columns + 1777] = specials[s];
        for (int which = 0; which < CODECS; ++which) {
            bb_codec_config config = codec(which);
            // A run of the quantiser with a value out of range has no product in fp64.
            for (int how = which == QUANTISER; how < WAYS; how += few ? 2 : 1) {
                compare(&task, &config, &ways[how], 1, 18);
            }
        }
    }
    task.c[4 * task.columns + 1777] = 0.5;
    task.x[2999] = INFINITY;
    for (int which = 0; which < CODECS; which += few ? 2 : 1) {
        bb_codec_config config = codec(which);
        compare(&task, &config, &ways[1], 0, 19);
    }
}

// A codec whose values limbs support.
static bb_codec_config limb_codec(int which)
{
    bb_codec_config out = codec(which);
    out.tolerance = which == QUANTISER ? 1e-2 : out.tolerance;
    return out;
}

// Limbs against products in fp64 of the same stored values: within the bound of the certificates,
// but not exact.
TEST(limbs_stay_within_their_rounding)
{
    static const int chosen[] = {BB_FORMAT_E4M3, BB_FORMAT_E5M2, BFP,         BFP + 1,
                                 BFP + 4,        INTEGER8,       INTEGER + 4, QUANTISER};
    enum { ROWS = 37, COLUMNS = 5000 };
    autocall(forget) problem task = draw(ROWS, COLUMNS);
    autofree double *stored = dense_new(COLUMNS);
    double y[ROWS], expected[ROWS];
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
        bb_codec_config config = limb_codec(chosen[k]);
        autoptr(bb_coded_matrix) matrix = encode(&task, &config);
        const bb_sum_rounding rounding =
            bb_coded_operator_rounding(&config, ways[2].arithmetic, ways[2].run, COLUMNS);
        double worst = 0.0;
        fill_array(task.x, COLUMNS, j, (double)(float)task.x[j]);
        apply(gpu, matrix, &ways[2], 0, ROWS, task.x, y);
        apply(cpu, matrix, &ways[0], 0, ROWS, task.x, expected);
        for (bb_index i = 0; i < ROWS; ++i) {
            double magnitude = 0.0;
            double norm_1 = 0.0;
            double largest = 0.0;
            bb_coded_matrix_decode(matrix, i, 0, COLUMNS, stored);
            for (bb_index j = 0; j < COLUMNS; ++j) {
                double c = fabs(stored[j] / bb_coded_matrix_row_scale(matrix, i));
                magnitude += c * fabs(task.x[j]);
                norm_1 += c;
                largest = fmax(largest, fabs(task.x[j]));
            }
            worst =
                fmax(worst, fabs(y[i] - expected[i]) / (rounding.relative * magnitude +
                                                        rounding.of_largest * norm_1 * largest));
        }
        print_message("%s: %.4f of the bound\n", bb_codec_name(config.codec), worst);
        assert_true(worst <= 1.0 && worst > 0.0); // sums of integers are exact
    }
}

// Limbs of x on tensor cores: x of a tile over 40 decades, near the limits of fp32, and zero; a
// non-finite x is reported, not lost.
TEST(limbs_hold_any_x)
{
    static const int chosen[] = {BB_FORMAT_E4M3, BB_FORMAT_E5M2, BFP,         BFP + 1,
                                 BFP + 4,        INTEGER8,       INTEGER + 4, QUANTISER};
    static const double magnitudes[] = {1.0, 1e-38, 1e37, 0.0};
    autocall(forget) problem task = draw(37, 5000);
    autofree double *drawn = dense_new(task.columns);
    memcpy(drawn, task.x, (size_t)task.columns * sizeof *drawn);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
        bb_codec_config config = limb_codec(chosen[k]);
        for (size_t m = 0; m < sizeof magnitudes / sizeof *magnitudes; ++m) {
            for (bb_index j = 0; j < task.columns; ++j) {
                double decade = magnitudes[m] == 1.0 ? (double)(j * 7 % 41) - 20.0 : 0.0;
                task.x[j] = drawn[j] * magnitudes[m] * pow(10.0, decade);
            }
            compare(&task, &config, &ways[2], 0, task.rows);
        }
        memcpy(task.x, drawn, (size_t)task.columns * sizeof *drawn);
        task.x[4321] = k % 2 == 0 ? (double)INFINITY : (double)NAN;
        double y[37];
        autoptr(bb_coded_matrix) matrix = encode(&task, &config);
        apply(gpu, matrix, &ways[2], 0, task.rows, task.x, y);
        check_all_nan(y, 37);
    }
}

// Rows of a window that moves over the matrix, with one operator, in any order.
TEST(any_rows_have_the_same_bits_again)
{
    autocall(forget) problem task = draw(150, 5000);
    bb_codec_config config = codec(BB_FORMAT_E4M3);
    autoptr(bb_coded_matrix) matrix = encode(&task, &config);
    double first[101], again[101], expected[101];
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, gpu, matrix, ways[1].arithmetic);
    for (bb_index row = 0; row < 49; row += few ? 21 : 7) {
        check_ok(bb_coded_operator_apply(operation, row, 101, task.x, first, &seconds));
        check_ok(bb_coded_operator_apply(operation, 48 - row, 3, task.x, again, &seconds));
        check_ok(bb_coded_operator_apply(operation, row, 101, task.x, again, &seconds));
        assert_memory_equal(first, again, sizeof first);
        apply(cpu, matrix, &ways[1], row, 101, task.x, expected);
        expect_close(&task, row, 101, bound(&task, &ways[1]), first, expected);
    }
    check_fails(bb_coded_operator_apply(operation, 50, 101, task.x, first, &seconds), BB_INVALID,
                "rows 50 to 151 are outside the coded matrix of 150 rows");
}

// Rows of a GPU's part, which begins within a band, times x equal those of the whole matrix.
TEST(some_rows_agree_with_the_cpu)
{
    static const int chosen[] = {BB_FORMAT_FP16, BFP + 2, INTEGER + 3, INTEGER8, QUANTISER};
    enum { FIRST = 13, SOME = 101 };
    autocall(forget) problem task = draw(150, 5000);
    double y[SOME], expected[SOME];
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
        const bb_codec_config config = codec(chosen[k]);
        autoptr(bb_coded_matrix) matrix = encode(&task, &config);
        autoptr(bb_coded_operator) part = NULL;
        double seconds = 0.0;
        check_ok(
            bb_coded_operator_create_rows(gpu, matrix, FIRST, SOME, ways[2].arithmetic, &part));
        check_ok(bb_coded_operator_sum_in_runs(part, ways[2].run));
        check_ok(bb_coded_operator_apply(part, 0, SOME, task.x, y, &seconds));
        apply(cpu, matrix, &ways[2], FIRST, SOME, task.x, expected);
        expect_close(&task, FIRST, SOME, bound(&task, &ways[2]), y, expected);
    }
}

#ifdef BB_HAVE_CUDA
enum { WINDOW = 320, WINDOWS = 2, SETS = 2, TURNS = 200, ACROSS = 20000 };

// Products of one operator, of two windows with two x, queued without waiting.
static void queue_turns(bb_coded_operator *operation, bb_index rows, problem *task)
{
    static double found[TURNS][WINDOW];
    static double expected[SETS][WINDOWS][WINDOW];
    static float narrow[ACROSS];
    const size_t bytes = (size_t)rows * sizeof(double);
    void *x[SETS] = {NULL, NULL};
    double seconds = 0.0;
    cudaStream_t stream;
    cuda_ok(cudaStreamCreate(&stream));
    void *y = allocate_on(gpu, sizeof found); // all of it is downloaded
    check_ok(bb_device_zero(gpu, y, sizeof found));
    for (int set = 0; set < SETS; ++set) {
        dense_random(ACROSS, 20 + (uint64_t)set, task->x);
        fill_array(narrow, ACROSS, j, (float)task->x[j]);
        check_ok(bb_device_allocate(gpu, sizeof narrow, &x[set]));
        check_ok(bb_device_upload(gpu, x[set], narrow, sizeof narrow));
        check_ok(bb_device_wait(gpu));
        for (int w = 0; w < WINDOWS; ++w) {
            check_ok(bb_coded_operator_apply(operation, w * rows, rows, task->x, expected[set][w],
                                             &seconds));
        }
    }
    for (int turn = 0; turn < TURNS; ++turn) {
        double *target = (double *)y + (bb_index)turn * WINDOW;
        const bb_coded_window window = {turn / SETS % WINDOWS * rows, rows, NULL};
        check_ok(bb_coded_operator_queue(&operation, 1, &window, x[turn % SETS], &target,
                                         (bb_queue *)stream));
    }
    cuda_ok(cudaStreamSynchronize(stream));
    check_ok(bb_device_download(gpu, found, y, sizeof found));
    for (int turn = 0; turn < TURNS; ++turn) {
        assert_memory_equal(found[turn], expected[turn % SETS][turn / SETS % WINDOWS], bytes);
    }
    cuda_ok(cudaStreamDestroy(stream));
    bb_device_release(gpu, &x[0]);
    bb_device_release(gpu, &x[1]);
    bb_device_release(gpu, &y);
}

// On one workspace the blocks of a product start while the previous product runs. With 45 rows many
// blocks have nothing to do; with 320 rows all have a run that fills their ring ahead of x.
TEST(products_that_overlap_keep_their_x)
{
    static const int codecs[] = {BB_FORMAT_COUNT + 4, BB_FORMAT_E4M3};
    static const bb_index windows[] = {45, WINDOW};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; ++w) {
        autocall(forget) problem task = draw(WINDOWS * windows[w], ACROSS);
        for (size_t c = 0; c < sizeof codecs / sizeof *codecs; ++c) {
            bb_codec_config config = codec(codecs[c]);
            autoptr(bb_coded_matrix) matrix = encode(&task, &config);
            autoptr(bb_coded_operator) operation =
                new_object(bb_coded_operator, gpu, matrix, ways[2].arithmetic);
            check_ok(bb_coded_operator_sum_in_runs(operation, 64));
            queue_turns(operation, windows[w], &task);
        }
    }
}

// Two operators with a queue each: blocks of both cut x and wait for others that cut it.
TEST(products_of_two_queues_share_the_gpu)
{
    enum { ROWS = 64, QUEUES = 2 };
    autocall(forget) problem task = draw(ROWS, ACROSS);
    bb_codec_config config = codec(BB_FORMAT_E4M3);
    autoptr(bb_coded_matrix) matrix = encode(&task, &config);
    autofree float *narrow = new_array(float, ACROSS);
    fill_array(narrow, ACROSS, j, (float)task.x[j]);
    void *x = allocate_on(gpu, ACROSS * sizeof *narrow);
    check_ok(bb_device_upload(gpu, x, narrow, ACROSS * sizeof *narrow));
    check_ok(bb_device_wait(gpu));
    bb_coded_operator *operation[QUEUES];
    cudaStream_t stream[QUEUES];
    void *y[QUEUES];
    double found[ROWS], expected[ROWS];
    for (int q = 0; q < QUEUES; ++q) {
        check_ok(bb_coded_operator_create(gpu, matrix, ways[2].arithmetic, &operation[q]));
        check_ok(bb_coded_operator_sum_in_runs(operation[q], 64));
        cuda_ok(cudaStreamCreate(&stream[q]));
        y[q] = allocate_on(gpu, sizeof found);
    }
    apply(gpu, matrix, &(way){ways[2].arithmetic, 64}, 0, ROWS, task.x, expected);
    for (int turn = 0; turn < TURNS * QUEUES; ++turn) {
        int q = turn % QUEUES;
        check_ok(bb_coded_operator_queue(&operation[q], 1, &(bb_coded_window){0, ROWS, NULL}, x,
                                         (double *const *)&y[q], (bb_queue *)stream[q]));
    }
    for (int q = 0; q < QUEUES; ++q) {
        cuda_ok(cudaStreamSynchronize(stream[q]));
        check_ok(bb_device_download(gpu, found, y[q], sizeof found));
        assert_memory_equal(found, expected, sizeof found);
        cuda_ok(cudaStreamDestroy(stream[q]));
        bb_coded_operator_destroy(&operation[q]);
        bb_device_release(gpu, &y[q]);
    }
    bb_device_release(gpu, &x);
}

// Two products in one graph, launched three times with different x.
TEST(a_captured_graph_replays_the_product)
{
    enum { ROWS = 90, COLUMNS = 20000, HALF = 45 };
    autocall(forget) problem task = draw(ROWS, COLUMNS);
    bb_codec_config config = codec(BB_FORMAT_COUNT + 4);
    autoptr(bb_coded_matrix) matrix = encode(&task, &config);
    double found[ROWS], expected[ROWS];
    float narrow[COLUMNS];
    double seconds = 0.0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t plan;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, gpu, matrix, ways[2].arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(operation, 64));
    void *x = allocate_on(gpu, sizeof narrow);
    void *y = allocate_on(gpu, ROWS * sizeof(double));
    cuda_ok(cudaStreamCreate(&stream));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    double *halves[] = {y, (double *)y + HALF};
    check_ok(bb_coded_operator_queue(&operation, 1, &(bb_coded_window){0, HALF, NULL}, x,
                                     &halves[0], (bb_queue *)stream));
    check_ok(bb_coded_operator_queue(&operation, 1, &(bb_coded_window){HALF, HALF, NULL}, x,
                                     &halves[1], (bb_queue *)stream));
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&plan, graph, 0));
    for (int round = 0; round < 3; ++round) {
        dense_random(COLUMNS, 10 + round, task.x);
        fill_array(narrow, COLUMNS, j, (float)task.x[j]);
        check_ok(bb_device_upload(gpu, x, narrow, sizeof narrow));
        check_ok(bb_device_wait(gpu));
        cuda_ok(cudaGraphLaunch(plan, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        check_ok(bb_device_download(gpu, found, y, sizeof found));
        check_ok(bb_coded_operator_apply(operation, 0, HALF, task.x, expected, &seconds));
        check_ok(bb_coded_operator_apply(operation, HALF, HALF, task.x, expected + HALF, &seconds));
        assert_memory_equal(found, expected, sizeof found);
    }
    cuda_ok(cudaGraphExecDestroy(plan));
    cuda_ok(cudaGraphDestroy(graph));
    cuda_ok(cudaStreamDestroy(stream));
    bb_device_release(gpu, &x);
    bb_device_release(gpu, &y);
}

// Three matrices in one launch, at a row read from device memory: the bits of each product by
// itself, except for the order of the sums.
TEST(three_products_share_a_launch)
{
    enum { ROWS = 150, COLUMNS = 30001, WANTED = 63, FIRST = 42 };
    static const int chosen[] = {BB_FORMAT_FP32, BB_FORMAT_E4M3, BB_FORMAT_COUNT + 4, CODECS - 1};
    for (size_t c = few ? 1 : 0; c < sizeof chosen / sizeof *chosen; c += few ? 2 : 1) {
        problem task[3];
        bb_coded_matrix *matrix[3];
        bb_coded_operator *operation[3];
        void *y[3] = {NULL, NULL, NULL};
        int32_t first = FIRST;
        bb_codec_config config = codec(chosen[c]);
        autofree float *narrow = new_array(float, COLUMNS);
        void *x = allocate_on(gpu, COLUMNS * sizeof *narrow);
        void *row = allocate_on(gpu, sizeof first);
        check_ok(bb_device_upload(gpu, row, &first, sizeof first));
        for (int i = 0; i < 3; ++i) {
            task[i] = (problem){ROWS, COLUMNS, dense_new(ROWS * COLUMNS), dense_new(COLUMNS)};
            dense_random(ROWS * COLUMNS, 20 + i, task[i].c);
            dense_random(COLUMNS, 2, task[i].x);
            matrix[i] = encode(&task[i], &config);
            check_ok(bb_coded_operator_create(gpu, matrix[i], ways[2].arithmetic, &operation[i]));
            check_ok(bb_coded_operator_sum_in_runs(operation[i], 32));
            check_ok(bb_device_allocate(gpu, WANTED * sizeof(double), &y[i]));
        }
        fill_array(narrow, COLUMNS, j, (float)task[0].x[j]);
        check_ok(bb_device_upload(gpu, x, narrow, COLUMNS * sizeof *narrow));
        check_ok(bb_device_wait(gpu));
        check_ok(bb_coded_operator_queue(operation, 3,
                                         &(bb_coded_window){0, WANTED, (const int32_t *)row}, x,
                                         (double *const *)y, NULL));
        cuda_ok(cudaDeviceSynchronize());
        for (int i = 0; i < 3; ++i) {
            double found[WANTED], expected[WANTED];
            double seconds = 0.0;
            check_ok(bb_device_download(gpu, found, y[i], sizeof found));
            check_ok(bb_coded_operator_apply(operation[i], FIRST, WANTED, task[i].x, expected,
                                             &seconds));
            expect_close(&task[i], FIRST, WANTED, bound(&task[i], &ways[2]), found, expected);
            bb_device_release(gpu, &y[i]);
            bb_coded_operator_destroy(&operation[i]);
            bb_coded_matrix_destroy(&matrix[i]);
            forget(&task[i]);
        }
        bb_device_release(gpu, &x);
        bb_device_release(gpu, &row);
    }
}
#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
