// SPDX-License-Identifier: Apache-2.0
//
// Mixed-precision Cholesky A = L L^T by panels on cuda devices, and R = B A^-1 with it.
//
// Left-looking by block columns (panels): panel k is filled by the source, takes the update of all
// panels before it as one long product, its diagonal block is factored and inverted, and the blocks
// below are multiplied by that inverse. So A is never stored whole, L is stored once, in the format
// of its arithmetic, in a folded triangle (solvers/factor/panels/triangle_layout.h), and a panel is
// read and written once. The rows of B ride along as further rows of every panel, which makes the
// forward sweep a part of the factorization (but for light sweeps, which choose their products by
// all of L); a backward sweep over the panels finishes R.
//
// Look-ahead: while the diagonal block of panel k is factored on a stream of its own, panel k + 1
// takes its updates by the panels before k.
//
// Several GPUs of a host share L by block rows, dealt in turn, so that each has its part of the
// work of every panel and no block of L is kept twice. For panel k each needs block row k, of which
// the one that holds it has made all but the last block long before, and the inverse of the
// diagonal block: n^2 / 2 values of L in all, copied from GPU to GPU under the long products. Rows
// of B are shared in parts; their backward sweep copies block columns as it goes.
//
// Where a GPU has no room for L, in planes of fp16, L lies in the host's memory (`swapped`). Panels
// are then worked on in groups of 16384 columns, whose own L stays on the GPU in a strip; block
// rows of what lies before come in chunks under the products that they are for, and are read by all
// panels of the group. So L is read about n / 49152 times, and for n^3 / 3 products there are n^3 /
// 98304 values on the bus: at 600 Tflop/s and 2 bytes, 37 GB/s. Rows of B are swept when L is
// complete. The order of the sums is that of an L on the GPU.
//
// The order of the sums is fixed by n and the block, so results repeat bit for bit, and are those
// of one GPU on any number of GPUs of one kind: where cuBLAS would split a sum by how many rows it
// is given, it has no workspace to do so, or is given one block row at a time.
//
// Arithmetic of the updates (the blocks below the diagonal; a diagonal block's own updates take
// fp32 accuracy unless it follows):
//   dp, sp     fp64, fp32 (cuBLAS)
//   tf32       fp32 storage, operands narrowed by cuBLAS, fp32 sums
//   bf16       fp32 storage and a bf16 plane of L, which products read; sums as hp1's (cuBLAS)
//   fp8        the same with values of e4m3 times a power of two a block, held in bf16: it has the
//              roundings of fp8, the rate and the memory of bf16
//   hp1        fp16 plane of L, fp32 sums promoted to memory every 16384 of the depth
//   hp2        fp16 plane of L, blocks in work in fp16: each panel before is one product with fp32
//              sums, and the block is rounded after it, as a tile is (cuBLAS)
//   hp3        the same with fp16 sums
//   x3         two fp16 planes, three products, sums promoted every 64: fp32 accuracy for values
//              near 1, so scale first; below 2^-14 it is absolute, 2^-35
// Blocks of hp1, hp2, hp3 and x3 mix in one factorization, one a block (bb_panel_plan.variants):
// all are planes of fp16, hp2's and hp3's with an empty second one. Panels are solved with the
// inverses of the diagonal blocks, those of half planes with three products; rows of B by
// substitution (cuBLAS's trsm), which is backward stable, but for hp1, hp2 and hp3. Where diagonal
// blocks or sweeps of hp2 and hp3 follow, their C is fp16 too.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_H

#include "core/device/device_source.h"
#include "core/outcome.h"
#include "solvers/factor/panels/panel_plan.h"
#include "solvers/factor/reconstructor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a cuda device that is present can: BB_OK, or BB_INVALID or BB_UNSUPPORTED with a
/// sentence. Takes nothing.
BB_CHECKED bb_status bb_panel_plan_check(const bb_panel_plan *plan);

typedef struct bb_panel_cholesky bb_panel_cholesky;

enum { BB_PANEL_GPUS = 8 };

/// Takes the memory of a plan on each of `gpus` cuda devices of one host, which share L by block
/// rows and the rows of B in parts; a swapped plan is one GPU's, and takes page-locked memory of
/// the host. A device may be named more than once: it then has several parts. Errors: BB_INVALID,
/// BB_UNSUPPORTED (an arithmetic that the GPU lacks, GPUs that cannot read each other's memory),
/// BB_MEMORY with the bytes needed and free, BB_DEVICE. Owner: the caller, who destroys it before
/// closing the devices.
BB_CHECKED bb_status bb_panel_cholesky_create(bb_index gpus, bb_device *const *devices,
                                              const bb_panel_plan *plan, bb_panel_cholesky **out);
void bb_panel_cholesky_destroy(bb_panel_cholesky **factor);

/// What one GPU's panels are filled from.
typedef struct bb_panel_sources {
    const bb_device_source *matrix; ///< n x n, symmetric
    bb_index side_count;
    const bb_device_source *const *sides; ///< [side_count] of n columns
} bb_panel_sources;

/// Seconds of the parts, by the device's clock.
typedef struct bb_panel_times {
    double fill_s;     ///< the sources' kernels
    double factor_s;   ///< all of the factorization and forward sweep but `fill_s`
    double backward_s; ///< the backward sweep
} bb_panel_times;

/// Factors D A D and sweeps B D forward: `sources` [gpus], `scale` [n] the diagonal of D on the
/// host, or NULL.
/// `sides` are the rows of B one below another, `plan.sides` rows in all. Every GPU has sources of
/// its own. A breakdown is an outcome (not_spd or non_finite with block and row). Waits for the
/// devices. Errors: BB_INVALID, BB_DEVICE, the sources'.
BB_CHECKED bb_status bb_panel_cholesky_factor(bb_panel_cholesky *factor,
                                              const bb_panel_sources *sources, const double *scale,
                                              bb_outcome *outcome, bb_panel_times *times);

/// The backward sweep: B D becomes B D (D A D)^-1. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_sweep(bb_panel_cholesky *factor, bb_panel_times *times);

/// Bytes of L that were copied since the last factorization began.
typedef struct bb_panel_traffic {
    double device_to_device_bytes;                     ///< between GPUs, or parts of one
    double host_to_device_bytes, device_to_host_bytes; ///< of a swapped L
} bb_panel_traffic;

/// Those of all GPUs.
bb_panel_traffic bb_panel_cholesky_traffic(const bb_panel_cholesky *factor);

/// All rows of what stands in the place of B, in fp64 and times D (so R of B A^-1 after the sweep):
/// `out` [plan.sides][n] in the memory of the first device. Waits. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_result(const bb_panel_cholesky *factor, double *out);

/// R of a matrix with a low-rank part: A = A0 + U C U^T as in solvers/factor/reconstructor.h. `r`
/// holds B A0^-1 in its first m rows and U^T A0^-1 in the `part->count` rows after them, [m +
/// count][n] in the memory of `device`; its first m rows become B A^-1. A core that is not positive
/// definite is an outcome. `seconds` is added to. Errors: BB_MEMORY, BB_DEVICE, BB_INVALID.
BB_CHECKED bb_status bb_panel_cholesky_low_rank_apply(bb_device *device, const bb_low_rank *part,
                                                      bb_index n, bb_index m, double *r,
                                                      bb_outcome *outcome, double *seconds);

/// L [n][n] in fp64 on the host, zeros above its diagonal: for tests and small matrices. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_lower(const bb_panel_cholesky *factor, double *out);

/// Columns [first, first + width) of the factor of A itself, D^-1 L, from row `first` on, zeros
/// above the diagonal, in fp64: `out` [n - first][width], `stride` values from row to row, in the
/// memory of the first device, in the order of its `queue`; may return before. After a
/// factorization that found no breakdown. Errors: BB_INVALID, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_columns(const bb_panel_cholesky *factor, bb_queue *queue,
                                               bb_index first, bb_index width, double *out,
                                               bb_index stride);

/// The diagonal of D^-1 L, `out` [n] on the host. Waits. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_pivots(const bb_panel_cholesky *factor, double *out);

#ifdef __cplusplus
}
#endif

#endif
