// SPDX-License-Identifier: Apache-2.0
//
// Random and adversarial arrays, and their streams by libzfp, for tests of the zfp decoder.
#ifndef BB_TESTS_PRECISION_CODECS_ZFP_ZFP_ARRAYS_H
#define BB_TESTS_PRECISION_CODECS_ZFP_ZFP_ARRAYS_H

#include "precision/codecs/zfp/zfp_decoder.h"
#include "tests/check.h"

#include <float.h>
#include <zfp.h>

enum { MODE_RATE, MODE_PRECISION, MODE_ACCURACY, MODE_EXPERT, MODE_REVERSIBLE, MODE_COUNT };
enum { KIND_COUNT = 13, MOST_VALUES = 4096, STREAM_ROOM = 1 << 18 };

static const char *const mode_names[MODE_COUNT] = {"rate", "precision", "accuracy", "expert",
                                                   "reversible"};

typedef struct random_bits {
    uint64_t state;
} random_bits;

// splitmix64
static uint64_t draw(random_bits *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bb_index draw_below(random_bits *random, bb_index count)
{
    return (bb_index)(draw(random) % (uint64_t)count);
}

static double draw_unit(random_bits *random)
{
    return (double)(draw(random) >> 11) * 0x1p-53;
}

// All remainders of a block, up to three blocks along the first axes.
static bb_zfp_shape draw_shape(random_bits *random, int dimensions)
{
    const bb_index maximum[4] = {40, 13, 9, 6};
    bb_zfp_shape shape = {dimensions, 1, 1, 1, 1};
    shape.nx = 1 + draw_below(random, maximum[dimensions - 1]);
    if (dimensions > 1) {
        shape.ny = 1 + draw_below(random, maximum[dimensions - 1]);
    }
    if (dimensions > 2) {
        shape.nz = 1 + draw_below(random, maximum[dimensions - 1]);
    }
    if (dimensions > 3) {
        shape.nw = 1 + draw_below(random, maximum[dimensions - 1]);
    }
    return shape;
}

static double draw_value(random_bits *random, int kind, bb_index i, bool is_double)
{
    double minimum = is_double ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
    double maximum = is_double ? DBL_MAX : (double)FLT_MAX;
    double u = 2.0 * draw_unit(random) - 1.0;
    switch (kind) {
    case 0:
        return u;
    case 1:
        return sin(0.2 * (double)i) + 1e-3 * u;
    case 2:
        return 1e-9 / (1.0 + 0.01 * (double)(i * i)) + 1e-14 * u;
    case 3:
        return 0.0;
    case 4:
        return -0.0;
    case 5:
        return -7.25;
    case 6: // subnormal
        return minimum * floor(100.0 * u);
    case 7: // every exponent
        return ldexp(u, (int)draw_below(random, is_double ? 2090 : 270) - (is_double ? 1070 : 145));
    case 8:
        return draw_below(random, 5) == 0 ? maximum * u : 0.0;
    case 9:
        return draw_below(random, 17) == 0 ? (double)NAN : u;
    case 10:
        return draw_below(random, 17) == 0 ? copysign((double)INFINITY, u) : u;
    case 11: // integers, which the reversible mode packs
        return floor(1000.0 * u);
    default: // a single value
        return i % 37 == 5 ? u : 0.0;
    }
}

// Values of the stream's type; the last kind is arbitrary bits.
static void draw_values(random_bits *random, int kind, bool is_double, bb_index count, void *out)
{
    for (bb_index i = 0; i < count; ++i) {
        if (kind == KIND_COUNT) {
            uint64_t bits = draw(random);
            memcpy((char *)out + (size_t)i * (is_double ? 8 : 4), &bits, is_double ? 8 : 4);
        } else if (is_double) {
            ((double *)out)[i] = draw_value(random, kind, i, true);
        } else {
            ((float *)out)[i] = (float)draw_value(random, kind, i, false);
        }
    }
}

static void draw_mode(random_bits *random, int mode, bool is_double, int dimensions,
                      zfp_stream *zfp)
{
    zfp_type type = is_double ? zfp_type_double : zfp_type_float;
    unsigned size = 1u << (2 * dimensions);
    unsigned head = is_double ? 12 : 9;
    double maximum = is_double ? 66.0 : 34.0;
    switch (mode) {
    case MODE_RATE:
        (void)zfp_stream_set_rate(zfp, maximum * draw_unit(random), type, (unsigned)dimensions,
                                  zfp_false);
        break;
    case MODE_PRECISION:
        (void)zfp_stream_set_precision(zfp, 1 + (unsigned)draw_below(random, is_double ? 64 : 32));
        break;
    case MODE_ACCURACY:
        (void)zfp_stream_set_accuracy(zfp, ldexp(1.0, 4 - (int)draw_below(random, 60)));
        break;
    case MODE_EXPERT:
        zfp->minbits = (unsigned)draw_below(random, 2 * size);
        zfp->maxbits = head + (unsigned)draw_below(random, 40 * size);
        zfp->maxbits = zfp->maxbits < zfp->minbits ? zfp->minbits : zfp->maxbits;
        zfp->maxprec = 1 + (unsigned)draw_below(random, 64);
        zfp->minexp = 10 - (int)draw_below(random, 100);
        break;
    default:
        zfp_stream_set_reversible(zfp);
    }
}

static zfp_field *field_of(const bb_zfp_shape *shape, bool is_double, void *values)
{
    zfp_type type = is_double ? zfp_type_double : zfp_type_float;
    size_t nx = (size_t)shape->nx, ny = (size_t)shape->ny;
    size_t nz = (size_t)shape->nz, nw = (size_t)shape->nw;
    switch (shape->dimensions) {
    case 1:
        return zfp_field_1d(values, type, nx);
    case 2:
        return zfp_field_2d(values, type, nx, ny);
    case 3:
        return zfp_field_3d(values, type, nx, ny, nz);
    default:
        return zfp_field_4d(values, type, nx, ny, nz, nw);
    }
}

// One array, its stream written by libzfp, and the values decoded by libzfp.
typedef struct coded_array {
    bb_zfp_stream stream;
    size_t value_bytes; // in total
    double values[MOST_VALUES], theirs[MOST_VALUES];
    unsigned char bytes[STREAM_ROOM];
} coded_array;

static inline zfp_stream *open_array(const bb_zfp_shape *shape, bool is_double, coded_array *out)
{
    out->stream =
        (bb_zfp_stream){.bytes = out->bytes, .type = is_double ? BB_F64 : BB_F32, .shape = *shape};
    bb_index count = bb_zfp_stream_values(&out->stream);
    assert_true(count <= MOST_VALUES);
    out->value_bytes = (size_t)count * (is_double ? 8 : 4);
    return zfp_stream_open(stream_open(out->bytes, sizeof out->bytes));
}

// Encodes the array's values with the settings of `zfp`, and decodes them; closes it.
static inline void code_values(zfp_stream *zfp, coded_array *out)
{
    bitstream *bits = zfp_stream_bit_stream(zfp);
    out->stream.settings = (bb_zfp_settings){zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp};
    zfp_field *field = field_of(&out->stream.shape, out->stream.type == BB_F64, out->values);
    out->stream.size = zfp_compress(zfp, field);
    assert_true(out->stream.size > 0 && out->stream.size < STREAM_ROOM / 2);
    memset(out->bytes + out->stream.size, 0xff, 64);
    out->stream.bits = 8 * (uint64_t)out->stream.size;
    zfp_stream_rewind(zfp);
    zfp_field_set_pointer(field, out->theirs);
    memset(out->theirs, 0x5a, sizeof out->theirs);
    assert_true(zfp_decompress(zfp, field) > 0);
    zfp_field_free(field);
    zfp_stream_close(zfp);
    stream_close(bits);
}

static inline void code_array(random_bits *random, int mode, int dimensions, bool is_double,
                              int kind, coded_array *out)
{
    bb_zfp_shape shape = draw_shape(random, dimensions);
    zfp_stream *zfp = open_array(&shape, is_double, out);
    draw_values(random, kind, is_double, bb_zfp_stream_values(&out->stream), out->values);
    draw_mode(random, mode, is_double, dimensions, zfp);
    code_values(zfp, out);
}

#endif
