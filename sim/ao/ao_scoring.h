// SPDX-License-Identifier: Apache-2.0
//
// From the reconstructors of evaluations to their prices: residual covariances, what the study adds
// to them (shake, rounded slopes, narrow sums), and Strehl ratios. Where any pipeline computes on a
// GPU all are scored there, on as many as share a factorization (`solver.gpus`), and the projection
// on the mirror runs on the first of them, too.
#ifndef BB_SIM_AO_AO_SCORING_H
#define BB_SIM_AO_AO_SCORING_H

#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_storage.h"
#include "sim/ao/ao_whole.h"
#include "sim/pipelines/factor_device.h"

/// Zero-initialise; bb_ao_scoring_open, then bb_ao_scoring_release before the tomography goes.
typedef struct bb_ao_scoring {
    const bb_ao_study *study;
    bb_tomography *problem; ///< borrowed; projects by the scorer where there is one
    bb_ao_storage *storage;
    double *wavelengths_m;   ///< [wavelengths]
    double *boxes_rad;       ///< [boxes]
    bb_ao_commands commands; ///< what storages of commands are scored by
    bb_ao_whole whole;       ///< of scores by pairs with fitting
    bool on_device;
    bool traces; ///< on a GPU: traces of slopes too, in studies that store reconstructors
    bb_factor_device_scorer *scorer; ///< NULL: on the cpu
    bb_projection projection;
    double *room; ///< [room_items] of a residual covariance before, for the next one; NULL: none
    bb_index room_items;
} bb_ao_scoring;

/// Everything but `study` and `out` is borrowed; `problem` projects on the device from then on, if
/// scores are made there. `reserve_bytes` of each GPU are for others
/// (bb_residual_scorer_cache_panels). Errors: BB_MEMORY, those of bb_factor_device_scorer_open.
BB_CHECKED bb_status bb_ao_scoring_open(const bb_ao_study *study, bb_tomography *problem,
                                        bb_ao_storage *storage, bool on_device,
                                        double reserve_bytes, bb_ao_scoring *out);
void bb_ao_scoring_release(bb_ao_scoring *self);

/// Prices of some evaluations, every target; those that failed are left out. On the cpu all share
/// one pass over Cmm. Errors: BB_MEMORY, BB_DEVICE, the sources'.
BB_CHECKED bb_status bb_ao_scoring_run(bb_ao_scoring *self, bb_ao_evaluation *const *evaluations,
                                       bb_index count);

/// The Strehl ratios alone, to the bits of bb_ao_scoring_run: of the first `targets` and
/// `wavelengths` of each evaluation, into out[evaluation] [targets of the study][wavelengths of the
/// study], NaN of what is not asked for or has none. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_strehls(bb_ao_scoring *self,
                                           bb_ao_evaluation *const *evaluations, bb_index count,
                                           bb_index targets, bb_index wavelengths,
                                           double *const *out);

/// Covariances of slopes that are corrected later, in the place of the problem's; all borrowed.
typedef struct bb_ao_late {
    const bb_matrix_source *cmm;        ///< NULL: the problem's; else the host scores
    const bb_matrix_source *const *ctm; ///< [targets]
    bb_whole_residual *const *wholes;   ///< [targets]; NULL: no whole residual is scored
    double share;                       ///< of what slopes and sums lose in one frame
} bb_ao_late;

/// Strehl ratios by pairs of the correctable and of the whole residual, of all targets and
/// wavelengths of each evaluation, where the truths are of another time. `correctable` and `whole`
/// likewise. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_late(bb_ao_scoring *self, const bb_ao_late *late,
                                        bb_ao_evaluation *const *evaluations, bb_index count,
                                        double *const *correctable, double *const *whole);

/// R N R^T, `out` [m][m] of a target, of noise alone. `own` [rows][rows], NULL at first and the
/// caller's, is what commands of mirrors that correct together make of it, for the next target.
/// Errors: likewise.
BB_CHECKED bb_status bb_ao_scoring_noise(bb_ao_scoring *self, const bb_csr *noise,
                                         const bb_ao_evaluation *evaluation, bb_index target,
                                         double **own, double *out);

#endif
