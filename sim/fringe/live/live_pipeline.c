// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_pipeline.h"

#include "core/memory.h"
#include "physics/fringe/carrier.h"
#include "physics/fringe/detection.h"
#include "physics/fringe/fringe_pupil.h"
#include "solvers/unwrap/unwrap_detection.h"

#include <math.h>

struct bb_live_pipeline {
    bb_device *device;
    bb_unwrap *unwrap;
    bb_unwrap_detection *detection;
    bb_device_graph *graph;
};

// Steps of the study's frames in rad.
static void list_steps(const bb_fringe_detection_config *detection, bb_index count, double *out)
{
    for (bb_index n = 0; n < count; ++n) {
        out[n] = (double)n * bb_fringe_config_step_rad(detection);
    }
}

// The phase by physics where there is fringe enough, else NaN.
static bb_status detect(const bb_fringe_study *study, const bb_live_frames *frames, double *phase)
{
    bb_status status = BB_OK;
    const bb_index values = frames->count * frames->rows * frames->columns;
    const double levels = (double)((1 << frames->bits) - 1);
    double steps[BB_LIVE_MOST_FRAMES];
    bb_frames stored = {.steps = frames->count,
                        .columns = frames->columns,
                        .rows = frames->rows,
                        .steps_rad = steps};
    list_steps(&study->physics.detection, frames->count, steps);
    BB_TRY(BB_ALLOCATE(values, &stored.intensity));
    for (bb_index i = 0; i < values; ++i) {
        stored.intensity[i] = (double)frames->counts[i] / levels;
    }
    BB_TRY(bb_detection_run(&study->physics.detection, &stored, phase, NULL));
done:
    BB_RELEASE(&stored.intensity);
    return status;
}

bb_status bb_live_pipeline_mask(const bb_fringe_study *study, const bb_live_frames *frames,
                                const double *truth, unsigned char *mask)
{
    bb_status status = BB_OK;
    const bb_index points = frames->columns * frames->rows;
    bb_fringe_config physics = study->physics;
    double *phase = NULL;
    bb_index count = 0;
    physics.size = (bb_fringe_size_config){.columns = frames->columns, .rows = frames->rows};
    BB_TRY(BB_ALLOCATE(points, &phase));
    BB_TRY(bb_fringe_pupil_draw(&physics, mask));
    BB_TRY(detect(study, frames, phase));
    for (bb_index p = 0; p < points; ++p) {
        mask[p] = mask[p] != 0 && isfinite(phase[p]) && (truth == NULL || isfinite(truth[p]));
        count += mask[p];
    }
    BB_REQUIRE(count > 0, BB_INVALID,
               "the first frames have no pixel in the pupil whose modulation is at least "
               "detection.least_modulation = %g",
               study->physics.detection.least_modulation);
done:
    BB_RELEASE(&phase);
    return status;
}

static bb_unwrap_detection_config read_detection(const bb_fringe_study *study, bb_format arithmetic,
                                                 bb_index count)
{
    const bb_fringe_detection_config *detection = &study->physics.detection;
    bb_unwrap_detection_config config = {.arithmetic = arithmetic, .frames = count};
    double steps[BB_UNWRAP_FRAMES];
    if (count == BB_UNWRAP_FRAMES) {
        list_steps(detection, count, steps);
        bb_detection_weights(count, steps, config.cosines, config.sines);
        for (bb_index n = 0; n < count; ++n) {
            config.sines[n] = -config.sines[n]; // the phase is atan2(-a2, a1)
        }
    } else {
        config.carrier_x = detection->carrier.x;
        config.carrier_y = detection->carrier.y;
        config.window_px = detection->carrier.window_px;
        bb_carrier_window(config.window_px, config.window);
    }
    return config;
}

static bb_status queue(void *context)
{
    bb_status status = BB_OK;
    bb_live_pipeline *pipeline = context;
    BB_TRY(bb_unwrap_detection_queue(pipeline->detection));
    BB_TRY(bb_unwrap_queue(pipeline->unwrap));
done:
    return status;
}

bb_status bb_live_pipeline_create(bb_kernel_context *context, const bb_fringe_study *study,
                                  bb_index index, const bb_live_frames *frames,
                                  const unsigned char *mask, bb_live_pipeline **out)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    const bb_unwrap_config config = bb_fringe_study_unwrap(study, &pipelines[index]);
    const bb_unwrap_detection_config detection =
        read_detection(study, config.slots[BB_UNWRAP_GRADIENT].arithmetic, frames->count);
    bb_live_pipeline *pipeline = NULL;
    BB_TRY(BB_ZEROED(1, &pipeline));
    pipeline->device = bb_kernel_context_device(context);
    BB_TRY(
        bb_unwrap_create(context, &config, mask, frames->columns, frames->rows, &pipeline->unwrap));
    BB_TRY(bb_unwrap_detection_create(context, &detection, mask,
                                      bb_unwrap_wrapped(pipeline->unwrap), &pipeline->detection));
    BB_TRY(bb_unwrap_detection_load(pipeline->detection, frames->counts));
    BB_TRY(bb_device_graph_create(pipeline->device, queue, pipeline, &pipeline->graph));
    BB_TRY(bb_device_wait(pipeline->device)); // the frames are free again
    *out = pipeline;
    pipeline = NULL;
done:
    bb_live_pipeline_destroy(&pipeline);
    return status;
}

void bb_live_pipeline_destroy(bb_live_pipeline **pipeline)
{
    if (*pipeline != NULL) {
        bb_device_graph_destroy(&(*pipeline)->graph);
        bb_unwrap_detection_destroy(&(*pipeline)->detection);
        bb_unwrap_destroy(&(*pipeline)->unwrap);
        BB_RELEASE(pipeline);
    }
}

bb_status bb_live_pipeline_start(bb_live_pipeline *pipeline, const bb_live_frames *frames)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_detection_load(pipeline->detection, frames->counts));
    BB_TRY(bb_device_graph_replay(pipeline->graph));
    BB_TRY(bb_unwrap_fetch(pipeline->unwrap));
done:
    return status;
}

bool bb_live_pipeline_is_done(const bb_live_pipeline *pipeline)
{
    return bb_device_is_idle(pipeline->device);
}

bb_status bb_live_pipeline_finish(bb_live_pipeline *pipeline, double *phase,
                                  bb_unwrap_report *report)
{
    return bb_unwrap_read(pipeline->unwrap, phase, report);
}

const bb_unwrap_parts *bb_live_pipeline_parts(const bb_live_pipeline *pipeline)
{
    return bb_unwrap_parts_of(pipeline->unwrap);
}
