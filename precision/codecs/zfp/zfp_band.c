// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/zfp/zfp_band.h"

#include "core/memory.h"
#include "precision/codecs/zfp/zfp_stream.h"

#include <math.h>
#include <string.h>
#include <zfp.h>

enum { BLOCK_VALUES = 256 };

uint64_t bb_zfp_band_block_limit(bb_zfp_settings settings, int dimensions)
{
    // Flag, exponent and (reversible) precision; 32 planes of at most two bits per value.
    uint64_t limit = 16 + ((uint64_t)64 << (2 * dimensions));
    return limit > settings.minimum_bits ? limit : settings.minimum_bits;
}

// A block that begins in the stream's last bit, and the word that a reader prefetches.
size_t bb_zfp_band_slack(bb_zfp_settings settings, int dimensions)
{
    return (size_t)(bb_zfp_band_block_limit(settings, dimensions) + 63) / 64 * 8 + 8;
}

bool bb_zfp_band_fixed_rate(bb_zfp_settings settings)
{
    return settings.minimum_bits == settings.maximum_bits;
}

static bb_index blocks_of(const bb_zfp_shape *shape)
{
    return bb_zfp_stream_blocks(&(bb_zfp_stream){.shape = *shape});
}

// Blocks of a run, along x: in all runs but, in one dimension, the last.
static bb_index run_blocks_of(const bb_zfp_shape *shape)
{
    return shape->dimensions == 1 ? BB_ZFP_LINE_BLOCKS : bb_zfp_stream_blocks_of(shape->nx);
}

bb_index bb_zfp_band_runs(const bb_zfp_shape *shape)
{
    return (blocks_of(shape) + run_blocks_of(shape) - 1) / run_blocks_of(shape);
}

// Position of a block: its first value and its number of values along each axis.
typedef struct block_place {
    bb_zfp_corner at;
    size_t nx, ny, nz, nw;
} block_place;

static size_t valid(bb_index begin, bb_index size)
{
    return (size_t)(size - begin < 4 ? size - begin : 4);
}

static block_place place_block(const bb_zfp_shape *shape, bb_zfp_corner at)
{
    return (block_place){at, valid(at.x, shape->nx), valid(at.y, shape->ny), valid(at.z, shape->nz),
                         valid(at.w, shape->nw)};
}

static void encode_block(zfp_stream *zfp, const bb_zfp_shape *shape, const block_place *place,
                         const float *values)
{
    ptrdiff_t sy = shape->nx;
    ptrdiff_t sz = sy * shape->ny;
    ptrdiff_t sw = sz * shape->nz;
    const float *p = values + place->at.x + place->at.y * sy + place->at.z * sz + place->at.w * sw;
    bool full = place->nx * place->ny * place->nz * place->nw == (size_t)1
                                                                     << (2 * shape->dimensions);
    switch (shape->dimensions) {
    case 1:
        (void)(full ? zfp_encode_block_strided_float_1(zfp, p, 1)
                    : zfp_encode_partial_block_strided_float_1(zfp, p, place->nx, 1));
        break;
    case 2:
        (void)(full
                   ? zfp_encode_block_strided_float_2(zfp, p, 1, sy)
                   : zfp_encode_partial_block_strided_float_2(zfp, p, place->nx, place->ny, 1, sy));
        break;
    case 3:
        (void)(full ? zfp_encode_block_strided_float_3(zfp, p, 1, sy, sz)
                    : zfp_encode_partial_block_strided_float_3(zfp, p, place->nx, place->ny,
                                                               place->nz, 1, sy, sz));
        break;
    default:
        (void)(full ? zfp_encode_block_strided_float_4(zfp, p, 1, sy, sz, sw)
                    : zfp_encode_partial_block_strided_float_4(
                          zfp, p, place->nx, place->ny, place->nz, place->nw, 1, sy, sz, sw));
    }
}

static void decode_block(zfp_stream *zfp, int dimensions, float *block)
{
    switch (dimensions) {
    case 1:
        (void)zfp_decode_block_float_1(zfp, block);
        break;
    case 2:
        (void)zfp_decode_block_float_2(zfp, block);
        break;
    case 3:
        (void)zfp_decode_block_float_3(zfp, block);
        break;
    default:
        (void)zfp_decode_block_float_4(zfp, block);
    }
}

static zfp_stream stream_with(bb_zfp_settings settings, bitstream *bits)
{
    return (zfp_stream){.minbits = settings.minimum_bits,
                        .maxbits = settings.maximum_bits,
                        .maxprec = settings.maximum_precision,
                        .minexp = settings.minimum_exponent,
                        .stream = bits,
                        .exec = {.policy = zfp_exec_serial}};
}

void bb_zfp_band_release(bb_zfp_band *band)
{
    BB_RELEASE(&band->words);
    BB_RELEASE(&band->bases);
    BB_RELEASE(&band->offsets);
    BB_RELEASE(&band->poisoned);
    *band = (bb_zfp_band){0};
}

static bb_status allocate_index(bb_zfp_settings settings, const bb_zfp_shape *shape,
                                const unsigned char *poisoned, bb_zfp_band *out)
{
    bb_status status = BB_OK;
    const bb_index runs = bb_zfp_band_runs(shape);
    const bb_index across = run_blocks_of(shape);
    if (!bb_zfp_band_fixed_rate(settings)) {
        uint64_t limit = bb_zfp_band_block_limit(settings, shape->dimensions) * (uint64_t)across;
        BB_REQUIRE(limit <= UINT32_MAX / BB_ZFP_BASE_RUNS, BB_INVALID,
                   "zfp: %td blocks across are too many for the index in %d dimensions", across,
                   shape->dimensions);
        BB_TRY(BB_ALLOCATE(runs, &out->offsets));
        BB_TRY(BB_ALLOCATE((runs + BB_ZFP_BASE_RUNS - 1) / BB_ZFP_BASE_RUNS, &out->bases));
    }
    if (poisoned != NULL) {
        BB_TRY(BB_ALLOCATE(runs, &out->poisoned));
        memcpy(out->poisoned, poisoned, (size_t)runs);
    }
done:
    return status;
}

// Encodes all blocks in the stream's order; returns their bits.
static uint64_t encode_blocks(zfp_stream *zfp, const bb_zfp_shape *shape, const float *values,
                              bb_zfp_band *out)
{
    const bb_index blocks = blocks_of(shape);
    const bb_index run_blocks = run_blocks_of(shape);
    bb_zfp_corner corner = {0};
    for (bb_index i = 0; i < blocks; ++i, bb_zfp_corner_step(shape, &corner)) {
        const bb_index run = i / run_blocks;
        if (out->offsets != NULL && i % run_blocks == 0) {
            const uint64_t bit = stream_wtell(zfp->stream);
            const bb_index base = run / BB_ZFP_BASE_RUNS;
            out->bases[base] = run % BB_ZFP_BASE_RUNS == 0 ? bit : out->bases[base];
            out->offsets[run] = (uint32_t)(bit - out->bases[base]);
        }
        const block_place place = place_block(shape, corner);
        encode_block(zfp, shape, &place, values);
    }
    return stream_wtell(zfp->stream);
}

// Upper bound of the encoded bytes, including the last word.
static size_t most_bytes(bb_zfp_settings settings, const bb_zfp_shape *shape)
{
    uint64_t block_bits = bb_zfp_band_block_limit(settings, shape->dimensions);
    block_bits = block_bits < settings.maximum_bits ? block_bits : settings.maximum_bits;
    return (size_t)(((uint64_t)blocks_of(shape) * block_bits + 63) / 64 * 8 + 64);
}

bb_status bb_zfp_band_encode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                             const float *values, const unsigned char *poisoned, bb_zfp_band *out)
{
    bb_status status = BB_OK;
    size_t room = most_bytes(settings, shape);
    size_t slack = bb_zfp_band_slack(settings, shape->dimensions);
    unsigned char *scratch = NULL;
    bitstream *bits = NULL;
    bb_zfp_band_release(out);
    BB_TRY(allocate_index(settings, shape, poisoned, out));
    BB_TRY(BB_ALLOCATE((bb_index)room, &scratch));
    bits = stream_open(scratch, room);
    BB_REQUIRE(bits != NULL, BB_MEMORY, "no memory for a zfp bit stream");
    zfp_stream zfp = stream_with(settings, bits);
    out->bits = encode_blocks(&zfp, shape, values, out);
    (void)zfp_stream_flush(&zfp);
    out->bytes = stream_size(bits);
    BB_TRY(BB_ALLOCATE((bb_index)(out->bytes + slack), &out->words));
    memcpy(out->words, scratch, out->bytes);
    memset(out->words + out->bytes, 0, slack);
done:
    if (bits != NULL) {
        stream_close(bits);
    }
    BB_RELEASE(&scratch);
    if (status != BB_OK) {
        bb_zfp_band_release(out);
    }
    return status;
}

// Stores up to four consecutive values of one row in the requested part of the target.
static void put(const bb_zfp_target *target, bb_index row, bb_index column, const float *values,
                bb_index count)
{
    if (target->only_row >= 0 && row != target->only_row) {
        return;
    }
    bb_index end = (target->only_row >= 0 ? 0 : row * target->stride) - target->begin;
    for (bb_index i = 0; i < count; ++i) {
        if (column + i >= target->begin && column + i < target->end) {
            if (target->f32 != NULL) {
                target->f32[end + column + i] = values[i];
            } else {
                target->f64[end + column + i] = (double)values[i];
            }
        }
    }
}

static void put_block(const bb_zfp_shape *shape, bb_index first_x, const block_place *place,
                      const float *block, const bb_zfp_target *target)
{
    for (size_t w = 0; w < place->nw; ++w) {
        for (size_t z = 0; z < place->nz; ++z) {
            for (size_t y = 0; y < place->ny; ++y) {
                put(target, (bb_index)(w * place->nz + z),
                    (bb_index)y * shape->nx + place->at.x - first_x,
                    block + 64 * w + 16 * z + 4 * y, (bb_index)place->nx);
            }
        }
    }
}

void bb_zfp_band_decode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                        const bb_zfp_band *band, bb_index run, const bb_zfp_target *target)
{
    float block[BLOCK_VALUES];
    const bb_index first = run * run_blocks_of(shape);
    const bb_index rest = blocks_of(shape) - first;
    const bb_index end = first + (rest < run_blocks_of(shape) ? rest : run_blocks_of(shape));
    bb_zfp_corner corner = bb_zfp_corner_of(shape, first);
    const bb_index first_x = corner.x;
    uint64_t begin = (uint64_t)first * settings.maximum_bits;
    if (band->offsets != NULL) {
        begin = band->bases[run / BB_ZFP_BASE_RUNS] + band->offsets[run];
    }
    bool poisoned = band->words == NULL || begin >= band->bits ||
                    (band->poisoned != NULL && band->poisoned[run] != 0);
    size_t slack = bb_zfp_band_slack(settings, shape->dimensions);
    bitstream *bits = poisoned ? NULL : stream_open(band->words, band->bytes + slack);
    zfp_stream zfp = stream_with(settings, bits);
    if (bits != NULL) {
        stream_rseek(bits, begin);
    }
    for (bb_index i = first; i < end; ++i, bb_zfp_corner_step(shape, &corner)) {
        const block_place place = place_block(shape, corner);
        if (bits != NULL && stream_rtell(bits) < band->bits) {
            decode_block(&zfp, shape->dimensions, block);
        } else {
            for (int k = 0; k < BLOCK_VALUES; ++k) {
                block[k] = NAN;
            }
        }
        put_block(shape, first_x, &place, block, target);
    }
    if (bits != NULL) {
        stream_close(bits);
    }
}

// Measures blocks of a single value, truncated to 8 planes in one dimension: their transform is
// that value alone. A decoder that rounds moves a value whose lower planes are zero; an encoder
// that rounds leaves no mean error over evenly spaced values; one that truncates leaves a sixth of
// the last plane.
const char *bb_zfp_band_measured_rounding(void)
{
    enum { COUNT = 4096 };
    const bb_zfp_settings settings = {1, 16658, 8, -1074};
    const bb_zfp_shape shape = {1, 4, 1, 1, 1};
    double mean = 0.0;
    bool moved = false;
    for (int n = 0; n < COUNT; ++n) {
        float value = 0.5F + 0.5F * (float)n / (float)COUNT;
        float values[4] = {value, value, value, value};
        float back[4] = {0};
        unsigned char buffer[512] = {0};
        bitstream *bits = stream_open(buffer, sizeof buffer / 2);
        if (bits == NULL) {
            return "zfp: not measured";
        }
        zfp_stream zfp = stream_with(settings, bits);
        const block_place place = place_block(&shape, (bb_zfp_corner){0});
        encode_block(&zfp, &shape, &place, values);
        (void)zfp_stream_flush(&zfp);
        stream_rewind(bits);
        decode_block(&zfp, 1, back);
        stream_close(bits);
        moved = moved || (n == 0 && back[0] != value);
        mean += (double)(back[0] - value) / COUNT;
    }
    if (moved) {
        return "zfp: coefficients rounded by the decoder (ROUND_LAST)";
    }
    return fabs(mean) > 0x1p-11 ? "zfp: coefficients truncated (ROUND_NEVER)"
                                : "zfp: coefficients rounded by the encoder (ROUND_FIRST)";
}
