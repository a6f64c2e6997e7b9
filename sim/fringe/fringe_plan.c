// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_plan.h"

#include "physics/fringe/wavefront.h"
#include "sim/fringe/fringe_dump.h"
#include "sim/fringe/fringe_maps.h"
#include "sim/fringe/fringe_work.h"
#include "solvers/unwrap/unwrap_quality.h"

// Scene, frames as they are and as they are stored, and one unwrapper at a time.
bb_status bb_fringe_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_fringe_input input;
    BB_TRY(bb_fringe_input_inspect(study, &input));
    const bb_fringe_study fitted = bb_fringe_input_study(study, &input);
    const bb_fringe_study *fringe = &fitted;
    const bb_fringe_config *physics = &fringe->physics;
    const bb_fringe_pipeline *pipelines = fringe->pipelines.items;
    const double points = (double)physics->size.columns * (double)physics->size.rows;
    const bool has_frames = physics->detection.algorithm != BB_DETECTION_NONE;
    const bool is_measured = input.columns > 0;
    bb_need scene = is_measured ? bb_fringe_input_need(&input) : bb_scene_need(physics);
    bb_need unwraps = {0};
    BB_TRY(
        bb_plan_add(plan, "phase", "%td x %td pixels", physics->size.columns, physics->size.rows));
    if (is_measured) {
        BB_TRY(bb_plan_add(plan, "input", "'%s', dataset '%s': %s", fringe->input.file,
                           fringe->input.dataset, input.steps > 0 ? "frames" : "a wrapped phase"));
    }
    for (bb_index p = 0; p < fringe->pipelines.count; ++p) {
        const bb_unwrap_config config = bb_fringe_study_unwrap(fringe, &pipelines[p]);
        const int wish = bb_device_choice_wish(fringe->common.device, pipelines[p].device);
        const bool on_gpu = bb_device_choice_resolve(&bb_fringe_offer, wish) == BB_DEVICE_CUDA;
        bb_need unwrap = bb_unwrap_need(&config, physics->size.columns, physics->size.rows, on_gpu);
        plan->gpus = on_gpu ? 1 : plan->gpus;
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "%s, storage %s",
                           bb_format_describe(config.slots[0].arithmetic)->name,
                           bb_format_describe(config.slots[BB_UNWRAP_SMOOTHER].storage)->name));
        unwrap = bb_need_repeated(unwrap, is_measured ? 1.0 : (double)pipelines[p].draws);
        unwraps = bb_need_in_turn(unwraps, unwrap);
    }
    if (has_frames) {
        const bb_need stored = {.host_bytes = 8.0 * points * (double)physics->detection.steps};
        const bb_need drawn = is_measured ? (bb_need){0} : bb_frames_need(physics);
        scene = bb_need_together(scene, bb_need_together(drawn, stored));
    }
    if (fringe->zernike_terms > 0) {
        unwraps =
            bb_need_in_turn(unwraps, bb_wavefront_need(physics->size.columns, physics->size.rows,
                                                       fringe->zernike_terms));
    }
    const double dumped =
        bb_fringe_dump_bytes(options->dump, (double)fringe->pipelines.count, points);
    const bb_need thinned =
        bb_fringe_maps_need(physics->size.columns, physics->size.rows, fringe->pipelines.count);
    const bb_need maps = {.host_bytes = 33.0 * points + thinned.host_bytes + dumped};
    unwraps = bb_need_together(unwraps,
                               bb_unwrap_quality_need(physics->size.columns, physics->size.rows));
    bb_plan_set(plan, bb_need_together(maps, bb_need_together(scene, unwraps)));
    plan->output_bytes = 2000.0 * (double)fringe->pipelines.count + thinned.host_bytes + dumped;
done:
    return status;
}
