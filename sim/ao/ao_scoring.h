// SPDX-License-Identifier: Apache-2.0
//
// How estimates of an ao study are scored: the residual covariance of each in one pass over Cmm,
// what the study adds to it (shake, rounded slopes, narrow sums), and the Strehl ratios of that.
#ifndef BB_SIM_AO_AO_SCORING_H
#define BB_SIM_AO_AO_SCORING_H

#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_storage.h"

/// Zero-initialise, then bb_ao_scoring_open; release with bb_ao_scoring_release.
typedef struct bb_ao_scoring {
    const bb_ao_study *study;
    const bb_tomography *problem;
    bb_ao_storage *storage; ///< whose norms slopes and sums are rounded in
    bool on_device;         ///< where residual covariances are computed
    double *wavelengths_m;  ///< [wavelengths of the study]
    double *boxes_rad;      ///< [boxes of the study]
    bb_ao_commands commands;
} bb_ao_scoring;

/// Borrows what it is given. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_scoring_open(const bb_ao_study *study, const bb_tomography *problem,
                                        bb_ao_storage *storage, bool on_device, bb_ao_scoring *out);
void bb_ao_scoring_release(bb_ao_scoring *self);

/// Fills in all that a score has of `evaluations` [count] that are ok, for every target, in one
/// pass over Cmm; an outcome says where a residual is not finite or explodes. Errors: BB_MEMORY,
/// those of the sources and of bb_factor_device_score.
BB_CHECKED bb_status bb_ao_scoring_run(bb_ao_scoring *self, bb_ao_evaluation *const *evaluations,
                                       bb_index count);

/// The Strehl ratios alone of one evaluation that is ok, to the bits of bb_ao_scoring_run: of the
/// first `targets` and `wavelengths`, into out [targets of the study][wavelengths of the study],
/// NaN of what is not asked for or has none. Errors: as there.
BB_CHECKED bb_status bb_ao_scoring_strehls(bb_ao_scoring *self, bb_ao_evaluation *evaluation,
                                           bb_index targets, bb_index wavelengths, double *out);

/// Writes the Strehl ratios of the evaluations [pipelines of the study] under the study's shake
/// test; nothing without one. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_scoring_publish(const bb_ao_study *study,
                                           const bb_ao_evaluation *evaluations,
                                           bb_results *results);

/// What that writes.
extern const bb_output_table bb_ao_scoring_outputs;

#endif
