// SPDX-License-Identifier: Apache-2.0
//
// Dense product in fp64, C = alpha A op(B) + beta C, on all threads by ranges of rows.
#ifndef BB_CORE_ROW_PRODUCT_H
#define BB_CORE_ROW_PRODUCT_H

#include "core/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Operands, row-major without gaps; everything is borrowed.
typedef struct bb_row_product {
    bb_index columns, depth;
    double alpha;
    const double *a, *b; ///< [rows][depth]; [depth][columns]
    bool transposed;     ///< b is [columns][depth] and transposed
    double beta;
    double *c; ///< [rows][columns]
} bb_row_product;

/// Computes `rows` rows of C, `grain` of them per task. The bits depend on `grain`, not on the
/// number of threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_row_product_run(const bb_row_product *product, bb_index rows,
                                        bb_index grain);

#ifdef __cplusplus
}
#endif

#endif
