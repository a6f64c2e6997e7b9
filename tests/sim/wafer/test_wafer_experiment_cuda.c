// SPDX-License-Identifier: Apache-2.0
//
// The wafer study on a GPU against the cpu: the products differ by the order of their sums only.
#include "core/device.h"
#include "tests/sim/driver.h"

static const driver_case on_cpu = {CONFIG_WAFER_SMALL, {"device=cpu"}};
static const driver_case on_gpu = {CONFIG_WAFER_SMALL, {"device=cuda"}};

static double norm_of_difference(const double *a, const double *b, bb_index count, double *norm)
{
    double difference = 0.0;
    *norm = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        *norm += b[i] * b[i];
    }
    *norm = sqrt(*norm);
    return sqrt(difference);
}

static void displacements_agree_with_the_cpu(void **state)
{
    (void)state;
    bb_results *cpu = driver_results(&on_cpu);
    bb_results *gpu = driver_results(&on_gpu);
    const bb_dataset *names = driver_dataset(cpu, "pipeline");
    const bb_dataset *displacement = driver_dataset(cpu, "displacement_nm");
    bb_index row = displacement->count / displacement->shape[0];
    for (bb_index p = 0; p < names->count; ++p) {
        const char *name = names->texts[p];
        double norm = 0.0;
        double difference =
            norm_of_difference(driver_row(gpu, "displacement_nm", name),
                               driver_row(cpu, "displacement_nm", name), row, &norm);
        // fp32 accumulates in fp32; all others in fp64.
        double bound = strcmp(name, "fp32") == 0 ? 1e-5 : 1e-12;
        print_message("%s: %.2g of the norm\n", name, difference / norm);
        assert_true(difference <= bound * norm);
        assert_string_equal(driver_text(gpu, "device", name), "cuda");
        assert_string_equal(driver_text(gpu, "status", name), "ok");
    }
    bb_results_destroy(&cpu);
    bb_results_destroy(&gpu);
}

static void a_second_run_has_the_same_bits(void **state)
{
    (void)state;
    char first[BB_DIGEST_BYTES], second[BB_DIGEST_BYTES];
    bb_results *results = driver_results(&on_gpu);
    check_ok(bb_results_digest(results, true, first));
    bb_results_destroy(&results);
    results = driver_results(&on_gpu);
    check_ok(bb_results_digest(results, true, second));
    bb_results_destroy(&results);
    assert_string_equal(first, second);
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displacements_agree_with_the_cpu),
        cmocka_unit_test(a_second_run_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}
