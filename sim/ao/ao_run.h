// SPDX-License-Identifier: Apache-2.0
//
// State of a run of an ao study for its parts (sim/run/part.h), and the table of parts.
#ifndef BB_SIM_AO_AO_RUN_H
#define BB_SIM_AO_AO_RUN_H

#include "sim/ao/ao_extent.h"
#include "sim/ao/ao_scoring.h"
#include "sim/ao/learn/ao_learn.h"
#include "sim/pipelines/factor_search.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"

/// State of a run, owned by the driver; parts read it and write results. Learning points
/// `factor_problem` at the learned covariances. The dump, the last part, takes over `problem` and
/// the estimates.
typedef struct bb_ao_work {
    const bb_ao_study *study; ///< with `auto` resolved
    const char *dump;         ///< operators to write, NULL: none
    bb_ao_config physics;     ///< with the pupil mask and influence functions
    bb_tomography *problem;
    bb_factor_problem factor_problem;
    bb_ao_storage storage;         ///< storage of estimates
    bb_ao_scoring scoring;         ///< scoring of estimates
    bb_ao_evaluation *evaluations; ///< [pipelines of the study]
    bool on_device;                ///< some pipeline computes on a GPU
    bb_index reference;            ///< index of the reference pipeline
    bb_search_trials *trials;
    bb_ao_learning *learning; ///< NULL: the true profile is known
    bb_store *resumed;        ///< checkpoint of a resumed run, NULL: new run
} bb_ao_work;

/// Contract in sim/run/experiment.h: covariances -> factor and reconstructor of each pipeline ->
/// residual
/// -> Strehl ratio. `study` is a bb_ao_study.
BB_CHECKED bb_status bb_ao_run(const void *study, const bb_run_options *options,
                               bb_results *results);

extern const bb_part *const bb_ao_parts[]; ///< NULL-terminated

/// Parts of that table defined in other files.
extern const bb_part bb_ao_evaluation_part, bb_ao_quantities_part, bb_ao_images_part,
    bb_ao_storage_part, bb_ao_scoring_part, bb_ao_whole_part, bb_ao_search_part,
    bb_ao_learning_part, bb_ao_sampling_part, bb_ao_timeline_part, bb_night_part,
    bb_frame_times_part, bb_ao_dump_part;

#endif
