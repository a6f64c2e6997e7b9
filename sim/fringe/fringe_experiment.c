// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_experiment.h"

#include "core/memory.h"
#include "physics/fringe/fringe_pupil.h"
#include "sim/fringe/fringe_work.h"

#include <string.h>

// Memory for the scene and for its frames, ideal and as stored.
static bb_need find_scene_need(const bb_fringe_study *study, const bb_fringe_input *input)
{
    const bb_fringe_config *physics = &study->physics;
    const double points = (double)physics->size.columns * (double)physics->size.rows;
    const bool is_measured = input->columns > 0;
    bb_need scene = is_measured ? bb_fringe_input_need(input) : bb_scene_need(physics);
    if (physics->detection.algorithm != BB_DETECTION_NONE) {
        const bb_need stored = {.host_bytes = 8.0 * points * (double)physics->detection.steps};
        const bb_need drawn = is_measured ? (bb_need){0} : bb_frames_need(physics);
        scene = bb_need_together(scene, bb_need_together(drawn, stored));
    }
    return scene;
}

// Checks that a synthetic pupil has a point; a measured pupil is checked when its data are read.
static bb_status check_pupil(const bb_fringe_study *study)
{
    bb_status status = BB_OK;
    const bb_fringe_size_config *size = &study->physics.size;
    const bb_index points = size->columns * size->rows;
    unsigned char *mask = NULL; // [rows][columns]
    BB_TRY(BB_ALLOCATE(points, &mask));
    BB_TRY(bb_fringe_pupil_draw(&study->physics, mask));
    BB_TRY(bb_fringe_pupil_damage(&study->physics, (uint64_t)study->common.seed, mask));
    BB_REQUIRE(memchr(mask, 1, (size_t)points) != NULL, BB_INVALID,
               "a mask of %td x %td without a point: there is no phase to unwrap", size->columns,
               size->rows);
done:
    BB_RELEASE(&mask);
    return status;
}

// The scene and the maps of a draw stay allocated while the parts run.
bb_status bb_fringe_experiment_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_fringe_extent extent = {.dump = options->dump};
    bb_need need;
    BB_TRY(bb_fringe_input_inspect(study, &extent.input));
    const bb_fringe_study fitted = bb_fringe_input_study(study, &extent.input);
    const bb_fringe_size_config *size = &fitted.physics.size;
    BB_TRY(extent.input.columns > 0 ? BB_OK : check_pupil(&fitted));
    extent.points = (double)size->columns * (double)size->rows;
    bb_need kept = find_scene_need(&fitted, &extent.input);
    kept.host_bytes += 33.0 * extent.points;
    BB_TRY(bb_parts_need(bb_fringe_parts, &fitted, &extent, bb_need_resident(kept), &need));
    need.seconds += kept.seconds;
    bb_plan_set(plan, need);
    BB_TRY(bb_plan_add(plan, "phase", "%td x %td pixels", size->columns, size->rows));
    BB_TRY(bb_parts_plan_lines(bb_fringe_parts, &fitted, &extent, plan));
done:
    return status;
}

static const bb_column columns[] = {
    {"wrong_cycles", "wrong cycles", 1.0},
    {"wrong_cycles_reference", "vs reference", 1.0},
    {"wavefront_error_nm", "error [nm]", 1.0},
    {"wavefront_error_reference_nm", "vs reference [nm]", 1.0},
    {"rejected_share", "rejected", 1.0},
    {"operator_bytes", "fields [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "unwrap [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};
static const bb_column scores[] = {{"wrong_cycles", "wrong cycles against the truth", 1.0},
                                   {"wavefront_rms_nm", "wavefront", 1.0}};
static const char *const losses[] = {"wrong_cycles_reference"};

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

// Execution order: searches first, so that the pipelines they find are scored like the others.
const bb_part *const bb_fringe_parts[] = {
    &bb_fringe_input_part,
    &bb_fringe_unwrapping_part,
    &bb_fringe_search_part,
    &bb_fringe_score_part,
    &bb_fringe_maps_part,
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
        "interferograms unwrapped as they arrive, four frames or one with a carrier per phase",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = bb_fringe_parts,
    .losses = losses,
    .loss_count = sizeof losses / sizeof losses[0],
    .loss_name = "wrong cycles",
    .tolerance = 0.0,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .slots = &bb_fringe_slots,
    .operators = "phase,maps",
};
