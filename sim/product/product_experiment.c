// SPDX-License-Identifier: Apache-2.0
#include "sim/product/product_experiment.h"

#include "sim/product/product_run.h"
#include "sim/product/product_study.h"

static const bb_column columns[] = {
    {"qoi_relative_error", "relative error", 1.0},
    {"worst_relative_error", "worst vector", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},
    {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};
static const char *const prices[] = {"qoi_relative_error"};

const bb_experiment bb_product_experiment = {
    .name = "product",
    .schema = &bb_product_study_schema,
    .starter = bb_product_study_starter,
    .check = bb_product_study_check,
    .plan = bb_product_run_plan,
    .run = bb_product_run,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .outputs = bb_product_outputs,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "relative error",
    .tolerance = 1e-3,
    .operators = "Y,C",
};
