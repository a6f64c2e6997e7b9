// SPDX-License-Identifier: Apache-2.0
//
// Scores of reconstructors: residual covariances, further terms of the study (shake, rounded
// slopes, narrow sums), and Strehl ratios.
//
// If any pipeline computes on a GPU, all are scored there, on as many GPUs as share a factorization
// (`solver.gpus`). The projection onto the mirror then runs on the first of them.
#ifndef BB_SIM_AO_AO_SCORING_H
#define BB_SIM_AO_AO_SCORING_H

#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_storage.h"
#include "sim/ao/ao_whole.h"
#include "sim/pipelines/factor_device.h"

/// Scoring of estimates. Zero-initialise; call bb_ao_scoring_open, then bb_ao_scoring_release
/// before the tomography is destroyed.
typedef struct bb_ao_scoring {
    const bb_ao_study *study;
    bb_tomography *problem; ///< borrowed; uses the scorer for its projections, if there is one
    bb_ao_storage *storage;
    double *wavelengths_m;   ///< [wavelengths]
    double *boxes_rad;       ///< [boxes]
    bb_ao_commands commands; ///< truth covariances, for storages of commands
    bb_ao_whole whole;       ///< covariances for scores by pairs with fitting
    bool on_device;
    bool traces; ///< on a GPU: also compute traces of slopes, in studies that store reconstructors
    bb_factor_device_scorer *scorer; ///< NULL: scores on the CPU
    bb_projection projection;
    double *spare; ///< [room_items] buffer of an earlier residual covariance, for the next one;
                   ///< NULL: none
    bb_index spare_items;
} bb_ao_scoring;

/// Opens scoring. All arguments except `study` and `out` are borrowed. If scores run on a device,
/// `problem` uses it for projections from then on. `reserve_bytes` of each GPU are left to others
/// (bb_residual_scorer_cache_panels). Errors: BB_MEMORY, errors of bb_factor_device_scorer_open.
BB_CHECKED bb_status bb_ao_scoring_open(const bb_ao_study *study, bb_tomography *problem,
                                        bb_ao_storage *storage, bool on_device,
                                        double reserve_bytes, bb_ao_scoring *out);
void bb_ao_scoring_release(bb_ao_scoring *self);

/// Scores evaluations for every target; failed ones are skipped. On the CPU all share one pass over
/// Cmm. Errors: BB_MEMORY, BB_DEVICE, the sources'.
BB_CHECKED bb_status bb_ao_scoring_run(bb_ao_scoring *self, bb_ao_evaluation *const *evaluations,
                                       bb_index count);

/// Computes Strehl ratios only, with the same bits as bb_ao_scoring_run, for the first `targets`
/// and `wavelengths` of each evaluation, into out[evaluation] [targets of the study][wavelengths of
/// the study]; NaN elsewhere and after a failure. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_strehls(bb_ao_scoring *self,
                                           bb_ao_evaluation *const *evaluations, bb_index count,
                                           bb_index targets, bb_index wavelengths,
                                           double *const *out);

/// Covariances of slopes corrected after a delay, replacing the problem's; all borrowed.
typedef struct bb_ao_late {
    const bb_matrix_source *cmm;        ///< NULL: the problem's; otherwise the host scores
    const bb_matrix_source *const *ctm; ///< [targets]
    bb_whole_residual *const *wholes;   ///< [targets]; NULL: the whole residual is not scored
    double share;                       ///< fraction of a frame's loss from rounded slopes and sums
} bb_ao_late;

/// Strehl ratios by pairs of the correctable and the whole residual, for all targets and
/// wavelengths of each evaluation, with the truths at another time. `correctable` and `whole` are
/// laid out as `out` of bb_ao_scoring_strehls. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_late(bb_ao_scoring *self, const bb_ao_late *late,
                                        bb_ao_evaluation *const *evaluations, bb_index count,
                                        double *const *correctable, double *const *whole);

/// Noise residual R N R^T of a target, `out` [m][m]. `own` [rows][rows], NULL at first and owned by
/// the caller, caches the noise of commands with mcao for the next target. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_noise(bb_ao_scoring *self, const bb_csr *noise,
                                         const bb_ao_evaluation *evaluation, bb_index target,
                                         double **own, double *out);

#endif
