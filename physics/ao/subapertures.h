// SPDX-License-Identifier: Apache-2.0
//
// Valid subapertures of a square lenslet grid over the pupil.
//
// Of n x n lenslets with centres at (k - (n - 1) / 2) D / n, those with a centre radius r in
// obstruction D / 2 <= r < D / 2 are valid, tested in integers: (2 i - n + 1)^2 + (2 j - n + 1)^2 <
// n^2; a single lenslet is valid if at least half of it is lit. With a mask, or if the pupil has
// by_flux, those with a mean transmission of at least the threshold are valid. The order is row by
// row (y), x fastest, from the most negative x and y.
#ifndef BB_PHYSICS_AO_SUBAPERTURES_H
#define BB_PHYSICS_AO_SUBAPERTURES_H

#include "physics/ao/pupil.h"

#include <stdbool.h>

/// Returns whether lenslet (column, row) is a valid subaperture; false off the grid.
bool bb_subapertures_valid(bb_index column, bb_index row, bb_index lenslets, const bb_pupil *pupil);

/// Counts the valid subapertures; 0 for lenslets < 1.
bb_index bb_subapertures_count(bb_index lenslets, const bb_pupil *pupil);

/// Writes lenslet column and row, 0 <= k < lenslets, to [bb_subapertures_count(...)] each.
void bb_subapertures_lenslets(bb_index lenslets, const bb_pupil *pupil, bb_index *column,
                              bb_index *row);

/// Writes the centres, in units of D / 2, to x and y [bb_subapertures_count(lenslets,
/// pupil)].
void bb_subapertures_centres(bb_index lenslets, const bb_pupil *pupil, double *x, double *y);

#endif
