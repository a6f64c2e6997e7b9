// SPDX-License-Identifier: Apache-2.0
//
// Variants of the matrix product C <- C - A B: formats of the operands, of the accumulation and of
// the output tile. hp1, hp2, hp3 have the bits of Table I of Doucet et al. (mixed-precision
// tomographic reconstructor); the output tile's policy determines the variant.
//
// x3 (Ootomo and Yokota 2022): a = hi + 2^-11 lo + error with hi = fp16(a), lo = fp16((a - hi)
// 2^11), and A B^T is computed as hi hi^T + 2^-11 (hi lo^T + lo hi^T): 23 bits of an operand of
// magnitude 2^-14 to 65504, at the cost of three fp16 products; lo lo^T, of relative size 2^-22, is
// omitted. An x3 tile is stored as its two planes. fp8: operands are round(s a) / s with s the
// power of two that brings the tile's largest magnitude to (224, 448].
#ifndef BB_PRECISION_VARIANT_H
#define BB_PRECISION_VARIANT_H

#include "precision/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Storage of L for a variant in a factorization by panels on a device.
typedef enum bb_variant_panels {
    BB_VARIANT_PANELS_FP64,
    BB_VARIANT_PANELS_FP32,
    BB_VARIANT_PANELS_NARROWED, ///< in fp32, with separate narrower operands
    BB_VARIANT_PANELS_HALVES,   ///< in planes of fp16: these variants can be mixed, block by block
} bb_variant_panels;

// The variants, one per line, from which enum, names and rows are generated; the columns are the
// members of bb_variant_info. hp1: fp16 operands. hp2: fp16 operands and output. hp3: fp16
// throughout. x3: operands split in two planes, three products. fp8: e4m3 operands, a power of two
// per tile.
// clang-format off
#define BB_VARIANTS(row)                                                                           \
    /*  id    name  operand accum output products rounds rate   panels    in_halves next */        \
    row(DP,   dp,   FP64,   FP64, FP64,  1,       false,  59.0, FP64,     DP,       DP)            \
    row(SP,   sp,   FP32,   FP32, FP32,  1,       false,  53.0, FP32,     X3,       DP)            \
    row(TF32, tf32, TF32,   FP32, FP32,  1,       true,  261.0, NARROWED, TF32,     X3)            \
    row(BF16, bf16, BF16,   FP32, FP32,  1,       true,  714.0, NARROWED, BF16,     X3)            \
    row(HP1,  hp1,  FP16,   FP32, FP32,  1,       true,  714.0, HALVES,   HP1,      X3)            \
    row(HP2,  hp2,  FP16,   FP32, FP16,  1,       true,  729.0, HALVES,   HP2,      X3)            \
    row(HP3,  hp3,  FP16,   FP16, FP16,  1,       true,  753.0, HALVES,   HP3,      X3)            \
    row(X3,   x3,   FP16,   FP32, FP32,  3,       true,  220.0, HALVES,   X3,       DP)            \
    row(FP8,  fp8,  E4M3,   FP32, FP32,  1,       true,  714.0, NARROWED, FP8,      X3)
// clang-format on

#define BB_VARIANT_OF_ROW(id, ...) BB_VARIANT_##id,
typedef enum bb_variant { BB_VARIANTS(BB_VARIANT_OF_ROW) BB_VARIANT_COUNT } bb_variant;
#undef BB_VARIANT_OF_ROW

typedef struct bb_variant_info {
    const char *name;
    bb_format operand;
    bb_format accumulator;
    bb_format output; ///< format of the updated tile; also its storage (x3: as wide as fp32)
    int products;     ///< products of operand planes: 3 for x3, 1 otherwise
    bool rounds;      ///< whether operands are rounded
    double rate;      ///< of large square matrix products on one H200, TF/s, with CUDA 13.0
                      ///< (x3: of its result; fp8: of bf16, which its products use): to rank
                      /// variants, not to predict times
    bb_variant_panels panels;
    bb_variant in_halves; ///< equivalent that can be mixed with others on a device: a variant in
                          ///< planes of fp16; the variant itself if there is none
    bb_variant next;      ///< variant tried after a failed factorization; dp: none
} bb_variant_info;

const bb_variant_info *bb_variant_describe(bb_variant variant);

/// Returns the unit roundoff u of the operands: |round(a) - a| <= u |a| in their format's normal
/// range; 2^-23 for x3.
double bb_variant_unit_roundoff(bb_variant variant);

/// Bound on the error of a product of rounded operands, relative to |a||b|: 2 u + u^2, for x3 2^-21
/// (2^-22 omitted, 2^-23 for either operand), 0 for sp and dp, whose operands are not rounded.
double bb_variant_product_error(bb_variant variant);

/// Returns whether a policy on a device may assign it to a block: its `in_halves` is stored in
/// planes of fp16.
bool bb_variant_mixes(bb_variant variant);

/// Returns the variant for updates of a diagonal tile that does not follow its policy: dp if the
/// tile is fp64, else sp.
bb_variant bb_variant_on_diagonal(bb_variant variant);

/// Computes the time of products at their rates relative to sp, from the fraction of the operations
/// in each variant: shares [BB_VARIANT_COUNT].
double bb_variant_relative_cost(const double *shares);

/// NULL-terminated names in the order of the enum.
extern const char *const bb_variant_names[];

#ifdef __cplusplus
}
#endif

#endif
