// SPDX-License-Identifier: Apache-2.0
//
// Wafer experiment: heat of exposures, its overlay error, and feed-forward with encoded response
// rows.
#ifndef BB_SIM_WAFER_WAFER_EXPERIMENT_H
#define BB_SIM_WAFER_WAFER_EXPERIMENT_H

#include "sim/run/experiment.h"

extern const bb_experiment bb_wafer_experiment;

/// Functions of bb_wafer_experiment; contracts in sim/run/experiment.h, `study` is a
/// bb_wafer_study.
BB_CHECKED bb_status bb_wafer_experiment_plan(const void *study, const bb_run_options *options,
                                              bb_plan *plan);
/// Runs heat of the wafer, field by field -> response rows in every pipeline's storage -> one
/// matrix-vector product per light step -> displacement over the dwell -> overlay.
BB_CHECKED bb_status bb_wafer_experiment_run(const void *study, const bb_run_options *options,
                                             bb_results *results);
BB_CHECKED bb_status bb_wafer_experiment_converge(const void *study, bb_results *results,
                                                  bb_text *table);
BB_CHECKED bb_status bb_wafer_experiment_realtime(const void *study, bb_results *results,
                                                  bb_text *table);
/// Lists the fields in order of exposure, with a map of at most 80 columns, y upwards. Errors:
/// bb_scan_create's, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_experiment_list_fields(const void *study, bb_text *out);

#endif
