// SPDX-License-Identifier: Apache-2.0
//
// Allocations of whole runs fail in strides; test_driver_faults_all.c takes every one.
#include "tests/sim/driver_faults.h"

int main(void)
{
    return faults_run_all((fault_strides){13, 499, 97, 29});
}
