// SPDX-License-Identifier: Apache-2.0
//
// A pipeline's frames on several devices against those of one.
#include "tests/sim/ao/realtime/frame_rig.h"

// Rows dealt over devices, here two of the cpu, means and scales of columns among them.
TEST(shared_rows_give_the_same_commands)
{
    const driver_case cases[] = {
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=both", "realtime.delay_frames=1"}},
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=scaled"}},
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=fp16"}}};
    for (int c = 0; c < 3; ++c) {
        autocall(rig_close) rig one;
        rig_open(&one, &cases[c], 2);
        bb_device *const devices[2] = {one.cpu, one.cpu};
        rig two = {.cpu = one.cpu};
        check_ok(bb_frame_loop_create(one.loop->study, one.loop->pipeline, 2, devices, &two.loop));
        const bb_index count = one.loop->matrices.commands;
        for (bb_index k = 0; k < 3; ++k) {
            const float *expected = step(&one, k);
            assert_memory_equal(step(&two, k), expected, (size_t)count * sizeof *expected);
        }
        check_close(two.loop->operator_bytes, one.loop->operator_bytes, 1e-3,
                    one.loop->operator_bytes);
        BB_RELEASE(&two.commands);
        bb_frame_loop_destroy(&two.loop);
    }
}

TEST(devices_are_counted)
{
    const driver_case study = {CONFIG_AO_SMALL, {PIPELINES, DRAWN}};
    autocall(rig_close) rig self;
    bb_frame_loop *loop = NULL;
    rig_open(&self, &study, 1);
    bb_device *const devices[1] = {self.cpu};
    check_fails(bb_frame_loop_create(self.loop->study, self.loop->pipeline, 0, devices, &loop),
                BB_INVALID, "0 devices of a frame, expected 1 to 8");
}
