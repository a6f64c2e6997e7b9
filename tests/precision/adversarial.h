// SPDX-License-Identifier: Apache-2.0
//
// Difficult values for number formats, in spans of 64 columns.
#ifndef BB_TESTS_PRECISION_ADVERSARIAL_H
#define BB_TESTS_PRECISION_ADVERSARIAL_H

#include "core/random.h"

#include <float.h>
#include <math.h>

enum { ADVERSARIAL_SPAN = 64, ADVERSARIAL_KINDS = 14, ADVERSARIAL_FINITE = 11 };

static inline double adversarial_of_kind(int kind, uint64_t i)
{
    double random = bb_random_normal(7, BB_STREAM_SELF_TEST, i);
    double sign = i % 2 == 0 ? 1.0 : -1.0;
    switch (kind) {
    case 0:
        return 1e-10 * random;
    case 1:
        return sign * (double)(i % 7) * 0x1p-1074; // subnormal in fp64
    case 2:
        return random * 0x1p-140; // subnormal in fp32
    case 3:
        return sign * 0.0;
    case 4:
        return sign;
    case 5:
        return i % 41 == 0 ? 1.0 : 1e-12 * random; // a spike
    case 6:
        return 0.0;
    case 7:
        return i % 2 == 0 ? 1e-30 : -1e5;
    case 8:
        return (double)(i % 64) - 31.5; // ties
    case 9:
        return random * 0x1p-97; // where libzfp's scale overflows
    case 10:
        return 1e-10 * (1.0 + 1e-3 * random);
    case 11:
        return i % 11 == 0 ? sign * (double)FLT_MAX : random;
    case 12:
        return i % 13 == 0 ? NAN : random;
    default:
        return i % 17 == 0 ? sign * INFINITY : sign * DBL_MAX;
    }
}

/// Fills [rows][columns]; kinds up to `kinds`, chosen by span. ADVERSARIAL_FINITE: every codec can
/// represent them all.
static inline void adversarial_fill(double *values, bb_index rows, bb_index columns, int kinds)
{
    for (bb_index row = 0; row < rows; ++row) {
        for (bb_index j = 0; j < columns; ++j) {
            bb_index span = row * 37 + j / ADVERSARIAL_SPAN;
            uint64_t i = (uint64_t)(row * columns + j);
            double u = bb_random_uniform(8, BB_STREAM_SELF_TEST, (uint64_t)span);
            values[row * columns + j] = adversarial_of_kind((int)(u * kinds), i);
        }
    }
}

#endif
