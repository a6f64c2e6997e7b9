// SPDX-License-Identifier: Apache-2.0
//
// The configuration of an adaptive-optics study: physics groups, the solver, and the pipelines that
// are compared.
#ifndef BB_SIM_AO_AO_STUDY_H
#define BB_SIM_AO_AO_STUDY_H

#include "physics/ao/ao_config.h"
#include "physics/ao/unknown_modes.h"
#include "sim/ao/learn/ao_learn_config.h"
#include "sim/ao/night/night_config.h"
#include "sim/ao/realtime/ao_realtime_config.h"
#include "sim/pipelines/factor_pipeline.h"

/// Keys of `solver:`.
typedef struct bb_ao_solver_config {
    bb_factor_solver_config common;
    int lgs_tilt; ///< bb_lgs_tilt of physics/ao/tomography.h
} bb_ao_solver_config;

/// Whose reconstructor corrects which target.
typedef enum bb_ao_correction {
    BB_AO_CORRECTION_MOAO, ///< each target by its own
    BB_AO_CORRECTION_LTAO, ///< all by that of the first
    BB_AO_CORRECTION_GLAO, ///< all by the mean of all
    BB_AO_CORRECTION_MCAO, ///< all by mirrors at several heights, which correct together
} bb_ao_correction;

extern const char *const bb_ao_correction_names[]; ///< NULL-terminated, by bb_ao_correction

/// Whose images are written.
typedef enum bb_ao_images { BB_AO_IMAGES_FIRST, BB_AO_IMAGES_ALL } bb_ao_images;

typedef struct bb_ao_study {
    bb_study common;
    bb_telescope_config telescope;
    bb_atmosphere_config atmosphere;
    bb_sensors_config sensors;
    bb_mirror_config mirror;
    bb_list mirrors;          ///< of bb_conjugate_config
    double mirrors_condition; ///< largest over smallest singular value that they keep
    bb_list guide_stars;      ///< of bb_guide_star_config
    bb_list targets;          ///< of bb_target_config
    bb_list wavelengths_um;   ///< of double
    bb_list ensquared_mas;    ///< of double: boxes
    int correction;           ///< bb_ao_correction
    int score;                ///< bb_score
    int images;               ///< bb_ao_images
    bb_error_terms_config error_terms;
    double shake_test_arcsec; ///< of a shake that is scored beside; NaN: none is
    bb_monte_carlo_config monte_carlo;
    bb_time_domain_config time_domain;
    bb_ao_learn_config learn;
    bb_night_config night;
    bb_ao_solver_config solver;
    bb_unknown_modes_config inflation; ///< of the covariance that is rounded in
    bb_frame_times_config frame_times;
    bb_ao_realtime_config realtime;
    bb_machine_price_config machine;
    bb_list pipelines; ///< of bb_factor_pipeline
} bb_ao_study;

extern const bb_schema bb_ao_study_schema;

/// A small study of every required key, for `bitbudget new`.
extern const char bb_ao_study_starter[];

/// Whether anything is scored by frames, independent or in time: that needs reconstructors, and
/// scores by pairs to hold them against.
bool bb_ao_study_frames(const bb_ao_study *study);

/// Images of a pipeline.
bb_index bb_ao_study_images(const bb_ao_study *study);

/// The rules between keys of a bb_ao_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_study_check(const void *study, const bb_config *config,
                                       bb_problems *problems);

/// The part of the study that the physics reads; borrows from it.
bb_ao_config bb_ao_study_physics(const bb_ao_study *study);

#endif
