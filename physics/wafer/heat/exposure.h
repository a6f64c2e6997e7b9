// SPDX-License-Identifier: Apache-2.0
//
// Energy deposited in the wafer nodes by the exposure of one field, step by step, and the cooling
// hood that moves with the slit.
//
// Each node owns the quarters of its live cells. Its energy in a light step is the integral of dose
// * absorption * |F(s(t + dt)) - F(s(t))| over the part of them inside the field, exact along the
// scan (F is piecewise linear) and with the arc at the centre of the covered part across it. A dose
// map within the field divides the area into its cells, each with its factor on the dose. The sum
// over the steps telescopes: every covered area gets exactly the dose, whatever the mesh, and
// nothing is renormalised at edges. Dose outside live cells is reported as clipped.
#ifndef BB_PHYSICS_WAFER_HEAT_EXPOSURE_H
#define BB_PHYSICS_WAFER_HEAT_EXPOSURE_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/scan.h"

/// Covered strip of a node: `width` across the scan, y from `low` to `high` above the node, m.
typedef struct bb_exposure_strip {
    double width;
    double low;
    double high;
    double offset; ///< arc(x) of the strip minus y of the node, m
    double factor; ///< dose relative to the field's
} bb_exposure_strip;

/// Read-only to users.
typedef struct bb_exposure {
    const bb_scan *scan; ///< borrowed
    bb_field field;
    bb_index count;            ///< covered nodes
    int32_t *node;             ///< [count] wafer node, ascending
    bb_index *first;           ///< [count + 1] first strip of each node, and the end
    bb_exposure_strip *strips; ///< [first[count]] below and above the nodes, in cells of the map
    double energy_density;     ///< dose * absorption, J/m2
    double clipped;            ///< energy of the whole exposure outside live cells, J
    double total;              ///< energy of the whole exposure into live cells, J
} bb_exposure;

/// Prepares field `index` (exposure order). `absorption` is heat over dose. Errors: BB_INVALID,
/// BB_MEMORY. The scan must outlive the exposure.
BB_CHECKED bb_status bb_exposure_create(const bb_disc_mesh *mesh, const bb_scan *scan,
                                        bb_index index, double absorption, bb_exposure **out);

/// Computes the energies of one of `parts` equal parts of every light step in the covered nodes,
/// energy [count] J, and their sum, J: `part` counts from 0 to light_steps parts - 1.
double bb_exposure_energy(const bb_exposure *exposure, bb_index part, bb_index parts,
                          double *energy);

/// Adds the B e of one step: state[node] += per_joule[node] * energy. Returns the deposited energy,
/// J. `energy` [count] is a workspace that contains the energies afterwards.
double bb_exposure_deposit(const bb_exposure *exposure, bb_index step, const double *per_joule,
                           double *energy, double *state);

/// Discretisation error of a displacement under the slit on a mesh of `spacing`, m: nodes collect
/// dose and interpolate temperature by hat functions, a smoothing of variance h^2/6. For a front
/// that warms by dT = a dose/C over the width w of the slit this gives
///     1/2 (h^2/6) u'' = (1 + nu) alpha dT h^2/(12 w).
/// An estimate; 1 to 1.4 times the rms found at 1 to 4 mm with w = 1.6 mm. For the largest dose in
/// any field.
double bb_exposure_mesh_error(const bb_wafer_material_config *wafer, const bb_scan_config *scan,
                              double spacing);

void bb_exposure_destroy(bb_exposure **exposure);

// Cooling hood: a rectangle over the wafer that moves with the slit and cools its top,
//     C dT/dt = ... - h_t(x, t) (T - T_hood),   h_t = exchange under the hood, 0 elsewhere.
//
// The rectangle is centred on the slit: on the field's centre in x, and in y on the middle of the
// arc, y_slit - sagitta / 2. In the light steps it moves with y_slit; in the dark steps it moves at
// constant speed in a straight line to the start of the next exposure. After the last exposure it
// stays at its final light-step position. Without dark steps it jumps.
//
// A node exchanges through the part of its own area (the quarters of its live cells) covered by the
// rectangle in the middle of a step: second order in the step.

/// Read-only to users.
typedef struct bb_hood {
    const bb_disc_mesh *mesh; ///< borrowed
    const bb_scan *scan;      ///< borrowed
    double exchange;          ///< h_t, W/(m2 K)
    double width;             ///< m
    double height;            ///< m
    double rise;              ///< rise of the hood above the water, K
    bb_index cover_limit;     ///< maximum number of covered nodes for any hood position
} bb_hood;

/// Returns whether the configuration has a hood; false for NULL.
bool bb_hood_wanted(const bb_hood_config *config);

bb_hood bb_hood_make(const bb_disc_mesh *mesh, const bb_scan *scan, const bb_hood_config *config);

/// Computes the centre (x, y) of the hood, m, `time` s after the first light step of exposure
/// `index` began, until the next exposure.
void bb_hood_centre(const bb_hood *hood, bb_index index, double time, double centre[2]);

/// Lists the nodes under the hood, ascending, in `node` [most], and the heat per kelvin that each
/// exchanges in `duration` s, J/K, in `exchange` [most]. Returns their number.
bb_index bb_hood_cover(const bb_hood *hood, const double centre[2], double duration, int32_t *node,
                       double *exchange);

#endif
