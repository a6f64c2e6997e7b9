// SPDX-License-Identifier: Apache-2.0
//
// Rounding of the rows of a matrix R in the norm of a covariance A = L L^T, column by column from
// the last to the first. Every later column is rounded first, and its errors are compensated by the
// earlier ones. With E = Q - R, column k is rounded as
//
//     t_k = R_k - sum_{j > k} E_j L_jk / L_kk,      Q_k = round(t_k),
//
// so that E L = D with D_k = (Q_k - t_k) L_kk. The loss of an estimate R s of t is
//
//     tr(E A E^T) = sum over rows and columns of (Q_k - t_k)^2 L_kk^2 (1)
//
// compared with step^2 / 12 sum A_kk for rounding to nearest. This is Babai's nearest plane on the
// lattice of A, and the error feedback of GPTQ (Frantar et al. 2023; their equality: Chen et al.
// 2025, arXiv 2507.18553). A need not be the matrix from which R was computed: modes outside its
// range may be added, so that errors avoid them.
#ifndef BB_SOLVERS_FACTOR_ROUNDING_SWEEP_H
#define BB_SOLVERS_FACTOR_ROUNDING_SWEEP_H

#include "core/need.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bb_device;
struct bb_panel_cholesky;
struct bb_tile_matrix;

/// Rounding of values.
typedef struct bb_rounding_step {
    /// Stored value for `value` at a position of the matrix: pure and thread-safe.
    double (*round)(const void *context, bb_index row, bb_index column, double value);
    const void *context;
    /// Width of column blocks that share rounding parameters, starting at multiples of it; 0: none.
    bb_index block;
    /// Called for a block before the last of its columns is rounded, with t as far as it is known
    /// by then, values [count] from `column` on. Thread-safe for different rows.
    void (*enter)(const void *context, bb_index row, bb_index column, bb_index count,
                  const double *values);
    /// [n], positive: r is R times these column scales, and this product is rounded; NULL: 1.
    const double *scales;
} bb_rounding_step;

enum {
    BB_ROUNDING_BLOCK = 64,  ///< largest number of columns of a block
    BB_ROUNDING_PANEL = 128, ///< largest number of columns of a panel on a device, whole blocks
};

/// Rounds r [m][n] in place: R on entry, Q on return, both times the step's scales. `factor` is L
/// of A in fp64 (every tile dp, factored; n rows). Rows are independent, and sums have the order of
/// gemm in OpenBLAS: the bits do not depend on the threads. `excess` [m], or NULL, receives the
/// diagonal of E A E^T, equation (1); its sum is the trace. Operations: m n^2, in products of
/// tiles. Errors: BB_INVALID (a tile that is not fp64, a block too wide), BB_UNSUPPORTED (tiles
/// that are not all in memory), BB_MEMORY.
BB_CHECKED bb_status bb_rounding_sweep(const struct bb_tile_matrix *factor,
                                       const bb_rounding_step *step, bb_index m, double *r,
                                       double *excess);

/// Cost without a factor in tiles of `tile_size` and without r.
bb_need bb_rounding_sweep_need(bb_index n, bb_index m, bb_index tile_size);

/// Performs the sweep on a cuda device: `factor` is a factor of A by panels on the single GPU of
/// `device`, in any arithmetic; the sweep uses its L in fp64. Errors are stored and multiplied
/// there in fp64 (cuBLAS). Rows are rounded on the host by the same functions, one panel of columns
/// at a time, while the GPU multiplies the feedback of later panels to the next one. Panels are
/// narrow, because feedback within a panel is computed on the host, m n BB_ROUNDING_PANEL.
/// Repeatable bit for bit on one GPU. Sums differ from those on the cpu within the rounding of
/// fp64, so a value next to a tie may round the other way. Errors: from bb_rounding_sweep,
/// BB_DEVICE.
BB_CHECKED bb_status bb_rounding_sweep_panels(struct bb_device *device,
                                              const struct bb_panel_cholesky *factor, bb_index n,
                                              const bb_rounding_step *step, bb_index m, double *r,
                                              double *excess);

/// Cost of the sweep on a device, without the factor by panels and r; seconds with this number of
/// threads.
bb_need bb_rounding_sweep_panels_need(bb_index n, bb_index m, double threads);

#ifdef __cplusplus
}
#endif

#endif
