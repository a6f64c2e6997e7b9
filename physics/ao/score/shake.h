// SPDX-License-Identifier: Apache-2.0
//
// A tilt of the telescope, as wind shakes it: every star and every target sees it alike, and the
// covariance that a reconstructor is made of does not know it. With v the slopes of a tilt of one
// arcsecond along an axis of the sky in all guide sensors, u those in the truth sensor, an estimate
// by R leaves w = u - R v of it, and
//
//     Cee <- Cee + rms^2 sum over both axes of w w^T.
//
// What R was rounded to hides its errors where the covariance is quiet, and may meet them here.
#ifndef BB_PHYSICS_AO_SCORE_SHAKE_H
#define BB_PHYSICS_AO_SCORE_SHAKE_H

#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/sensor_array.h"

/// R v of both axes, `out` [rows][2], for r [rows][n] of the measurements of `guides`. Rows by the
/// threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shake_estimate(const bb_sensor_array *guides, bb_index rows,
                                       const double *r, double *out);

/// Adds it to `cee` [m][m], arcsec^2, m the slopes of `truth`, for an estimate that makes
/// `estimated` [m][2] of both tilts. With a mirror, NULL for none, it estimates commands,
/// [actuators][2]: u is what the mirror's projector makes of the truth sensor's, and cee is
/// [actuators][actuators], V^2. `rms_arcsec` is that of each axis; 0 adds nothing. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_shake_add(const bb_sensor_array *truth, const bb_deformable_mirror *mirror,
                                  double rms_arcsec, const double *estimated, double *cee);

#endif
