// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_plan.h"

#include "core/memory.h"
#include "physics/fringe/fringe_pupil.h"
#include "physics/fringe/wavefront.h"
#include "sim/fringe/fringe_dump.h"
#include "sim/fringe/fringe_maps.h"
#include "sim/fringe/fringe_promise.h"
#include "solvers/unwrap/unwrap_descent.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <math.h>
#include <string.h>

// One pipeline, and its line.
static bb_status add_pipeline(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline,
                              bb_plan *plan, bb_need *need)
{
    bb_status status = BB_OK;
    const bb_fringe_size_config *size = &study->physics.size;
    const int wish = bb_device_choice_wish(study->common.device, pipeline->device);
    const bool on_gpu = bb_device_choice_resolve(&bb_fringe_offer, wish) == BB_DEVICE_CUDA;
    const bb_unwrap_config config = bb_fringe_study_unwrap(study, pipeline);
    plan->gpus = on_gpu ? 1 : plan->gpus;
    if (bb_fringe_pipeline_promises(pipeline)) {
        BB_TRY(bb_fringe_promise_plan(study, pipeline, on_gpu, plan, need));
        goto done;
    }
    BB_TRY(bb_plan_add(plan, pipeline->name, "%s, storage %s",
                       bb_format_describe(config.slots[0].arithmetic)->name,
                       bb_format_describe(config.slots[BB_UNWRAP_SMOOTHER].storage)->name));
    *need = bb_need_repeated(bb_unwrap_need(&config, size->columns, size->rows, on_gpu),
                             (double)bb_fringe_study_draws(study, pipeline));
done:
    return status;
}

static bb_status add_pipelines(const bb_fringe_study *study, bb_plan *plan, bb_need *unwraps)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    const bb_fringe_size_config *size = &study->physics.size;
    *unwraps = (bb_need){0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        bb_need need = {0};
        BB_TRY(add_pipeline(study, &pipelines[p], plan, &need));
        *unwraps = bb_need_in_turn(*unwraps, need);
    }
    unwraps->seconds += bb_fringe_promises_compile_s(study);
    if (study->zernike_terms > 0) {
        *unwraps = bb_need_in_turn(
            *unwraps, bb_wavefront_need(size->columns, size->rows, study->zernike_terms));
    }
done:
    return status;
}

// What a study looks at: frames as they are and as they are stored.
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

// The scene, phases of the reference that stay, and one unwrapper at a time.
bb_status bb_fringe_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_fringe_input input;
    bb_need unwraps = {0};
    BB_TRY(bb_fringe_input_inspect(study, &input));
    const bb_fringe_study fitted = bb_fringe_input_study(study, &input);
    const bb_fringe_size_config *size = &fitted.physics.size;
    BB_TRY(input.columns > 0 ? BB_OK : check_pupil(&fitted));
    const double points = (double)size->columns * (double)size->rows;
    const double count = (double)fitted.pipelines.count;
    BB_TRY(bb_plan_add(plan, "phase", "%td x %td pixels", size->columns, size->rows));
    if (input.columns > 0) {
        BB_TRY(bb_plan_add(plan, "input", "'%s', dataset '%s': %s", fitted.input.file,
                           fitted.input.dataset, input.steps > 0 ? "frames" : "a wrapped phase"));
    }
    BB_TRY(add_pipelines(&fitted, plan, &unwraps));
    BB_TRY(bb_plan_add(plan, "conjugate gradients",
                       "not in the time; up to %d steps a least squares, if cycles do not "
                       "contract or the pupil winds",
                       BB_UNWRAP_DESCENT_STEPS));
    const double dumped = bb_fringe_dump_bytes(options->dump, count, points);
    const bb_need thinned = bb_fringe_maps_need(size->columns, size->rows, fitted.pipelines.count);
    const double kept = fmax((double)bb_fringe_promises_draws(&fitted) - 1.0, 0.0);
    const bb_need maps = {.host_bytes =
                              33.0 * points + 8.0 * points * kept + thinned.host_bytes + dumped};
    unwraps = bb_need_together(unwraps, bb_unwrap_quality_need(size->columns, size->rows));
    bb_plan_set(
        plan, bb_need_together(maps, bb_need_together(find_scene_need(&fitted, &input), unwraps)));
    plan->output_bytes = 2000.0 * count + thinned.host_bytes + dumped;
done:
    return status;
}
