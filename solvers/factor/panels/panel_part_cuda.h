// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what one GPU holds of a factorization by panels, and the steps it can take.
// solvers/factor/panels/panel_order_cuda.cu puts the steps in order.
//
// A GPU keeps every gpus-th block row of L (folded) and the diagonal blocks in them, works on these
// rows of every panel, and sweeps some rows of B. What products read of the other GPUs' L it copies
// to itself, as a guest of one of few slots: block rows while factoring and going forward, block
// columns going backward, inverses of diagonal blocks, and the blocks themselves where rows of B
// are substituted. Long copies run on a stream of their own, what the next step waits for on the
// chain. A part may share its GPU with another one.
//
// A GPU keeps the strip of the panels in work of a swapped L. Earlier columns come from the host:
// block rows of the panels in work as guests, the rows below in chunks.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_PART_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_PART_CUDA_H

#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/panels/split_product_cuda.h"
#include "solvers/factor/panels/square_factor_cuda.h"
#include "solvers/gpu/dense_library_cuda.h"

/// Planes of a matrix in halves: one map for boxes of 128 rows, one for boxes of 64.
struct bb_halves {
    bb_plane_cuda hi, lo; ///< boxes of 128 rows
    bb_plane_cuda hi_short, lo_short;
};

struct bb_panel_part {
    bb_panel_plan plan;
    bb_panel_arithmetic arithmetic;
    bb_triangle_layout layout;  ///< of its block rows, every layout.step-th
    bb_index first_side, sides; ///< rows of B here
    bb_index side_rows;         ///< and zeros beyond them, so that no call of cuBLAS has few
    bb_device *device;
    int ordinal;
    bb_index width;    ///< panels in work
    bb_index guests;   ///< slots of guest rows
    bool reads_guests; ///< block rows and columns of L are read from guests, even those held
    const bb_dense_library_cuda *library;
    cudaStream_t bulk;                        ///< the long products
    cudaStream_t ahead;                       ///< the long products of diagonal blocks
    cudaStream_t chain;                       ///< what the next panel waits for
    cudaStream_t fetch;                       ///< long copies from other GPUs, or from the host
    cudaStream_t store;                       ///< copies to the host
    cublasHandle_t handles[BB_PANEL_HANDLES]; ///< of the streams in this order, and a second of
                                              ///< `bulk` where `fetch` would be: see below
    void *triangle;    ///< halves hi, or dense values: [rows][columns] of the layout
    void *triangle_lo; ///< halves
    void *side;        ///< [side_rows][blocks block], halves hi, or dense values
    void *side_lo;     ///< halves
    void *sweep[2];    ///< block row or block column of a dense L in planes: as in guest_rows
    bb_halves triangle_planes, side_planes, panel_planes, inverse_planes[2];
    bb_halves sweep_row_planes, sweep_column_planes;
    bb_halves *guest_row_planes;                  ///< [guests] of [block][blocks block]
    bb_halves *guest_column_planes;               ///< [guests] of the same as [blocks block][block]
    bb_halves chunk_planes[BB_PANEL_CHUNKS_HELD]; ///< [chunk block][blocks block]
    void *operands;                               ///< bf16: [rows][columns] of the layout
    void *largest_of_blocks;                      ///< [held] their largest magnitudes in a panel
    void *panels;                                 ///< C [width][held block][block], fp32 or fp64
    void *tiles;             ///< the same in fp16, of blocks that are updated there
    void *diagonal_tiles[2]; ///< [block][block] fp16: diagonal blocks that follow
    void *side_panel;        ///< [side_rows][block]
    void *side_tile;         ///< the same in fp16
    void *diagonals;         ///< [held][block][block] diagonal blocks, then L_kk
    void *inverses;          ///< [held, or the last two][block][block]
    void *guest_diagonals;   ///< [2][block][block]
    void *guest_inverses;    ///< [2][block][block]
    void *guest_rows;        ///< [guests][block][blocks block] as the triangle; a block column
                             ///< as [blocks block][block] in its place
    void *guest_rows_lo;     ///< halves
    void *guest_operands;    ///< bf16
    void *chunks;            ///< halves of a swapped L: [held][chunk block][blocks block]
    void *chunks_lo;
    void *scratch;             ///< [block][block]
    void *split[2];            ///< [held block, or side_rows][block] planes of a panel to be solved
    void *split_inverse[2][2]; ///< [even and odd panels][hi, lo], each [block][block]
    void *largest;             ///< [2] their largest magnitudes, which say their unit
    void *scale;               ///< [blocks block] D in the type of C, padded; ones without a scale
    void *panel_scale;         ///< [held block] the same in the order of a panel's rows
    void *side_scale;  ///< halves: [side_rows] powers of two that bring rows of B to at most 1
    void *breakdown;   ///< bb_breakdown_cuda
    void *energies;    ///< [blocks (blocks + 1) / 2] doubles: sums of squares of L's blocks
    void *sweep_lists; ///< [2][blocks][blocks] ints: what panel k of B takes its updates
                       ///< from going forward and backward, heavy blocks before light ones
    void *workspaces[BB_PANEL_HANDLES]; ///< of BB_PANEL_WORKSPACE_BYTES each; none for the first
    cudaEvent_t fill_begin, fill_end;   ///< of fills on `ahead`
    int *heavy_blocks;         ///< [2][blocks] on the host: how many are heavy; NULL before
    bb_panel_traffic *traffic; ///< bytes of L that it copied; those of its chunks too
};

/// Which stream a step is queued on.
enum bb_panel_stream { BB_PANEL_BULK, BB_PANEL_AHEAD, BB_PANEL_CHAIN, BB_PANEL_FETCH };

/// The handle that has a workspace and so may split sums, on the stream `bulk`. The other handle of
/// `bulk` has none: what a call splits depends on its rows, and those on the number of parts.
enum { BB_PANEL_SPLIT_HANDLE = BB_PANEL_HANDLES - 1 };

cudaStream_t bb_panel_stream_of(const bb_panel_part *part, bb_panel_stream stream);

/// Streams, memory and maps of part `gpu` of `gpus` on a device, which becomes the current one.
BB_CHECKED bb_status bb_panel_part_create(bb_device *device, const bb_panel_plan *plan,
                                          bb_index gpus, bb_index gpu, bb_panel_part *out);
void bb_panel_part_release(bb_panel_part *part);

/// Uploads D; NULL for ones.
BB_CHECKED bb_status bb_panel_part_set_scale(bb_panel_part *part, const double *scale);

/// Positions [begin, end) in a panel.
struct bb_positions {
    bb_index begin, end;
};

/// Those of the block rows below the diagonal of panel k.
bb_positions bb_panel_part_below(const bb_panel_part *part, bb_index k);

/// The part's rows of panel k, and its diagonal block where that is held, <- D A D. On BULK.
BB_CHECKED bb_status bb_panel_part_fill(bb_panel_part *part, const bb_device_source *matrix,
                                        bb_index k);

/// C <- C - L(rows, panels) L(k, panels)^T for the panels [start, stop) and all rows below. On
/// BULK.
BB_CHECKED bb_status bb_panel_part_update(bb_panel_part *part, bb_index k, bb_index start,
                                          bb_index stop);

/// The same for the positions named, which are below.
BB_CHECKED bb_status bb_panel_part_update_rows(bb_panel_part *part, bb_index k, bb_index start,
                                               bb_index stop, bb_positions rows);

/// The same for the diagonal block, which is held. On the stream named.
BB_CHECKED bb_status bb_panel_part_update_diagonal(bb_panel_part *part, bb_index k, bb_index start,
                                                   bb_index stop, bb_panel_stream stream);

/// The part with a chunk of a swapped L in the place of the triangle: block rows from `top` on, and
/// guests. What it refers to is the part's.
bb_panel_part bb_panel_part_chunk(const bb_panel_part *part, bb_index slot, bb_index top);

/// Factors the diagonal block of panel k and inverts the factor. On CHAIN.
BB_CHECKED bb_status bb_panel_part_factor_diagonal(bb_panel_part *part, bb_index k);

/// Readies the inverse of panel k for products, transposed for a backward sweep. On BULK.
BB_CHECKED bb_status bb_panel_part_ready_inverse(bb_panel_part *part, bb_index k, bool transposed);

/// L <- C L_kk^-T for the positions of panel k. On BULK.
BB_CHECKED bb_status bb_panel_part_solve(bb_panel_part *part, bb_index k, bb_positions rows);

/// The bf16 operands of the positions of panel k from L, where the arithmetic has them. On BULK.
BB_CHECKED bb_status bb_panel_part_narrow(bb_panel_part *part, bb_index k, bb_positions rows);

/// Halves: finds `side_scale` from all of B; nothing else. On BULK.
BB_CHECKED bb_status bb_panel_part_scale_sides(bb_panel_part *part, bb_index side_count,
                                               const bb_device_source *const *sides);

/// Columns of panel k of B, times D, into `side_panel`. On BULK.
BB_CHECKED bb_status bb_panel_part_fill_sides(bb_panel_part *part, bb_index side_count,
                                              const bb_device_source *const *sides, bb_index k);

/// `side_panel` takes the updates of all panels before panel k, then the solve with its diagonal
/// block, and becomes panel k of `side`. On BULK.
BB_CHECKED bb_status bb_panel_part_sweep_forward(bb_panel_part *part, bb_index k);

/// Light sweeps: finds the energies of the block columns [start, stop) of the held block rows of L,
/// zeros on the diagonal. On BULK.
BB_CHECKED bb_status bb_panel_part_find_energies(bb_panel_part *part, bb_index start,
                                                 bb_index stop);

/// Those of all columns, into `out` [blocks (blocks + 1) / 2], row by row. Waits. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_panel_part_energies(bb_panel_part *part, double *out);

/// Light sweeps: which blocks take one product, `light` [blocks][blocks]. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_panel_part_set_light(bb_panel_part *part, const unsigned char *light);

/// Panel k of the result from the panels after it. On BULK.
BB_CHECKED bb_status bb_panel_part_sweep_backward(bb_panel_part *part, bb_index k);

/// Copies of another part's L, or of a swapped one; nothing where this part reads its own. Of block
/// row k the block columns [start, stop).
BB_CHECKED bb_status bb_panel_part_fetch_row(bb_panel_part *part, const bb_panel_part *source,
                                             bb_index k, bb_index start, bb_index stop,
                                             bb_panel_stream stream);

/// The inverse of diagonal block k.
BB_CHECKED bb_status bb_panel_part_fetch_inverse(bb_panel_part *part, const bb_panel_part *source,
                                                 bb_index k, bb_panel_stream stream);

/// L_kk, where rows of B are substituted; nothing where they are not.
BB_CHECKED bb_status bb_panel_part_fetch_diagonal(bb_panel_part *part, const bb_panel_part *source,
                                                  bb_index k, bb_panel_stream stream);

/// The block rows below k that `source` holds, which may be the part itself, into the block column
/// that a backward sweep of panel k reads. On FETCH.
BB_CHECKED bb_status bb_panel_part_fetch_column(bb_panel_part *part, const bb_panel_part *source,
                                                bb_index k);

/// Block columns [start, stop) of a strip to a swapped L. On the stream `store`.
BB_CHECKED bb_status bb_panel_part_store(const bb_panel_part *part, bb_panel_part *kept,
                                         bb_index start, bb_index stop);

/// Block rows of a swapped L, as far as block column `stop`, to a chunk that begins with the first
/// of them. On FETCH.
BB_CHECKED bb_status bb_panel_part_fetch_chunk(bb_panel_part *chunk, const bb_panel_part *kept,
                                               bb_positions rows, bb_index stop);

/// Kernels of panel_kernels_cuda.cu, fp32 unless said.
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
/// Rows' largest magnitudes, raised in place: `largest` [rows].
BB_CHECKED bb_status bb_panel_part_row_largest(const float *values, bb_index rows, bb_index columns,
                                               bb_index stride, float *largest,
                                               cudaStream_t stream);

/// largest <- the power of two that brings it to (1/2, 1], or 1.
BB_CHECKED bb_status bb_panel_part_row_scale(float *largest, bb_index rows, cudaStream_t stream);

/// *largest <- the largest magnitude.
BB_CHECKED bb_status bb_panel_part_largest(const float *values, bb_index count, float *largest,
                                           cudaStream_t stream);
/// out [rows][columns] fp64 <- hi + 2^-11 lo (lo may be NULL), or the dense values, times
/// `column_scale` (in the type of C, or NULL) and over `row_scale` (fp32, or NULL).
BB_CHECKED bb_status bb_panel_part_widen(const void *values, const __half *lo,
                                         bb_panel_storage storage, bb_index rows, bb_index columns,
                                         bb_index stride, const void *column_scale,
                                         const float *row_scale, double *out, bb_index out_stride,
                                         cudaStream_t stream);

#endif
