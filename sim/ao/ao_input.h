// SPDX-License-Identifier: Apache-2.0
//
// Input files of an ao study: the mask of the pupil and influence functions of mirrors, from their
// files to the physics.
#ifndef BB_SIM_AO_AO_INPUT_H
#define BB_SIM_AO_AO_INPUT_H

#include "core/need.h"
#include "sim/ao/ao_study.h"
#include "sim/output/results.h"

/// Loads what the mirrors of a study name and hands it to `physics`, which is held to its rules
/// again. `*cubes` [mirrors] is NULL where none names a file; those of mirrors that do not are
/// empty. Values become m of wavefront per volt by the file's unit, which they are taken for where
/// it says none. Owner of `*cubes`: the caller, for as long as `physics` and what was made of it
/// are in use. Errors, all named by the mirror: BB_IO, BB_INVALID, BB_UNSUPPORTED, BB_MEMORY of
/// bb_map_file_read and bb_fits_image_load_cube, BB_INVALID (no spacing or two, an unknown unit,
/// bb_ao_check's).
BB_CHECKED bb_status bb_ao_input_influences(const bb_ao_study *study, bb_ao_config *physics,
                                            bb_influence_cube **cubes);
void bb_ao_input_influences_release(const bb_ao_study *study, bb_influence_cube **cubes);

/// What reading takes and what stays, of those that `physics` has been handed; seconds are those of
/// a disk of 200 MB/s.
bb_need bb_ao_input_influences_need(const bb_ao_config *physics);
bb_need bb_ao_input_influences_resident(const bb_ao_config *physics);

/// The rules of the key that no table has. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_input_influences_check(const bb_ao_study *study, const bb_config *config,
                                                  bb_problems *problems);

/// Loads the mask that the study names and hands it to `physics`, which is held to its rules again.
/// Without one `*mask` is NULL and the pupil an annulus. Owner of `*mask` [pupil_edge][pupil_edge]:
/// the caller, for as long as `physics` is in use. Errors: bb_matrix_file_open's, BB_INVALID (not
/// square, too large, not transmissions, too coarse, a sensor without a valid subaperture).
BB_CHECKED bb_status bb_ao_input_pupil(const bb_ao_study *study, bb_ao_config *physics,
                                       double **mask);

/// Notes which pupil was used as /provenance attributes: `pupil` (annulus, or file and dataset) and
/// `pupil_digest` of a mask's values. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_input_note_pupil(const bb_ao_config *physics, bb_results *results);

#endif
