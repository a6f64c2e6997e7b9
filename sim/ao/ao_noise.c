// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_noise.h"

#include "core/memory.h"

#include <math.h>

static double least_eigenvalue(const bb_slope_noise *noise)
{
    double mean = 0.5 * (noise->xx + noise->yy);
    return mean - hypot(0.5 * (noise->xx - noise->yy), noise->xy);
}

bb_status bb_ao_noise_bounds(const bb_tomography *problem, double **out)
{
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &problem->guides;
    BB_TRY(BB_ALLOCATE(guides->measurement_count, out));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        for (bb_index i = 0; i < sensor->count; ++i) {
            double least = least_eigenvalue(&problem->noise.subaperture[sensor->first / 2 + i]);
            (*out)[sensor->first + i] = least;
            (*out)[sensor->first + sensor->count + i] = least;
        }
    }
done:
    return status;
}
