// SPDX-License-Identifier: Apache-2.0
//
// Products with transformed blocks on a GPU against the CPU. Index arithmetic of both launches is
// tested without a GPU in test_transform_stream.c. Argument "few": fewer and smaller matrices, for
// slow tools.
#include "solvers/operator/transform_stream.h"
#include "tests/solvers/operator/factor_product_cuda.h"

static bb_codec_config transform(double tolerance)
{
    bb_codec_config config = low_rank(tolerance);
    config.codec = bb_codec_find("transform");
    return config;
}

static bb_codec_config in_bands(double tolerance, bb_index band)
{
    bb_codec_config config = transform(tolerance);
    config.band_lines = band;
    config.band_columns = band == 5 ? 3 : 7;
    return config;
}

TEST(windows_agree_with_the_cpu)
{
    compare_meshes(in_bands, 9, 4);
}

TEST(zeros_noise_and_poison_agree)
{
    compare_kinds(transform(1e-3));
}

TEST(a_bad_x_reaches_every_row)
{
    autorelease(response) rows = response_make(5, 24, 61, 47, 1.0);
    bb_codec_config config = transform(1e-3);
    autofree double *x = dense_new(rows.layout.columns);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    for (int kind = 0; kind < 2; ++kind) {
        double y[110];
        dense_random(rows.layout.columns, 5, x);
        x[kind == 0 ? 0 : 61 * 23 + 30] = kind == 0 ? INFINITY : NAN;
        for (int how = 0; how < WAYS; ++how) {
            apply(gpu, matrix, &ways[how], 3, 110, x, y);
            check_all_nan(y, 110);
        }
    }
}

// Quotients of more than 22 bits, single rows and cells, and many blocks across a line of rows.
TEST(odd_blocks_agree_with_the_cpu)
{
    static const struct {
        bb_index row_columns, lines, band_columns, band_lines, tile_columns, tile_rows;
        double tolerance;
    } cases[] = {
        {5, 9, 5, 9, 8, 10, 5e-9},  {5, 9, 1, 1, 8, 1, 1e-5},      {5, 9, 5, 16, 3, 3, 1e-5},
        {91, 8, 3, 8, 8, 10, 1e-5}, {16, 16, 16, 16, 32, 1, 1e-5}, {4, 4, 2, 2, 32, 32, 1e-5},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        if (few && cases[c].row_columns * cases[c].lines > 100) {
            continue;
        }
        autorelease(response) answer =
            response_make(cases[c].row_columns, cases[c].lines, 61, 47, 1.0);
        bb_index rows = answer.layout.rows;
        bb_codec_config config = transform(cases[c].tolerance);
        config.band_columns = cases[c].band_columns;
        config.band_lines = cases[c].band_lines;
        config.tile_columns = cases[c].tile_columns;
        config.tile_rows = cases[c].tile_rows;
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&answer, &config);
        autofree double *x = dense_new(answer.layout.columns);
        dense_random(answer.layout.columns, 7, x);
        for (int how = 0; how < WAYS; ++how) {
            compare(&answer, matrix, x, &ways[how], 0, rows);
            compare(&answer, matrix, x, &ways[how], rows / 3, rows / 2);
        }
    }
}

#ifdef BB_HAVE_CUDA
TEST(a_captured_graph_replays_the_product)
{
    const bb_codec_config config = transform(1e-5);
    replay(&config);
}

// Three matrices in one launch, as the axes of a response, against each alone. x is transformed
// once. The helpers of a large panel depend on all three matrices, which changes fp64 roundings
// only.
TEST(axes_of_one_launch_are_each_their_own)
{
    enum { AXES = 3, COLUMNS = 61 * 47, ROWS = 91 };
    static const bb_index windows[][2] = {{0, 91}, {13, 1}, {40, 29}};
    bb_coded_matrix *matrices[AXES] = {NULL};
    bb_coded_operator *operations[AXES] = {NULL};
    double found[AXES][ROWS], again[AXES][ROWS], expected[ROWS];
    double magnitude[AXES] = {0.0};
    float narrow[COLUMNS];
    autofree double *host_x = dense_new(COLUMNS);
    dense_random(COLUMNS, 5, host_x);
    void *x = allocate_on(gpu, sizeof narrow);
    void *y = allocate_on(gpu, sizeof found);
    fill_array(narrow, COLUMNS, j, (float)host_x[j]);
    check_ok(bb_device_upload(gpu, x, narrow, sizeof narrow));
    for (int j = 0; j < AXES; ++j) {
        autorelease(response) rows = response_make(7, 13, 61, 47, 1.0 + j);
        bb_codec_config config = transform(1e-5 * (1 + j));
        matrices[j] = low_rank_encode(&rows, &config);
        check_ok(bb_coded_operator_create(gpu, matrices[j], ways[1].arithmetic, &operations[j]));
        for (bb_index k = 0; k < ROWS * COLUMNS; ++k) {
            magnitude[j] = fmax(magnitude[j], fabs(rows.values[k]));
        }
    }
    check_ok(bb_device_wait(gpu));
    for (int w = 0; w < 3; ++w) {
        const bb_coded_window window = {windows[w][0], windows[w][1], NULL};
        double *target[AXES];
        size_t bytes = (size_t)window.rows * sizeof(double);
        fill_array(target, AXES, j, (double *)y + (bb_index)j * ROWS);
        for (int round = 0; round < 2; ++round) {
            check_ok(bb_coded_operator_queue(operations, AXES, &window, x, target, NULL));
            cuda_ok(cudaDeviceSynchronize());
            check_ok(bb_device_download(gpu, round == 0 ? found : again, y, sizeof found));
        }
        for (int j = 0; j < AXES; ++j) {
            assert_memory_equal(found[j], again[j], bytes);
            apply(gpu, matrices[j], &ways[1], window.row, window.rows, host_x, expected);
            check_all_close(found[j], expected, window.rows, 1e-12, magnitude[j] * COLUMNS);
        }
    }
    for (int j = 0; j < AXES; ++j) {
        bb_coded_operator_destroy(&operations[j]);
        bb_coded_matrix_destroy(&matrices[j]);
    }
    bb_device_release(gpu, &x);
    bb_device_release(gpu, &y);
}

// Blocks of other sizes cannot share a launch; a row read from device memory is not supported.
TEST(what_differs_is_refused)
{
    autorelease(response) rows = response_make(7, 13, 61, 47, 1.0);
    bb_codec_config config = transform(1e-4);
    bb_coded_matrix *matrices[2] = {NULL};
    bb_coded_operator *operations[2] = {NULL};
    void *memory = allocate_on(gpu, 61 * 47 * sizeof(double));
    for (int j = 0; j < 2; ++j) {
        matrices[j] = low_rank_encode(&rows, &config);
        check_ok(bb_coded_operator_create(gpu, matrices[j], ways[0].arithmetic, &operations[j]));
        config.tile_rows = 7;
    }
    double *target[2] = {memory, memory};
    const bb_coded_window window = {0, 8, NULL};
    const bb_coded_window moving = {0, 8, memory};
    check_fails(bb_coded_operator_queue(operations, 2, &window, memory, target, NULL), BB_INVALID,
                "products in one launch");
    assert_false(bb_coded_operator_supports_row_at(operations[0]));
    check_fails(bb_coded_operator_queue(operations, 1, &moving, memory, target, NULL),
                BB_UNSUPPORTED, "storage transform");
    for (int j = 0; j < 2; ++j) {
        bb_coded_operator_destroy(&operations[j]);
        bb_coded_matrix_destroy(&matrices[j]);
    }
    bb_device_release(gpu, &memory);
}

#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
