// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: products of half-precision planes on tensor cores, with an implementation for
// sm_90 and one for any GPU from sm_80 on (core/device/device.h selects).
//
// A matrix is stored as a plane hi = fp16(a) and, for three products, a plane lo = fp16((a - hi)
// 2^11). With one product, a b ~ hi hi (hp1). With three,
//     a b ~ hi hi + 2^-11 (hi lo + lo hi),
// which preserves 22 bits (Ootomo and Yokota 2022). The tensor core truncates while it accumulates,
// a bias that grows with the length of the sum. With three products its sum is therefore promoted
// to fp32 registers every 64 of the depth, in the portable implementation every 32. One product
// accumulates 16384 in the tensor core on sm_90, where no registers are left for a second
// accumulator; the portable implementation promotes it like the others.
//
// The depth advances in steps of 64. Results are repeatable bit for bit: one thread block sums an
// entry in a fixed order.
#ifndef BB_SOLVERS_FACTOR_PANELS_SPLIT_PRODUCT_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_SPLIT_PRODUCT_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/factor/panels/triangle_layout.h"

#include <cuda.h>
#include <cuda_fp16.h>

/// Access to a plane of fp16 in device memory: by bulk copies of boxes on sm_90, by address
/// elsewhere.
struct bb_plane_map_cuda {
    CUtensorMap boxes; ///< all zeros in the portable implementation
    const __half *values;
    int rows, stride; ///< [rows][stride], aligned to 16 bytes
};

/// A plane and its map.
struct bb_plane_cuda {
    __half *values; ///< [rows][stride]
    bb_index rows, columns, stride;
    bb_plane_map_cuda map;
};

/// Describes `values` [rows][columns] with `stride` items (a multiple of 8) between rows, for
/// copies of boxes of 64 columns and `box_rows` rows; values outside are read as 0. Errors:
/// BB_DEVICE, errors of bb_device_cuda_uses_hopper.
BB_CHECKED bb_status bb_plane_cuda_describe(__half *values, bb_index rows, bb_index columns,
                                            bb_index stride, bb_index box_rows, bb_plane_cuda *out);

/// Power of two that scales values of magnitude up to `largest` to at most 2^14; at least 1.
static __device__ __forceinline__ float bb_split_product_plane_unit(float largest)
{
    const int exponent = static_cast<int>(__float_as_uint(largest) >> 23 & 0xFFU) - 126;
    return exponent > 14 ? __uint_as_float(static_cast<unsigned>(exponent - 14 + 127) << 23) : 1.0F;
}

/// Layout of an operand in its planes.
enum bb_operand_layout_cuda {
    BB_OPERAND_PLAIN,     ///< entry (r, k) at row `first + r`, column k
    BB_OPERAND_PANEL,     ///< block rows of a folded triangle, from panel row `first` on
    BB_OPERAND_BLOCK_ROW, ///< rows of a folded triangle from matrix row `first` on, in one block
                          ///< row
    BB_OPERAND_COLUMNS    ///< transposed: entry (r, k) at matrix row k, column `first + r`
};

struct bb_operand_cuda {
    bb_operand_layout_cuda layout;
    bb_index first;
    bb_plane_map_cuda hi, lo; ///< lo is not used by one product
};

/// Range of the depth that contributes to a column of the result.
enum bb_depth_cuda {
    BB_DEPTH_WHOLE,
    BB_DEPTH_LOWER, ///< B is lower triangular: k <= column
    BB_DEPTH_UPPER  ///< B is upper triangular: k >= column
};

/// C <- C - A B^T over the depth [begin, end), or, with `write_planes`, planes <- A B^T.
struct bb_split_product_cuda {
    bb_triangle_layout triangle; ///< layout of folded operands and of a folded result
    bb_operand_cuda a;           ///< rows of C
    bb_operand_cuda b;           ///< columns of C
    bb_index rows, columns;      ///< columns is a multiple of 128
    bb_index begin, end;         ///< multiples of 64
    const int *list;             ///< device: [listed] block columns that form the depth, or NULL
    int listed;
    bb_depth_cuda depth;
    bool lower_only; ///< skips blocks above the diagonal of a square C
    float *c;        ///< [rows][c_stride], starting at the first row
    bb_index c_stride;
    bool write_planes;
    __half *hi, *lo;       ///< result as planes; lo may be NULL
    bool folded;           ///< planes are a folded triangle and `a` is a panel; otherwise plain
    bb_index plane_stride; ///< layout of the result
    bb_index plane_row;    ///< plain: row of the first result row
    bb_index plane_column; ///< column of the first column of C
    /// device: B was divided by bb_split_product_plane_unit(*largest); NULL for 1
    const float *largest;
    const int *stopped; ///< device: nonzero skips the product
};

/// Launches the product on a stream, with the implementation for the current GPU. `products` is 1
/// or 3. Errors: BB_DEVICE, errors of bb_device_cuda_uses_hopper.
BB_CHECKED bb_status bb_split_product_launch(const bb_split_product_cuda *product, int products,
                                             cudaStream_t stream);

/// Portable implementation for any GPU from sm_80 on.
BB_CHECKED bb_status bb_split_product_launch_portable(const bb_split_product_cuda *product,
                                                      int products, cudaStream_t stream);

/// Checks the current device: BB_OK, or BB_UNSUPPORTED with a message.
BB_CHECKED bb_status bb_split_product_supported(void);

#endif
