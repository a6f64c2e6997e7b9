// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline of an ao study, and their publication.
#ifndef BB_SIM_AO_AO_EVALUATION_H
#define BB_SIM_AO_AO_EVALUATION_H

#include "physics/ao/tomography.h"
#include "sim/ao/ao_study.h"
#include "sim/output/checkpoint.h"
#include "sim/pipelines/factor_problem.h"

enum { BB_AO_PSF_PIXELS = 128 }; ///< edge of the stored central part of an image
enum { BB_AO_FRAME_TIMES = 3 };  ///< median, 99th percentile, maximum

/// Results of a pipeline; NaN where it failed.
typedef struct bb_ao_evaluation {
    bb_evaluation common;
    /// pipeline that `r` was solved with: the study's pipeline, or the result of a search
    bb_factor_pipeline level;
    double **r; ///< [targets], each [m][n]. Shared reconstructor: the first only; mcao: r[0] is M
                ///< [actuators][n]. Commands of each target's mirror [actuators][n] where `kind` is
                ///< BB_RESIDUAL_COMMANDS
    /// quantity that `r` estimates (ao_commands.h), also that of its residual
    bb_residual_kind kind;
    bb_factor_resident resident; ///< `r` on a GPU, where it is only scored: every r[t] is NULL then
    double **seen;  ///< [targets], each [m][n]: D_t M with mcao (ao_mcao.h); NULL: use `r`
    bool shared;    ///< one reconstructor corrects all targets
    double *strehl; ///< [targets][wavelengths], by the study's `score`
    double *shaken; ///< [targets][wavelengths] Strehl ratios under the study's shake test
    double *pairs;  ///< [targets][wavelengths] Strehl ratios by pairs, without error terms; only
                    ///< with frames
    /// [targets][wavelengths] Strehl ratios by pairs, with error terms; only with frames
    double *pairs_with_terms;
    double *stationary;    ///< [targets][wavelengths] Strehl ratios for a stationary residual, with
                           ///< error terms; only with frames
    double *ensquared;     ///< [targets][wavelengths][boxes]
    double *residual_m;    ///< [targets] rms of the residual, with error terms
    double *tilt_m;        ///< [targets] rms of its tip and tilt; NaN: not known
    double *correctable_m; ///< [targets] rms of the residual of slopes alone
    double *trace_arcsec2; ///< [targets] trace of the residual covariance of slopes
    double *noise_m;       ///< [targets] rms from noise alone, for the reference; NaN for others
    double *width_mas;     ///< [targets][wavelengths] full width of the image at half maximum
    double *frame_times_s; ///< [BB_AO_FRAME_TIMES] latencies from a frame's release to its commands
    double *psf; ///< [images][BB_AO_PSF_PIXELS][BB_AO_PSF_PIXELS], by target and wavelength
} bb_ao_evaluation;

/// Allocates all arrays except the elements of `r` and fills them with NaN. Errors: BB_MEMORY.
/// Release with bb_ao_evaluation_release.
BB_CHECKED bb_status bb_ao_evaluation_create(const char *pipeline, bb_index targets,
                                             bb_index wavelengths, bb_index boxes, bb_index images,
                                             bb_ao_evaluation *out);
void bb_ao_evaluation_release(bb_ao_evaluation *evaluation, bb_index targets);

/// Releases the reconstructors; the results stay.
void bb_ao_evaluation_free_estimates(bb_ao_evaluation *evaluation, bb_index targets);

enum { BB_AO_EVALUATION_ARRAYS = 14 };

/// Lists the arrays of an evaluation, except `common` and `level`. Saving and restoring use the
/// same list.
void bb_ao_evaluation_list(const bb_ao_study *study, bb_ao_evaluation *evaluation,
                           bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS]);

/// With BB_AO_CORRECTION_GLAO, replaces the first reconstructor by the mean over all targets and
/// releases the others. No effect with other corrections or after a failure.
void bb_ao_evaluation_share(bb_ao_evaluation *evaluation, int correction,
                            const bb_tomography *problem);

/// Reconstructor that corrects a target; NULL: none.
const double *bb_ao_evaluation_reconstructor(const bb_ao_evaluation *evaluation, bb_index target);

/// True if a study reads its reconstructors again after scoring, for frames or for dumps.
bool bb_ao_evaluation_is_reused(const bb_ao_study *study, const char *dump);

/// Strehl ratio of the first target and wavelength; NaN after a failure.
double bb_ao_evaluation_headline(const bb_ao_evaluation *evaluation);

#endif
