// SPDX-License-Identifier: Apache-2.0
//
// The wafer driver: heat the wafer field by field -> response rows in every pipeline's storage ->
// one matrix-vector product a light step -> displacement over the dwell -> overlay.
#ifndef BB_SIM_WAFER_WAFER_RUN_H
#define BB_SIM_WAFER_WAFER_RUN_H

#include "sim/experiment.h"

/// Contract in sim/experiment.h; `study` is a bb_wafer_study.
BB_CHECKED bb_status bb_wafer_run(const void *study, const bb_run_options *options,
                                  bb_results *results);

#endif
