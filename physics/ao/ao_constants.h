// SPDX-License-Identifier: Apache-2.0
//
// Constants shared by the adaptive-optics physics.
#ifndef BB_PHYSICS_AO_AO_CONSTANTS_H
#define BB_PHYSICS_AO_AO_CONSTANTS_H

#define BB_PI 3.14159265358979323846

/// Arcseconds in a radian, 180 * 3600 / pi.
#define BB_ARCSEC_PER_RADIAN 206264.80624709636

/// Wavelength of r0 and layer strengths, m.
#define BB_R0_WAVELENGTH_M 500.0e-9

/// r0^(-5/3) of a layer = BB_FRIED k^2 Cn2 dh, k = 2 pi over the wavelength of r0 (Fried 1966).
#define BB_FRIED 0.423

/// Full width at half maximum of a long exposure, over lambda/r0: the usual seeing.
#define BB_SEEING_WIDTH 0.98

/// Power spectrum of phase: W(f) = BB_SPECTRUM r0^(-5/3) (f^2 + L0^-2)^(-11/6), f in cycles per m;
/// (24/5 Gamma(6/5))^(5/6) Gamma(11/6)^2 / (2 pi^(11/3)).
#define BB_SPECTRUM 0.022895587108555198

#endif
