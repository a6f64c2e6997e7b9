// SPDX-License-Identifier: Apache-2.0
//
// Long searches (failing allocations, random programs, variants of kernels) run a fixed part of
// their cases, or all cases if BB_TEST_NIGHTLY is set, as tests/nightly does. tests/nightly.py is
// the equivalent for scripts.
#ifndef BB_TESTS_NIGHTLY_H
#define BB_TESTS_NIGHTLY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdlib.h>

static inline bool nightly(void)
{
    return getenv("BB_TEST_NIGHTLY") != NULL;
}

/// Returns `usual`, or `whole` in the nightly run.
static inline bb_index nightly_or(bb_index whole, bb_index usual)
{
    return nightly() ? whole : usual;
}

#endif
