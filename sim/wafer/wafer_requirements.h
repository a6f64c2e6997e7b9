// SPDX-License-Identifier: Apache-2.0
//
// What a wafer study asks of a machine, for its plan: Figure 3 of Bamakhrama et al. (2019) from the
// study's own sizes, and the schedule of Table 1 for a machine whose rates the user gives.
#ifndef BB_SIM_WAFER_WAFER_REQUIREMENTS_H
#define BB_SIM_WAFER_WAFER_REQUIREMENTS_H

#include "core/schema.h"
#include "physics/wafer/requirements.h"
#include "sim/plan.h"
#include "sim/study.h"

/// Keys of `machine:`. Rates are NaN where they are not given.
typedef struct bb_machine_config {
    double budget_ms; ///< 0: the field's light and dark steps
    double link_gb_per_s;
    double decode_gb_per_s;
    double product_gflop_per_s;
    double compression_ratio;
    bb_machine_price price;
} bb_machine_config;

extern const bb_schema bb_machine_schema;

/// Adds the requirements of `sizes`, whose budget is set here from the machine's or `field_ms`, as
/// printed and as corrected, and the schedule without and with compression as far as rates are
/// given. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_requirements_plan(const bb_machine_config *machine, double field_ms,
                                                bb_requirement_sizes sizes, bb_plan *plan);

#endif
