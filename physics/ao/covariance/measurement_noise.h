// SPDX-License-Identifier: Apache-2.0
//
// Noise of Shack-Hartmann slopes: photon and read noise, with elongated spots for laser stars.
//
// The model is that of ecrc/moao. Electrons per subaperture and frame:
//   ngs  F = 10^(2.9 - 0.4 m_R) T d^2 t B[Angstrom] 1e4
//   lgs  F = flux t d^2 T_lgs / T_atmosphere
// or photons_per_frame, and with s the seeing at the sensor's wavelength, an excess noise factor E
// that divides F in the first terms, g = 0.82 (read noise^2 + E background) / (F pixel)^2:
//   ngs  var = 0.32 s^2 / F + g s^4
//   lgs  P = s^2 + spot^2, e = depth |p - launch| / altitude^2 (arcsec),
//        short = 0.32 P / F + g P^2, long = 0.32 (P + e^2) / F + g (P + e^2)^1.5 P^0.5,
// the long axis along p - launch, relative to the axes of the lenslet grid: xx = long cos^2 + short
// sin^2, yy swapped, xy = (long - short) sin cos. noise_mas^2 replaces all of it. Noise is
// uncorrelated between subapertures.
#ifndef BB_PHYSICS_AO_COVARIANCE_MEASUREMENT_NOISE_H
#define BB_PHYSICS_AO_COVARIANCE_MEASUREMENT_NOISE_H

#include "physics/ao/sensor_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Noise of every subaperture of an array; sensor s starts at first / 2 of its measurements.
typedef struct bb_measurement_noise {
    bb_index count;              ///< total subapertures of all sensors
    bb_slope_noise *subaperture; ///< [count]
} bb_measurement_noise;

/// Computes the noise. Errors: BB_MEMORY. Release with bb_measurement_noise_release.
BB_CHECKED bb_status bb_measurement_noise_create(const bb_sensor_array *array,
                                                 const bb_atmosphere *atmosphere,
                                                 bb_measurement_noise *out);
/// Memory and time for `subapertures` in total.
bb_need bb_measurement_noise_need(bb_index subapertures);
void bb_measurement_noise_release(bb_measurement_noise *noise);

/// Computes lower bounds of the noise: for every measurement, the smallest eigenvalue of the 2 x 2
/// noise covariance of its subaperture, arcsec^2. The diagonal matrix of these is a lower bound of
/// the noise covariance. Errors: BB_MEMORY. Owner of `*out` [n]: the caller.
BB_CHECKED bb_status bb_measurement_noise_bounds(const bb_sensor_array *array,
                                                 const bb_measurement_noise *noise, double **out);

/// Electrons per frame detected by a subaperture of a sensor.
double bb_measurement_electrons(const bb_sensor *sensor, double atmosphere_transmission);

#ifdef __cplusplus
}
#endif

#endif
