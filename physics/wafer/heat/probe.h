// SPDX-License-Identifier: Apache-2.0
//
// A named point whose temperature is followed: bilinear in the mesh of its layer, at a fixed place
// of the undeformed wafer. A point within the radius but off the staircase of the mesh stands on
// the nearest edge towards the centre.
#ifndef BB_PHYSICS_WAFER_HEAT_PROBE_H
#define BB_PHYSICS_WAFER_HEAT_PROBE_H

#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/lot.h"

/// `config` is borrowed.
typedef struct bb_probe {
    const bb_probe_config *config;
    bb_index unknown[4]; ///< of a thermal state
    double weight[4];
} bb_probe;

/// Places `count` probes for states of `thermal` on `mesh` with a clamp grid of `clamp_spacing` m.
/// Errors: BB_INVALID (a point outside `radius` m, a name that is taken or not valid), BB_MEMORY.
/// Owner of `*out` [count], NULL for none: the caller.
BB_CHECKED bb_status bb_probes_create(const bb_probe_config *configs, bb_index count,
                                      const bb_disc_mesh *mesh, double radius, double clamp_spacing,
                                      bb_probe **out);

/// Rise above the water at a probe, K.
double bb_probe_rise(const bb_probe *probe, const double *state);

#endif
