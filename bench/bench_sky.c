// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_sky.h"

#include <math.h>

enum { STARS = 9, LASER_STARS = 5 };

bb_guide_star_config bb_bench_sky_star(int kind, double x_arcsec, double y_arcsec)
{
    bb_guide_star_config star = {.kind = kind,
                                 .x_arcsec = x_arcsec,
                                 .y_arcsec = y_arcsec,
                                 .magnification = 1.0,
                                 .settings = bb_guide_star_kind_unset(),
                                 .lenslets = BB_INTEGER_UNSET,
                                 .slope_model = -1,
                                 .frame_ms = NAN,
                                 .read_noise_e = NAN,
                                 .launch_x_m = NAN,
                                 .launch_y_m = NAN};
    star.settings.altitude_km = 90.0;
    star.settings.magnitude = 12.0;
    return star;
}

bb_status bb_bench_sky_create(double diameter_m, double obstruction, bb_index lenslets,
                              const bb_guide_star_config *stars, bb_index star_count,
                              bb_bench_sky *out)
{
    bb_status status = BB_OK;
    const bb_telescope_config telescope = {.diameter_m = diameter_m, .obstruction = obstruction};
    const bb_atmosphere_config atmosphere = {.profile = BB_PROFILE_MOAO_10,
                                             .outer_scale_m = 25.0,
                                             .r0_m = NAN,
                                             .seeing_arcsec = NAN,
                                             .seeing_wavelength_nm = 500.0};
    bb_sensors_config sensors = {
        .lenslets = lenslets,
        .frame_ms = 4.0,
        .read_noise_e = 3.0,
        .atmosphere_transmission = 0.9,
    };
    sensors.ngs = (bb_star_settings){.pixel_arcsec = 0.25,
                                     .wavelength_nm = 640.0,
                                     .bandwidth_nm = 300.0,
                                     .transmission = 0.3,
                                     .photons_per_frame = NAN,
                                     .noise_mas = NAN,
                                     .excess_noise = 1.0};
    sensors.lgs = (bb_star_settings){.pixel_arcsec = 1.0,
                                     .wavelength_nm = 589.0,
                                     .transmission = 0.3,
                                     .flux_ph_per_m2_s = 7e6,
                                     .spot_arcsec = 1.0,
                                     .depth_km = 10.0,
                                     .tilt_variance_arcsec2 = 0.01,
                                     .photons_per_frame = NAN,
                                     .noise_mas = NAN,
                                     .excess_noise = 1.0};
    const bb_ao_config config = {.telescope = &telescope,
                                 .atmosphere = &atmosphere,
                                 .sensors = &sensors,
                                 .guide_stars = stars,
                                 .guide_star_count = star_count};
    BB_TRY(bb_atmosphere_create(&atmosphere, 0.0, &out->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&config, &out->atmosphere, &out->guides));
    BB_TRY(bb_measurement_noise_create(&out->guides, &out->atmosphere, &out->noise));
    const bb_slope_covariance_parts parts = {.name = "Cmm",
                                             .atmosphere = &out->atmosphere,
                                             .rows = &out->guides,
                                             .columns = &out->guides,
                                             .noise = &out->noise};
    BB_TRY(bb_slope_covariance_create(&parts, &out->covariance));
done:
    return status;
}

void bb_bench_sky_release(bb_bench_sky *sky)
{
    bb_slope_covariance_destroy(&sky->covariance);
    bb_measurement_noise_release(&sky->noise);
    bb_sensor_array_release(&sky->guides);
    bb_atmosphere_release(&sky->atmosphere);
}

bb_status bb_bench_sky_create_wide(bb_index lenslets, bb_bench_sky *out)
{
    static const double natural[STARS - LASER_STARS][2] = {
        {-16.0, -36.0}, {-32.0, 38.0}, {52.0, -5.0}, {17.0, 44.0}};
    bb_guide_star_config stars[STARS];
    for (int s = 0; s < STARS; ++s) {
        const double azimuth = 2.0 * M_PI * s / LASER_STARS;
        stars[s] =
            s < LASER_STARS
                ? bb_bench_sky_star(BB_GUIDE_STAR_LGS, 23.0 * cos(azimuth), 23.0 * sin(azimuth))
                : bb_bench_sky_star(BB_GUIDE_STAR_NGS, natural[s - LASER_STARS][0],
                                    natural[s - LASER_STARS][1]);
    }
    return bb_bench_sky_create(39.0, 0.2, lenslets, stars, STARS, out);
}
