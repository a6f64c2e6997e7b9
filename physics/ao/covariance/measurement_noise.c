// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/measurement_noise.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"

#include <math.h>

double bb_measurement_electrons(const bb_sensor *sensor, double atmosphere_transmission)
{
    const bb_star *star = &sensor->star;
    const double area = sensor->size_m * sensor->size_m;
    if (star->kind == BB_GUIDE_STAR_LGS) {
        return star->flux_ph_per_m2_s * star->frame_s * area * star->transmission /
               atmosphere_transmission;
    }
    const double angstrom = 1.0e10 * star->bandwidth_m;
    return pow(10.0, 2.9 - 0.4 * star->magnitude) * star->transmission * area * star->frame_s *
           angstrom * 1.0e4;
}

static bb_slope_noise natural(double electrons, double read, double seeing)
{
    const double square = seeing * seeing;
    const double variance = 0.32 * square / electrons + read * square * square;
    return (bb_slope_noise){.xx = variance, .yy = variance, .xy = 0.0};
}

static bb_slope_noise laser(const bb_sensor *sensor, double electrons, double read, double seeing,
                            bb_index subaperture)
{
    const bb_star *star = &sensor->star;
    const bb_sensor_frame *frame = &sensor->frame;
    const double from_x = sensor->x_m[subaperture] - star->launch_x_m;
    const double from_y = sensor->y_m[subaperture] - star->launch_y_m;
    // Along the axes of the grid, as the slopes are.
    const double dx = frame->cosine * from_x + frame->sine * from_y;
    const double dy = frame->cosine * from_y - frame->sine * from_x;
    const double distance = hypot(dx, dy);
    const double elongation =
        BB_ARCSEC_PER_RADIAN * star->depth_m * distance / (star->altitude_m * star->altitude_m);
    // A subaperture at the launch telescope sees a round spot: any direction will do.
    const double c = distance > 0.0 ? dx / distance : 1.0;
    const double s = distance > 0.0 ? dy / distance : 0.0;
    const double spot = seeing * seeing + star->spot_arcsec * star->spot_arcsec;
    const double stretched = spot + elongation * elongation;
    const double narrow = 0.32 * spot / electrons + read * spot * spot;
    const double wide = 0.32 * stretched / electrons + read * pow(stretched, 1.5) * sqrt(spot);
    return (bb_slope_noise){.xx = wide * c * c + narrow * s * s,
                            .yy = wide * s * s + narrow * c * c,
                            .xy = (wide - narrow) * s * c};
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
        const double ratio = star->read_noise_e / (electrons * star->pixel_arcsec);
        const double read = 0.82 * ratio * ratio;
        const double seeing = bb_atmosphere_seeing_arcsec(atmosphere, star->wavelength_m);
        bb_slope_noise *first = noise.subaperture + sensor->first / 2;
        for (bb_index i = 0; i < sensor->count; ++i) {
            first[i] = star->kind == BB_GUIDE_STAR_LGS ? laser(sensor, electrons, read, seeing, i)
                                                       : natural(electrons, read, seeing);
        }
    }
    *out = noise;
done:
    return status;
}

void bb_measurement_noise_release(bb_measurement_noise *noise)
{
    BB_RELEASE(&noise->subaperture);
    noise->count = 0;
}
