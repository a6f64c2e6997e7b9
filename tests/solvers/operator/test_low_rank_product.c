// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/low_rank_product.h"
#include "tests/solvers/operator/response_product.h"

static bb_device *device;

static void a_window_is_what_decodes_times_x(void **state)
{
    (void)state;
    response_windows_are_decoded_rows(device, low_rank(1e-5));
}

static void displacement_is_kept(void **state)
{
    (void)state;
    const bb_codec_config config = low_rank(1e-5);
    response_keeps_displacement(device, &config, 0.05, bb_low_rank_product_flops);
}

static void a_poisoned_tile_reaches_its_band_alone(void **state)
{
    (void)state;
    response_poisons_two_lines(device, low_rank(1e-4));
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    const bb_codec_config config = low_rank(1e-5);
    response_products_repeat(device, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_what_decodes_times_x),
        cmocka_unit_test(displacement_is_kept),
        cmocka_unit_test(a_poisoned_tile_reaches_its_band_alone),
        cmocka_unit_test(bits_do_not_depend_on_threads),
    };
    if (bb_device_open(BB_DEVICE_CPU, 0, &device) != BB_OK) {
        return 1;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&device);
    return failures;
}
