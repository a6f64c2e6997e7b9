// SPDX-License-Identifier: Apache-2.0
//
// Heights of the surface or wavefront measured by an interferometer: Zernike polynomials, a sum of
// random Gaussian bumps, random waves of a given power spectrum, steps.
//
// Free form: bump b is g exp(-r^2 / (2 w^2)), g normal, its centre uniform over the array, w
// uniform in 0.05..0.3 of the shorter side. Power spectrum: waves (k, l) of k cycles across the
// columns and l across the rows with normal amplitudes of variance f^-exponent, f = diameter
// hypot(k / columns, l / rows) cycles across the pupil's diameter, summed by a Fourier transform.
// The mean over the pupil is subtracted from both and they are scaled to their rms. Both are
// addressed so that arrays of another size but the same shape sample the same surface more finely
// or coarsely.
#ifndef BB_PHYSICS_FRINGE_SURFACE_H
#define BB_PHYSICS_FRINGE_SURFACE_H

#include "core/need.h"
#include "physics/fringe/fringe_config.h"

#include <stdint.h>

/// Returns whether any wave of the array is between the cutoffs of the spectrum.
bool bb_surface_has_waves(const bb_fringe_config *config);

/// Memory and time of bb_surface_draw without its arguments.
bb_need bb_surface_need(const bb_fringe_config *config);

/// Computes heights in nm into `height` [rows][columns], for every pixel, also outside the pupil.
/// `pupil` [rows][columns] is 1 where the rms is computed; if it is 1 nowhere, random parts are 0.
/// The same bits at any number of threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_surface_draw(const bb_fringe_config *config, uint64_t seed,
                                     const unsigned char *pupil, double *height);

#endif
