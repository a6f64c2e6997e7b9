// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 32 integers in planes: an integer of n bits is cut, from its most significant bits
// down, into fields as wide as the binary digits of n (13 = 8 + 4 + 1), and the fields of one width
// are stored together. So every width is read in whole bytes, 16 bytes at a time.
//
// A plane of width w has 4 w bytes per block. w = 16 and 32: little-endian words in order. w = 8:
// byte i is value i. w = 4: byte i % 16, nibble i / 16. w = 2: byte i % 8, bits 2 (i / 8). w = 1:
// byte i % 4, bit i / 4.
#ifndef BB_PRECISION_CODECS_PLANE_CORE_H
#define BB_PRECISION_CODECS_PLANE_CORE_H

#include "core/portable.h"

#include <stdint.h>

enum { BB_BLOCK = 32 };

/// Returns the field of value i of a block in its plane of width `width`.
BB_DEVICE_FUNCTION
uint32_t bb_plane_field(const unsigned char *plane, int width, int i)
{
    uint32_t field = 0;
    if (width >= 8) {
        int bytes = width / 8;
        for (int k = bytes - 1; k >= 0; --k) {
            field = field << 8 | plane[bytes * i + k];
        }
        return field;
    }
    int across = 4 * width;
    return (uint32_t)plane[i % across] >> (width * (i / across)) & ((1u << width) - 1u);
}

/// Sign-extends the low `bits` bits, 1 to 32.
BB_DEVICE_FUNCTION
int32_t bb_plane_signed(uint32_t value, int bits)
{
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

#endif
