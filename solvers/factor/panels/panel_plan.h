// SPDX-License-Identifier: Apache-2.0
//
// Plan of a factorization by panels on a cuda device, and its device memory. It makes no CUDA
// calls, so that every build plans alike (solvers/factor/panels/panel_cholesky.h has the
// factorization).
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_PLAN_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_PLAN_H

#include "core/need.h"
#include "precision/policy.h"
#include "solvers/factor/panels/triangle_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Problem and method of a factorization.
typedef struct bb_panel_plan {
    bb_index n;     ///< rows of A
    bb_index block; ///< columns of a panel, a multiple of 128
    bb_index sides; ///< rows of B, 0 for a factor alone
    bb_variant arithmetic;
    bool diagonal_follows;   ///< hp1, hp2, hp3: updates of diagonal blocks use the variant, too
    bb_policy_sweeps sweeps; ///< hp1, hp2, hp3: sweeps whose products follow the variant; the
                             ///< others use three products
    double sweep_energy;     ///< threshold of light sweeps: bb_light_tiles
    /// hp1, hp2, hp3, x3: [blocks][blocks] variant of each block below the diagonal, overriding
    /// `arithmetic`, or NULL; borrowed, read while factoring.
    const unsigned char *variants;
    unsigned given;     ///< without `variants`: bit set of those that blocks may have, for an upper
                        ///< bound of the need; 0: `arithmetic` only
    bool unit_diagonal; ///< A has a unit diagonal, up to a dither: tf32, bf16 and fp8 sweep in half
                        ///< planes
    /// Sums are cut at multiples of this depth, itself a multiple of 64; 0 for BB_PANEL_RUN.
    bb_index run;
    bool swapped; ///< hp1, hp2, hp3, x3 on one GPU: L is kept in host memory
} bb_panel_plan;

/// Cost of a plan per GPU of `gpus`, which share L and the rows of B. Device bytes are the memory
/// of the largest part, all allocated at creation; host bytes are the memory of a swapped L.
/// Sources are not included. Seconds are those of one GPU, including copies of the results to the
/// host and pinning of a swapped L. Zero for an invalid plan.
bb_need bb_panel_plan_need(const bb_panel_plan *plan, bb_index gpus);

/// Swaps L if a GPU would need more than `limit` bytes with it and needs less without it; 0: no
/// limit.
void bb_panel_plan_place(bb_panel_plan *plan, bb_index gpus, double limit);

/// Checks whether a host with `host_bytes` of memory can hold a swapped L, which is pinned and
/// cannot be paged out. Errors: BB_MEMORY with both numbers.
BB_CHECKED bb_status bb_panel_plan_check_host(const bb_panel_plan *plan, double host_bytes);

/// Returns the bytes of L on all GPUs: the triangle in its planes and the diagonal blocks. The bf16
/// plane of operands is not counted because it is a copy, nor is the second plane of a block
/// rounded to fp16 (hp2, hp3), which is empty.
double bb_panel_plan_factor_bytes(const bb_panel_plan *plan);

/// Storage of L.
typedef enum bb_panel_storage { BB_PANEL_HALVES, BB_PANEL_FP32, BB_PANEL_FP64 } bb_panel_storage;

/// Arithmetic of a dense product.
typedef enum bb_panel_compute {
    BB_PANEL_COMPUTE_FP32,
    BB_PANEL_COMPUTE_TF32, ///< operands narrowed by the library, fp32 sums
    BB_PANEL_COMPUTE_FP16, ///< fp16 sums
    BB_PANEL_COMPUTE_FP64,
} bb_panel_compute;

/// Storage and products of a factorization's arithmetic.
typedef struct bb_panel_arithmetic {
    bb_panel_storage storage;
    bool low_plane;      ///< half planes: the second plane is stored
    bool low_rows;       ///< half planes: products read it in rows of other GPUs, or of B
    bool low_chunks;     ///< half planes: products read it in rows of a swapped L
    bool keeps_inverses; ///< stores inverses of all diagonal blocks for sweeps, not only of the
                         ///< last two
    bool half_tiles;     ///< half planes: some current blocks below the diagonal are fp16, rounded
                         ///< after every panel's update
    bool half_diagonal;  ///< half planes: diagonal blocks are fp16 and rounded likewise
    bool half_sides;     ///< half planes: rows of B are fp16 and rounded likewise
    bool operand_plane;  ///< dense: products below the diagonal read a bf16 plane of L
    bool tile_scale;     ///< dense: values of that plane are rounded to e4m3, scaled per block
    bool split_sides; ///< dense: rows of B are stored in half planes, and blocks of L are split for
                      ///< sweeps
    int products;     ///< half planes: number of products of the arithmetic
    int diagonal_products; ///< half planes: number of products for diagonal blocks
    bool light_sweeps;     ///< half planes: one product with light blocks
    int forward_products; ///< half planes: numbers of products for sweeps, except with light blocks
    int backward_products;
    bb_panel_compute compute;  ///< type of the arithmetic, for blocks updated by cuBLAS
    bb_panel_compute diagonal; ///< dense: type of all other products
} bb_panel_arithmetic;

/// Derives storage and products from a plan. Errors: BB_INVALID (sizes, unknown variant, a block's
/// variant without planes of fp16).
BB_CHECKED bb_status bb_panel_arithmetic_of(const bb_panel_plan *plan, bb_panel_arithmetic *out);

/// Arrays of one GPU; bb_panel_part in solvers/factor/panels/panel_part_cuda.h has their shapes.
typedef enum bb_panel_array {
    BB_PANEL_TRIANGLE,
    BB_PANEL_TRIANGLE_LO,
    BB_PANEL_OPERANDS,
    BB_PANEL_LARGEST_OF_BLOCKS,
    BB_PANEL_SIDE,
    BB_PANEL_SIDE_LO,
    BB_PANEL_PANELS, ///< current panels
    BB_PANEL_TILES,  ///< current blocks in fp16
    BB_PANEL_DIAGONAL_TILE,
    BB_PANEL_DIAGONAL_TILE_NEXT,
    BB_PANEL_SWEEP, ///< split blocks of L
    BB_PANEL_SWEEP_LO,
    BB_PANEL_SIDE_PANEL,
    BB_PANEL_SIDE_TILE,
    BB_PANEL_DIAGONALS,
    BB_PANEL_INVERSES,
    BB_PANEL_GUEST_DIAGONALS, ///< this and all GUEST arrays: copies from other GPUs, or of a
                              ///< swapped L
    BB_PANEL_GUEST_INVERSES,
    BB_PANEL_GUEST_ROWS,
    BB_PANEL_GUEST_ROWS_LO,
    BB_PANEL_GUEST_OPERANDS,
    BB_PANEL_CHUNKS, ///< copies of a swapped L
    BB_PANEL_CHUNKS_LO,
    BB_PANEL_SCRATCH,
    BB_PANEL_SPLIT,
    BB_PANEL_SPLIT_LO,
    BB_PANEL_EVEN_INVERSE,
    BB_PANEL_EVEN_INVERSE_LO,
    BB_PANEL_ODD_INVERSE,
    BB_PANEL_ODD_INVERSE_LO,
    BB_PANEL_LARGEST,
    BB_PANEL_SCALE,
    BB_PANEL_PANEL_SCALE,
    BB_PANEL_SIDE_SCALE,
    BB_PANEL_BREAKDOWN,
    BB_PANEL_ENERGIES,
    BB_PANEL_SWEEP_LISTS,
    BB_PANEL_WORKSPACE_AHEAD, ///< cuBLAS workspaces, one per handle that has one
    BB_PANEL_WORKSPACE_CHAIN,
    BB_PANEL_WORKSPACE_SPLIT,
    BB_PANEL_ARRAYS,
} bb_panel_array;

enum {
    BB_PANEL_BREAKDOWN_BYTES = 8, ///< size of bb_breakdown_cuda
    BB_PANEL_HANDLES = 4,         ///< cuBLAS handles
    BB_PANEL_WORKSPACE_BYTES = 32 << 20,
    /// Longest sum of one product, because tensor cores truncate while they accumulate.
    BB_PANEL_RUN = 16384,
    BB_PANEL_CHUNKS_HELD = 2,   ///< chunks of a swapped L on the GPU at the same time
    BB_PANEL_LEAST_SIDES = 128, ///< least rows of B on a GPU, padded with zeros: cuBLAS would
                                ///< choose other kernels for fewer
};

/// Returns the first row of B swept by `gpu`; its range ends at the first row of the next GPU.
bb_index bb_panel_plan_side(const bb_panel_plan *plan, bb_index gpus, bb_index gpu);

/// Depth of a run.
bb_index bb_panel_plan_run(const bb_panel_plan *plan);

/// Number of current panels. A swapped L has as many as a run has panels, so that all of them use
/// each block read from the host; otherwise there are two, the current and the next panel.
bb_index bb_panel_plan_width(const bb_panel_plan *plan);

/// Number of block rows or columns of other GPUs, or of a swapped L, that a GPU stores at the same
/// time.
bb_index bb_panel_plan_guests(const bb_panel_plan *plan);

/// Block rows of a chunk of a swapped L: a quarter of a run.
bb_index bb_panel_plan_chunk(const bb_panel_plan *plan);

/// Layout of part `gpu` of `gpus`: its block rows of L, or with a swapped L the strip of the
/// current panels.
bb_triangle_layout bb_panel_plan_layout(const bb_panel_plan *plan, bb_index gpus, bb_index gpu);

/// Bytes of one plane of L in host memory; 0 if L is not swapped.
double bb_panel_plan_swap_bytes(const bb_panel_plan *plan);

/// Bytes of each array of a GPU with the block rows of `layout` and `sides` rows of B; 0 if not
/// needed. Memory is allocated and summed by this list.
void bb_panel_array_bytes(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                          bb_triangle_layout layout, bb_index sides, size_t out[BB_PANEL_ARRAYS]);

#ifdef __cplusplus
}
#endif

#endif
