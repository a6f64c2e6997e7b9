// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of whole runs fails once, of those with frames every 97th.
#include "tests/sim/driver_faults.h"

// Sanitizers make a run ten times as long: they see every third failure.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

int main(void)
{
    return faults_run_all((fault_strides){EVERY, 97, 37, 5});
}
