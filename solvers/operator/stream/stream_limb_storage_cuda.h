// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: stored values of eight bits and fewer as fp16 for a tensor core
// (stream_limbs_cuda.h), one type a storage of stream_storage_cuda.h.
//
// A warp takes 128 columns of 16 rows at once, in slots of 32, a slot in two products of 16. Which
// columns a product takes is free, as long as x comes in the same order: a lane of four takes those
// that lie together.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMB_STORAGE_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMB_STORAGE_CUDA_H

#include "solvers/operator/stream/stream_storage_cuda.h"

namespace stream
{

constexpr int run_columns = 128; // that a warp takes at once
constexpr int slot_columns = 32; // of them, two products
constexpr int slots_of_run = run_columns / slot_columns;

/// What limbs need of a storage. words(row, run, lane) are those that a lane takes of
/// 128 columns of a row, pair(words, slot, step) its values of one product as two pairs of fp16;
/// with `has_exponents` a slot has a unit of its own, in byte exponents_at(row) + its number.
/// x is cut in chunks of four columns (bb_coded_stream_chunk). Halves of a part of a lane's
/// columns, they lie in slot(lane, part) as lane quad(lane, part) of four wants them:
/// chunk_of(part, half), its middle two exchanged where `crossed`.
template <class S> struct eight_bits {
    static constexpr int words_of_run = 8;
    static constexpr bool crossed = false;
    // Rows lie 512 bytes apart: odd ones take their halves the other way round, or they would meet
    // the banks of even ones.
    static constexpr bool has_exponents = false;
    static __device__ __forceinline__ void words(row_source row, int run, int lane,
                                                 uint32_t (&out)[8])
    {
        const bool odd = (lane & 4) != 0;
        const unsigned char *own = row.bytes + run_columns * run + 16 * (lane % 4);
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

__device__ __forceinline__ uint32_t bits_of(__half2 pair)
{
    uint32_t out;
    memcpy(&out, &pair, sizeof out);
    return out;
}

// Four of m + 128, put below the exponent of 1024.
__device__ __forceinline__ uint2 widen_bytes(uint32_t word)
{
    const __half2 bias = halves_of(0x64806480U); // 1152
    return {bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4140)), bias)),
            bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4342)), bias))};
}

struct limbs_of_integer8 : of_integer8, eight_bits<limbs_of_integer8> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        return widen_bytes(word);
    }
};

struct limbs_of_e5m2 : of_e5m2, eight_bits<limbs_of_e5m2> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        return {__byte_perm(word, 0, 0x1404), __byte_perm(word, 0, 0x3424)};
    }
};

/// Exponents after 512 bytes.
struct with_unit_bytes {
    static constexpr bool has_exponents = true;
    static __device__ __forceinline__ int exponents_at(row_source)
    {
        return 512;
    }
};

struct limbs_of_bfp8 : of_bfp8, with_unit_bytes {
    static constexpr int words_of_run = 8;
    static constexpr bool crossed = false;
    // A slot is a block.
    static __device__ __forceinline__ void words(row_source row, int run, int lane,
                                                 uint32_t (&out)[8])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            uint2 two = *reinterpret_cast<const uint2 *>(row.bytes + run_columns * run +
                                                         slot_columns * k + 8 * (lane % 4));
            out[2 * k] = two.x;
            out[2 * k + 1] = two.y;
        }
    }
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[8], int slot, int step)
    {
        return widen_bytes(words[2 * slot + step]);
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

struct limbs_of_bfp4 : of_bfp4, with_unit_bytes {
    static constexpr int words_of_run = 4;
    static constexpr bool crossed = true;
    // A slot is a block, of a lane of read_x.
    static __device__ __forceinline__ void words(row_source row, int run, int lane,
                                                 uint32_t (&out)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out[k] = *reinterpret_cast<const uint32_t *>(row.bytes + run_columns / 2 * run +
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

/// Values in planes of up to BB_STREAM_MOST_IN_HALVES bits, a slot a block: those that a lane of
/// four takes stand in the bytes of a word at its place of every plane.
struct plane_slots {
    static constexpr int words_of_run = 4 * slots_of_run; // decoded
    static constexpr bool crossed = true;

    // Of a slot's words in the planes of W bits, the four values of one product.
    template <int W>
    static __device__ __forceinline__ uint2 widen(const unsigned char *planes, int block, int lane,
                                                  int step)
    {
        constexpr int top = W & 8 ? 8 : W & 4 ? 4 : W & 2 ? 2 : 1; // width of the widest plane
        constexpr int integral = W > 10 ? 8 : W; // bits that are put below the exponent of 1024
        constexpr uint32_t sign = 1U << (integral - 1);
        constexpr uint32_t magic = both((0x6400U | sign) >> (integral - top));
        const int column = lane % 4;
        uint32_t low = 0;  // bytes 0 and 2
        uint32_t high = 0; // bytes 1 and 3
        uint32_t rest[2] = {0U, 0U};
        if constexpr ((W & 8) != 0) {
            const uint32_t word =
                *reinterpret_cast<const uint32_t *>(planes + 32 * block + 16 * step + 4 * column);
            low = mask_and_turn(word, 0x00ff00ffU, magic);
            high = mask_and_turn(word >> 8, 0x00ff00ffU, magic);
            planes += 128 * 8;
        }
        if constexpr ((W & 4) != 0) {
            const uint32_t word =
                *reinterpret_cast<const uint32_t *>(planes + 16 * block + 4 * column) >> (4 * step);
            if constexpr (top == 4) {
                low = mask_and_turn(word, 0x000f000fU, magic);
                high = mask_and_turn(word >> 8, 0x000f000fU, magic);
            } else {
                rest[0] = mask_and_turn(word, 0x000f000fU, 0x64006400U);
                rest[1] = mask_and_turn(word >> 8, 0x000f000fU, 0x64006400U);
            }
            planes += 128 * 4;
        }
        if constexpr ((W & 2) != 0) {
            const uint32_t word =
                *reinterpret_cast<const uint32_t *>(planes + 8 * block + 4 * (column & 1)) >>
                (2 * (column >> 1) + 4 * step);
            if constexpr (top == 2) {
                low = mask_and_turn(word, 0x00030003U, magic);
                high = mask_and_turn(word >> 8, 0x00030003U, magic);
            } else {
                low = low << 2 | (word & 0x00030003U);
                high = high << 2 | (word >> 8 & 0x00030003U);
            }
            planes += 128 * 2;
        }
        if constexpr ((W & 1) != 0) {
            const uint32_t word =
                *reinterpret_cast<const uint32_t *>(planes + 4 * block) >> (column + 4 * step);
            if constexpr (top == 1) {
                low = mask_and_turn(word, 0x00010001U, magic);
                high = mask_and_turn(word >> 8, 0x00010001U, magic);
            } else {
                low = low << 1 | (word & 0x00010001U);
                high = high << 1 | (word >> 8 & 0x00010001U);
            }
        }
        const __half2 bias = halves_of(both(half_of(1024U + sign)));
        __half2 a = __hsub2(halves_of(low), bias);
        __half2 b = __hsub2(halves_of(high), bias);
        if constexpr (W > 10) { // eight bits, then four
            const __half2 one = halves_of(both(half_of(1024U)));
            const __half2 scale = halves_of(both(half_of(16U)));
            a = __hfma2(a, scale, __hsub2(halves_of(rest[0]), one));
            b = __hfma2(b, scale, __hsub2(halves_of(rest[1]), one));
        }
        return {bits_of(a), bits_of(b)};
    }

    template <int W>
    static __device__ __forceinline__ void widen_run(row_source row, int run, int lane,
                                                     uint32_t (&out)[words_of_run])
    {
#pragma unroll
        for (int slot = 0; slot < slots_of_run; ++slot) {
            const int block = place_of(row, slots_of_run * run + slot);
#pragma unroll
            for (int step = 0; step < 2; ++step) {
                const uint2 four = widen<W>(row.bytes, block, lane, step);
                out[4 * slot + 2 * step] = four.x;
                out[4 * slot + 2 * step + 1] = four.y;
            }
        }
    }

    // Rows of a band have one width but for zeros, and bands that a window cuts.
    static __device__ __forceinline__ void words(row_source row, int run, int lane,
                                                 uint32_t (&out)[words_of_run])
    {
        switch (row.bits) {
        case 1:
            widen_run<1>(row, run, lane, out);
            break;
        case 2:
            widen_run<2>(row, run, lane, out);
            break;
        case 3:
            widen_run<3>(row, run, lane, out);
            break;
        case 4:
            widen_run<4>(row, run, lane, out);
            break;
        case 5:
            widen_run<5>(row, run, lane, out);
            break;
        case 6:
            widen_run<6>(row, run, lane, out);
            break;
        case 7:
            widen_run<7>(row, run, lane, out);
            break;
        case 8:
            widen_run<8>(row, run, lane, out);
            break;
        case 9:
            widen_run<9>(row, run, lane, out);
            break;
        case 10:
            widen_run<10>(row, run, lane, out);
            break;
        case BB_STREAM_MOST_IN_HALVES:
            widen_run<BB_STREAM_MOST_IN_HALVES>(row, run, lane, out);
            break;
        default:
#pragma unroll
            for (int k = 0; k < words_of_run; ++k) {
                out[k] = 0;
            }
        }
        __syncwarp();
    }
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[words_of_run], int slot,
                                                 int step)
    {
        return {words[4 * slot + 2 * step], words[4 * slot + 2 * step + 1]};
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

struct limbs_of_bfp_narrow : of_bfp_narrow, plane_slots {
    static constexpr bool has_exponents = true;
    static __device__ __forceinline__ int exponents_at(row_source row)
    {
        return 128 * static_cast<int>(row.bits);
    }
};

struct limbs_of_integer_narrow : of_integer_narrow, plane_slots {
    static constexpr bool has_exponents = false;
};

struct limbs_of_quantiser : of_quantiser, plane_slots {
    static constexpr bool has_exponents = false;
};

} // namespace stream

#endif
