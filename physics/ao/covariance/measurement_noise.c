// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/measurement_noise.h"

#include "core/memory.h"

#include <math.h>

double bb_measurement_electrons(const bb_sensor *sensor, double atmosphere_transmission)
{
    const double area = sensor->size_m * sensor->size_m;
    if (!isnan(sensor->star.photons)) {
        return sensor->star.photons;
    }
    return sensor->star.kind->electrons(&sensor->star, area, atmosphere_transmission);
}

bb_status bb_measurement_noise_create(const bb_sensor_array *array, const bb_atmosphere *atmosphere,
                                      bb_measurement_noise *out)
{
    bb_status status = BB_OK;
    bb_measurement_noise noise = {.count = array->measurement_count / 2};
    BB_TRY(BB_ALLOCATE(noise.count, &noise.subaperture));
    for (bb_index k = 0; k < array->sensor_count; ++k) {
        const bb_sensor *sensor = &array->sensors[k];
        const bb_star *star = &sensor->star;
        const double electrons = bb_measurement_electrons(sensor, array->atmosphere_transmission);
        const double pixel_variance =
            star->read_noise_e * star->read_noise_e + star->excess_noise * star->background_e;
        const double scale = electrons * star->pixel_arcsec;
        const double given = star->noise_arcsec * star->noise_arcsec;
        const double seeing = bb_atmosphere_seeing_arcsec(atmosphere, star->wavelength_m);
        bb_slope_noise *first = noise.subaperture + sensor->first / 2;
        for (bb_index i = 0; i < sensor->count; ++i) {
            // The noise is along the axes of the grid, like the slopes.
            const bb_sensor_frame *frame = &sensor->frame;
            const double x = sensor->x_m[i] - star->launch_x_m;
            const double y = sensor->y_m[i] - star->launch_y_m;
            const bb_star_spot spot = {.electrons = electrons / star->excess_noise,
                                       .read = 0.82 * pixel_variance / (scale * scale),
                                       .seeing_arcsec = seeing,
                                       .from_x_m = frame->cosine * x + frame->sine * y,
                                       .from_y_m = frame->cosine * y - frame->sine * x};
            first[i] = isnan(given) ? star->kind->noise(star, &spot)
                                    : (bb_slope_noise){.xx = given, .yy = given};
        }
    }
    *out = noise;
done:
    return status;
}

bb_need bb_measurement_noise_need(bb_index subapertures)
{
    return (bb_need){.host_bytes = (double)subapertures * sizeof(bb_slope_noise)};
}

void bb_measurement_noise_release(bb_measurement_noise *noise)
{
    BB_RELEASE(&noise->subaperture);
    noise->count = 0;
}

static double least_eigenvalue(const bb_slope_noise *noise)
{
    double mean = 0.5 * (noise->xx + noise->yy);
    return mean - hypot(0.5 * (noise->xx - noise->yy), noise->xy);
}

bb_status bb_measurement_noise_bounds(const bb_sensor_array *array,
                                      const bb_measurement_noise *noise, double **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(array->measurement_count, out));
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (bb_index i = 0; i < sensor->count; ++i) {
            double minimum = least_eigenvalue(&noise->subaperture[sensor->first / 2 + i]);
            (*out)[sensor->first + i] = minimum;
            (*out)[sensor->first + sensor->count + i] = minimum;
        }
    }
done:
    return status;
}
