// SPDX-License-Identifier: Apache-2.0
//
// A device's part of a loop, for command_loop.c and its twins alone.
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
    // Frame f lies at place f modulo BB_COMMAND_AHEAD, its own once f - BB_COMMAND_AHEAD is taken.
    float *slopes, *commands; // [BB_COMMAND_AHEAD][stride of count], of bb_device_host_allocate
    unsigned long long posted, taken; // frames
    void *state;                      // of the device's loop
};

/// The parts of one kind of device. `open` may take everything of a system; after a failure of it
/// `close` is called.
typedef struct bb_command_twin {
    bb_status (*open)(bb_command_part *loop, const bb_command_system *system);
    bb_status (*arm)(bb_command_part *loop);                      // NULL: there is nothing to queue
    bb_status (*post)(bb_command_part *loop, int64_t release_ns); // frame `posted`
    bb_status (*take)(bb_command_part *loop, bb_command_frame *out); // frame `taken`
    bb_status (*reset)(bb_command_part *loop);                       // also takes what is posted
    void (*close)(bb_command_part *loop);
} bb_command_twin;

/// Places of `count` floats begin on lines of 128 bytes: a warp that reads over the link asks for
/// one, or for two where it does not begin on one.
static inline bb_index bb_command_loop_stride(bb_index count)
{
    const bb_index line = 32;
    return (count + line - 1) / line * line;
}

/// Whose turn it is of BB_COMMAND_AHEAD, and where frame `frame` lies in a ring of `count` floats.
static inline bb_index bb_command_loop_turn(unsigned long long frame)
{
    return (bb_index)(frame % BB_COMMAND_AHEAD);
}
static inline bb_index bb_command_loop_place(unsigned long long frame, bb_index count)
{
    return bb_command_loop_turn(frame) * bb_command_loop_stride(count);
}

extern const bb_command_twin bb_command_loop_cuda_twin; ///< of builds with CUDA

#ifdef __cplusplus
}
#endif

#endif
