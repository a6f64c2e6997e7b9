// SPDX-License-Identifier: Apache-2.0
//
// Scalar parts of a frame (command_loop.h) in the common subset of C and CUDA, so that both are
// bit-identical. No product is fused with a sum.
#ifndef BB_SOLVERS_LOOP_COMMAND_LOOP_CORE_H
#define BB_SOLVERS_LOOP_COMMAND_LOOP_CORE_H

#include "core/portable.h"

#include <math.h>

/// Rounds a slope to a whole number of steps, ties to even, clipped to [-steps, steps - 1] steps.
BB_DEVICE_FUNCTION
float bb_command_loop_round(float slope, double step, double steps)
{
    double number = rint((double)slope / step);
    number = number < -steps ? -steps : number;
    number = number > steps - 1.0 ? steps - 1.0 : number;
    return (float)(number * step);
}

/// Returns v after a frame, v + g (y - v). This form leaves v unchanged if y = v and gives exactly
/// y for g = 1.
BB_DEVICE_FUNCTION
double bb_command_loop_advance(double v, double y, double gain)
{
    const double change = gain * (y - v);
    return gain == 1.0 ? y : v + change;
}

#endif
