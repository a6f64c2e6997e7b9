// SPDX-License-Identifier: Apache-2.0
//
// The first device of a kind, for test programs that are skipped where there is none.
#ifndef BB_TESTS_FIRST_DEVICE_H
#define BB_TESTS_FIRST_DEVICE_H

#include "core/device/device.h"
#include "tests/check.h"

enum { FIRST_DEVICE_ABSENT = 77 }; ///< exit code of a skipped test

/// 0 and the device, which the caller closes; else the exit code, told why.
static inline int first_device_open(bb_device_kind kind, bb_device **out)
{
    char reason[256];
    if (bb_device_count(kind, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return FIRST_DEVICE_ABSENT;
    }
    if (bb_device_open(kind, 0, out) != BB_OK) {
        print_error("%s\n%s", bb_status_message(), bb_status_trace_text());
        return 1;
    }
    return 0;
}

#endif
