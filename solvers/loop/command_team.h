// SPDX-License-Identifier: Apache-2.0
//
// Frames whose rows several devices share: each device has a loop (command_loop.h) of its own over
// its part of the rows of every matrix, and all the slopes. Controllers work row by row, so nothing
// passes between devices; a frame has ended when the last of them has.
//
// A frame in which a product is not finite is held by the device whose rows it is in, not by the
// others; a slope that is not finite holds all.
//
// Devices are GPUs of their own: a frame that waits for its release fills one, so that another
// loop's cannot start beside it. One that is opened twice serves as long as no frame is left armed.
//
// Clocks: times are of the first device's clock. What another's differs by is read off frames of
// slopes that are zero, to what the host needs to see a frame's end (about a microsecond of a GPU),
// and drifts from then on. Releases of a frame differ by both among devices, latencies do not: each
// device counts from the release by its own clock.
#ifndef BB_SOLVERS_LOOP_COMMAND_TEAM_H
#define BB_SOLVERS_LOOP_COMMAND_TEAM_H

#include "solvers/loop/command_loop.h"

enum { BB_COMMAND_DEVICES = 8 }; ///< most of a team

/// Rows that a device has of a matrix.
typedef struct bb_command_share {
    bb_index first, count;
} bb_command_share;

/// Rows of device `which` of `devices`: runs in their order, whose counts differ by one at most.
bb_command_share bb_command_share_of(bb_index rows, int devices, int which);

/// Read-only to users.
typedef struct bb_command_team {
    int devices, matrices;
    unsigned long long posted, taken; ///< frames
    bb_command_loop *loops[BB_COMMAND_DEVICES];
    bb_index rows[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES]; ///< of a device and matrix
    int64_t ahead_ns[BB_COMMAND_DEVICES]; ///< lead of a clock over the first one's
    bool has_release[BB_COMMAND_AHEAD];   ///< frame f, at f modulo BB_COMMAND_AHEAD
} bb_command_team;

/// Readies a loop a device. systems[d] is what device d multiplies: operators of its rows and their
/// means, all else alike. Errors: BB_INVALID (devices out of range, shares of different matrices),
/// those of bb_command_loop_create and of a frame. Owner: the caller.
BB_CHECKED bb_status bb_command_team_create(int devices, bb_device *const *device,
                                            const bb_command_system *systems,
                                            bb_command_team **out);
void bb_command_team_destroy(bb_command_team **team);

/// Puts slopes [columns] where those of the next frame to be posted arrive, for each device.
void bb_command_team_put(bb_command_team *team, const float *slopes);

/// Copies the commands of the frame that was taken last: of the first matrix by ascending row, then
/// of the next. `out` [rows of all matrices].
void bb_command_team_commands(const bb_command_team *team, float *out);

bb_index bb_command_team_slope_count(const bb_command_team *team);
bb_index bb_command_team_command_count(const bb_command_team *team);

/// Reads again what clocks differ by; v and delayed commands are zero then. Errors: a frame's.
BB_CHECKED bb_status bb_command_team_read_clocks(bb_command_team *team);

/// As the functions of command_loop.h of these names, of all devices. A frame that is taken is that
/// of the device which took longest from its release, in the first one's clock. Several devices
/// take all resets and tell of the first that fails.
BB_CHECKED bb_status bb_command_team_arm(bb_command_team *team);
BB_CHECKED bb_status bb_command_team_post(bb_command_team *team, int64_t release_ns);
BB_CHECKED bb_status bb_command_team_take(bb_command_team *team, bb_command_frame *out);
BB_CHECKED bb_status bb_command_team_step(bb_command_team *team, int64_t release_ns,
                                          bb_command_frame *out);
BB_CHECKED bb_status bb_command_team_reset(bb_command_team *team);

/// What a team takes, as bb_command_loop_need; on each GPU what one of them does.
bb_need bb_command_team_need(double slopes, double commands, double groups, double scaled,
                             bb_index delay, bb_device_kind device, double devices);

#endif
