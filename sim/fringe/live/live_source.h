// SPDX-License-Identifier: Apache-2.0
//
// Sources of frames for a stream: one table row per kind, with a common interface. The main thread
// opens a source; afterwards a single other thread reads it.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_SOURCE_H
#define BB_SIM_FRINGE_LIVE_LIVE_SOURCE_H

#include "core/device/device.h"
#include "sim/fringe/fringe_study.h"

#include <stdio.h>

enum { BB_LIVE_PATH_BYTES = 4096, BB_LIVE_EDGE = 16384, BB_LIVE_MOST_FRAMES = 16 };

/// Maximum number of phases in flight.
enum { BB_LIVE_MOST_OVERLAP = 4 };

/// Frames of one phase, as stored by a camera. Zero-initialise; release with
/// bb_live_frames_release.
typedef struct bb_live_frames {
    bb_index count, columns, rows;
    bb_index bits;      ///< bits of the camera: full scale is 2^bits - 1
    bb_device *device;  ///< owner of the pinned memory of `counts`, borrowed; NULL: plain memory
    uint16_t *counts;   ///< [count][rows][columns]
    bb_index room;      ///< capacity of `counts` in values; 0: `counts` is borrowed
    bb_index lost;      ///< phases that the source lost since the previous frames
    bb_index draw;      ///< draw of a synthetic source, else -1
    int64_t arrival_ns; ///< bb_clock_ns when the frames were complete; for waiting sources, when
                        ///< the frames were taken
} bb_live_frames;

/// Makes room for frames of a shape; their contents are lost if the capacity grows. Errors:
/// BB_MEMORY; BB_INVALID for an edge outside 1..16384 or a count below 1.
BB_CHECKED bb_status bb_live_frames_shape(bb_live_frames *frames, bb_index count, bb_index columns,
                                          bb_index rows);
void bb_live_frames_release(bb_live_frames *frames);

/// Borrows the counts of other frames, which must outlive the use; `device` stays unchanged.
void bb_live_frames_share(bb_live_frames *frames, const bb_live_frames *others);

/// Reads all frames of a FITS file, or all images of a binary PGM file (live_image.c), into `*out`.
/// Owner of the frames: the caller. Errors: BB_IO (no such file), BB_INVALID (other format or
/// array, images of two shapes, truncated file, a pixel above the bits or the maximum value),
/// BB_MEMORY.
BB_CHECKED bb_status bb_live_frames_read(const char *path, bool is_fits, bb_live_frames *out);

/// Checks that a regular file has `bytes` more after the current position. Errors: BB_INVALID with
/// `path`.
BB_CHECKED bb_status bb_live_source_check_length(FILE *file, const char *path, double bytes);

typedef enum bb_live_event {
    BB_LIVE_READ,    ///< frames were read
    BB_LIVE_NOTHING, ///< no frames yet
    BB_LIVE_ENDED,   ///< the source has ended
} bb_live_event;

/// Parameters for opening a source; borrowed while it is open.
typedef struct bb_live_request {
    const bb_fringe_study *study;
    const char *place; ///< text after the colon; NULL without one
    bb_index count;    ///< frames of a phase
    bb_device *device; ///< destination of the frames; NULL: none
} bb_live_request;

typedef struct bb_live_source_kind {
    const char *name;
    const char *form;    ///< how it is written, for messages: "file:FRAMES.h5"
    const char *meaning; ///< description for --help
    bool has_place;
    /// True if the source waits for the reader; otherwise the camera continues and the oldest
    /// frames are lost.
    bool waits;
    double poll_s; ///< delay after BB_LIVE_NOTHING
    bb_status (*open)(const bb_live_request *request, void **state);
    void (*close)(void **state);
    /// Reads the next frames. Data that exist but cannot be read are an error and end the stream.
    bb_status (*read)(void *state, bb_live_frames *frames, bb_live_event *event);
    /// True phase [rows][columns] of a draw in rad, NaN without data; NULL: unknown.
    const double *(*truth)(const void *state, bb_index draw);
} bb_live_source_kind;

extern const bb_live_source_kind bb_live_synthetic, bb_live_file, bb_live_loop, bb_live_directory,
    bb_live_segment;

/// NULL-terminated list of source kinds.
extern const bb_live_source_kind *const bb_live_sources[];

/// Finds the kind named in a text such as "file:frames.h5"; NULL: synthetic. `*place` points into
/// the text. Errors: BB_INVALID with the list of valid forms.
BB_CHECKED bb_status bb_live_source_find(const char *text, const bb_live_source_kind **kind,
                                         const char **place);

/// Thread that reads frames from a source as they arrive. It has two buffers in addition to those
/// in processing. New frames replace waiting ones, which are dropped; a source that waits drops
/// none unless a rate releases its phases.
typedef struct bb_live_acquisition bb_live_acquisition;

/// Opens a source and starts its thread. `rate_hz` releases phases at fixed times, 0: as they
/// arrive. `held`, 1 to BB_LIVE_MOST_OVERLAP, is the number of phases in processing at once.
/// Request and kind are borrowed. Errors: from the source, BB_MEMORY, BB_INTERNAL. Owner: the
/// caller.
BB_CHECKED bb_status bb_live_acquisition_start(const bb_live_source_kind *kind,
                                               const bb_live_request *request, double rate_hz,
                                               bb_index held, bb_live_acquisition **out);

/// Stops the thread and closes the source.
void bb_live_acquisition_stop(bb_live_acquisition **acquisition);

/// Waits up to `seconds` for frames. They stay valid until `held` - 1 further ones have been
/// returned and the next are requested. `*frames` is NULL if none arrived; `*event` tells the cases
/// apart. Errors: from the source, which has then ended.
BB_CHECKED bb_status bb_live_acquisition_wait(bb_live_acquisition *acquisition, double seconds,
                                              const bb_live_frames **frames, bb_live_event *event);

/// Number of phases replaced by newer ones or lost by the source so far.
bb_index bb_live_acquisition_dropped(bb_live_acquisition *acquisition);

/// True phase of a draw of a synthetic source; NULL: unknown.
const double *bb_live_acquisition_truth(const bb_live_acquisition *acquisition, bb_index draw);

#endif
