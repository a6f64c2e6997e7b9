// SPDX-License-Identifier: Apache-2.0
//
// Input files of an ao study: the mask of the pupil and influence functions of mirrors, from their
// files to the physics.
#ifndef BB_SIM_AO_AO_INPUT_H
#define BB_SIM_AO_AO_INPUT_H

#include "core/need.h"
#include "sim/ao/ao_study.h"
#include "sim/output/results.h"

/// Loads the influence functions that the study's mirrors name, sets them in `physics` and checks
/// it again. `*cubes` [mirrors] is NULL if no mirror names a file; cubes of mirrors without a file
/// are empty. Values become metres of wavefront per volt by the file's unit; a file without a unit
/// is taken to be in that unit. The caller owns `*cubes` and keeps it while `physics` and anything
/// built from it are in use. Errors, each prefixed by the mirror: BB_IO, BB_INVALID,
/// BB_UNSUPPORTED, BB_MEMORY of bb_map_file_read and bb_fits_image_load_cube, BB_INVALID (missing
/// or conflicting spacing, unknown unit, bb_ao_check's).
BB_CHECKED bb_status bb_ao_input_influences(const bb_ao_study *study, bb_ao_config *physics,
                                            bb_influence_cube **cubes);
void bb_ao_input_influences_release(const bb_ao_study *study, bb_influence_cube **cubes);

/// Need of reading the files, and of the values kept in `physics`. Times assume a disk of 200 MB/s.
bb_need bb_ao_input_influences_need(const bb_ao_config *physics);
bb_need bb_ao_input_influences_resident(const bb_ao_config *physics);

/// Checks the parts of the key that its table cannot express. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_input_influences_check(const bb_ao_study *study, const bb_config *config,
                                                  bb_problems *problems);

/// Loads the pupil mask that the study names, sets it in `physics` and checks it again. Without a
/// mask `*mask` is NULL and the pupil an annulus. The caller owns `*mask` [pupil_edge][pupil_edge]
/// and keeps it while `physics` is in use. Errors: bb_matrix_file_open's, BB_INVALID (not square,
/// too large, not transmissions, too coarse, a sensor without a valid subaperture).
BB_CHECKED bb_status bb_ao_input_pupil(const bb_ao_study *study, bb_ao_config *physics,
                                       double **mask);

/// Notes the pupil as attributes of /provenance: `pupil` (annulus, or file and dataset) and
/// `pupil_digest` of a mask's values. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_input_note_pupil(const bb_ao_config *physics, bb_results *results);

#endif
