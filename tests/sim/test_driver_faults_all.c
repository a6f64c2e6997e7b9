// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of whole runs fails once, of those with frames every 97th; by turns in CI.
#include "tests/sim/driver_faults.h"

// Sanitizers make a run ten times as long: they see every third failure.
#ifdef BB_SANITIZED
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

static int run(void)
{
    return faults_run_all((fault_strides){EVERY, 97, 37, 5, turn_of_environment()});
}

TEST_GROUP(.run = run);
