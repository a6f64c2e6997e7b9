// SPDX-License-Identifier: Apache-2.0
//
// A tomographic problem for one profile after another of the same layers. Covariances are linear in
// strengths, so each layer's are made once, at unit strength, and mixed; noise
// follows the seeing, error terms the layers of each outer scale. Sensors, mirrors, point spreads
// and tilts are those of the study's own problem.
#ifndef BB_PHYSICS_AO_NIGHT_LAYER_TOMOGRAPHY_H
#define BB_PHYSICS_AO_NIGHT_LAYER_TOMOGRAPHY_H

#include "physics/ao/night/profile_series.h"
#include "physics/ao/tomography.h"

/// Up to so many bytes the covariances of all layers are kept as matrices; beyond them each layer
/// keeps its tables alone and is asked anew at every fill.
#define BB_LAYER_TOMOGRAPHY_HELD_BYTES 3.0e9

typedef struct bb_layer_tomography bb_layer_tomography;

/// For the layers of a series and the first `target_count` targets of `problem`, which was made
/// from `config`; all are borrowed. `held_bytes` is BB_LAYER_TOMOGRAPHY_HELD_BYTES but in tests.
/// Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_layer_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt,
                                                const bb_tomography *problem, bb_index target_count,
                                                const bb_profile_series *series, double held_bytes,
                                                bb_layer_tomography **out);
void bb_layer_tomography_destroy(bb_layer_tomography **layers);

/// Puts strengths [layers], at zenith, into all that bb_layer_tomography_problem gives. With winds
/// [layers] the error terms of the score are made too; NULL: they stay what they were, which suits
/// what is solved and not scored. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_layer_tomography_set(bb_layer_tomography *layers, const double *strength,
                                             const double *wind);

/// The problem of the strengths that were set last; what it points to is that of the next set, too.
/// Its atmosphere has the study's outer scale, whatever the layers have. Owner: `layers`; scores
/// may lend it a projection.
bb_tomography *bb_layer_tomography_problem(bb_layer_tomography *layers);

/// Bytes of the covariances of so many layers as matrices: n measurements, `rows` truth slopes of
/// all targets and the sum of their squares.
double bb_layer_tomography_bytes(double layers, double n, double rows, double squared_rows);

/// What making it takes, and what stays (`held`); `filling` one fill of all of Cmm, beside the
/// matrix. Errors: BB_MEMORY, those of sensors.
BB_CHECKED bb_status bb_layer_tomography_need(const bb_ao_config *config,
                                              const bb_profile_series *series,
                                              bb_index target_count, double held_bytes,
                                              double threads, bb_need *making, bb_need *held,
                                              bb_need *filling);

#endif
