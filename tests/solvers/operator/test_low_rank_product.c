// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/low_rank_product.h"
#include "tests/cpu_device.h"
#include "tests/solvers/operator/response_product.h"

TEST(a_window_is_what_decodes_times_x)
{
    response_windows_are_decoded_rows(cpu, low_rank(1e-5));
}

TEST(displacement_is_kept)
{
    const bb_codec_config config = low_rank(1e-5);
    response_keeps_displacement(cpu, &config, 0.05, bb_low_rank_product_flops);
}

TEST(a_poisoned_tile_reaches_its_band_alone)
{
    response_poisons_two_lines(cpu, low_rank(1e-4));
}

TEST(bits_do_not_depend_on_threads)
{
    const bb_codec_config config = low_rank(1e-5);
    response_products_repeat(cpu, &config);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
