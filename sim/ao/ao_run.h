// SPDX-License-Identifier: Apache-2.0
//
// The ao driver: covariances -> tile factor and reconstructor per pipeline -> residual -> Strehl.
#ifndef BB_SIM_AO_AO_RUN_H
#define BB_SIM_AO_AO_RUN_H

#include "sim/experiment.h"

/// Contract in sim/experiment.h; `study` is a bb_ao_study.
BB_CHECKED bb_status bb_ao_run(const void *study, const bb_run_options *options,
                               bb_results *results);

#endif
