// SPDX-License-Identifier: Apache-2.0
//
// Products with codecs that decode in pieces: y = C x against the same sum over decoded rows in the
// documented order, for every arithmetic. The bits do not depend on pieces and groups.
#include "core/random.h"
#include "core/thread.h"
#include "solvers/operator/coded_operator.h"
#include "tests/first_device.h"
#include "tests/precision/coded.h"

enum { ROWS = 30, COLUMNS = 1045, MESH = 55, ROW_COLUMNS = 5, LANES = 16, KINDS = 3, CODECS = 8 };

static double c[ROWS * COLUMNS], x[COLUMNS];
static const bb_gemv_arithmetic kinds[KINDS] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                                {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                                {BB_FORMAT_FP32, BB_FORMAT_FP32}};

static int fill(void)
{
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        c[i] = bb_random_normal(1, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    fill_array(x, COLUMNS, j, bb_random_normal(2, BB_STREAM_SELF_TEST, (uint64_t)j));
    return 0;
}

static bb_codec_config config_of(int k)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = k == 0   ? bb_codec_find("bfp")
                   : k == 1 ? bb_codec_find("quantiser")
                            : bb_codec_find("zfp");
    config.bits = k == 0 ? 9.0 : NAN;
    config.tolerance = k == 1 || (k >= 2 && k < 6) ? 1e-3 : NAN;
    if (k >= 2) {
        config.mode = k < 6 ? BB_ZFP_ACCURACY : BB_ZFP_REVERSIBLE;
        config.dimensions = k < 6 ? k - 1 : k - 3;
    }
    return config;
}

static double expected_of(const double *row, bb_gemv_arithmetic arithmetic)
{
    double wide[LANES] = {0.0};
    float narrow[LANES] = {0.0F};
    for (bb_index j = 0; j < COLUMNS; ++j) {
        float product = (float)row[j] * (float)x[j];
        wide[j % LANES] += arithmetic.multiply == BB_FORMAT_FP64 ? row[j] * x[j] : (double)product;
        narrow[j % LANES] += product;
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            wide[l] += wide[l + half];
            narrow[l] += narrow[l + half];
        }
    }
    return arithmetic.accumulate == BB_FORMAT_FP64 ? wide[0] : (double)narrow[0];
}

TEST(products_are_those_of_decoded_rows)
{
    bb_matrix_layout layout = {
        .rows = ROWS, .columns = COLUMNS, .mesh_columns = MESH, .row_columns = ROW_COLUMNS};
    double row[COLUMNS], y[ROWS];
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    check_ok(bb_threads_set(2));
    for (int k = 0; k < CODECS; ++k) {
        bb_codec_config config = config_of(k);
        autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, c);
        for (int a = 0; a < KINDS; ++a) {
            double seconds = 0.0;
            bb_index first = 7; // a window that begins and ends inside groups
            bb_index count = 16;
            autoptr(bb_coded_operator) operation =
                new_object(bb_coded_operator, device, matrix, kinds[a]);
            check_ok(bb_coded_operator_apply(operation, first, count, x, y, &seconds));
            for (bb_index i = 0; i < count; ++i) {
                bb_coded_matrix_decode(matrix, first + i, 0, COLUMNS, row);
                double expected = expected_of(row, kinds[a]);
                // The quantiser rounds its products with the step to fp32 in one of the two.
                check_close(y[i], expected, k == 1 && a > 0 ? 1e-5 : 0.0, 1.0);
            }
        }
    }
}

TEST_GROUP(.begin = fill);
