// SPDX-License-Identifier: Apache-2.0
#include "solvers/loop/command_team.h"

#include "core/clock.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { CLOCK_FRAMES = 16 };

bb_command_share bb_command_share_of(bb_index rows, int devices, int which)
{
    const bb_index least = rows / devices;
    const bb_index longer = rows % devices; // have one more
    const bb_index before = which < longer ? which : longer;
    return (bb_command_share){which * least + before, least + (which < longer ? 1 : 0)};
}

static bb_status check(int devices, const bb_command_system *systems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(devices >= 1 && devices <= (int)BB_COMMAND_DEVICES, BB_INVALID,
               "%d devices of a frame, expected 1 to %d", devices, (int)BB_COMMAND_DEVICES);
    for (int d = 1; d < devices; ++d) {
        BB_REQUIRE(systems[d].matrix_count == systems[0].matrix_count, BB_INVALID,
                   "device %d of a frame has %d matrices, expected the %d of the first", d,
                   systems[d].matrix_count, systems[0].matrix_count);
        const bb_index columns = bb_coded_operator_columns(systems[d].operators[0]);
        BB_REQUIRE(
            columns == bb_coded_operator_columns(systems[0].operators[0]), BB_INVALID,
            "device %d of a frame has matrices of %td columns, expected the %td of the first", d,
            columns, bb_coded_operator_columns(systems[0].operators[0]));
    }
done:
    return status;
}

// How far a device's clock is ahead of the host's, from the frame whose end the host saw soonest.
static bb_status read_clock(bb_command_loop *loop, int64_t *ahead_ns)
{
    bb_status status = BB_OK;
    const size_t bytes = (size_t)bb_command_loop_slope_count(loop) * sizeof(float);
    *ahead_ns = INT64_MIN;
    for (int k = 0; k < CLOCK_FRAMES; ++k) {
        bb_command_frame frame;
        memset(bb_command_loop_slopes(loop), 0, bytes);
        BB_TRY(bb_command_loop_step(loop, 0, &frame));
        const int64_t ahead = frame.end_ns - bb_clock_ns();
        *ahead_ns = ahead > *ahead_ns ? ahead : *ahead_ns;
    }
    BB_TRY(bb_command_loop_reset(loop));
done:
    return status;
}

bb_status bb_command_team_read_clocks(bb_command_team *team)
{
    bb_status status = BB_OK;
    if (team->devices == 1) {
        return BB_OK;
    }
    for (int d = 0; d < team->devices; ++d) {
        BB_TRY(read_clock(team->loops[d], &team->ahead_ns[d]));
    }
    for (int d = team->devices - 1; d >= 0; --d) {
        team->ahead_ns[d] -= team->ahead_ns[0];
    }
done:
    return status;
}

bb_status bb_command_team_create(int devices, bb_device *const *device,
                                 const bb_command_system *systems, bb_command_team **out)
{
    bb_status status = BB_OK;
    bb_command_team *team = NULL;
    *out = NULL;
    BB_TRY(check(devices, systems));
    BB_TRY(BB_ZEROED(1, &team));
    team->devices = devices;
    team->matrices = systems[0].matrix_count;
    for (int d = 0; d < devices; ++d) {
        BB_TRY(bb_command_loop_create(device[d], &systems[d], &team->loops[d]));
        for (int t = 0; t < team->matrices; ++t) {
            team->rows[d][t] = bb_coded_operator_rows(systems[d].operators[t]);
        }
    }
    BB_TRY(bb_command_team_read_clocks(team));
    *out = team;
    team = NULL;
done:
    bb_command_team_destroy(&team);
    return status;
}

// All of them, whichever fails; the first failure is told.
static bb_status reset_loops(const bb_command_team *team)
{
    bb_status status = BB_OK;
    bb_status_record record;
    for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
        const bb_status failure =
            team->loops[d] == NULL ? BB_OK : bb_command_loop_reset(team->loops[d]);
        if (failure != BB_OK && status == BB_OK) {
            status = failure;
            bb_status_save(&record);
        }
    }
    if (status != BB_OK) {
        bb_status_restore(&record);
    }
    return status;
}

void bb_command_team_destroy(bb_command_team **team)
{
    if (*team != NULL) {
        // One that frees memory may wait for all devices: none may hold a frame that waits.
        bb_status_record record;
        bb_status_save(&record);
        if (reset_loops(*team) != BB_OK) {
            bb_status_restore(&record);
        }
        for (int d = 0; d < (int)BB_COMMAND_DEVICES; ++d) {
            bb_command_loop_destroy(&(*team)->loops[d]);
        }
        BB_RELEASE(team);
    }
}

void bb_command_team_put(bb_command_team *team, const float *slopes)
{
    const size_t bytes = (size_t)bb_command_team_slope_count(team) * sizeof *slopes;
    for (int d = 0; d < team->devices; ++d) {
        memcpy(bb_command_loop_slopes(team->loops[d]), slopes, bytes);
    }
}

void bb_command_team_commands(const bb_command_team *team, float *out)
{
    bb_index first[BB_COMMAND_DEVICES] = {0}; // of a device's commands
    for (int t = 0; t < team->matrices; ++t) {
        for (int d = 0; d < team->devices; ++d) {
            const bb_index rows = team->rows[d][t];
            memcpy(out, bb_command_loop_commands(team->loops[d]) + first[d],
                   (size_t)rows * sizeof *out);
            first[d] += rows;
            out += rows;
        }
    }
}

bb_index bb_command_team_slope_count(const bb_command_team *team)
{
    return bb_command_loop_slope_count(team->loops[0]);
}

bb_index bb_command_team_command_count(const bb_command_team *team)
{
    bb_index count = 0;
    for (int d = 0; d < team->devices; ++d) {
        count += bb_command_loop_command_count(team->loops[d]);
    }
    return count;
}

bb_status bb_command_team_arm(bb_command_team *team)
{
    bb_status status = BB_OK;
    for (int d = 0; d < team->devices; ++d) {
        BB_TRY(bb_command_loop_arm(team->loops[d]));
    }
done:
    return status;
}

bb_status bb_command_team_post(bb_command_team *team, int64_t release_ns)
{
    bb_status status = BB_OK;
    for (int d = 0; d < team->devices; ++d) {
        const int64_t release = release_ns == 0 ? 0 : release_ns + team->ahead_ns[d];
        BB_TRY(bb_command_loop_post(team->loops[d], release));
    }
    team->has_release[team->posted % BB_COMMAND_AHEAD] = release_ns != 0;
    team->posted += 1;
done:
    return status;
}

// Devices that a frame was released to by their clocks count from there; without a release they
// began together, as the host let them, and what clocks have drifted apart is left out.
static bool ends_later(const bb_command_frame *frame, const bb_command_frame *other,
                       bool has_release)
{
    return has_release ? frame->end_ns > other->end_ns
                       : frame->end_ns - frame->begin_ns > other->end_ns - other->begin_ns;
}

bb_status bb_command_team_take(bb_command_team *team, bb_command_frame *out)
{
    bb_status status = BB_OK;
    const bool has_release = team->has_release[team->taken % BB_COMMAND_AHEAD];
    bool slopes_finite = true;
    bool products_finite = true;
    for (int d = 0; d < team->devices; ++d) {
        bb_command_frame frame;
        BB_TRY(bb_command_loop_take(team->loops[d], &frame));
        frame.begin_ns -= team->ahead_ns[d];
        frame.end_ns -= team->ahead_ns[d];
        slopes_finite = slopes_finite && frame.slopes_finite;
        products_finite = products_finite && frame.products_finite;
        if (d == 0 || ends_later(&frame, out, has_release)) {
            *out = frame;
        }
    }
    out->slopes_finite = slopes_finite;
    out->products_finite = products_finite;
    team->taken += 1;
done:
    return status;
}

bb_status bb_command_team_step(bb_command_team *team, int64_t release_ns, bb_command_frame *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(team->posted == team->taken, BB_INVALID,
               "%llu frames are posted, expected all to be taken before a step",
               team->posted - team->taken);
    BB_TRY(bb_command_team_post(team, release_ns));
    BB_TRY(bb_command_team_take(team, out));
done:
    return status;
}

bb_status bb_command_team_reset(bb_command_team *team)
{
    team->taken = team->posted;
    return reset_loops(team);
}

bb_need bb_command_team_need(double slopes, double commands, double groups, double scaled,
                             bb_index delay, bb_device_kind device, double devices)
{
    const double rows = ceil(commands / devices);
    const bb_need one = bb_command_loop_need(slopes, rows, groups, scaled, delay, device);
    return (bb_need){.host_bytes = sizeof(bb_command_team) + devices * one.host_bytes,
                     .device_bytes = one.device_bytes};
}
