// SPDX-License-Identifier: Apache-2.0
//
// Wavefront of a phase: rms and peak to valley in nm, and Zernike polynomials.
#ifndef BB_PHYSICS_FRINGE_WAVEFRONT_H
#define BB_PHYSICS_FRINGE_WAVEFRONT_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

typedef struct bb_wavefront {
    double rms_nm;    ///< each part without its mean; NaN without pixels
    double pv_nm;     ///< maximum minus minimum; NaN without pixels
    bb_index pixels;  ///< number of measured pixels
    bb_index missing; ///< pixels with a truth, in a part, but without a finite phase
} bb_wavefront;

/// Measures `phase` minus `truth` over `pixels`, in rad, where both are finite; `truth` NULL: the
/// phase itself. Labels and parts as in cycles.h: the mean of every part is subtracted, since its
/// piston is free. rad_per_nm is that of bb_fringe_config_rad_per_nm. Errors: BB_INVALID for an
/// invalid label, BB_MEMORY.
BB_CHECKED bb_status bb_wavefront_measure(bb_index pixels, const double *phase, const double *truth,
                                          const int32_t *labels, bb_index parts, double rad_per_nm,
                                          bb_wavefront *out);

enum { BB_WAVEFRONT_TERMS = 500 }; ///< maximum number of fitted polynomials

/// Fits Zernike polynomials 1..terms (Noll's order and norm) to the finite `phase` [rows]
/// [columns], in rad, within `radius_px` of the centre of the array (bb_fringe_config_radius_px),
/// by least squares: `coefficients_nm` [terms]. Uses the normal equations, which are well
/// conditioned over a pupil, by Cholesky. If the pixels do not determine the polynomials (fewer
/// than terms, or a reciprocal condition of the normal matrix below 1e-10) all are NaN and
/// `*reason`, a static text, gives the cause; else it is NULL. The same bits at any number of
/// threads. Errors: BB_INVALID for terms outside 1..BB_WAVEFRONT_TERMS, BB_MEMORY.
BB_CHECKED bb_status bb_wavefront_fit(bb_index columns, bb_index rows, double radius_px,
                                      const double *phase, double rad_per_nm, bb_index terms,
                                      double *coefficients_nm, const char **reason);

/// Memory and time of bb_wavefront_fit.
bb_need bb_wavefront_need(bb_index columns, bb_index rows, bb_index terms);

#endif
