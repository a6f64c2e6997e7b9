// SPDX-License-Identifier: Apache-2.0
//
// Products with low-rank tiles on a GPU against the CPU. Argument "few": fewer cases, for slow
// tools.
#include "solvers/operator/low_rank_stream.h"
#include "tests/solvers/operator/factor_product_cuda.h"

static bb_codec_config in_bands(double tolerance, bb_index band)
{
    bb_codec_config config = low_rank(tolerance);
    config.band_lines = band;
    return config;
}

TEST(windows_agree_with_the_cpu)
{
    compare_meshes(in_bands, 16, 5);
}

TEST(zeros_noise_and_poison_agree)
{
    compare_kinds(low_rank(1e-3));
}

#ifdef BB_HAVE_CUDA
TEST(a_captured_graph_replays_the_product)
{
    const bb_codec_config config = low_rank(1e-5);
    replay(&config);
}

// Three matrices with a window each in one task, as the axes of a response.
TEST(jobs_of_one_launch_are_each_their_own)
{
    enum { JOBS = 3, COLUMNS = 61 * 47, ROWS = 91 };
    static const bb_index first[JOBS] = {0, 13, 40};
    static const bb_index counts[JOBS] = {91, 1, 29};
    bb_coded_matrix *matrices[JOBS] = {NULL};
    bb_low_rank_stream *streams[JOBS] = {NULL};
    double found[JOBS][ROWS], expected[ROWS];
    autofree double *host_x = dense_new(COLUMNS);
    bb_low_rank_task task = {.sums = BB_STREAM_EACH, .count = JOBS};
    dense_random(COLUMNS, 5, host_x);
    void *x = allocate_on(gpu, COLUMNS * sizeof(double));
    void *y = allocate_on(gpu, sizeof found);
    check_ok(bb_device_zero(gpu, y, sizeof found));
    check_ok(bb_device_upload(gpu, x, host_x, COLUMNS * sizeof(double)));
    for (int j = 0; j < JOBS; ++j) {
        autorelease(response) rows = response_make(7, 13, 61, 47, 1.0 + j);
        bb_codec_config config = low_rank(1e-5);
        matrices[j] = low_rank_encode(&rows, &config);
        check_ok(bb_low_rank_stream_create(gpu, matrices[j], &streams[j]));
        assert_int_equal(bb_low_rank_stream_job(streams[j], first[j], counts[j], &task.jobs[j]),
                         counts[j]);
        task.jobs[j].x = x;
        task.jobs[j].y = (double *)y + (bb_index)j * ROWS;
        task.cells = bb_low_rank_stream_cells(streams[j]);
    }
    check_ok(bb_device_wait(gpu));
    check_ok(bb_low_rank_stream_multiply_cuda(NULL, 0, ROWS, &task));
    cuda_ok(cudaDeviceSynchronize());
    check_ok(bb_device_download(gpu, found, y, sizeof found));
    for (int j = 0; j < JOBS; ++j) {
        apply(gpu, matrices[j], &ways[1], first[j], counts[j], host_x, expected);
        assert_memory_equal(found[j], expected, (size_t)counts[j] * sizeof(double));
        bb_low_rank_stream_destroy(&streams[j]);
        bb_coded_matrix_destroy(&matrices[j]);
    }
    bb_device_release(gpu, &x);
    bb_device_release(gpu, &y);
}
#endif

TEST_GROUP(.begin = open_devices, .end = close_devices);
