// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what the kernels of a frame (command_loop_cuda.cu) work on, and how they are
// queued.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_CUDA_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/loop/command_loop.h"

namespace frames
{

enum trouble : unsigned { BAD_SLOPES = 1, BAD_PRODUCTS = 2 };

// Rounding to a format, as bb_format_round_f32 does it.
struct format_rounding {
    int dropped; // bits; 0: it is not rounded
    float normal, magic, largest, overflow;
};

// In the host's memory, which the device reads; one word, so that it is fetched once. Slopes of a
// frame are written before it.
struct frame_release {
    unsigned long long word; // the frame's mark, and above it the time of the device's clock [ns]
                             // before which it does not begin
};

// By which a frame's release is told from that of the frame BB_COMMAND_AHEAD before and from zero.
__host__ __device__ constexpr unsigned long long mark_of(unsigned long long frame)
{
    return 1ULL ^ (frame / BB_COMMAND_AHEAD & 1ULL);
}

// In the host's memory, which the device writes. Commands and the rest of a report are written
// before its count.
struct frame_report {
    unsigned long long done; // the frame's number, from 1
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
    unsigned trouble;
};

// Where a frame is, on the device.
struct frame_now {
    unsigned trouble;
    unsigned blocks[2];          // of take_slopes and of advance that have ended
    unsigned current;            // which of v's two holds
    unsigned long long released; // frames
    bb_index late_next;          // whose turn it is
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
};

// Arguments of every kernel; addresses are the device's. Frame f, as `frames` counts them, has
// place f modulo BB_COMMAND_AHEAD in the host's memory, so that one graph serves all.
struct frame_view {
    bb_index columns, commands, groups, runs, delay;
    bool has_long_runs;                    // which take many threads
    bb_index slope_stride, command_stride; // of the host's rings
    const float *slopes;                   // [BB_COMMAND_AHEAD][slope_stride], the host's
    float *out;                            // [BB_COMMAND_AHEAD][command_stride], the host's
    const float *reference;
    const bb_index *begin; // [runs + 1] of blocks' columns: groups, or even runs without them
    float *mean, *x;
    const float *scales;    // [matrices][columns], nullptr: there are none
    float *scaled;          // [columns] x of the matrix that is multiplied
    const float *means;     // of each matrix [groups][rows]
    const bb_index *offset; // [commands] of a command's first entry there
    const bb_index *stride; // [commands] to the next group's
    double *y;
    double *v; // [2][commands], one the frame's that runs
    float *late;
    frame_now *now;
    unsigned long long *frames;   // done, on the device
    frame_report *report;         // [BB_COMMAND_AHEAD], the host's
    const frame_release *release; // [BB_COMMAND_AHEAD], the host's
    format_rounding format;
    double step, steps, gain;
};

/// Threads of a block that takes slopes: few, so that a multiprocessor has room beside it for a
/// block of the first product, or many where a group has more slopes than few take at once.
constexpr int few_threads = 256;
constexpr int many_threads = 1024;
constexpr int thread_slopes = 8; // slopes of a thread, on their way together

/// The release, then slopes less the reference, means, rounding.
bb_status queue_slopes(const frame_view &view, cudaStream_t stream);

/// Slopes over the scales of matrix t.
bb_status queue_division(const frame_view &view, int t, cudaStream_t stream);

/// Means' part, controller, delay, commands, report.
bb_status queue_control(const frame_view &view, cudaStream_t stream);

} // namespace frames

#endif
