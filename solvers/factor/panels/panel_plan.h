// SPDX-License-Identifier: Apache-2.0
//
// Plan of a factorization by panels on a cuda device, and its device memory; without CUDA calls, so
// that every build plans alike
// (solvers/factor/panels/panel_cholesky.h has the factorization).
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_PLAN_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_PLAN_H

#include "core/need.h"
#include "precision/policy.h"
#include "solvers/factor/panels/triangle_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is to be factored, and how.
typedef struct bb_panel_plan {
    bb_index n;     ///< rows of A
    bb_index block; ///< columns of a panel, a multiple of 128
    bb_index sides; ///< rows of B, 0 for a factor alone
    bb_variant arithmetic;
    bool diagonal_follows;         ///< hp1, hp2, hp3: the updates of diagonal blocks too
    bb_policy_sweeps sweeps;       ///< hp1, hp2, hp3: whose products follow; the others take three
    double sweep_energy;           ///< of light sweeps: bb_light_tiles
    const unsigned char *variants; ///< hp1, hp2, hp3, x3: [blocks][blocks] or NULL: the one of them
                                   ///< that each block below the diagonal takes, whatever the
                                   ///< arithmetic; borrowed, read while factoring
    unsigned given; ///< without variants: bits of those that blocks may have, for a need that no
                    ///< map exceeds; 0: the arithmetic alone
    bool unit_diagonal; ///< A has one, up to a dither: tf32, bf16 and fp8 sweep in half planes
    bb_index run;       ///< of the depth: sums are cut at its multiples; a multiple of 64, or 0 for
                        ///< BB_PANEL_RUN
    bool swapped;       ///< hp1, hp2, hp3, x3 on one GPU: L lies in the host's memory
} bb_panel_plan;

/// What a plan takes on each of `gpus`, which share L and the rows of B: the most of one of them,
/// all of it on creation, and of a swapped one L in the host's memory. The sources' is not in it.
/// Seconds are those of one GPU, with the results on their way to the host, and with the
/// page-locking of a swapped L. Nothing for a plan that is not possible.
bb_need bb_panel_plan_need(const bb_panel_plan *plan, bb_index gpus);

/// Swaps L where a GPU would take more than `limit` bytes with it and takes less without it; 0: no
/// limit.
void bb_panel_plan_place(bb_panel_plan *plan, bb_index gpus, double limit);

/// Whether the host, of so much memory, can hold a swapped L: page-locked memory is not swapped
/// out. Errors: BB_MEMORY with both.
BB_CHECKED bb_status bb_panel_plan_check_host(const bb_panel_plan *plan, double host_bytes);

/// Bytes that hold L, of all GPUs together: the triangle in its planes and the diagonal blocks. The
/// bf16 plane of operands is a copy and not counted, nor the second plane of a block rounded to
/// fp16 (hp2, hp3), which is empty.
double bb_panel_plan_factor_bytes(const bb_panel_plan *plan);

/// How L is kept.
typedef enum bb_panel_storage { BB_PANEL_HALVES, BB_PANEL_FP32, BB_PANEL_FP64 } bb_panel_storage;

/// What a dense product computes in.
typedef enum bb_panel_compute {
    BB_PANEL_COMPUTE_FP32,
    BB_PANEL_COMPUTE_TF32, ///< operands narrowed by the library, fp32 sums
    BB_PANEL_COMPUTE_FP16, ///< fp16 sums
    BB_PANEL_COMPUTE_FP64,
} bb_panel_compute;

/// What an arithmetic means here.
typedef struct bb_panel_arithmetic {
    bb_panel_storage storage;
    bool low_plane;        ///< halves: the second plane is kept
    bool low_rows;         ///< halves: and read by products of rows of other GPUs, or of B
    bool low_chunks;       ///< halves: and by products of rows of a swapped L
    bool keeps_inverses;   ///< those of all diagonal blocks, for sweeps; else of the last two
    bool half_tiles;       ///< halves: some blocks below the diagonal are fp16 in work, rounded
                           ///< after every panel's update
    bool half_diagonal;    ///< halves: so are the diagonal blocks
    bool half_sides;       ///< halves: so are the rows of B
    bool operand_plane;    ///< dense: products below the diagonal read a bf16 plane of L
    bool tile_scale;       ///< dense: that plane's values are those of e4m3, scaled by blocks
    bool split_sides;      ///< dense: rows of B are in half planes, and blocks of L that sweeps
                           ///< read are split into such
    int products;          ///< halves: of the arithmetic
    int diagonal_products; ///< halves: of the diagonal blocks
    bool light_sweeps;     ///< halves: one product with light blocks
    int forward_products;  ///< halves: of the sweeps, and with blocks that are not light
    int backward_products;
    bb_panel_compute compute;  ///< of the arithmetic, where cuBLAS updates blocks
    bb_panel_compute diagonal; ///< dense: of everything else
} bb_panel_arithmetic;

/// Errors: BB_INVALID (sizes, no variant, a block's variant that is not in planes of fp16).
BB_CHECKED bb_status bb_panel_arithmetic_of(const bb_panel_plan *plan, bb_panel_arithmetic *out);

/// The arrays that one GPU holds; bb_panel_part of solvers/factor/panels/panel_part_cuda.h has
/// their shapes.
typedef enum bb_panel_array {
    BB_PANEL_TRIANGLE,
    BB_PANEL_TRIANGLE_LO,
    BB_PANEL_OPERANDS,
    BB_PANEL_LARGEST_OF_BLOCKS,
    BB_PANEL_SIDE,
    BB_PANEL_SIDE_LO,
    BB_PANEL_PANELS, ///< in work
    BB_PANEL_TILES,  ///< of them in fp16
    BB_PANEL_DIAGONAL_TILE,
    BB_PANEL_DIAGONAL_TILE_NEXT,
    BB_PANEL_SWEEP, ///< split blocks of L
    BB_PANEL_SWEEP_LO,
    BB_PANEL_SIDE_PANEL,
    BB_PANEL_SIDE_TILE,
    BB_PANEL_DIAGONALS,
    BB_PANEL_INVERSES,
    BB_PANEL_GUEST_DIAGONALS, ///< of other GPUs, and all else that is copied from them, or of L
                              ///< that is swapped
    BB_PANEL_GUEST_INVERSES,
    BB_PANEL_GUEST_ROWS,
    BB_PANEL_GUEST_ROWS_LO,
    BB_PANEL_GUEST_OPERANDS,
    BB_PANEL_CHUNKS, ///< of a swapped L
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
    BB_PANEL_WORKSPACE_AHEAD, ///< of the library, one a handle that has one
    BB_PANEL_WORKSPACE_CHAIN,
    BB_PANEL_WORKSPACE_SPLIT,
    BB_PANEL_ARRAYS,
} bb_panel_array;

enum {
    BB_PANEL_BREAKDOWN_BYTES = 8, ///< of bb_breakdown_cuda
    BB_PANEL_HANDLES = 4,         ///< of the library
    BB_PANEL_WORKSPACE_BYTES = 32 << 20,
    BB_PANEL_RUN = 16384,       ///< a tensor core truncates while it sums: no longer in one product
    BB_PANEL_CHUNKS_HELD = 2,   ///< of a swapped L, on the GPU at a time
    BB_PANEL_LEAST_SIDES = 128, ///< rows of B that a GPU works on, zeros beyond its own: fewer
                                ///< would take other kernels of the library
};

/// The first of the rows of B that `gpu` sweeps; those of the next one end them.
bb_index bb_panel_plan_side(const bb_panel_plan *plan, bb_index gpus, bb_index gpu);

/// The depth of a run.
bb_index bb_panel_plan_run(const bb_panel_plan *plan);

/// Panels that are worked on at a time: of a swapped L as many as a run has, so that what comes
/// from the host is read for all of them, else one and the next.
bb_index bb_panel_plan_width(const bb_panel_plan *plan);

/// Block rows of other GPUs, of a swapped L, or block columns, that a GPU holds copies of at a
/// time.
bb_index bb_panel_plan_guests(const bb_panel_plan *plan);

/// Block rows of a chunk of a swapped L: a quarter of a run.
bb_index bb_panel_plan_chunk(const bb_panel_plan *plan);

/// What part `gpu` of `gpus` holds of L: its block rows, or of a swapped L the strip of the panels
/// in work.
bb_triangle_layout bb_panel_plan_layout(const bb_panel_plan *plan, bb_index gpus, bb_index gpu);

/// Bytes of one plane of L in the host's memory; 0 where it is not swapped.
double bb_panel_plan_swap_bytes(const bb_panel_plan *plan);

/// Bytes of each array of a GPU that holds the block rows of `layout` and sweeps `sides` rows of B;
/// 0 for one that is not needed. Memory is taken and summed by this list.
void bb_panel_array_bytes(const bb_panel_plan *plan, const bb_panel_arithmetic *arithmetic,
                          bb_triangle_layout layout, bb_index sides, size_t out[BB_PANEL_ARRAYS]);

#ifdef __cplusplus
}
#endif

#endif
