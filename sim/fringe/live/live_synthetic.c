// SPDX-License-Identifier: Apache-2.0
//
// Frames of the study's own scene: a few draws, with noise of their own, in turn.
#include "core/clock.h"
#include "core/memory.h"
#include "physics/fringe/interferogram.h"
#include "sim/fringe/live/live_source.h"

#include <math.h>

enum { DRAWS = 4, USUAL_BITS = 12 };

typedef struct synthetic {
    bb_scene *scenes[DRAWS];
    bb_live_frames frames[DRAWS];
    bb_index next;
} synthetic;

static void close_synthetic(void **state)
{
    synthetic *source = *state;
    if (source == NULL) {
        return;
    }
    for (int draw = 0; draw < DRAWS; ++draw) {
        bb_scene_destroy(&source->scenes[draw]);
        bb_live_frames_release(&source->frames[draw]);
    }
    bb_memory_release(state);
}

// What a camera stores; pixels without data have no light.
static bb_status store(const bb_fringe_config *physics, uint64_t seed, bb_index draw,
                       const bb_scene *scene, bb_live_frames *out)
{
    bb_status status = BB_OK;
    bb_frames *frames = NULL;
    const bb_index bits =
        physics->camera.bits == BB_INTEGER_UNSET ? USUAL_BITS : physics->camera.bits;
    const double levels = (double)((1 << bits) - 1);
    BB_TRY(bb_frames_create(physics, scene, seed, draw, &frames));
    BB_TRY(bb_live_frames_shape(out, frames->steps, frames->columns, frames->rows));
    bb_frames_quantise(frames, bits, NULL);
    for (bb_index i = 0; i < frames->steps * frames->rows * frames->columns; ++i) {
        const double value = frames->intensity[i];
        out->counts[i] = isfinite(value) ? (uint16_t)rint(levels * value) : 0;
    }
    out->bits = bits;
    out->draw = draw;
done:
    bb_frames_destroy(&frames);
    return status;
}

static bb_status open_synthetic(const bb_live_request *request, void **state)
{
    bb_status status = BB_OK;
    const bb_fringe_config *physics = &request->study->physics;
    const uint64_t seed = (uint64_t)request->study->common.seed;
    void *made = NULL;
    BB_TRY(bb_memory_zeroed(1, sizeof(synthetic), &made));
    synthetic *source = made;
    for (int draw = 0; draw < DRAWS; ++draw) {
        source->frames[draw].device = request->device;
        BB_TRY(bb_scene_create(physics, seed, draw, &source->scenes[draw]));
        BB_TRY(store(physics, seed, draw, source->scenes[draw], &source->frames[draw]));
    }
    *state = made;
    made = NULL;
done:
    close_synthetic(&made);
    return status;
}

static bb_status take_synthetic(void *state, bb_live_frames *frames, bb_live_event *event)
{
    synthetic *source = state;
    const bb_live_frames *next = &source->frames[source->next];
    bb_live_frames_share(frames, next);
    frames->passed = 0;
    frames->taken_ns = bb_clock_ns();
    source->next = (source->next + 1) % DRAWS;
    *event = BB_LIVE_TAKEN;
    return BB_OK;
}

static const double *truth_of(const void *state, bb_index draw)
{
    return ((const synthetic *)state)->scenes[draw]->phase;
}

const bb_live_source_kind bb_live_synthetic = {
    .name = "synthetic",
    .form = "synthetic",
    .meaning = "the study's own scene, four draws of noise in turn",
    .waits = true,
    .open = open_synthetic,
    .close = close_synthetic,
    .take = take_synthetic,
    .truth = truth_of,
};
