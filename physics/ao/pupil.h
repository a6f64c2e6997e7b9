// SPDX-License-Identifier: Apache-2.0
//
// The pupil: an annulus, or a user-supplied mask of transmissions (segments, spiders).
//
// A mask [edge][edge] spans the square of the diameter exactly: row by row (y), x fastest, from the
// most negative x and y; pixel p of M is the cell [p, p + 1] D / M. Its values are amplitude
// transmissions, 0 to 1.
//
// The pupil is sampled on points D / a apart, a an integer, the middle one on the axis: all points
// of the square including its edges, 2 floor(a / 2) + 1 of them along an edge. The annulus is 1
// where obstruction D / 2 <= r <= D / 2, tested in integers, since points fall on both circles. A
// mask is sampled as the mean of its pixels whose centres lie in the closed square around the
// point, as wide as the larger of the two spacings: fine masks are averaged, so that a thin spider
// dims the points along it, and coarse ones use the nearest pixel. Both tests are in integers:
// flipping or transposing a mask of zeros and ones flips or transposes the result, bit for bit, and
// a mask of as many pixels as points is reproduced exactly.
#ifndef BB_PHYSICS_AO_PUPIL_H
#define BB_PHYSICS_AO_PUPIL_H

#include "core/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_pupil {
    double obstruction; ///< central obstruction over diameter: of the annulus and of the mirror
    const double *mask; ///< [edge][edge], borrowed; NULL: the annulus
    bb_index edge;      ///< pixels along an edge of the mask
    bool by_flux;       ///< flux rule for valid subapertures of the annulus; always for a mask
    double threshold;   ///< smallest mean transmission of a valid subaperture
} bb_pupil;

/// Returns the points along an edge of the square at a spacing of D / across: 2 floor(across / 2) +
/// 1.
bb_index bb_pupil_points(bb_index across);

/// Samples the pupil on its points, `out` [bb_pupil_points(across)] squared, y by x.
void bb_pupil_draw(const bb_pupil *pupil, bb_index across, double *out);

/// Computes the transmitted light, in points: the sum over them of the mean square of the mask's
/// pixels, which are amplitudes.
double bb_pupil_light(const bb_pupil *pupil, bb_index across);

/// Returns whether any of those points transmits: a thin annulus may lie between them.
bool bb_pupil_transmits(const bb_pupil *pupil, bb_index across);

/// Mean transmission of lenslet (column, row) of `lenslets` across the diameter. For a mask, pixels
/// cut by the lenslet count by their overlap. For the annulus, the fraction of the lenslet's area
/// inside it, in closed form; equal, bit for bit, for lenslets related by a symmetry of the grid.
double bb_pupil_transmission(const bb_pupil *pupil, bb_index lenslets, bb_index column,
                             bb_index row);

#ifdef __cplusplus
}
#endif

#endif
