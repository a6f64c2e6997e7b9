// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/transform_product.h"
#include "tests/cpu_device.h"
#include "tests/solvers/operator/response_product.h"

TEST(a_window_is_what_decodes_times_x)
{
    response_windows_are_decoded_rows(cpu, response_transform(1e-5));
}

TEST(displacement_is_kept)
{
    const bb_codec_config config = response_transform(1e-5);
    response_keeps_displacement(cpu, &config, 0.5, bb_transform_product_flops);
}

TEST(a_poisoned_block_reaches_its_rows_alone)
{
    response_poisons_two_lines(cpu, response_transform(1e-4));
}

// Result of a product with all values.
TEST(an_infinite_x_reaches_every_row)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
    bb_codec_config config = response_transform(1e-4);
    double x[2560] = {0.0};
    double y[24];
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    x[0] = INFINITY; // outside the disc: no coefficients
    response_apply(cpu, matrix, response_kinds[1], 0, 24, x, y);
    check_all_nan(y, 24);
}

TEST(bits_do_not_depend_on_threads)
{
    const bb_codec_config config = response_transform(1e-5);
    response_products_repeat(cpu, &config);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
