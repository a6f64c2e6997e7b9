// SPDX-License-Identifier: Apache-2.0
//
// Guide stars, sensors and slope covariance of the benchmarks: the ten layers of moao.
#ifndef BB_BENCH_BENCH_SKY_H
#define BB_BENCH_BENCH_SKY_H

#include "physics/ao/covariance/measurement_noise.h"
#include "physics/ao/covariance/slope_covariance.h"

/// Zero-initialise. The source of `covariance` is Cmm [n][n] in arcsec^2 with measurement noise and
/// without the tilt of laser stars, n = guides.measurement_count.
typedef struct bb_bench_sky {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_measurement_noise noise;
    bb_slope_covariance *covariance;
} bb_bench_sky;

/// Returns a star with the default sensor; laser stars are at 90 km, natural ones have magnitude
/// 12.
bb_guide_star_config bb_bench_sky_star(int kind, double x_arcsec, double y_arcsec);

/// Creates the sky of given stars over a telescope. `out` must not be moved afterwards. Errors:
/// BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_bench_sky_create(double diameter_m, double obstruction, bb_index lenslets,
                                         const bb_guide_star_config *stars, bb_index star_count,
                                         bb_bench_sky *out);

/// Five laser stars on a ring of 23 arcsec and four natural ones over 39 m, as in the moao
/// configurations: 100,368 measurements for 86 lenslets, 34,128 for 50. As bb_bench_sky_create.
BB_CHECKED bb_status bb_bench_sky_create_wide(bb_index lenslets, bb_bench_sky *out);
void bb_bench_sky_release(bb_bench_sky *sky);

#endif
