// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_frame_plan.h"

#include <math.h>

static const double seconds_per_wave = 7.0e-8; // of a phase screen, drawn
static const double fp64_rate = 4.0e10;        // operations of one core a second, in products

// The two screens of a layer as one of as many points.
static double points_of(const bb_ao_frame_extent *of)
{
    return hypot((double)of->screen.points, (double)of->screen.fine_points);
}

double bb_ao_frame_bytes(const bb_ao_frame_extent *of, double threads)
{
    double n = points_of(of);
    double views = 16.0 * 1.5 * n * of->layers * (2.0 * of->lines + of->points);
    double own = 8.0 * n * n + 16.0 * n * of->points + 24.0 * of->squared_points;
    return 4.0 * n * n + views + fmin(threads, of->frames) * own;
}

double bb_ao_frame_seconds(const bb_ao_frame_extent *of)
{
    double n = points_of(of);
    double products = 4.0 * n * n * (2.0 * of->lines + of->points) + 8.0 * n * of->squared_points;
    return of->frames * of->layers * (seconds_per_wave * 0.5 * n * n + products / fp64_rate);
}
