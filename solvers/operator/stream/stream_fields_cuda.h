// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: stored integers as the bytes that stream_digits_cuda.h multiplies, four of a
// row in a word.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_FIELDS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_FIELDS_CUDA_H

#include "solvers/operator/stream/stream_storage_cuda.h"

namespace stream
{

__host__ __device__ constexpr uint32_t four_of(uint32_t byte)
{
    return byte * 0x01010101U;
}

__device__ __forceinline__ uint32_t load_4(const unsigned char *source)
{
    return *reinterpret_cast<const uint32_t *>(source);
}

/// A block of a row: index `own` among eight, in group `eights` of its row or plane.
struct block_place {
    int eights, own;
    int turn; // turn of the row

    /// Byte offset of the block among eight of `bytes` each, and of its half.
    __device__ __forceinline__ int turned(int bytes) const
    {
        return bytes * own ^ bytes * turn;
    }
    __device__ __forceinline__ int turned_half(int half) const
    {
        return 16 * (2 * own + half) ^ 16 * turn;
    }
};

// The loaders below read values 4 c to 4 c + 3 of a block and those 16 further as bytes; c is the
// column of a lane, 0 to 3.

/// Bytes in order, stored as they are multiplied.
struct bytes_in_order {
    static constexpr int bias = 128;
    static __device__ __forceinline__ uint2 load(const unsigned char *row, block_place block,
                                                 int column)
    {
        const unsigned char *own = row + 256 * block.eights + BB_BLOCK * block.own + 4 * column;
        return {load_4(own), load_4(own + 16)};
    }
};

/// Bytes in order, in rows whose halves of blocks are exchanged.
struct bytes_turned {
    static constexpr int bias = 128;
    static __device__ __forceinline__ uint2 load(const unsigned char *row, block_place block,
                                                 int column)
    {
        const unsigned char *own = row + 256 * block.eights + 4 * column;
        return {load_4(own + block.turned_half(0)), load_4(own + block.turned_half(1))};
    }
};

struct nibbles_in_order {
    static constexpr int bias = 8;
    static __device__ __forceinline__ uint2 load(const unsigned char *row, block_place block,
                                                 int column)
    {
        const uint32_t word = load_4(row + 128 * block.eights + 16 * block.own + 4 * column);
        return {mask_and_turn(word, four_of(15U), four_of(8U)),
                mask_and_turn(word >> 4, four_of(15U), four_of(8U))};
    }
};

/// Words of a block, in the plane of width 2^K, that contain a lane's fields.
template <int K>
__device__ __forceinline__ uint2 load_words(const unsigned char *plane, block_place block,
                                            int column)
{
    constexpr int bits = 1 << K;
    if constexpr (K == 3) {
        return bytes_turned::load(plane, block, column);
    } else {
        const unsigned char *own = plane + 32 * bits * block.eights + 4 * (column % bits);
        return {load_4(own + block.turned(4 * bits)), 0U};
    }
}

/// These fields as bytes; `mask` selects all bits of a field or none, `sign` inverts bits.
template <int K>
__device__ __forceinline__ uint2 fields_of(uint2 words, int column, uint32_t mask, uint32_t sign)
{
    constexpr int bits = 1 << K;
    if constexpr (K == 3) {
        return {mask_and_turn(words.x, mask, sign), mask_and_turn(words.y, mask, sign)};
    } else {
        const uint32_t word = words.x >> (bits * (column / bits));
        return {mask_and_turn(word, mask, sign), mask_and_turn(word >> 4, mask, sign)};
    }
}

template <int K> constexpr uint32_t field_bits = four_of((1U << (1 << K)) - 1U);

/// Upper (`half` 1) or lower bytes of the 16-bit plane of a block, with signs inverted.
__device__ __forceinline__ uint2 load_halves(const unsigned char *plane, block_place block,
                                             int column, bool present, int half)
{
    const uint32_t bytes = half == 1 ? 0x7531U : 0x6420U;
    const uint32_t sign = half == 1 ? four_of(128U) : 0U;
    uint2 first = {0U, 0U};
    uint2 second = {0U, 0U};
    if (present) {
        const unsigned char *own =
            plane + 512 * block.eights + block.turned(2 * BB_BLOCK) + 8 * column;
        first = *reinterpret_cast<const uint2 *>(own);
        second = *reinterpret_cast<const uint2 *>(own + BB_BLOCK);
    }
    return {__byte_perm(first.x, first.y, bytes) ^ sign,
            __byte_perm(second.x, second.y, bytes) ^ sign};
}

/// Combines planes of W bits, 5 to 7, with BLOCKS blocks.
template <int W, int BLOCKS> struct planes_of {
    static constexpr int bias = 1 << (W - 1);

    static __device__ __forceinline__ uint2 load(const unsigned char *row, block_place block,
                                                 int column)
    {
        uint2 out =
            fields_of<2>(load_words<2>(row, block, column), column, field_bits<2>, four_of(8U));
        const unsigned char *plane = row + 16 * BLOCKS;
        if constexpr ((W & 2) != 0) {
            const uint2 next =
                fields_of<1>(load_words<1>(plane, block, column), column, field_bits<1>, 0U);
            out = {out.x << 2 | next.x, out.y << 2 | next.y};
            plane += 8 * BLOCKS;
        }
        if constexpr ((W & 1) != 0) {
            const uint2 next =
                fields_of<0>(load_words<0>(plane, block, column), column, field_bits<0>, 0U);
            out = {out.x << 1 | next.x, out.y << 1 | next.y};
        }
        return out;
    }
};

} // namespace stream

#endif
