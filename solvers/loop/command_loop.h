// SPDX-License-Identifier: Apache-2.0
//
// One frame of a controller that multiplies measurements by coded matrices: slopes in, commands
// out.
//
//     x = s - reference                      fp32
//     a_k = mean of x over group k           summed in fp64, kept in fp32
//     x <- round(x - V a)                    fp32, in a format or in whole steps of a range
//     y_t = Q_t (x / c_t) + M_t a            coded product; M_t in fp32, summed in fp64
//     v <- (1 - g) v + g y                   fp64, g = 1: v = y
//     commands = v of `delay` frames before  fp32, 0 before the first
//
// Groups, whose means have a separate product, are optional, as are reference, rounding and the
// column scales c_t. A frame with a slope or product that is not finite leaves v unchanged and
// reports it, so NaN and infinity reach neither v nor the commands.
//
// cpu: the products distribute rows over the threads (solvers/operator/coded_operator.h), the rest
// runs on the caller's thread; results are bit-identical at any thread count. cuda: one captured
// graph per frame between pinned buffers, which can be queued before its release; group sums run in
// another order.
//
// Several devices share the rows of every matrix: each has all slopes and some of the rows.
// Controllers work row by row, so nothing passes between devices; a frame ends when the last device
// ends. If a product is not finite, only the device that owns its row keeps its previous commands;
// if a slope is not finite, all devices do. Use different GPUs: a frame that waits for its release
// occupies a GPU, and another loop's frame cannot start on it. Opening the same GPU twice works as
// long as no frame stays armed.
//
// Clocks: times refer to the first device's clock. Offsets of the other clocks are measured with
// frames of zero slopes; they drift afterwards. Their uncertainty is the host's delay in seeing a
// frame's end (about a microsecond for a GPU). Both affect release times on different devices but
// not latencies, because each device counts from the release by its own clock.
//
// Frames are posted and received in order, and up to BB_COMMAND_AHEAD may be pending. Each has a
// slot for slopes, release time, commands and report, which it shares with the frame
// BB_COMMAND_AHEAD later. A GPU frame is queued when it is posted, so delays of the host do not
// make it late.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_H

#include "solvers/operator/coded_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_COMMAND_MATRICES = 16,     ///< most matrices per frame
    BB_COMMAND_DELAY_MOST = 1000, ///< largest delay, in frames
    BB_COMMAND_AHEAD = 16,        ///< most pending frames
    BB_COMMAND_DEVICES = 8,       ///< most devices that share the rows
};

/// Rounding of slopes before the product.
typedef struct bb_command_rounding {
    bb_format format; ///< fp64 and fp32: no rounding
    double step;      ///< above 0: uniform steps instead of a format
    double steps;     ///< slopes are clipped to -steps to steps - 1
} bb_command_rounding;

/// Matrices and controller of one device of a loop. Borrowed during creation; the operators must
/// outlive the loop.
typedef struct bb_command_system {
    int matrix_count; ///< 1 to BB_COMMAND_MATRICES
    /// [matrix_count] with equal numbers of columns, on the device.
    bb_coded_operator *const *operators;
    const float *reference;      ///< [columns] NULL: zero
    bb_index group_count;        ///< 0: means remain in the slopes
    const bb_index *group_begin; ///< [group_count + 1] starts of groups that cover all columns
    const float *const *means;   ///< [matrix_count], each [rows][group_count]: M
    const float *const *scales;  ///< [matrix_count], each [columns]: c; NULL: none
    bb_command_rounding rounding;
    double gain;    ///< above 0 and at most 1
    bb_index delay; ///< 0 to BB_COMMAND_DELAY_MOST
} bb_command_system;

/// Timed stages of a frame.
typedef enum bb_command_stage {
    BB_COMMAND_SLOPES,  ///< reference, means and rounding; on a GPU from the copy of the slopes on
    BB_COMMAND_PRODUCT, ///< products
    BB_COMMAND_CONTROL, ///< product with the means, controller, commands; on a GPU up to their copy
    BB_COMMAND_STAGES,
} bb_command_stage;

/// Report of a frame.
typedef struct bb_command_frame {
    double seconds[BB_COMMAND_STAGES];
    int64_t begin_ns, end_ns;            ///< times on the device clock: release seen, commands
                                         ///< written
    bool slopes_finite, products_finite; ///< if either is false, the commands are held
} bb_command_frame;

typedef struct bb_command_part bb_command_part;

/// State of a loop; read-only for users.
typedef struct bb_command_loop {
    int devices, matrices;
    unsigned long long posted, taken; ///< numbers of frames
    bb_command_part *parts[BB_COMMAND_DEVICES];
    bb_index rows[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES]; ///< rows for each device and matrix
    int64_t ahead_ns[BB_COMMAND_DEVICES]; ///< lead of each clock over the first one
    bool has_release[BB_COMMAND_AHEAD];   ///< release time of frame f, at f modulo BB_COMMAND_AHEAD
} bb_command_loop;

/// Rows of a matrix that belong to a device.
typedef struct bb_command_share {
    bb_index first, count;
} bb_command_share;

/// Rows of device `which` of `devices`: consecutive ranges whose sizes differ by at most one.
bb_command_share bb_command_share_of(bb_index rows, int devices, int which);

/// Creates a loop with zero v and zero delayed commands. systems[d] describes device d: operators
/// of its rows and their factors of means; everything else is equal. Errors: BB_INVALID (shapes
/// that do not fit, groups that do not cover the columns, a gain, delay or number of devices out of
/// range, shares of different matrices), BB_UNSUPPORTED (a device without an implementation,
/// operators of another device), BB_MEMORY, BB_DEVICE. Owner: the caller.
BB_CHECKED bb_status bb_command_loop_create(int devices, bb_device *const *device,
                                            const bb_command_system *systems,
                                            bb_command_loop **out);
void bb_command_loop_destroy(bb_command_loop **loop);

/// Copies slopes [columns] into the slot of the next frame to be posted, for each device: host
/// memory, pinned for a GPU.
void bb_command_loop_set_slopes(bb_command_loop *loop, const float *slopes);

/// Copies the commands of the last received frame, zero before the first: ascending rows of the
/// first matrix, then of the next. `out` [rows of all matrices].
void bb_command_loop_commands(const bb_command_loop *loop, float *out);

/// Measures the clock offsets again; resets v and delayed commands to zero. Errors: from a
/// frame.
BB_CHECKED bb_status bb_command_loop_read_clocks(bb_command_loop *loop);

/// Queues the next frame on GPUs, where it waits until it is posted. Until then, or until a reset,
/// nothing else may use the devices. Does nothing on the cpu. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_arm(bb_command_loop *loop);

/// Posts the next frame with the slopes in its slot. It starts after the previous frames, at once
/// or when the device clock reaches `release_ns` (0: at once). The cpu computes it in
/// bb_command_loop_wait. Errors: BB_INVALID (BB_COMMAND_AHEAD frames are pending), BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_post(bb_command_loop *loop, int64_t release_ns);

/// Waits for the oldest pending frame. Reports the frame of the device that took longest from its
/// release, in the first device's clock. Errors: BB_INVALID (no frame is pending), errors of the
/// products, BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_wait(bb_command_loop *loop, bb_command_frame *out);

/// Posts a frame and receives it. Errors: from both, BB_INVALID (a frame is pending already).
BB_CHECKED bb_status bb_command_loop_step(bb_command_loop *loop, int64_t release_ns,
                                          bb_command_frame *out);

/// Resets v and delayed commands to zero. Pending frames are lost, and those that wait for their
/// release time stop waiting. All devices are reset; the first failure is returned. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_reset(bb_command_loop *loop);

/// Memory of a loop without its operators, for these numbers of slopes, total commands, groups, and
/// matrices with scales; device bytes are per GPU.
bb_need bb_command_loop_need(double slopes, double commands, double groups, double scaled,
                             bb_index delay, bb_device_kind device, double devices);

#ifdef __cplusplus
}
#endif

#endif
