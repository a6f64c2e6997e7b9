// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/zfp/zfp_band.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>
#include <zfp.h>

enum { BLOCK_VALUES = 256 };

uint64_t bb_zfp_band_block_limit(bb_zfp_settings settings, int dimensions)
{
    // Flag, exponent and (reversible) precision; 32 planes of at most two bits a value.
    uint64_t limit = 16 + ((uint64_t)64 << (2 * dimensions));
    return limit > settings.minimum_bits ? limit : settings.minimum_bits;
}

// A block that begins in the stream's last bit, and the word that a reader fetches ahead.
size_t bb_zfp_band_slack(bb_zfp_settings settings, int dimensions)
{
    return (size_t)(bb_zfp_band_block_limit(settings, dimensions) + 63) / 64 * 8 + 8;
}

bool bb_zfp_band_fixed_rate(bb_zfp_settings settings)
{
    return settings.minimum_bits == settings.maximum_bits;
}

// Blocks and runs of a shape; a run's blocks lie along x.
typedef struct extent {
    bb_index blocks_x, blocks_y, blocks_z, blocks_w;
    bb_index run_blocks; // of all runs but, in one dimension, the last
    bb_index runs;
} extent;

static extent extent_of(const bb_zfp_shape *shape)
{
    extent span = {.blocks_x = (shape->nx + 3) / 4,
                   .blocks_y = (shape->ny + 3) / 4,
                   .blocks_z = (shape->nz + 3) / 4,
                   .blocks_w = (shape->nw + 3) / 4};
    span.run_blocks = span.blocks_x;
    span.runs = span.blocks_y * span.blocks_z * span.blocks_w;
    if (shape->dimensions == 1) {
        span.run_blocks = BB_ZFP_LINE_BLOCKS;
        span.runs = (span.blocks_x + BB_ZFP_LINE_BLOCKS - 1) / BB_ZFP_LINE_BLOCKS;
    }
    return span;
}

bb_index bb_zfp_band_runs(const bb_zfp_shape *shape)
{
    return extent_of(shape).runs;
}

// Where a block lies: its first value and how many values it holds along each axis.
typedef struct block_place {
    bb_index x, y, z, w;
    size_t nx, ny, nz, nw;
} block_place;

static size_t valid(bb_index begin, bb_index size)
{
    return (size_t)(size - begin < 4 ? size - begin : 4);
}

// Block `i` of a run.
static block_place place_block(const bb_zfp_shape *shape, const extent *span, bb_index run,
                               bb_index i)
{
    block_place place = {.x = 4 * i};
    if (shape->dimensions == 1) {
        place.x = 4 * (run * BB_ZFP_LINE_BLOCKS + i);
    } else {
        place.y = run % span->blocks_y * 4;
        place.z = run / span->blocks_y % span->blocks_z * 4;
        place.w = run / span->blocks_y / span->blocks_z * 4;
    }
    place.nx = valid(place.x, shape->nx);
    place.ny = valid(place.y, shape->ny);
    place.nz = valid(place.z, shape->nz);
    place.nw = valid(place.w, shape->nw);
    return place;
}

static bb_index blocks_of_run(const bb_zfp_shape *shape, const extent *span, bb_index run)
{
    if (shape->dimensions == 1) {
        bb_index rest = span->blocks_x - run * BB_ZFP_LINE_BLOCKS;
        return rest < BB_ZFP_LINE_BLOCKS ? rest : BB_ZFP_LINE_BLOCKS;
    }
    return span->blocks_x;
}

static void encode_block(zfp_stream *zfp, const bb_zfp_shape *shape, const block_place *place,
                         const float *values)
{
    ptrdiff_t sy = shape->nx;
    ptrdiff_t sz = sy * shape->ny;
    ptrdiff_t sw = sz * shape->nz;
    const float *p = values + place->x + place->y * sy + place->z * sz + place->w * sw;
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

static bb_status allocate_index(bb_zfp_settings settings, const extent *span, int dimensions,
                                const unsigned char *poisoned, bb_zfp_band *out)
{
    bb_status status = BB_OK;
    if (!bb_zfp_band_fixed_rate(settings)) {
        uint64_t limit = bb_zfp_band_block_limit(settings, dimensions) * (uint64_t)span->run_blocks;
        BB_REQUIRE(limit <= UINT32_MAX / BB_ZFP_BASE_RUNS, BB_INVALID,
                   "zfp: %td blocks across are too many for the index of %d dimensions",
                   span->run_blocks, dimensions);
        BB_TRY(BB_ALLOCATE(span->runs, &out->offsets));
        BB_TRY(BB_ALLOCATE((span->runs + BB_ZFP_BASE_RUNS - 1) / BB_ZFP_BASE_RUNS, &out->bases));
    }
    if (poisoned != NULL) {
        BB_TRY(BB_ALLOCATE(span->runs, &out->poisoned));
        memcpy(out->poisoned, poisoned, (size_t)span->runs);
    }
done:
    return status;
}

// All blocks in the stream's order; returns their bits.
static uint64_t encode_blocks(zfp_stream *zfp, const bb_zfp_shape *shape, const extent *span,
                              const float *values, bb_zfp_band *out)
{
    for (bb_index run = 0; run < span->runs; ++run) {
        uint64_t bit = stream_wtell(zfp->stream);
        if (out->offsets != NULL) {
            bb_index base = run / BB_ZFP_BASE_RUNS;
            out->bases[base] = run % BB_ZFP_BASE_RUNS == 0 ? bit : out->bases[base];
            out->offsets[run] = (uint32_t)(bit - out->bases[base]);
        }
        bb_index blocks = blocks_of_run(shape, span, run);
        for (bb_index i = 0; i < blocks; ++i) {
            block_place place = place_block(shape, span, run, i);
            encode_block(zfp, shape, &place, values);
        }
    }
    return stream_wtell(zfp->stream);
}

// Bytes that encoding may take, its last word included.
static size_t most_bytes(bb_zfp_settings settings, const bb_zfp_shape *shape, const extent *span)
{
    bb_index blocks = span->blocks_x * span->blocks_y * span->blocks_z * span->blocks_w;
    uint64_t block_bits = bb_zfp_band_block_limit(settings, shape->dimensions);
    block_bits = block_bits < settings.maximum_bits ? block_bits : settings.maximum_bits;
    return (size_t)(((uint64_t)blocks * block_bits + 63) / 64 * 8 + 64);
}

bb_status bb_zfp_band_encode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                             const float *values, const unsigned char *poisoned, bb_zfp_band *out)
{
    bb_status status = BB_OK;
    extent span = extent_of(shape);
    size_t room = most_bytes(settings, shape, &span);
    size_t slack = bb_zfp_band_slack(settings, shape->dimensions);
    unsigned char *scratch = NULL;
    bitstream *bits = NULL;
    bb_zfp_band_release(out);
    BB_TRY(allocate_index(settings, &span, shape->dimensions, poisoned, out));
    BB_TRY(BB_ALLOCATE((bb_index)room, &scratch));
    bits = stream_open(scratch, room);
    BB_REQUIRE(bits != NULL, BB_MEMORY, "no memory for a zfp bit stream");
    zfp_stream zfp = stream_with(settings, bits);
    out->bits = encode_blocks(&zfp, shape, &span, values, out);
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

static uint64_t run_bit(bb_zfp_settings settings, const extent *span, const bb_zfp_band *band,
                        bb_index run)
{
    if (band->offsets != NULL) {
        return band->bases[run / BB_ZFP_BASE_RUNS] + band->offsets[run];
    }
    return (uint64_t)(run * span->run_blocks) * settings.maximum_bits;
}

// Up to four values of one row that follow each other, into the wanted part of the target.
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
                    (bb_index)y * shape->nx + place->x - first_x, block + 64 * w + 16 * z + 4 * y,
                    (bb_index)place->nx);
            }
        }
    }
}

void bb_zfp_band_decode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                        const bb_zfp_band *band, bb_index run, const bb_zfp_target *target)
{
    extent span = extent_of(shape);
    float block[BLOCK_VALUES];
    uint64_t begin = run_bit(settings, &span, band, run);
    bool poisoned = band->words == NULL || begin >= band->bits ||
                    (band->poisoned != NULL && band->poisoned[run] != 0);
    size_t slack = bb_zfp_band_slack(settings, shape->dimensions);
    bitstream *bits = poisoned ? NULL : stream_open(band->words, band->bytes + slack);
    zfp_stream zfp = stream_with(settings, bits);
    if (bits != NULL) {
        stream_rseek(bits, begin);
    }
    bb_index blocks = blocks_of_run(shape, &span, run);
    bb_index first_x = place_block(shape, &span, run, 0).x;
    for (bb_index i = 0; i < blocks; ++i) {
        block_place place = place_block(shape, &span, run, i);
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

// Blocks of one value, seen through 8 planes in one dimension: their transform is that value alone.
// A decoder that rounds moves a value whose lower planes are zero; an encoder that rounds leaves no
// mean error over evenly spaced values; one that truncates leaves a sixth of the last plane.
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
        const extent span = extent_of(&shape);
        block_place place = place_block(&shape, &span, 0, 0);
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
