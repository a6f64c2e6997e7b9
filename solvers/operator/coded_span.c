// SPDX-License-Identifier: Apache-2.0
#include "core/portable.h"
#include "precision/codecs/bfp_core.h"
#include "solvers/operator/coded_product.h"

enum { LANES = BB_SPAN_LANES, CHUNK = 512 };

// Unit 2^e of a block of bfp8, NaN if the block is poisoned.
static float unit_of(unsigned char exponent)
{
    int e = bb_plane_signed(exponent, 8);
    return bb_format_f32_of_bits(e == BB_BFP_POISONED ? 0x7fc00000u : (uint32_t)(e + 127) << 23);
}

static void decode_bfp8(const bb_span_row *row, bb_index column, bb_index count, float *c)
{
    for (bb_index i = 0; i < count; ++i) {
        c[i] = (float)(signed char)row->words[column + i] *
               unit_of(row->exponents[(column + i) / BB_BLOCK]);
    }
}

static void decode(int storage, const bb_span_row *row, bb_index column, bb_index count, float *c)
{
    if (storage == BB_SPAN_BFP8) {
        decode_bfp8(row, column, count, c);
    } else if (storage == BB_FORMAT_FP64) {
        const double *words = (const double *)(const void *)row->words + column;
        for (bb_index i = 0; i < count; ++i) {
            c[i] = (float)words[i];
        }
    } else {
        bb_format format = (bb_format)storage;
        bb_format_decode_f32(format, row->words + column * bb_format_describe(format)->bytes, count,
                             c);
    }
}

BB_CLONES static void add_wide(const float *c, const float *x, bb_index count, double *lanes)
{
    bb_index multiple = count / LANES * LANES;
    for (bb_index j = 0; j < multiple; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += (double)(c[j + l] * x[j + l]);
        }
    }
    for (bb_index j = multiple; j < count; ++j) {
        lanes[j - multiple] += (double)(c[j] * x[j]);
    }
}

BB_CLONES static void add_narrow(const float *c, const float *x, bb_index count, float *lanes)
{
    bb_index multiple = count / LANES * LANES;
    for (bb_index j = 0; j < multiple; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += c[j + l] * x[j + l];
        }
    }
    for (bb_index j = multiple; j < count; ++j) {
        lanes[j - multiple] += c[j] * x[j];
    }
}

static void add_portable(const bb_span *span)
{
    float c[CHUNK] = {0.0F};
    for (bb_index r = 0; r < span->rows; ++r) {
        bb_span_row *row = &span->row[r];
        for (bb_index j = span->begin; j < span->end; j += CHUNK) {
            bb_index count = span->end - j < CHUNK ? span->end - j : CHUNK;
            decode(span->storage, row, j, count, c);
            if (span->wide_sums) {
                add_wide(c, span->x + j, count, row->wide);
            } else {
                add_narrow(c, span->x + j, count, row->narrow);
            }
        }
    }
}

static bool always(void)
{
    return true;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define BB_AVX512        __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define BB_AVX512_INLINE BB_AVX512 __attribute__((always_inline)) static inline

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

BB_AVX512_INLINE __m128i load_bytes(const unsigned char *words)
{
    return _mm_loadu_si128((const __m128i *)(const void *)words);
}

BB_AVX512_INLINE __m256i load_words(const unsigned char *words)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

// Loads sixteen bytes, each the upper half of a word. With the same data in both halves of the
// register, one shuffle within the halves suffices.
BB_AVX512_INLINE __m256i load_upper_bytes(const unsigned char *words)
{
    const __m256i place =
        _mm256_setr_epi8(-1, 0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1, 7, //
                         -1, 8, -1, 9, -1, 10, -1, 11, -1, 12, -1, 13, -1, 14, -1, 15);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_bytes(words)), place);
}

// e4m3 shifted by the difference of the exponent positions is fp16 times 2^-8, except for its NaN.
BB_AVX512_INLINE __m256i half_of_e4m3(__m128i bytes)
{
    __m256i shifted = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    return _mm256_and_si256(shifted, _mm256_set1_epi16((short)0xbfff));
}

BB_AVX512_INLINE __m512 expand_e4m3(const unsigned char *words)
{
    __m128i bytes = load_bytes(words);
    __m256i half = half_of_e4m3(bytes);
    __mmask16 nan =
        _mm_cmpeq_epi8_mask(_mm_or_si128(bytes, _mm_set1_epi8(-128)), _mm_set1_epi8(-1));
    half = _mm256_mask_mov_epi16(half, nan, _mm256_set1_epi16(0x7e00));
    return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0F));
}

// Prefetching by software: four rows a megabyte apart are more streams than the hardware prefetcher
// follows at full speed.
enum { BYTES_AHEAD = 1536 };

BB_AVX512_INLINE void fetch_ahead(int storage, const bb_span_row *row, bb_index j)
{
    bool byte = storage == BB_SPAN_BFP8 || storage == BB_FORMAT_E4M3 || storage == BB_FORMAT_E5M2;
    bool half = storage == BB_FORMAT_BF16 || storage == BB_FORMAT_FP16;
    bb_index bytes = byte ? 1 : half ? 2 : storage == BB_FORMAT_FP64 ? 8 : 4;
    _mm_prefetch((const char *)row->words + bytes * j + BYTES_AHEAD, _MM_HINT_T0);
}

// Decodes columns j to j + 15 of a row.
BB_AVX512_INLINE __m512 decode_16(int storage, const bb_span_row *row, bb_index j)
{
    const unsigned char *words = row->words;
    switch (storage) {
    case BB_FORMAT_FP64: {
        __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(words + 8 * j));
        __m256 high = _mm512_cvtpd_ps(_mm512_loadu_pd(words + 8 * j + 64));
        return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
    }
    case BB_FORMAT_BF16: {
        __m512i wide = _mm512_cvtepu16_epi32(load_words(words + 2 * j));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
    case BB_FORMAT_FP16:
        return _mm512_cvtph_ps(load_words(words + 2 * j));
    case BB_FORMAT_E4M3:
        return expand_e4m3(words + j);
    case BB_FORMAT_E5M2: // e5m2 is the upper byte of an fp16
        return _mm512_cvtph_ps(load_upper_bytes(words + j));
    case BB_SPAN_BFP8: {
        __m512 mantissa = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_bytes(words + j)));
        return _mm512_mul_ps(mantissa, _mm512_set1_ps(unit_of(row->exponents[j / BB_BLOCK])));
    }
    default: // fp32 and tf32
        return _mm512_loadu_ps(words + 4 * j);
    }
}

// Converts fp32 to fp64 by shifts, which are cheaper than the conversion instruction. With the
// exponent field moved unchanged, a finite float becomes 2^-896 times its value, exactly, including
// subnormals. Sums of such numbers are bit-identical to sums of the values times 2^-896, as long as
// that is exact. It is: a sum of floats is a multiple of 2^-149, so the scaled one is a multiple of
// 2^-1045, which fp64 represents.
BB_AVX512_INLINE __m512d widen_upper(__m512i pairs)
{
    const __m512i kept = _mm512_set1_epi64((long long)0x8fffffffe0000000u);
    return _mm512_castsi512_pd(_mm512_and_si512(_mm512_srai_epi64(pairs, 3), kept));
}

// Like decode_16, for finite values; others are detected in the product or in `nan`. e4m3 is
// returned as 2^-8 times its value.
BB_AVX512_INLINE __m512 decode_finite_16(int storage, const bb_span_row *row, bb_index j,
                                         __m128i *nan)
{
    if (storage == BB_FORMAT_E4M3) {
        __m128i bytes = load_bytes(row->words + j);
        if (nan != NULL) {
            *nan = _mm_max_epu8(*nan, _mm_add_epi8(bytes, bytes));
        }
        return _mm512_cvtph_ps(half_of_e4m3(bytes));
    }
    if (storage == BB_SPAN_BFP8) { // the unit of a poisoned block becomes infinity
        int bits = (int)((uint32_t)((signed char)row->exponents[j / BB_BLOCK] + 127) << 23);
        __m512 mantissa = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_bytes(row->words + j)));
        return _mm512_mul_ps(mantissa, _mm512_castsi512_ps(_mm512_set1_epi32(bits)));
    }
    return decode_16(storage, row, j);
}

// x times the 2^8 that decode_finite_16 omits; the product and its rounding are unchanged.
BB_AVX512_INLINE __m512 load_x(const bb_span *span, int storage, bb_index j)
{
    __m512 x = _mm512_loadu_ps(span->x + j);
    return storage == BB_FORMAT_E4M3 ? _mm512_mul_ps(x, _mm512_set1_ps(256.0F)) : x;
}

// Converts the lanes in memory to those of even and of odd columns, times `scale`, and back.
static void part_lanes(const double *lanes, double scale, double *even, double *odd)
{
    for (int l = 0; l < LANES / 2; ++l) {
        even[l] = lanes[2 * l] * scale;
        odd[l] = lanes[2 * l + 1] * scale;
    }
}

static void join_lanes(const double *even, const double *odd, double scale, double *lanes)
{
    for (int l = 0; l < LANES / 2; ++l) {
        lanes[2 * l] = even[l] * scale;
        lanes[2 * l + 1] = odd[l] * scale;
    }
}

// Returns false without doing anything if a product is infinite or NaN, which the shifts do not
// support; with `sure` it does not check.
BB_AVX512_INLINE bool add_finite_16(const bb_span *span, int storage, int rows, bb_index multiple,
                                    bool sure)
{
    __m512d even[BB_SPAN_ROWS], odd[BB_SPAN_ROWS];
    double parts[2][LANES / 2];
    __m512 poison[BB_SPAN_ROWS];       // 0 times each product: NaN unless all are finite
    __m128i nan = _mm_setzero_si128(); // largest doubled byte of e4m3: 254 for its NaN
    for (int r = 0; r < rows; ++r) {
        poison[r] = _mm512_setzero_ps();
        part_lanes(span->row[r].wide, 0x1p-896, parts[0], parts[1]);
        even[r] = _mm512_loadu_pd(parts[0]);
        odd[r] = _mm512_loadu_pd(parts[1]);
    }
    for (bb_index j = span->begin; j < multiple; j += LANES) {
        __m512 x = load_x(span, storage, j);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            fetch_ahead(storage, &span->row[r], j);
            __m512 product =
                _mm512_mul_ps(decode_finite_16(storage, &span->row[r], j, sure ? NULL : &nan), x);
            __m512i pairs = _mm512_castps_si512(product);
            if (!sure) {
                poison[r] = _mm512_fmadd_ps(product, _mm512_setzero_ps(), poison[r]);
            }
            even[r] = _mm512_add_pd(even[r], widen_upper(_mm512_slli_epi64(pairs, 32)));
            odd[r] = _mm512_add_pd(odd[r], widen_upper(pairs));
        }
    }
    for (int r = 1; r < rows; ++r) {
        poison[0] = _mm512_add_ps(poison[0], poison[r]);
    }
    if (!sure && (_mm512_cmp_ps_mask(poison[0], poison[0], _CMP_UNORD_Q) != 0 ||
                  _mm_cmpeq_epi8_mask(nan, _mm_set1_epi8(-2)) != 0)) {
        return false;
    }
    for (int r = 0; r < rows; ++r) {
        _mm512_storeu_pd(parts[0], even[r]);
        _mm512_storeu_pd(parts[1], odd[r]);
        join_lanes(parts[0], parts[1], 0x1p896, span->row[r].wide);
    }
    return true;
}

BB_AVX512_INLINE void add_wide_16(const bb_span *span, int storage, int rows, bb_index multiple)
{
    __m512d low[BB_SPAN_ROWS], high[BB_SPAN_ROWS];
    for (int r = 0; r < rows; ++r) {
        low[r] = _mm512_loadu_pd(span->row[r].wide);
        high[r] = _mm512_loadu_pd(span->row[r].wide + 8);
    }
    for (bb_index j = span->begin; j < multiple; j += LANES) {
        __m512 x = _mm512_loadu_ps(span->x + j);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            fetch_ahead(storage, &span->row[r], j);
            __m512 product = _mm512_mul_ps(decode_16(storage, &span->row[r], j), x);
            low[r] = _mm512_add_pd(low[r], _mm512_cvtps_pd(_mm512_castps512_ps256(product)));
            high[r] = _mm512_add_pd(high[r], _mm512_cvtps_pd(_mm512_extractf32x8_ps(product, 1)));
        }
    }
    for (int r = 0; r < rows; ++r) {
        _mm512_storeu_pd(span->row[r].wide, low[r]);
        _mm512_storeu_pd(span->row[r].wide + 8, high[r]);
    }
}

BB_AVX512_INLINE void add_narrow_16(const bb_span *span, int storage, int rows, bb_index multiple)
{
    __m512 sum[BB_SPAN_ROWS];
    for (int r = 0; r < rows; ++r) {
        sum[r] = _mm512_loadu_ps(span->row[r].narrow);
    }
    for (bb_index j = span->begin; j < multiple; j += LANES) {
        __m512 x = _mm512_loadu_ps(span->x + j);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            sum[r] = _mm512_add_ps(sum[r], _mm512_mul_ps(decode_16(storage, &span->row[r], j), x));
        }
    }
    for (int r = 0; r < rows; ++r) {
        _mm512_storeu_ps(span->row[r].narrow, sum[r]);
    }
}

// Returns false without doing anything if a sum is not finite or e4m3 has a NaN, which
// decode_finite_16 does not support.
BB_AVX512_INLINE bool add_narrow_finite_16(const bb_span *span, int storage, int rows,
                                           bb_index multiple, bool sure)
{
    __m512 sum[BB_SPAN_ROWS];
    __m512 poison = _mm512_setzero_ps();
    __m128i nan = _mm_setzero_si128();
    for (int r = 0; r < rows; ++r) {
        sum[r] = _mm512_loadu_ps(span->row[r].narrow);
    }
    for (bb_index j = span->begin; j < multiple; j += LANES) {
        __m512 x = load_x(span, storage, j);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            fetch_ahead(storage, &span->row[r], j);
            __m512 c = decode_finite_16(storage, &span->row[r], j, sure ? NULL : &nan);
            sum[r] = _mm512_add_ps(sum[r], _mm512_mul_ps(c, x));
        }
    }
    for (int r = 0; r < rows; ++r) {
        poison = _mm512_fmadd_ps(sum[r], _mm512_setzero_ps(), poison);
    }
    if (!sure && (_mm512_cmp_ps_mask(poison, poison, _CMP_UNORD_Q) != 0 ||
                  _mm_cmpeq_epi8_mask(nan, _mm_set1_epi8(-2)) != 0)) {
        return false;
    }
    for (int r = 0; r < rows; ++r) {
        _mm512_storeu_ps(span->row[r].narrow, sum[r]);
    }
    return true;
}

BB_AVX512_INLINE void add_rows(const bb_span *span, int storage, bb_index multiple)
{
    if (span->rows == BB_SPAN_ROWS && span->wide_sums) {
        if (span->finite) {
            (void)add_finite_16(span, storage, BB_SPAN_ROWS, multiple, true);
        } else if (!add_finite_16(span, storage, BB_SPAN_ROWS, multiple, false)) {
            add_wide_16(span, storage, BB_SPAN_ROWS, multiple);
        }
    } else if (span->rows == BB_SPAN_ROWS) {
        if (span->finite) {
            (void)add_narrow_finite_16(span, storage, BB_SPAN_ROWS, multiple, true);
        } else if (!add_narrow_finite_16(span, storage, BB_SPAN_ROWS, multiple, false)) {
            add_narrow_16(span, storage, BB_SPAN_ROWS, multiple);
        }
    } else {
        for (bb_index r = 0; r < span->rows; ++r) {
            bb_span one = *span;
            one.row = &span->row[r];
            if (span->wide_sums) {
                add_wide_16(&one, storage, 1, multiple);
            } else {
                add_narrow_16(&one, storage, 1, multiple);
            }
        }
    }
}

BB_AVX512 static void add_avx512(const bb_span *span)
{
    bb_index multiple = span->begin + (span->end - span->begin) / BB_BLOCK * BB_BLOCK;
    bb_span rest = *span;
    switch (span->storage) {
    case BB_FORMAT_FP64:
        add_rows(span, BB_FORMAT_FP64, multiple);
        break;
    case BB_FORMAT_BF16:
        add_rows(span, BB_FORMAT_BF16, multiple);
        break;
    case BB_FORMAT_FP16:
        add_rows(span, BB_FORMAT_FP16, multiple);
        break;
    case BB_FORMAT_E4M3:
        add_rows(span, BB_FORMAT_E4M3, multiple);
        break;
    case BB_FORMAT_E5M2:
        add_rows(span, BB_FORMAT_E5M2, multiple);
        break;
    case BB_SPAN_BFP8:
        add_rows(span, BB_SPAN_BFP8, multiple);
        break;
    default:
        add_rows(span, BB_FORMAT_FP32, multiple);
    }
    rest.begin = multiple;
    add_portable(&rest);
}
#endif

static const bb_span_kernel kernels[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", has_avx512, add_avx512},
#endif
    {"portable", always, add_portable},
};

bb_index bb_span_kernels(const bb_span_kernel **out)
{
    *out = kernels;
    return (bb_index)(sizeof kernels / sizeof kernels[0]);
}

const bb_span_kernel *bb_span_kernel_chosen(void)
{
    const bb_span_kernel *kernel = kernels;
    while (!kernel->available()) {
        ++kernel;
    }
    return kernel;
}
