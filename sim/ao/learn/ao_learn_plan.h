// SPDX-License-Identifier: Apache-2.0
//
// What the learn step takes (sim/ao/learn/ao_learn.h), for the plan of a study: the fit, and what
// it learns from.
#ifndef BB_SIM_AO_LEARN_AO_LEARN_PLAN_H
#define BB_SIM_AO_LEARN_AO_LEARN_PLAN_H

#include "core/need.h"
#include "physics/ao/sensor_array.h"
#include "sim/ao/ao_study.h"

/// All 0 where nothing is learned.
typedef struct bb_ao_learn_planned {
    double layers;     ///< fitted
    double trials;     ///< outer scales that the layers are made for
    bool solves_again; ///< applied: the reference is solved and scored with the true profile, too
    bb_need need;
} bb_ao_learn_planned;

/// `atmosphere` and `guides` as the study has them. Errors: bb_screen_size_for's.
BB_CHECKED bb_status bb_ao_learn_plan(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                      const bb_sensor_array *guides, double threads,
                                      bb_ao_learn_planned *out);

#endif
