// SPDX-License-Identifier: Apache-2.0
//
// Bounds of coded rows: by hand, on every kind of codec with ordinary and adversarial vectors, and
// the fraction of the bound reached by an x aligned with the error.
#include "precision/row_certificate.h"
#include "tests/precision/adversarial.h"
#include "tests/precision/coded.h"

enum { ROWS = 16, MESH = 32, COLUMNS = MESH * 24 };

// E = 1, -2, 3 beside stored 2, 2, 3: mean 2/3, ||E||_1 = 6, ||E||_2^2 = 14, x = 1, 1, -1.
TEST(bounds_by_hand)
{
    const double exact[3] = {1, 4, 0};
    const double stored[3] = {2, 2, 3};
    const double x[3] = {1, 1, -1};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, exact, stored, 3);
    bb_row_certificate row = bb_row_certificate_start(1.0);
    bb_row_certificate_add(&row, &norms, exact, stored, 3);
    const bb_vector_norms vector_norms = bb_vector_norms_of(x, 3);
    check_relative(row.error_1, 6.0, 1e-15);
    check_relative(row.stored_1, 7.0, 1e-15);
    check_relative(bb_row_certificate_error_2(&row), sqrt(14.0), 1e-13);
    check_relative(bb_row_certificate_mean(&row), 2.0 / 3.0, 1e-15);
    check_relative(vector_norms.norm_1, 3.0, 1e-14);
    check_relative(vector_norms.norm_2, sqrt(3.0), 1e-13);
    check_relative(vector_norms.deviation_2, sqrt(8.0 / 3.0), 1e-13);
    // max|E| ||x||_1 = 9, ||E||_1 max|x| = 6, ||E||_2 ||x||_2 = 6.48, and about the means
    // 2/3 + sqrt(14 - 4/3) sqrt(8/3) = 6.479: the second is least.
    check_relative(bb_row_certificate_coding(&row, &vector_norms), 6.0, 1e-13);
    // A constant x only sees the bias: 2 of 3 sqrt(14).
    const double ones[3] = {1, 1, 1};
    const bb_vector_norms constant = bb_vector_norms_of(ones, 3);
    check_relative(bb_row_certificate_coding(&row, &constant), 2.0, 1e-6);
    // min(7, 6 * 3, sqrt(17) sqrt(3)) = 7 and 7.14.
    const bb_sum_rounding rounding = {.relative = 0.5, .subnormal = 0.0, .largest = DBL_MAX};
    check_relative(bb_row_certificate_rounding(&row, &vector_norms, &rounding), 3.5, 1e-13);
}

// The same errors in units whose squares overflow or underflow: ||E||_1 max|x| = 6 units is still a
// bound, and an underflowed sum of squares does not give a smaller one.
TEST(bounds_know_no_unit)
{
    static const double units[] = {1e-161, 1e-200, 1e200};
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
        const double unit = units[i];
        const double exact[3] = {unit, 4 * unit, 0};
        const double stored[3] = {2 * unit, 2 * unit, 3 * unit};
        const double ones[3] = {1, 1, 1};
        bb_error_norms norms = bb_error_norms_start();
        bb_error_norms_add(&norms, exact, stored, 3);
        bb_row_certificate row = bb_row_certificate_start(1.0);
        bb_row_certificate_add(&row, &norms, exact, stored, 3);
        const bb_vector_norms x = bb_vector_norms_of(ones, 3);
        check_relative(bb_row_certificate_error_2(&row), sqrt(14.0) * unit, 1e-13);
        check_relative(bb_row_certificate_coding(&row, &x), 6.0 * unit, 1e-13);
    }
}

TEST(what_is_not_finite_is_not_bounded)
{
    const double exact[2] = {1, 2};
    const double stored[2] = {1, NAN};
    const double x[2] = {1, 0};
    const double bad[2] = {1, NAN};
    const bb_sum_rounding rounding = {.relative = 1e-3, .subnormal = 0x1p-149, .largest = FLT_MAX};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, exact, stored, 2);
    bb_row_certificate row = bb_row_certificate_start(1.0);
    bb_row_certificate_add(&row, &norms, exact, stored, 2);
    bb_vector_norms vector_norms = bb_vector_norms_of(x, 2);
    assert_true(isinf(bb_row_certificate_coding(&row, &vector_norms)));
    assert_true(isinf(bb_row_certificate_rounding(&row, &vector_norms, &rounding)));
    norms = bb_error_norms_start();
    bb_error_norms_add(&norms, exact, exact, 2);
    row = bb_row_certificate_start(1.0);
    bb_row_certificate_add(&row, &norms, exact, exact, 2);
    assert_true(bb_row_certificate_coding(&row, &vector_norms) < 1e-150);
    assert_true(isfinite(bb_row_certificate_rounding(&row, &vector_norms, &rounding)));
    vector_norms = bb_vector_norms_of(bad, 2);
    assert_true(isinf(bb_row_certificate_coding(&row, &vector_norms)));
    assert_true(isinf(bb_row_certificate_rounding(&row, &vector_norms, &rounding)));
    const double large[2] = {1e30, 0}; // fits, but not times a block's integers
    vector_norms = bb_vector_norms_of(large, 2);
    assert_true(isinf(bb_row_certificate_rounding(&row, &vector_norms, &rounding)));
}

typedef struct fixture {
    double exact[ROWS * COLUMNS], stored[ROWS * COLUMNS], x[COLUMNS];
    bb_row_certificate rows[ROWS];
} fixture;

static void certify(fixture *given, const bb_codec_config *config, bb_row_scale scale)
{
    const bb_matrix_layout layout = {
        .rows = ROWS, .columns = COLUMNS, .mesh_columns = MESH, .row_columns = 4};
    autoptr(bb_coded_matrix) matrix = coded_matrix(config, scale, &layout, given->exact);
    for (bb_index i = 0; i < ROWS; ++i) {
        double row_scale = bb_coded_matrix_row_scale(matrix, i);
        bb_coded_matrix_decode(matrix, i, 0, COLUMNS, given->stored + i * COLUMNS);
        given->rows[i] = bb_row_certificate_start(row_scale);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            given->stored[i * COLUMNS + j] /= row_scale;
        }
        for (bb_index j = 0; j < COLUMNS; j += 100) { // in pieces, as codecs decode
            bb_index count = COLUMNS - j < 100 ? COLUMNS - j : 100;
            bb_error_norms norms = bb_error_norms_start();
            const double *exact = given->exact + i * COLUMNS + j;
            const double *stored = given->stored + i * COLUMNS + j;
            bb_error_norms_add(&norms, exact, stored, count);
            bb_row_certificate_add(&given->rows[i], &norms, exact, stored, count);
        }
    }
}

// |E x| / bound of a row, which is at most 1.
static double reached(const fixture *given, bb_index i, const double *x)
{
    long double sum = 0.0L;
    for (bb_index j = 0; j < COLUMNS; ++j) {
        sum += ((long double)given->stored[i * COLUMNS + j] -
                (long double)given->exact[i * COLUMNS + j]) *
               (long double)x[j];
    }
    const bb_vector_norms norms = bb_vector_norms_of(x, COLUMNS);
    double bound = bb_row_certificate_coding(&given->rows[i], &norms);
    double error = (double)fabsl(sum);
    assert_true(error <= bound);
    return bound > 0.0 && isfinite(bound) ? error / bound : 0.0;
}

// x by kind: constant, ramp, noise, a spike, +-1 noise, the error itself, the signs of the error.
enum { KINDS = 7, ALIGNED = 5, SIGNS = 6 };

static void fill_x(fixture *given, bb_index i, int kind)
{
    for (bb_index j = 0; j < COLUMNS; ++j) {
        double error = given->stored[i * COLUMNS + j] - given->exact[i * COLUMNS + j];
        double noise = bb_random_normal(3, BB_STREAM_SELF_TEST, (uint64_t)j);
        const double by_kind[KINDS] = {1.0,
                                       1.0 + 1e-3 * (double)j,
                                       noise,
                                       j == 77 ? 1.0 : 1e-9,
                                       noise > 0.0 ? 1.0 : -1.0,
                                       error,
                                       error > 0.0   ? 1.0
                                       : error < 0.0 ? -1.0
                                                     : 0.0};
        given->x[j] = by_kind[kind];
    }
}

static const struct {
    const char *storage; // in the syntax of bb_codec_read
    bb_row_scale scale;
} codecs[] = {
    {"fp64", BB_ROW_SCALE_NONE},
    {"fp32", BB_ROW_SCALE_NONE},
    {"bf16", BB_ROW_SCALE_ROW},
    {"fp16", BB_ROW_SCALE_ROW},
    {"e4m3", BB_ROW_SCALE_ROW},
    {"e4m3", BB_ROW_SCALE_NONE}, // saturates and underflows
    {"e5m2", BB_ROW_SCALE_NONE},
    {"bfp bits=4", BB_ROW_SCALE_NONE},
    {"bfp bits=8", BB_ROW_SCALE_NONE},
    {"bfp bits=16", BB_ROW_SCALE_NONE},
    {"quantiser tolerance=1e-3", BB_ROW_SCALE_NONE},
    {"zfp mode=rate bits=8 dimensions=2", BB_ROW_SCALE_NONE},
    {"zfp mode=precision bits=17 dimensions=1", BB_ROW_SCALE_NONE},
    {"zfp mode=accuracy tolerance=1e-3", BB_ROW_SCALE_NONE},
    {"zfp mode=accuracy tolerance=1e-3 dimensions=4", BB_ROW_SCALE_NONE},
    {"zfp mode=reversible dimensions=3", BB_ROW_SCALE_NONE},
    {"low_rank tolerance=1e-3", BB_ROW_SCALE_NONE},
    {"transform tolerance=1e-3", BB_ROW_SCALE_NONE},
    {"e4m3 rounding=diffused", BB_ROW_SCALE_ROW},
    {"bfp bits=4 rounding=diffused", BB_ROW_SCALE_NONE},
};
enum { CODECS = sizeof codecs / sizeof codecs[0] };

static bb_codec_config config_of(int which)
{
    return codec_of(codecs[which].storage);
}

TEST(no_codec_passes_its_bound)
{
    autofree fixture *given = new_zeros(fixture, 1);
    for (int hard = 0; hard < 2; ++hard) {
        for (int c = 0; c < CODECS; ++c) {
            double aligned = 1.0;
            double usual = 0.0;
            adversarial_fill(given->exact, ROWS, COLUMNS, ADVERSARIAL_FINITE);
            for (bb_index k = 0; hard == 0 && k < ROWS * COLUMNS; ++k) {
                double y = (double)(k % COLUMNS / MESH) - 12.0;
                double z = (double)(k % MESH) - 16.3 + 0.5 * (double)(k / COLUMNS);
                given->exact[k] = 700.0 * z / (4.0 + y * y + z * z); // e4m3's largest is 448
            }
            const bb_codec_config config = config_of(c);
            certify(given, &config, codecs[c].scale);
            for (bb_index i = 0; i < ROWS; ++i) {
                for (int kind = 0; kind < KINDS; ++kind) {
                    fill_x(given, i, kind);
                    double part = reached(given, i, given->x);
                    if (kind == ALIGNED && part > 0.0) {
                        aligned = fmin(aligned, part);
                    } else if (kind == 2 || kind == 4) { // noise
                        usual = fmax(usual, part);
                    }
                }
            }
            print_message("%s: an aligned x reaches %.4f of the bound at least, noise %.4f\n",
                          codecs[c].storage, aligned, usual);
            assert_true(hard == 1 || strcmp(codecs[c].storage, "fp64") == 0 ||
                        aligned > 0.999); // Cauchy-Schwarz is sharp
        }
    }
}
