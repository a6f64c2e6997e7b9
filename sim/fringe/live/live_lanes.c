// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_lanes.h"

#include "core/memory.h"
#include "sim/device_choice.h"

#include <string.h>

static const bb_device_offer offer = {.work = "unwrapping a stream",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

// An open device and its kernels.
typedef struct place {
    bb_device *device;
    bb_kernel_context *context;
} place;

struct bb_live_lanes {
    const bb_fringe_study *study;
    bb_kernel_variants *variants;
    bb_live_lane *items; // [count]
    bb_index count, overlap;
    place places[BB_DEVICE_KIND_COUNT][BB_LIVE_MOST_OVERLAP];
};

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

// Those that are named; else the first that is not the reference, which sees frames as they are.
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
               "--overlap %td is of one pipeline: several take a phase one after the other",
               overlap);
    lanes->overlap = overlap == 0 ? usual : overlap;
done:
    return status;
}

static bb_status open_place(bb_live_lanes *lanes, bb_device_kind kind, bb_index turn)
{
    bb_status status = BB_OK;
    place *where = &lanes->places[kind][turn];
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

bb_index bb_live_lanes_count(const bb_live_lanes *lanes)
{
    return lanes->count;
}

bb_index bb_live_lanes_overlap(const bb_live_lanes *lanes)
{
    return lanes->overlap;
}

const bb_live_lane *bb_live_lanes_at(const bb_live_lanes *lanes, bb_index i)
{
    return &lanes->items[i];
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
            BB_TRY(bb_live_pipeline_create(lanes->places[lane->kind][turn].context, lanes->study,
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
            bb_live_pipeline_destroy(&lanes->items[i].turns[turn]);
        }
    }
}
