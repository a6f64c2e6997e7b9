// SPDX-License-Identifier: Apache-2.0
//
// What one pipeline of an ao study gave, and how all of them are published.
#ifndef BB_SIM_AO_AO_ATTEMPT_H
#define BB_SIM_AO_AO_ATTEMPT_H

#include "physics/ao/tomography.h"
#include "sim/ao/ao_study.h"
#include "sim/attempt.h"

enum { BB_AO_PSF_PIXELS = 128 }; ///< edge of the central part of the image that is kept

/// Numbers are NaN where a failed pipeline has none.
typedef struct bb_ao_attempt {
    bb_attempt common;
    double **r;         ///< [targets], each [m][n]
    double *strehl;     ///< [targets][wavelengths]
    double *residual_m; ///< [targets]
    double *psf;        ///< [BB_AO_PSF_PIXELS][BB_AO_PSF_PIXELS], first target and wavelength
} bb_ao_attempt;

/// All NaN, room for everything but `r`. Errors: BB_MEMORY. Release with bb_ao_attempt_release.
BB_CHECKED bb_status bb_ao_attempt_create(const char *pipeline, bb_index targets,
                                          bb_index wavelengths, bb_ao_attempt *out);
void bb_ao_attempt_release(bb_ao_attempt *attempt, bb_index targets);

/// Writes /results from the attempts [pipelines of the study]. The quantity of interest is the
/// Strehl ratio: its error is |SR - SR_ref| / SR_ref, first target and wavelength.
BB_CHECKED bb_status bb_ao_attempts_publish(const bb_ao_study *study, const bb_tomography *problem,
                                            bb_ao_attempt *attempts, bb_results *results);

#endif
