// SPDX-License-Identifier: Apache-2.0
//
// Products that accumulate in fp16: C <- C - A B^T, where each sum starts from 0, or from C, adds
// runs of `run` products in fp32, in the order of the columns, and is rounded to fp16 after each
// run. What starts from 0 is subtracted from C at the end.
// Products of fp16 values are exact in fp32, so a fused multiply-add gives the bits of a multiply
// and an add, and the conversion instructions of a processor give those of the portable rounding:
// every kernel of the table has the same bits (which NaN stands for a NaN excepted).
#ifndef BB_SOLVERS_FACTOR_TILES_HALF_PRODUCT_H
#define BB_SOLVERS_FACTOR_TILES_HALF_PRODUCT_H

#include "core/status.h"

#include <stdbool.h>

enum { BB_HALF_PANEL = 64 }; ///< columns of C that one call computes

/// Arguments of a kernel. Columns beyond `columns` of a panel are computed and dropped.
typedef struct bb_half_task {
    const float *a; ///< [rows][depth], values of fp16
    const float *b; ///< [depth][BB_HALF_PANEL], values of fp16
    float *c;       ///< [rows][stride], of which `columns` are updated; not rounded
    bb_index rows, depth, columns, stride;
    bb_index run;
    bool from_c; ///< sums start from C
} bb_half_task;

typedef struct bb_half_kernel {
    const char *name;
    bool (*available)(void); ///< on this processor
    void (*multiply)(const bb_half_task *task);
} bb_half_kernel;

/// Kernels of this build, the fastest first, the portable one last; returns how many.
bb_index bb_half_product_kernels(const bb_half_kernel **out);

/// The first one that is available here.
const bb_half_kernel *bb_half_kernel_chosen(void);

/// Packs b [columns][depth] into panels [ceil(columns / BB_HALF_PANEL)][depth][BB_HALF_PANEL],
/// filled up with zeros.
void bb_half_product_pack(const float *b, bb_index columns, bb_index depth, float *panels);

#endif
