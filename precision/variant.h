// SPDX-License-Identifier: Apache-2.0
//
// Variants of the matrix product C <- C - A B: which format the operands are rounded to, which one
// accumulates and which one holds the output tile. hp1, hp2, hp3 have the bits of Table I of Doucet
// et al. (mixed-precision tomographic reconstructor); the output tile's policy decides the variant.
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
    BB_VARIANT_COUNT,
} bb_variant;

typedef struct bb_variant_info {
    const char *name;
    bb_format operand;
    bb_format accumulator;
    bb_format output; ///< of the tile that is updated; also its storage
} bb_variant_info;

const bb_variant_info *bb_variant_describe(bb_variant variant);

/// NULL-terminated names in the order of the enum.
extern const char *const bb_variant_names[];

#ifdef __cplusplus
}
#endif

#endif
