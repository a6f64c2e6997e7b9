// SPDX-License-Identifier: Apache-2.0
//
// Rounding with error diffusion: sums of errors, the benefit for a smooth x, the declared bound on
// difficult data, and unchanged values.
#include "core/thread.h"
#include "precision/codecs/diffusion.h"
#include "tests/precision/adversarial.h"
#include "tests/precision/coded.h"
#include "tests/precision/failed_allocations.h"

enum { ACROSS = 96, LINES = 80, COLUMNS = ACROSS * LINES, CODECS = 17 };

static double values[COLUMNS], back[COLUMNS], other[COLUMNS];

// fp16, bf16, e4m3, e5m2 and bfp of 4 to 16 bits.
static bb_codec_config codec(int which, int rounding)
{
    const bb_format formats[] = {BB_FORMAT_BF16, BB_FORMAT_FP16, BB_FORMAT_E4M3, BB_FORMAT_E5M2};
    bb_codec_config config = bb_codec_plain(which < 4 ? formats[which] : BB_FORMAT_FP64);
    if (which >= 4) {
        config.codec = bb_codec_find("bfp");
        config.bits = which;
    }
    config.rounding = rounding;
    return config;
}

static bb_status encode_rows(void *context, bb_index begin, bb_index end)
{
    void **block = context;
    bb_index columns = bb_coded_matrix_columns(block[0]);
    return bb_coded_matrix_encode(
        block[0], begin,
        bb_view_matrix((double *)block[1] + begin * columns, end - begin, columns));
}

static bb_coded_matrix *encoded(const bb_codec_config *config, bb_row_scale scale,
                                const bb_matrix_layout *layout, double *source)
{
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, scale, layout);
    void *context[2] = {matrix, source};
    check_ok(bb_thread_ranges(layout->rows, 1, encode_rows, context));
    return matrix;
}

// One row, decoded with its scale undone.
static void round_trip(const bb_codec_config *config, bb_row_scale scale, double *source,
                       double *target)
{
    const bb_matrix_layout layout = {.rows = 1, .columns = COLUMNS, .mesh_columns = ACROSS};
    autoptr(bb_coded_matrix) matrix = encoded(config, scale, &layout, source);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, target);
    for (bb_index j = 0; j < COLUMNS; ++j) {
        target[j] /= bb_coded_matrix_row_scale(matrix, 0);
    }
}

static bool in_disc(bb_index i, bb_index j)
{
    return hypot((double)i - 0.5 * ACROSS, 1.2 * ((double)j - 0.5 * LINES)) < 0.48 * ACROSS;
}

// The in-plane response to a point force, smoothed over cells, zero outside a disc: m/K-like values
// with a change of sign next to the peak and a tail of 1/r.
static void fill_kernel(void)
{
    for (bb_index k = 0; k < COLUMNS; ++k) {
        double x = (double)(k % ACROSS) - 37.3;
        double y = (double)(k / ACROSS) - 41.8;
        values[k] = in_disc(k % ACROSS, k / ACROSS) ? 1e-8 * x / (x * x + y * y + 2.0) : 0.0;
    }
}

// A warm patch with sides of `width` cells on a slope; zero outside the disc.
static double warm(bb_index k, double width)
{
    double x = (double)(k % ACROSS) - 50.0;
    double y = (double)(k / ACROSS) - 38.0;
    double patch = (tanh((x + 14.0) / width) - tanh((x - 14.0) / width)) *
                   (tanh((y + 18.0) / width) - tanh((y - 18.0) / width));
    return in_disc(k % ACROSS, k / ACROSS) ? 0.05 + 0.001 * x + patch : 0.0;
}

TEST(nearest_is_what_an_absent_key_means)
{
    adversarial_fill(values, 1, COLUMNS, ADVERSARIAL_KINDS);
    for (int which = 0; which < CODECS; ++which) {
        const bb_codec_config absent = codec(which, -1);
        const bb_codec_config nearest = codec(which, BB_ROUNDING_NEAREST);
        round_trip(&absent, BB_ROW_SCALE_NONE, values, back);
        round_trip(&nearest, BB_ROW_SCALE_NONE, values, other);
        assert_memory_equal(back, other, sizeof back);
        assert_string_equal(bb_codec_rounding(&nearest), "nearest even");
    }
}

TEST(descriptions_say_it_and_other_codecs_refuse_it)
{
    char text[256];
    bb_codec_config config = codec(8, BB_ROUNDING_DIFFUSED);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "bfp 8 diffused");
    assert_string_equal(bb_codec_rounding(&config),
                        "nearest even, errors diffused over the row's mesh");
    assert_true(bb_codec_bits_per_value(&config) == 8.25);
    config = codec(2, BB_ROUNDING_DIFFUSED);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "e4m3 diffused");
    for (int which = 0; which < bb_codec_count(); ++which) {
        config.codec = which;
        config.bits = which == bb_codec_find("bfp") ? 6.0 : NAN;
        bool takes = which >= (int)BB_FORMAT_BF16 && which <= bb_codec_find("bfp");
        assert_int_equal(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text), takes);
        if (!takes) {
            assert_int_equal(strncmp(text, "rounding: ", 10), 0);
            assert_non_null(strstr(text, "codec "));
        }
    }
}

// -e of diffusion.h, by its definition: sum of the errors in the rectangle up to a value.
static double largest_rectangle_sum(const double *exact, const double *stored)
{
    static double above[ACROSS];
    double maximum = 0.0;
    memset(above, 0, sizeof above);
    for (bb_index j = 0; j < LINES; ++j) {
        double line = 0.0;
        for (bb_index i = 0; i < ACROSS; ++i) {
            line += stored[j * ACROSS + i] - exact[j * ACROSS + i];
            above[i] += line;
            maximum = fmax(maximum, fabs(above[i]));
        }
    }
    return maximum;
}

TEST(errors_of_a_rectangle_add_up_to_one_spacing)
{
    fill_kernel();
    double peak = 0.0;
    for (bb_index k = 0; k < COLUMNS; ++k) {
        peak = fmax(peak, fabs(values[k]));
    }
    for (int which = 0; which < CODECS; ++which) {
        const bb_codec_config config = codec(which, BB_ROUNDING_DIFFUSED);
        const bb_codec_config nearest = codec(which, -1);
        bb_row_scale scale = which < 4 ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
        round_trip(&config, scale, values, back);
        round_trip(&nearest, scale, values, other);
        double spacing = which < 4 ? 2.0 * bb_format_unit_roundoff((bb_format)config.codec) * peak
                                   : bb_diffusion_bfp_limit(which, peak);
        assert_true(largest_rectangle_sum(values, back) <= spacing);
        assert_true(largest_rectangle_sum(values, other) > 2.0 * spacing);
        for (bb_index k = 0; k < COLUMNS; ++k) {
            assert_true(values[k] != 0.0 || back[k] == 0.0);
        }
    }
}

static double error_of_sum(const double *exact, const double *stored, double width)
{
    double error = 0.0;
    double sum = 0.0;
    for (bb_index k = 0; k < COLUMNS; ++k) {
        error += (stored[k] - exact[k]) * warm(k, width);
        sum += exact[k] * warm(k, width);
    }
    return fabs(error / sum);
}

TEST(sums_with_a_smooth_input_gain_what_single_values_pay)
{
    const int codecs[] = {2, 8, 4}; // e4m3, bfp of 8 and of 4 bits
    fill_kernel();
    for (int c = 0; c < 3; ++c) {
        const bb_codec_config config = codec(codecs[c], BB_ROUNDING_DIFFUSED);
        const bb_codec_config nearest = codec(codecs[c], -1);
        bb_row_scale scale = codecs[c] < 4 ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
        double squares[2] = {0.0, 0.0};
        double rough[2] = {0.0, 0.0};
        for (int shift = 0; shift < 12; ++shift) { // rows of other sizes round differently
            for (bb_index k = 0; k < COLUMNS; ++k) {
                values[k] *= 1.05;
            }
            round_trip(&nearest, scale, values, other);
            round_trip(&config, scale, values, back);
            squares[0] += pow(error_of_sum(values, other, 5.0), 2.0);
            squares[1] += pow(error_of_sum(values, back, 5.0), 2.0);
            for (bb_index k = 0; k < COLUMNS; ++k) {
                rough[0] += pow(other[k] - values[k], 2.0);
                rough[1] += pow(back[k] - values[k], 2.0);
            }
        }
        print_message("%s: error of a smooth sum %.2e nearest, %.2e diffused; rms of a value %.2f "
                      "times\n",
                      c == 0   ? "e4m3"
                      : c == 1 ? "bfp 8"
                               : "bfp 4",
                      sqrt(squares[0] / 12.0), sqrt(squares[1] / 12.0), sqrt(rough[1] / rough[0]));
        assert_true(squares[1] < 0.01 * squares[0]);
        assert_true(rough[1] > 2.0 * rough[0] && rough[1] < 9.0 * rough[0]);
    }
}

// A tail of a fifth of the smallest spacing is lost completely by nearest rounding. rms over
// sixteen phases of the error of a sum with stripes of `width` cells, ones and zeros, whose edges
// are at `angle` to the lines of the mesh.
static double error_of_stripes(const double *exact, const double *stored, double width,
                               double angle)
{
    enum { PHASES = 16 };
    double squares = 0.0;
    for (int phase = 0; phase < PHASES; ++phase) {
        double sum = 0.0;
        for (bb_index k = 0; k < COLUMNS; ++k) {
            const double across =
                cos(angle) * (double)(k / ACROSS) - sin(angle) * (double)(k % ACROSS);
            const double stripe = floor(across / width + 2.0 * phase / PHASES);
            sum += fmod(fabs(stripe), 2.0) == 0.0 ? stored[k] - exact[k] : 0.0;
        }
        squares += sum * sum / PHASES;
    }
    return sqrt(squares);
}

// The mixed difference vanishes at edges along the axes of the mesh, but not at oblique ones:
// little is gained there (docs/manual/precision.md 2.9).
TEST(oblique_edges_gain_little)
{
    const double degree = acos(-1.0) / 180.0;
    static const int which[] = {2, 8, 4}; // e4m3, bfp8, bfp4
    fill_kernel();
    for (int c = 0; c < 3; ++c) {
        const bb_codec_config nearest = codec(which[c], BB_ROUNDING_NEAREST);
        const bb_codec_config diffused = codec(which[c], BB_ROUNDING_DIFFUSED);
        round_trip(&nearest, BB_ROW_SCALE_ROW, values, back);
        round_trip(&diffused, BB_ROW_SCALE_ROW, values, other);
        const double along =
            error_of_stripes(values, back, 8.0, 0.0) / error_of_stripes(values, other, 8.0, 0.0);
        const double oblique = error_of_stripes(values, back, 8.0, 30.0 * degree) /
                               error_of_stripes(values, other, 8.0, 30.0 * degree);
        print_message("stripes of 8 cells: along the axes %.0f times less, at 30 degrees %.1f\n",
                      along, oblique);
        assert_true(oblique < 5.0 && along > 4.0 * oblique);
    }
}

TEST(an_underflowed_tail_keeps_its_sum)
{
    const bb_codec_config config = codec(2, BB_ROUNDING_DIFFUSED);
    const bb_matrix_layout layout = {.rows = 1, .columns = COLUMNS, .mesh_columns = ACROSS};
    const double spacing = bb_format_smallest_subnormal(BB_FORMAT_E4M3);
    double sum = 0.0;
    bb_index zeros = 0;
    fill_array(values, COLUMNS, k, 0.2 * spacing);
    autoptr(bb_coded_matrix) matrix = encoded(&config, BB_ROW_SCALE_NONE, &layout, values);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, back);
    for (bb_index k = 0; k < COLUMNS; ++k) {
        sum += back[k];
        zeros += back[k] == 0.0;
    }
    check_close(sum, 0.2 * spacing * COLUMNS, 1.0, spacing);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), zeros);
    assert_true(zeros > COLUMNS / 4 && zeros < COLUMNS);
}

// Beyond the largest value no error is passed on; at it, the error stays within a spacing.
TEST(saturation_carries_nothing_on)
{
    const bb_codec_config config = codec(2, BB_ROUNDING_DIFFUSED);
    const bb_matrix_layout layout = {.rows = 1, .columns = COLUMNS, .mesh_columns = ACROSS};
    fill_array(values, COLUMNS, k, k % 3 == 0 ? 1e6 : k % 3 == 1 ? 447.0 : 1.0);
    values[7] = INFINITY;
    values[8] = NAN;
    autoptr(bb_coded_matrix) matrix = encoded(&config, BB_ROW_SCALE_NONE, &layout, values);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, back);
    assert_int_equal(bb_coded_matrix_saturated(matrix), COLUMNS / 3 + 1);
    for (bb_index k = 0; k < COLUMNS; ++k) {
        double bound = bb_codec_bound(&config, NAN, values[k], 448.0);
        assert_true(k == 8              ? isnan(back[k])
                    : values[k] > 448.0 ? back[k] == 448.0
                                        : fabs(back[k] - values[k]) <= bound);
    }
}

static const bb_matrix_layout layouts[] = {
    {.rows = 1, .columns = 1},
    {.rows = 3, .columns = 31, .mesh_columns = 31},
    {.rows = 2, .columns = 33, .mesh_columns = 11},
    {.rows = 9, .columns = 117, .mesh_columns = 13},
    {.rows = 5, .columns = 1237, .mesh_columns = 1},
    {.rows = 5, .columns = 1237},
    {.rows = 2, .columns = 4100, .mesh_columns = 100},
};

static double largest(const double *numbers, bb_index count)
{
    double maximum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        maximum = isnan(numbers[i]) ? INFINITY : fmax(maximum, fabs(numbers[i]));
    }
    return maximum;
}

static void check_row(const bb_codec_config *config, const double *exact, const double *stored,
                      bb_index columns)
{
    const bool plain = config->codec < (int)BB_FORMAT_COUNT;
    bb_codec_config nearest = *config;
    nearest.rounding = -1;
    double maximum = largest(exact, columns);
    for (bb_index j = 0; j < columns; ++j) {
        bb_index block = j / 32 * 32;
        double of_block = largest(exact + block, columns - block < 32 ? columns - block : 32);
        if (plain && !(fabs(exact[j]) <= bb_format_describe((bb_format)config->codec)->largest)) {
            double alone = bb_format_round((bb_format)config->codec, exact[j]);
            assert_true(isnan(alone) ? isnan(stored[j]) : stored[j] == alone);
        } else if (!plain && !isfinite(bb_codec_bound(&nearest, NAN, of_block, of_block))) {
            assert_true(isnan(stored[j]));
        } else if (!(fabs(stored[j] - exact[j]) <=
                     bb_codec_bound(config, NAN, fabs(exact[j]), maximum))) {
            char name[64];
            bb_codec_describe(config, name, sizeof name);
            print_error("%s: %g became %g, over %g, most %g\n", name, exact[j], stored[j],
                        bb_codec_bound(config, NAN, fabs(exact[j]), maximum), maximum);
            fail();
        }
    }
}

TEST(declared_bounds_hold)
{
    const int kinds[] = {1, ADVERSARIAL_FINITE, ADVERSARIAL_KINDS};
    static double source[8200], target[8200];
    for (int which = 0; which < CODECS; ++which) {
        const bb_codec_config config = codec(which, BB_ROUNDING_DIFFUSED);
        for (size_t l = 0; l < 3 * sizeof layouts / sizeof *layouts; ++l) {
            const bb_matrix_layout *layout = &layouts[l / 3];
            adversarial_fill(source, layout->rows, layout->columns, kinds[l % 3]);
            autoptr(bb_coded_matrix) matrix = encoded(&config, BB_ROW_SCALE_NONE, layout, source);
            for (bb_index row = 0; row < layout->rows; ++row) {
                bb_coded_matrix_decode(matrix, row, 0, layout->columns, target);
                check_row(&config, source + row * layout->columns, target, layout->columns);
            }
        }
    }
}

// Constant rows at and next to the largest mantissa and value: every possible clip occurs.
TEST(bounds_hold_where_everything_clips)
{
    for (int which = 0; which < CODECS; ++which) {
        const bb_codec_config config = codec(which, BB_ROUNDING_DIFFUSED);
        double top = which < 4 ? bb_format_describe((bb_format)config.codec)->largest
                               : ldexp(1.0, which - 1) - 1.0;
        for (int part = -3; part <= 3; ++part) {
            for (bb_index k = 0; k < COLUMNS; ++k) {
                double sign = part % 2 == 0 || k % 5 < 2 ? 1.0 : -1.0;
                values[k] =
                    sign * top * (1.0 + (part + (k % 7 == 0)) * 0.02 / (k % 64 < 32 ? 1 : 9));
            }
            round_trip(&config, BB_ROW_SCALE_NONE, values, back);
            check_row(&config, values, back, COLUMNS);
        }
    }
}

TEST(threads_and_bands_do_not_change_a_bit)
{
    enum { ROWS = 9, WIDTH = 117 };
    const bb_matrix_layout layout = {.rows = ROWS, .columns = WIDTH, .mesh_columns = 13};
    static double source[ROWS * WIDTH], one[WIDTH], three[WIDTH];
    adversarial_fill(source, ROWS, WIDTH, ADVERSARIAL_KINDS);
    for (int which = 0; which < CODECS; ++which) {
        const bb_codec_config config = codec(which, BB_ROUNDING_DIFFUSED);
        autoptr(bb_coded_matrix) whole = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, source);
        check_ok(bb_threads_set(3));
        autoptr(bb_coded_matrix) matrix = encoded(&config, BB_ROW_SCALE_NONE, &layout, source);
        check_ok(bb_threads_set(1));
        for (bb_index row = 0; row < ROWS; ++row) {
            bb_coded_matrix_decode(whole, row, 0, WIDTH, one);
            bb_coded_matrix_decode(matrix, row, 0, WIDTH, three);
            assert_memory_equal(one, three, sizeof one);
        }
        assert_int_equal(bb_coded_matrix_bytes(whole), bb_coded_matrix_bytes(matrix));
        assert_int_equal(bb_coded_matrix_underflowed(whole), bb_coded_matrix_underflowed(matrix));
        assert_int_equal(bb_coded_matrix_non_finite(whole), bb_coded_matrix_non_finite(matrix));
    }
}

TEST(every_failed_allocation_is_survived)
{
    const bb_matrix_layout *layout = &layouts[2];
    for (int which = 2; which < CODECS; which += 6) {
        const bb_codec_config config = codec(which, BB_ROUNDING_DIFFUSED);
        survive_failed_allocations(&config, layout, values);
    }
}
