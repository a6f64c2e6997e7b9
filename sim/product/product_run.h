// SPDX-License-Identifier: Apache-2.0
//
// The product driver: the user's matrix -> coded per pipeline -> times vectors -> error of y.
#ifndef BB_SIM_PRODUCT_PRODUCT_RUN_H
#define BB_SIM_PRODUCT_PRODUCT_RUN_H

#include "sim/experiment.h"

extern const bb_output_table *const bb_product_outputs[];

/// Contracts in sim/experiment.h; `study` is a bb_product_study.
BB_CHECKED bb_status bb_product_run(const void *study, const bb_run_options *options,
                                    bb_results *results);
BB_CHECKED bb_status bb_product_run_plan(const void *study, const bb_run_options *options,
                                         bb_plan *plan);

#endif
