// SPDX-License-Identifier: Apache-2.0
//
// Plain formats: every value is a separate word, rows are contiguous.
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/diffusion.h"

#include <math.h>

enum { CHUNK = 512 };

static bb_format format_of(const bb_codec_config *config)
{
    return (bb_format)config->codec;
}

static bb_index word_bytes(const bb_coded_matrix *matrix)
{
    return bb_format_describe(format_of(&matrix->config))->bytes;
}

static unsigned char *words_at(const bb_coded_matrix *matrix, bb_index row, bb_index column)
{
    return bb_coded_matrix_row(matrix, row) + column * word_bytes(matrix);
}

// Errors of the neighbours, rounding of the sum, and rounding of sums in fp64.
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

static double largest(const bb_codec_config *config)
{
    const bb_format_info *info = bb_format_describe(format_of(config));
    return info->bytes <= 2 ? info->largest : 1.0;
}

static bb_status create(bb_coded_matrix *matrix)
{
    matrix->row_bytes = (size_t)(matrix->layout.columns * word_bytes(matrix));
    return BB_OK;
}

// Scales a chunk and counts the values that the format flushes to zero.
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

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const bb_format format = format_of(&matrix->config);
    const double most = bb_format_describe(format)->largest;
    const double rounded = bb_format_round(format, scaled);
    (void)row;
    (void)column;
    return fabs(rounded) > most ? copysign(most, rounded) : rounded;
}

static void encode_row(const bb_coded_matrix *matrix, bb_index row, const double *values,
                       double scale, bb_codec_counts *counts)
{
    double scaled[CHUNK];
    const bb_format format = format_of(&matrix->config);
    // Half the spacing ties to even, that is to zero.
    const double lost = 0.5 * bb_format_smallest_subnormal(format);
    if (format == BB_FORMAT_FP64 && scale == 1.0) {
        (void)bb_format_encode(format, values, matrix->layout.columns, words_at(matrix, row, 0));
        return;
    }
    for (bb_index begin = 0; begin < matrix->layout.columns; begin += CHUNK) {
        const bb_index rest = matrix->layout.columns - begin;
        const bb_index count = rest < CHUNK ? rest : CHUNK;
        counts->underflowed += scale_chunk(values + begin, scale, lost, count, scaled);
        counts->saturated += bb_format_encode(format, scaled, count, words_at(matrix, row, begin));
    }
}

static bb_index diffuse(const bb_codec_config *config, double scale, const double *values,
                        bb_index columns, bb_index across, double *above, double *out)
{
    return bb_diffusion_format(format_of(config), scale, values, columns, across, above, out);
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       float *out)
{
    const void *words = words_at(matrix, row, column);
    if (format_of(&matrix->config) != BB_FORMAT_FP64) {
        bb_format_decode_f32(format_of(&matrix->config), words, count, out);
        return;
    }
    for (bb_index i = 0; i < count; ++i) {
        out[i] = (float)((const double *)words)[i];
    }
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       double *out)
{
    bb_format_decode(format_of(&matrix->config), words_at(matrix, row, column), count, out);
}

static const bb_codec_ops operations = {
    .bound = bound,
    .bits_per_value = bits_per_value,
    .largest = largest,
    .create = create,
    .encode_row = encode_row,
    .diffuse = diffuse,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .round = round_one,
};

static const char *const narrow_keys[] = {"rounding", NULL};

#define PLAIN_ROW(format, taken)                                                                   \
    const bb_codec_row bb_##format##_row = {.name = #format,                                       \
                                            .shared_keys = (taken),                                \
                                            .form = BB_FORM_WORDS,                                 \
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
