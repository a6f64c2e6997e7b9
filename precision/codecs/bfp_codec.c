// SPDX-License-Identifier: Apache-2.0
//
// Block floating point: 32 values share the unit 2^e, mantissas are two's complement of 4 to 16
// bits, rounded to nearest, ties to even (layout in bfp_core.h).
//
// e is the least exponent with which the block's largest magnitude M rounds to at most
// 2^(bits-1) - 1, so that no value saturates and |error| <= 2^e / 2 <= 2^(1-bits) M / (1 - 2^-bits)
// for every value. Units are kept to [2^-126, 2^(129-bits)]: a block below it takes 2^-126 (values
// that become zero there are counted), a block beyond it or with a NaN or infinity is poisoned.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/bfp_core.h"
#include "precision/codecs/block_decoder.h"
#include "precision/codecs/diffusion.h"
#include "precision/codecs/plane.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024, PIECE_BLOCKS = PIECE / BB_BLOCK };

typedef struct bfp_store {
    bb_bfp_layout layout;
    unsigned char *rows; // [rows][layout.bytes]
} bfp_store;

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    double bits = config->bits;
    if (bits >= BB_BFP_LEAST_BITS && bits <= BB_BFP_MOST_BITS && bits == floor(bits)) {
        return true;
    }
    if (isnan(bits)) {
        (void)snprintf(sentence, bytes, "bits: not given, bfp needs it");
    } else {
        (void)snprintf(sentence, bytes, "bits: %g, bfp takes whole numbers from %d to %d", bits,
                       (int)BB_BFP_LEAST_BITS, (int)BB_BFP_MOST_BITS);
    }
    return false;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "bfp %g%s", config->bits,
                   bb_codec_diffuses(config) ? " diffused" : "");
}

static const char *rounding(const bb_codec_config *config)
{
    return bb_codec_diffuses(config) ? BB_DIFFUSED_ROUNDING : "nearest even";
}

// floor(log2 M) after M is rounded up past all mantissas but the largest, less the bits below it.
static inline int exponent_of(uint64_t magnitude_bits, int bits)
{
    uint64_t rounded = magnitude_bits + ((uint64_t)1 << (53 - bits));
    return (int)(rounded >> 52) - 1023 - bits + 2;
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    (void)tolerance;
    int bits = (int)config->bits;
    if (bb_codec_diffuses(config)) {
        // What neighbours left over, and half of a unit that is no larger than the row's largest.
        double unit = bb_diffusion_bfp_limit(bits, block_magnitude);
        double beyond = ldexp(ldexp(1.0, bits - 1) - 0.5, bb_bfp_most_exponent(bits));
        return magnitude < beyond ? 3.5 * unit * (1.0 + 0x1p-40) : INFINITY;
    }
    int exponent = exponent_of(bb_format_bits_of_f64(fabs(block_magnitude)), bits);
    exponent = exponent < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : exponent;
    return exponent > bb_bfp_most_exponent(bits) ? INFINITY : ldexp(0.5, exponent);
}

static double bits_per_value(const bb_codec_config *config)
{
    return config->bits + 8.0 / BB_BLOCK;
}

static bb_codec_form form(const bb_codec_config *config)
{
    return (bb_codec_form){.kind = BB_FORM_BLOCKS, .bits = (int)config->bits};
}

static void fill_in(bb_codec_config *config)
{
    config->block = BB_BLOCK;
}

static bb_status create(bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    bfp_store *store = NULL;
    matrix->piece_columns = PIECE;
    BB_TRY(BB_ZEROED(1, &store));
    matrix->store = store;
    store->layout = bb_bfp_layout_of((int)matrix->config.bits, matrix->layout.columns);
    BB_TRY(bb_memory_zeroed(matrix->layout.rows, store->layout.bytes, (void **)&store->rows));
done:
    return status;
}

static void destroy(bb_coded_matrix *matrix)
{
    bfp_store *store = matrix->store;
    if (store != NULL) {
        BB_RELEASE(&store->rows);
        BB_RELEASE(&matrix->store);
    }
}

// A block that cannot be held: the values at fault are counted.
static void poison(const double scaled[BB_BLOCK], double limit, int32_t mantissas[BB_BLOCK],
                   bb_codec_counts *counts)
{
    for (int i = 0; i < BB_BLOCK; ++i) {
        counts->non_finite += !(fabs(scaled[i]) < limit);
        mantissas[i] = 0;
    }
}

static void count_lost(const double scaled[BB_BLOCK], const int32_t mantissas[BB_BLOCK],
                       bb_codec_counts *counts)
{
    for (int i = 0; i < BB_BLOCK; ++i) {
        counts->underflowed += mantissas[i] == 0 && scaled[i] != 0.0;
    }
}

// `fixed`: exponents stand, and hold the values.
BB_CLONES static void encode_blocks(const bb_bfp_layout *layout, const double *values, double scale,
                                    bool fixed, bb_index first, bb_index count, unsigned char *row,
                                    bb_codec_counts *counts)
{
    const int bits = layout->bits;
    const int limit = bb_bfp_most_exponent(bits);
    for (bb_index b = 0; b < count; ++b) {
        double scaled[BB_BLOCK];
        int32_t mantissas[BB_BLOCK];
        int64_t largest = 0;
        for (int i = 0; i < BB_BLOCK; ++i) {
            scaled[i] = scale * values[b * BB_BLOCK + i];
            int64_t magnitude = (int64_t)(bb_format_bits_of_f64(scaled[i]) & INT64_MAX);
            largest = magnitude > largest ? magnitude : largest;
        }
        size_t block = (size_t)(first + b);
        int wanted = fixed ? bb_plane_signed(row[layout->exponents + block], 8)
                           : exponent_of((uint64_t)largest, bits);
        int exponent = wanted < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : wanted;
        double per_unit = bb_format_f64_of_bits((uint64_t)(1023 - exponent) << 52);
        for (int i = 0; i < BB_BLOCK; ++i) {
            // 1.5 x 2^52 leaves no room for fractions: the low word is the rounded integer.
            double rounded = scaled[i] * per_unit + 0x1.8p52;
            mantissas[i] = (int32_t)(uint32_t)bb_format_bits_of_f64(rounded);
        }
        if (wanted > limit) {
            poison(scaled, ldexp(ldexp(1.0, bits - 1) - 0.5, limit), mantissas, counts);
            exponent = BB_BFP_POISONED;
        } else if (wanted < BB_BFP_LEAST_EXPONENT) {
            count_lost(scaled, mantissas, counts);
        }
        int shift = bits;
#define PLANE(k)                                                                                   \
    if ((bits >> (k)&1) != 0) {                                                                    \
        shift -= 1 << (k);                                                                         \
        bb_plane_pack(mantissas, shift, 1 << (k), row + layout->plane[k] + block * (4u << (k)));   \
    }
        PLANE(4)
        PLANE(3)
        PLANE(2)
        PLANE(1)
        PLANE(0)
#undef PLANE
        row[layout->exponents + block] = (unsigned char)exponent;
    }
}

// Mantissas of a block, its planes put together.
BB_PLANE_FUNCTION void unpack_block(const bb_bfp_layout *layout, const unsigned char *row,
                                    size_t block, int32_t mantissas[BB_BLOCK])
{
    const int bits = layout->bits;
    uint32_t values[BB_BLOCK] = {0};
#define PLANE(k)                                                                                   \
    if ((bits >> (k)&1) != 0) {                                                                    \
        bb_plane_unpack(row + layout->plane[k] + block * (4u << (k)), 1 << (k), values);           \
    }
    PLANE(4)
    PLANE(3)
    PLANE(2)
    PLANE(1)
    PLANE(0)
#undef PLANE
    for (int i = 0; i < BB_BLOCK; ++i) {
        mantissas[i] = bb_plane_signed(values[i], bits);
    }
}

BB_CLONES static void decode_blocks_f32(const bb_bfp_layout *layout, const unsigned char *row,
                                        bb_index first, bb_index count, float *out)
{
    for (bb_index b = first; b < first + count; ++b) {
        int32_t mantissas[BB_BLOCK];
        float unit = bb_bfp_unit(layout, row, b);
        if (layout->bits == 8) { // no planes to put together: three times as fast
            const signed char *bytes = (const signed char *)row + layout->plane[3] + b * BB_BLOCK;
            for (int i = 0; i < BB_BLOCK; ++i) {
                *out++ = (float)bytes[i] * unit;
            }
            continue;
        }
        unpack_block(layout, row, (size_t)b, mantissas);
        for (int i = 0; i < BB_BLOCK; ++i) {
            *out++ = (float)mantissas[i] * unit;
        }
    }
}

BB_CLONES static void decode_blocks_f64(const bb_bfp_layout *layout, const unsigned char *row,
                                        bb_index first, bb_index count, double *out)
{
    for (bb_index b = first; b < first + count; ++b) {
        int32_t mantissas[BB_BLOCK];
        double unit = (double)bb_bfp_unit(layout, row, b);
        if (layout->bits == 8) { // no planes to put together: three times as fast
            const signed char *bytes = (const signed char *)row + layout->plane[3] + b * BB_BLOCK;
            for (int i = 0; i < BB_BLOCK; ++i) {
                *out++ = (double)bytes[i] * unit;
            }
            continue;
        }
        unpack_block(layout, row, (size_t)b, mantissas);
        for (int i = 0; i < BB_BLOCK; ++i) {
            *out++ = (double)mantissas[i] * unit;
        }
    }
}

static unsigned char *row_at(const bb_coded_matrix *matrix, bb_index row)
{
    const bfp_store *store = matrix->store;
    return store->rows + (size_t)row * store->layout.bytes;
}

static void encode_row(const bb_coded_matrix *matrix, bb_index row, const double *values,
                       double scale, bool fixed, bb_codec_counts *counts)
{
    const bfp_store *store = matrix->store;
    unsigned char *out = row_at(matrix, row);
    bb_index full_blocks = matrix->layout.columns / BB_BLOCK;
    bb_index rest = matrix->layout.columns % BB_BLOCK;
    encode_blocks(&store->layout, values, scale, fixed, 0, full_blocks, out, counts);
    if (rest != 0) {
        double last[BB_BLOCK] = {0.0};
        memcpy(last, values + full_blocks * BB_BLOCK, (size_t)rest * sizeof *last);
        encode_blocks(&store->layout, last, scale, fixed, full_blocks, 1, out, counts);
    }
}

// An exponent, the largest that there is where the block wants more.
static void fix_block(bb_coded_matrix *matrix, bb_index row, bb_index block,
                      const double scaled[BB_BLOCK])
{
    const bb_bfp_layout *layout = &((const bfp_store *)matrix->store)->layout;
    const int limit = bb_bfp_most_exponent(layout->bits);
    double largest = 0.0;
    for (int i = 0; i < BB_BLOCK; ++i) {
        largest = fmax(largest, fabs(scaled[i]));
    }
    int exponent = exponent_of(bb_format_bits_of_f64(largest), layout->bits);
    exponent = exponent < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : exponent;
    exponent = exponent > limit ? limit : exponent;
    row_at(matrix, row)[layout->exponents + (size_t)block] = (unsigned char)exponent;
}

static void fix_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    const bb_index columns = matrix->layout.columns;
    const double scale = bb_coded_matrix_scale_row(matrix, BB_FORMAT_FP32, row, values);
    for (bb_index j = 0; j < columns; j += BB_BLOCK) {
        double scaled[BB_BLOCK] = {0.0};
        for (int i = 0; i < BB_BLOCK && j + i < columns; ++i) {
            scaled[i] = scale * values[j + i];
        }
        fix_block(matrix, row, j / BB_BLOCK, scaled);
    }
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const bb_bfp_layout *layout = &((const bfp_store *)matrix->store)->layout;
    const double top = (double)((1 << (layout->bits - 1)) - 1);
    const double unit = (double)bb_bfp_unit(layout, row_at(matrix, row), column / BB_BLOCK);
    double mantissa = scaled / unit; // exact: a power of two
    mantissa = mantissa > top ? top : mantissa;
    mantissa = mantissa < -top ? -top : mantissa;
    return ((mantissa + 0x1.8p52) - 0x1.8p52) * unit;
}

static bb_status encode_fixed(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_codec_counts counts = {0};
    encode_row(matrix, row, bb_view_row(panel, 0), bb_coded_matrix_row_scale(matrix, row), true,
               &counts);
    bb_coded_matrix_count(matrix, counts);
    return BB_OK;
}

static bb_status encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    bool diffused = bb_codec_diffuses(&matrix->config);
    bb_index columns = matrix->layout.columns;
    bb_index across = bb_coded_matrix_across(matrix);
    bb_codec_counts counts = {0};
    double *rounded = NULL; // [columns], of diffused rounding
    double *above = NULL;   // [across]
    if (diffused) {
        BB_TRY(BB_ALLOCATE(columns, &rounded));
        BB_TRY(BB_ALLOCATE(across, &above));
    }
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i);
        double scale = bb_coded_matrix_scale_row(matrix, BB_FORMAT_FP32, row + i, values);
        if (diffused) {
            counts.underflowed += bb_diffusion_bfp((int)matrix->config.bits, scale, values, columns,
                                                   across, above, rounded);
            values = rounded;
            scale = 1.0;
        }
        encode_row(matrix, row + i, values, scale, false, &counts);
    }
    bb_coded_matrix_count(matrix, counts);
done:
    BB_RELEASE(&rounded);
    BB_RELEASE(&above);
    return status;
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *out)
{
    const bfp_store *store = matrix->store;
    bb_index count = bb_coded_matrix_piece_count(matrix, piece);
    bb_index first = piece * PIECE_BLOCKS;
    bb_index full_blocks = count / BB_BLOCK;
    decode_blocks_f32(&store->layout, row_at(matrix, group), first, full_blocks, out);
    if (count % BB_BLOCK != 0) {
        float last[BB_BLOCK];
        decode_blocks_f32(&store->layout, row_at(matrix, group), first + full_blocks, 1, last);
        memcpy(out + full_blocks * BB_BLOCK, last, (size_t)(count % BB_BLOCK) * sizeof *last);
    }
}

static void decode_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                          bb_index count, double *out)
{
    const bfp_store *store = matrix->store;
    decode_blocks_f64(&store->layout, row_at(matrix, row), block, count, out);
}

static void decode(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   double *out)
{
    bb_block_decoder_apply(decode_blocks, matrix, row, column, count, out);
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece, double *out)
{
    decode(matrix, group, piece * PIECE, bb_coded_matrix_piece_count(matrix, piece), out);
}

static size_t bytes(const bb_coded_matrix *matrix)
{
    const bfp_store *store = matrix->store;
    return (size_t)matrix->layout.rows * store->layout.bytes;
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .rounding = rounding,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .draw_range = bb_codec_draw_octave,
    .form = form,
    .fill_in = fill_in,
    .create = create,
    .destroy = destroy,
    .encode = encode,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .decode = decode,
    .bytes = bytes,
    .fix_row = fix_row,
    .fix_block = fix_block,
    .round = round_one,
    .encode_fixed = encode_fixed,
};

static const char *const taken[] = {"bits", "block", "rounding", NULL};

const bb_codec_row bb_bfp_row = {
    .name = "bfp",
    .takes = taken,
    .takes_row_scale = true,
    .sums_in_runs = true,
    .seconds = 4e-9,
    .ladders = {{"bits", "", BB_BFP_LEAST_BITS, BB_BFP_MOST_BITS - BB_BFP_LEAST_BITS + 1, false}},
    .ops = &operations,
};

const unsigned char *bb_coded_matrix_bfp_row(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->row == &bb_bfp_row ? row_at(matrix, row) : NULL;
}
