// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline of an ao study, and their publication.
#ifndef BB_SIM_AO_AO_EVALUATION_H
#define BB_SIM_AO_AO_EVALUATION_H

#include "physics/ao/tomography.h"
#include "sim/ao/ao_study.h"
#include "sim/output/checkpoint.h"
#include "sim/pipelines/factor_problem.h"

enum { BB_AO_PSF_PIXELS = 128 }; ///< edge of the central part of the image that is kept
enum { BB_AO_FRAME_TIMES = 3 };  ///< median, 99th percentile, maximum

/// Numbers are NaN where a failed pipeline has none.
typedef struct bb_ao_evaluation {
    bb_evaluation common;
    bb_factor_pipeline level; ///< what `r` was solved by: the pipeline, or what a search found
    double **r; ///< [targets], each [m][n]; of a shared one the first only, of mirrors that
                ///< correct together M [actuators][n] there; commands of each target's mirror
                ///< [actuators][n] where `kind` says so
    bb_residual_kind kind;       ///< what `r` estimates (ao_commands.h), and its residual is of
    bb_factor_resident resident; ///< `r` where it is only scored, on a GPU: every r[t] is NULL then
    double **seen;  ///< [targets], each [m][n]: D_t M of such mirrors (ao_mcao.h); NULL: `r` serves
    bool shared;    ///< one reconstructor corrects all targets
    double *strehl; ///< [targets][wavelengths], as the study scores
    double *shaken; ///< [targets][wavelengths] the same under the study's shake test
    double *pairs;  ///< [targets][wavelengths] by pairs, without the error terms; of frames
    double *pairs_with_terms; ///< [targets][wavelengths] by pairs, with them; of frames
    double *stationary;       ///< [targets][wavelengths] as if stationary, with them; of frames
    double *ensquared;        ///< [targets][wavelengths][boxes]
    double *residual_m;       ///< [targets] with the error terms
    double *correctable_m;    ///< [targets] of the residual of slopes alone
    double *trace_arcsec2;    ///< [targets] of the residual covariance of slopes
    double *noise_m;          ///< [targets] what noise alone makes of the reference; NaN of others
    double *width_mas;        ///< [targets][wavelengths] of the image at half maximum
    double *frame_times_s;    ///< [BB_AO_FRAME_TIMES] from a frame's release to its commands
    double *psf; ///< [images][BB_AO_PSF_PIXELS][BB_AO_PSF_PIXELS], by target and wavelength
} bb_ao_evaluation;

/// All NaN, room for everything but `r`. Errors: BB_MEMORY. Release with bb_ao_evaluation_release.
BB_CHECKED bb_status bb_ao_evaluation_create(const char *pipeline, bb_index targets,
                                             bb_index wavelengths, bb_index boxes, bb_index images,
                                             bb_ao_evaluation *out);
void bb_ao_evaluation_release(bb_ao_evaluation *evaluation, bb_index targets);

/// Releases its reconstructors; its numbers stay.
void bb_ao_evaluation_free_estimates(bb_ao_evaluation *evaluation, bb_index targets);

enum { BB_AO_EVALUATION_ARRAYS = 13 };

/// The numbers of an evaluation of a study but for `common` and `level`: who keeps them and who
/// puts them back goes through the same list.
void bb_ao_evaluation_list(const bb_ao_study *study, bb_ao_evaluation *evaluation,
                           bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS]);

/// With BB_AO_CORRECTION_GLAO the mean of the reconstructors of all targets takes the place of the
/// first; other corrections and failed evaluations stay as they are.
void bb_ao_evaluation_share(bb_ao_evaluation *evaluation, int correction,
                            const bb_tomography *problem);

/// The reconstructor that corrects a target, NULL where there is none.
const double *bb_ao_evaluation_reconstructor(const bb_ao_evaluation *evaluation, bb_index target);

/// Whether a study reads its reconstructors again once all are scored: for frames, and to dump
/// them.
bool bb_ao_evaluation_is_reused(const bb_ao_study *study, const char *dump);

/// The Strehl ratio that an evaluation is known by: first target and wavelength; NaN where it
/// failed.
double bb_ao_evaluation_headline(const bb_ao_evaluation *evaluation);

#endif
