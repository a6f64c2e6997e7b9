// SPDX-License-Identifier: Apache-2.0
//
// Products with low-rank tiles on a GPU against the cpu's. "few" as argument: fewer cases, for slow
// tools.
#include "solvers/low_rank_stream.h"
#include "tests/solvers/factor_product_cuda.h"

static void windows_agree_with_the_cpu(void **state)
{
    (void)state;
    static const bb_index meshes[][2] = {
        {128, 125},
        {61,  47 },
        {33,  3  },
        {500, 1  }
    };
    for (int m = few ? 1 : 0; m < (few ? 3 : 4); ++m) {
        response of = response_make(7, 13, meshes[m][0], meshes[m][1], 1.0);
        double *x = dense_new(of.layout.columns);
        dense_random(of.layout.columns, 5, x);
        of.layout.mesh_columns = m == 3 ? 0 : of.layout.mesh_columns;
        for (double tolerance = 1e-8; tolerance < 1e-1; tolerance *= 1e3) {
            for (bb_index band = 1; band <= (few ? 6 : 16); band += 5) {
                bb_codec_config config = low_rank(tolerance);
                config.band_lines = band;
                bb_coded_matrix *matrix = low_rank_encode(&of, &config);
                for (int how = 0; how < WAYS; ++how) {
                    compare(&of, matrix, x, &ways[how], 0, 91);
                    compare(&of, matrix, x, &ways[how], 13, 35);
                    compare(&of, matrix, x, &ways[how], 90, 1);
                }
                bb_coded_matrix_destroy(&matrix);
            }
        }
        BB_RELEASE(&x);
        BB_RELEASE(&of.values);
    }
}

static void zeros_noise_and_poison_agree(void **state)
{
    (void)state;
    response of = response_make(5, 24, 61, 47, 0.0);
    bb_codec_config config = low_rank(1e-3);
    double *x = dense_new(of.layout.columns);
    dense_random(of.layout.columns, 5, x);
    for (int kind = 0; kind < 4; ++kind) {
        if (kind == 1) {
            dense_random(of.layout.rows * of.layout.columns, 6, of.values);
        } else if (kind == 2) {
            config.tolerance = 1e-7;
        } else if (kind == 3) {
            of.values[70 * of.layout.columns + 999] = NAN;
        }
        bb_coded_matrix *matrix = low_rank_encode(&of, &config);
        for (int how = 0; how < WAYS; how += few ? 2 : 1) {
            compare(&of, matrix, x, &ways[how], 3, 110);
        }
        bb_coded_matrix_destroy(&matrix);
    }
    BB_RELEASE(&x);
    BB_RELEASE(&of.values);
}

#ifdef BB_HAVE_CUDA
static void a_captured_graph_replays_the_product(void **state)
{
    (void)state;
    const bb_codec_config config = low_rank(1e-5);
    replay(&config);
}

// Three matrices and windows of their own in one task, as the axes of a response.
static void jobs_of_one_launch_are_each_their_own(void **state)
{
    (void)state;
    enum { JOBS = 3, COLUMNS = 61 * 47, ROWS = 91 };
    static const bb_index first[JOBS] = {0, 13, 40};
    static const bb_index counts[JOBS] = {91, 1, 29};
    bb_coded_matrix *matrices[JOBS] = {NULL};
    bb_low_rank_stream *streams[JOBS] = {NULL};
    void *x = NULL;
    void *y = NULL;
    double found[JOBS][ROWS], expected[ROWS];
    double *host_x = dense_new(COLUMNS);
    bb_low_rank_task task = {.sums = BB_STREAM_EACH, .count = JOBS};
    dense_random(COLUMNS, 5, host_x);
    check_ok(bb_device_allocate(gpu, COLUMNS * sizeof(double), &x));
    check_ok(bb_device_allocate(gpu, sizeof found, &y));
    check_ok(bb_device_zero(gpu, y, sizeof found));
    check_ok(bb_device_upload(gpu, x, host_x, COLUMNS * sizeof(double)));
    for (int j = 0; j < JOBS; ++j) {
        response of = response_make(7, 13, 61, 47, 1.0 + j);
        bb_codec_config config = low_rank(1e-5);
        matrices[j] = low_rank_encode(&of, &config);
        check_ok(bb_low_rank_stream_create(gpu, matrices[j], &streams[j]));
        assert_int_equal(bb_low_rank_stream_job(streams[j], first[j], counts[j], &task.jobs[j]),
                         counts[j]);
        task.jobs[j].x = x;
        task.jobs[j].y = (double *)y + (bb_index)j * ROWS;
        task.cells = bb_low_rank_stream_cells(streams[j]);
        BB_RELEASE(&of.values);
    }
    check_ok(bb_device_wait(gpu));
    check_ok(bb_low_rank_multiply_cuda(NULL, ROWS, &task));
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
    BB_RELEASE(&host_x);
}
#endif

int main(int argc, char **argv)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    few = argc > 1 && strcmp(argv[1], "few") == 0;
    if (bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK ||
        bb_device_open(BB_DEVICE_CUDA, 0, &gpu) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_agree_with_the_cpu),
        cmocka_unit_test(zeros_noise_and_poison_agree),
#ifdef BB_HAVE_CUDA
        cmocka_unit_test(a_captured_graph_replays_the_product),
        cmocka_unit_test(jobs_of_one_launch_are_each_their_own),
#endif
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    bb_device_close(&cpu);
    return failures;
}
