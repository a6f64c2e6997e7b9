// SPDX-License-Identifier: Apache-2.0
//
// A covariance of slopes for layers of any strengths, as a matrix source:
//   sum_l w_l C_l + N + V diag(variance) V^T,
// C_l of a layer of unit strength, w_l strengths that may change between fills, N the noise of
// subapertures and V the tilts of stars. The C_l are matrices in memory, or sources that are asked
// every time.
#ifndef BB_PHYSICS_AO_NIGHT_LAYER_MIXTURE_H
#define BB_PHYSICS_AO_NIGHT_LAYER_MIXTURE_H

#include "core/matrix_source.h"
#include "physics/ao/covariance/measurement_noise.h"

/// Everything but `source` is borrowed and must outlive it; `weight` and `noise` may change while
/// nothing is filled.
typedef struct bb_layer_mixture {
    bb_index layer_count;
    const bb_matrix_source *const *layers; ///< [layer_count]; NULL: all are in `held`
    const double *held;                    ///< [layer_count][rows][columns], or NULL
    const double *weight;                  ///< [layer_count]
    const bb_sensor_array *guides;         ///< whose noise and tilts are added; NULL: none
    const bb_measurement_noise *noise;     ///< NULL: none
    const bb_tilt_vectors *tilts;          ///< NULL: none
    bb_matrix_source source;               ///< bb_layer_mixture_start makes it
} bb_layer_mixture;

/// Makes the source of a mixture whose other members are set, named and sized as `like`, one of its
/// layers or a matrix of the same slopes. Errors of a fill: BB_MEMORY, the layers'.
void bb_layer_mixture_start(bb_layer_mixture *mixture, const bb_matrix_source *like);

#endif
