// SPDX-License-Identifier: Apache-2.0
//
// Kernels of physics/wafer/device_rows.c; addresses are in device memory.
#ifndef BB_PHYSICS_WAFER_RESPONSE_DEVICE_ROWS_KERNELS_H
#define BB_PHYSICS_WAFER_RESPONSE_DEVICE_ROWS_KERNELS_H

#include "core/device/device.h"
#include "physics/wafer/response/radial_kernel_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A sparse matrix times the columns of x [columns][width]: out[row * stride + p], or out[p *
/// stride + row] if `transposed`.
typedef struct bb_gather_task {
    const bb_index *start; ///< [items + 1]
    const int32_t *column;
    const double *value;
    const double *x;
    bb_index width, stride;
    double *out;
    bool transposed;
} bb_gather_task;

/// `items`: rows of the sparse matrix.
bb_status bb_device_rows_gather_cuda(bb_queue *queue, bb_index begin, bb_index items, void *task);

/// Rows of the closed-form kernel: out [items][columns * rows] of the grid.
typedef struct bb_radial_rows_task {
    bb_radial_integrand integrand;
    int axis;               ///< bb_axis: x and y use edges, z cells
    bb_index columns, rows; ///< of the grid
    double origin_x, origin_y, cell_width, cell_height;
    const double *area;  ///< [columns * rows] live, m2
    double scale;        ///< of an integral over a whole live cell
    const double *x, *y; ///< [items] points, m
    double *out;
} bb_radial_rows_task;

/// `items`: points.
bb_status bb_device_rows_radial_cuda(bb_queue *queue, bb_index begin, bb_index items, void *task);

#ifdef __cplusplus
}
#endif

#endif
