// SPDX-License-Identifier: Apache-2.0
//
// The driver of the wafer experiment: plan and run of a bb_wafer_study.
#ifndef BB_SIM_WAFER_EXPERIMENT_H
#define BB_SIM_WAFER_EXPERIMENT_H

#include "sim/experiment.h"

BB_CHECKED bb_status bb_wafer_experiment_plan(const void *study, const bb_run_options *options,
                                              bb_plan *plan);
BB_CHECKED bb_status bb_wafer_experiment_run(const void *study, const bb_run_options *options,
                                             bb_results *results);

#endif
