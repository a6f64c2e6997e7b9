// SPDX-License-Identifier: Apache-2.0
//
// Cooling hood: a rectangle over the wafer that moves with the slit and takes heat from its top,
//     C dT/dt = ... - h_t(x, t) (T - T_hood),   h_t = exchange under the hood, 0 elsewhere.
//
// The rectangle is centred on the slit: on the field's middle in x, and in y on the middle of the
// arc, y_slit - sagitta / 2. In the light steps it moves with y_slit; in the dark steps it goes at
// constant speed in a straight line to where the next exposure starts. After the last exposure it
// stays where it stood at the end of its light steps. Without dark steps it jumps.
//
// A node exchanges through the part of its own area (the quarters of its live cells) that the
// rectangle covers in the middle of a step: second order in the step.
#ifndef BB_PHYSICS_WAFER_HEAT_HOOD_H
#define BB_PHYSICS_WAFER_HEAT_HOOD_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/scan.h"

/// Read-only to users.
typedef struct bb_hood {
    const bb_disc_mesh *mesh; ///< borrowed
    const bb_scan *scan;      ///< borrowed
    double exchange;          ///< h_t, W/(m2 K)
    double width;             ///< m
    double height;            ///< m
    double rise;              ///< of the hood above the water, K
    bb_index cover_limit;     ///< no place of the hood covers more nodes
} bb_hood;

/// Whether the configuration has a hood; NULL has none.
bool bb_hood_wanted(const bb_hood_config *config);

bb_hood bb_hood_make(const bb_disc_mesh *mesh, const bb_scan *scan, const bb_hood_config *config);

/// Centre (x, y) of the hood, m, `time` s after the first light step of exposure `index` began,
/// until the next exposure.
void bb_hood_centre(const bb_hood *hood, bb_index index, double time, double centre[2]);

/// Nodes under the hood, ascending, in `node` [most], and the heat per kelvin that each exchanges
/// in `duration` s, J/K, in `exchange` [most]. Returns their count.
bb_index bb_hood_cover(const bb_hood *hood, const double centre[2], double duration, int32_t *node,
                       double *exchange);

#endif
