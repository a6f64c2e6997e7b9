// SPDX-License-Identifier: Apache-2.0
//
// Learning in an ao study: a profile fitted to a covariance of slopes (physics/ao/learn/learn.h),
// and reconstructors computed with it, while the score uses the true profile.
#ifndef BB_SIM_AO_LEARN_AO_LEARN_H
#define BB_SIM_AO_LEARN_AO_LEARN_H

#include "core/need.h"
#include "physics/ao/sensor_array.h"
#include "sim/ao/ao_scoring.h"
#include "sim/ao/ao_study.h"
#include "sim/output/checkpoint.h"

/// Plan of the learning; all members are 0 without it.
typedef struct bb_ao_learn_planned {
    double layers;     ///< number of layers fitted
    double trials;     ///< outer scales tried; the layers are computed for each
    bool solves_again; ///< learn.apply: the reference is solved and scored with the true profile,
                       ///< too
    bb_need need;
} bb_ao_learn_planned;

/// Plans the learning; `atmosphere` and `guides` are the study's. Errors: bb_screen_size_for's.
BB_CHECKED bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                      const bb_sensor_array *guides, double threads,
                                      bb_ao_learn_planned *out);

typedef struct bb_ao_learning bb_ao_learning;

/// Opens the covariance file that a study learns from, if any, and checks its shape and unit but
/// not its values. Errors: bb_matrix_file_open's, BB_INVALID (wrong unit, or size other than the
/// guide stars' `slopes`).
BB_CHECKED bb_status bb_ao_learning_check(const bb_ao_learn_config *learn, bb_index slopes);

void bb_ao_learning_destroy(bb_ao_learning **learning);

enum { BB_AO_LEARNING_PIECES = 7 };

/// Lists the pieces of the learning for a checkpoint; returns their number, 0 without `learning`.
bb_index bb_ao_learning_list(const bb_ao_learning *learning,
                             bb_store_piece pieces[BB_AO_LEARNING_PIECES]);

/// If the profile to apply could not be learned, copies the outcome of the learning to the
/// evaluation.
void bb_ao_learning_apply_outcome(const bb_ao_learning *learning, bb_ao_evaluation *evaluation);

#endif
