// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_lanes.h"

#include "core/memory.h"
#include "physics/fringe/detection.h"
#include "physics/fringe/fringe_pupil.h"
#include "sim/run/device_choice.h"

#include <math.h>
#include <string.h>

static const bb_device_offer offer = {.work = "unwrapping a stream",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

// Phase steps of the study's frames in rad.
static void list_steps(const bb_fringe_detection_config *detection, bb_index count, double *out)
{
    for (bb_index n = 0; n < count; ++n) {
        out[n] = (double)n * bb_fringe_config_step_rad(detection);
    }
}

// Detects the phase on the host; NaN where the modulation is too low.
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
               "no pixel of the pupil reaches detection.least_modulation = %g in the first frames",
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
        bb_detection_carrier_window(config.window_px, config.window);
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

static void destroy_pipeline(bb_live_pipeline **pipeline)
{
    if (*pipeline != NULL) {
        bb_device_graph_destroy(&(*pipeline)->graph);
        bb_unwrap_detection_destroy(&(*pipeline)->detection);
        bb_unwrap_destroy(&(*pipeline)->unwrap);
        BB_RELEASE(pipeline);
    }
}

// Creates a pipeline for frames of a given shape and compiles its kernels.
static bb_status create_pipeline(bb_kernel_context *context, const bb_fringe_study *study,
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
    BB_TRY(bb_device_wait(pipeline->device)); // `frames` may be reused from here on
    *out = pipeline;
    pipeline = NULL;
done:
    destroy_pipeline(&pipeline);
    return status;
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

static bb_status add_lane(bb_live_lanes *lanes, bb_index index)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipeline =
        &((const bb_fringe_pipeline *)lanes->study->pipelines.items)[index];
    bb_live_lane *next = &lanes->items[lanes->count];
    for (bb_index i = 0; i < lanes->count; ++i) {
        BB_REQUIRE(lanes->items[i].index != index, BB_INVALID, "--pipeline names %s twice",
                   pipeline->name);
    }
    *next = (bb_live_lane){.index = index, .name = pipeline->name};
    BB_TRY(
        bb_device_choice_make(&offer, lanes->study->common.device, pipeline->device, &next->kind));
    ++lanes->count;
done:
    return status;
}

static bb_status find_pipeline(const bb_fringe_study *study, const char *name, size_t length,
                               bb_index *out)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    *out = -1;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (strlen(pipelines[p].name) == length && strncmp(pipelines[p].name, name, length) == 0) {
            *out = p;
        }
    }
    BB_REQUIRE(*out >= 0, BB_INVALID, "--pipeline %.*s: the study has no such pipeline",
               (int)length, name);
done:
    return status;
}

// Lists the named pipelines; default: the first one that is not the reference, whose frames are not
// quantised.
static bb_status list_lanes(bb_live_lanes *lanes, const char *names)
{
    bb_status status = BB_OK;
    const bb_fringe_study *study = lanes->study;
    const bb_index reference = bb_fringe_study_reference(study);
    const char *name = names;
    BB_TRY(BB_ZEROED(study->pipelines.count, &lanes->items));
    if (name == NULL) {
        BB_TRY(add_lane(lanes, study->pipelines.count == 1 ? 0 : reference == 0));
    }
    while (name != NULL) {
        const size_t length = strcspn(name, ",");
        bb_index index = 0;
        BB_TRY(find_pipeline(study, name, length, &index));
        BB_TRY(add_lane(lanes, index));
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
done:
    return status;
}

static bb_status choose_overlap(bb_live_lanes *lanes, bb_index overlap)
{
    bb_status status = BB_OK;
    const bb_index usual = lanes->count == 1 && lanes->items[0].kind == BB_DEVICE_CUDA ? 3 : 1;
    BB_REQUIRE(overlap >= 0 && overlap <= BB_LIVE_MOST_OVERLAP, BB_INVALID,
               "--overlap %td, expected 1..%d", overlap, BB_LIVE_MOST_OVERLAP);
    BB_REQUIRE(overlap <= 1 || lanes->count == 1, BB_INVALID,
               "--overlap %td needs a single pipeline; several are run one after the other",
               overlap);
    lanes->overlap = overlap == 0 ? usual : overlap;
done:
    return status;
}

static bb_status open_place(bb_live_lanes *lanes, bb_device_kind kind, bb_index turn)
{
    bb_status status = BB_OK;
    bb_live_place *where = &lanes->places[kind][turn];
    if (where->device == NULL) {
        BB_TRY(bb_device_open(kind, 0, &where->device));
        BB_TRY(bb_kernel_context_create(where->device, &where->context));
        BB_TRY(bb_kernel_variants_join(lanes->variants, where->context));
    }
done:
    return status;
}

bb_status bb_live_lanes_create(const bb_fringe_study *study, const char *names, bb_index overlap,
                               bb_kernel_variants *variants, bb_live_lanes **out)
{
    bb_status status = BB_OK;
    bb_live_lanes *lanes = NULL;
    bb_device_choice_announce(&offer, study->common.device, study->common.device);
    BB_TRY(BB_ZEROED(1, &lanes));
    lanes->study = study;
    lanes->variants = variants;
    BB_TRY(list_lanes(lanes, names));
    BB_TRY(choose_overlap(lanes, overlap));
    for (bb_index i = 0; i < lanes->count; ++i) {
        for (bb_index turn = 0; turn < lanes->overlap; ++turn) {
            BB_TRY(open_place(lanes, lanes->items[i].kind, turn));
        }
    }
    *out = lanes;
    lanes = NULL;
done:
    bb_live_lanes_destroy(&lanes);
    return status;
}

void bb_live_lanes_destroy(bb_live_lanes **lanes)
{
    if (*lanes == NULL) {
        return;
    }
    bb_live_lanes_clear(*lanes);
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        for (int turn = 0; turn < BB_LIVE_MOST_OVERLAP; ++turn) {
            bb_kernel_context_destroy(&(*lanes)->places[kind][turn].context);
            bb_device_close(&(*lanes)->places[kind][turn].device);
        }
    }
    BB_RELEASE(&(*lanes)->items);
    BB_RELEASE(lanes);
}

bb_device *bb_live_lanes_device(const bb_live_lanes *lanes)
{
    bb_device_kind kind = lanes->items[0].kind;
    for (bb_index i = 0; i < lanes->count && kind == BB_DEVICE_CPU; ++i) {
        kind = lanes->items[i].kind;
    }
    return lanes->places[kind][0].device;
}

bb_status bb_live_lanes_make(bb_live_lanes *lanes, const bb_live_frames *frames,
                             const unsigned char *mask)
{
    bb_status status = BB_OK;
    bb_live_lanes_clear(lanes);
    for (bb_index i = 0; i < lanes->count; ++i) {
        bb_live_lane *lane = &lanes->items[i];
        for (bb_index turn = 0; turn < lanes->overlap; ++turn) {
            BB_TRY(create_pipeline(lanes->places[lane->kind][turn].context, lanes->study,
                                   lane->index, frames, mask, &lane->turns[turn]));
        }
    }
done:
    return status;
}

void bb_live_lanes_clear(bb_live_lanes *lanes)
{
    for (bb_index i = 0; i < lanes->count; ++i) {
        for (bb_index turn = 0; turn < lanes->overlap; ++turn) {
            destroy_pipeline(&lanes->items[i].turns[turn]);
        }
    }
}
