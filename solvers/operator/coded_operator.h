// SPDX-License-Identifier: Apache-2.0
//
// A coded matrix as an operator: y = C x on a device. Each stored value is decoded, multiplied in
// one format and accumulated in another. The scheme of Bamakhrama et al. (wafer feed-forward) is
// storage fp32, multiply fp32, accumulate fp64.
//
// Sums in fp64 add every product separately, or runs of them: `run` products of a lane are summed
// in fp32 and the run is promoted to fp64.
//
// The order of the sums fixes the bits on a device. cpu: 16 lanes, lane l adding columns l, l + 16,
// ... in order, then a binary tree; each row is summed by one thread; a run is `run` columns of
// each lane. cuda: the order of solvers/operator/stream/coded_stream_cuda.h. In runs and in fp32
// sums a product is fused with its sum, and block floating point multiplies by a block's unit once.
// Only the sums within a lane are in fp32; lanes are summed in fp64. In runs, tensor cores multiply
// e4m3, e5m2, block floating point and integers of up to 8 bits, and quotients of up to 16, or
// wider in few columns, whatever the run (solvers/operator/stream/stream_limbs_cuda.h); an x that
// is not finite then gives NaN. The two devices agree within the error bound of either sum.
//
// Low-rank tiles and transformed blocks are never decoded: solvers/operator/low_rank_product.h,
// low_rank_stream.h and transform_product.h. zfp is decoded piece by piece, on a GPU in the order
// of solvers/operator/zfp_panels.h.
#ifndef BB_SOLVERS_OPERATOR_CODED_OPERATOR_H
#define BB_SOLVERS_OPERATOR_CODED_OPERATOR_H

#include "core/device/device.h"
#include "precision/coded_matrix.h"
#include "precision/row_certificate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Formats of the products (operands and product are rounded to it) and of the sums.
typedef struct bb_gemv_arithmetic {
    bb_format multiply;   ///< BB_FORMAT_FP64 or BB_FORMAT_FP32
    bb_format accumulate; ///< BB_FORMAT_FP64 or BB_FORMAT_FP32, no narrower than multiply
} bb_gemv_arithmetic;

enum {
    BB_GEMV_RUN_STEP = 32,
    BB_GEMV_RUN_MOST = 1024,
};

typedef struct bb_coded_operator bb_coded_operator;
struct bb_kernel_context; // solvers/kernels/objects/kernel_context.h
struct bb_device_matrix;  // solvers/operator/device_matrix.h

/// Prepares the matrix on a device. The cpu uses it in place, and it must outlive the operator. A
/// GPU gets a copy (solvers/operator/device_matrix.h) and a workspace, and the matrix may be freed.
/// The device is borrowed and must outlive the operator. Errors: BB_UNSUPPORTED (other arithmetic,
/// a device of OpenCL: see bb_coded_operator_assemble), BB_MEMORY (host or device), BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_create(bb_device *device, const bb_coded_matrix *matrix,
                                              bb_gemv_arithmetic arithmetic,
                                              bb_coded_operator **out);

/// Prepares only rows [row, row + rows) of the matrix, which become rows 0 to rows - 1 of the
/// operator. A GPU copies only these if bb_coded_operator_copies_rows, otherwise the whole matrix.
/// On a GPU the order of a row's sums depends on the rows of the operator. Errors: BB_INVALID (no
/// rows, rows outside the matrix), those above.
BB_CHECKED bb_status bb_coded_operator_create_rows(bb_device *device, const bb_coded_matrix *matrix,
                                                   bb_index row, bb_index rows,
                                                   bb_gemv_arithmetic arithmetic,
                                                   bb_coded_operator **out);

/// Creates an operator from a matrix that is already on a GPU (device_coding.h); takes ownership of
/// the matrix, even on failure. Errors: BB_UNSUPPORTED (arithmetic as above), BB_MEMORY (host or
/// device), BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_of_device_matrix(bb_device *device,
                                                        struct bb_device_matrix **matrix,
                                                        bb_gemv_arithmetic arithmetic,
                                                        bb_coded_operator **out);

/// Creates an operator on the device of a context, including OpenCL, by a kernel of the kernel
/// language (solvers/operator/assembled/assembled_product.h). All operators of the context share
/// the kernel, which is compiled at the first product. The context is borrowed and must outlive the
/// operator; the matrix may be freed. Errors: BB_UNSUPPORTED (other arithmetic, storage other than
/// words of fp64 and fp32), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_assemble(struct bb_kernel_context *context,
                                                const bb_coded_matrix *matrix,
                                                bb_gemv_arithmetic arithmetic,
                                                bb_coded_operator **out);
void bb_coded_operator_destroy(bb_coded_operator **operation);

/// Memory of an operator without the matrix on the host; on a GPU including its copy, x, y and the
/// partial sums.
bb_need bb_coded_operator_need(const bb_codec_config *storage, double rows, double columns,
                               bb_device_kind device);

/// Cost of applying `rows` rows of the operator once on the cpu.
bb_need bb_coded_operator_apply_need(const bb_codec_config *storage, double rows, double columns,
                                     double threads);

/// Makes fp64 sums add fp32 products in runs of `run` from now on, a multiple of BB_GEMV_RUN_STEP
/// up to BB_GEMV_RUN_MOST; initially 1, each product separately. Errors: BB_UNSUPPORTED (another
/// run, or another arithmetic).
BB_CHECKED bb_status bb_coded_operator_sum_in_runs(bb_coded_operator *operation, bb_index run);

/// True if a GPU stores rows of a storage separately; false for low-rank tiles, transformed blocks
/// and zfp.
bool bb_coded_operator_copies_rows(const bb_codec_config *storage);

/// True if all rows of a storage have the same bytes on a GPU, so that its matrices can be streamed
/// to it field by field.
bool bb_coded_operator_moves(const bb_codec_config *storage);

/// True if a GPU multiplies runs of a storage in limbs, which requires finite values.
bool bb_coded_operator_has_limbs(const bb_codec_config *storage);

/// y[i] = row (row + i) of C times x for i in [0, rows). x [columns] and y [rows] are on the host,
/// in fp64. x is rounded to the multiply format here, and the scales of the rows are removed in
/// fp64. Adds the device time including transfers to `seconds`. Errors: BB_INVALID (rows outside
/// the matrix), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_apply(bb_coded_operator *operation, bb_index row,
                                             bb_index rows, const double *x, double *y,
                                             double *seconds);

/// Rows of a product on a GPU.
typedef struct bb_coded_window {
    bb_index row, rows;
    const int32_t *row_at; ///< device address read instead of `row` when the product runs; it may
                           ///< run concurrently with any kernel since the last launch that is not
                           ///< early, and none of them may write it; NULL: use `row`
} bb_coded_window;

enum {
    BB_CODED_TOGETHER = 3, ///< most products per launch: the axes of a displacement
};

/// True if a product on a GPU can read its first row from device memory (bb_coded_window).
bool bb_coded_operator_supports_row_at(const bb_coded_operator *operation);

/// True if two operators on a GPU can be in one product: they have the same shape, storage and
/// arithmetic.
bool bb_coded_operator_alike(const bb_coded_operator *first, const bb_coded_operator *other);

/// Multiplies by `count` operators of one shape, storage and arithmetic, in one launch if all read
/// x in the same form (solvers/operator/device_matrix.h). x [columns] and y [count] of [rows] are
/// in GPU memory, x in the format of the products and aligned to 16 bytes. Queued on `queue` (of
/// the operators' device, which must be current). Nothing waits or allocates, so a queue under
/// capture can record it. An operator's workspace serves one product at a time. Errors: BB_INVALID
/// (rows outside the matrix, operators that differ), BB_UNSUPPORTED (an operator on the cpu, a
/// device before sm_90, row_at with an operator that does not support it), BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_queue(bb_coded_operator *const *operations, int count,
                                             const bb_coded_window *window, const void *x,
                                             double *const *y, bb_queue *queue);

/// A memory block of an operator on a GPU.
typedef struct bb_coded_block {
    void *address; ///< device address
    size_t bytes;
} bb_coded_block;

enum { BB_CODED_BLOCKS = 3 }; ///< most blocks of an operator

/// Lists all data that differs between operators of one shape and storage, for code that moves
/// matrices. Errors: BB_UNSUPPORTED (an operator on the cpu, a storage of data-dependent size).
BB_CHECKED bb_status bb_coded_operator_blocks(const bb_coded_operator *operation,
                                              bb_coded_block blocks[BB_CODED_BLOCKS], int *count);

/// Shape of the operator, and the format of products.
bb_index bb_coded_operator_rows(const bb_coded_operator *operation);
bb_index bb_coded_operator_columns(const bb_coded_operator *operation);
bb_format bb_coded_operator_multiply(const bb_coded_operator *operation);

/// Bytes of the matrix read by an application of all rows on the operator's device.
size_t bb_coded_operator_bytes(const bb_coded_operator *operation);

/// Compiler of an assembled operator's kernel; "" for other operators.
const char *bb_coded_operator_compiler(const bb_coded_operator *operation);

/// Floating-point operations of one application: 2 rows columns.
double bb_coded_operator_flops(bb_index rows, bb_index columns);

/// Arguments of products with plain formats on the cpu (solvers/operator/coded_product.h).
typedef struct bb_coded_product {
    const void *words; ///< offset of the first row to multiply
    bb_format format;
    bb_gemv_arithmetic arithmetic;
    bb_index run; ///< fp32 products per lane and run, or 1
    bb_index columns;
    const double *x;    ///< [columns], for fp64 products
    const float *x_f32; ///< [columns], for fp32 products
    bool finite;        ///< true: certainly no stored value or product is NaN or infinite
    double *y;          ///< [rows], including the scales
} bb_coded_product;

/// A-priori bound of the rounding of products of `storage` over `columns` columns in runs of `run`
/// (bb_coded_operator_sum_in_runs), on any device, for the orders of sums stated above. A value
/// passes at most 4 roundings as operand, unit of its block and product, and then as many sums as
/// the longest path of its lane has. (1 + u)^k - 1 <= e^(k u) - 1 (Higham, Accuracy and stability
/// of numerical algorithms, section 3.1).
///
/// Lanes: 16 on the cpu; 32 on cuda, with 5 reduction steps after the places; zfp's panels have 128
/// sums per lane. A path has at most columns / 16 + 128 sums. In runs of r, r of them are in fp32
/// and all in fp64; with fp32 sums all are counted in fp32.
///
/// In limbs (stream_limbs_cuda.h) a tensor core adds 16 products to a sum at once. Each of the 17
/// is truncated below 2^-24 of the largest at most (Fasi, Higham, Mikaitis, Pranesh, Numerical
/// behavior of NVIDIA tensor cores, PeerJ CS 7, 2021: it keeps at least two bits more than fp32),
/// eight times before a sum is promoted. x is exact to 2^-30 of the largest.
///
/// Rows of low-rank tiles and of transformed blocks are multiplied as factors. They have separate
/// counts and magnitudes (bb_row_rounding), which are stored with the row.
bb_sum_rounding bb_coded_operator_rounding(const bb_codec_config *storage,
                                           bb_gemv_arithmetic arithmetic, bb_index run,
                                           bb_index columns);

#ifdef __cplusplus
}
#endif

#endif
