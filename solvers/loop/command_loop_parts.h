// SPDX-License-Identifier: Apache-2.0
//
// What the loop of a device works on, for command_loop.c and its twins alone.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_PARTS_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_PARTS_H

#include "solvers/loop/command_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bb_command_loop {
    bb_device *device;
    bb_index slope_count, command_count, group_count, delay;
    int matrix_count;
    bb_coded_operator *operators[BB_COMMAND_MATRICES];
    bb_index row[BB_COMMAND_MATRICES + 1]; // first command of a matrix
    bb_command_rounding rounding;
    double gain;
    float *slopes, *commands; // of bb_device_host_allocate
    void *state;              // of the device's loop
};

/// The loop of one kind of device. `open` may take everything of a system; after a failure of it
/// `close` is called.
typedef struct bb_command_twin {
    bb_status (*open)(bb_command_loop *loop, const bb_command_system *system);
    bb_status (*arm)(bb_command_loop *loop); // NULL: there is nothing to queue
    bb_status (*step)(bb_command_loop *loop, int64_t release_ns, bb_command_frame *out);
    bb_status (*reset)(bb_command_loop *loop);
    void (*close)(bb_command_loop *loop);
} bb_command_twin;

extern const bb_command_twin bb_command_loop_cuda_twin; ///< of builds with CUDA

#ifdef __cplusplus
}
#endif

#endif
