// SPDX-License-Identifier: Apache-2.0
//
// The deadline harness of ao on a clock that the test sets: frames that are late, posted ahead by
// the device's clock or back to back, a signal, and what is not finite.
#include "core/clock.h"
#include "sim/interrupt.h"
#include "tests/sim/ao/realtime/frame_rig.h"

#include <signal.h>

// A clock that runs by 0.1 us a reading, sleeps exactly, and at one sleep makes the next reading
// after the release 2.5 ms late, at another sends a signal.
static int64_t now_ns;
static int64_t slow_ns;   // the reading that passes it takes longer; 0: none
static int64_t signal_ns; // the reading that passes it sends a signal; 0: none
static bb_index sleeps, slow_sleep, signal_sleep;

static int64_t read_clock(void)
{
    now_ns += 100;
    if (signal_ns > 0 && now_ns > signal_ns) {
        signal_ns = 0;
        (void)raise(SIGINT);
    }
    if (slow_ns > 0 && now_ns > slow_ns) {
        now_ns += 2500000;
        slow_ns = 0;
    }
    return now_ns;
}

static bool sleep_clock(int64_t ns)
{
    if (ns <= now_ns) {
        return true; // a release that is late already
    }
    now_ns = ns;
    ++sleeps;
    if (sleeps == slow_sleep) {
        slow_ns = ns + 150000 + 150;
    }
    if (sleeps == signal_sleep) {
        (void)raise(SIGINT);
    }
    return true;
}

static void measure_from(const driver_case *study, int64_t slow_reading, bb_index slow,
                         bb_index signalled, bb_realtime_measurement *out, rig *self)
{
    static const bb_clock clock = {read_clock, sleep_clock};
    rig_open(self, study, 1);
    now_ns = 1000000000;
    slow_ns = slow_reading;
    sleeps = 0;
    slow_sleep = slow;
    signal_sleep = signalled;
    bb_clock_set(&clock);
    check_ok(bb_frame_loop_measure(self->loop, out));
    bb_clock_set(NULL);
}

static void measure(const driver_case *study, bb_index slow, bb_index signalled,
                    bb_realtime_measurement *out, rig *self)
{
    measure_from(study, 0, slow, signalled, out, self);
}

// Frames take a few readings; one of 2.5 ms misses its deadline of 1 ms, the next starts 1.5 ms
// late and misses it too, the one after is 0.5 ms late and does not.
TEST(a_frame_that_is_late_is_counted)
{
    autorelease(bb_realtime_measurement) measured;
    bb_realtime_summary table;
    autocall(rig_close) rig self;
    measure(CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), 5 + 21, 0, &measured, &self);
    assert_int_equal(measured.count, 40);
    assert_int_equal(measured.held, 0);
    assert_false(measured.interrupted);
    for (bb_index k = 0; k < 40; ++k) {
        const bb_step_record *record = &measured.records[k];
        const double late = k >= 20 && k < 23 ? 2.5e-3 - 1e-3 * (double)(k - 20) : 0.0;
        double sum = 0.0;
        for (int stage = 0; stage < BB_FRAME_STAGES; ++stage) {
            sum += record->stage[stage];
        }
        check_close(record->latency, late, 5e-6, 1.0);
        check_close(record->release, 1e-3 * (double)k, 1e-12, 1.0);
        check_close(sum, record->latency, 1e-12, 1.0);
        assert_int_equal(record->step, k);
    }
    check_ok(bb_frame_loop_sum_up(self.loop, &measured, &table));
    assert_true(table.kind[0].latency.misses == 2.0);
    assert_true(table.worst[0].step == 20.0 && table.worst[1].step == 21.0);
    check_close(table.worst[0].latency, 2.5e-3, 5e-6, 1.0);
    // Clopper and Pearson for 2 of 40.
    check_close(table.kind[0].latency.miss_bound, 0.14915, 1e-4, 1.0);
}

// By the device's clock frames are posted ahead, and each keeps its own release: nothing runs for
// 2.5 ms from 0.3 ms after the release of frame 20 on, so frame 21 begins 1.8 ms late and frame 22
// 0.8 ms. The thread polls throughout, as it does back to back.
TEST(a_frame_that_is_posted_ahead_keeps_its_release)
{
    const driver_case study = {CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.clock=device"}};
    const driver_case polled = {CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.rate_hz=0"}};
    char policy[BB_HOST_TEXT];
    autorelease(bb_realtime_measurement) measured;
    bb_realtime_summary table;
    autocall(rig_close) rig self;
    measure(&polled, 0, 0, &measured, &self);
    memcpy(policy, measured.host.thread.policy, sizeof policy);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    measure(&study, 0, 0, &measured, &self);
    assert_int_equal(sleeps, 0);
    assert_string_equal(measured.host.thread.policy, policy);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    // The last frame, 39, has just ended.
    measure_from(&study, now_ns - 19000000 + 300000, 0, 0, &measured, &self);
    assert_int_equal(measured.count, 40);
    for (bb_index k = 0; k < 40; ++k) {
        const bb_step_record *record = &measured.records[k];
        const double late = k == 21 || k == 22 ? 1.8e-3 - 1e-3 * (double)(k - 21) : 0.0;
        check_close(record->latency, late, 5e-6, 1.0);
        check_close(record->release, 1e-3 * (double)k, 1e-12, 1.0);
        assert_int_equal(record->step, k);
    }
    check_ok(bb_frame_loop_sum_up(self.loop, &measured, &table));
    assert_true(table.kind[0].latency.misses == 1.0 && table.worst[0].step == 21.0);
}

TEST(frames_back_to_back_do_not_wait)
{
    const driver_case study = {CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.rate_hz=0"}};
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    measure(&study, 0, 0, &measured, &self);
    assert_int_equal(measured.count, 40);
    assert_int_equal(sleeps, 0);
    assert_true(measured.wall_seconds < 40 * 5e-6);
    for (bb_index k = 1; k < 40; ++k) {
        assert_true(measured.records[k].release > measured.records[k - 1].release);
    }
}

// The frame under way is still measured.
TEST(an_interrupt_ends_it_early)
{
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    check_ok(bb_interrupt_install());
    measure(CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), 0, 5 + 13, &measured, &self);
    assert_true(measured.interrupted);
    assert_int_equal(measured.count, 13);
}

// Those that are posted are lost: the loop is at rest, and nobody waits for their releases.
TEST(an_interrupt_loses_what_is_posted)
{
    const driver_case study = {
        CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.clock=device", "realtime.delay_frames=1"}};
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    check_ok(bb_interrupt_install());
    measure(&study, 0, 0, &measured, &self);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    signal_ns = now_ns - 19000000 + 300000; // after frame 20
    measure(&study, 0, 0, &measured, &self);
    assert_true(measured.interrupted);
    assert_int_equal(measured.count, 22);
    check_close(measured.wall_seconds, 21e-3, 5e-6, 1.0);
    assert_true(step(&self, 0)[0] == 0.0F && step(&self, 1)[0] != 0.0F);
}

// Slopes that are not finite, or whose products are not, are counted where they come.
TEST(held_frames_are_counted)
{
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    rig_open(&self, CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), 1);
    check_ok(bb_frame_loop_measure(self.loop, &measured));
    assert_int_equal(measured.held, 0);
    bb_realtime_measurement_release(&measured);
    self.loop->slopes[3 * self.loop->matrices.slopes + 17] = NAN; // of every eighth frame
    check_ok(bb_frame_loop_measure(self.loop, &measured));
    assert_int_equal(measured.held, 5); // 8, 16 .. 40 of frames 5 to 44 less 5: 3 mod 8
}
