// SPDX-License-Identifier: Apache-2.0
//
// The response kernel of a wafer on the mesh of Bamakhrama et al. (150 x 200 over 300 mm, Table 2):
// (d_x / q) K1(q / lambda) / lambda, q^2 = r^2 + a^2, a = 0.8 mm, lambda = 40 mm, scaled to the
// range of their x axis, every seventh of 42 x 9 points 0.62 x 0.65 mm apart. Expected: the result
// of libzfp 1.0 with fixed accuracy 1e-12 for all points in a separate study, without the index:
// 2.76 bits a value, rmse 4.61e-14, largest error 3.5e-13 in two dimensions (their C: 2.64,
// 4.3e-14, 4.0e-13), and a largest error of 5.3e-13 to 5.6e-13 in one.
#include "core/memory.h"
#include "precision/error_norms.h"
#include "tests/precision/coded.h"

#include <gsl/gsl_sf_bessel.h>

enum { ACROSS = 150, DOWN = 200, COLUMNS = ACROSS * DOWN, POINTS = 378, EVERY = 7, ROWS = 54 };

static double *values;

static int fill(void)
{
    const double lambda = 40.0;
    double minimum = INFINITY;
    double maximum = -INFINITY;
    check_ok(BB_ALLOCATE((bb_index)ROWS * COLUMNS, &values));
    for (bb_index row = 0; row < ROWS; ++row) {
        bb_index point = row * EVERY;
        double x = 150.0 + 0.62 * ((double)(point % 42) - 20.5);
        double y = 150.0 + 0.65 * ((double)(point / 42) - 4.0);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            double dx = x - 2.0 * ((double)(j % ACROSS) + 0.5);
            double dy = y - 1.5 * ((double)(j / ACROSS) + 0.5);
            double q = sqrt(dx * dx + dy * dy + 0.64);
            double value = dx / q * gsl_sf_bessel_K1(q / lambda) / lambda;
            values[row * COLUMNS + j] = value;
            minimum = fmin(minimum, value);
            maximum = fmax(maximum, value);
        }
    }
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        values[i] *= 1.49e-8 / (maximum - minimum);
    }
    return 0;
}

static void release(void)
{
    BB_RELEASE(&values);
}

static bb_error_norms assess(bb_index dimensions, double *bits_per_value)
{
    static double back[COLUMNS];
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS, .mesh_columns = ACROSS};
    bb_error_norms norms = bb_error_norms_start();
    config.codec = bb_codec_find("zfp");
    config.mode = BB_ZFP_ACCURACY;
    config.tolerance = 1e-12;
    config.dimensions = dimensions;
    autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
    for (bb_index row = 0; row < ROWS; ++row) {
        bb_coded_matrix_decode(matrix, row, 0, COLUMNS, back);
        bb_error_norms_add(&norms, values + row * COLUMNS, back, COLUMNS);
    }
    bb_index runs = (COLUMNS + bb_coded_matrix_piece_columns(matrix) - 1) /
                    bb_coded_matrix_piece_columns(matrix);
    bb_index index = 4 * runs + 8 * ((runs + 15) / 16);
    double bytes = (double)bb_coded_matrix_bytes(matrix) / ROWS - (double)index;
    *bits_per_value = 8.0 * bytes / COLUMNS;
    return norms;
}

TEST(fixed_accuracy_costs_what_the_paper_reports)
{
    double bits = 0.0;
    bb_error_norms norms = assess(2, &bits);
    check_relative(bits, 2.76, 0.02);
    check_relative(bb_error_norms_rmse(&norms), 4.61e-14, 0.02);
    check_relative(norms.max_error, 3.5e-13, 0.1);
    norms = assess(1, &bits);
    assert_true(norms.max_error > 5.0e-13 && norms.max_error < 5.8e-13);
}

TEST_GROUP(.begin = fill, .end = release);
