// SPDX-License-Identifier: Apache-2.0
//
// Plain formats: every value a word of its own, rows one after the other.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/diffusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024, CHUNK = 512 };

static bb_format format_of(const bb_codec_config *config)
{
    return (bb_format)config->codec;
}

static size_t word_bytes(const bb_coded_matrix *matrix)
{
    return (size_t)bb_format_describe(format_of(&matrix->config))->bytes;
}

static unsigned char *words_at(const bb_coded_matrix *matrix, bb_index row, bb_index column)
{
    return (unsigned char *)matrix->store +
           (size_t)(row * matrix->layout.columns + column) * word_bytes(matrix);
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "%s%s", bb_codec_name(config->codec),
                   bb_codec_diffuses(config) ? " diffused" : "");
}

static const char *rounding(const bb_codec_config *config)
{
    return bb_codec_diffuses(config) ? BB_DIFFUSED_ROUNDING : "nearest even";
}

// What neighbours left over, and what rounding the sum does; sums in fp64 besides.
static double diffused_bound(bb_format format, double magnitude, double row_magnitude)
{
    const double limit = bb_diffusion_format_limit(format, fmax(magnitude, row_magnitude));
    const double rounded = fmax(bb_format_unit_roundoff(format) * (magnitude + 3.0 * limit),
                                0.5 * bb_format_smallest_subnormal(format));
    return (3.0 * limit + rounded) * (1.0 + 0x1p-40);
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    (void)tolerance;
    bb_format format = format_of(config);
    const bb_format_info *info = bb_format_describe(format);
    if (format == BB_FORMAT_FP64) {
        return 0.0;
    }
    // Beyond the largest value and half a spacing a value becomes infinite or saturates.
    double spacing = ldexp(info->largest, 1 - info->significand);
    if (bb_codec_diffuses(config) && magnitude <= info->largest) {
        return diffused_bound(format, magnitude, block_magnitude);
    }
    return magnitude >= info->largest + 0.25 * spacing
               ? INFINITY
               : fmax(bb_format_unit_roundoff(format) * magnitude,
                      0.5 * bb_format_smallest_subnormal(format));
}

static double bits_per_value(const bb_codec_config *config)
{
    return 8.0 * bb_format_describe(format_of(config))->bytes;
}

static bb_codec_form form(const bb_codec_config *config)
{
    return (bb_codec_form){.kind = BB_FORM_WORDS, .format = format_of(config)};
}

static bb_status create(bb_coded_matrix *matrix)
{
    size_t row_bytes = (size_t)matrix->layout.columns * word_bytes(matrix);
    matrix->piece_columns = PIECE;
    return bb_memory_zeroed(matrix->layout.rows, row_bytes, &matrix->store);
}

static void destroy(bb_coded_matrix *matrix)
{
    BB_RELEASE(&matrix->store);
}

// Scales a chunk and counts what the format will turn to zero.
BB_CLONES static bb_index scale_chunk(const double *values, double scale, double lost,
                                      bb_index count, double *out)
{
    bb_index underflowed = 0;
    for (bb_index i = 0; i < count; ++i) {
        out[i] = scale * values[i];
        underflowed += (fabs(out[i]) <= lost) & (values[i] != 0.0);
    }
    return underflowed;
}

static void fix_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    (void)bb_coded_matrix_scale_row(matrix, format_of(&matrix->config), row, values);
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const bb_format format = format_of(&matrix->config);
    const double largest = bb_format_describe(format)->largest;
    const double rounded = bb_format_round(format, scaled);
    (void)row;
    (void)column;
    return fabs(rounded) > largest ? copysign(largest, rounded) : rounded;
}

// With the scale that stands.
static void encode_words(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    double scaled[CHUNK];
    bb_format format = format_of(&matrix->config);
    // Half the spacing ties to even, to zero.
    double lost = 0.5 * bb_format_smallest_subnormal(format);
    double scale = bb_coded_matrix_row_scale(matrix, row);
    bb_codec_counts counts = {0};
    if (format == BB_FORMAT_FP64 && scale == 1.0) {
        (void)bb_format_encode(format, values, matrix->layout.columns, words_at(matrix, row, 0));
        return;
    }
    for (bb_index begin = 0; begin < matrix->layout.columns; begin += CHUNK) {
        bb_index rest = matrix->layout.columns - begin;
        bb_index count = rest < CHUNK ? rest : CHUNK;
        counts.underflowed += scale_chunk(values + begin, scale, lost, count, scaled);
        counts.saturated += bb_format_encode(format, scaled, count, words_at(matrix, row, begin));
    }
    bb_coded_matrix_count(matrix, counts);
}

static bb_status encode_diffused(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    bb_format format = format_of(&matrix->config);
    bb_index columns = matrix->layout.columns;
    bb_index across = bb_coded_matrix_across(matrix);
    double *rounded = NULL; // [columns]
    double *above = NULL;   // [across]
    BB_TRY(BB_ALLOCATE(columns, &rounded));
    BB_TRY(BB_ALLOCATE(across, &above));
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i);
        double scale = bb_coded_matrix_scale_row(matrix, format, row + i, values);
        bb_codec_counts counts = {0};
        counts.underflowed =
            bb_diffusion_format(format, scale, values, columns, across, above, rounded);
        counts.saturated = bb_format_encode(format, rounded, columns, words_at(matrix, row + i, 0));
        bb_coded_matrix_count(matrix, counts);
    }
done:
    BB_RELEASE(&rounded);
    BB_RELEASE(&above);
    return status;
}

static bb_status encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    if (bb_codec_diffuses(&matrix->config)) {
        return encode_diffused(matrix, row, panel);
    }
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        fix_row(matrix, row + i, bb_view_row(panel, i));
        encode_words(matrix, row + i, bb_view_row(panel, i));
    }
    return BB_OK;
}

static bb_status encode_fixed(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    encode_words(matrix, row, bb_view_row(panel, 0));
    return BB_OK;
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *out)
{
    bb_index count = bb_coded_matrix_piece_count(matrix, piece);
    const unsigned char *words = words_at(matrix, group, piece * PIECE);
    if (format_of(&matrix->config) != BB_FORMAT_FP64) {
        bb_format_decode_f32(format_of(&matrix->config), words, count, out);
        return;
    }
    for (bb_index i = 0; i < count; ++i) {
        out[i] = (float)((const double *)(const void *)words)[i];
    }
}

static void decode(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   double *out)
{
    bb_format_decode(format_of(&matrix->config), words_at(matrix, row, column), count, out);
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece, double *out)
{
    decode(matrix, group, piece * PIECE, bb_coded_matrix_piece_count(matrix, piece), out);
}

static size_t bytes(const bb_coded_matrix *matrix)
{
    return (size_t)(matrix->layout.rows * matrix->layout.columns) * word_bytes(matrix);
}

static const bb_codec_ops operations = {
    .describe = describe,
    .rounding = rounding,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .draw_range = bb_codec_draw_octave,
    .form = form,
    .create = create,
    .destroy = destroy,
    .encode = encode,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .decode = decode,
    .bytes = bytes,
    .fix_row = fix_row,
    .round = round_one,
    .encode_fixed = encode_fixed,
};

static const char *const narrow_keys[] = {"rounding", NULL};

#define PLAIN_ROW(format, taken)                                                                   \
    const bb_codec_row bb_##format##_row = {.name = #format,                                       \
                                            .takes = (taken),                                      \
                                            .takes_row_scale = true,                               \
                                            .sums_in_runs = true,                                  \
                                            .seconds = 4e-9,                                       \
                                            .ops = &operations}
PLAIN_ROW(fp64, NULL);
PLAIN_ROW(fp32, NULL);
PLAIN_ROW(tf32, NULL);
PLAIN_ROW(bf16, narrow_keys);
PLAIN_ROW(fp16, narrow_keys);
PLAIN_ROW(e4m3, narrow_keys);
PLAIN_ROW(e5m2, narrow_keys);

const void *bb_coded_matrix_words(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->ops == &operations ? words_at(matrix, row, 0) : NULL;
}

bb_format bb_coded_matrix_format(const bb_coded_matrix *matrix)
{
    return format_of(&matrix->config);
}
