// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/log_moment.h"

#include <math.h>

void bb_log_moment_edge(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double rr = xx + yy;
    if (y == 0.0) {
        moments[0] = moments[1] = moments[2] = 0.0;
        return;
    }
    double log_rr = log(rr);
    moments[0] = y * (log_rr - 2.0) + (x == 0.0 ? 0.0 : 2.0 * x * atan(y / x));
    moments[1] = (y * rr * log_rr + 2.0 * xx * moments[0] - 2.0 * y * yy / 3.0) / 3.0;
    moments[2] =
        (y * rr * rr * log_rr + 4.0 * xx * moments[1] - 2.0 * y * yy * (xx / 3.0 + yy / 5.0)) / 5.0;
}

void bb_log_moment_corner(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double area = x * y;
    double plain[BB_LOG_MOMENTS] = {area, area * (xx + yy) / 3.0,
                                    area * (xx * xx / 5.0 + 2.0 * xx * yy / 9.0 + yy * yy / 5.0)};
    double along_y[BB_LOG_MOMENTS];
    double along_x[BB_LOG_MOMENTS];
    bb_log_moment_edge(x, y, along_y);
    bb_log_moment_edge(y, x, along_x);
    for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
        moments[k] = (x * along_y[k] + y * along_x[k] - 2.0 * plain[k]) / (2.0 * k + 2.0);
    }
}
