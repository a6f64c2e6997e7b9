// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/field_area.h"

#include <math.h>

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

// Integral of sqrt(R^2 - x^2) from 0 to x.
static double half_disc(double radius, double x)
{
    return 0.5 * (x * sqrt(fmax(radius * radius - x * x, 0.0)) +
                  radius * radius * asin(clamp(x / radius, -1.0, 1.0)));
}

// Integral over [x0, x1] of the height of the circle below y, clipped to the circle:
// min(max(y, -c), c) with c = sqrt(R^2 - x^2).
static double clipped_height(double radius, double x0, double x1, double y)
{
    double reach = fabs(y) < radius ? sqrt(radius * radius - y * y) : 0.0;
    double inner0 = clamp(x0, -reach, reach);
    double inner1 = clamp(x1, -reach, reach);
    double curved = half_disc(radius, x1) - half_disc(radius, x0) -
                    (half_disc(radius, inner1) - half_disc(radius, inner0));
    return copysign(1.0, y) * curved + y * (inner1 - inner0);
}

double bb_field_area_inside(double radius, double x0, double x1, double y0, double y1)
{
    double start = clamp(x0, -radius, radius);
    double right = clamp(x1, -radius, radius);
    return clipped_height(radius, start, right, y1) - clipped_height(radius, start, right, y0);
}
