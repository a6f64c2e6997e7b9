// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the part of a factorization by panels that one GPU owns, and its steps.
// solvers/factor/panels/panel_order_cuda.cu puts the steps in order.
//
// A GPU stores every gpus-th block row of L (folded) with its diagonal blocks, works on these rows
// of every panel, and sweeps some rows of B. Blocks of other GPUs that its products read are copied
// to one of a few slots as guests (remote blocks). These are block rows during factorization and
// forward sweep, block columns in the backward sweep, inverses of diagonal blocks, and the diagonal
// blocks themselves if rows of B are solved by substitution. Long copies run on a separate stream;
// copies for the next step run on the chain. Two parts may share a GPU.
//
// With a swapped L the GPU keeps only the strip of the current panels. Earlier columns come from
// the host: block rows of the current panels as guests, the rows below in chunks.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_PART_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_PART_CUDA_H

#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/panels/split_product_cuda.h"
#include "solvers/factor/panels/square_factor_cuda.h"
#include "solvers/gpu/dense_library_cuda.h"

/// Half-precision planes of a matrix, with one map for boxes of 128 rows and one for boxes of 64.
struct bb_halves {
    bb_plane_cuda hi, lo; ///< boxes of 128 rows
    bb_plane_cuda hi_short, lo_short;
};

struct bb_panel_part {
    bb_panel_plan plan;
    bb_panel_arithmetic arithmetic;
    bb_triangle_layout layout;  ///< layout of the part's block rows, every layout.step-th
    bb_index first_side, sides; ///< rows of B on this part
    bb_index side_rows;         ///< padded with zeros, so that cuBLAS never gets only few rows
    bb_device *device;
    int ordinal;
    bb_index width;    ///< number of current panels
    bb_index guests;   ///< slots for block rows of other parts
    bool reads_guests; ///< all block rows and columns of L are read from guest slots, including own
                       ///< ones
    const bb_dense_library_cuda *library;
    cudaStream_t bulk;  ///< long products
    cudaStream_t ahead; ///< long products of diagonal blocks
    cudaStream_t chain; ///< steps that the next panel waits for
    cudaStream_t fetch; ///< long copies from other GPUs, or from the host
    cudaStream_t store; ///< copies to the host
    /// One handle per stream in this order; the place of `fetch` has a second handle for `bulk`,
    /// see below.
    cublasHandle_t handles[BB_PANEL_HANDLES];
    void *triangle;    ///< [rows][columns] of the layout: half plane hi, or dense values
    void *triangle_lo; ///< half plane lo
    void *side;        ///< [side_rows][blocks block]: half plane hi, or dense values
    void *side_lo;     ///< half plane lo
    void *sweep[2]; ///< planes of a block row or block column of a dense L, shaped like guest_rows
    bb_halves triangle_planes, side_planes, panel_planes, inverse_planes[2];
    bb_halves sweep_row_planes, sweep_column_planes;
    bb_halves *guest_row_planes;    ///< [guests] of shape [block][blocks block]
    bb_halves *guest_column_planes; ///< [guests] maps of the same memory as [blocks block][block]
    bb_halves chunk_planes[BB_PANEL_CHUNKS_HELD]; ///< [chunk block][blocks block]
    void *operands;                               ///< bf16: [rows][columns] of the layout
    void *largest_of_blocks; ///< [held] largest magnitudes of the blocks of a panel
    void *panels;            ///< C [width][held block][block], fp32 or fp64
    void *tiles;             ///< C in fp16, for blocks updated in fp16
    void *diagonal_tiles[2]; ///< [block][block] fp16: diagonal blocks whose updates follow the
                             ///< variant
    void *side_panel;        ///< [side_rows][block]: current panel of B
    void *side_tile;         ///< [side_rows][block]: current panel of B in fp16
    void *diagonals;         ///< [held][block][block] diagonal blocks, then L_kk
    void *inverses;          ///< [held, or the last two if not kept][block][block]
    void *guest_diagonals;   ///< [2][block][block]
    void *guest_inverses;    ///< [2][block][block]
    void *guest_rows;     ///< [guests][block][blocks block] like the triangle, or a block column as
                          ///< [blocks block][block]
    void *guest_rows_lo;  ///< half plane lo
    void *guest_operands; ///< bf16
    void *chunks;         ///< half planes of a swapped L: [held][chunk block][blocks block]
    void *chunks_lo;
    void *scratch;  ///< [block][block]
    void *split[2]; ///< [held block, or side_rows][block] planes of a panel before its solve
    void *split_inverse[2][2]; ///< [even and odd panels][hi, lo], each [block][block]
    void *largest;             ///< [2] their largest magnitudes, from which their unit follows
    void *scale; ///< [blocks block] D in the type of C, padded with ones; all ones without a scale
    void *panel_scale; ///< [held block] D in the order of a panel's rows
    void *side_scale;  ///< half planes: [side_rows] powers of two that bring rows of B to at most 1
    void *breakdown;   ///< a bb_breakdown_cuda
    void *energies;    ///< [blocks (blocks + 1) / 2] doubles: sums of squares of the blocks of L
    void *sweep_lists; ///< [2][blocks][blocks] ints: blocks that update panel k of B, forward and
                       ///< backward, heavy ones before light ones
    void *workspaces[BB_PANEL_HANDLES]; ///< BB_PANEL_WORKSPACE_BYTES each; none for the first
    cudaEvent_t fill_begin, fill_end;   ///< begin and end of fills on `ahead`
    int *heavy_blocks; ///< [2][blocks] on the host: numbers of heavy blocks; NULL until selected
    bb_panel_traffic *traffic; ///< bytes of L copied by the part and its chunks
};

/// Stream of a step.
enum bb_panel_stream { BB_PANEL_BULK, BB_PANEL_AHEAD, BB_PANEL_CHAIN, BB_PANEL_FETCH };

/// Handle with a workspace, which may therefore split sums, on the stream `bulk`. The other handle
/// of `bulk` has none, because splitting depends on the number of rows and thus on the number of
/// parts.
enum { BB_PANEL_SPLIT_HANDLE = BB_PANEL_HANDLES - 1 };

cudaStream_t bb_panel_stream_of(const bb_panel_part *part, bb_panel_stream stream);

/// Creates streams, memory and maps of part `gpu` of `gpus` on a device, which becomes current.
BB_CHECKED bb_status bb_panel_part_create(bb_device *device, const bb_panel_plan *plan,
                                          bb_index gpus, bb_index gpu, bb_panel_part *out);
void bb_panel_part_release(bb_panel_part *part);

/// Uploads D; NULL means ones.
BB_CHECKED bb_status bb_panel_part_set_scale(bb_panel_part *part, const double *scale);

/// Range of positions [begin, end) in a panel.
struct bb_positions {
    bb_index begin, end;
};

/// Positions of the block rows below the diagonal of panel k.
bb_positions bb_panel_part_below(const bb_panel_part *part, bb_index k);

/// Fills the part's rows of panel k, and its diagonal block if owned, with D A D. On BULK.
BB_CHECKED bb_status bb_panel_part_fill(bb_panel_part *part, const bb_device_source *matrix,
                                        bb_index k);

/// C <- C - L(rows, panels) L(k, panels)^T for the panels [start, stop) and all rows below. On
/// BULK.
BB_CHECKED bb_status bb_panel_part_update(bb_panel_part *part, bb_index k, bb_index start,
                                          bb_index stop);

/// Performs the same update for a range of positions below the diagonal.
BB_CHECKED bb_status bb_panel_part_update_rows(bb_panel_part *part, bb_index k, bb_index start,
                                               bb_index stop, bb_positions rows);

/// Performs the same update for the diagonal block, which must be owned. On the given stream.
BB_CHECKED bb_status bb_panel_part_update_diagonal(bb_panel_part *part, bb_index k, bb_index start,
                                                   bb_index stop, bb_panel_stream stream);

/// Returns a copy of the part that reads a chunk of a swapped L, from block row `top` on, and
/// guests instead of the triangle. It refers to memory of the part.
bb_panel_part bb_panel_part_chunk(const bb_panel_part *part, bb_index slot, bb_index top);

/// Factors the diagonal block of panel k and inverts the factor. On CHAIN.
BB_CHECKED bb_status bb_panel_part_factor_diagonal(bb_panel_part *part, bb_index k);

/// Prepares the inverse of panel k for products, transposed for a backward sweep. On BULK.
BB_CHECKED bb_status bb_panel_part_ready_inverse(bb_panel_part *part, bb_index k, bool transposed);

/// L <- C L_kk^-T for the positions of panel k. On BULK.
BB_CHECKED bb_status bb_panel_part_solve(bb_panel_part *part, bb_index k, bb_positions rows);

/// Computes the bf16 operands of the positions of panel k from L, if the arithmetic has them. On
/// BULK.
BB_CHECKED bb_status bb_panel_part_narrow(bb_panel_part *part, bb_index k, bb_positions rows);

/// Half planes: computes `side_scale` from all of B; otherwise does nothing. On BULK.
BB_CHECKED bb_status bb_panel_part_scale_sides(bb_panel_part *part, bb_index side_count,
                                               const bb_device_source *const *sides);

/// Fills `side_panel` with the columns of panel k of B, times D. On BULK.
BB_CHECKED bb_status bb_panel_part_fill_sides(bb_panel_part *part, bb_index side_count,
                                              const bb_device_source *const *sides, bb_index k);

/// Updates `side_panel` by all panels before panel k, solves with the diagonal block, and stores
/// the result in panel k of `side`. On BULK.
BB_CHECKED bb_status bb_panel_part_sweep_forward(bb_panel_part *part, bb_index k);

/// Light sweeps: computes the energies of the block columns [start, stop) of the owned block rows
/// of L, zeros on the diagonal. On BULK.
BB_CHECKED bb_status bb_panel_part_find_energies(bb_panel_part *part, bb_index start,
                                                 bb_index stop);

/// Copies the energies of all columns into `out` [blocks (blocks + 1) / 2], row by row. Waits.
/// Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_part_energies(bb_panel_part *part, double *out);

/// Light sweeps: sets the blocks that use one product, `light` [blocks][blocks]. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_panel_part_set_light(bb_panel_part *part, const unsigned char *light);

/// Computes panel k of the result from the panels after it. On BULK.
BB_CHECKED bb_status bb_panel_part_sweep_backward(bb_panel_part *part, bb_index k);

/// Copies L from another part, or from a swapped L; does nothing if this part reads its own. Copies
/// the block columns [start, stop) of block row k.
BB_CHECKED bb_status bb_panel_part_fetch_row(bb_panel_part *part, const bb_panel_part *source,
                                             bb_index k, bb_index start, bb_index stop,
                                             bb_panel_stream stream);

/// Copies the inverse of diagonal block k.
BB_CHECKED bb_status bb_panel_part_fetch_inverse(bb_panel_part *part, const bb_panel_part *source,
                                                 bb_index k, bb_panel_stream stream);

/// Copies L_kk if rows of B are solved by substitution; otherwise does nothing.
BB_CHECKED bb_status bb_panel_part_fetch_diagonal(bb_panel_part *part, const bb_panel_part *source,
                                                  bb_index k, bb_panel_stream stream);

/// Copies the block rows below k owned by `source`, which may be the part itself, into the block
/// column that a backward sweep of panel k reads. On FETCH.
BB_CHECKED bb_status bb_panel_part_fetch_column(bb_panel_part *part, const bb_panel_part *source,
                                                bb_index k);

/// Copies block columns [start, stop) of a strip to a swapped L. On the stream `store`.
BB_CHECKED bb_status bb_panel_part_store(const bb_panel_part *part, bb_panel_part *kept,
                                         bb_index start, bb_index stop);

/// Copies block rows of a swapped L, up to block column `stop`, to a chunk, which starts with the
/// first of these block rows. On FETCH.
BB_CHECKED bb_status bb_panel_part_fetch_chunk(bb_panel_part *chunk, const bb_panel_part *kept,
                                               bb_positions rows, bb_index stop);

/// Kernels of panel_kernels_cuda.cu, fp32 unless stated otherwise.
BB_CHECKED bb_status bb_panel_part_scale(void *values, bb_panel_storage storage, bb_index rows,
                                         bb_index columns, bb_index stride, const void *row_scale,
                                         const void *column_scale, cudaStream_t stream);
BB_CHECKED bb_status bb_panel_part_pad_diagonal(void *block, bb_panel_storage storage,
                                                bb_index size, bb_index used, cudaStream_t stream);
/// planes <- values / bb_split_product_plane_unit(*largest); `largest` in device memory, or NULL
/// for 1; `lo` may be NULL.
BB_CHECKED bb_status bb_panel_part_split(const float *values, bb_index rows, bb_index columns,
                                         bb_index stride, bool transposed, const float *largest,
                                         __half *hi, __half *lo, bb_index plane_stride,
                                         cudaStream_t stream);
/// values <- planes.
BB_CHECKED bb_status bb_panel_part_join(const __half *hi, const __half *lo, bb_index rows,
                                        bb_index columns, bb_index plane_stride, float *values,
                                        bb_index stride, cudaStream_t stream);
/// Raises `largest` [rows] to the largest magnitudes of the rows.
BB_CHECKED bb_status bb_panel_part_row_largest(const float *values, bb_index rows, bb_index columns,
                                               bb_index stride, float *largest,
                                               cudaStream_t stream);

/// largest <- the power of two that scales it to (1/2, 1], or 1.
BB_CHECKED bb_status bb_panel_part_row_scale(float *largest, bb_index rows, cudaStream_t stream);

/// *largest <- the largest magnitude.
BB_CHECKED bb_status bb_panel_part_largest(const float *values, bb_index count, float *largest,
                                           cudaStream_t stream);
/// out [rows][columns] fp64 <- hi + 2^-11 lo (lo may be NULL), or the dense values, times
/// `column_scale` (in the type of C, or NULL) and divided by `row_scale` (fp32, or NULL).
BB_CHECKED bb_status bb_panel_part_widen(const void *values, const __half *lo,
                                         bb_panel_storage storage, bb_index rows, bb_index columns,
                                         bb_index stride, const void *column_scale,
                                         const float *row_scale, double *out, bb_index out_stride,
                                         cudaStream_t stream);

#endif
