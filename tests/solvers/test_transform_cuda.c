// SPDX-License-Identifier: Apache-2.0
//
// A GPU has no product with transformed blocks, and says so when the operator is made.
#include "solvers/coded_operator.h"
#include "tests/precision/low_rank_problem.h"

static bb_device *gpu;

static void a_gpu_refuses_with_a_sentence(void **state)
{
    (void)state;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    response of = response_make(3, 8, 64, 40, 1.0);
    bb_codec_config config = low_rank(1e-4);
    config.codec = BB_CODEC_TRANSFORM;
    bb_coded_matrix *matrix = low_rank_encode(&of, &config);
    bb_coded_operator *operation = NULL;
    check_fails(bb_coded_operator_create(gpu, matrix, mixed, &operation), BB_UNSUPPORTED,
                "storage transform on a GPU");
    assert_null(operation);
    bb_coded_matrix_destroy(&matrix);
    BB_RELEASE(&of.values);
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    if (bb_device_open(BB_DEVICE_CUDA, 0, &gpu) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_gpu_refuses_with_a_sentence)};
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    return failures;
}
