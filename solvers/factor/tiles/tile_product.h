// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the tile Cholesky: C <- C - A B^T in every variant, and factor and solve of a tile.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_PRODUCT_H
#define BB_SOLVERS_FACTOR_TILES_TILE_PRODUCT_H

#include "core/outcome.h"
#include "solvers/factor/tiles/tile_operand.h"

#include <stdbool.h>

// Products with fp16 accumulation: C <- C - A B^T. Each sum starts from 0, or from C, adds runs of
// `run` products in fp32, in the order of the columns, and is rounded to fp16 after each run. A sum
// that starts from 0 is subtracted from C at the end. Products of fp16 values are exact in fp32, so
// a fused multiply-add is bit-identical to a multiply and an add, and conversion instructions of
// the processor to the portable rounding. Every kernel of the table is therefore bit-identical,
// except for NaN payloads.

enum { BB_HALF_PANEL = 64 }; ///< columns of C per call

/// Arguments of a kernel. Columns of a panel beyond `columns` are computed and discarded.
typedef struct bb_half_task {
    const float *a; ///< [rows][depth], values of fp16
    const float *b; ///< [depth][BB_HALF_PANEL], values of fp16
    float *c;       ///< [rows][stride], of which `columns` are updated without rounding
    bb_index rows, depth, columns, stride;
    bb_index run;
    bool from_c; ///< sums start from C
} bb_half_task;

typedef struct bb_half_kernel {
    const char *name;
    bool (*available)(void); ///< true if this processor supports the kernel
    void (*multiply)(const bb_half_task *task);
} bb_half_kernel;

/// Kernels of this build, fastest first, portable one last; returns their number.
bb_index bb_half_kernels(const bb_half_kernel **out);

/// First kernel that is available on this processor.
const bb_half_kernel *bb_half_kernel_chosen(void);

/// Packs b [columns][depth] into panels [ceil(columns / BB_HALF_PANEL)][depth][BB_HALF_PANEL],
/// padded with zeros.
void bb_half_kernel_pack(const float *b, bb_index columns, bb_index depth, float *panels);

/// Scratch memory of one thread.
typedef struct bb_tile_workspace {
    float *packed; ///< a tile in panels of bb_half_kernel_pack
    bb_index accumulate_k;
    bool from_c; ///< fp16 sums start from C
} bb_tile_workspace;

BB_CHECKED bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k,
                                              bool from_c, bb_tile_workspace *out);
bb_need bb_tile_workspace_need(bb_index tile_size);
void bb_tile_workspace_release(bb_tile_workspace *workspace);

/// C <- C - A B^T in a variant, then rounds C to the variant's output format. A [c.rows][depth] and
/// B [c.columns][depth] are its operands (tile_operand.h). C is fp64 for dp, otherwise fp32 or
/// narrower.
void bb_tile_product(bb_variant variant, const void *a, const void *b, bb_index depth, bb_tile *c,
                     bb_tile_workspace *workspace);

/// C <- C - A A^T, lower triangle, in fp64 for a dp tile and otherwise in fp32; A [c.rows][depth]
/// in that type.
void bb_tile_rank_update(const void *a, bb_index depth, bb_tile *c);

/// Cholesky factor of a diagonal tile; returns 0, or the 1-based row of the failed pivot.
bb_index bb_tile_factor(bb_tile *diagonal);

/// Factors tile (k, k), whose first row is row `first` of the matrix; returns false after a
/// breakdown, with the outcome not_spd (or non_finite if a value was so before), tile and row.
bool bb_tile_factor_diagonal(bb_tile *diagonal, bb_index k, bb_index first, bb_outcome *outcome);

/// A <- A L^-T with the factored diagonal tile L, in doubles for a dp tile and otherwise in floats;
/// then rounds A to its format, or to the two planes of x3.
void bb_tile_solve(const void *diagonal, bb_tile *a);

#endif
