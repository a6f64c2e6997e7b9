// SPDX-License-Identifier: Apache-2.0
//
// A tomographic problem for a series of profiles of the same layers. Covariances are linear in
// strengths, so each layer's are computed once, at unit strength, and mixed; noise follows the
// seeing, error terms the layers of each outer scale. Sensors, mirrors, point spreads and tilts are
// those of the study's own problem.
#ifndef BB_PHYSICS_AO_NIGHT_LAYER_TOMOGRAPHY_H
#define BB_PHYSICS_AO_NIGHT_LAYER_TOMOGRAPHY_H

#include "physics/ao/night/profile_series.h"
#include "physics/ao/tomography.h"

/// Up to this size the covariances of all layers are stored as matrices; above it each layer stores
/// only its tables and is evaluated at every fill.
#define BB_LAYER_TOMOGRAPHY_HELD_BYTES 3.0e9

typedef struct bb_layer_tomography bb_layer_tomography;

/// Creates the problem for the layers of a series and the first `target_count` targets of
/// `problem`, which was created from `config`; all are borrowed. `held_bytes` is
/// BB_LAYER_TOMOGRAPHY_HELD_BYTES except in tests. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_layer_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt,
                                                const bb_tomography *problem, bb_index target_count,
                                                const bb_profile_series *series, double held_bytes,
                                                bb_layer_tomography **out);
void bb_layer_tomography_destroy(bb_layer_tomography **layers);

/// Sets strengths [layers], at zenith, in everything that bb_layer_tomography_problem returns. With
/// winds [layers] the score's error terms are updated too; NULL leaves them unchanged, for problems
/// that are solved and not scored. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_layer_tomography_set(bb_layer_tomography *layers, const double *strength,
                                             const double *wind);

/// Returns the problem with the current strengths; the next set changes it in place. Its atmosphere
/// has the study's outer scale, whatever the layers have. Owner: `layers`; scores may attach a
/// projection.
bb_tomography *bb_layer_tomography_problem(bb_layer_tomography *layers);

/// Returns the bytes of the covariances of that many layers as matrices: n measurements, `rows`
/// truth slopes of all targets and the sum of their squares.
double bb_layer_tomography_bytes(double layers, double n, double rows, double squared_rows);

/// Memory and time of creating it, and of the result alone (`held`); `filling` one fill of all of
/// Cmm, without the matrix. Errors: BB_MEMORY, errors of sensors.
BB_CHECKED bb_status bb_layer_tomography_need(const bb_ao_config *config,
                                              const bb_profile_series *series,
                                              bb_index target_count, double held_bytes,
                                              double threads, bb_need *making, bb_need *held,
                                              bb_need *filling);

#endif
