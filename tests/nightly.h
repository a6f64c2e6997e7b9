// SPDX-License-Identifier: Apache-2.0
//
// Long searches (failing allocations, random programs, variants of kernels) try a fixed part of
// their cases, and all of them where BB_TEST_NIGHTLY is set, as tests/nightly sets it.
// tests/nightly.py is the same for scripts.
#ifndef BB_TESTS_NIGHTLY_H
#define BB_TESTS_NIGHTLY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdlib.h>

static inline bool nightly(void)
{
    return getenv("BB_TEST_NIGHTLY") != NULL;
}

/// `usual`, or `whole` in the nightly run.
static inline bb_index nightly_or(bb_index whole, bb_index usual)
{
    return nightly() ? whole : usual;
}

#endif
