// SPDX-License-Identifier: Apache-2.0
//
// Internal part of zfp_block_core.h, which includes it for floats and for doubles and defines
// BB_ZFP_NAME, _REAL, _SIGNED, _UNSIGNED, _WIDTH, _EXPONENT_BITS and _MANTISSA_BITS.

/// value << 8 | byte i of `bytes`.
BB_ZFP_INLINE BB_ZFP_UNSIGNED BB_ZFP_NAME(push_byte)(BB_ZFP_UNSIGNED value, uint32_t bytes,
                                                     uint32_t i)
{
#if defined(__CUDA_ARCH__) && BB_ZFP_WIDTH == 32
    return __byte_perm(bytes, value, 0x6540 | i);
#else
    return value << 8 | (bytes >> 8 * i & 255);
#endif
}

/// Planes of at most 16 coefficients, in registers. Eight planes at a time are gathered in a byte
/// per coefficient: the product spreads four bits of a plane over four bytes. `limited`, a
/// constant: the block's bits may end before its planes do.
BB_ZFP_INLINE void BB_ZFP_NAME(gather)(bb_zfp_reader *reader, int limited, uint32_t size,
                                       uint32_t planes, uint32_t budget, BB_ZFP_UNSIGNED *data)
{
    const uint32_t ones = 0x01010101;
    const uint32_t factor = 0x00204081;
    bb_zfp_front front = bb_zfp_front_of(size, 0);
    uint32_t k = 0;
    BB_ZFP_UNROLL
    for (uint32_t i = 0; i < size; ++i) {
        data[i] = 0;
    }
    while (k < planes && (!limited || budget > 0)) {
        uint32_t bytes[4] = {0, 0, 0, 0};
        const uint32_t end = bb_zfp_reader_least(k + 8, planes);
        const uint32_t multiple = k + 8;
        for (; k < end && (!limited || budget > 0); ++k) {
            uint32_t plane;
            uint32_t used = 0;
            if (limited && budget < 32) {
                plane = bb_zfp_block_read_last_plane(reader, size, &front.known, &budget);
            } else {
                plane = bb_zfp_block_read_plane(reader, size, &front, &used);
                budget -= used;
            }
            bytes[0] = bytes[0] << 1 | ((plane & 15) * factor & ones);
            if (front.known > 4) {
                BB_ZFP_UNROLL
                for (uint32_t group = 1; group < size / 4; ++group) {
                    uint32_t spread = (plane >> 4 * group & 15) * factor;
                    // size is 4 or 16. NOLINTNEXTLINE(clang-analyzer-core.*)
                    bytes[group] = bytes[group] << 1 | (spread & ones);
                }
            }
        }
        BB_ZFP_UNROLL
        for (uint32_t group = 0; group < size / 4; ++group) {
            if (front.known > 4 * group) {
                BB_ZFP_UNROLL
                for (uint32_t i = 0; i < 4; ++i) {
                    BB_ZFP_UNSIGNED *target = &data[4 * group + i];
                    // All of `size` were set. NOLINTNEXTLINE(clang-analyzer-core.*)
                    *target = BB_ZFP_NAME(push_byte)(*target, bytes[group] << (multiple - k), i);
                }
            }
        }
        k = multiple;
    }
    BB_ZFP_UNROLL
    for (uint32_t i = 0; i < size; ++i) {
        data[i] <<= (BB_ZFP_WIDTH - k) % BB_ZFP_WIDTH;
    }
}

BB_ZFP_INLINE void BB_ZFP_NAME(read_few)(bb_zfp_reader *reader, uint32_t size, uint32_t planes,
                                         uint32_t budget, BB_ZFP_UNSIGNED *data)
{
    // A plane has at most one bit per coefficient, plus group bits: one per plane and coefficient.
    if (budget >= (planes + 1) * size) {
        BB_ZFP_NAME(gather)(reader, 0, size, planes, budget, data);
    } else {
        BB_ZFP_NAME(gather)(reader, 1, size, planes, budget, data);
    }
}

/// Reads a plane of more coefficients whose bits are all within the budget; returns their number.
BB_ZFP_INLINE uint32_t BB_ZFP_NAME(read_wide_plane)(bb_zfp_reader *reader, uint32_t size,
                                                    uint32_t *known, BB_ZFP_UNSIGNED one,
                                                    BB_ZFP_UNSIGNED *data)
{
    uint32_t i = 0;
    uint32_t used = *known;
    while (i < *known) {
        uint32_t count = bb_zfp_reader_least(*known - i, 32);
        uint32_t window = bb_zfp_reader_peek(reader);
        window = count < 32 ? window & ((UINT32_C(1) << count) - 1) : window;
        bb_zfp_reader_advance(reader, count);
        for (; window != 0; window &= window - 1) {
            data[i + bb_zfp_reader_lowest(window)] |= one;
        }
        i += count;
    }
    while (i < size) {
        ++used;
        if (bb_zfp_reader_read_bit(reader) == 0) {
            break;
        }
        i += bb_zfp_block_read_zeros(reader, size - 1 - i, &used);
        data[i++] |= one;
    }
    *known = i;
    return used;
}

/// As read_wide_plane, for a block whose bits may end within the plane; returns the rest of
/// `budget`.
BB_ZFP_INLINE uint32_t BB_ZFP_NAME(read_last_wide_plane)(bb_zfp_reader *reader, uint32_t size,
                                                         uint32_t *known, uint32_t budget,
                                                         BB_ZFP_UNSIGNED one, BB_ZFP_UNSIGNED *data)
{
    uint32_t i = *known;
    uint32_t verbatim = bb_zfp_reader_least(i, budget);
    budget -= verbatim;
    for (uint32_t j = 0; j < verbatim; ++j) {
        // NOLINTNEXTLINE(clang-analyzer-core.*): known is at most size, of which all were set
        data[j] |= bb_zfp_reader_read_bit(reader) != 0 ? one : 0;
    }
    while (i < size && budget > 0) {
        --budget;
        if (bb_zfp_reader_read_bit(reader) == 0) {
            break;
        }
        for (; i < size - 1 && budget > 0; ++i) {
            --budget;
            if (bb_zfp_reader_read_bit(reader) != 0) {
                break;
            }
        }
        data[i++] |= one;
    }
    *known = i;
    return budget;
}

BB_ZFP_INLINE void BB_ZFP_NAME(read_many)(bb_zfp_reader *reader, uint32_t size, uint32_t planes,
                                          uint32_t budget, BB_ZFP_UNSIGNED *data)
{
    uint32_t known = 0;
    uint32_t total = 0;
    for (uint32_t i = 0; i < size; ++i) {
        data[i] = 0;
    }
    for (uint32_t k = 0; k < planes && total < budget; ++k) {
        BB_ZFP_UNSIGNED one = (BB_ZFP_UNSIGNED)1 << (BB_ZFP_WIDTH - 1 - k);
        if (budget - total >= 2 * size) {
            total += BB_ZFP_NAME(read_wide_plane)(reader, size, &known, one, data);
        } else {
            total = budget - BB_ZFP_NAME(read_last_wide_plane)(reader, size, &known, budget - total,
                                                               one, data);
        }
    }
}

// Inverse of the lifted transform of four values; `>>` of negative values is arithmetic.
//        ( 4  6 -4 -1) (x)
//  1/4 * ( 4  2  4  5) (y)
//        ( 4 -2  4 -5) (z)
//        ( 4 -6 -4  1) (w)
BB_ZFP_INLINE void BB_ZFP_NAME(lift)(BB_ZFP_UNSIGNED *p, uint32_t stride)
{
    BB_ZFP_UNSIGNED x = p[0];
    BB_ZFP_UNSIGNED y = p[stride];
    BB_ZFP_UNSIGNED z = p[2 * stride];
    BB_ZFP_UNSIGNED w = p[3 * stride];
    y += (BB_ZFP_UNSIGNED)((BB_ZFP_SIGNED)w >> 1);
    w -= (BB_ZFP_UNSIGNED)((BB_ZFP_SIGNED)y >> 1);
    y += w;
    w = 2 * w - y;
    z += x;
    x = 2 * x - z;
    y += z;
    z = 2 * z - y;
    w += x;
    x = 2 * x - w;
    p[0] = x;
    p[stride] = y;
    p[2 * stride] = z;
    p[3 * stride] = w;
}

/// Inverse of the differences in the reversible mode: Pascal's matrix.
BB_ZFP_INLINE void BB_ZFP_NAME(sum_up)(BB_ZFP_UNSIGNED *p, uint32_t stride)
{
    BB_ZFP_UNSIGNED x = p[0];
    BB_ZFP_UNSIGNED y = p[stride];
    BB_ZFP_UNSIGNED z = p[2 * stride];
    BB_ZFP_UNSIGNED w = p[3 * stride];
    p[stride] = x + y;
    p[2 * stride] = x + 2 * y + z;
    p[3 * stride] = x + 3 * y + 3 * z + w;
}

/// Last axis first.
BB_ZFP_INLINE void BB_ZFP_NAME(transform)(int dimensions, int reversible, BB_ZFP_UNSIGNED *values)
{
    const uint32_t lines = UINT32_C(1) << (2 * (dimensions - 1));
    BB_ZFP_UNROLL
    for (int axis = dimensions - 1; axis >= 0; --axis) {
        const uint32_t stride = UINT32_C(1) << (2 * axis);
        BB_ZFP_UNROLL
        for (uint32_t line = 0; line < lines; ++line) {
            BB_ZFP_UNSIGNED *p = values + line / stride * 4 * stride + line % stride;
            if (reversible) {
                BB_ZFP_NAME(sum_up)(p, stride);
            } else {
                BB_ZFP_NAME(lift)(p, stride);
            }
        }
    }
}

/// 2^e rounded to nearest even, as ldexp(1, e): subnormal below the normal range, then 0.
BB_ZFP_INLINE BB_ZFP_REAL BB_ZFP_NAME(power)(int e)
{
    const int bias = (1 << (BB_ZFP_EXPONENT_BITS - 1)) - 1;
    BB_ZFP_UNSIGNED bits = 0;
    BB_ZFP_REAL out;
    if (e > -bias) {
        bits = (BB_ZFP_UNSIGNED)(e + bias) << BB_ZFP_MANTISSA_BITS;
    } else if (e > -bias - BB_ZFP_MANTISSA_BITS) {
        bits = (BB_ZFP_UNSIGNED)1 << (e + bias + BB_ZFP_MANTISSA_BITS - 1);
    }
    memcpy(&out, &bits, sizeof out);
    return out;
}

BB_ZFP_INLINE void BB_ZFP_NAME(finish)(const bb_zfp_head *head, uint32_t size,
                                       const BB_ZFP_UNSIGNED *values, BB_ZFP_REAL *out)
{
    const BB_ZFP_UNSIGNED sign = (BB_ZFP_UNSIGNED)1 << (BB_ZFP_WIDTH - 1);
    // The largest finite exponent minus the integer bits: never out of range.
    BB_ZFP_REAL scale = BB_ZFP_NAME(power)(head->exponent - (BB_ZFP_WIDTH - 2));
    if (head->is_integers) {
        BB_ZFP_UNROLL
        for (uint32_t i = 0; i < size; ++i) {
            BB_ZFP_UNSIGNED bits = values[i];
            bits ^= (bits & sign) != 0 ? sign - 1 : 0;
            memcpy(&out[i], &bits, sizeof bits);
        }
        return;
    }
    BB_ZFP_UNROLL
    for (uint32_t i = 0; i < size; ++i) {
        out[i] = scale * (BB_ZFP_REAL)(BB_ZFP_SIGNED)values[i];
    }
}

// Reads the block at the reader's position and leaves the reader after it: its header, and data
// [4^dimensions] if it is nonzero.
BB_ZFP_INLINE bb_zfp_head BB_ZFP_NAME(read_block)(bb_zfp_reader *reader,
                                                  const bb_zfp_settings *settings, int dimensions,
                                                  int reversible, BB_ZFP_UNSIGNED *data)
{
    const uint32_t size = UINT32_C(1) << (2 * dimensions);
    const uint32_t start = bb_zfp_reader_position(reader);
    bb_zfp_head head =
        bb_zfp_block_read_head(reader, settings, dimensions, reversible, BB_ZFP_EXPONENT_BITS);
    if (!head.is_zero) {
        uint32_t planes = bb_zfp_reader_least(head.planes, BB_ZFP_WIDTH);
        uint32_t budget = settings->maximum_bits - head.bits;
        if (dimensions <= 2) {
            BB_ZFP_NAME(read_few)(reader, size, planes, budget, data);
        } else {
            BB_ZFP_NAME(read_many)(reader, size, planes, budget, data);
        }
    }
    bb_zfp_block_fill_up(reader, settings, start);
    return head;
}

/// Decodes the block at the reader's position to out [4^dimensions], x fastest, and leaves the
/// reader after it. Settings must pass bb_zfp_stream_check; `dimensions` and `reversible` (from
/// bb_zfp_block_reversible) should be constants.
BB_ZFP_INLINE void BB_ZFP_NAME(decode_block)(bb_zfp_reader *reader, const bb_zfp_settings *settings,
                                             int dimensions, int reversible, BB_ZFP_REAL *out)
{
    const uint32_t size = UINT32_C(1) << (2 * dimensions);
    const BB_ZFP_UNSIGNED mask = (BB_ZFP_UNSIGNED)UINT64_C(0xaaaaaaaaaaaaaaaa);
    BB_ZFP_UNSIGNED data[BB_ZFP_BLOCK_MOST];
    BB_ZFP_UNSIGNED values[BB_ZFP_BLOCK_MOST];
    const bb_zfp_head head =
        BB_ZFP_NAME(read_block)(reader, settings, dimensions, reversible, data);
    if (head.is_zero || head.from_zero) {
        BB_ZFP_UNROLL
        for (uint32_t i = 0; i < size; ++i) {
            out[i] = 0;
        }
        return;
    }
    BB_ZFP_UNROLL
    for (uint32_t i = 0; i < size; ++i) {
        values[bb_zfp_block_place(dimensions, i)] = (data[i] ^ mask) - mask;
    }
    BB_ZFP_NAME(transform)(dimensions, reversible, values);
    BB_ZFP_NAME(finish)(&head, size, values, out);
}

/// Skips the block at the reader's position and leaves the reader after it.
BB_ZFP_INLINE void BB_ZFP_NAME(pass_block)(bb_zfp_reader *reader, const bb_zfp_settings *settings,
                                           int dimensions, int reversible)
{
    BB_ZFP_UNSIGNED data[BB_ZFP_BLOCK_MOST];
    (void)BB_ZFP_NAME(read_block)(reader, settings, dimensions, reversible, data);
}

#undef BB_ZFP_NAME
#undef BB_ZFP_REAL
#undef BB_ZFP_SIGNED
#undef BB_ZFP_UNSIGNED
#undef BB_ZFP_WIDTH
#undef BB_ZFP_EXPONENT_BITS
#undef BB_ZFP_MANTISSA_BITS
