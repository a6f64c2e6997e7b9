// SPDX-License-Identifier: Apache-2.0
//
// The library on a GPU, compared with the cpu: products and device pointers, rounding in a norm, a
// solve, and a stream of phases.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/device_pair.h"

#define PI 3.14159265358979323846

enum { ROWS = 300, COLUMNS = 512, N = 400, SIDES = 5, SIZE = 128, POINTS = SIZE * SIZE };

TEST_GROUP(.begin = needs_cuda);

static double *make_matrix(bb_index rows, bb_index columns)
{
    double *values = new_array(double, rows *columns);
    fill_array(values, rows * columns, i, sin(0.7 * (double)i) + 0.1 * (double)(i % 3));
    return values;
}

static double *make_covariance(void)
{
    double *a = new_array(double, N *N);
    fill_array(a, N * N, i,
               exp(-fabs((double)(i / N - i % N)) / 20.0) + (i / N == i % N ? 0.01 : 0.0));
    return a;
}

TEST(products_agree_within_their_certificates)
{
    static const char *const storages[] = {"fp16", "bfp bits=8", "mx element=int8",
                                           "integer bits=6",
                                           "zfp mode=rate bits=8 mesh_columns=32"};
    autofree double *values = make_matrix(ROWS, COLUMNS);
    autofree double *x = make_matrix(2, COLUMNS);
    double here[2 * ROWS], there[2 * ROWS], rounding[ROWS];
    for (size_t s = 0; s < sizeof storages / sizeof *storages; ++s) {
        static const char arithmetic[] = "multiply=fp32 accumulate=fp64";
        autoptr(bb_operator) on_cpu = NULL;
        autoptr(bb_operator) on_gpu = NULL;
        check_ok(bb_operator_create_dense(storages[s], ROWS, COLUMNS, values, arithmetic, "cpu",
                                          &on_cpu));
        check_ok(bb_operator_create_dense(storages[s], ROWS, COLUMNS, values, arithmetic, "cuda:0",
                                          &on_gpu));
        check_ok(bb_operator_apply(on_cpu, 2, x, here, NULL));
        check_ok(bb_operator_apply(on_gpu, 2, x, there, NULL));
        for (bb_index v = 0; v < 2; ++v) {
            check_ok(bb_operator_bound(on_gpu, x + v * COLUMNS, NULL, rounding));
            for (bb_index i = 0; i < ROWS; ++i) {
                check_close(there[v * ROWS + i], here[v * ROWS + i], 2.0, rounding[i] + 1e-12);
            }
        }
    }
}

TEST(device_pointers_are_multiplied_on_a_stream)
{
    autofree double *values = make_matrix(ROWS, COLUMNS);
    autofree double *x = make_matrix(1, COLUMNS);
    float narrow[COLUMNS];
    double applied[ROWS], queued[ROWS];
    void *device_x = NULL, *device_y = NULL;
    cudaStream_t stream = NULL;
    struct cudaDeviceProp properties;
    autoptr(bb_operator) operation = NULL;
    bb_operator_report report;
    check_ok(bb_operator_create_dense("fp16", ROWS, COLUMNS, values, "multiply=fp32", "cuda",
                                      &operation));
    check_ok(bb_operator_describe(operation, &report));
    assert_int_equal(report.operand_bytes, sizeof *narrow);
    check_ok(bb_operator_apply(operation, 1, x, applied, NULL));
    fill_array(narrow, COLUMNS, j, (float)x[j]);
    cuda_ok(cudaGetDeviceProperties(&properties, 0));
    cuda_ok(cudaStreamCreate(&stream));
    cuda_ok(cudaMalloc(&device_x, sizeof narrow));
    cuda_ok(cudaMalloc(&device_y, sizeof queued));
    cuda_ok(cudaMemcpyAsync(device_x, narrow, sizeof narrow, cudaMemcpyHostToDevice, stream));
    const bb_status status = bb_operator_queue(operation, device_x, device_y, stream);
    if (properties.major != 9) {
        assert_int_equal(status, BB_UNSUPPORTED);
    } else {
        check_ok(status);
        cuda_ok(cudaMemcpyAsync(queued, device_y, sizeof queued, cudaMemcpyDeviceToHost, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        assert_memory_equal(queued, applied, sizeof applied);
    }
    cuda_ok(cudaFree(device_x));
    cuda_ok(cudaFree(device_y));
    cuda_ok(cudaStreamDestroy(stream));
}

TEST(rounding_in_a_norm_has_the_same_loss)
{
    autofree double *r = make_matrix(SIDES, N);
    autofree double *a = make_covariance();
    bb_rounding_report here, there;
    autofree double *q = new_array(double, SIDES *N);
    double loss = 0.0;
    autoptr(bb_storage) on_cpu = NULL;
    autoptr(bb_storage) on_gpu = NULL;
    check_ok(bb_storage_round("integer bits=5", SIDES, N, r, a, "cpu", &here, &on_cpu));
    check_ok(bb_storage_round("integer bits=5", SIDES, N, r, a, "cuda", &there, &on_gpu));
    assert_int_equal(there.outcome.kind, BB_OUTCOME_OK);
    check_ok(bb_storage_decode(on_gpu, 0, SIDES, q));
    fill_array(q, SIDES * N, i, q[i] - r[i]);
    for (bb_index i = 0; i < SIDES * N; ++i) {
        for (bb_index k = 0; k < N; ++k) {
            loss += q[i] * a[i % N * N + k] * q[i / N * N + k];
        }
    }
    check_relative(there.loss, loss, 1e-9);
    check_relative(there.loss, here.loss, 0.05); // ties may round the other way
    assert_true(there.loss < 0.5 * there.loss_nearest);
    a[7 * N + 7] = -1.0;
    bb_storage_destroy(&on_gpu);
    check_ok(bb_storage_round("integer bits=5", SIDES, N, r, a, "cuda", &there, &on_gpu));
    assert_int_equal(there.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_null(on_gpu);
}

TEST(solutions_are_certified)
{
    static const struct {
        const char *options;
        double backward;
    } cases[] = {{"dp", 1e-15}, {"x3", 1e-6}, {"hp1 tile=128", 1e-3}};
    autofree double *a = make_covariance();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autofree double *x = make_matrix(SIDES, N);
        bb_factorization_report factored;
        bb_solve_report solved;
        check_ok(
            bb_factor_and_solve(N, a, cases[c].options, "cuda", SIDES, x, 1, &factored, &solved));
        assert_int_equal(factored.outcome.kind, BB_OUTCOME_OK);
        assert_int_equal(solved.outcome.kind, BB_OUTCOME_OK);
        assert_true(solved.backward_error > 0.0 && solved.backward_error < cases[c].backward);
        assert_true(factored.bytes > 0.0 && factored.seconds > 0.0);
        assert_string_equal(factored.digest, "");
    }
    autofree double *x = make_matrix(SIDES, N);
    bb_solve_report solved;
    check_fails(bb_factor_and_solve(N, a, "hp1 refine=ir", "cuda", 1, x, 0, NULL, NULL),
                BB_UNSUPPORTED, "no cuda kernels");
    check_fails(bb_factor_and_solve(N, a, "tile=100", "cuda", 1, x, 0, NULL, NULL), BB_UNSUPPORTED,
                "multiple of 128");
    a[9 * N + 9] = 1e-9; // keeps the diagonal positive
    check_ok(bb_factor_and_solve(N, a, "dp scale=none", "cuda", 1, x, 0, NULL, &solved));
    assert_int_equal(solved.outcome.kind, BB_OUTCOME_NOT_SPD);
}

TEST(a_stream_is_unwrapped_from_device_memory)
{
    autofree double *surface = new_array(double, POINTS);
    autofree double *wrapped = new_array(double, POINTS);
    autofree double *phase = new_array(double, POINTS);
    autofree float *narrow = new_array(float, POINTS);
    autoptr(bb_unwrapper) plan = NULL;
    bb_unwrapping_report report;
    void *address = NULL;
    int bytes = 0;
    fill_array(surface, POINTS, i,
               0.3 * (double)(i % SIZE) + 15.0 * sin(0.03 * (double)(i / SIZE)));
    fill_array(wrapped, POINTS, i, remainder(surface[i], 2.0 * PI));
    fill_array(narrow, POINTS, i, (float)wrapped[i]);
    check_ok(bb_unwrapper_create(SIZE, SIZE, NULL, "fp32", "cuda", &plan));
    check_ok(bb_unwrapper_input(plan, &address, &bytes));
    assert_int_equal(bytes, sizeof *narrow);
    for (int way = 0; way < 2; ++way) {
        if (way == 0) {
            check_ok(bb_unwrapper_run(plan, wrapped, phase, &report));
        } else {
            cuda_ok(cudaMemcpy(address, narrow, POINTS * sizeof *narrow, cudaMemcpyHostToDevice));
            check_ok(bb_unwrapper_queue(plan));
            check_ok(bb_unwrapper_read(plan, phase, &report));
        }
        assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
        const double offset = 2.0 * PI * rint((phase[0] - surface[0]) / (2.0 * PI));
        for (bb_index i = 0; i < POINTS; ++i) {
            check_close(phase[i] - offset, surface[i], 1e-4, 1.0);
        }
    }
}
