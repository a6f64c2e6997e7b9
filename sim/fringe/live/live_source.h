// SPDX-License-Identifier: Apache-2.0
//
// Where frames of a stream come from: one row a kind, the same calls for all. A source is opened by
// the thread that started the program and read by one thread alone after that.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_SOURCE_H
#define BB_SIM_FRINGE_LIVE_LIVE_SOURCE_H

#include "core/device/device.h"
#include "sim/fringe/fringe_study.h"

#include <stdio.h>

enum { BB_LIVE_PATH_BYTES = 4096, BB_LIVE_EDGE = 16384, BB_LIVE_MOST_FRAMES = 16 };

/// Phases that may be on their way at once.
enum { BB_LIVE_MOST_OVERLAP = 4 };

/// The frames of one phase, as a camera stored them. Zero-initialise; release with
/// bb_live_frames_release.
typedef struct bb_live_frames {
    bb_index count, columns, rows;
    bb_index bits;     ///< of the camera: full scale is 2^bits - 1
    bb_device *device; ///< whose host memory `counts` is in, borrowed; NULL: plain memory
    uint16_t *counts;  ///< [count][rows][columns]
    bb_index room;     ///< values that `counts` has room for; 0: they are another's
    bb_index passed;   ///< phases that the source let pass before these, since the last ones
    bb_index draw;     ///< of a synthetic source, else -1
    int64_t taken_ns;  ///< bb_clock_ns when they were whole; of frames that wait, when they are
                       ///< handed over
} bb_live_frames;

/// Makes room for frames of a shape, what is in them is lost where it was too small. Errors:
/// BB_MEMORY; BB_INVALID for an edge beyond 1..16384 or a count below 1.
BB_CHECKED bb_status bb_live_frames_shape(bb_live_frames *frames, bb_index count, bb_index columns,
                                          bb_index rows);
void bb_live_frames_release(bb_live_frames *frames);

/// Has frames share the counts of others, which stay as they are as long; `device` stays.
void bb_live_frames_share(bb_live_frames *frames, const bb_live_frames *others);

/// Reads all frames of a file into `*out`, whose frames are the caller's: FITS, or all images of
/// binary PGM (live_image.c). Errors: BB_IO (no such file), BB_INVALID (not that format, another
/// array, images of two shapes, cut short, a pixel beyond the bits or the largest value),
/// BB_MEMORY.
BB_CHECKED bb_status bb_live_frames_read(const char *path, bool is_fits, bb_live_frames *out);

/// Whether a regular file has `bytes` more behind where it is read. Errors: BB_INVALID with `path`.
BB_CHECKED bb_status bb_live_source_check_length(FILE *file, const char *path, double bytes);

typedef enum bb_live_event {
    BB_LIVE_TAKEN,   ///< frames were taken
    BB_LIVE_NOTHING, ///< there are none now
    BB_LIVE_ENDED,   ///< there will be none
} bb_live_event;

/// What a source is asked for; borrowed while it is open.
typedef struct bb_live_request {
    const bb_fringe_study *study;
    const char *place; ///< what follows the colon; NULL: nothing did
    bb_index count;    ///< frames that make a phase
    bb_device *device; ///< that the frames go to; NULL: none
} bb_live_request;

typedef struct bb_live_source_kind {
    const char *name;
    const char *form;    ///< how it is written, for messages: "file:FRAMES.h5"
    const char *meaning; ///< for help
    bool has_place;
    /// Frames wait until they are taken; else a camera goes on and the oldest are lost.
    bool waits;
    double poll_s; ///< how long to wait after BB_LIVE_NOTHING
    bb_status (*open)(const bb_live_request *request, void **state);
    void (*close)(void **state);
    /// Takes the next frames. What is there but cannot be read is an error; the stream ends.
    bb_status (*take)(void *state, bb_live_frames *frames, bb_live_event *event);
    /// The phase [rows][columns] in rad of a draw, NaN without data; NULL: not known.
    const double *(*truth)(const void *state, bb_index draw);
} bb_live_source_kind;

extern const bb_live_source_kind bb_live_synthetic, bb_live_file, bb_live_loop, bb_live_directory,
    bb_live_segment;

/// NULL-terminated.
extern const bb_live_source_kind *const bb_live_sources[];

/// The kind that a text such as "file:frames.h5" names; NULL: synthetic. `*place` points into the
/// text. Errors: BB_INVALID with the forms there are.
BB_CHECKED bb_status bb_live_source_find(const char *text, const bb_live_source_kind **kind,
                                         const char **place);

/// A thread that takes frames from a source as they come. Two buffers beside those that are worked
/// on: frames that come before the last ones are taken replace them, and those are dropped. Sources
/// whose frames wait and that no rate releases drop nothing.
typedef struct bb_live_acquisition bb_live_acquisition;

/// Opens a source and starts its thread. `rate_hz` releases phases at fixed times, 0: as they come;
/// `held`, 1 to BB_LIVE_MOST_OVERLAP, frames are worked on at once. Request and kind are borrowed.
/// Errors: those of the source, BB_MEMORY, BB_INTERNAL. Owner: the caller.
BB_CHECKED bb_status bb_live_acquisition_start(const bb_live_source_kind *kind,
                                               const bb_live_request *request, double rate_hz,
                                               bb_index held, bb_live_acquisition **out);

/// Stops the thread and closes the source.
void bb_live_acquisition_stop(bb_live_acquisition **acquisition);

/// Waits up to `seconds` for frames, which stand until `held` - 1 further ones were taken and the
/// next are asked for: `*frames` is NULL where none came, `*event` says which of the three it is.
/// Errors: those of the source, which then ended.
BB_CHECKED bb_status bb_live_acquisition_wait(bb_live_acquisition *acquisition, double seconds,
                                              const bb_live_frames **frames, bb_live_event *event);

/// Phases that were replaced, or that the source let pass, so far.
bb_index bb_live_acquisition_dropped(bb_live_acquisition *acquisition);

/// What a synthetic source knows of a draw (live_source.h); NULL: nothing.
const double *bb_live_acquisition_truth(const bb_live_acquisition *acquisition, bb_index draw);

#endif
