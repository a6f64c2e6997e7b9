// SPDX-License-Identifier: Apache-2.0
//
// Scalar number formats: one table, exact rounding to nearest even, encoding and decoding.
//
// fp64, fp32, fp16: IEEE 754. bf16: fp32 with 8 significant bits. tf32: fp32's range with 11
// significant bits, stored in 32-bit words. e4m3, e5m2: OCP 8-bit formats; e4m3 has no infinity.
// Overflow: fp64 to bf16 and fp16 round to infinity; e4m3 and e5m2 saturate at their largest value
// and every saturation is counted. NaN stays NaN. A value is rounded once, from double.
#ifndef BB_PRECISION_FORMAT_H
#define BB_PRECISION_FORMAT_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_format {
    BB_FORMAT_FP64,
    BB_FORMAT_FP32,
    BB_FORMAT_TF32,
    BB_FORMAT_BF16,
    BB_FORMAT_FP16,
    BB_FORMAT_E4M3,
    BB_FORMAT_E5M2,
    BB_FORMAT_COUNT,
} bb_format;

/// One row of the format table.
typedef struct bb_format_info {
    const char *name;
    int bytes;            ///< size of one stored value
    int significand;      ///< bits, including the hidden one
    int minimum_exponent; ///< exponent of the smallest normal number, 2^minimum_exponent
    double largest;       ///< largest finite value
    bool saturates;       ///< overflow gives `largest`, counted, instead of infinity
} bb_format_info;

const bb_format_info *bb_format_describe(bb_format format);

/// NULL-terminated names in the order of the enum, for configuration tables.
extern const char *const bb_format_names[];

/// The formats that sums and products are computed in: "fp64", "fp32" (a prefix of bb_format).
extern const char *const bb_working_format_names[];

/// Returns the unit roundoff u = 2^-significand: |round(x) - x| <= u |x| for normal x (the declared
/// bound).
double bb_format_unit_roundoff(bb_format format);

/// Return the smallest positive normal and subnormal numbers; below normal, |round(x) - x| <=
/// subnormal / 2.
double bb_format_smallest_normal(bb_format format);
double bb_format_smallest_subnormal(bb_format format);

/// Rounding of doubles to a format, for bb_format_rule_round and _word (format_core.h).
struct bb_format_rule bb_format_rule_of(bb_format format);

/// Returns the nearest value of the format, ties to even.
double bb_format_round(bb_format format, double value);

/// Returns the mean square error of rounding a normal variate of mean 0: within a binade errors are
/// uniform over a step. Numbers beyond the largest are ignored.
double bb_format_normal_error(bb_format format, double deviation);

/// Rounds `count` floats in place or into `out`; `format` has 32 bits or fewer. Returns the number
/// of saturated values.
bb_index bb_format_round_f32(bb_format format, const float *values, bb_index count, float *out);

/// Rounds doubles once to the format and stores them as floats (formats of 32 bits or fewer,
/// exact). Returns the number of saturated values.
bb_index bb_format_narrow(bb_format format, const double *values, bb_index count, float *out);

/// Encodes doubles to the format's words; returns the number of saturated values. `out` holds
/// count * bytes; words are little-endian as in memory.
bb_index bb_format_encode(bb_format format, const double *values, bb_index count, void *out);

/// Encodes as bb_format_encode, for floats, each multiplied by `scale` first.
bb_index bb_format_encode_f32(bb_format format, const float *values, bb_index count, double scale,
                              void *out);

/// Decodes words to doubles, or to floats (formats of 32 bits or fewer, exact).
void bb_format_decode(bb_format format, const void *words, bb_index count, double *out);
void bb_format_decode_f32(bb_format format, const void *words, bb_index count, float *out);

#ifdef __cplusplus
}
#endif

#endif
