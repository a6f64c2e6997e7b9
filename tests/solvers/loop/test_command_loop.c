// SPDX-License-Identifier: Apache-2.0
//
// Frames of a command loop on the CPU: the algebra common to all devices (command_loop_cases.h),
// the same bits for any number of threads, releases by a clock that the test sets, and memory of a
// loop.
#include "tests/first_device.h"
#include "tests/manual_clock.h"
#include "tests/solvers/loop/command_loop_cases.h"

TEST(threads_change_no_bit)
{
    float one[MATRICES * ROWS];
    for (int threads = 1; threads <= 3; ++threads) {
        autocall(rig_close) rig self;
        check_ok(bb_threads_set(threads));
        rig_open(&self, (bb_command_system){.group_count = GROUPS, .gain = 0.6});
        for (uint64_t k = 0; k < 3; ++k) {
            put_slopes(&self, 20 + k);
            (void)run(&self);
        }
        const float *commands = commands_of(&self);
        if (threads == 1) {
            memcpy(one, commands, sizeof one);
        }
        assert_memory_equal(one, commands, sizeof one);
    }
}

// Pending frames wait for their release; one that is overdue starts at once, after the frames
// before it. Each reading of the clock takes 0.1 us; a frame reads it once per stage and twice per
// product.
TEST(frames_wait_for_their_release)
{
    static const int64_t release[] = {1000500000, 1001000000, 1000000001,
                                      0,          1001000500, 1002000000};
    enum { FRAMES = sizeof release / sizeof *release };
    const int64_t readings = BB_COMMAND_STAGES + 2 * MATRICES;
    autocall(rig_close) rig self;
    int64_t end = 0;
    rig_open(&self, (bb_command_system){0});
    manual_clock_start();
    for (int k = 0; k < FRAMES; ++k) {
        put_slopes(&self, (uint64_t)k);
        bb_command_loop_set_slopes(self.loop, self.slopes);
        check_ok(bb_command_loop_post(self.loop, release[k]));
    }
    for (int k = 0; k < FRAMES; ++k) {
        bb_command_frame frame;
        const int64_t next = end + MANUAL_READING_NS;
        check_ok(bb_command_loop_wait(self.loop, &frame));
        assert_int_equal(frame.begin_ns, k > 0 && next > release[k] ? next : release[k]);
        assert_int_equal(frame.end_ns, frame.begin_ns + readings * MANUAL_READING_NS);
        end = frame.end_ns;
    }
    manual_clock_stop();
}

// Peak memory of a loop without its operators.
TEST(the_need_is_what_it_takes)
{
    autocall(rig_close) rig self;
    rig_open(&self, (bb_command_system){0});
    const bb_command_system system = {.matrix_count = MATRICES,
                                      .operators = self.operators,
                                      .group_count = GROUPS,
                                      .group_begin = group_begin,
                                      .means = (const float *const *)self.means,
                                      .gain = 0.5,
                                      .delay = 2};
    bb_memory_peak_reset();
    const size_t before = bb_memory_bytes();
    autoptr(bb_command_loop) loop = new_object(bb_command_loop, 1, &device, &system);
    const double peak = (double)(bb_memory_peak_bytes() - before);
    const double need =
        bb_command_loop_need(COLUMNS, (double)MATRICES * ROWS, GROUPS, 0.0, 2, BB_DEVICE_CPU, 1.0)
            .host_bytes;
    assert_true(peak <= need && need <= 2.0 * peak);
}

static int begin(void)
{
    return first_device_open(BB_DEVICE_CPU, &device);
}

static void end(void)
{
    bb_device_close(&device);
}

TEST_GROUP(.begin = begin, .end = end);
