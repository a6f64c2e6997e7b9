// SPDX-License-Identifier: Apache-2.0
//
// For .cu files: the functions of zfp_block_core.h by type, positions of runs and blocks, and
// decoding of three- and four-dimensional blocks by a warp.
//
// A warp reads a block's bits in lockstep, and lane l keeps coefficients l, l + 32, ...: bits are
// read once, no lane waits for another, and only the values themselves leave registers, for the
// transform in shared memory.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_KIND_CUDA_H
#define BB_PRECISION_CODECS_ZFP_ZFP_KIND_CUDA_H

#include "precision/codecs/zfp/zfp_stream.h"

template <typename Real> struct bb_zfp_kind;

template <> struct bb_zfp_kind<float> {
    using word = uint32_t;
    static constexpr int width = 32;
    static constexpr uint32_t exponent_bits = 8;
    template <int dimensions, bool reversible>
    static __device__ __forceinline__ void decode(bb_zfp_reader *reader,
                                                  const bb_zfp_settings *settings, float *out)
    {
        bb_zfp_decode_block_f32(reader, settings, dimensions, reversible, out);
    }
    template <bool reversible>
    static __device__ __forceinline__ void lift(word *values, uint32_t stride)
    {
        if (reversible) {
            bb_zfp_sum_up_f32(values, stride);
        } else {
            bb_zfp_lift_f32(values, stride);
        }
    }
    static __device__ __forceinline__ void finish(const bb_zfp_head *head, const word *values,
                                                  float *out)
    {
        bb_zfp_finish_f32(head, 4, values, out);
    }
    static __device__ __forceinline__ void store(float *target, const float *v)
    {
        *reinterpret_cast<float4 *>(target) = make_float4(v[0], v[1], v[2], v[3]);
    }
};

template <> struct bb_zfp_kind<double> {
    using word = uint64_t;
    static constexpr int width = 64;
    static constexpr uint32_t exponent_bits = 11;
    template <int dimensions, bool reversible>
    static __device__ __forceinline__ void decode(bb_zfp_reader *reader,
                                                  const bb_zfp_settings *settings, double *out)
    {
        bb_zfp_decode_block_f64(reader, settings, dimensions, reversible, out);
    }
    template <bool reversible>
    static __device__ __forceinline__ void lift(word *values, uint32_t stride)
    {
        if (reversible) {
            bb_zfp_sum_up_f64(values, stride);
        } else {
            bb_zfp_lift_f64(values, stride);
        }
    }
    static __device__ __forceinline__ void finish(const bb_zfp_head *head, const word *values,
                                                  double *out)
    {
        bb_zfp_finish_f64(head, 4, values, out);
    }
    static __device__ __forceinline__ void store(double *target, const double *v)
    {
        reinterpret_cast<double2 *>(target)[0] = make_double2(v[0], v[1]);
        reinterpret_cast<double2 *>(target)[1] = make_double2(v[2], v[3]);
    }
};

/// Computes the first value of a block: one division per axis, in 32 bits if possible.
template <int dimensions>
__device__ __forceinline__ bb_zfp_corner bb_zfp_kind_find_corner(const bb_zfp_shape &shape,
                                                                 bb_index block)
{
    const bb_index extents[3] = {shape.nx, shape.ny, shape.nz};
    bb_index place[4] = {0, 0, 0, 0};
    bb_index rest = block;
#pragma unroll
    for (int axis = 0; axis < dimensions - 1; ++axis) {
        const bb_index blocks = bb_zfp_stream_blocks_of(extents[axis]);
        const bb_index next = rest / blocks;
        place[axis] = 4 * (rest - next * blocks);
        rest = next;
    }
    place[dimensions - 1] = 4 * rest;
    return bb_zfp_corner{place[0], place[1], place[2], place[3]};
}

/// Computes the inclusive prefix sum over the lanes.
__device__ __forceinline__ uint32_t bb_zfp_kind_sum_lanes(uint32_t value)
{
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t below = __shfl_up_sync(0xffffffffu, value, step);
        value += static_cast<int>(threadIdx.x % 32) >= step ? below : 0;
    }
    return value;
}

/// Reads the planes of a block of `size` coefficients; data[j] is coefficient lane + 32 j.
template <typename Real, int size>
__device__ __forceinline__ void bb_zfp_kind_warp_read(bb_zfp_reader *reader, uint32_t planes,
                                                      uint32_t budget,
                                                      typename bb_zfp_kind<Real>::word *data)
{
    using word = typename bb_zfp_kind<Real>::word;
    const uint32_t lane = threadIdx.x % 32;
    uint32_t known = 0;
    uint32_t rest = budget;
    for (uint32_t k = 0; k < planes && rest > 0; ++k) {
        const word one = static_cast<word>(1) << (bb_zfp_kind<Real>::width - 1 - k);
        const bool all = rest >= 2 * size;
        const uint32_t verbatim = bb_zfp_reader_least(known, rest);
#pragma unroll
        for (int j = 0; j < size / 32; ++j) {
            if (verbatim > 32 * j) {
                const uint32_t count = bb_zfp_reader_least(verbatim - 32 * j, 32);
                const uint32_t here = lane < count ? bb_zfp_reader_peek(reader) >> lane & 1 : 0;
                data[j] |= here != 0 ? one : 0;
                bb_zfp_reader_advance(reader, count);
            }
        }
        rest -= verbatim;
        while (known < size && rest > 0) {
            --rest;
            if (bb_zfp_reader_read_bit(reader) == 0) {
                break;
            }
            if (all) {
                uint32_t used = 0;
                known += bb_zfp_block_read_zeros(reader, size - 1 - known, &used);
                rest -= used;
            } else {
                for (; known < size - 1 && rest > 0; ++known) {
                    --rest;
                    if (bb_zfp_reader_read_bit(reader) != 0) {
                        break;
                    }
                }
            }
#pragma unroll
            for (int j = 0; j < size / 32; ++j) {
                data[j] |= known == lane + 32 * j ? one : 0;
            }
            ++known;
        }
    }
}

/// Decodes the block at the reader's position, the same in all lanes, and passes each line of four
/// values along x to put(line, values) on some lane; line is y + 4 z + 16 w. `values` is the warp's
/// own shared memory, of 4^dimensions words.
template <typename Real, int dimensions, bool reversible, typename Put>
__device__ __forceinline__ void
bb_zfp_kind_warp_decode(bb_zfp_reader *reader, const bb_zfp_settings *settings,
                        typename bb_zfp_kind<Real>::word *values, const Put &put)
{
    using kind = bb_zfp_kind<Real>;
    using word = typename kind::word;
    const int size = 1 << (2 * dimensions);
    const word mask = static_cast<word>(UINT64_C(0xaaaaaaaaaaaaaaaa));
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t start = bb_zfp_reader_position(reader);
    const bb_zfp_head head =
        bb_zfp_block_read_head(reader, settings, dimensions, reversible, kind::exponent_bits);
    word data[size / 32] = {};
    if (!head.is_zero) {
        bb_zfp_kind_warp_read<Real, size>(reader, bb_zfp_reader_least(head.planes, kind::width),
                                          settings->maximum_bits - head.bits, data);
    }
    bb_zfp_block_fill_up(reader, settings, start);
    const bool empty = head.is_zero || head.from_zero;
    __syncwarp(); // the previous block may still be in use
#pragma unroll
    for (int j = 0; j < size / 32; ++j) {
        values[bb_zfp_block_place(dimensions, lane + 32 * j)] = (data[j] ^ mask) - mask;
    }
    __syncwarp();
#pragma unroll
    for (int axis = dimensions - 1; axis > 0; --axis) {
        const uint32_t stride = 1u << (2 * axis);
        for (uint32_t line = lane; line < size / 4; line += 32) {
            kind::template lift<reversible>(values + line / stride * 4 * stride + line % stride,
                                            stride);
        }
        __syncwarp();
    }
    for (uint32_t line = lane; line < size / 4; line += 32) {
        word row[4] = {values[4 * line], values[4 * line + 1], values[4 * line + 2],
                       values[4 * line + 3]};
        Real out[4] = {0, 0, 0, 0};
        kind::template lift<reversible>(row, 1);
        if (!empty) {
            kind::finish(&head, row, out);
        }
        put(line, out);
    }
}

#endif
