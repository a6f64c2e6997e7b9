// SPDX-License-Identifier: Apache-2.0
//
// Allocations of whole runs fail in strides; test_driver_faults_all.c takes every one.
#include "tests/sim/driver_faults.h"

#ifdef BB_SANITIZED
static const fault_strides strides = {37, 997, 197, 59, {0, 1}}; // they take three times as long
#else
static const fault_strides strides = {13, 499, 97, 29, {0, 1}};
#endif

static int run(void)
{
    return faults_run_all(strides);
}

TEST_GROUP(.run = run);
