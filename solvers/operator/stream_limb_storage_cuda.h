// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: stored values of eight bits and fewer as fp16 for a tensor core
// (stream_limbs_cuda.h), one type a storage of stream_storage_cuda.h.
//
// A warp takes 128 columns of 16 rows at once, in slots of 32, a slot in two products of 16. Which
// columns a product takes is free, as long as x comes in the same order: a lane of four takes those
// that lie together.
#ifndef BB_SOLVERS_OPERATOR_STREAM_LIMB_STORAGE_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_LIMB_STORAGE_CUDA_H

#include "solvers/operator/stream_storage_cuda.h"

namespace stream
{

constexpr int run_columns = 128; // that a warp takes at once
constexpr int slot_columns = 32; // of them, two products
constexpr int slots_of_run = run_columns / slot_columns;

/// What limbs need of a storage. words(row, run, lane) are those that a lane takes of
/// 128 columns of a row, pair(words, slot, step) its values of one product as two pairs of fp16.
/// x is cut in chunks of four columns (bb_coded_stream_chunk). Halves of a part of a lane's
/// columns, they lie in slot(lane, part) as lane quad(lane, part) of four wants them:
/// chunk_of(part, half), its middle two exchanged where `crossed`.
template <class S> struct eight_bits {
    static constexpr int words_of_run = 8;
    static constexpr bool crossed = false;
    // Rows lie 512 bytes apart: odd ones take their halves the other way round, or they would meet
    // the banks of even ones.
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int lane,
                                                 uint32_t (&out)[8])
    {
        const bool odd = (lane & 4) != 0;
        const unsigned char *own = row + run_columns * run + 16 * (lane % 4);
        const uint4 a = load_16(own + (odd ? 64 : 0));
        const uint4 b = load_16(own + (odd ? 0 : 64));
        out[0] = odd ? b.x : a.x;
        out[1] = odd ? b.y : a.y;
        out[2] = odd ? b.z : a.z;
        out[3] = odd ? b.w : a.w;
        out[4] = odd ? a.x : b.x;
        out[5] = odd ? a.y : b.y;
        out[6] = odd ? a.z : b.z;
        out[7] = odd ? a.w : b.w;
    }
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[8], int slot, int step)
    {
        return S::widen_four(words[2 * slot + step]);
    }
    static __device__ __forceinline__ int slot(int lane, int part)
    {
        return 2 * (lane / 4) + part;
    }
    static __device__ __forceinline__ int quad(int lane, int)
    {
        return lane % 4;
    }
    static __device__ __forceinline__ int chunk_of(int part, int half)
    {
        return 2 * part + half;
    }
};

struct limbs_of_e4m3 : of_e4m3, eight_bits<limbs_of_e4m3> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        uint2 out = {0U, 0U};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        asm("{\n"
            ".reg .b16 low, high;\n"
            "mov.b32 {low, high}, %2;\n"
            "cvt.rn.f16x2.e4m3x2 %0, low;\n"
            "cvt.rn.f16x2.e4m3x2 %1, high;\n"
            "}\n"
            : "=r"(out.x), "=r"(out.y)
            : "r"(word));
#endif
        return out;
    }
};

struct limbs_of_e5m2 : of_e5m2, eight_bits<limbs_of_e5m2> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        return {__byte_perm(word, 0, 0x1404), __byte_perm(word, 0, 0x3424)};
    }
};

__device__ __forceinline__ uint32_t bits_of(__half2 pair)
{
    uint32_t out;
    memcpy(&out, &pair, sizeof out);
    return out;
}

struct limbs_of_bfp8 : of_bfp8 {
    static constexpr int words_of_run = 8;
    static constexpr bool crossed = false;
    // A slot is a block.
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int lane,
                                                 uint32_t (&out)[8])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            uint2 two = *reinterpret_cast<const uint2 *>(row + run_columns * run +
                                                         slot_columns * k + 8 * (lane % 4));
            out[2 * k] = two.x;
            out[2 * k + 1] = two.y;
        }
    }
    // m + 128 is put below the exponent of 1024.
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[8], int slot, int step)
    {
        const uint32_t word = words[2 * slot + step];
        const __half2 bias = halves_of(0x64806480U); // 1152
        return {bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4140)), bias)),
                bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4342)), bias))};
    }
    static __device__ __forceinline__ int slot(int lane, int)
    {
        return lane / 2;
    }
    static __device__ __forceinline__ int quad(int lane, int part)
    {
        return 2 * (lane % 2) + part;
    }
    static __device__ __forceinline__ int chunk_of(int part, int half)
    {
        return 2 * part + half;
    }
};

struct limbs_of_bfp4 : of_bfp4 {
    static constexpr int words_of_run = 4;
    static constexpr bool crossed = true;
    // A slot is a block, of a lane of read_x.
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int lane,
                                                 uint32_t (&out)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out[k] = *reinterpret_cast<const uint32_t *>(row + run_columns / 2 * run +
                                                         slot_columns / 2 * k + 4 * (lane % 4));
        }
    }
    // As widen_nibbles has it.
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[4], int slot, int step)
    {
        const uint32_t word = words[slot];
        const uint32_t next = word >> 8;
        if (step == 0) {
            const __half2 bias = halves_of(0x64086408U); // 1032
            return {
                bits_of(__hsub2(halves_of(mask_and_turn(word, 0x000f000fU, 0x64086408U)), bias)),
                bits_of(__hsub2(halves_of(mask_and_turn(next, 0x000f000fU, 0x64086408U)), bias))};
        }
        const __half2 scale = halves_of(0x2c002c00U); // 1/16
        const __half2 bias = halves_of(0xd480d480U);  // -72
        return {
            bits_of(__hfma2(halves_of(mask_and_turn(word, 0x00f000f0U, 0x64806480U)), scale, bias)),
            bits_of(
                __hfma2(halves_of(mask_and_turn(next, 0x00f000f0U, 0x64806480U)), scale, bias))};
    }
    static __device__ __forceinline__ int slot(int lane, int)
    {
        return lane;
    }
    static __device__ __forceinline__ int quad(int, int part)
    {
        return part;
    }
    static __device__ __forceinline__ int chunk_of(int part, int half)
    {
        return part + 4 * half;
    }
};

} // namespace stream

#endif
