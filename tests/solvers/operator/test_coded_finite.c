// SPDX-License-Identifier: Apache-2.0
//
// Products on both sides of the sizes up to which an operator assumes finite products, against sums
// by conversion. Widening by shifts maps infinity to 2^128, so it may be selected without a check
// only if |c x| < 2^128 for every word. Words called finite have |c| < 2^67 (units of bfp8 up to
// 2^60 times 127), hence |x| <= 2^61 is required; the operator's limit is 2^50.
#include "solvers/operator/coded_operator.h"
#include "tests/first_device.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 8, COLUMNS = 64, LANES = 16, PLACE = 5 };

static double expected_of(const double *row, const double *x)
{
    double lanes[LANES] = {0.0};
    for (bb_index j = 0; j < COLUMNS; ++j) {
        float product = (float)row[j] * (float)x[j];
        lanes[j % LANES] += (double)product;
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

// A matrix of one value; x is `large` in column PLACE and the same elsewhere. Returns y, which is
// the same in every row.
static double product_of(const bb_codec_config *config, double value, double large)
{
    const bb_gemv_arithmetic seed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    double c[ROWS * COLUMNS], x[COLUMNS], y[ROWS], row[COLUMNS];
    double seconds = 0.0;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        c[i] = value;
        x[i % COLUMNS] = i % COLUMNS == PLACE ? large : 1.0;
    }
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    autoptr(bb_coded_matrix) matrix = coded_matrix(config, BB_ROW_SCALE_NONE, &layout, c);
    autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, device, matrix, seed);
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, y, &seconds));
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, row);
    assert_true(row[PLACE] == value);
    double expected = expected_of(row, x);
    for (int i = 0; i < ROWS; ++i) {
        if (!(y[i] == expected)) {
            print_error("%s of %g with x = %g, row %d: got %.17g, expected %.17g\n",
                        bb_codec_name(config->codec), value, large, i, y[i], expected);
            fail();
        }
    }
    return y[0];
}

// The limit itself and the next float: sums of a large product and of small ones, exact bits.
TEST(sums_are_those_of_conversion_around_the_threshold)
{
    const bb_codec_config half = bb_codec_plain(BB_FORMAT_FP16);
    const bb_codec_config byte = bb_codec_plain(BB_FORMAT_E4M3);
    const double above = (double)nextafterf(0x1p50F, INFINITY);
    assert_true(isfinite(product_of(&half, 65504.0, 0x1p50)));
    assert_true(isfinite(product_of(&half, 65504.0, above)));
    assert_true(isfinite(product_of(&byte, 448.0, -0x1p50)));
    assert_true(isfinite(product_of(&byte, 448.0, -above)));
}

// The largest word at the last power of two with a finite product, and at the next.
TEST(infinite_products_stay_infinite)
{
    const struct {
        bb_format format;
        double largest;
        int last;
    } cases[] = {
        {BB_FORMAT_FP16, 65504.0, 112}, // 65504 = 2^16 - 2^5
        {BB_FORMAT_E5M2, 57344.0, 112},
        {BB_FORMAT_E4M3, 448.0, 119},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const bb_codec_config config = bb_codec_plain(cases[k].format);
        assert_true(isfinite(product_of(&config, cases[k].largest, ldexp(1.0, cases[k].last))));
        assert_true(product_of(&config, cases[k].largest, ldexp(1.0, cases[k].last + 1)) ==
                    (double)INFINITY);
    }
    // 256 x, which replaces x for e4m3, is infinite although x is not.
    const bb_codec_config byte = bb_codec_plain(BB_FORMAT_E4M3);
    assert_true(product_of(&byte, 1.0, 0x1p120) == 0x1p120 + 63.0);
}

// Units of bfp8: the largest called finite, 2^60, the next, and units whose product with 2^50 is
// infinite: 127 x 2^72 x 2^50.
TEST(units_of_blocks_count_too)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = bb_codec_find("bfp");
    config.bits = 8.0;
    assert_true(isfinite(product_of(&config, 127.0 * 0x1p60, 0x1p50)));
    assert_true(isfinite(product_of(&config, 127.0 * 0x1p60, 0x1p61)));
    assert_true(product_of(&config, 127.0 * 0x1p60, 0x1p62) == (double)INFINITY);
    assert_true(isfinite(product_of(&config, 127.0 * 0x1p61, 0x1p50)));
    assert_true(isfinite(product_of(&config, 127.0 * 0x1p71, 0x1p50)));
    assert_true(product_of(&config, 127.0 * 0x1p72, 0x1p50) == (double)INFINITY);
}
