// SPDX-License-Identifier: Apache-2.0
//
// Solves L L' x = b for many right-hand sides on a GPU, with a supernodal Cholesky factor computed
// on the host (plate_factor.h).
//
// With the lower triangle D and the block U below it of a supernode, the device stores
//     T = (D D')^-1 and -V = -U D^-1
// instead, so that a solve consists of products only:
//     forward,  leaves to root, of supernodes reached by a right-hand side: x_below -= V x_own
//     backward, root to leaves, of all supernodes: x_own <- T x_own - V' x_below
// on tensor cores in fp64. Supernodes of one level of the elimination tree run together in the
// backward sweep; in the forward sweep each is a separate launch, so that sums have a fixed order.
//
// Solutions agree with bb_supernodes_solve within the condition number times rounding; they do not
// depend on the number of right-hand sides solved at once.
#ifndef BB_PHYSICS_WAFER_RESPONSE_FACTOR_SOLVE_H
#define BB_PHYSICS_WAFER_RESPONSE_FACTOR_SOLVE_H

#include "core/csr.h"
#include "core/device/device.h"
#include "physics/wafer/response/plate_factor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_factor_solve bb_factor_solve;

/// Copies the factor, which may then be released. Errors: BB_MEMORY (host or device), BB_DEVICE,
/// BB_UNSUPPORTED (2^31 unknowns or more).
BB_CHECKED bb_status bb_factor_solve_create(bb_device *device, const bb_supernodes *factor,
                                            bb_factor_solve **out);

/// Estimates, for a factor with that many values and unknowns, host memory during creation and
/// device memory during its lifetime, including the solutions of `width` right-hand sides.
bb_need bb_factor_solve_need(double values, double unknowns, double width);

/// Solves for the rows of `right` [right-hand sides][unknowns], columns in the order of the factor:
/// x [unknowns][right->rows] on the device. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_factor_solve_run(bb_factor_solve *solve, const bb_csr *right, double *x);

void bb_factor_solve_destroy(bb_factor_solve **solve);

/// Adds entry (r, c) of `entries` to out[r * row_stride + c * column_stride] on the device, and
/// waits. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_factor_solve_add(bb_device *device, const bb_csr *entries,
                                         bb_index row_stride, bb_index column_stride, double *out);

/// A tile of columns of a supernode in the backward sweep; all in the order of the factor.
typedef struct bb_factor_tile {
    int64_t value;     ///< first value of the supernode
    int64_t row;       ///< first of its rows
    int32_t rows;      ///< rows of the supernode, its columns first
    int32_t columns;   ///< columns of the supernode
    int32_t column;    ///< first column of the tile, in the supernode
    int32_t supernode; ///< number of the supernode
} bb_factor_tile;

/// Kernels of factor_solve_cuda.cu; addresses are in device memory.
typedef struct bb_factor_task {
    const double *values; ///< T and -V of all supernodes, column-major
    const int32_t *rows;
    const bb_factor_tile *tiles; ///< of the launch
    bb_factor_tile supernode;    ///< of the forward sweep
    const int32_t *saved;        ///< [supernodes] first row in `own`, -1: not reached
    const double *own;           ///< [reached columns][width] x_own of the forward sweep
    bb_index width;
    double *x;  ///< [unknowns][width]
    bool small; ///< tiles of BB_FACTOR_SMALL columns, else of BB_FACTOR_LARGE
} bb_factor_task;

enum { BB_FACTOR_SMALL = 16, BB_FACTOR_LARGE = 64 };

/// `items` of the first: rows below the supernode; of the second: tiles.
bb_status bb_factor_solve_forward_cuda(bb_queue *queue, bb_index begin, bb_index items, void *task);
bb_status bb_factor_solve_back_cuda(bb_queue *queue, bb_index begin, bb_index items, void *task);

/// Entries of a sparse matrix added to a dense one, out[row * row_stride + column * column_stride]:
/// right-hand sides, and contributions of single points to rows.
typedef struct bb_entries_task {
    const int32_t *row, *column; ///< [items], without repetition
    const double *value;
    bb_index row_stride, column_stride;
    double *out;
} bb_entries_task;
bb_status bb_factor_solve_add_entries_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                           void *task);

/// Copies rows of x between buffers: `items` rows of [width].
typedef struct bb_rows_task {
    const int32_t *place; ///< [items] rows of x
    bb_index width;
    double *x;
    double *own; ///< [items][width], or NULL: rows of x are set to zero
} bb_rows_task;
bb_status bb_factor_solve_save_rows_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                         void *task);

#ifdef __cplusplus
}
#endif

#endif
