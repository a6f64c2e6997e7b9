// SPDX-License-Identifier: Apache-2.0
//
// A coded matrix and how to apply it: y = C x on a device. Each stored value is decoded, multiplied
// in one format and accumulated in another. The scheme of Bamakhrama et al. (wafer feed-forward) is
// storage fp32, multiply fp32, accumulate fp64.
//
// Sums in fp64 take every product by itself, or runs of them: `run` products of a lane are summed
// in fp32 and the run is promoted to fp64.
//
// The order of the sums fixes the bits on a device. cpu: 16 lanes, lane l taking columns l, l + 16,
// ... in turn, then a tree of halves; each row is summed by one thread; a run is `run` columns of
// each lane. cuda: the order of solvers/operator/stream/coded_stream_cuda.h; in runs and in fp32
// sums a product is fused with its sum, and block floating point multiplies a block's unit once;
// sums in fp32 are those of a lane, lanes are summed in fp64. In runs, e4m3, e5m2, block floating
// point and integers of up to 8 bits, and quotients of up to 16, or wider in few columns, are
// multiplied on tensor cores, whatever the run (solvers/operator/stream/stream_limbs_cuda.h); an x
// that is not finite then gives NaN. The two agree within the error bound of either sum.
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

/// Formats of the products (operands rounded to it, product rounded to it) and of the sums.
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

/// Makes the matrix ready on a device: the cpu uses it in place, and it must outlive the operator;
/// a GPU takes a copy (solvers/operator/device_matrix.h) and a workspace, and the matrix may go.
/// The device is borrowed and must outlive the operator. Errors: BB_UNSUPPORTED (arithmetic other
/// than above, a device of OpenCL: see bb_coded_operator_assemble), BB_MEMORY (host or device),
/// BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_create(bb_device *device, const bb_coded_matrix *matrix,
                                              bb_gemv_arithmetic arithmetic,
                                              bb_coded_operator **out);

/// The same of rows [row, row + rows) of the matrix, which are rows 0 to rows - 1 of the operator:
/// a GPU takes a copy of these alone where bb_coded_operator_copies_rows, else of the whole matrix.
/// There the order of a row's sums depends on which rows an operator has. Errors: BB_INVALID (no
/// rows, rows outside the matrix), those above.
BB_CHECKED bb_status bb_coded_operator_create_rows(bb_device *device, const bb_coded_matrix *matrix,
                                                   bb_index row, bb_index rows,
                                                   bb_gemv_arithmetic arithmetic,
                                                   bb_coded_operator **out);

/// An operator of a matrix that is on a GPU already (device_coding.h); takes the matrix, also where
/// it fails. Errors: BB_UNSUPPORTED (arithmetic as above), BB_MEMORY (host or device), BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_of_device_matrix(bb_device *device,
                                                        struct bb_device_matrix **matrix,
                                                        bb_gemv_arithmetic arithmetic,
                                                        bb_coded_operator **out);

/// The same on the device of a context, OpenCL's too, by a kernel of the language
/// (solvers/operator/assembled/assembled_product.h), which serves all operators of the context; it
/// is compiled at the first product. The context is borrowed and must outlive the operator, the
/// matrix may go. Errors: BB_UNSUPPORTED (arithmetic other than above, storage other than words of
/// fp64 and fp32), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_assemble(struct bb_kernel_context *context,
                                                const bb_coded_matrix *matrix,
                                                bb_gemv_arithmetic arithmetic,
                                                bb_coded_operator **out);
void bb_coded_operator_destroy(bb_coded_operator **operation);

/// What an operator of a storage takes beside the matrix on the host; on a GPU its copy, x, y and
/// the sums of products, too.
bb_need bb_coded_operator_need(const bb_codec_config *storage, double rows, double columns,
                               bb_device_kind device);

/// What applying `rows` of it once takes on the cpu.
bb_need bb_coded_operator_apply_need(const bb_codec_config *storage, double rows, double columns,
                                     double threads);

/// From now on fp64 sums take fp32 products in runs of `run`, a multiple of BB_GEMV_RUN_STEP up to
/// BB_GEMV_RUN_MOST, or, as at first, each by itself: 1. Errors: BB_UNSUPPORTED (another run, or
/// another arithmetic).
BB_CHECKED bb_status bb_coded_operator_sum_in_runs(bb_coded_operator *operation, bb_index run);

/// Whether a GPU has rows of a storage one by one: not so of low-rank tiles, transformed blocks and
/// zfp.
bool bb_coded_operator_copies_rows(const bb_codec_config *storage);

/// Whether all rows of a storage have the same bytes on a GPU, so that a matrix of it may move
/// there field by field.
bool bb_coded_operator_moves(const bb_codec_config *storage);

/// Whether runs of a storage are multiplied in limbs on a GPU, where no value of it is infinite.
bool bb_coded_operator_has_limbs(const bb_codec_config *storage);

/// y[i] = row (row + i) of C times x for i in [0, rows). x [columns] and y [rows] are on the host,
/// in fp64; rounding to the multiply format happens here, the rows' scales are undone in fp64.
/// `seconds` grows by the time on the device, transfers included. Errors: BB_INVALID (rows outside
/// the matrix), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_apply(bb_coded_operator *operation, bb_index row,
                                             bb_index rows, const double *x, double *y,
                                             double *seconds);

/// Rows of a product on a GPU.
typedef struct bb_coded_window {
    bb_index row, rows;
    const int32_t *row_at; ///< on the device, read in place of `row` when the product runs, which
                           ///< may be while any kernel since the last launch that is not early
                           ///< does: none of them may write it; NULL: `row` holds
} bb_coded_window;

enum {
    BB_CODED_TOGETHER = 3, ///< most products of one launch: the axes of a displacement
};

/// Whether a product on a GPU can find its first row in the device's memory (bb_coded_window).
bool bb_coded_operator_supports_row_at(const bb_coded_operator *operation);

/// Whether two operators of a GPU can be in one product: of one shape, storage and arithmetic.
bool bb_coded_operator_alike(const bb_coded_operator *first, const bb_coded_operator *other);

/// The same for `count` operators of one shape, storage and arithmetic, in one launch where they do
/// not differ in how they take x (solvers/operator/device_matrix.h), between x [columns] and y
/// [count] of [rows] in a GPU's memory, x in the format of the products and at a multiple of 16
/// bytes; queued on `queue` (of the operators' device, which has to be the current one): nothing
/// waits or allocates, so that a queue under capture takes it. An operator's workspace serves one
/// product at a time. Errors: BB_INVALID (rows outside the matrix, operators that differ),
/// BB_UNSUPPORTED (an operator on the cpu, a device before sm_90, row_at with an operator that does
/// not take it), BB_DEVICE.
BB_CHECKED bb_status bb_coded_operator_queue(bb_coded_operator *const *operations, int count,
                                             const bb_coded_window *window, const void *x,
                                             double *const *y, bb_queue *queue);

/// Where an operator's matrix lies on a GPU.
typedef struct bb_coded_block {
    void *address; ///< the device's
    size_t bytes;
} bb_coded_block;

enum { BB_CODED_BLOCKS = 3 }; ///< most of an operator

/// Everything that differs between operators of one shape and storage, for whoever moves matrices.
/// Errors: BB_UNSUPPORTED (an operator on the cpu, storage whose bytes the data decide).
BB_CHECKED bb_status bb_coded_operator_blocks(const bb_coded_operator *operation,
                                              bb_coded_block blocks[BB_CODED_BLOCKS], int *count);

/// Shape of the operator, and the format of products.
bb_index bb_coded_operator_rows(const bb_coded_operator *operation);
bb_index bb_coded_operator_columns(const bb_coded_operator *operation);
bb_format bb_coded_operator_multiply(const bb_coded_operator *operation);

/// Bytes of matrix that an application of all rows reads on the operator's device.
size_t bb_coded_operator_bytes(const bb_coded_operator *operation);

/// What compiled an assembled operator's kernel, "" of others.
const char *bb_coded_operator_compiler(const bb_coded_operator *operation);

/// Floating-point operations of one application: 2 rows columns.
double bb_coded_operator_flops(bb_index rows, bb_index columns);

/// Arguments of products with plain formats on the cpu (solvers/operator/coded_product.h).
typedef struct bb_coded_product {
    const void *words; ///< of the first row to multiply
    bb_format format;
    bb_gemv_arithmetic arithmetic;
    bb_index run; ///< fp32 products of a lane in a run, or 1
    bb_index columns;
    const double *x;    ///< [columns], for fp64 products
    const float *x_f32; ///< [columns], for fp32 products
    bool finite;        ///< known: no stored value and no product is NaN or infinite
    double *y;          ///< [rows], scales not undone
} bb_coded_product;

/// A-priori rounding of products of `storage` over `columns` columns in runs of `run`
/// (bb_coded_operator_sum_in_runs), on any device, for the orders of sums stated above: a value
/// passes at most 4 roundings as operand, unit of its block and product, and then as many sums as
/// the longest path of its lane has. (1 + u)^k - 1 <= e^(k u) - 1 (Higham, Accuracy and stability
/// of numerical algorithms, section 3.1).
///
/// Lanes: cpu 16, cuda 32 and 5 foldings after places, zfp's panels there 128 sums of a lane; a
/// path has at most columns / 16 + 128 sums. In runs of r, r of them are in fp32 and all in fp64;
/// in fp32 sums all are counted in fp32.
///
/// In limbs (stream_limbs_cuda.h) a tensor core adds 16 products to a sum at once, each of the 17
/// cut below 2^-24 of the largest at most (Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of
/// NVIDIA tensor cores, PeerJ CS 7, 2021: it keeps at least two bits more than fp32), eight times
/// before a sum is promoted; and x is exact to 2^-30 of the largest.
///
/// Rows of low-rank tiles and of transformed blocks are multiplied as factors and have counts and
/// magnitudes of their own (bb_row_rounding), which go with the row.
bb_sum_rounding bb_coded_operator_rounding(const bb_codec_config *storage,
                                           bb_gemv_arithmetic arithmetic, bb_index run,
                                           bb_index columns);

#ifdef __cplusplus
}
#endif

#endif
