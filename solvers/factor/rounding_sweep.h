// SPDX-License-Identifier: Apache-2.0
//
// Rounds the rows of a matrix R in the norm of a covariance A = L L^T, column by column from the
// last to the first, so that every later column makes up for the errors of those before it. With
// E = Q - R, what rounding column k sees is
//
//     t_k = R_k - sum_{j > k} E_j L_jk / L_kk,      Q_k = round(t_k),
//
// so that E L = D with D_k = (Q_k - t_k) L_kk, and what an estimate R s of t pays for it
//
//     tr(E A E^T) = sum over rows and columns of (Q_k - t_k)^2 L_kk^2 (1)
//
// where rounding to nearest pays step^2 / 12 sum A_kk. It is Babai's nearest plane on the lattice
// of A, and the error feedback of GPTQ (Frantar et al. 2023; their equality: Chen et al. 2025,
// arXiv 2507.18553). A need not be the matrix of which R was made: modes that it does not know may
// be added to it, so that errors do not go where they would meet them.
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

/// How values are rounded.
typedef struct bb_rounding_step {
    /// What is stored for `value` in a place of the matrix: pure, safe from several threads.
    double (*round)(const void *context, bb_index row, bb_index column, double value);
    const void *context;
    /// Columns that share what values are rounded with, from multiples of it on; 0: none do.
    bb_index block;
    /// Told of a block before the last of its columns is rounded: t as far as it is known by then,
    /// values [count] from `column` on. Safe for different rows at once.
    void (*enter)(const void *context, bb_index row, bb_index column, bb_index count,
                  const double *values);
    /// [n], positive: r holds R times these, column by column, and that is rounded; NULL: 1.
    const double *scales;
} bb_rounding_step;

enum {
    BB_ROUNDING_BLOCK = 64,  ///< most columns of a block
    BB_ROUNDING_PANEL = 128, ///< most columns of a panel on a device, whole blocks
};

/// Rounds r [m][n] in place: R on entry, Q on return, each times the step's scales. `factor` is L
/// of A in fp64 (every tile dp, factored; n rows). Rows are independent, and sums in the order of
/// OpenBLAS's gemm: the bits do not depend on the threads. `excess` [m] takes what each row pays,
/// E A E^T of its own, by (1): the trace is their sum (NULL: not wanted). Operations: m n^2, in
/// products of tiles. Errors: BB_INVALID (a tile that is not fp64, a block too wide),
/// BB_UNSUPPORTED (tiles that are not all in memory), BB_MEMORY.
BB_CHECKED bb_status bb_rounding_sweep(const struct bb_tile_matrix *factor,
                                       const bb_rounding_step *step, bb_index m, double *r,
                                       double *excess);

/// What it takes beside a factor in tiles of `tile_size` and r.
bb_need bb_rounding_sweep_need(bb_index n, bb_index m, bb_index tile_size);

/// The same on a cuda device: `factor` is that of A by panels on the one GPU of `device`, in any
/// arithmetic, and what is rounded in is its L in fp64. Errors are kept and multiplied there in
/// fp64 (cuBLAS); rows are rounded on the host by the same functions, a panel of columns at a time,
/// while the GPU multiplies what the panels behind feed to the next. Panels are narrow, since what
/// the columns of one feed each other is the host's work, m n BB_ROUNDING_PANEL. Repeats bit for
/// bit on one GPU; sums differ from the cpu's within the rounding of fp64, so that a value next to
/// a tie may round the other way. Errors: those of bb_rounding_sweep, BB_DEVICE.
BB_CHECKED bb_status bb_rounding_sweep_panels(struct bb_device *device,
                                              const struct bb_panel_cholesky *factor, bb_index n,
                                              const bb_rounding_step *step, bb_index m, double *r,
                                              double *excess);

/// What that takes beside the factor by panels and r; seconds with so many threads.
bb_need bb_rounding_sweep_panels_need(bb_index n, bb_index m, double threads);

#ifdef __cplusplus
}
#endif

#endif
