// SPDX-License-Identifier: Apache-2.0
//
// Constants that several parts of the adaptive-optics physics share.
#ifndef BB_PHYSICS_AO_AO_CONSTANTS_H
#define BB_PHYSICS_AO_AO_CONSTANTS_H

#define BB_PI 3.14159265358979323846

/// Arcseconds in a radian, 180 * 3600 / pi.
#define BB_ARCSEC_PER_RADIAN 206264.80624709636

/// The wavelength at which r0 and layer strengths are given, m.
#define BB_R0_WAVELENGTH_M 500.0e-9

#endif
