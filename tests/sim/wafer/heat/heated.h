// SPDX-License-Identifier: Apache-2.0
//
// Heating of a wafer study: autocall(drop) heated scene; heat(&study, &scene).
#ifndef BB_TESTS_SIM_WAFER_HEATED_H
#define BB_TESTS_SIM_WAFER_HEATED_H

#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_study.h"
#include "tests/sim/driver.h"

// A configuration, its problem and its heating.
typedef struct heated {
    bb_config *config;
    bb_wafer_config physics;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
} heated;

static inline void heat(const driver_case *study, heated *out)
{
    *out = (heated){.config = driver_config(study)};
    check_ok(bb_threads_set(2));
    out->physics = bb_wafer_study_physics(bb_config_study(out->config));
    check_ok(bb_wafer_problem_create(&out->physics, &out->problem));
    check_ok(bb_wafer_heating_resume(out->problem, NULL, &out->heating));
}

static inline void drop(heated *scene)
{
    bb_wafer_heating_release(&scene->heating);
    bb_wafer_problem_destroy(&scene->problem);
    bb_config_destroy(&scene->config);
}

#endif
