// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/overlay_spread.h"

#include "physics/wafer/overlay/overlay.h"

#include <math.h>

static const double NANOMETRES = 1e9;

// Variance with n - 1 of `count` values that are `stride` apart; NaN of fewer than two.
static double variance(bb_index count, bb_index stride, const double *values)
{
    double mean = 0.0;
    double sum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        mean += values[i * stride] / (double)count;
    }
    for (bb_index i = 0; i < count; ++i) {
        sum += (values[i * stride] - mean) * (values[i * stride] - mean);
    }
    return count < 2 ? NAN : sum / (double)(count - 1);
}

// Variance over wafers of their means, by Welford's recurrence.
static double variance_of_means(bb_index wafers, bb_index points, const double *e)
{
    double mean = 0.0;
    double sum = 0.0;
    for (bb_index w = 0; w < wafers; ++w) {
        double of_wafer = 0.0;
        for (bb_index k = 0; k < points; ++k) {
            of_wafer += e[w * points + k];
        }
        of_wafer /= (double)points;
        const double away = of_wafer - mean;
        mean += away / (double)(w + 1);
        sum += away * (of_wafer - mean);
    }
    return wafers < 2 ? NAN : sum / (double)(wafers - 1);
}

// fmax would hide a NaN.
static double larger(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

bb_status bb_overlay_spread_of(bb_index wafers, bb_index points, const double *dx, const double *dy,
                               bb_overlay_spread *out)
{
    bb_status status = BB_OK;
    bb_overlay_statistics all;
    double sum_x = 0.0;
    double sum_y = 0.0;
    double most_x = points > 0 ? 0.0 : NAN;
    double most_y = most_x;
    double maximum = most_x;
    BB_TRY(bb_overlay_statistics_of(wafers * points, dx, dy, &all));
    for (bb_index k = 0; k < points; ++k) {
        const double x = variance(wafers, points, dx + k);
        const double y = variance(wafers, points, dy + k);
        sum_x += x;
        sum_y += y;
        most_x = larger(most_x, x);
        most_y = larger(most_y, y);
        maximum = larger(maximum, x + y);
    }
    const double mean_x = variance_of_means(wafers, points, dx);
    const double mean_y = variance_of_means(wafers, points, dy);
    const double n = (double)points;
    *out = (bb_overlay_spread){
        .x = {NANOMETRES * sqrt(mean_x), NANOMETRES * sqrt(sum_x / n), NANOMETRES * sqrt(most_x),
              all.x.m3s},
        .y = {NANOMETRES * sqrt(mean_y), NANOMETRES * sqrt(sum_y / n), NANOMETRES * sqrt(most_y),
              all.y.m3s},
        .vector = {NANOMETRES * sqrt(mean_x + mean_y), NANOMETRES * sqrt((sum_x + sum_y) / n),
                   NANOMETRES * sqrt(maximum), all.vector.m3s},
    };
done:
    return status;
}
