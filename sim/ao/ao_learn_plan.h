// SPDX-License-Identifier: Apache-2.0
//
// What the learn step takes (sim/ao/ao_learn.h, physics/ao/learn/learn.h), for the plan of a study.
//
// Every outer scale that is tried makes each layer's covariance once, block by block, with a table
// of D of its own; a block of all columns (layers and measured covariances) is reduced by
// Householder steps. Golden section over log L0 in [a, b] takes ln(ln(b / a) / 1e-5) / 0.481 steps.
#ifndef BB_SIM_AO_AO_LEARN_PLAN_H
#define BB_SIM_AO_AO_LEARN_PLAN_H

#include "physics/ao/sensor_array.h"
#include "sim/ao/ao_study.h"

/// All 0 where nothing is learned.
typedef struct bb_ao_learn_need {
    double layers;     ///< fitted
    double trials;     ///< outer scales that the layers are made for
    double bytes;      ///< while the fit runs
    double seconds;    ///< with the threads given
    bool solves_again; ///< applied: the reference is solved and scored with the true profile, too
} bb_ao_learn_need;

/// `atmosphere` and `guides` as the study has them. Errors: bb_screen_size_for's.
BB_CHECKED bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                      const bb_sensor_array *guides, double threads,
                                      bb_ao_learn_need *out);

#endif
