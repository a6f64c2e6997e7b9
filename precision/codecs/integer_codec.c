// SPDX-License-Identifier: Apache-2.0
//
// integer: integers of 2 to 16 bits with one step per row.
//
// step = max|row| / top in fp32, top = 2^(bits-1) - 1; a word is value / step, rounded to the
// nearest integer, ties to even, and clipped to +-top; a value is word * step, exact in fp64, one
// rounding in fp32. A step for which top * step would overflow fp32 is replaced by the next smaller
// one. A row of magnitudes up to 2^-150 top has step 0: its values become zero, and the nonzero
// ones are counted.
//
// Bound: |error| <= step / 2 + top |step - max|row| / top|. The second term is fp32's rounding of
// the step, below 2^-9 of the first unless the step is subnormal; values may then be clipped, which
// is counted.
//
// clip: best replaces max|row| by a fraction of it, one of 1, 0.98, 0.95, 0.92, 0.88, 0.83, 0.77,
// 0.70, 0.62, 0.53, 0.43 and 0.32: the one with the smallest sum of squared errors in the row, the
// larger of equal ones; or the one chosen by a caller with its own norm. Larger values are clipped
// and counted. The ladder is denser towards 1, the optimum of rows with many bits: for a
// reconstructor rounded in the sweep the median row's is 0.45 with 2 bits, 0.6 to 0.8 with 4, 0.92
// to 0.96 with 6, 0.98 to 1 with 8. With 4 bits twelve fractions come within a tenth to a fifth of
// the error of 81. Then |error| <= max|row| - top * step(0.32), or the bound above.
//
// A row with a NaN, an infinity or a value beyond fp32 has step NaN and decodes to NaN throughout.
//
// A row consists of words in blocks of 32, the last padded with zeros. A block is `bits` words of
// 32 bits: the planes of plane_core.h one after the other, the widest first. So 8 bits are bytes in
// order and 16 bits little-endian words. The step is the last four bytes of a row.
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/integer_core.h"
#include "precision/codecs/plane.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_BITS = 2, MOST_BITS = 16 };

enum { CLIP };
enum { CLIP_NONE, CLIP_BEST };
static const char *const clip_words[] = {"none", "best", NULL};

// clang-format off
static const bb_key keys[] = {
    [CLIP] = {.name = "clip", .kind = BB_KEY_CHOICE, .offset = BB_CODEC_SLOT(CLIP),
     .choices = clip_words, .optional = true,
     .meaning = "integer: step of a row from its largest value (none, default), or from the "
                "fraction of it with the smallest error (best)."},
};
// clang-format on

static bool has_clips(const bb_codec_config *config)
{
    return bb_codec_own(config)[CLIP].choice == CLIP_BEST;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "%s", has_clips(config) ? ", best clip" : "");
}

static bb_index clip_count(const bb_codec_config *config)
{
    return has_clips(config) ? BB_INTEGER_CLIPS : 1;
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    const int bits = (int)config->bits;
    (void)tolerance;
    (void)magnitude;
    if (!bb_integer_in_range(block_magnitude)) {
        return INFINITY;
    }
    const double step = (double)bb_integer_step(bits, block_magnitude);
    const double rest = fabs(bb_integer_top(bits) * step - block_magnitude);
    const double least =
        (double)bb_integer_step(bits, bb_integer_clip(clip_count(config) - 1) * block_magnitude);
    const double beyond = block_magnitude - bb_integer_top(bits) * least;
    return fmax(0.5 * step + rest, beyond) * (1.0 + 0x1p-30);
}

static int bits_of(const bb_coded_matrix *matrix)
{
    return (int)matrix->config.bits;
}

static unsigned char *block_at(const bb_coded_matrix *matrix, bb_index row, bb_index block)
{
    return bb_coded_matrix_row(matrix, row) + block * 4 * bits_of(matrix);
}

static float *step_at(const bb_coded_matrix *matrix, bb_index row)
{
    return (float *)(void *)(bb_coded_matrix_row(matrix, row + 1) - sizeof(float));
}

static bb_status create(bb_coded_matrix *matrix)
{
    const bb_index blocks = (matrix->layout.columns + BB_BLOCK - 1) / BB_BLOCK;
    matrix->row_bytes = (size_t)(blocks * 4 * bits_of(matrix)) + sizeof(float);
    return BB_OK;
}

// Largest magnitude within the range of fp32, and the number of values beyond it.
static double largest_held(const double *values, bb_index count, bb_index *bad)
{
    double largest = 0.0;
    for (bb_index j = 0; j < count; ++j) {
        const double magnitude = fabs(values[j]);
        const bool held = bb_integer_in_range(magnitude);
        *bad += !held;
        largest = held && magnitude > largest ? magnitude : largest;
    }
    return largest;
}

BB_CLONES static void pack_blocks(int bits, double step, const double *values, bb_index count,
                                  unsigned char *out, bb_codec_counts *counts)
{
    const double top = bb_integer_top(bits);
    const double divisor = bb_integer_divisor(step);
    for (bb_index b = 0; b < count; ++b) {
        int32_t words[BB_BLOCK];
        int lost = 0;
        int over = 0;
        for (int i = 0; i < BB_BLOCK; ++i) {
            const double value = values[b * BB_BLOCK + i];
            const double steps = bb_integer_steps(value, divisor, top);
            over += fabs(steps) > top;
            lost += step == 0.0 && value != 0.0;
            words[i] = (int32_t)bb_integer_clipped(steps, top);
        }
        counts->saturated += over;
        counts->underflowed += lost;
        out = bb_plane_pack_block(words, bits, out);
    }
}

static void encode_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                          bb_index count, const double *values, double scale, bool fixed,
                          bb_codec_counts *counts)
{
    const int bits = bits_of(matrix);
    const float step = *step_at(matrix, row);
    unsigned char *out = block_at(matrix, row, block);
    (void)scale; // always 1
    (void)fixed;
    if (isnan(step)) {
        memset(out, 0, (size_t)(count * 4 * bits));
    } else {
        pack_blocks(bits, (double)step, values, count, out, counts);
    }
}

// Sums of squared errors over `count` blocks, element by element.
BB_CLONES static void add_squares(int bits, double step, const double *values, bb_index count,
                                  double sums[BB_BLOCK])
{
    const double top = bb_integer_top(bits);
    const double divisor = bb_integer_divisor(step);
    for (bb_index b = 0; b < count; ++b) {
        for (int i = 0; i < BB_BLOCK; ++i) {
            const double error = bb_integer_error(values[b * BB_BLOCK + i], step, divisor, top);
            sums[i] += error * error;
        }
    }
}

static double squares_of(int bits, double step, const double *values, bb_index columns)
{
    const bb_index full = columns / BB_BLOCK;
    double sums[BB_BLOCK] = {0.0};
    double last[BB_BLOCK] = {0.0};
    double sum = 0.0;
    memcpy(last, values + full * BB_BLOCK, (size_t)(columns % BB_BLOCK) * sizeof *last);
    add_squares(bits, step, values, full, sums);
    add_squares(bits, step, last, 1, sums);
    for (int i = 0; i < BB_BLOCK; ++i) {
        sum += sums[i];
    }
    return sum;
}

// Computes the step of a row of finite values; `largest` is its largest magnitude within fp32.
static float choose_step(const bb_coded_matrix *matrix, const double *values, double largest)
{
    const int bits = bits_of(matrix);
    const bb_index count = clip_count(&matrix->config);
    double squares[BB_INTEGER_CLIPS];
    for (bb_index clip = 0; count > 1 && clip < count; ++clip) {
        const double step = (double)bb_integer_step(bits, bb_integer_clip(clip) * largest);
        squares[clip] = squares_of(bits, step, values, matrix->layout.columns);
    }
    const bb_index best = count > 1 ? bb_integer_best_clip(squares, count) : 0;
    return bb_integer_step(bits, bb_integer_clip(best) * largest);
}

// A row with values beyond fp32 is poisoned, or gets the largest step if columns are rounded.
static void fix_row(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values,
                    bb_codec_counts *counts)
{
    bb_index bad = 0;
    double largest = largest_held(values, matrix->layout.columns, &bad);
    if (counts != NULL && bad > 0) {
        counts->non_finite += bad;
        *step_at(matrix, row) = NAN;
        return;
    }
    largest = bad > 0 ? (double)FLT_MAX : largest;
    *step_at(matrix, row) = clip < 0
                                ? choose_step(matrix, values, largest)
                                : bb_integer_step(bits_of(matrix), bb_integer_clip(clip) * largest);
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const double step = (double)*step_at(matrix, row);
    const double top = bb_integer_top(bits_of(matrix));
    (void)column;
    return step > 0.0 ? bb_integer_clipped(bb_integer_steps(scaled, step, top), top) * step : 0.0;
}

BB_PLANE_FUNCTION void unpack_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                     bb_index count, bool wide, void *out)
{
    const int bits = bits_of(matrix);
    const float step = *step_at(matrix, row);
    const unsigned char *source = block_at(matrix, row, block);
    unsigned char *target = out;
    for (bb_index b = 0; b < count; ++b, target += wide ? 8 * BB_BLOCK : 4 * BB_BLOCK) {
        if (bits == 8) { // single plane
            bb_plane_scale_bytes((const signed char *)source, step, wide, target);
            source += BB_BLOCK;
        } else {
            int32_t words[BB_BLOCK];
            source = bb_plane_unpack_block(source, bits, words);
            bb_plane_scale(words, step, wide, target);
        }
    }
}

BB_PLANE_DECODERS

static const bb_codec_ops operations = {
    .describe = describe,
    .bound = bound,
    .clip_count = clip_count,
    .create = create,
    .fix_row = fix_row,
    .encode_blocks = encode_blocks,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .round = round_one,
};

void bb_coded_matrix_whole_steps(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                 int32_t out[BB_BLOCK])
{
    (void)bb_plane_unpack_block(block_at(matrix, row, block), bits_of(matrix), out);
}

float bb_coded_matrix_row_step(const bb_coded_matrix *matrix, bb_index row)
{
    return *step_at(matrix, row);
}

static const char *const shared_keys[] = {"bits", NULL};

const bb_codec_row bb_integer_row = {
    .name = "integer",
    .shared_keys = shared_keys,
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .bits = {LEAST_BITS, MOST_BITS},
    .form = BB_FORM_STEPS,
    .unit = BB_BLOCK,
    .sums_in_runs = true,
    .seconds = 8e-9,
    .ladders = {{"bits", "", LEAST_BITS, MOST_BITS - LEAST_BITS + 1, false}},
    .ops = &operations,
};
