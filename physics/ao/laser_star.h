// SPDX-License-Identifier: Apache-2.0
//
// Model common to the kinds of laser guide star: light from a column of finite depth at a finite
// altitude, seen from the side as an elongated spot. The model is that of ecrc/moao, see
// measurement_noise.h.
#ifndef BB_PHYSICS_AO_LASER_STAR_H
#define BB_PHYSICS_AO_LASER_STAR_H

#include "physics/ao/guide_star_kind.h"

/// Scales altitude and depth by the airmass; the flux is unchanged.
void bb_laser_star_resolve(const bb_star_settings *settings, const bb_star_air *air, bb_star *star);

/// Computes the electrons per frame, flux t A T/T_air.
double bb_laser_star_electrons(const bb_star *star, double area_m2, double air_transmission);

/// Computes the elongation of the spot at `distance_m` from the launch telescope, arcsec: depth
/// distance / altitude^2, for depths small against the altitude.
double bb_laser_star_elongation_arcsec(const bb_star *star, double distance_m);

/// Computes the noise along and across the elongated spot, on the axes of the lenslet grid.
bb_slope_noise bb_laser_star_noise(const bb_star *star, const bb_star_spot *spot);

#endif
