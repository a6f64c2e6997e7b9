// SPDX-License-Identifier: Apache-2.0
//
// The user's mask of the pupil, from its file to the physics.
#ifndef BB_SIM_AO_AO_PUPIL_H
#define BB_SIM_AO_AO_PUPIL_H

#include "sim/ao/ao_study.h"
#include "sim/output/results.h"

/// Loads the mask that the study names and hands it to `physics`, which is held to its rules again.
/// Without one `*mask` is NULL and the pupil an annulus. Owner of `*mask` [pupil_edge][pupil_edge]:
/// the caller, for as long as `physics` is in use. Errors: bb_matrix_file_open's, BB_INVALID (not
/// square, too large, not transmissions, too coarse, a sensor without a valid subaperture).
BB_CHECKED bb_status bb_ao_pupil_load(const bb_ao_study *study, bb_ao_config *physics,
                                      double **mask);

/// Notes which pupil was used as /provenance attributes: `pupil` (annulus, or file and dataset) and
/// `pupil_digest` of a mask's values. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_pupil_note(const bb_ao_config *physics, bb_results *results);

#endif
