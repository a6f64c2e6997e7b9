// SPDX-License-Identifier: Apache-2.0
//
// Frames of one HDF5 file, once or again and again.
#include "core/clock.h"
#include "core/memory.h"
#include "sim/fringe/live/live_dataset.h"
#include "sim/isolation.h"

enum { PATIENCE_SECONDS = 60 };

typedef struct frame_file {
    bb_live_dataset dataset;
    bb_index next, count; // frames: the next one, and of a phase
    bool loops;
} frame_file;

static void close_file(void **state)
{
    frame_file *source = *state;
    if (source != NULL) {
        bb_live_dataset_close(&source->dataset);
        bb_memory_release(state);
    }
}

// A damaged file may crash the library: its first frames are read in a child process before.
static bb_status try_file(void *context)
{
    bb_status status = BB_OK;
    const bb_live_request *request = context;
    bb_live_dataset dataset = BB_LIVE_DATASET_NONE;
    bb_live_frames frames = {0};
    BB_TRY(bb_live_dataset_open(request->place, &dataset));
    BB_REQUIRE(dataset.frames >= request->count, BB_INVALID,
               "'%s' has %td frames, expected at least the %td of a phase", request->place,
               dataset.frames, request->count);
    BB_TRY(bb_live_frames_shape(&frames, request->count, dataset.columns, dataset.rows));
    BB_TRY(bb_live_dataset_read(&dataset, 0, request->count, frames.counts));
done:
    bb_live_frames_release(&frames);
    bb_live_dataset_close(&dataset);
    return status;
}

static bb_status open_file(const bb_live_request *request, bool loops, void **state)
{
    bb_status status = BB_OK;
    bb_live_request child = *request;
    void *made = NULL;
    BB_TRY(bb_isolation_run(request->place, PATIENCE_SECONDS, try_file, &child));
    BB_TRY(bb_memory_zeroed(1, sizeof(frame_file), &made));
    frame_file *source = made;
    *source =
        (frame_file){.dataset = BB_LIVE_DATASET_NONE, .count = request->count, .loops = loops};
    BB_TRY(bb_live_dataset_open(request->place, &source->dataset));
    *state = made;
    made = NULL;
done:
    close_file(&made);
    return status;
}

static bb_status open_once(const bb_live_request *request, void **state)
{
    return open_file(request, false, state);
}

static bb_status open_loop(const bb_live_request *request, void **state)
{
    return open_file(request, true, state);
}

static bb_status take_file(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    frame_file *source = state;
    const bb_live_dataset *dataset = &source->dataset;
    if (source->next + source->count > dataset->frames && source->loops) {
        source->next = 0;
    }
    *event = BB_LIVE_ENDED;
    if (source->next + source->count <= dataset->frames) {
        BB_TRY(bb_live_frames_shape(frames, source->count, dataset->columns, dataset->rows));
        BB_TRY(bb_live_dataset_read(dataset, source->next, source->count, frames->counts));
        source->next += source->count;
        frames->bits = dataset->bits;
        frames->passed = 0;
        frames->draw = -1;
        frames->taken_ns = bb_clock_ns();
        *event = BB_LIVE_TAKEN;
    }
done:
    return status;
}

const bb_live_source_kind bb_live_file = {
    .name = "file",
    .form = "file:FRAMES.h5",
    .meaning = "/frames [frames][rows][columns] of an HDF5 file, once",
    .has_place = true,
    .waits = true,
    .open = open_once,
    .close = close_file,
    .take = take_file,
};

const bb_live_source_kind bb_live_loop = {
    .name = "loop",
    .form = "loop:FRAMES.h5",
    .meaning = "the same again and again",
    .has_place = true,
    .waits = true,
    .open = open_loop,
    .close = close_file,
    .take = take_file,
};
