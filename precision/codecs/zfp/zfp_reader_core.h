// SPDX-License-Identifier: Apache-2.0
//
// The bits of a zfp stream in the common subset of C and CUDA: lowest bit first, in 32-bit
// little-endian words, of which two are at hand, so that 32 bits can always be looked at. Behind
// the stream's end there are zeros: no position makes a reader leave the stream.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_READER_CORE_H
#define BB_PRECISION_CODECS_ZFP_ZFP_READER_CORE_H

#include "core/portable.h"

#include <stddef.h>
#include <stdint.h>

/// What has to be inlined for its arrays to stay in registers.
#if defined(__CUDACC__)
#define BB_ZFP_INLINE static __host__ __device__ __forceinline__
#else
#define BB_ZFP_INLINE static inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define BB_ZFP_UNROLL _Pragma("unroll")
#else
#define BB_ZFP_UNROLL
#endif

/// Words of a stream. On a device they lie at a multiple of 4 bytes, `tail` is 0, and the word
/// behind the last whole one can be read and is 0.
typedef struct bb_zfp_words {
    const unsigned char *bytes;
    uint64_t word_count; ///< words that lie in the stream as a whole
    uint32_t tail;       ///< what follows them, zeros above
} bb_zfp_words;

/// Positions count from the word that it was opened at; good for 2^31 bits.
typedef struct bb_zfp_reader {
    const unsigned char *bytes;
    uint32_t word_count, tail;
    uint32_t low_word; ///< number of the word `low`; `high` follows
    uint32_t low, high;
    uint32_t shift; ///< bits of `low` that are read, 0 to 31
} bb_zfp_reader;

BB_ZFP_INLINE uint32_t bb_zfp_reader_load(const unsigned char *bytes, size_t word)
{
#if defined(__CUDA_ARCH__)
    return __ldg((const uint32_t *)bytes + word);
#else
    const unsigned char *cursor = bytes + 4 * word;
    return (uint32_t)cursor[0] | (uint32_t)cursor[1] << 8 | (uint32_t)cursor[2] << 16 |
           (uint32_t)cursor[3] << 24;
#endif
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_word(const bb_zfp_reader *reader, uint32_t word)
{
#if defined(__CUDA_ARCH__)
    return bb_zfp_reader_load(reader->bytes, word < reader->word_count ? word : reader->word_count);
#else
    return word < reader->word_count    ? bb_zfp_reader_load(reader->bytes, word)
           : word == reader->word_count ? reader->tail
                                        : 0;
#endif
}

/// Number of the lowest one in a word that is not 0.
BB_ZFP_INLINE uint32_t bb_zfp_reader_lowest(uint32_t word)
{
#if defined(__CUDA_ARCH__)
    return (uint32_t)__ffs((int)word) - 1;
#else
    return (uint32_t)__builtin_ctz(word);
#endif
}

BB_ZFP_INLINE void bb_zfp_reader_seek(bb_zfp_reader *reader, uint32_t position)
{
    reader->low_word = position / 32;
    reader->shift = position % 32;
    reader->low = bb_zfp_reader_word(reader, reader->low_word);
    reader->high = bb_zfp_reader_word(reader, reader->low_word + 1);
}

/// At bit `bit` of the stream; the position is then bit % 32.
BB_ZFP_INLINE bb_zfp_reader bb_zfp_reader_open(const bb_zfp_words *words, uint64_t bit)
{
    const uint32_t limit = UINT32_C(1) << 27;
    bb_zfp_reader reader;
    uint64_t first = bit / 32 < words->word_count ? bit / 32 : words->word_count;
    uint64_t rest = words->word_count - first;
    reader.bytes = words->bytes + 4 * first;
    reader.word_count = rest < limit ? (uint32_t)rest : limit;
#if defined(__CUDA_ARCH__)
    reader.tail = 0;
#else
    // Far behind the end everything is zero, the tail as well.
    reader.tail = bit / 32 <= words->word_count && rest < limit ? words->tail : 0;
#endif
    bb_zfp_reader_seek(&reader, (uint32_t)(bit % 32));
    return reader;
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_position(const bb_zfp_reader *reader)
{
    return 32 * reader->low_word + reader->shift;
}

/// The next 32 bits, the first one lowest.
BB_ZFP_INLINE uint32_t bb_zfp_reader_peek(const bb_zfp_reader *reader)
{
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(reader->low, reader->high, reader->shift);
#else
    return (uint32_t)(((uint64_t)reader->high << 32 | reader->low) >> reader->shift);
#endif
}

/// Passes `bits` <= 32 bits.
BB_ZFP_INLINE void bb_zfp_reader_advance(bb_zfp_reader *reader, uint32_t bits)
{
    reader->shift += bits;
    if (reader->shift >= 32) {
        reader->shift -= 32;
        ++reader->low_word;
        reader->low = reader->high;
        reader->high = bb_zfp_reader_word(reader, reader->low_word + 1);
    }
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_read_bit(bb_zfp_reader *reader)
{
    uint32_t bit = bb_zfp_reader_peek(reader) & 1;
    bb_zfp_reader_advance(reader, 1);
    return bit;
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#endif
