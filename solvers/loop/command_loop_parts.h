// SPDX-License-Identifier: Apache-2.0
//
// Per-device part of a command loop, for command_loop.c and its device implementations only.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_PARTS_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_PARTS_H

#include "solvers/loop/command_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bb_command_part {
    bb_device *device;
    bb_index slope_count, command_count, group_count, delay;
    int matrix_count;
    bb_coded_operator *operators[BB_COMMAND_MATRICES];
    bb_index row[BB_COMMAND_MATRICES + 1]; // first command of a matrix
    bb_command_rounding rounding;
    double gain;
    // Frame f uses slot f modulo BB_COMMAND_AHEAD, free once frame f - BB_COMMAND_AHEAD has been
    // received.
    float *slopes, *commands; // [BB_COMMAND_AHEAD][stride of count], from bb_device_host_allocate
    unsigned long long posted, taken; // numbers of frames
    void *state;                      // state of the device implementation
};

/// Operations of one kind of device. `open` may keep any member of the system; if it fails, `close`
/// is called.
typedef struct bb_command_twin {
    bb_status (*open)(bb_command_part *loop, const bb_command_system *system);
    bb_status (*arm)(bb_command_part *loop);                            // NULL: nothing to queue
    bb_status (*post)(bb_command_part *loop, int64_t release_ns);       // posts frame `posted`
    bb_status (*receive)(bb_command_part *loop, bb_command_frame *out); // receives frame `taken`
    bb_status (*reset)(bb_command_part *loop); // also receives posted frames
    void (*close)(bb_command_part *loop);
} bb_command_twin;

/// Slots of `count` floats begin on lines of 128 bytes: a warp that reads over the link needs one
/// line if its data is aligned, otherwise two.
static inline bb_index bb_command_loop_stride(bb_index count)
{
    const bb_index line = 32;
    return (count + line - 1) / line * line;
}

/// Slot of frame `frame`, and its first element in a ring of `count` floats.
static inline bb_index bb_command_loop_turn(unsigned long long frame)
{
    return (bb_index)(frame % BB_COMMAND_AHEAD);
}
static inline bb_index bb_command_loop_place(unsigned long long frame, bb_index count)
{
    return bb_command_loop_turn(frame) * bb_command_loop_stride(count);
}

extern const bb_command_twin bb_command_loop_cuda_twin; ///< only in builds with CUDA

#ifdef __cplusplus
}
#endif

#endif
