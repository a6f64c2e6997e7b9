// SPDX-License-Identifier: Apache-2.0
//
// Vectorised packing of whole planes of plane_core.h, shared by block floating point, integers and
// the quantiser. The host is little-endian.
#ifndef BB_PRECISION_CODECS_PLANE_H
#define BB_PRECISION_CODECS_PLANE_H

#include "precision/codecs/plane_core.h"

#include <stdbool.h>
#include <string.h>

// Inlined into every clone of the caller, so that it is compiled for the clone's instruction set.
#define BB_PLANE_FUNCTION static inline __attribute__((always_inline))

// Position of value i's bit in the four bytes of a plane of width 1.
static const uint32_t bb_plane_bit[BB_BLOCK] = {
    0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
    4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31,
};

/// Shifts `values` left and inserts the fields of a plane below.
BB_PLANE_FUNCTION void bb_plane_unpack(const unsigned char *plane, int width,
                                       uint32_t values[BB_BLOCK])
{
    if (width == 32) {
        memcpy(values, plane, BB_BLOCK * sizeof *values);
    } else if (width == 16) {
        uint16_t words[BB_BLOCK];
        memcpy(words, plane, sizeof words);
        for (int i = 0; i < BB_BLOCK; ++i) {
            values[i] = values[i] << 16 | words[i];
        }
    } else if (width == 8) {
        unsigned char bytes[BB_BLOCK];
        memcpy(bytes, plane, sizeof bytes);
        for (int i = 0; i < BB_BLOCK; ++i) {
            values[i] = values[i] << 8 | bytes[i];
        }
    } else if (width == 1) {
        uint32_t word;
        memcpy(&word, plane, sizeof word);
        for (int i = 0; i < BB_BLOCK; ++i) {
            values[i] = values[i] << 1 | (word >> bb_plane_bit[i] & 1u);
        }
    } else {
        int across = 4 * width;
        uint32_t mask = (1u << width) - 1u;
        for (int k = 0; k < BB_BLOCK / across; ++k) {
            for (int i = 0; i < across; ++i) {
                uint32_t field = (uint32_t)plane[i] >> (width * k) & mask;
                values[across * k + i] = values[across * k + i] << width | field;
            }
        }
    }
}

/// Writes the fields at bit offset `shift` in `values`.
BB_PLANE_FUNCTION void bb_plane_pack(const int32_t values[BB_BLOCK], int shift, int width,
                                     unsigned char *plane)
{
    if (width == 32) {
        memcpy(plane, values, BB_BLOCK * sizeof *values);
    } else if (width == 16) {
        uint16_t words[BB_BLOCK];
        for (int i = 0; i < BB_BLOCK; ++i) {
            words[i] = (uint16_t)(values[i] >> shift);
        }
        memcpy(plane, words, sizeof words);
    } else if (width == 8) {
        for (int i = 0; i < BB_BLOCK; ++i) {
            plane[i] = (unsigned char)(values[i] >> shift);
        }
    } else if (width == 1) {
        uint32_t word = 0;
        for (int i = 0; i < BB_BLOCK; ++i) {
            word |= ((uint32_t)(values[i] >> shift) & 1u) << bb_plane_bit[i];
        }
        memcpy(plane, &word, sizeof word);
    } else {
        int across = 4 * width;
        uint32_t mask = (1u << width) - 1u;
        uint32_t bytes[16] = {0};
        for (int k = 0; k < BB_BLOCK / across; ++k) {
            for (int i = 0; i < across; ++i) {
                bytes[i] |= ((uint32_t)(values[across * k + i] >> shift) & mask) << (width * k);
            }
        }
        for (int i = 0; i < across; ++i) {
            plane[i] = (unsigned char)bytes[i];
        }
    }
}

/// The planes of widths 2^5 to 2^0.
#define BB_EACH_PLANE(PLANE) PLANE(5) PLANE(4) PLANE(3) PLANE(2) PLANE(1) PLANE(0)

/// Writes the low `width` bits of a block's values as planes, widest first; returns their end.
BB_PLANE_FUNCTION unsigned char *bb_plane_pack_block(const int32_t values[BB_BLOCK], int width,
                                                     unsigned char *out)
{
    int shift = width;
#define PLANE(k)                                                                                   \
    if ((width >> (k)&1) != 0) {                                                                   \
        shift -= 1 << (k);                                                                         \
        bb_plane_pack(values, shift, 1 << (k), out);                                               \
        out += 4u << (k);                                                                          \
    }
    BB_EACH_PLANE(PLANE)
#undef PLANE
    return out;
}

/// Reads the signed values written by bb_plane_pack_block, zeros for width 0; returns the end of
/// their planes.
BB_PLANE_FUNCTION const unsigned char *bb_plane_unpack_block(const unsigned char *cursor, int width,
                                                             int32_t values[BB_BLOCK])
{
    uint32_t fields[BB_BLOCK] = {0};
#define PLANE(k)                                                                                   \
    if ((width >> (k)&1) != 0) {                                                                   \
        bb_plane_unpack(cursor, 1 << (k), fields);                                                 \
        cursor += 4u << (k);                                                                       \
    }
    BB_EACH_PLANE(PLANE)
#undef PLANE
    for (int i = 0; i < BB_BLOCK; ++i) {
        values[i] = width == 0 ? 0 : bb_plane_signed(fields[i], width);
    }
    return cursor;
}

/// Multiplies a block's integers, or bytes, by a unit: doubles if `wide`, else floats.
#define BB_PLANE_SCALE(name, integer)                                                              \
    BB_PLANE_FUNCTION void name(const integer values[BB_BLOCK], float unit, bool wide, void *out)  \
    {                                                                                              \
        for (int i = 0; !wide && i < BB_BLOCK; ++i) {                                              \
            ((float *)out)[i] = (float)values[i] * unit;                                           \
        }                                                                                          \
        for (int i = 0; wide && i < BB_BLOCK; ++i) {                                               \
            ((double *)out)[i] = (double)values[i] * (double)unit;                                 \
        }                                                                                          \
    }
BB_PLANE_SCALE(bb_plane_scale, int32_t)
BB_PLANE_SCALE(bb_plane_scale_bytes, signed char)
#undef BB_PLANE_SCALE

/// Defines decode_f32 and decode_f64 of a codec (codec_row.h), in clones, from
/// unpack_blocks(matrix, row, block, count, wide, out).
#define BB_PLANE_DECODERS                                                                          \
    BB_CLONES static void decode_f32(const bb_coded_matrix *matrix, bb_index row, bb_index block,  \
                                     bb_index count, float *out)                                   \
    {                                                                                              \
        unpack_blocks(matrix, row, block, count, false, out);                                      \
    }                                                                                              \
    BB_CLONES static void decode_f64(const bb_coded_matrix *matrix, bb_index row, bb_index block,  \
                                     bb_index count, double *out)                                  \
    {                                                                                              \
        unpack_blocks(matrix, row, block, count, true, out);                                       \
    }

#endif
