// SPDX-License-Identifier: Apache-2.0
//
// Residuals of estimates (residual_covariance.h) on cuda devices, and the products that scores take
// beside them. All in fp64: of Cmm the half, sym(R Cmm R^T) being that of R (rows on and below the
// diagonal blocks, those below twice) R^T; sums in the order of cuBLAS, which repeat bit for bit.
//
// Several GPUs of a host share the products with Cmm and Ctm by panels of columns, which each fills
// for itself; R is on all of them. A sum over panels is made of eight partial sums, dealt in turn,
// which are added in their order on the first GPU: the results are those of one GPU bit for bit on
// any number of GPUs of one kind. With three GPUs one makes two of eight where the others make
// three; 2, 4 and 8 share alike. The products beside them are made on the first.
//
// A tempting way is not there: with a reference's R0 kept, R Cmm R^T needs only D Cmm D^T of the
// difference D beside two products by R0 Cmm, and D Cmm D^T could be taken in half-precision
// planes. It cannot be right: D Cmm D^T cancels, what planes keep is 22 bits of |D||Cmm||D|^T, and
// at 100,368 measurements 1 to 15 % of what an arithmetic loses went missing.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_SCORER_H
#define BB_SOLVERS_FACTOR_RESIDUAL_SCORER_H

#include "core/csr.h"
#include "core/device/device_source.h"
#include "core/row_product.h"
#include "solvers/factor/reconstructor.h"
#include "solvers/factor/residual_covariance.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_residual_scorer bb_residual_scorer;

/// Opens a scorer on `gpus` cuda devices of one host, 1 to BB_RESIDUAL_GPUS, for estimates over
/// `cmm`, n x n, borrowed. A device may be named more than once: it then has several parts. The GPU
/// of the first is the current one after this and after the calls below. Errors: BB_INVALID,
/// BB_UNSUPPORTED (no cuda device, GPUs that cannot read each other's memory), BB_MEMORY,
/// BB_DEVICE. Owner: the caller, who destroys it before closing the devices. For the thread that
/// starts loops.
BB_CHECKED bb_status bb_residual_scorer_create(bb_index gpus, bb_device *const *devices,
                                               const bb_matrix_source *cmm,
                                               bb_residual_scorer **out);
void bb_residual_scorer_destroy(bb_residual_scorer **scorer);

/// Adds U C U^T to Cmm for scores alone; `part` is copied, with finite variances. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_add_part(bb_residual_scorer *scorer,
                                                 const bb_low_rank *part);

/// Lets panels of Cmm stay on their GPUs from their first use to the last, in two thirds of the
/// memory that is free now beyond `reserve_bytes` of each: what others are going to need there. To
/// the same bits. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_cache_panels(bb_residual_scorer *scorer,
                                                     double reserve_bytes);

/// The twin of `matrix` on the first GPU. With a scorer on one GPU that keeps panels it is filled
/// from those of Cmm, and of others with as many columns: of `matrix` from now on with `keep`,
/// which it then must outlive. Not while the scorer is at work. The same bits as
/// bb_device_source_create. `scorer` may be NULL, else it must outlive the twin. Errors: those of
/// bb_device_source_create.
BB_CHECKED bb_status bb_residual_scorer_twin(bb_residual_scorer *scorer,
                                             const bb_matrix_source *matrix, bool keep,
                                             bb_device *device, bb_device_source **out);

/// Scores estimates, those that follow one another with the same r by one R Cmm R^T. Errors:
/// BB_INVALID (sizes), BB_MEMORY with the bytes needed and free, BB_DEVICE, the sources'.
BB_CHECKED bb_status bb_residual_scorer_score(bb_residual_scorer *scorer, bb_index count,
                                              const bb_residual_task *tasks);

/// out [rows][rows] = A C A^T for the `weights` A [rows][columns] and a symmetric C [columns]
/// [columns], all on the host. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_congruence(bb_residual_scorer *scorer, bb_index rows,
                                                   bb_index columns, const double *weights,
                                                   const double *symmetric, double *out);

/// `rows` rows of a product of arrays on the host (core/row_product.h), with all of B on the first
/// GPU: `resident` where it is there, else NULL. Errors: likewise.
BB_CHECKED bb_status bb_residual_scorer_multiply(bb_residual_scorer *scorer, bb_index rows,
                                                 const bb_row_product *product,
                                                 const void *resident);

/// A residual on `count` points, those with light of a grid of [edge][edge], row by row:
///   D_ij / 2 = (S_ii + S_jj) / 2 - S_ij + s_ij,  S_ij = (F_i z_j + z_i F_j) / 2,
///   z = F W - 2 G M^T.
/// Everything is borrowed.
typedef struct bb_residual_pairs {
    bb_index edge, count, actuators, wavelength_count;
    const int32_t *place;     ///< [edge][edge] point, -1: no light
    const int32_t *first;     ///< [edge + 1] point that each row begins with
    const int32_t *column;    ///< [count]
    const double *light;      ///< P [count]
    const double *influence;  ///< F [count][actuators]
    const double *known;      ///< W [actuators][actuators]
    const double *stationary; ///< s [edge][edge] by |dy| and |dx|
    const double *squares;    ///< [wavelength_count] (2 pi / lambda)^2
    double *sums; ///< [wavelength_count + 1][edge][2 edge - 1] by dy and dx, written: sums of
                  ///< P_i P_j, then of P_i P_j exp(-D_ij / 2), over i - j = (dx, dy)
    double *covariances;            ///< [edge][2 edge - 1], written: sums of P_i P_j (S_ij - s_ij)
    double *variances;              ///< [count], written: S_ii
    const bb_matrix_source *source; ///< G [count][n]; NULL: none
    const double *commands;         ///< M [actuators][n]
} bb_residual_pairs;

/// Sums over all pairs on the first GPU, each displacement's in one order. Errors: BB_MEMORY,
/// BB_DEVICE, the source's.
BB_CHECKED bb_status bb_residual_scorer_pairs(bb_residual_scorer *scorer,
                                              const bb_residual_pairs *task);

/// R N R^T, `out` [rows][rows] on the host, for the R of a task and a symmetric sparse N
/// (residual_noise.h). Errors: BB_INVALID (sizes), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_noise(bb_residual_scorer *scorer, const bb_csr *noise,
                                              const bb_residual_task *task, double *out);

#ifdef __cplusplus
}
#endif

#endif
