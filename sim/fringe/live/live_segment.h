// SPDX-License-Identifier: Apache-2.0
//
// Frames in shared memory: a POSIX segment (shm_open) that a camera program writes and this program
// reads. It starts with the header below. From byte BB_LIVE_SEGMENT_START follow `slots` frames
// [rows][columns] with one byte a pixel up to 8 bits, else two, in native byte order. Frame k,
// counted from 0, uses slot k mod slots.
//
// A writer fills the slot of frame k, then sets `sequence` to k + 1 (release order); it never
// waits. A reader that finds frame k overwritten during its copy drops it, so slots must hold at
// least two phases. A phase consists of frames n k to n k + n - 1. `ended` = 1 means that no frame
// follows. A camera that changes size creates a new segment: shm_unlink, then shm_open of the same
// name; the reader switches to it when the old one has no new frames. A count below the reader's
// position means that the writer restarted in the same segment.
//
// The reader waits after a segment is truncated, until a complete segment has the name. Frames are
// read with pread, which truncation cannot harm; the header is mapped for its atomics. One race
// remains: if a segment is truncated to zero between the size check and the two loads that follow,
// the program ends with a bus error. To change the size, a writer must create another segment.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_SEGMENT_H
#define BB_SIM_FRINGE_LIVE_LIVE_SEGMENT_H

#include <stdatomic.h>
#include <stdint.h>

#define BB_LIVE_SEGMENT_MAGIC "BBFRAMES"

enum { BB_LIVE_SEGMENT_VERSION = 1, BB_LIVE_SEGMENT_START = 64 };

typedef struct bb_live_segment_header {
    char magic[8];              ///< BB_LIVE_SEGMENT_MAGIC, written last
    uint32_t version;           ///< BB_LIVE_SEGMENT_VERSION
    uint32_t columns, rows;     ///< 1..16384
    uint32_t bits;              ///< bits of a pixel, 1..16
    uint32_t slots;             ///< number of frames that fit
    _Atomic(uint32_t) ended;    ///< 1 after the last frame, else 0
    _Atomic(uint64_t) sequence; ///< number of frames written
} bb_live_segment_header;

#endif
