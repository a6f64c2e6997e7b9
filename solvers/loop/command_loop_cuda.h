// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: arguments of the kernels of a frame (command_loop_cuda.cu), and their
// launches.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_CUDA_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/loop/command_loop.h"

namespace frames
{

enum trouble : unsigned { BAD_SLOPES = 1, BAD_PRODUCTS = 2 };

// Parameters for rounding to a format like bb_format_round_f32.
struct format_rounding {
    int dropped; // dropped significand bits; 0: no rounding
    float normal, magic, largest, overflow;
};

// Release of a frame, in host memory that the device reads; one word, so that a single read fetches
// it. The slopes of the frame are written before it.
struct frame_release {
    unsigned long long word; // mark of the frame in bit 0; above it the device clock [ns] at which
                             // the frame may start
};

// Mark that distinguishes a frame's release from zero and from the release of frame -
// BB_COMMAND_AHEAD.
__host__ __device__ constexpr unsigned long long mark_of(unsigned long long frame)
{
    return 1ULL ^ (frame / BB_COMMAND_AHEAD & 1ULL);
}

// Report of a frame, in host memory that the device writes. Commands and the other members are
// written before `done`.
struct frame_report {
    unsigned long long done; // number of the frame, from 1
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
    unsigned trouble;
};

// State of the current frame, in device memory.
struct frame_now {
    unsigned trouble;
    unsigned blocks[2];          // number of ended blocks of take_slopes and of advance
    unsigned current;            // which of the two copies of v is valid
    unsigned long long released; // number of released frames
    bb_index late_next;          // row of `late` for the current frame
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
};

// Arguments of every kernel; all addresses are device addresses. Frame f, counted by `frames`, uses
// slot f modulo BB_COMMAND_AHEAD of host memory, so that one graph serves all frames.
struct frame_view {
    bb_index columns, commands, groups, runs, delay;
    bool has_long_runs;                    // long runs need large blocks
    bb_index slope_stride, command_stride; // strides of the rings in host memory
    const float *slopes;                   // [BB_COMMAND_AHEAD][slope_stride], in host memory
    float *out;                            // [BB_COMMAND_AHEAD][command_stride], in host memory
    const float *reference;
    const bb_index *begin; // [runs + 1] columns of each block: groups, or equal runs without groups
    float *mean, *x;
    const float *scales;    // [matrices][columns], nullptr: none
    float *scaled;          // [columns] x divided by the scales of the current matrix
    const float *means;     // for each matrix [groups][rows]
    const bb_index *offset; // [commands] index of a command's first factor in `means`
    const bb_index *stride; // [commands] distance to its factor of the next group
    double *y;
    double *v; // [2][commands], previous and current frame
    float *late;
    frame_now *now;
    unsigned long long *frames;   // completed frames, in device memory
    frame_report *report;         // [BB_COMMAND_AHEAD], in host memory
    const frame_release *release; // [BB_COMMAND_AHEAD], in host memory
    format_rounding format;
    double step, steps, gain;
};

/// Threads per block of take_slopes: few, so that a block of the first product fits on the same
/// multiprocessor, or many if a group has more slopes than a small block processes at once.
constexpr int few_threads = 256;
constexpr int many_threads = 1024;
constexpr int thread_slopes = 8; // slopes per thread, loaded at the same time

/// Waits for the release; then subtracts reference and means from the slopes and rounds them.
bb_status queue_slopes(const frame_view &view, cudaStream_t stream);

/// Divides slopes by the scales of matrix t.
bb_status queue_division(const frame_view &view, int t, cudaStream_t stream);

/// Adds the product with the means; controller, delay, commands, report.
bb_status queue_control(const frame_view &view, cudaStream_t stream);

} // namespace frames

#endif
