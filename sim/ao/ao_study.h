// SPDX-License-Identifier: Apache-2.0
//
// Configuration of an adaptive-optics study: physics groups, the solver, and the pipelines to
// compare.
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
    int lgs_tilt; ///< bb_lgs_tilt (physics/ao/tomography.h)
} bb_ao_solver_config;

/// Assignment of reconstructors to targets.
typedef enum bb_ao_correction {
    BB_AO_CORRECTION_MOAO, ///< each target by its own reconstructor
    BB_AO_CORRECTION_LTAO, ///< all targets by the reconstructor of the first
    BB_AO_CORRECTION_GLAO, ///< all targets by the mean of all reconstructors
    BB_AO_CORRECTION_MCAO, ///< all targets by mirrors at several heights
} bb_ao_correction;

extern const char *const bb_ao_correction_names[]; ///< NULL-terminated, by bb_ao_correction

/// Images to write.
typedef enum bb_ao_images { BB_AO_IMAGES_FIRST, BB_AO_IMAGES_ALL } bb_ao_images;

typedef struct bb_ao_study {
    bb_study common;
    bb_telescope_config telescope;
    bb_atmosphere_config atmosphere;
    bb_sensors_config sensors;
    bb_mirror_config mirror;
    bb_list mirrors;          ///< list of bb_conjugate_config
    double mirrors_condition; ///< largest over smallest retained singular value
    bb_list guide_stars;      ///< list of bb_guide_star_config
    bb_list targets;          ///< list of bb_target_config
    bb_list wavelengths_um;   ///< list of double
    bb_list ensquared_mas;    ///< list of double: widths of boxes
    int correction;           ///< bb_ao_correction
    int score;                ///< bb_score
    int images;               ///< bb_ao_images
    bb_error_terms_config error_terms;
    double shake_test_arcsec; ///< rms tilt of the shake test; NaN: none
    bb_monte_carlo_config monte_carlo;
    bb_time_domain_config time_domain;
    bb_ao_learn_config learn;
    bb_night_config night;
    bb_ao_solver_config solver;
    bb_unknown_modes_config inflation; ///< modes added to the covariance of the rounding
    bb_frame_times_config frame_times;
    bb_ao_realtime_config realtime;
    bb_machine_price_config machine;
    bb_list pipelines; ///< list of bb_factor_pipeline
} bb_ao_study;

extern const bb_schema bb_ao_study_schema;

/// Small study with every required key, for `bitbudget new`.
extern const char bb_ao_study_starter[];

/// True if a study is also scored by frames, which are independent or in time. Frames need the
/// reconstructors, and scores by pairs for comparison.
bool bb_ao_study_frames(const bb_ao_study *study);

/// Number of images of a pipeline.
bb_index bb_ao_study_images(const bb_ao_study *study);

/// Checks keys of a bb_ao_study against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_study_check(const void *study, const bb_config *config,
                                       bb_problems *problems);

/// Part of the study that the physics uses; borrows from it.
bb_ao_config bb_ao_study_physics(const bb_ao_study *study);

#endif
