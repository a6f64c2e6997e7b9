// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_measurement.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/interrupt.h"

#include <assert.h>
#include <math.h>

static_assert((int)BB_FRAME_STAGES <= (int)BB_STEP_PARTS, "a record has room for all stages");

static const int64_t lead_ns = 50000000; // before the first release

static int64_t period_of(const bb_ao_realtime_config *config)
{
    return config->rate_hz > 0.0 ? (int64_t)llrint(1e9 / config->rate_hz) : 0;
}

// Releases of frames, in ns of the clock that they go by.
typedef struct release_times {
    bool by_device;
    int64_t first, period;
    int64_t posted[BB_COMMAND_AHEAD]; // of frame f at f modulo BB_COMMAND_AHEAD
} release_times;

// Of frame `number`; by the host's clock it is waited for.
static int64_t await_release(const release_times *times, bb_index number)
{
    const int64_t release = times->first + number * times->period;
    if (times->period == 0) {
        return bb_clock_ns();
    }
    if (!times->by_device) {
        bb_realtime_thread_await(release);
    }
    return release;
}

static void note(const bb_command_frame *frame, int64_t release, int64_t end, int64_t begin,
                 bb_index number, bb_step_record *out)
{
    double inside = 0.0;
    *out = (bb_step_record){.release = 1e-9 * (double)(release - begin),
                            .latency = 1e-9 * (double)(end - release),
                            .step = (int32_t)number};
    for (int stage = 0; stage < BB_COMMAND_STAGES; ++stage) {
        out->stage[stage] = frame->seconds[stage];
        inside += frame->seconds[stage];
    }
    out->stage[BB_FRAME_HOST] = out->latency - inside;
}

// The device's clock is read off a frame.
static bb_status set_times(bb_frame_loop *loop, release_times *out)
{
    bb_status status = BB_OK;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    bb_command_frame frame;
    *out = (release_times){.by_device = config->clock == (int)BB_FRAME_CLOCK_DEVICE,
                           .period = period_of(config)};
    BB_TRY(bb_command_team_read_clocks(loop->frames));
    bb_frame_loop_put(loop, 0);
    BB_TRY(bb_command_team_step(loop->frames, 0, &frame));
    BB_TRY(bb_command_team_reset(loop->frames));
    out->first = lead_ns + (out->by_device ? frame.end_ns : bb_clock_ns());
done:
    return status;
}

// Posts the next frame: by the host's clock once it comes to the release.
static bb_status post_frame(bb_frame_loop *loop, bb_index number, release_times *times)
{
    bb_status status = BB_OK;
    int64_t *release = &times->posted[number % BB_COMMAND_AHEAD];
    BB_TRY(bb_command_team_arm(loop->frames));
    bb_frame_loop_put(loop, number);
    *release = await_release(times, number);
    BB_TRY(bb_command_team_post(loop->frames, times->by_device ? *release : 0));
done:
    return status;
}

// Frames that are not measured, then those that are, without a break. By the device's clock as many
// as may be are posted before the first of them is taken: the host may be away from its core for
// all but one of their periods, and none of them is late by it.
static bb_status run_frames(bb_frame_loop *loop, bb_frame_measurement *out)
{
    bb_status status = BB_OK;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    const bb_index before = config->warm_up_frames;
    const bb_index total = before + config->frames;
    bb_index posted = 0;
    release_times times;
    int64_t begin = 0;
    BB_TRY(set_times(loop, &times));
    for (bb_index k = 0; k < total && !bb_interrupt_noted(); ++k) {
        const bb_index ahead = times.by_device ? (bb_index)BB_COMMAND_AHEAD : 1;
        bb_command_frame frame;
        bb_step_record record;
        for (; posted < total && posted < k + ahead; ++posted) {
            BB_TRY(post_frame(loop, posted, &times));
        }
        const int64_t release = times.posted[k % BB_COMMAND_AHEAD];
        if (k == before) {
            begin = release;
        }
        BB_TRY(bb_command_team_take(loop->frames, &frame));
        const int64_t end = times.by_device ? frame.end_ns : bb_clock_ns();
        note(&frame, release, end, begin, k - before, &record);
        if (k >= before) {
            out->records[out->count++] = record;
            out->held += !frame.slopes_finite || !frame.products_finite;
            out->wall_seconds = record.release + record.latency;
        }
    }
    out->interrupted = bb_interrupt_noted();
done:
    return status;
}

// Written once, so that every page is there before the first release.
static bb_status make_records(bb_index frames, bb_frame_measurement *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(frames, &out->records));
    for (bb_index k = 0; k < frames; ++k) {
        out->records[k] = (bb_step_record){.latency = NAN};
    }
done:
    return status;
}

bb_status bb_frame_measurement_run(bb_frame_loop *loop, bb_frame_measurement *out)
{
    bb_status status = BB_OK;
    const bb_ao_realtime_config *config = &loop->study->realtime;
    BB_TRY(make_records(config->frames, out));
    bb_log_info("%td frames and %td before them at %g Hz (0: back to back)", config->frames,
                config->warm_up_frames, config->rate_hz);
    // Who takes frames by the device's clock polls for them throughout.
    const bool never_sleeps = config->clock == (int)BB_FRAME_CLOCK_DEVICE ||
                              bb_realtime_thread_never_sleeps(period_of(config));
    if (bb_device_kind_of(loop->devices[0]) != BB_DEVICE_CPU) {
        bb_threads_stop(); // nothing beside this thread
    }
    bb_realtime_thread_enter(&out->host.thread, never_sleeps);
    status = run_frames(loop, out);
    bb_realtime_thread_leave(&out->host.thread);
    BB_TRY(status);
    BB_TRY(bb_command_team_reset(loop->frames)); // no frame is left that waits
done:
    return status;
}

bb_status bb_frame_measurement_take(bb_frame_loop *loop, bb_frame_measurement *out)
{
    bb_status status = BB_OK;
    *out = (bb_frame_measurement){0};
    for (int d = 0; d < loop->device_count; ++d) {
        BB_TRY(bb_device_describe(loop->devices[d], &out->devices[d]));
    }
    BB_TRY(bb_frame_loop_compare(loop, &out->distance));
    bb_host_state_read(&out->host.before);
    bb_interrupt_defer(true);
    status = bb_frame_measurement_run(loop, out);
    if (status == BB_OK && out->count == 0) {
        bb_interrupt_deliver(); // nothing was measured that could be kept
    }
    bb_interrupt_defer(false);
    BB_TRY(status);
    bb_host_state_read(&out->host.after);
done:
    if (status != BB_OK) {
        bb_frame_measurement_release(out);
    }
    return status;
}

void bb_frame_measurement_release(bb_frame_measurement *measured)
{
    BB_RELEASE(&measured->records);
}
