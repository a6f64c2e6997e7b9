// SPDX-License-Identifier: Apache-2.0
//
// Views (borrowed) and arrays (owned): type, shape, strides and the memory space they live in.
//
// Layout is row-major by default: the last index has stride 1. Strides count items, not bytes.
#ifndef BB_CORE_ARRAY_H
#define BB_CORE_ARRAY_H

#include "core/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_type { BB_F64, BB_F32, BB_U16, BB_U8, BB_TYPE_COUNT } bb_type;

/// Memory space of an array, in the order of bb_device_kind in core/device/device.h.
typedef enum bb_space { BB_SPACE_HOST, BB_SPACE_CUDA, BB_SPACE_OPENCL } bb_space;

enum { BB_MAX_RANK = 4 };

/// Borrowed window on memory; never frees. Plain value, copied freely.
typedef struct bb_view {
    void *data;
    bb_type type;
    bb_space space;
    int rank;
    bb_index shape[BB_MAX_RANK];
    bb_index strides[BB_MAX_RANK]; ///< in items
} bb_view;

size_t bb_type_bytes(bb_type type);
const char *bb_type_name(bb_type type);

/// Contiguous row-major view [rows][columns] on doubles of the host.
bb_view bb_view_matrix(double *data, bb_index rows, bb_index columns);

/// Returns the view of rows [row, row + rows) and columns [column, column + columns) of a rank-2
/// view. The block must lie within the shape (asserted).
bb_view bb_view_block(bb_view view, bb_index row, bb_index rows, bb_index column, bb_index columns);

/// Returns a pointer to the first item of row `row` of a rank-2 F64 host view.
double *bb_view_row(bb_view view, bb_index row);

#ifdef __cplusplus
}
#endif

#endif
