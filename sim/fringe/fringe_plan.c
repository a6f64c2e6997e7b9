// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a fringe study, before anything is computed.
#include "core/memory.h"
#include "physics/fringe/fringe_pupil.h"
#include "sim/fringe/fringe_experiment.h"
#include "sim/fringe/fringe_work.h"

#include <string.h>

// Scene, and frames as they are and as they are stored.
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

// Whether the pupil that run draws has a point; that of an input comes with its data.
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

// The scene and the maps of a draw stay beside the work of the parts.
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
    BB_TRY(bb_parts_need(bb_fringe_parts, &fitted, &extent, bb_need_kept(kept), &need));
    need.seconds += kept.seconds;
    bb_plan_set(plan, need);
    BB_TRY(bb_plan_add(plan, "phase", "%td x %td pixels", size->columns, size->rows));
    BB_TRY(bb_parts_plan_lines(bb_fringe_parts, &fitted, &extent, plan));
done:
    return status;
}
