// SPDX-License-Identifier: Apache-2.0
//
// Products of zfp matrices on a GPU against the CPU, over modes, dimensions, arithmetics, windows
// and meshes that fill no block; poisoned rows; three axes; a captured graph. Argument "few": fewer
// modes and smaller matrices, for slow tools.
#include "solvers/operator/coded_operator.h"
#include "tests/device_pair.h"
#include "tests/solvers/operator/zfp_problem.h"

// Arithmetic of the product.
typedef struct way {
    bb_gemv_arithmetic arithmetic;
    bb_index run;
} way;

static const way ways[] = {
    {{BB_FORMAT_FP64, BB_FORMAT_FP64}, 1},
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 1},
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 32},
    {{BB_FORMAT_FP32, BB_FORMAT_FP32}, 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static bb_coded_operator *open_operator(bb_device *device, const bb_coded_matrix *matrix,
                                        const way *how)
{
    bb_coded_operator *out = new_object(bb_coded_operator, device, matrix, how->arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(out, how->run));
    return out;
}

// Twice the error bound of either sum, relative to sum |c x|.
static double bound(bb_index columns, const way *how)
{
    double u32 = bb_format_unit_roundoff(BB_FORMAT_FP32);
    double u64 = bb_format_unit_roundoff(BB_FORMAT_FP64);
    double lane = (double)columns / 16.0 + 40.0;
    if (how->arithmetic.accumulate == BB_FORMAT_FP32) {
        return 2.2 * lane * u32;
    }
    return how->run == 1 ? 2.2 * lane * u64 : 2.2 * (((double)how->run + 34.0) * u32 + lane * u64);
}

static void expect_close(const bb_coded_matrix *matrix, bb_index row, bb_index rows,
                         const double *x, const way *how, const double *y, const double *expected)
{
    const bb_index columns = bb_coded_matrix_columns(matrix);
    autofree double *c = dense_new(columns);
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        bb_coded_matrix_decode(matrix, row + i, 0, columns, c);
        for (bb_index j = 0; j < columns; ++j) {
            magnitude += fabs(c[j] * x[j]);
        }
        if (isnan(expected[i]) || isinf(expected[i])) {
            assert_true(isnan(expected[i]) ? isnan(y[i]) : y[i] == expected[i]);
        } else {
            check_close(y[i], expected[i], bound(columns, how), magnitude);
        }
    }
}

// Compares with the CPU, and checks that a repetition with other rows in between gives the same
// bits.
static void compare(const bb_coded_matrix *matrix, const double *x, const way *how, bb_index row,
                    bb_index rows)
{
    autoptr(bb_coded_operator) here = open_operator(cpu, matrix, how);
    autoptr(bb_coded_operator) there = open_operator(gpu, matrix, how);
    autofree double *y = dense_new(rows);
    autofree double *again = dense_new(rows);
    autofree double *expected = dense_new(rows);
    double seconds = 0.0;
    check_ok(bb_coded_operator_apply(here, row, rows, x, expected, &seconds));
    seconds = 0.0;
    check_ok(bb_coded_operator_apply(there, row, rows, x, y, &seconds));
    assert_true(seconds > 0.0);
    check_ok(
        bb_coded_operator_apply(there, bb_coded_matrix_rows(matrix) - 1, 1, x, again, &seconds));
    check_ok(bb_coded_operator_apply(there, row, rows, x, again, &seconds));
    assert_memory_equal(y, again, (size_t)rows * sizeof *y);
    expect_close(matrix, row, rows, x, how, y, expected);
}

// Whole rows, and windows that begin and end within slabs, lines and bands.
static void compare_windows(const bb_coded_matrix *matrix, const double *x, const way *how)
{
    const bb_index rows = bb_coded_matrix_rows(matrix);
    compare(matrix, x, how, 0, rows);
    compare(matrix, x, how, rows / 3, rows - rows / 3 - rows / 5);
    compare(matrix, x, how, rows / 2, 1);
}

TEST(every_mode_and_dimension_agrees_with_the_cpu)
{
    static const zfp_shape shapes[] = {
        {1, 1, 1, 1}, {6, 5, 19, 55}, {5, 21, 40, 64}, {4, 8, 1, 90}, {2, 2, 66, 257}};
    for (size_t s = 0; s < (few ? 2 : sizeof shapes / sizeof *shapes); ++s) {
        autofree double *values = zfp_values(&shapes[s], 1);
        autofree double *x = dense_new(zfp_columns(&shapes[s]));
        dense_random(zfp_columns(&shapes[s]), 2, x);
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            for (int kind = 0; kind < ZFP_KINDS; kind += few ? 2 : 1) {
                bb_coded_matrix *matrix =
                    zfp_encode(&shapes[s], dimensions, &zfp_kinds[kind], values);
                for (int how = 0; how < WAYS; ++how) {
                    compare_windows(matrix, x, &ways[how]);
                }
                bb_coded_matrix_destroy(&matrix);
            }
        }
    }
}

// 378 rows, as in a slit (28 with few): many panels per row.
TEST(a_slit_agrees_with_the_cpu)
{
    const zfp_shape slit = few ? (zfp_shape){4, 7, 25, 256} : (zfp_shape){18, 21, 100, 512};
    autofree double *values = zfp_values(&slit, 1);
    autofree double *x = dense_new(zfp_columns(&slit));
    dense_random(zfp_columns(&slit), 2, x);
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
        autoptr(bb_coded_matrix) matrix = zfp_encode(&slit, dimensions, &zfp_kinds[3], values);
        autoptr(bb_coded_operator) operation = open_operator(gpu, matrix, &ways[1]);
        compare(matrix, x, &ways[1], 0, zfp_rows(&slit));
        compare(matrix, x, &ways[2], slit.across, slit.lines / 2 * slit.across);
        // Streams and their index, and no array of the size of the decoded matrix.
        const double values_held = (double)zfp_rows(&slit) * (double)zfp_columns(&slit);
        assert_true(few || (double)bb_coded_operator_bytes(operation) < 2.0 * values_held);
    }
}

TEST(what_cannot_be_held_poisons_the_same_rows)
{
    const zfp_shape shape = {6, 5, 19, 55};
    autofree double *values = zfp_values(&shape, 1);
    autofree double *x = dense_new(zfp_columns(&shape));
    dense_random(zfp_columns(&shape), 2, x);
    values[7 * zfp_columns(&shape) + 500] = 0x1p126;
    values[29 * zfp_columns(&shape) + 1] = NAN;
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
        autoptr(bb_coded_matrix) matrix = zfp_encode(&shape, dimensions, &zfp_kinds[3], values);
        for (int how = 0; how < WAYS; ++how) {
            compare_windows(matrix, x, &ways[how]);
        }
        x[1044] = INFINITY;
        compare_windows(matrix, x, &ways[1]);
        x[1044] = 0.5;
    }
}

#ifdef BB_HAVE_CUDA
// Three matrices with separate tolerances, x and y in device memory.
typedef struct axes {
    bb_coded_matrix *matrix[3];
    bb_coded_operator *operation[3];
    bb_index columns, wanted;
    double *x;
    float *narrow;
    void *device_x;
    void *y[3];
} axes;

static axes enter(const zfp_shape *shape, int dimensions, bb_index wanted)
{
    static const zfp_kind kinds[3] = {
        {BB_ZFP_ACCURACY, 1e-3}, {BB_ZFP_ACCURACY, 1e-5}, {BB_ZFP_ACCURACY, 0.1}};
    axes out = {.columns = zfp_columns(shape), .wanted = wanted};
    out.x = dense_new(out.columns);
    check_ok(BB_ALLOCATE(out.columns, &out.narrow));
    check_ok(bb_device_allocate(gpu, (size_t)out.columns * sizeof *out.narrow, &out.device_x));
    for (int i = 0; i < 3; ++i) {
        autofree double *values = zfp_values(shape, 20 + (uint64_t)i);
        out.matrix[i] = zfp_encode(shape, dimensions, &kinds[i], values);
        out.operation[i] = open_operator(gpu, out.matrix[i], &ways[2]);
        check_ok(bb_device_allocate(gpu, (size_t)wanted * sizeof(double), &out.y[i]));
    }
    return out;
}

static void leave(axes *scene)
{
    for (int i = 0; i < 3; ++i) {
        bb_device_release(gpu, &scene->y[i]);
        bb_coded_operator_destroy(&scene->operation[i]);
        bb_coded_matrix_destroy(&scene->matrix[i]);
    }
    bb_device_release(gpu, &scene->device_x);
    BB_RELEASE(&scene->narrow);
    BB_RELEASE(&scene->x);
}

static void set_x(axes *scene, uint64_t seed)
{
    dense_random(scene->columns, seed, scene->x);
    for (bb_index j = 0; j < scene->columns; ++j) {
        scene->narrow[j] = (float)scene->x[j];
    }
    check_ok(bb_device_upload(gpu, scene->device_x, scene->narrow,
                              (size_t)scene->columns * sizeof *scene->narrow));
    check_ok(bb_device_wait(gpu));
}

// The bits of each axis by itself.
static void expect_each(axes *scene, bb_index row)
{
    autofree double *found = dense_new(scene->wanted);
    autofree double *expected = dense_new(scene->wanted);
    double seconds = 0.0;
    for (int i = 0; i < 3; ++i) {
        const size_t bytes = (size_t)scene->wanted * sizeof *found;
        check_ok(bb_device_download(gpu, found, scene->y[i], bytes));
        check_ok(bb_coded_operator_apply(scene->operation[i], row, scene->wanted, scene->x,
                                         expected, &seconds));
        assert_memory_equal(found, expected, bytes);
    }
}

TEST(three_products_share_a_launch)
{
    const zfp_shape shape = {6, 21, 30, 60};
    const bb_index row = 30;
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
        autocall(leave) axes scene = enter(&shape, dimensions, 63);
        set_x(&scene, 3);
        check_ok(bb_coded_operator_queue(scene.operation, 3, &(bb_coded_window){row, 63, NULL},
                                         scene.device_x, (double *const *)scene.y, NULL));
        cuda_ok(cudaDeviceSynchronize());
        expect_each(&scene, row);
    }
}

// Captured once, launched three times with different x.
TEST(a_captured_graph_replays_the_products)
{
    const zfp_shape shape = {6, 21, 30, 60};
    const bb_index row = 42;
    autocall(leave) axes scene = enter(&shape, 2, 50);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t plan;
    cuda_ok(cudaStreamCreate(&stream));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    check_ok(bb_coded_operator_queue(scene.operation, 3, &(bb_coded_window){row, 50, NULL},
                                     scene.device_x, (double *const *)scene.y, (bb_queue *)stream));
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&plan, graph, 0));
    for (uint64_t round = 0; round < 3; ++round) {
        set_x(&scene, 10 + round);
        cuda_ok(cudaGraphLaunch(plan, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        expect_each(&scene, row);
    }
    cuda_ok(cudaGraphExecDestroy(plan));
    cuda_ok(cudaGraphDestroy(graph));
    cuda_ok(cudaStreamDestroy(stream));
}

TEST(a_window_on_the_device_is_refused)
{
    const zfp_shape shape = {2, 4, 8, 8};
    autocall(leave) axes scene = enter(&shape, 2, 4);
    autocall(leave) axes other = enter(&shape, 3, 4);
    const int32_t *row_at = scene.device_x;
    bb_coded_operator *mixed[2] = {scene.operation[0], other.operation[0]};
    assert_false(bb_coded_operator_supports_row_at(scene.operation[0]));
    check_fails(bb_coded_operator_queue(scene.operation, 1, &(bb_coded_window){0, 4, row_at},
                                        scene.device_x, (double *const *)scene.y, NULL),
                BB_UNSUPPORTED, "storage zfp");
    check_fails(bb_coded_operator_queue(mixed, 2, &(bb_coded_window){0, 4, NULL}, scene.device_x,
                                        (double *const *)scene.y, NULL),
                BB_INVALID, "the same shape, storage");
}
#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
