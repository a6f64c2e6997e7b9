// SPDX-License-Identifier: Apache-2.0
//
// Every codec on difficult data: its declared bound holds, or the values are NaN.
#include "core/thread.h"
#include "precision/coded_matrix.h"
#include "tests/nightly.h"
#include "tests/precision/adversarial.h"
#include "tests/precision/codec_rows.h"
#include "tests/precision/failed_allocations.h"

static codec_rows rows_of_all;

static int list_configs(void)
{
    codec_rows_list(&rows_of_all);
    return 0;
}

static bb_status encode_bands(void *context, bb_index begin, bb_index end)
{
    void **block = context;
    bb_coded_matrix *matrix = block[0];
    double *values = block[1];
    bb_index columns = bb_coded_matrix_columns(matrix);
    return bb_coded_matrix_encode(matrix, begin,
                                  bb_view_matrix(values + begin * columns, end - begin, columns));
}

static bb_coded_matrix *encoded(const bb_codec_config *config, const bb_matrix_layout *layout,
                                double *values)
{
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, BB_ROW_SCALE_NONE, layout);
    void *context[2] = {matrix, values};
    check_ok(bb_thread_ranges(layout->rows, bb_coded_matrix_band(matrix), encode_bands, context));
    return matrix;
}

// Columns of a group's rows that are poisoned together: the block of bfp and quantiser, all of a
// piece in zfp.
typedef struct share {
    const bb_coded_matrix *matrix;
    const double *values;
    const bb_index *rows;
    bb_index row_count, begin, end;
} share;

static double largest(const share *part)
{
    double maximum = 0.0;
    bb_index columns = bb_coded_matrix_columns(part->matrix);
    for (bb_index r = 0; r < part->row_count; ++r) {
        for (bb_index j = part->begin; j < part->end; ++j) {
            double magnitude = fabs(part->values[part->rows[r] * columns + j]);
            maximum = isnan(magnitude) || magnitude > maximum ? magnitude : maximum;
            if (isnan(maximum)) {
                return INFINITY;
            }
        }
    }
    return maximum;
}

// Whether the codec can represent every value of a share with this largest magnitude.
static bool holds(const bb_codec_config *config, double maximum)
{
    if (config->codec == bb_codec_find("bfp")) {
        return isfinite(bb_codec_bound(config, NAN, maximum, maximum));
    }
    if (config->codec == bb_codec_find("zfp") && config->mode != (int)BB_ZFP_REVERSIBLE) {
        return maximum < 0x1p126;
    }
    return maximum <= (double)FLT_MAX;
}

static void check_error(const bb_codec_config *config, double maximum, double x, double wide,
                        double narrow)
{
    double bound = bb_codec_bound(config, config->tolerance, fabs(x), maximum);
    double fp32 = fmax(0x1p-24 * fabs(x), 0x1p-150);
    if (isinf(bound)) {
        return;
    }
    if (!(fabs(wide - x) <= bound)) {
        char name[64];
        bb_codec_describe(config, name, sizeof name);
        print_error("%s: %g became %g, over %g, most %g\n", name, x, wide, bound, maximum);
        fail();
    }
    assert_true(fabs(x) > (double)FLT_MAX || fabs(narrow - x) <= bound + fp32);
}

static void check_value(const bb_codec_config *config, double maximum, double x, double wide,
                        double narrow)
{
    if (config->codec < (int)BB_FORMAT_COUNT) {
        if (isnan(x)) {
            assert_true(isnan(wide) && isnan(narrow));
            return;
        }
        if (isinf(x)) {
            assert_true(wide == x || bb_format_describe((bb_format)config->codec)->saturates);
            return;
        }
    } else if (!holds(config, maximum)) {
        assert_true(isnan(wide) && isnan(narrow));
        return;
    }
    check_error(config, maximum, x, wide, narrow);
}

// For codecs whose poisoned units are tested elsewhere: the bound for the largest representable
// value of the matrix, and every NaN is counted.
static double largest_held(const double *values, bb_index count)
{
    double maximum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        maximum = fabs(values[i]) <= (double)FLT_MAX ? fmax(maximum, fabs(values[i])) : maximum;
    }
    return maximum;
}

static void check_loosely(const bb_coded_matrix *matrix, double maximum, double x, double wide,
                          double narrow)
{
    if (isnan(wide) || isnan(narrow)) {
        assert_true(isnan(x) || bb_coded_matrix_non_finite(matrix) > 0);
    } else if (fabs(x) <= (double)FLT_MAX) {
        check_error(bb_coded_matrix_config(matrix), maximum, x, wide, narrow);
    } else {
        assert_false(isnan(x));
    }
}

static void check_piece(const bb_coded_matrix *matrix, const double *values, bb_index group,
                        bb_index piece, float *narrow, double *wide)
{
    const bb_codec_config *config = bb_coded_matrix_config(matrix);
    bb_index rows[BB_GROUP_ROWS];
    double row_part[32];
    bb_index stride = bb_coded_matrix_piece_columns(matrix);
    bb_index columns = bb_coded_matrix_columns(matrix);
    bb_index begin = piece * stride;
    bb_index end = begin + stride < columns ? begin + stride : columns;
    bb_index count = bb_coded_matrix_group_rows(matrix, group, rows);
    const bb_codec_form_kind form = bb_codec_form_of(config).kind;
    bool zfp = form == BB_FORM_STREAMS;
    bool exactly =
        (zfp || form == BB_FORM_WORDS || form == BB_FORM_BLOCKS || form == BB_FORM_QUOTIENTS) &&
        config->rounding != (int)BB_ROUNDING_DIFFUSED;
    double held = largest_held(values, bb_coded_matrix_rows(matrix) * columns);
    bb_coded_matrix_decode_f32(matrix, group, piece, narrow);
    bb_coded_matrix_decode_f64(matrix, group, piece, wide);
    share work = {matrix, values, rows, count, begin, end};
    double maximum = largest(&work);
    for (bb_index r = 0; r < count; ++r) {
        assert_int_equal(bb_coded_matrix_group_of(matrix, rows[r]), group);
        for (bb_index j = begin; j < end; ++j) {
            if (!zfp && (j - begin) % 32 == 0) {
                work.begin = j;
                work.end = j + 32 < end ? j + 32 : end;
                maximum = largest(&work);
            }
            bb_index index = r * stride + j - begin;
            double value = values[rows[r] * columns + j];
            if (exactly) {
                check_value(config, maximum, value, wide[index], narrow[index]);
            } else {
                check_loosely(matrix, held, value, wide[index], narrow[index]);
            }
        }
        bb_index part = end - begin < 32 ? end - begin : 32;
        bb_coded_matrix_decode(matrix, rows[r], end - part, part, row_part);
        assert_memory_equal(row_part, wide + r * stride + end - part - begin,
                            (size_t)part * sizeof *row_part);
    }
}

static void check_matrix(const bb_codec_config *config, const bb_matrix_layout *layout, int kinds)
{
    autofree double *values = new_array(double, layout->rows * layout->columns);
    adversarial_fill(values, layout->rows, layout->columns, kinds);
    autoptr(bb_coded_matrix) matrix = encoded(config, layout, values);
    bb_index stride = bb_coded_matrix_piece_columns(matrix);
    autofree double *wide = new_array(double, BB_GROUP_ROWS *stride);
    autofree float *narrow = new_array(float, BB_GROUP_ROWS *stride);
    bb_index seen = 0;
    for (bb_index g = 0; g < bb_coded_matrix_group_count(matrix); ++g) {
        bb_index rows[BB_GROUP_ROWS];
        seen += bb_coded_matrix_group_rows(matrix, g, rows);
        for (bb_index p = 0; p * stride < layout->columns; ++p) {
            check_piece(matrix, values, g, p, narrow, wide);
        }
    }
    assert_int_equal(seen, layout->rows);
    // Coefficients may exceed the number of steps even if all values are representable.
    if (kinds <= ADVERSARIAL_FINITE && bb_codec_form_of(config).kind != BB_FORM_COEFFICIENTS) {
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 0);
    }
}

static const bb_matrix_layout layouts[] = {
    {.rows = 1, .columns = 1, .mesh_columns = 1, .row_columns = 1},
    {.rows = 3, .columns = 31, .mesh_columns = 31, .row_columns = 3},
    {.rows = 2, .columns = 32, .mesh_columns = 8, .row_columns = 1},
    {.rows = 2, .columns = 33, .mesh_columns = 11, .row_columns = 2},
    {.rows = 10, .columns = 15, .mesh_columns = 5, .row_columns = 5},
    {.rows = 32, .columns = 16, .mesh_columns = 4, .row_columns = 4},
    {.rows = 42, .columns = 117, .mesh_columns = 13, .row_columns = 21}, // a last band of 2 lines
    {.rows = 5, .columns = 1237, .mesh_columns = 1237, .row_columns = 5},
    {.rows = 2, .columns = 4100, .mesh_columns = 100, .row_columns = 2},
};

// A fourth of the layouts for each codec, different ones for the next.
TEST(declared_bounds_hold)
{
    const int stride = (int)nightly_or(1, 4);
    for (int c = 0; c < rows_of_all.count; ++c) {
        for (size_t l = (size_t)(c % stride); l < sizeof layouts / sizeof *layouts; l += stride) {
            check_matrix(&rows_of_all.configs[c], &layouts[l], 1);
            check_matrix(&rows_of_all.configs[c], &layouts[l], ADVERSARIAL_FINITE);
            check_matrix(&rows_of_all.configs[c], &layouts[l], ADVERSARIAL_KINDS);
        }
    }
}

TEST(threads_do_not_change_a_bit)
{
    const bb_matrix_layout *layout = &layouts[6];
    enum { ROWS = 42, COLUMNS = 117 };
    static double values[ROWS * COLUMNS], one[ROWS * COLUMNS], three[ROWS * COLUMNS];
    adversarial_fill(values, ROWS, COLUMNS, ADVERSARIAL_KINDS);
    for (int c = 0; c < rows_of_all.count; ++c) {
        size_t bytes = 0;
        bb_index bad = 0;
        for (bb_index threads = 1; threads <= 3; threads += 2) {
            check_ok(bb_threads_set(threads));
            autoptr(bb_coded_matrix) matrix = encoded(&rows_of_all.configs[c], layout, values);
            double *out = threads == 1 ? one : three;
            for (bb_index row = 0; row < ROWS; ++row) {
                bb_coded_matrix_decode(matrix, row, 0, COLUMNS, out + row * COLUMNS);
            }
            if (threads == 3) {
                assert_memory_equal(one, three, sizeof one);
                assert_int_equal(bytes, bb_coded_matrix_bytes(matrix));
                assert_int_equal(bad, bb_coded_matrix_non_finite(matrix));
            }
            bytes = bb_coded_matrix_bytes(matrix);
            bad = bb_coded_matrix_non_finite(matrix);
        }
    }
}

TEST(every_failed_allocation_is_survived)
{
    const bb_matrix_layout *layout = &layouts[4];
    double values[150];
    adversarial_fill(values, layout->rows, layout->columns, ADVERSARIAL_KINDS);
    for (int c = 0; c < rows_of_all.count; ++c) {
        survive_failed_allocations(&rows_of_all.configs[c], layout, values);
    }
}

TEST_GROUP(.begin = list_configs);
