// SPDX-License-Identifier: Apache-2.0
//
// Variants of the matrix product C <- C - A B: which format the operands are rounded to, which one
// accumulates and which one holds the output tile. hp1, hp2, hp3 have the bits of Table I of Doucet
// et al. (mixed-precision tomographic reconstructor); the output tile's policy decides the variant.
//
// x3 (Ootomo and Yokota 2022): a = hi + 2^-11 lo + error with hi = fp16(a), lo = fp16((a - hi)
// 2^11), and A B^T is taken as hi hi^T + 2^-11 (hi lo^T + lo hi^T): 23 bits of an operand of
// magnitude 2^-14 to 65504, at the price of three fp16 products; lo lo^T, of relative size 2^-22,
// is left out. An x3 tile is stored as its two planes. fp8: operands are round(s a) / s with s the
// power of two that brings the tile's largest magnitude to (224, 448].
#ifndef BB_PRECISION_VARIANT_H
#define BB_PRECISION_VARIANT_H

#include "precision/format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_variant {
    BB_VARIANT_DP,
    BB_VARIANT_SP,
    BB_VARIANT_TF32,
    BB_VARIANT_BF16,
    BB_VARIANT_HP1, ///< fp16 operands, fp32 accumulation and output
    BB_VARIANT_HP2, ///< fp16 operands and output, fp32 accumulation
    BB_VARIANT_HP3, ///< fp16 throughout
    BB_VARIANT_X3,  ///< operands split in two fp16 planes, three products, fp32 accumulation
    BB_VARIANT_FP8, ///< e4m3 operands, a power of two a tile; fp32 accumulation and output
    BB_VARIANT_COUNT,
} bb_variant;

typedef struct bb_variant_info {
    const char *name;
    bb_format operand;
    bb_format accumulator;
    bb_format output; ///< of the tile that is updated; also its storage (x3: as wide as fp32)
    int products;     ///< of operand planes: 3 for x3, 1 otherwise
} bb_variant_info;

const bb_variant_info *bb_variant_describe(bb_variant variant);

/// Unit roundoff u of the operands: |round(a) - a| <= u |a| in their format's normal range; 2^-23
/// for x3.
double bb_variant_unit_roundoff(bb_variant variant);

/// Bound on the error of a product of rounded operands, relative to |a||b|: 2 u + u^2, for x3 2^-21
/// (2^-22 that is left out, 2^-23 of either operand), 0 for sp and dp, whose operands are not
/// rounded.
double bb_variant_product_error(bb_variant variant);

/// Rate of a matrix product in a variant on one H200, TF/s of large square products with CUDA 13.0
/// (x3: of its result; fp8: of bf16, which its products run in). To rank variants, not to predict
/// times.
double bb_variant_nominal_rate(bb_variant variant);

/// Time of products at the nominal rates over that in sp, from the part of the operations that each
/// variant does: shares [BB_VARIANT_COUNT].
double bb_variant_relative_cost(const double *shares);

/// NULL-terminated names in the order of the enum.
extern const char *const bb_variant_names[];

#ifdef __cplusplus
}
#endif

#endif
