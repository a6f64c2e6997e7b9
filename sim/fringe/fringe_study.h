// SPDX-License-Identifier: Apache-2.0
//
// Configuration of a fringe study: scene, interferometer, unwrapping method and the compared
// pipelines.
#ifndef BB_SIM_FRINGE_FRINGE_STUDY_H
#define BB_SIM_FRINGE_FRINGE_STUDY_H

#include "physics/fringe/fringe_config.h"
#include "sim/kernels/kernel_keys.h"
#include "sim/run/study.h"
#include "solvers/unwrap/unwrap_config.h"

/// Number formats of one slot (solvers/unwrap/unwrap_config.h); -1: those of the pipeline.
typedef struct bb_fringe_slot {
    int arithmetic; ///< bb_format that supports arithmetic
    int storage;    ///< bb_format
} bb_fringe_slot;

/// Keys of a pipeline's `search:`, used with max_loss (fringe_work.h).
typedef struct bb_fringe_search_config {
    bb_index wrong_cycles; ///< maximum number of points on another cycle than the reference's
} bb_fringe_search_config;

/// A record of `pipelines:`.
typedef struct bb_fringe_pipeline {
    const char *name;
    int arithmetic; ///< bb_format that supports arithmetic
    int storage;    ///< bb_format; -1: the arithmetic's format
    bb_fringe_slot slots[BB_UNWRAP_SLOTS];
    bb_index bits; ///< bits of the camera; BB_INTEGER_UNSET: those of the study
    int device;    ///< as bb_study.device; -1: the device of the study
    bb_index draws;
    double max_loss; ///< largest rms difference from the reference's wavefront, nm; NaN: no search
    bb_fringe_search_config search;
} bb_fringe_pipeline;

/// Keys of `input:`, a measured phase or measured frames; absent keys are NULL.
typedef struct bb_fringe_input_config {
    const char *file;
    const char *dataset; ///< wrapped phase [rows][columns], or frames [step][rows][columns]
    const char *mask;    ///< dataset [rows][columns], 0 where nothing was measured
    const char *truth;   ///< dataset [rows][columns], unwrapped phase in rad
    bb_list steps_rad;   ///< list of double: phase step of each frame
    double full_scale;   ///< full scale of the frames; NaN: derived from the data
} bb_fringe_input_config;

typedef struct bb_fringe_study {
    bb_study common;
    bb_fringe_input_config input; ///< file NULL: a synthetic scene
    bb_fringe_config physics;
    bb_unwrap_method unwrap;
    bb_index zernike_terms; ///< number of fitted terms, 0: none
    bb_machine_price_config machine;
    bb_kernel_keys kernels;
    bb_list pipelines; ///< list of bb_fringe_pipeline
} bb_fringe_study;

extern const bb_schema bb_fringe_study_schema;

/// Example study with every required key, for `bitbudget new`.
extern const char bb_fringe_study_starter[];

/// True if max_loss selects the formats of a pipeline's slots.
bool bb_fringe_pipeline_searches(const bb_fringe_pipeline *pipeline);

/// Number of draws of a pipeline; 1 for measured data, whose noise is fixed.
bb_index bb_fringe_study_draws(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline);

/// Index of the reference among the study's pipelines.
bb_index bb_fringe_study_reference(const bb_fringe_study *study);

/// Formats of a pipeline's slots, and the study's method.
bb_unwrap_config bb_fringe_study_unwrap(const bb_fringe_study *study,
                                        const bb_fringe_pipeline *pipeline);

/// Camera bits of a pipeline; BB_INTEGER_UNSET: its frames are not quantised.
bb_index bb_fringe_study_bits(const bb_fringe_study *study, bb_index pipeline);

/// Checks the rules between keys of a bb_fringe_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_study_check(const void *study, const bb_config *config,
                                           bb_problems *problems);

#endif
