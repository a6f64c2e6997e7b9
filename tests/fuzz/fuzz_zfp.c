// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a zfp band with its index. The decoder reads only the stream
// and its padding, writes only its target, and writes every value: a number or NaN.
//
// Input: shape, mode and kind of index, index bytes, then the stream.
#include "precision/codecs/zfp/zfp_band.h"
#include "tests/fuzz/fuzz_input.h"

enum { MOST_ROWS = 16, GUARD = 8 };

// Signalling NaN that marks memory the decoder must not write.
static const uint32_t UNTOUCHED = 0x7fa5a5a5u;

static bb_zfp_shape draw_shape(fuzz_input *in)
{
    bb_zfp_shape shape = {1 + fuzz_take(in) % 4, 1 + fuzz_take(in) % 70, 1, 1, 1};
    uint8_t y = fuzz_take(in), z = fuzz_take(in), w = fuzz_take(in);
    shape.ny = shape.dimensions > 1 ? 1 + y % 19 : 1;
    shape.nz = shape.dimensions > 2 ? 1 + z % 9 : 1;
    shape.nw = shape.dimensions > 3 ? 1 + w % 4 : 1;
    shape.nx = shape.dimensions == 1 ? shape.nx * (1 + y % 64) : shape.nx;
    return shape;
}

static bb_zfp_settings draw_settings(fuzz_input *in, int dimensions)
{
    uint8_t mode = fuzz_take(in), level = fuzz_take(in);
    unsigned values = 1u << (2 * dimensions);
    switch (mode % 4) {
    case 0: { // rate
        unsigned bits = 1 + (level * values) / 8;
        bits = bits < 10 ? 10 : bits;
        return (bb_zfp_settings){bits, bits, 64, -1074};
    }
    case 1: // precision
        return (bb_zfp_settings){1, 16658, 1 + level % 32u, -1074};
    case 2: // accuracy
        return (bb_zfp_settings){1, 16658, 64, (int)level - 160};
    default: // reversible
        return (bb_zfp_settings){1, 16658, 64, -1075};
    }
}

// Generates an index close to that of the stream, or with arbitrary numbers.
static void draw_index(fuzz_input *in, bb_zfp_settings settings, bb_index runs, bb_zfp_band *band)
{
    uint8_t kind = fuzz_take(in), wild = fuzz_take(in), marks = fuzz_take(in);
    if (!bb_zfp_band_fixed_rate(settings)) {
        bb_index bases = (runs + BB_ZFP_BASE_RUNS - 1) / BB_ZFP_BASE_RUNS;
        band->bases = fuzz_zeroed(bases, sizeof *band->bases);
        band->offsets = fuzz_zeroed(runs, sizeof *band->offsets);
        for (bb_index i = 0; i < runs; ++i) {
            uint32_t step = fuzz_take(in);
            band->offsets[i] = kind % 3 == 0 ? step * (uint32_t)(i % BB_ZFP_BASE_RUNS) : step;
            band->offsets[i] = kind % 3 == 2 ? step << (wild % 25) : band->offsets[i];
        }
        for (bb_index i = 0; i < bases; ++i) {
            band->bases[i] = (uint64_t)fuzz_take(in) << (kind % 3 == 2 ? wild % 57 : 2);
        }
    }
    if (marks % 4 == 0) {
        band->poisoned = fuzz_zeroed(runs, 1);
        for (bb_index i = 0; i < runs; ++i) {
            band->poisoned[i] = marks % 8 == 0 && i % 3 == 1;
        }
    }
}

static void check_run(bb_index rows, bb_index stride, const float *out)
{
    uint32_t word;
    for (bb_index i = rows * stride; i < rows * stride + GUARD; ++i) {
        memcpy(&word, &out[i], sizeof word);
        fuzz_demand(word == UNTOUCHED, "nothing behind the target");
    }
    // Every run writes the first column of every row.
    for (bb_index r = 0; r < rows; ++r) {
        memcpy(&word, &out[r * stride], sizeof word);
        fuzz_demand(word != UNTOUCHED, "every value");
    }
}

static void decode_all(bb_zfp_settings settings, const bb_zfp_shape *shape, const bb_zfp_band *band)
{
    bb_index columns = shape->nx * shape->ny;
    bb_index stride = shape->dimensions == 1 ? 4 * BB_ZFP_LINE_BLOCKS : 4 * shape->nx;
    bb_index pieces = (columns + stride - 1) / stride;
    bb_index room = MOST_ROWS * stride + GUARD;
    float *out = fuzz_zeroed(room, sizeof *out);
    for (bb_index run = 0; run < bb_zfp_band_runs(shape); ++run) {
        bb_index rest = shape->nz - 4 * (run / pieces % ((shape->nz + 3) / 4));
        bb_index rows = (rest < 4 ? rest : 4) * shape->nw;
        for (bb_index i = 0; i < room; ++i) {
            memcpy(&out[i], &UNTOUCHED, sizeof UNTOUCHED);
        }
        bb_zfp_target target = {.f32 = out, .stride = stride, .only_row = -1, .end = stride};
        bb_zfp_band_decode(settings, shape, band, run, &target);
        check_run(rows, stride, out);
    }
    bb_memory_release((void **)&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    bb_zfp_band band = {0};
    bb_zfp_shape shape = draw_shape(&in);
    bb_zfp_settings settings = draw_settings(&in, shape.dimensions);
    draw_index(&in, settings, bb_zfp_band_runs(&shape), &band);
    uint8_t short_of = fuzz_take(&in);
    size_t slack = bb_zfp_band_slack(settings, shape.dimensions);
    band.bytes = in.size;
    band.bits = 8 * (uint64_t)in.size;
    band.bits -= short_of % 8 < band.bits ? short_of % 8 : 0;
    band.words = fuzz_zeroed((bb_index)(in.size + slack), 1);
    memcpy(band.words, in.data, in.size);
    // The decoder must survive invalid streams too.
    decode_all(settings, &shape, &band);
    bb_zfp_band_release(&band);
    fuzz_demand(bb_memory_blocks() == 0, "no memory kept");
    return 0;
}
