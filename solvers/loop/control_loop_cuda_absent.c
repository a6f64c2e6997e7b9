// SPDX-License-Identifier: Apache-2.0
//
// Stands in for control_loop_cuda.cu in a build without CUDA: no loop is ever made.
#include "solvers/loop/control_loop.h"

bb_status bb_control_loop_create(bb_device *device, const bb_loop_system *system,
                                 bb_control_loop **out)
{
    (void)device;
    (void)system;
    *out = NULL;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "a control loop runs on a cuda device: this build has no CUDA");
}

void bb_control_loop_destroy(bb_control_loop **loop)
{
    *loop = NULL;
}

static bb_status absent(void)
{
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "a control loop: this build has no CUDA");
}

bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period)
{
    (void)loop;
    (void)period;
    return absent();
}

bb_status bb_control_loop_use(bb_control_loop *loop, bb_index period, bb_index set)
{
    (void)loop;
    (void)period;
    (void)set;
    return absent();
}

bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period)
{
    (void)loop;
    (void)period;
    return absent();
}

bb_status bb_control_loop_step(bb_control_loop *loop)
{
    (void)loop;
    return absent();
}

bb_status bb_control_loop_wait(bb_control_loop *loop)
{
    (void)loop;
    return absent();
}

bb_status bb_control_loop_await(bb_control_loop *loop, bb_index left, int64_t sleep_ns)
{
    (void)loop;
    (void)left;
    (void)sleep_ns;
    return absent();
}

bb_index bb_control_loop_left(const bb_control_loop *loop)
{
    (void)loop;
    return 0;
}

bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop, bb_index left)
{
    (void)loop;
    (void)left;
    return (bb_loop_stamps){{0}};
}

bb_status bb_control_loop_hold(bb_control_loop *loop, uint64_t ns)
{
    (void)loop;
    (void)ns;
    return absent();
}

bb_status bb_control_loop_clock(bb_control_loop *loop, uint64_t *ns)
{
    (void)loop;
    (void)ns;
    return absent();
}

bb_status bb_control_loop_reset(bb_control_loop *loop)
{
    (void)loop;
    return absent();
}

bb_status bb_control_loop_state(bb_control_loop *loop, float *out)
{
    (void)loop;
    (void)out;
    return absent();
}

bb_status bb_control_loop_reading(bb_control_loop *loop, float *out)
{
    (void)loop;
    (void)out;
    return absent();
}

bb_status bb_control_loop_windows(bb_control_loop *loop, double *out)
{
    (void)loop;
    (void)out;
    return absent();
}

bb_status bb_control_loop_outputs(bb_control_loop *loop, double *out)
{
    (void)loop;
    (void)out;
    return absent();
}

double bb_control_loop_bytes(const bb_control_loop *loop, bool light)
{
    (void)loop;
    (void)light;
    return 0.0;
}
