// SPDX-License-Identifier: Apache-2.0
//
// Mixed-precision Cholesky A = L L^T by panels on cuda devices, and R = B A^-1 with it.
//
// Left-looking by block columns (panels). The source fills panel k, and one long product applies
// the update by all earlier panels. Its diagonal block is factored and inverted, and the blocks
// below are multiplied by that inverse. A is therefore never stored whole. L is stored once, in the
// format of its arithmetic, in a folded triangle (solvers/factor/panels/triangle_layout.h), and a
// panel is read and written once. The rows of B are treated as further rows of every panel, so the
// forward sweep is part of the factorization (except for light sweeps, which need all of L to
// choose their products); a backward sweep over the panels completes R.
//
// Look-ahead: while the diagonal block of panel k is factored on a separate stream, panel k + 1 is
// updated by the panels before k.
//
// Several GPUs of a host share L by block rows, distributed cyclically, so that each does its part
// of every panel and no block of L is stored twice. For panel k each needs block row k and the
// inverse of the diagonal block. The owner of block row k has computed all but its last block long
// before. These copies between GPUs, n^2 / 2 values of L in total, run during the long products.
// Rows of B are split; their backward sweep copies block columns as it proceeds.
//
// If L in planes of fp16 does not fit on a GPU, it is kept in host memory (`swapped`). Panels are
// then processed in groups of 16384 columns, whose part of L stays on the GPU in a strip. Block
// rows of earlier columns are copied in chunks while products run, and all panels of the group read
// them. L is thus read about n / 49152 times, which gives n^3 / 98304 values on the bus for n^3 / 3
// products: 37 GB/s at 600 Tflop/s and 2 bytes. Rows of B are swept when L is complete. The order
// of the sums is that of an L on the GPU.
//
// The order of the sums depends on n and the block only. Results are therefore repeatable bit for
// bit, and equal for any number of GPUs of one kind. cuBLAS may choose to split a sum depending on
// the number of rows; to prevent this it gets no workspace, or one block row at a time.
//
// Arithmetic of the updates of blocks below the diagonal (updates of a diagonal block have fp32
// accuracy unless the plan says that it follows):
//   dp, sp     fp64, fp32 (cuBLAS)
//   tf32       fp32 storage, operands narrowed by cuBLAS, fp32 sums
//   bf16       fp32 storage and a bf16 plane of L for products; sums as for hp1 (cuBLAS)
//   fp8        as bf16, with values of e4m3 times a power of two per block, held in bf16: the
//              rounding of fp8, with the speed and the memory of bf16
//   hp1        fp16 plane of L, fp32 sums promoted to memory every 16384 of the depth
//   hp2        fp16 plane of L, current blocks in fp16: each earlier panel is one product with fp32
//              sums, and the block is rounded after it, like a tile (cuBLAS)
//   hp3        as hp2, with fp16 sums
//   x3         two fp16 planes, three products, sums promoted every 64: fp32 accuracy for values
//              near 1, so scale first; below 2^-14 the error is absolute, 2^-35
// Variants hp1, hp2, hp3 and x3 may be mixed in one factorization, per block
// (bb_panel_plan.variants): all use planes of fp16; the second plane of hp2 and hp3 is empty.
// Panels are solved with the inverses of the diagonal blocks, in half planes with three products.
// Rows of B are solved by substitution (trsm of cuBLAS), which is backward stable, except for hp1,
// hp2 and hp3. If diagonal blocks or sweeps of hp2 and hp3 follow, their C is fp16, too.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_CHOLESKY_H

#include "core/device/device_source.h"
#include "core/outcome.h"
#include "solvers/factor/panels/panel_plan.h"
#include "solvers/factor/reconstructor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Checks whether a cuda device can run this factorization. Returns BB_OK, or BB_INVALID or
/// BB_UNSUPPORTED with a message. Allocates nothing.
BB_CHECKED bb_status bb_panel_plan_check(const bb_panel_plan *plan);

typedef struct bb_panel_cholesky bb_panel_cholesky;

enum { BB_PANEL_GPUS = 8 };

/// Allocates the memory of a plan on each of `gpus` cuda devices of one host, which share L by
/// block rows and split the rows of B. A swapped plan uses a single GPU and pinned host memory. A
/// device may occur more than once and then owns several parts. Errors: BB_INVALID, BB_UNSUPPORTED
/// (an arithmetic that the GPU lacks, GPUs without peer access), BB_MEMORY with the bytes needed
/// and free, BB_DEVICE. Owner: the caller, who destroys it before closing the devices.
BB_CHECKED bb_status bb_panel_cholesky_create(bb_index gpus, bb_device *const *devices,
                                              const bb_panel_plan *plan, bb_panel_cholesky **out);
void bb_panel_cholesky_destroy(bb_panel_cholesky **factor);

/// Sources of the panels of one GPU.
typedef struct bb_panel_sources {
    const bb_device_source *matrix; ///< n x n, symmetric
    bb_index side_count;
    const bb_device_source *const *sides; ///< [side_count] with n columns each
} bb_panel_sources;

/// Times of the stages on the device clock [s].
typedef struct bb_panel_times {
    double fill_s;     ///< kernels of the sources
    double factor_s;   ///< factorization and forward sweep without `fill_s`
    double backward_s; ///< backward sweep
} bb_panel_times;

/// Factors D A D and performs the forward sweep of B D: `sources` has [gpus] entries; `scale` [n]
/// is the diagonal of D on the host, or NULL. The `sides` of the sources are stacked to the rows of
/// B, `plan.sides` rows in total. Every GPU has its own sources. A breakdown is an outcome (not_spd
/// or non_finite with block and row). Waits for the devices. Errors: BB_INVALID, BB_DEVICE, those
/// of the sources.
BB_CHECKED bb_status bb_panel_cholesky_factor(bb_panel_cholesky *factor,
                                              const bb_panel_sources *sources, const double *scale,
                                              bb_outcome *outcome, bb_panel_times *times);

/// Performs the backward sweep: B D becomes B D (D A D)^-1. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_sweep(bb_panel_cholesky *factor, bb_panel_times *times);

/// Bytes of L copied since the start of the last factorization.
typedef struct bb_panel_traffic {
    double device_to_device_bytes;                     ///< between GPUs, or parts on one GPU
    double host_to_device_bytes, device_to_host_bytes; ///< between host and GPU, for a swapped L
} bb_panel_traffic;

/// Returns the traffic of all GPUs.
bb_panel_traffic bb_panel_cholesky_traffic(const bb_panel_cholesky *factor);

/// Copies all rows of the current B, in fp64 and times D (after the sweep: R of B A^-1), to `out`
/// [plan.sides][n] in the memory of the first device. Waits. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_result(const bb_panel_cholesky *factor, double *out);

/// Applies a low-rank part A = A0 + U C U^T to R, as in solvers/factor/reconstructor.h. The first m
/// rows of `r` are B A0^-1 and the next `part->count` rows U^T A0^-1, [m + count][n] in the memory
/// of `device`; the first m rows become B A^-1. A core that is not positive definite is an outcome.
/// Adds to `seconds`. Errors: BB_MEMORY, BB_DEVICE, BB_INVALID.
BB_CHECKED bb_status bb_panel_cholesky_low_rank_apply(bb_device *device, const bb_low_rank *part,
                                                      bb_index n, bb_index m, double *r,
                                                      bb_outcome *outcome, double *seconds);

/// Copies L [n][n] to the host in fp64, with zeros above the diagonal; for tests and small
/// matrices. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_lower(const bb_panel_cholesky *factor, double *out);

/// Copies columns [first, first + width) of D^-1 L, the factor of A itself, from row `first` on, in
/// fp64 with zeros above the diagonal. `out` [n - first][width] with `stride` values between rows
/// is in the memory of the first device. Queued on `queue`; may return earlier. Requires a
/// factorization without breakdown. Errors: BB_INVALID, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_columns(const bb_panel_cholesky *factor, bb_queue *queue,
                                               bb_index first, bb_index width, double *out,
                                               bb_index stride);

/// Copies the diagonal of D^-1 L to `out` [n] on the host. Waits. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_panel_cholesky_pivots(const bb_panel_cholesky *factor, double *out);

#ifdef __cplusplus
}
#endif

#endif
