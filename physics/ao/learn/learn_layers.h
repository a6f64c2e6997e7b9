// SPDX-License-Identifier: Apache-2.0
//
// Layers of unit strength, each with the covariance of slopes that it alone makes. For learn.c.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_LAYERS_H
#define BB_PHYSICS_AO_LEARN_LEARN_LAYERS_H

#include "physics/ao/covariance/slope_covariance.h"

/// One layer; the sensors as they fall on it.
typedef struct bb_learn_layer {
    bb_atmosphere atmosphere; ///< of this layer only
    bb_sensor_array guides;
    bb_slope_covariance *covariance; ///< without noise and tilts
} bb_learn_layer;

/// Plain owner.
typedef struct bb_learn_layers {
    bb_index count;
    bb_learn_layer *items; ///< [count]
} bb_learn_layers;

/// Layers at `height_m` [count] (at zenith) of strength 1 m^(-5/3) at zenith. Errors: BB_MEMORY.
/// Release with bb_learn_layers_release.
BB_CHECKED bb_status bb_learn_layers_create(const bb_ao_config *config, bb_index count,
                                            const double *height_m, double outer_scale_m,
                                            bb_learn_layers *out);
void bb_learn_layers_release(bb_learn_layers *layers);

#endif
