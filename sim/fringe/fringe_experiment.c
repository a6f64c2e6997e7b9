// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_experiment.h"

#include "sim/fringe/fringe_plan.h"
#include "sim/fringe/fringe_run.h"
#include "sim/fringe/fringe_slots.h"
#include "sim/fringe/fringe_study.h"
#include "sim/fringe/live/live_run.h"

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

// Which pipelines a stream has, it says itself; one of unknown numbers is none of them.
static bb_status run_live(const void *study, const bb_live_options *options, bb_results *results,
                          bb_text *table)
{
    bb_status status = BB_OK;
    const bb_list *list = &((const bb_fringe_study *)study)->pipelines;
    const bb_fringe_pipeline *pipelines = list->items;
    for (bb_index p = 0; p < list->count; ++p) {
        BB_REQUIRE(!bb_fringe_pipeline_promises(&pipelines[p]), BB_INVALID,
                   "pipelines.%td.promise: the numbers of %s are not known before a run, expected "
                   "a study of pipelines that have theirs",
                   p, pipelines[p].name);
    }
    BB_TRY(bb_live_run(study, options, results, table));
done:
    return status;
}

const bb_experiment bb_fringe_experiment = {
    .name = "fringe",
    .schema = &bb_fringe_study_schema,
    .starter = bb_fringe_study_starter,
    .check = bb_fringe_study_check,
    .plan = bb_fringe_plan,
    .run = bb_fringe_run,
    .live = run_live,
    .live_help =
        "interferograms, four frames or one with a carrier a phase, unwrapped as they come",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .outputs = bb_fringe_outputs,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "wrong cycles",
    .tolerance = 0.0,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .slots = &bb_fringe_slots,
    .operators = "phase,maps",
};
