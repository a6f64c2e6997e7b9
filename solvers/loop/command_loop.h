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
// Groups, whose means have a product of their own, are optional, as are reference, rounding and the
// scales c_t of columns.
// A frame with a slope or a product that is not finite leaves v as it was, and says so: nothing
// that is not a number gets into v or out.
//
// cpu: rows are dealt over the threads by the products (solvers/operator/coded_operator.h), the
// rest runs on the caller; the same bits at any thread count. cuda: a captured graph a frame
// between pinned memories, which can be queued ahead of its release; groups are summed in another
// order.
//
// Several devices share the rows of every matrix: each has all the slopes and a part of the rows.
// Controllers work row by row, so nothing passes between devices; a frame has ended when the last
// of them has. A frame in which a product is not finite is held by the device whose rows it is in,
// not by the others; a slope that is not finite holds all. Devices are GPUs of their own: a frame
// that waits for its release fills one, so that another loop's cannot start beside it. One that is
// opened twice serves as long as no frame is left armed.
//
// Clocks: times are of the first device's clock. What another's differs by is read off frames of
// slopes that are zero, to what the host needs to see a frame's end (about a microsecond of a GPU),
// and drifts from then on. Releases of a frame differ by both among devices, latencies do not: each
// device counts from the release by its own clock.
//
// Frames are posted and taken in order, and up to BB_COMMAND_AHEAD may lie between: each has its
// own place for slopes, release time, commands and report, which it shares with the frame
// BB_COMMAND_AHEAD after it. Frames of a GPU are queued when they are posted, so a host that is
// kept from its work makes none of them late.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_H

#include "solvers/operator/coded_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_COMMAND_MATRICES = 16,     ///< most matrices of a frame
    BB_COMMAND_DELAY_MOST = 1000, ///< frames
    BB_COMMAND_AHEAD = 16,        ///< most frames that are posted and not yet taken
    BB_COMMAND_DEVICES = 8,       ///< most that share the rows
};

/// How slopes are rounded before they are multiplied.
typedef struct bb_command_rounding {
    bb_format format; ///< fp64 and fp32: they are not
    double step;      ///< above 0 in the place of a format: whole steps
    double steps;     ///< from -steps to steps - 1, beyond which a slope is clipped
} bb_command_rounding;

/// What a device of a loop multiplies; borrowed while it is created, but for the operators, which
/// must outlive it.
typedef struct bb_command_system {
    int matrix_count;                    ///< 1 to BB_COMMAND_MATRICES
    bb_coded_operator *const *operators; ///< [matrix_count] of as many columns, on the device
    const float *reference;              ///< [columns] NULL: zero
    bb_index group_count;                ///< 0: means stay in the slopes
    const bb_index *group_begin;         ///< [group_count + 1] of runs that cover the columns
    const float *const *means;           ///< [matrix_count], each [rows][group_count]: M
    const float *const *scales; ///< [matrix_count], each [columns]: c; NULL: there are none
    bb_command_rounding rounding;
    double gain;    ///< above 0 and at most 1
    bb_index delay; ///< 0 to BB_COMMAND_DELAY_MOST
} bb_command_system;

/// Parts of a frame that are timed.
typedef enum bb_command_stage {
    BB_COMMAND_SLOPES,  ///< reference, means and rounding; on a GPU from the slopes' copy on
    BB_COMMAND_PRODUCT, ///< products
    BB_COMMAND_CONTROL, ///< means' part, controller, commands; on a GPU up to their copy
    BB_COMMAND_STAGES,
} bb_command_stage;

/// What a frame was.
typedef struct bb_command_frame {
    double seconds[BB_COMMAND_STAGES];
    int64_t begin_ns, end_ns; ///< by the device's clock: its release seen, its commands out
    bool slopes_finite, products_finite; ///< both, or the commands are held
} bb_command_frame;

typedef struct bb_command_part bb_command_part;

/// Read-only to users.
typedef struct bb_command_loop {
    int devices, matrices;
    unsigned long long posted, taken; ///< frames
    bb_command_part *parts[BB_COMMAND_DEVICES];
    bb_index rows[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES]; ///< of a device and matrix
    int64_t ahead_ns[BB_COMMAND_DEVICES]; ///< lead of a clock over the first one's
    bool has_release[BB_COMMAND_AHEAD];   ///< frame f, at f modulo BB_COMMAND_AHEAD
} bb_command_loop;

/// Rows that a device has of a matrix.
typedef struct bb_command_share {
    bb_index first, count;
} bb_command_share;

/// Rows of device `which` of `devices`: runs in their order, whose counts differ by one at most.
bb_command_share bb_command_share_of(bb_index rows, int devices, int which);

/// Readies a loop, v and delayed commands zero. systems[d] is what device d multiplies: operators
/// of its rows and their means, all else alike. Errors: BB_INVALID (shapes that do not fit, groups
/// that do not cover the columns, a gain or delay or number of devices out of range, shares of
/// different matrices), BB_UNSUPPORTED (a device that has none, operators of another), BB_MEMORY,
/// BB_DEVICE. Owner: the caller.
BB_CHECKED bb_status bb_command_loop_create(int devices, bb_device *const *device,
                                            const bb_command_system *systems,
                                            bb_command_loop **out);
void bb_command_loop_destroy(bb_command_loop **loop);

/// Puts slopes [columns] where those of the next frame to be posted arrive, for each device: the
/// host's memory, pinned for a GPU.
void bb_command_loop_set_slopes(bb_command_loop *loop, const float *slopes);

/// Copies the commands of the frame that was taken last, zero before the first: of the first matrix
/// by ascending row, then of the next. `out` [rows of all matrices].
void bb_command_loop_commands(const bb_command_loop *loop, float *out);

/// Reads again what clocks differ by; v and delayed commands are zero then. Errors: a frame's.
BB_CHECKED bb_status bb_command_loop_read_clocks(bb_command_loop *loop);

/// Queues the next frame of GPUs, which then waits for its post: until that, or a reset, nothing
/// else may use the devices. Nothing to do on the cpu. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_arm(bb_command_loop *loop);

/// Hands over the next frame with the slopes that lie in its place: it begins after the frames
/// before it, at once or when the device's clock comes to `release_ns` (0: at once). The cpu's work
/// is done when it is taken. Errors: BB_INVALID (BB_COMMAND_AHEAD frames are not taken), BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_post(bb_command_loop *loop, int64_t release_ns);

/// Waits for the oldest frame that is posted: that of the device which took longest from its
/// release, in the first one's clock. Errors: BB_INVALID (there is none), the products', BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_wait(bb_command_loop *loop, bb_command_frame *out);

/// Posts a frame and takes it. Errors: theirs, BB_INVALID (a frame is posted already).
BB_CHECKED bb_status bb_command_loop_step(bb_command_loop *loop, int64_t release_ns,
                                          bb_command_frame *out);

/// v and delayed commands zero again; frames that are posted are lost, those that have not begun to
/// wait for their time do not wait for it. All devices are reset, the first failure is returned.
/// Errors: BB_DEVICE.
BB_CHECKED bb_status bb_command_loop_reset(bb_command_loop *loop);

/// What a loop takes beside its operators, for so many slopes, commands in all, groups, and
/// matrices with scales; on each GPU what one of them does.
bb_need bb_command_loop_need(double slopes, double commands, double groups, double scaled,
                             bb_index delay, bb_device_kind device, double devices);

#ifdef __cplusplus
}
#endif

#endif
