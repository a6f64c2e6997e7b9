// SPDX-License-Identifier: Apache-2.0
#include "sim/reconstructor/reconstructor_experiment.h"

#include "sim/reconstructor/reconstructor_run.h"
#include "sim/reconstructor/reconstructor_study.h"

static const bb_column columns[] = {
    {"variance_loss", "variance loss", 1.0},   {"qoi_relative_error", "relative error", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6}, {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},       {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},           {"cost_usd", "cost [USD]", 1.0},
};
static const char *const prices[] = {"variance_loss"};

const bb_experiment bb_reconstructor_experiment = {
    .name = "reconstructor",
    .schema = &bb_reconstructor_study_schema,
    .starter = bb_reconstructor_study_starter,
    .check = bb_reconstructor_study_check,
    .plan = bb_reconstructor_run_plan,
    .run = bb_reconstructor_run,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .outputs = bb_reconstructor_outputs,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "variance loss",
    .tolerance = 1e-3,
    .operators = "R",
};
