// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_experiment.h"

#include "sim/fringe/fringe_work.h"

static const bb_column columns[] = {
    {"wrong_cycles", "wrong cycles", 1.0},
    {"wrong_cycles_reference", "of reference", 1.0},
    {"wavefront_error_nm", "error [nm]", 1.0},
    {"wavefront_error_reference_nm", "of reference [nm]", 1.0},
    {"rejected_share", "rejected", 1.0},
    {"operator_bytes", "fields [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "unwrap [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};
static const bb_column scores[] = {{"wrong_cycles", "wrong cycles against the truth", 1.0},
                                   {"wavefront_rms_nm", "wavefront", 1.0}};
static const char *const prices[] = {"wrong_cycles_reference"};

static bb_status check_kernels(const void *study, const bb_config *config, bb_problems *problems)
{
    return bb_kernel_keys_check(&((const bb_fringe_study *)study)->kernels, config, problems);
}

static bb_status publish_kernels(void *run, bb_results *results)
{
    return bb_kernel_variants_publish(((bb_fringe_run *)run)->work.variants, results);
}

static const bb_part kernels = {
    .name = "kernels",
    .check = check_kernels,
    .run = publish_kernels,
    .outputs = BB_OUTPUTS(&bb_kernel_ledger_axes, &bb_kernel_ledger_outputs),
};

// In the order in which they run: searches first, whose pipelines are scored as all others.
const bb_part *const bb_fringe_parts[] = {
    &bb_fringe_input_part,
    &bb_fringe_unwrapping_part,
    &bb_fringe_promise_part,
    &bb_fringe_score_part,
    &bb_fringe_maps_part,
    &bb_fringe_trials_part,
    &bb_live_part,
    &kernels,
    NULL,
};

const bb_experiment bb_fringe_experiment = {
    .name = "fringe",
    .schema = &bb_fringe_study_schema,
    .starter = bb_fringe_study_starter,
    .check = bb_fringe_study_check,
    .plan = bb_fringe_experiment_plan,
    .run = bb_fringe_experiment_run,
    .live = bb_fringe_experiment_live,
    .live_help =
        "interferograms, four frames or one with a carrier a phase, unwrapped as they come",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = bb_fringe_parts,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "wrong cycles",
    .tolerance = 0.0,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .slots = &bb_fringe_slots,
    .operators = "phase,maps",
};
