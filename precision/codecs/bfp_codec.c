// SPDX-License-Identifier: Apache-2.0
//
// Block floating point: 32 values share the unit 2^e, mantissas are two's complement of 4 to 16
// bits, rounded to nearest, ties to even (layout in bfp_core.h).
//
// e is the smallest exponent for which the block's largest magnitude M rounds to at most 2^(bits-1)
// - 1, so no value saturates and |error| <= 2^e / 2 <= 2^(1-bits) M / (1 - 2^-bits) for every
// value. Units are limited to [2^-126, 2^(129-bits)]: a smaller block uses 2^-126 (values that
// become zero are counted); a larger block or one with a NaN or infinity is poisoned.
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/bfp_core.h"
#include "precision/codecs/diffusion.h"
#include "precision/codecs/plane.h"

#include <math.h>

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    (void)tolerance;
    int bits = (int)config->bits;
    if (bb_codec_diffuses(config)) {
        // Error passed on by the neighbours, and half of a unit for at most the row's largest
        // value.
        double unit = bb_diffusion_bfp_limit(bits, block_magnitude);
        return magnitude < bb_bfp_beyond(bits) ? 3.5 * unit * (1.0 + 0x1p-40) : INFINITY;
    }
    int exponent = bb_bfp_exponent_of(bb_format_bits_of_f64(fabs(block_magnitude)), bits);
    exponent = exponent < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : exponent;
    return exponent > bb_bfp_most_exponent(bits) ? INFINITY : ldexp(0.5, exponent);
}

static double bits_per_value(const bb_codec_config *config)
{
    return config->bits + 8.0 / BB_BLOCK;
}

static const bb_bfp_layout *layout_of(const bb_coded_matrix *matrix)
{
    return matrix->store;
}

static bb_status create(bb_coded_matrix *matrix)
{
    bb_bfp_layout *layout = matrix->store;
    *layout = bb_bfp_layout_of((int)matrix->config.bits, matrix->layout.columns);
    matrix->row_bytes = layout->bytes;
    return BB_OK;
}

// Poisons a block that cannot be represented and counts the offending values.
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

// Planes of widths 2^4 to 2^0.
#define EACH_PLANE(PLANE) PLANE(4) PLANE(3) PLANE(2) PLANE(1) PLANE(0)

// `fixed`: exponents are already set for the row and large enough for the values.
BB_CLONES static void pack_blocks(const bb_bfp_layout *layout, const double *values, double scale,
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
                           : bb_bfp_exponent_of((uint64_t)largest, bits);
        int exponent = wanted < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : wanted;
        double per_unit = bb_bfp_per_unit(exponent);
        for (int i = 0; i < BB_BLOCK; ++i) {
            mantissas[i] = bb_bfp_rounded(scaled[i], per_unit);
        }
        if (wanted > limit) {
            poison(scaled, bb_bfp_beyond(bits), mantissas, counts);
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
        EACH_PLANE(PLANE)
#undef PLANE
        row[layout->exponents + block] = (unsigned char)exponent;
    }
}

// Assembles the mantissas of a block from its planes.
BB_PLANE_FUNCTION void unpack_block(const bb_bfp_layout *layout, const unsigned char *row,
                                    size_t block, int32_t mantissas[BB_BLOCK])
{
    const int bits = layout->bits;
    uint32_t values[BB_BLOCK] = {0};
#define PLANE(k)                                                                                   \
    if ((bits >> (k)&1) != 0) {                                                                    \
        bb_plane_unpack(row + layout->plane[k] + block * (4u << (k)), 1 << (k), values);           \
    }
    EACH_PLANE(PLANE)
#undef PLANE
    for (int i = 0; i < BB_BLOCK; ++i) {
        mantissas[i] = bb_plane_signed(values[i], bits);
    }
}

// Products with the unit are exact, in fp32 too.
BB_PLANE_FUNCTION void unpack_blocks(const bb_coded_matrix *matrix, bb_index number, bb_index first,
                                     bb_index count, bool wide, void *out)
{
    const bb_bfp_layout *layout = layout_of(matrix);
    const unsigned char *row = bb_coded_matrix_row(matrix, number);
    unsigned char *target = out;
    for (bb_index b = first; b < first + count; ++b, target += wide ? 8 * BB_BLOCK : 4 * BB_BLOCK) {
        const float unit = bb_bfp_unit(layout, row, b);
        if (layout->bits == 8) { // no planes to put together: three times as fast
            const unsigned char *bytes = row + layout->plane[3] + b * BB_BLOCK;
            bb_plane_scale_bytes((const signed char *)bytes, unit, wide, target);
        } else {
            int32_t mantissas[BB_BLOCK];
            unpack_block(layout, row, (size_t)b, mantissas);
            bb_plane_scale(mantissas, unit, wide, target);
        }
    }
}

static void encode_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                          bb_index count, const double *values, double scale, bool fixed,
                          bb_codec_counts *counts)
{
    pack_blocks(layout_of(matrix), values, scale, fixed, block, count,
                bb_coded_matrix_row(matrix, row), counts);
}

static bb_index diffuse(const bb_codec_config *config, double scale, const double *values,
                        bb_index columns, bb_index across, double *above, double *out)
{
    return bb_diffusion_bfp((int)config->bits, scale, values, columns, across, above, out);
}

// Sets an exponent, limited to the largest one.
static void fix_block(bb_coded_matrix *matrix, bb_index row, bb_index block,
                      const double scaled[BB_BLOCK])
{
    const bb_bfp_layout *layout = layout_of(matrix);
    const int limit = bb_bfp_most_exponent(layout->bits);
    double largest = 0.0;
    for (int i = 0; i < BB_BLOCK; ++i) {
        largest = fmax(largest, fabs(scaled[i]));
    }
    int exponent = bb_bfp_exponent_of(bb_format_bits_of_f64(largest), layout->bits);
    exponent = exponent < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : exponent;
    exponent = exponent > limit ? limit : exponent;
    bb_coded_matrix_row(matrix, row)[layout->exponents + (size_t)block] = (unsigned char)exponent;
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const bb_bfp_layout *layout = layout_of(matrix);
    const double top = (double)((1 << (layout->bits - 1)) - 1);
    const double unit =
        (double)bb_bfp_unit(layout, bb_coded_matrix_row(matrix, row), column / BB_BLOCK);
    double mantissa = scaled / unit; // exact: a power of two
    mantissa = mantissa > top ? top : mantissa;
    mantissa = mantissa < -top ? -top : mantissa;
    return ((mantissa + 0x1.8p52) - 0x1.8p52) * unit;
}

BB_PLANE_DECODERS

static const bb_codec_ops operations = {
    .bound = bound,
    .bits_per_value = bits_per_value,
    .create = create,
    .encode_blocks = encode_blocks,
    .diffuse = diffuse,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .fix_block = fix_block,
    .round = round_one,
};

static const char *const shared_keys[] = {"bits", "block", "rounding", NULL};

const bb_codec_row bb_bfp_row = {
    .name = "bfp",
    .shared_keys = shared_keys,
    .bits = {BB_BFP_LEAST_BITS, BB_BFP_MOST_BITS},
    .defaults = {.block = BB_BLOCK},
    .form = BB_FORM_BLOCKS,
    .unit = BB_BLOCK,
    .store_bytes = sizeof(bb_bfp_layout),
    .takes_row_scale = true,
    .sums_in_runs = true,
    .seconds = 4e-9,
    .ladders = {{"bits", "", BB_BFP_LEAST_BITS, BB_BFP_MOST_BITS - BB_BFP_LEAST_BITS + 1, false}},
    .ops = &operations,
};

const unsigned char *bb_coded_matrix_bfp_row(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->row == &bb_bfp_row ? bb_coded_matrix_row(matrix, row) : NULL;
}
