// SPDX-License-Identifier: Apache-2.0
//
// Integers with one step per row in the common subset of C and CUDA (integer_codec.c).
#ifndef BB_PRECISION_CODECS_INTEGER_CORE_H
#define BB_PRECISION_CODECS_INTEGER_CORE_H

#include "core/portable.h"
#include "core/status.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { BB_INTEGER_CLIPS = 12 };

/// Fractions of a row's largest magnitude tried by `clip: best`.
BB_DEVICE_FUNCTION
double bb_integer_clip(bb_index clip)
{
    const double parts[BB_INTEGER_CLIPS] = {1.0,  0.98, 0.95, 0.92, 0.88, 0.83,
                                            0.77, 0.70, 0.62, 0.53, 0.43, 0.32};
    return parts[clip];
}

/// Returns whether this magnitude is representable.
BB_DEVICE_FUNCTION
bool bb_integer_in_range(double magnitude)
{
    return magnitude <= (double)FLT_MAX;
}

/// Returns the largest word.
BB_DEVICE_FUNCTION
double bb_integer_top(int bits)
{
    return (double)((1 << (bits - 1)) - 1);
}

/// Returns the step of a row whose largest magnitude is within fp32.
BB_DEVICE_FUNCTION
float bb_integer_step(int bits, double largest)
{
    const double top = bb_integer_top(bits);
    const float step = (float)(largest / top);
    return (double)step * top > (double)FLT_MAX ? nextafterf(step, 0.0F) : step;
}

/// Returns the clip with the smallest sum of squared errors, the first of equal ones.
BB_DEVICE_FUNCTION
bb_index bb_integer_best_clip(const double *squares, bb_index count)
{
    bb_index best = 0;
    double least = (double)INFINITY;
    for (bb_index clip = 0; clip < count; ++clip) {
        if (squares[clip] < least) {
            least = squares[clip];
            best = clip;
        }
    }
    return best;
}

/// Returns the divisor of values: infinite for step 0, so that the words are 0.
BB_DEVICE_FUNCTION
double bb_integer_divisor(double step)
{
    return step > 0.0 ? step : (double)INFINITY;
}

/// Returns the nearest integer number of steps, ties to even, at most one above `top`.
BB_DEVICE_FUNCTION
double bb_integer_steps(double value, double divisor, double top)
{
    double quotient = value / divisor;
    quotient = quotient > top + 1.0 ? top + 1.0 : quotient;
    quotient = quotient < -top - 1.0 ? -top - 1.0 : quotient;
    return (quotient + 0x1.8p52) - 0x1.8p52; // leaves no room for fractions
}

BB_DEVICE_FUNCTION
double bb_integer_clipped(double steps, double top)
{
    return steps > top ? top : steps < -top ? -top : steps;
}

/// Returns the decoded value minus the value.
BB_DEVICE_FUNCTION
double bb_integer_error(double value, double step, double divisor, double top)
{
    return bb_integer_clipped(bb_integer_steps(value, divisor, top), top) * step - value;
}

#endif
