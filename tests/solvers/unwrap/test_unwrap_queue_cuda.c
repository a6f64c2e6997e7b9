// SPDX-License-Identifier: Apache-2.0
//
// Queues, graphs and runs of an unwrapper on CUDA; skipped without such a device.
#include "tests/solvers/unwrap/queue_cases.h"

static int begin(void)
{
    device_kind = BB_DEVICE_CUDA;
    return needs_device(device_kind);
}

TEST_GROUP(.begin = begin, .enter = open_context, .leave = close_context, .threads = 2);
