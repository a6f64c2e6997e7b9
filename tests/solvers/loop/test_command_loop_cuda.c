// SPDX-License-Identifier: Apache-2.0
//
// Frames of a command loop on a GPU: the algebra common to all devices (command_loop_cases.h), the
// same bits in every run, and frames of ten matrices in one launch.
#include "tests/first_device.h"
#include "tests/solvers/loop/command_loop_cases.h"

TEST(runs_repeat_their_bits)
{
    float first[MATRICES * ROWS];
    for (int round = 0; round < 3; ++round) {
        autocall(rig_close) rig self;
        rig_open(&self, (bb_command_system){.group_count = GROUPS, .gain = 0.6, .delay = 1});
        for (uint64_t k = 0; k < 5; ++k) {
            put_slopes(&self, 20 + k);
            (void)run(&self);
        }
        if (round == 0) {
            memcpy(first, commands_of(&self), sizeof first);
        }
        assert_memory_equal(first, commands_of(&self), sizeof first);
    }
}

// Pending frames wait for their release, then for the device clock, each for its own time. One that
// is overdue starts at once, after the frames before it. A frame that is never released survives
// neither a reset nor the loop.
TEST(frames_wait_for_their_release)
{
    autocall(rig_close) rig self;
    bb_command_frame frame;
    bb_command_frame late;
    rig_open(&self, (bb_command_system){.gain = 1.0});
    put_slopes(&self, 3);
    step(&self, self.loop, &frame);
    check_ok(bb_command_loop_arm(self.loop));
    check_ok(bb_command_loop_arm(self.loop));
    bb_command_loop_set_slopes(self.loop, self.slopes);
    check_ok(bb_command_loop_step(self.loop, frame.end_ns + 20000000, &late));
    assert_true(late.begin_ns >= frame.end_ns + 20000000 && late.end_ns > late.begin_ns);
    check_ok(bb_command_loop_arm(self.loop));
    check_ok(bb_command_loop_reset(self.loop));
    step(&self, self.loop, &frame);
    assert_true(frame.begin_ns > late.end_ns && frame.slopes_finite);
    // A full ring: a frame every 2 ms from 10 ms on, except slot 5, which is overdue.
    for (int64_t k = 0; k < BB_COMMAND_AHEAD; ++k) {
        bb_command_loop_set_slopes(self.loop, self.slopes);
        check_ok(bb_command_loop_post(self.loop, k == 5 ? frame.end_ns - 1
                                                        : frame.end_ns + 10000000 + 2000000 * k));
    }
    int64_t end = frame.end_ns;
    for (int64_t k = 0; k < BB_COMMAND_AHEAD; ++k) {
        check_ok(bb_command_loop_wait(self.loop, &late));
        assert_true(late.begin_ns >= end && late.end_ns > late.begin_ns);
        assert_true(k == 5 || late.begin_ns >= frame.end_ns + 10000000 + 2000000 * k);
        end = late.end_ns;
    }
    // Frames an hour ahead, behind one that may already wait for its time: a reset discards them.
    for (int k = 0; k < BB_COMMAND_AHEAD; ++k) {
        bb_command_loop_set_slopes(self.loop, self.slopes);
        check_ok(bb_command_loop_post(self.loop,
                                      end + (k == 0 ? 50000000 : (int64_t)3600 * 1000000000)));
    }
    check_ok(bb_command_loop_reset(self.loop));
    step(&self, self.loop, &frame);
    assert_true(frame.begin_ns > end && frame.slopes_finite);
    check_ok(bb_command_loop_arm(self.loop));
}

TEST(many_matrices_share_a_frame)
{
    enum { MANY = 10 };
    autocall(rig_close) rig self;
    bb_command_frame frame;
    bb_coded_operator *operators[MANY];
    rig_open(&self, (bb_command_system){0});
    for (int t = 0; t < MANY; ++t) {
        operators[t] = self.operators[t % MATRICES];
    }
    const bb_command_system system = {
        .matrix_count = MANY, .operators = operators, .reference = self.reference, .gain = 1.0};
    autoptr(bb_command_loop) loop = new_object(bb_command_loop, 1, &device, &system);
    put_slopes(&self, 40);
    const float *few = run(&self);
    float many[MANY * ROWS];
    step(&self, loop, &frame);
    // Launches with another number of equal matrices split their sums differently.
    bb_command_loop_commands(loop, many);
    for (int i = 0; i < MANY * ROWS; ++i) {
        const double expected = (double)few[i % (MATRICES * ROWS)];
        check_close((double)many[i], expected, 1e-4, fmax(fabs(expected), 1.0));
    }
}

static int begin(void)
{
    return first_device_open(BB_DEVICE_CUDA, &device);
}

static void end(void)
{
    bb_device_close(&device);
}

TEST_GROUP(.begin = begin, .end = end);
