// SPDX-License-Identifier: Apache-2.0
//
// What a sensor's own covariance has beyond that of the layers learned: noise and, of a laser star,
// unknown tilt. For learn.c.
//
// Of the slopes along an axis, what is left of the covariances of two subapertures is the tilt's
// variance c; what is left of a subaperture's own variance is c + noise. Means over subapertures
// and the two axes are taken; a natural star has no tilt, c = 0.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_REMAINDER_H
#define BB_PHYSICS_AO_LEARN_LEARN_REMAINDER_H

#include "physics/ao/learn/learn_layers.h"

/// Layers of `strength` [layers->count] against the mean of `sources`; noise and tilt [sensors].
/// Errors: BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_learn_remainder(const bb_learn_layers *layers, const double *strength,
                                        bb_index source_count, const bb_matrix_source *sources,
                                        double *noise_arcsec2, double *tilt_arcsec2);

#endif
