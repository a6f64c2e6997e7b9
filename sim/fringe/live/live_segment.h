// SPDX-License-Identifier: Apache-2.0
//
// Frames in shared memory: a POSIX segment (shm_open) that a camera's program writes and this one
// reads. It begins with the header below; behind it, from byte BB_LIVE_SEGMENT_START,
// stand `slots` frames [rows][columns] of one byte a pixel up to 8 bits, else of two, in the order
// of the machine's bytes. Frame k, from 0, stands in slot k mod slots.
//
// A writer fills the slot of frame k, then sets `sequence` to k + 1 (release); it waits for nobody.
// A reader that finds frame k overwritten while it copied lost it: slots are at least two phases.
// The frames of a phase are n k to n k + n - 1. `ended` of 1 says that no frame follows. A camera
// that changes size makes a new segment: shm_unlink, then shm_open of the same name; the reader
// takes that one when the old one has nothing new. A count below what was taken says that a writer
// began anew in the same segment.
//
// A segment that was cut is waited for, until one of that name is there in full. Frames are read
// through the file (pread), which a cut cannot harm; the header is mapped, for its atomics. One
// window remains: a segment that is cut to nothing between the look at its size and the two loads
// right behind it ends the program by a bus error. Who wants another size makes another segment.
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
    uint32_t bits;              ///< of a pixel, 1..16
    uint32_t slots;             ///< frames that there is room for
    _Atomic(uint32_t) ended;    ///< 0, then 1
    _Atomic(uint64_t) sequence; ///< frames that were written
} bb_live_segment_header;

#endif
