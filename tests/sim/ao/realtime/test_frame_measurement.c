// SPDX-License-Identifier: Apache-2.0
//
// Deadline measurements of ao with a clock set by the test: late frames, frames posted ahead with
// the device clock or without a rate, a signal, and non-finite values.
#include "core/interrupt.h"
#include "tests/manual_clock.h"
#include "tests/sim/ao/realtime/frame_rig.h"

static void measure(const driver_case *study, manual_events events, bb_realtime_measurement *out,
                    rig *self)
{
    rig_open(self, study, 1);
    manual_clock_start();
    manual_event = events;
    check_ok(bb_frame_loop_measure(self->loop, out));
    manual_clock_stop();
}

#define NO_EVENT ((manual_events){0})

// Frames take a few clock readings. One of 2.5 ms misses its deadline of 1 ms, the next starts 1.5
// ms late and misses it too, and the one after is 0.5 ms late and meets it.
TEST(a_frame_that_is_late_is_counted)
{
    autorelease(bb_realtime_measurement) measured;
    bb_realtime_summary table;
    autocall(rig_close) rig self;
    measure(CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), (manual_events){.slow_sleep = 5 + 21},
            &measured, &self);
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

// With the device clock, frames are posted ahead and each has its own release. The host stops for
// 2.5 ms from 0.3 ms after the release of frame 20, so frame 21 starts 1.8 ms late and frame 22 0.8
// ms. The thread polls throughout, as it does without a rate.
TEST(a_frame_that_is_posted_ahead_keeps_its_release)
{
    const driver_case study = {CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.clock=device"}};
    const driver_case polled = {CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.rate_hz=0"}};
    char policy[BB_HOST_TEXT];
    autorelease(bb_realtime_measurement) measured;
    bb_realtime_summary table;
    autocall(rig_close) rig self;
    measure(&polled, NO_EVENT, &measured, &self);
    memcpy(policy, measured.host.thread.policy, sizeof policy);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    measure(&study, NO_EVENT, &measured, &self);
    assert_int_equal(manual_event.sleeps, 0);
    assert_string_equal(measured.host.thread.policy, policy);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    // The last frame, 39, has just ended.
    measure(&study, (manual_events){.slow_ns = manual_ns - 19000000 + 300000}, &measured, &self);
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
    measure(&study, NO_EVENT, &measured, &self);
    assert_int_equal(measured.count, 40);
    assert_int_equal(manual_event.sleeps, 0);
    assert_true(measured.wall_seconds < 40 * 5e-6);
    for (bb_index k = 1; k < 40; ++k) {
        assert_true(measured.records[k].release > measured.records[k - 1].release);
    }
}

// The frame in progress is still measured.
TEST(an_interrupt_ends_it_early)
{
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    check_ok(bb_interrupt_install());
    measure(CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), (manual_events){.signal_sleep = 5 + 13},
            &measured, &self);
    assert_true(measured.interrupted);
    assert_int_equal(measured.count, 13);
}

// Posted frames are discarded: the loop is reset without waiting for their releases.
TEST(an_interrupt_loses_what_is_posted)
{
    const driver_case study = {
        CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.clock=device", "realtime.delay_frames=1"}};
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    check_ok(bb_interrupt_install());
    measure(&study, NO_EVENT, &measured, &self);
    bb_realtime_measurement_release(&measured);
    rig_close(&self);
    const manual_events signalled = {.signal_ns = manual_ns - 19000000 + 300000}; // after frame 20
    measure(&study, signalled, &measured, &self);
    assert_true(measured.interrupted);
    assert_int_equal(measured.count, 22);
    check_close(measured.wall_seconds, 21e-3, 5e-6, 1.0);
    assert_true(step(&self, 0)[0] == 0.0F && step(&self, 1)[0] != 0.0F);
}

// Frames with non-finite slopes or products are counted where they occur.
TEST(held_frames_are_counted)
{
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    rig_open(&self, CASE(CONFIG_AO_SMALL, {PIPELINES, PACED}), 1);
    check_ok(bb_frame_loop_measure(self.loop, &measured));
    assert_int_equal(measured.held, 0);
    bb_realtime_measurement_release(&measured);
    self.loop->slopes[3 * self.loop->matrices.slopes + 17] = NAN; // in every eighth frame
    check_ok(bb_frame_loop_measure(self.loop, &measured));
    assert_int_equal(measured.held, 5); // 8, 16 .. 40 of frames 5 to 44 less 5: 3 mod 8
}
