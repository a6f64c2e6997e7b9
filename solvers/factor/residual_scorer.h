// SPDX-License-Identifier: Apache-2.0
//
// Residuals of estimates (residual_covariance.h) on cuda devices, and related products. All in
// fp64. Only half of Cmm is used: the symmetric part of R Cmm R^T does not change if blocks above
// the diagonal are omitted and those below it count twice. Sums are in the order of cuBLAS and
// repeatable bit for bit.
//
// Several GPUs of a host share the products with Cmm and Ctm by panels of columns, which each GPU
// fills itself; R is on all of them. A sum over panels consists of eight partial sums, distributed
// cyclically, which are added in order on the first GPU. The results are thus bit-identical on any
// number of GPUs of one kind. With three GPUs one computes two of eight partial sums while the
// others compute three; 2, 4 and 8 GPUs share equally. All other products run on the first GPU.
//
// One shortcut is deliberately not used. With R0 of a reference cached, R Cmm R^T would need only D
// Cmm D^T of the difference D and two products with R0 Cmm, and D Cmm D^T might be computed in
// half-precision planes. This is inaccurate: D Cmm D^T suffers from cancellation, while planes keep
// 22 bits relative to |D||Cmm||D|^T. At 100,368 measurements 1 to 15 % of an arithmetic's loss went
// missing.
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

/// Creates a scorer on `gpus` cuda devices of one host, 1 to BB_RESIDUAL_GPUS, for estimates over
/// `cmm`, n x n, borrowed. A device may occur more than once and then has several parts. The first
/// GPU is current after this and the calls below. Call it from the thread that starts loops.
/// Errors: BB_INVALID, BB_UNSUPPORTED (no cuda device, GPUs without peer access), BB_MEMORY,
/// BB_DEVICE. Owner: the caller, who destroys it before closing the devices.
BB_CHECKED bb_status bb_residual_scorer_create(bb_index gpus, bb_device *const *devices,
                                               const bb_matrix_source *cmm,
                                               bb_residual_scorer **out);
void bb_residual_scorer_destroy(bb_residual_scorer **scorer);

/// Adds U C U^T to Cmm, for scores only; `part` is copied; its variances must be finite. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_add_part(bb_residual_scorer *scorer,
                                                 const bb_low_rank *part);

/// Caches panels of Cmm on their GPUs from their first use on, in two thirds of the memory that is
/// free now beyond `reserve_bytes` of each GPU, which others are going to need. Does not change the
/// bits. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_cache_panels(bb_residual_scorer *scorer,
                                                     double reserve_bytes);

/// Creates the twin of `matrix` on the first GPU. With a scorer on one GPU that caches panels, the
/// twin is filled from the cached panels of Cmm and of other matrices with as many columns. With
/// `keep`, panels of `matrix` are cached from now on; it must then outlive the scorer. Do not use
/// it while the scorer is running. Bit-identical to bb_device_source_create. `scorer` may be NULL,
/// else it must outlive the twin. Errors: from bb_device_source_create.
BB_CHECKED bb_status bb_residual_scorer_twin(bb_residual_scorer *scorer,
                                             const bb_matrix_source *matrix, bool keep,
                                             bb_device *device, bb_device_source **out);

/// Scores estimates; consecutive ones with the same r share one R Cmm R^T. Errors: BB_INVALID
/// (sizes), BB_MEMORY with the bytes needed and free, BB_DEVICE, errors of the sources.
BB_CHECKED bb_status bb_residual_scorer_score(bb_residual_scorer *scorer, bb_index count,
                                              const bb_residual_task *tasks);

/// out [rows][rows] = A C A^T for the `weights` A [rows][columns] and a symmetric C [columns]
/// [columns], all on the host. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_congruence(bb_residual_scorer *scorer, bb_index rows,
                                                   bb_index columns, const double *weights,
                                                   const double *symmetric, double *out);

/// Computes `rows` rows of a product of host arrays (core/row_product.h), with all of B on the
/// first GPU: `resident` if it is there already, else NULL. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_multiply(bb_residual_scorer *scorer, bb_index rows,
                                                 const bb_row_product *product,
                                                 const void *resident);

/// Residual on `count` points, the lit ones of a grid [edge][edge], row by row:
///   D_ij / 2 = (S_ii + S_jj) / 2 - S_ij + s_ij,  S_ij = (F_i z_j + z_i F_j) / 2,
///   z = F W - 2 G M^T.
/// Everything is borrowed.
typedef struct bb_residual_pairs {
    bb_index edge, count, actuators, wavelength_count;
    const int32_t *place;     ///< [edge][edge] point number, -1: unlit
    const int32_t *first;     ///< [edge + 1] first point of each row
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

/// Sums over all pairs on the first GPU, for each displacement in a fixed order. Errors: BB_MEMORY,
/// BB_DEVICE, errors of the source.
BB_CHECKED bb_status bb_residual_scorer_pairs(bb_residual_scorer *scorer,
                                              const bb_residual_pairs *task);

/// Computes R N R^T, `out` [rows][rows] on the host, for the R of a task and a symmetric sparse N
/// (residual_noise.h). Errors: BB_INVALID (sizes), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_scorer_noise(bb_residual_scorer *scorer, const bb_csr *noise,
                                              const bb_residual_task *task, double *out);

#ifdef __cplusplus
}
#endif

#endif
