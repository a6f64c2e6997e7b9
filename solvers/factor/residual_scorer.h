// SPDX-License-Identifier: Apache-2.0
//
// Residual covariances (residual_covariance.h) of one estimate after another on a cuda device.
//
// One estimate, the base, is scored in fp64 throughout. With R0 of the base and G0 = R0 Cmm - Ctm,
// which stay on the device, any other R = R0 + D has
//     Cee = Cee0 + sym(2 (G0 + D Cmm / 2) D^T),    sym(P) = (P + P^T) / 2,
// exactly, and all that is new is D Cmm. It is taken in three products of half-precision planes
// (x3, panels/split_product_cuda.h), n^2 m of them at four times the rate of fp64; everything else
// stays fp64.
//
// Error. Rows of D and of Cmm are scaled by powers of two to a unit diagonal of Cmm; a plane pair
// keeps 22 bits, products of two small planes (2^-22) are left out, sums go to fp64 every 16,384
// of the depth. So, entry by entry, |E| <= e |D| |Cmm| for the error E of D Cmm, with e <= 2^-15 if
// no two of the 256 roundings in a sum cancel, and some 2^-21 as roundings go. Cmm being a
// covariance, |Cmm_jk| <= d_j d_k with d^2 its diagonal, hence
//     |dCee_ij| <= e s_i s_j,    s_i = sum_j |D_ij| d_j:
// the error is of the second order in the difference, as what the estimate loses is, and grows
// beyond it where D Cmm D^T cancels: on estimates of 100,368 measurements 1 to 15 % of what was
// lost went missing. Score alone what has to be right. BB_CUDA_PORTABLE=1, which has no planes,
// scores all estimates in fp64, as are those for which the device lacks the memory.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_SCORER_H
#define BB_SOLVERS_FACTOR_RESIDUAL_SCORER_H

#include "core/csr.h"
#include "solvers/factor/residual_covariance.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_residual_scorer bb_residual_scorer;

typedef enum bb_residual_role {
    BB_RESIDUAL_ALONE, ///< in fp64
    BB_RESIDUAL_BASE,  ///< in fp64, and kept for others with the same Ctm where there is room
    BB_RESIDUAL_OTHER, ///< by its difference from the base of the same Ctm, where there is one
} bb_residual_role;

enum { BB_RESIDUAL_BASES = 16 };

/// Opens a scorer for estimates over `cmm`, n x n, borrowed. A base is kept where, beside its 2 m n
/// + m^2 doubles, `spare_bytes` of the device's memory stay free for others, and so are 4 n^2 bytes
/// of planes of Cmm, which else is filled for each estimate again: the bits are the same. Errors:
/// BB_UNSUPPORTED (no cuda device), BB_MEMORY, BB_DEVICE. Owner: the caller, who destroys it before
/// closing the device. For the thread that starts loops.
BB_CHECKED bb_status bb_residual_scorer_create(bb_device *device, const bb_matrix_source *cmm,
                                               double spare_bytes, bb_residual_scorer **out);
void bb_residual_scorer_destroy(bb_residual_scorer **scorer);

/// Scores one estimate: writes `cee`. Results repeat bit for bit for the same role and the same
/// base. Errors: BB_INVALID (sizes), BB_MEMORY with the bytes needed and free, BB_DEVICE, the
/// sources'.
BB_CHECKED bb_status bb_residual_scorer_score(bb_residual_scorer *scorer,
                                              const bb_residual_task *task, bb_residual_role role);

/// Estimates that were scored by their difference so far.
bb_index bb_residual_scorer_differences(const bb_residual_scorer *scorer);

/// out [rows][rows] = A C A^T in fp64 for the `weights` A [rows][columns] and a symmetric C
/// [columns] [columns], all on the host. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_project(bb_residual_scorer *scorer, bb_index rows,
                                                bb_index columns, const double *weights,
                                                const double *symmetric, double *out);

/// R N R^T, `out` [m][m], for R `r` [m][n] and a symmetric sparse N (residual_noise.h), on the
/// host. Errors: BB_INVALID (sizes), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_noise(bb_residual_scorer *scorer, const bb_csr *noise,
                                              bb_index m, const double *r, double *out);

#ifdef __cplusplus
}
#endif

#endif
