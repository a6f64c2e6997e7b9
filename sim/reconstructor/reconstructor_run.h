// SPDX-License-Identifier: Apache-2.0
//
// The reconstructor driver: the user's covariances -> tile factor and R per pipeline -> error of R
// and the variance that it leaves.
#ifndef BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_RUN_H
#define BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_RUN_H

#include "sim/experiment.h"

extern const bb_output_table *const bb_reconstructor_outputs[];

/// Contracts in sim/experiment.h; `study` is a bb_reconstructor_study.
BB_CHECKED bb_status bb_reconstructor_run(const void *study, const bb_run_options *options,
                                          bb_results *results);
BB_CHECKED bb_status bb_reconstructor_run_plan(const void *study, const bb_run_options *options,
                                               bb_plan *plan);

#endif
