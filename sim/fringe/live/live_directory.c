// SPDX-License-Identifier: Apache-2.0
//
// Source of frames from files that appear in a folder, in the order of their names: .h5
// (live_dataset.h), .fits or .pgm (live_image.c); the first bytes identify FITS. Each name is read
// once, and only names after the last one: a writer counts upwards, and writes to a temporary file
// that it renames. A file named `end` ends the stream after all earlier files. An unreadable file
// is reported and skipped, together with an incomplete phase.
#include "core/clock.h"
#include "core/disk_file.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/fringe/live/live_dataset.h"
#include "sim/input/fits_image.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, PATIENCE_SECONDS = 20 };

typedef struct frame_folder {
    const char *path;
    bb_index count;        // frames of a phase
    char last[NAME_BYTES]; // name of the last file
    bb_live_frames file;   // frames of the file; no counts for HDF5, which `dataset` reads
    bb_live_dataset dataset;
    bb_index used;     // frames of the file already used
    bb_index gathered; // frames collected for the current phase
} frame_folder;

static void close_file(frame_folder *source)
{
    bb_live_dataset_close(&source->dataset);
    bb_live_frames_release(&source->file);
    source->used = 0;
}

static void close_folder(void **state)
{
    frame_folder *source = *state;
    if (source != NULL) {
        close_file(source);
        bb_memory_release(state);
    }
}

static bb_status open_folder(const bb_live_request *request, void **state)
{
    bb_status status = BB_OK;
    void *made = NULL;
    DIR *folder = opendir(request->place);
    BB_REQUIRE(folder != NULL, BB_IO, "cannot open folder '%s'", request->place);
    BB_TRY(bb_memory_zeroed(1, sizeof(frame_folder), &made));
    *(frame_folder *)made = (frame_folder){
        .path = request->place, .count = request->count, .dataset = BB_LIVE_DATASET_NONE};
    *state = made;
    made = NULL;
done:
    if (folder != NULL) {
        (void)closedir(folder);
    }
    close_folder(&made);
    return status;
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name);
    return length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0;
}

// Tries only the first frames, because reading a long file would delay the stream. The child
// process is forked while other threads run; it calls only the HDF5 library, which no other thread
// uses.
static bb_status read_dataset(const char *path, frame_folder *source)
{
    bb_status status = BB_OK;
    bb_live_dataset *dataset = &source->dataset;
    BB_TRY(bb_disk_file_check(path));
    BB_TRY(bb_live_dataset_open_tried(path, PATIENCE_SECONDS, BB_LIVE_MOST_FRAMES, dataset));
    source->file = (bb_live_frames){.count = dataset->frames,
                                    .columns = dataset->columns,
                                    .rows = dataset->rows,
                                    .bits = dataset->bits};
done:
    return status;
}

static bool is_frame(const char *name)
{
    return ends_in(name, ".h5") || ends_in(name, ".fits") || ends_in(name, ".pgm");
}

static bb_status read_file(const char *path, frame_folder *source)
{
    const bool is_fits = bb_fits_image_recognised(path);
    return is_fits || ends_in(path, ".pgm") ? bb_live_frames_read(path, is_fits, &source->file)
                                            : read_dataset(path, source);
}

// First name after the last one; "" if there is none. `*ended`: a file `end` exists.
static bb_status find_next(const frame_folder *source, char next[NAME_BYTES], bool *ended)
{
    bb_status status = BB_OK;
    DIR *folder = opendir(source->path);
    next[0] = '\0';
    *ended = false;
    BB_REQUIRE(folder != NULL, BB_IO, "folder '%s' can no longer be opened", source->path);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const char *name = entry->d_name;
        *ended = *ended || strcmp(name, "end") == 0;
        if (is_frame(name) && strlen(name) < NAME_BYTES && strcmp(name, source->last) > 0 &&
            (next[0] == '\0' || strcmp(name, next) < 0)) {
            (void)snprintf(next, NAME_BYTES, "%s", name);
        }
    }
done:
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return status;
}

static void skip_file(frame_folder *source)
{
    bb_log_warning("file %s is skipped: %s", source->last, bb_status_message());
    close_file(source);
    source->gathered = 0;
}

static void read_next(frame_folder *source, const char *name)
{
    char path[BB_LIVE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", source->path, name);
    (void)snprintf(source->last, sizeof source->last, "%s", name);
    close_file(source);
    if (read_file(path, source) != BB_OK) {
        skip_file(source);
    }
}

// Appends frames of the current file to a phase; frames of another shape or camera start a new
// phase.
static bb_status gather(frame_folder *source, bb_live_frames *frames)
{
    bb_status status = BB_OK;
    const bb_live_frames *file = &source->file;
    if (source->gathered == 0 || frames->columns != file->columns || frames->rows != file->rows ||
        frames->bits != file->bits) {
        BB_TRY(bb_live_frames_shape(frames, source->count, file->columns, file->rows));
        frames->bits = file->bits;
        source->gathered = 0;
    }
    const bb_index points = file->columns * file->rows;
    const bb_index rest = file->count - source->used, missing = source->count - source->gathered;
    const bb_index count = rest < missing ? rest : missing;
    uint16_t *counts = frames->counts + source->gathered * points;
    if (file->counts != NULL) {
        memcpy(counts, file->counts + source->used * points,
               (size_t)(count * points) * sizeof *counts);
    } else if (bb_live_dataset_read(&source->dataset, source->used, count, counts) != BB_OK) {
        skip_file(source); // the frames read before it were complete
        goto done;
    }
    source->used += count;
    source->gathered += count;
done:
    return status;
}

static bb_status read_folder(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    frame_folder *source = state;
    char next[NAME_BYTES] = "";
    bool ended = false;
    *event = BB_LIVE_NOTHING;
    do {
        if (source->used >= source->file.count) {
            BB_TRY(find_next(source, next, &ended));
            if (next[0] == '\0') {
                *event = ended ? BB_LIVE_ENDED : BB_LIVE_NOTHING;
                goto done;
            }
            read_next(source, next);
        }
        if (source->used < source->file.count) {
            BB_TRY(gather(source, frames));
        }
    } while (source->gathered < source->count);
    source->gathered = 0;
    frames->lost = 0;
    frames->draw = -1;
    frames->arrival_ns = bb_clock_ns();
    *event = BB_LIVE_READ;
done:
    return status;
}

const bb_live_source_kind bb_live_directory = {
    .name = "directory",
    .form = "directory:FOLDER",
    .meaning =
        "files .h5, .fits and .pgm that appear in a folder, in name order; a file named end ends "
        "the stream",
    .has_place = true,
    .waits = true,
    .poll_s = 0.02,
    .open = open_folder,
    .close = close_folder,
    .read = read_folder,
};
