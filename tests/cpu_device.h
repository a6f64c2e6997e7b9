// SPDX-License-Identifier: Apache-2.0
//
// The cpu device of a group: TEST_GROUP(.begin = open_cpu, .end = close_cpu).
#ifndef BB_TESTS_CPU_DEVICE_H
#define BB_TESTS_CPU_DEVICE_H

#include "tests/first_device.h"

static bb_device *cpu;

static inline int open_cpu(void)
{
    return first_device_open(BB_DEVICE_CPU, &cpu);
}

static inline void close_cpu(void)
{
    bb_device_close(&cpu);
}

#endif
