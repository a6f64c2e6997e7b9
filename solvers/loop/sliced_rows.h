// SPDX-License-Identifier: Apache-2.0
//
// Sparse rows for a GPU: slices of 32 rows, each padded to its longest row and stored entry by
// entry across the rows (sliced ELLPACK, Monakov et al. 2010), so that a warp reads contiguous
// data. Rows longer than BB_SLICED_LONG are stored separately, one per warp. Values in fp32.
#ifndef BB_SOLVERS_LOOP_SLICED_ROWS_H
#define BB_SOLVERS_LOOP_SLICED_ROWS_H

#include "core/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_SLICE = 32, BB_SLICED_LONG = 24 };

/// Owned arrays; padding has the last column of its row, or 0, and value 0.
typedef struct bb_sliced_rows {
    bb_index rows, columns;
    bb_index slices;
    int32_t *slice_start; ///< [slices + 1] start of each slice, in lines of 32 entries
    uint32_t *apart;      ///< [slices] bit r: row r of the slice is stored separately
    int32_t *column;      ///< [slice_start[slices]][32]
    float *value;
    bb_index long_rows;
    int32_t *long_row;   ///< [long_rows] row numbers
    int32_t *long_start; ///< [long_rows + 1]
    int32_t *long_column;
    float *long_value;
} bb_sliced_rows;

/// Converts a sparse matrix to slices. Errors: BB_MEMORY. Release with bb_sliced_rows_release.
BB_CHECKED bb_status bb_sliced_rows_of(const bb_csr *rows, bb_sliced_rows *out);
void bb_sliced_rows_release(bb_sliced_rows *rows);

/// Bytes of columns, values and starts.
double bb_sliced_rows_bytes(const bb_sliced_rows *rows);

/// y = A x on the host, bit-identical to the GPU: fp32, the entries of a row in order with fused
/// multiply-add; long rows in 32 strides and a binary tree.
void bb_sliced_rows_multiply(const bb_sliced_rows *rows, const float *x, float *y);

#ifdef __cplusplus
}
#endif

#endif
