// SPDX-License-Identifier: Apache-2.0
//
// The configuration of a fringe study: what an interferometer looks at and how, how its phase is
// unwrapped, and the pipelines that are compared.
#ifndef BB_SIM_FRINGE_FRINGE_STUDY_H
#define BB_SIM_FRINGE_FRINGE_STUDY_H

#include "physics/fringe/fringe_config.h"
#include "sim/kernels/kernel_keys.h"
#include "sim/run/study.h"
#include "solvers/unwrap/unwrap_config.h"

/// Numbers of one slot (solvers/unwrap/unwrap_config.h); -1: the pipeline's.
typedef struct bb_fringe_slot {
    int arithmetic; ///< bb_format, a working one
    int storage;    ///< bb_format
} bb_fringe_slot;

/// Keys of `search:` of a pipeline, with max_loss (fringe_work.h).
typedef struct bb_fringe_search_config {
    bb_index wrong_cycles; ///< most points on another cycle than the reference's
} bb_fringe_search_config;

/// A record of `pipelines:`.
typedef struct bb_fringe_pipeline {
    const char *name;
    int arithmetic; ///< bb_format, a working one
    int storage;    ///< bb_format; -1: the arithmetic's
    bb_fringe_slot slots[BB_UNWRAP_SLOTS];
    bb_index bits; ///< of the camera that it sees; BB_INTEGER_UNSET: the study's
    int device;    ///< as bb_study.device; -1: the study's
    bb_index draws;
    double max_loss; ///< largest rms of the wavefront minus the reference's, nm; NaN: no search
    bb_fringe_search_config search;
} bb_fringe_pipeline;

/// Keys of `input:`, of a phase or of frames that the user measured; NULL where they are left out.
typedef struct bb_fringe_input_config {
    const char *file;
    const char *dataset; ///< wrapped phase [rows][columns], or frames [step][rows][columns]
    const char *mask;    ///< dataset [rows][columns], 0 where nothing was measured
    const char *truth;   ///< dataset [rows][columns], unwrapped phase in rad
    bb_list steps_rad;   ///< of double, of the frames
    double full_scale;   ///< of the frames' numbers; NaN: from the data
} bb_fringe_input_config;

typedef struct bb_fringe_study {
    bb_study common;
    bb_fringe_input_config input; ///< file NULL: a synthetic scene
    bb_fringe_config physics;
    bb_unwrap_method unwrap;
    bb_index zernike_terms; ///< that are fitted, 0: none
    bb_machine_price_config machine;
    bb_kernel_keys kernels;
    bb_list pipelines; ///< of bb_fringe_pipeline
} bb_fringe_study;

extern const bb_schema bb_fringe_study_schema;

/// A small study of every required key, for `bitbudget new`.
extern const char bb_fringe_study_starter[];

/// Whether max_loss finds the numbers of a pipeline's slots.
bool bb_fringe_pipeline_searches(const bb_fringe_pipeline *pipeline);

/// Draws of a pipeline: what was measured has no other noise, and one.
bb_index bb_fringe_study_draws(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline);

/// Index of the reference among the study's pipelines.
bb_index bb_fringe_study_reference(const bb_fringe_study *study);

/// The numbers of a pipeline's slots, and the study's method.
bb_unwrap_config bb_fringe_study_unwrap(const bb_fringe_study *study,
                                        const bb_fringe_pipeline *pipeline);

/// Bits of the camera that a pipeline sees; BB_INTEGER_UNSET: frames that are not quantised.
bb_index bb_fringe_study_bits(const bb_fringe_study *study, bb_index pipeline);

/// The rules between keys of a bb_fringe_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_study_check(const void *study, const bb_config *config,
                                           bb_problems *problems);

#endif
