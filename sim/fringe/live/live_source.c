// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_source.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/text.h"
#include "physics/fringe/interferogram.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

const bb_live_source_kind *const bb_live_sources[] = {
    &bb_live_synthetic, &bb_live_file, &bb_live_loop, &bb_live_directory, &bb_live_segment, NULL};

static void release_counts(bb_live_frames *frames)
{
    void *counts = frames->room > 0 ? frames->counts : NULL;
    if (frames->device != NULL) {
        bb_device_host_release(frames->device, &counts);
    } else {
        bb_memory_release(&counts);
    }
    frames->counts = NULL;
    frames->room = 0;
}

static bb_status make_room(bb_live_frames *frames, bb_index values)
{
    bb_status status = BB_OK;
    void *counts = NULL;
    release_counts(frames);
    if (frames->device != NULL) {
        BB_TRY(bb_device_host_allocate(frames->device, (size_t)values * sizeof *frames->counts,
                                       &counts));
    } else {
        BB_TRY(bb_memory_allocate(values, sizeof *frames->counts, &counts));
    }
    frames->counts = counts;
    frames->room = values;
done:
    return status;
}

bb_status bb_live_frames_shape(bb_live_frames *frames, bb_index count, bb_index columns,
                               bb_index rows)
{
    bb_status status = BB_OK;
    BB_REQUIRE(columns >= 1 && columns <= BB_LIVE_EDGE && rows >= 1 && rows <= BB_LIVE_EDGE,
               BB_INVALID, "frames of %td x %td pixels, expected 1..%d a side", columns, rows,
               BB_LIVE_EDGE);
    BB_REQUIRE(count >= 1 && count <= PTRDIFF_MAX / 8 / columns / rows, BB_INVALID,
               "%td frames, expected one or more, but no more than fit in memory", count);
    if (frames->room < count * columns * rows) {
        BB_TRY(make_room(frames, count * columns * rows));
    }
    frames->count = count;
    frames->columns = columns;
    frames->rows = rows;
done:
    return status;
}

void bb_live_frames_release(bb_live_frames *frames)
{
    release_counts(frames);
    *frames = (bb_live_frames){0};
}

void bb_live_frames_share(bb_live_frames *frames, const bb_live_frames *others)
{
    bb_device *device = frames->device;
    release_counts(frames);
    *frames = *others;
    frames->device = device;
    frames->room = 0;
}

bb_status bb_live_source_check_length(FILE *file, const char *path, double bytes)
{
    bb_status status = BB_OK;
    struct stat about;
    const long place = ftell(file);
    BB_REQUIRE(place >= 0 && fstat(fileno(file), &about) == 0, BB_IO, "cannot read '%s': %s", path,
               strerror(errno));
    const double rest = (double)about.st_size - (double)place;
    BB_REQUIRE(bytes <= rest, BB_INVALID, "'%s' ends after %.0f of %.0f bytes of pixels", path,
               rest, bytes);
done:
    return status;
}

static bb_status list_forms(bb_text *out)
{
    bb_status status = BB_OK;
    for (int i = 0; bb_live_sources[i] != NULL; ++i) {
        BB_TRY(bb_text_add(out, "%s%s", i == 0 ? "" : ", ", bb_live_sources[i]->form));
    }
done:
    return status;
}

bb_status bb_live_source_find(const char *text, const bb_live_source_kind **kind,
                              const char **place)
{
    bb_status status = BB_OK;
    bb_text forms = {0};
    const char *word = text == NULL ? bb_live_synthetic.name : text;
    const size_t length = strcspn(word, ":");
    *kind = NULL;
    *place = word[length] == ':' && word[length + 1] != '\0' ? word + length + 1 : NULL;
    for (int i = 0; bb_live_sources[i] != NULL; ++i) {
        const char *name = bb_live_sources[i]->name;
        if (strlen(name) == length && strncmp(name, word, length) == 0) {
            *kind = bb_live_sources[i];
        }
    }
    BB_TRY(list_forms(&forms));
    BB_REQUIRE(*kind != NULL && (*kind)->has_place == (*place != NULL), BB_INVALID,
               "--source %s, expected one of %s", word, bb_text_string(&forms));
done:
    bb_text_release(&forms);
    return status;
}

// Frames of the study's synthetic scene: a few draws in turn, each with its own noise.
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

// Quantises frames like a camera; pixels without data are dark.
static bb_status quantise_frames(const bb_fringe_config *physics, uint64_t seed, bb_index draw,
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
        BB_TRY(quantise_frames(physics, seed, draw, source->scenes[draw], &source->frames[draw]));
    }
    *state = made;
    made = NULL;
done:
    close_synthetic(&made);
    return status;
}

static bb_status read_synthetic(void *state, bb_live_frames *frames, bb_live_event *event)
{
    synthetic *source = state;
    const bb_live_frames *next = &source->frames[source->next];
    bb_live_frames_share(frames, next);
    frames->lost = 0;
    frames->arrival_ns = bb_clock_ns();
    source->next = (source->next + 1) % DRAWS;
    *event = BB_LIVE_READ;
    return BB_OK;
}

static const double *truth_of(const void *state, bb_index draw)
{
    return ((const synthetic *)state)->scenes[draw]->phase;
}

const bb_live_source_kind bb_live_synthetic = {
    .name = "synthetic",
    .form = "synthetic",
    .meaning = "the study's synthetic scene, with four draws of noise in turn",
    .waits = true,
    .open = open_synthetic,
    .close = close_synthetic,
    .read = read_synthetic,
    .truth = truth_of,
};
