// SPDX-License-Identifier: Apache-2.0
//
// Absolute quantiser with variable-width blocks: q = nearest integer of value / step, ties to even,
// with as many bits of q per block of 32 as the block needs.
//
// step = 2 tolerance, rounded down to fp32, so that q * step needs one rounding on every device:
// |error| <= tolerance (1 + 2^-20) + 2^-23 |value|. A row is a byte per block (its width: two's
// complement bits, 0 for a block of zeros) and the blocks' words, w words for a width of w, the
// planes of plane_core.h one after the other, the widest first. An index gives the first word of
// every run of 1024 columns. Width 33: a quotient exceeds 31 bits, 32 words of fp32. Width 34: a
// NaN, an infinity or a value beyond fp32, no words; decodes to NaN throughout.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/plane.h"
#include "precision/codecs/quantiser_core.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RUN = BB_QUANTISER_RUN, RUN_BLOCKS = RUN / BB_BLOCK, WIDTH_RAW = 33, WIDTH_POISONED = 34 };

typedef struct quantiser_row {
    unsigned char *words;
    size_t bytes;
} quantiser_row;

typedef struct quantiser_store {
    float step;
    bb_index blocks, runs; // per row; the words and widths are in the matrix's row
} quantiser_store;

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    (void)config;
    (void)block_magnitude;
    return tolerance * (1.0 + 0x1p-20) + 2.0 * bb_codec_fp32_rounding(magnitude);
}

static bb_status create(bb_coded_matrix *matrix)
{
    quantiser_store *store = matrix->store;
    const double tolerance = matrix->config.tolerance;
    store->step = (float)(2.0 * tolerance);
    if ((double)store->step > 2.0 * tolerance) {
        store->step = nextafterf(store->step, 0.0F);
    }
    store->blocks = (matrix->layout.columns + BB_BLOCK - 1) / BB_BLOCK;
    store->runs = (matrix->layout.columns + RUN - 1) / RUN;
    matrix->row_bytes = (size_t)(4 * store->runs + (store->blocks + 3) / 4 * 4);
    return BB_OK;
}

// [runs] first word of each run, in 32-bit words.
static uint32_t *index_at(const bb_coded_matrix *matrix, bb_index row)
{
    return (uint32_t *)(void *)bb_coded_matrix_row(matrix, row);
}

// [blocks] widths.
static unsigned char *widths_at(const bb_coded_matrix *matrix, bb_index row)
{
    const quantiser_store *store = matrix->store;
    return bb_coded_matrix_row(matrix, row) + 4 * store->runs;
}

static quantiser_row *row_at(const bb_coded_matrix *matrix, bb_index row)
{
    return (quantiser_row *)matrix->bands + row;
}

static void release_row(void *item)
{
    BB_RELEASE(&((quantiser_row *)item)->words);
}

static size_t room_bytes(const bb_coded_matrix *matrix)
{
    return (size_t)((const quantiser_store *)matrix->store)->blocks * 4 * BB_BLOCK;
}

// Encodes a block whose quotients do not fit: raw fp32, or nothing if fp32 overflows too.
static int encode_raw(const double values[BB_BLOCK], int32_t words[BB_BLOCK],
                      bb_codec_counts *counts)
{
    bb_index bad = 0;
    for (int i = 0; i < BB_BLOCK; ++i) {
        float value = (float)values[i];
        bad += !(fabsf(value) <= FLT_MAX);
        counts->underflowed += value == 0.0F && values[i] != 0.0;
        words[i] = (int32_t)bb_format_bits_of_f32(value);
    }
    counts->non_finite += bad;
    return bad > 0 ? WIDTH_POISONED : WIDTH_RAW;
}

BB_PLANE_FUNCTION int width_of(const int32_t quotients[BB_BLOCK])
{
    uint32_t magnitudes = 0;
    uint32_t any = 0;
    for (int i = 0; i < BB_BLOCK; ++i) {
        magnitudes |= (uint32_t)(quotients[i] ^ quotients[i] >> 31);
        any |= (uint32_t)quotients[i];
    }
    return bb_quantiser_width(magnitudes, any);
}

// Packs a block and returns the end of the words.
BB_CLONES static unsigned char *encode_blocks(const double *values, double per_step, bb_index count,
                                              unsigned char *widths, unsigned char *out,
                                              bb_codec_counts *counts)
{
    for (bb_index b = 0; b < count; ++b) {
        const double *block = values + b * BB_BLOCK;
        int32_t quotients[BB_BLOCK];
        int64_t largest = 0;
        for (int i = 0; i < BB_BLOCK; ++i) {
            double quotient = block[i] * per_step;
            int64_t magnitude = (int64_t)(bb_format_bits_of_f64(quotient) & INT64_MAX);
            largest = magnitude > largest ? magnitude : largest;
            quotients[i] = bb_quantiser_rounded(quotient);
        }
        int width = 0;
        if (bb_quantiser_in_range(bb_format_f64_of_bits((uint64_t)largest))) {
            width = width_of(quotients);
        } else {
            width = encode_raw(block, quotients, counts);
        }
        widths[b] = (unsigned char)width;
        if (width != WIDTH_POISONED) {
            out = bb_plane_pack_block(quotients, width == WIDTH_RAW ? 32 : width, out);
        }
    }
    return out;
}

static bb_status encode_row(bb_coded_matrix *matrix, bb_index row, bb_view panel, void *scratch,
                            bb_codec_counts *counts)
{
    bb_status status = BB_OK;
    const quantiser_store *store = matrix->store;
    quantiser_row *target = row_at(matrix, row);
    unsigned char *widths = widths_at(matrix, row);
    const double *values = bb_view_row(panel, 0);
    const double per_step = 1.0 / (double)store->step;
    const bb_index columns = matrix->layout.columns;
    const bb_index full = columns / BB_BLOCK;
    unsigned char *cursor = scratch;
    BB_RELEASE(&target->words);
    for (bb_index run = 0; run < store->runs; ++run) {
        const bb_index first = run * RUN_BLOCKS;
        const bb_index count = full - first < RUN_BLOCKS ? full - first : RUN_BLOCKS;
        index_at(matrix, row)[run] = (uint32_t)((cursor - (unsigned char *)scratch) / 4);
        cursor = encode_blocks(values + first * BB_BLOCK, per_step, count, widths + first, cursor,
                               counts);
    }
    if (columns % BB_BLOCK != 0) {
        double last[BB_BLOCK] = {0.0};
        memcpy(last, values + full * BB_BLOCK, (size_t)(columns % BB_BLOCK) * sizeof *last);
        cursor = encode_blocks(last, per_step, 1, widths + full, cursor, counts);
    }
    target->bytes = (size_t)(cursor - (unsigned char *)scratch);
    BB_TRY(BB_ALLOCATE((bb_index)target->bytes, &target->words));
    if (target->bytes > 0) {
        memcpy(target->words, scratch, target->bytes);
    }
done:
    return status;
}

// Rounds to the nearest multiple of the step, independent of the row; clipped beyond 31 bits.
static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const double step = (double)((const quantiser_store *)matrix->store)->step;
    double quotient = scaled * (1.0 / step);
    (void)row;
    (void)column;
    quotient = quotient > (double)INT32_MAX ? (double)INT32_MAX : quotient;
    quotient = quotient < -(double)INT32_MAX ? -(double)INT32_MAX : quotient;
    return ((quotient + 0x1.8p52) - 0x1.8p52) * step;
}

// Finds the words of a block, after skipping those before it in its run; NULL if the row is all
// zeros.
static const unsigned char *words_at(const bb_coded_matrix *matrix, bb_index row, bb_index block)
{
    const unsigned char *widths = widths_at(matrix, row);
    const unsigned char *words = row_at(matrix, row)->words;
    uint32_t place = index_at(matrix, row)[block / RUN_BLOCKS];
    for (bb_index b = block / RUN_BLOCKS * RUN_BLOCKS; b < block; ++b) {
        const uint32_t raw = widths[b] == WIDTH_RAW ? BB_BLOCK : 0;
        place += widths[b] < WIDTH_RAW ? widths[b] : raw;
    }
    return words == NULL ? NULL : words + 4 * (size_t)place;
}

// A block of floats, or of NaN.
static const unsigned char *unpack_raw(const unsigned char *cursor, int width, bool wide, void *out)
{
    for (int i = 0; i < BB_BLOCK; ++i) {
        float value = NAN;
        if (width == WIDTH_RAW) {
            memcpy(&value, cursor, sizeof value);
            cursor += sizeof value;
        }
        if (wide) {
            ((double *)out)[i] = (double)value;
        } else {
            ((float *)out)[i] = value;
        }
    }
    return cursor;
}

BB_PLANE_FUNCTION void unpack_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                     bb_index count, bool wide, void *out)
{
    const unsigned char *widths = widths_at(matrix, row) + block;
    const unsigned char *cursor = words_at(matrix, row, block);
    const float step = ((const quantiser_store *)matrix->store)->step;
    unsigned char *target = out;
    for (bb_index b = 0; b < count; ++b, target += wide ? 8 * BB_BLOCK : 4 * BB_BLOCK) {
        int32_t quotients[BB_BLOCK];
        if (widths[b] < WIDTH_RAW) {
            cursor = bb_plane_unpack_block(cursor, widths[b], quotients);
            bb_plane_scale(quotients, step, wide, target);
        } else {
            cursor = unpack_raw(cursor, widths[b], wide, target);
        }
    }
}

BB_PLANE_DECODERS

// Words, a byte per block, the index, and the offset of each row's words.
static size_t bytes(const bb_coded_matrix *matrix)
{
    const quantiser_store *store = matrix->store;
    size_t rows = (size_t)matrix->layout.rows;
    size_t total = rows * ((size_t)store->blocks + 4 * (size_t)store->runs + sizeof(uint64_t));
    for (size_t row = 0; row < rows; ++row) {
        total += row_at(matrix, (bb_index)row)->bytes;
    }
    return total;
}

static const bb_codec_ops operations = {
    .bound = bound,
    .create = create,
    .bytes = bytes,
    .room_bytes = room_bytes,
    .encode_band = encode_row,
    .release_band = release_row,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .round = round_one,
};

static const char *const shared_keys[] = {"block", "tolerance", "tolerance_of_range", NULL};

const bb_codec_row bb_quantiser_row = {
    .name = "quantiser",
    .shared_keys = shared_keys,
    .defaults = {.block = BB_BLOCK},
    .form = BB_FORM_QUOTIENTS,
    .unit = BB_BLOCK,
    .store_bytes = sizeof(quantiser_store),
    .band_item = sizeof(quantiser_row),
    .needs_copy = true,
    .sums_in_runs = true,
    .seconds = 4e-9,
    .most_bytes = 4.0,
    .band_bytes = 4.0,
    .tolerances = {-126, 120, true},
    .ladders = {BB_CODEC_TOLERANCE_LADDER("")},
    .ops = &operations,
};

bool bb_coded_matrix_quotients(const bb_coded_matrix *matrix, bb_index row, bb_index run,
                               int32_t out[BB_QUANTISER_RUN])
{
    const quantiser_store *store = matrix->store;
    const unsigned char *widths = widths_at(matrix, row) + run * RUN_BLOCKS;
    const unsigned char *cursor = words_at(matrix, row, run * RUN_BLOCKS);
    bb_index rest = store->blocks - run * RUN_BLOCKS;
    bb_index blocks = rest < RUN_BLOCKS ? rest : RUN_BLOCKS;
    memset(out, 0, RUN * sizeof *out);
    for (bb_index b = 0; b < blocks; ++b) {
        if (widths[b] >= WIDTH_RAW) {
            return false;
        }
        cursor = bb_plane_unpack_block(cursor, widths[b], out + b * BB_BLOCK);
    }
    return true;
}

float bb_coded_matrix_step(const bb_coded_matrix *matrix)
{
    return ((const quantiser_store *)matrix->store)->step;
}
