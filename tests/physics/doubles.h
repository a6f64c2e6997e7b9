// SPDX-License-Identifier: Apache-2.0
//
// Arrays of doubles for the tests of physics. Owner: the caller (BB_RELEASE).
#ifndef BB_TESTS_PHYSICS_DOUBLES_H
#define BB_TESTS_PHYSICS_DOUBLES_H

#include "core/memory.h"
#include "tests/check.h"

/// Uninitialised values.
static inline double *doubles(bb_index count)
{
    double *values = new_array(double, count);
    return values;
}

static inline double *zeros(bb_index count)
{
    double *values = new_zeros(double, count);
    return values;
}

#endif
